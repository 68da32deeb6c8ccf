"""What code in a session may reach: the rules, the secrets and the limits of a network."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from os import PathLike
from typing import TYPE_CHECKING, Final

from planaria.network.hosts import Address, address_of, is_public
from planaria.network.proxy_settings import ENVIRONMENT, parse_proxy
from planaria.network.rules import SCHEMES, Rule, bare_paths, parse_rule, readings
from planaria.network.secrets import Scrubber, Secret
from planaria.parameters import suggest_field_names

if TYPE_CHECKING:
    import ssl

__all__ = ["Decision", "Network", "NetworkRequest"]

#: What `on_request` returns: None (the rules decide), True, False, the reason of a refusal, or the headers to
#: send in place of the request's.
Decision = bool | str | Mapping[str, str] | None

_OPTIONAL_LIMITS: Final = ("request_timeout", "max_requests", "max_sent", "max_received")
_NOTHING: Final = "the network allows nothing"


@dataclass(slots=True)
class NetworkRequest:
    """One request of the code to a server, as `on_request` and `Result.requests` have it. Values of secrets
    are never in it: where the code wrote a placeholder, there is the placeholder, and where it wrote a value,
    there are asterisks.
    """

    method: str
    """GET, POST …; "CONNECT" for a connection that does not speak HTTP."""
    url: str
    headers: list[tuple[str, str]] = field(default_factory=list, repr=False)
    status: int | None = None
    """The status of the answer, as soon as there is one."""
    bytes_sent: int = 0
    """Of the body."""
    bytes_received: int = 0
    """Of the answer's body."""
    duration_ms: float = 0.0
    """Until the end of the answer."""
    allowed: bool = False
    reason: str = ""
    """Why it was refused or failed."""
    tool: str = ""
    """The tool of a workspace that it belongs to; empty for the code's own."""

    def scrub(self, scrubber: Scrubber) -> NetworkRequest:
        """Take the values of secrets out of what the code or a server wrote; gives the same request."""
        scrubbed = scrubber.scrubbed_text
        self.method = scrubbed(self.method)
        scheme, mark, rest = self.url.partition("//")
        self.url, self.reason = scheme + mark + scrubbed(rest), scrubbed(self.reason)
        self.headers = [(scrubbed(name), scrubbed(value)) for name, value in self.headers]
        return self


@suggest_field_names
@dataclass(frozen=True, kw_only=True, slots=True)
class Network:
    """A policy for `planaria.Session(network=…)`. Without one a session has no network.

    Args:
        allow: what may be reached: `[METHOD[,METHOD…] ][scheme://]host[:port][/path]`. The host is a name,
            `*.` and a name for its subdomains, `*`, an address, or a range of addresses. Without a scheme a
            rule is for http and https; `tcp://host:port` is for other protocols, `wss://host/` for
            WebSockets. A path is a prefix.
        deny: rules for what may not, whatever `allow` says. Without a scheme such a rule is for every
            protocol, and then without a port for every port.
        secrets: values that requests may carry and the code never sees.
        on_request: a function, asynchronous or plain (called on a thread), that is given each
            `NetworkRequest` and returns None (the rules decide), True, False, a str (refused, for that
            reason), or a dict of the headers to send. It may raise `planaria.Suspend`: an awaited request
            then waits for `execution.resolve`.
        private: whether addresses that are not public (private, loopback, link-local …) may be reached by
            names that lead to them. A rule for the address itself, or for `localhost`, allows just that.
        timeout: how long connecting and each wait for a server may take, in seconds.
        request_timeout: how long a request may take, from its head being sent to the end of its answer, in
            seconds; None for no limit.
        max_connections: how many connections may be open at once.
        max_requests: how many requests one execution may make, those of tools included; None for no limit.
        max_sent: how many bytes one execution may send, with tools; None for no limit.
        max_received: how many bytes one execution may receive, with tools; None for no limit.
        certificates: an `ssl.SSLContext`, or a file of certificate authorities in PEM form to trust beside
            those of the system.
        proxy: the URL of a proxy for requests (http or https, with the user and password that it asks for),
            or "environment" for the ones that HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY name. It
            resolves the names of hosts, so whether their addresses are public is left to it. None uses none,
            and `tcp://` never does.

    Raises TypeError or ValueError for a rule that is not one, with the rule in the message.
    """

    allow: Sequence[str] = ()
    deny: Sequence[str] = ()
    secrets: Sequence[Secret] = ()
    on_request: Callable[[NetworkRequest], Decision | Awaitable[Decision]] | None = None
    private: bool = False
    timeout: float = 30.0
    request_timeout: float | None = None
    max_connections: int = 64
    max_requests: int | None = None
    max_sent: int | None = None
    max_received: int | None = None
    certificates: ssl.SSLContext | str | PathLike[str] | None = None
    proxy: str | None = field(default=None, repr=False)

    allowed: tuple[Rule, ...] = field(init=False, repr=False, compare=False)
    denied: tuple[Rule, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "allowed", _rules("allow", self.allow))
        object.__setattr__(self, "denied", tuple(rule.as_denial() for rule in _rules("deny", self.deny)))
        object.__setattr__(self, "secrets", tuple(self.secrets))
        for secret in self.secrets:
            if not isinstance(secret, Secret):
                raise TypeError(f"secrets= is a list of planaria.Secret, not of {type(secret).__name__}")
        names = [secret.name for secret in self.secrets]
        if len(set(names)) < len(names):
            raise ValueError(f"secrets= names one of {', '.join(sorted(set(names)))} twice")
        if self.proxy is not None and self.proxy != ENVIRONMENT:
            if not isinstance(self.proxy, str):
                raise TypeError(f"proxy= is a URL or {ENVIRONMENT!r}, not {type(self.proxy).__name__}")
            try:
                parse_proxy(self.proxy)
            except ValueError as error:
                raise ValueError(f"proxy=: {error}") from None
        for name in ("timeout", "max_connections", *_OPTIONAL_LIMITS):
            value = getattr(self, name)
            if value is None and name in _OPTIONAL_LIMITS:
                continue
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
                raise ValueError(f"{name}={value!r}: must be a number greater than 0")

    # -- decisions -------------------------------------------------------------------------------------------

    def covers(self, host: str, port: int) -> bool:
        """Whether some request to this place is allowed."""
        return any(self._covers(scheme, host, port) for scheme in SCHEMES)

    def covers_tls(self, host: str, port: int) -> bool:
        """Whether some request to this place is allowed over TLS."""
        return any(self._covers(scheme, host, port) for scheme in ("https", "wss"))

    def _covers(self, scheme: str, host: str, port: int) -> bool:
        is_denied = any(
            rule.is_for(scheme, host, port) and not rule.path and not rule.methods for rule in self.denied
        )
        return not is_denied and any(rule.is_for(scheme, host, port) for rule in self.allowed)

    def is_raw(self, host: str, port: int) -> bool:
        """Whether a connection to this place may speak any protocol."""
        return self._allows("tcp", host, port, "CONNECT", "/")

    def allows(self, scheme: str, host: str, port: int, method: str, target: str) -> bool:
        """Whether the rules allow a request, whatever path a server takes its target for. Raises ValueError
        for a target that is not a path.
        """
        return all(self._allows(scheme, host, port, method, path) for path in readings(target))

    def denies(self, scheme: str, host: str, port: int, method: str, target: str) -> bool:
        """Whether a rule of `deny` is for a request, in whatever case its method and path are written."""
        return any(self._denies(scheme, host, port, method, path) for path in readings(target))

    def _allows(self, scheme: str, host: str, port: int, method: str, path: str) -> bool:
        if self._denies(scheme, host, port, method, path):
            return False
        return any(rule.matches(scheme, host, port, method, path) for rule in self.allowed)

    def _denies(self, scheme: str, host: str, port: int, method: str, path: str) -> bool:
        method, path = method.upper(), path.lower()
        forms = (path, *bare_paths(path))
        return any(rule.matches(scheme, host, port, method, form) for rule in self.denied for form in forms)

    def may_connect(self, host: str, port: int, address: Address) -> bool:
        """Whether a port of an address, to which `host` leads, may be connected to."""
        place = str(address)
        if any(rule.names_address(place) and rule.is_whole(port) for rule in self.denied):
            return False
        if self.private or is_public(address):
            return True
        # A name that leads to an address is not held to the methods and paths of the rule for that address.
        is_named = address_of(host) is not None
        if any(
            rule.names_address(place)
            and (rule.network is not None or (rule.has_port(port) if is_named else rule.is_whole(port)))
            for rule in self.allowed
        ):
            return True
        return (
            address.is_loopback and host == "localhost" and any(r.names_address(host) for r in self.allowed)
        )

    def refusal(self, what: str) -> str:
        """The message for a request that no rule allows."""
        if not self.allowed:
            return f"{what} is not allowed: {_NOTHING}"
        allowed = f"{what} is not allowed; allowed are {', '.join(map(str, self.allowed))}"
        if any(rule.host == "*" and rule.port is None for rule in self.allowed):
            return f"{allowed}, where * is every public host at the ports 80 and 443"
        return allowed

    def ssl_context(self) -> ssl.SSLContext:
        """How servers are verified; HTTP/1.1 alone is offered."""
        import ssl

        if isinstance(self.certificates, ssl.SSLContext):
            return self.certificates
        places = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
        if self.certificates is None:
            return _ssl_context(None, 0, *places)
        path = os.fspath(self.certificates)
        return _ssl_context(path, os.stat(path).st_mtime_ns, *places)


@lru_cache(maxsize=16)
def _ssl_context(
    path: str | None, _changed: int, _file: str | None, _directory: str | None
) -> ssl.SSLContext:
    """That of the system's authorities and those of a file: reading them takes as long as many requests."""
    import ssl

    context = ssl.create_default_context()
    if path is not None:
        context.load_verify_locations(path)
    return context


def _rules(name: str, texts: object) -> tuple[Rule, ...]:
    if isinstance(texts, str) or not isinstance(texts, Sequence):
        raise TypeError(f"{name}= is a list of rules such as ['api.example.com'], not {type(texts).__name__}")
    return tuple(parse_rule(text) for text in texts)
