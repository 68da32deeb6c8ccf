"""Whether a request may be made: it is for the host of its connection, and the rules allow it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import h11

from planaria.network.hosts import canonical_host
from planaria.network.policy import Network
from planaria.network.requests import overriding
from planaria.network.rules import DEFAULT_PORTS, readings
from planaria.network.secrets import Secret

__all__ = ["Destination", "Verdict", "judged", "may_carry", "problem"]

_HOST: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:\[\]]+)(?::([0-9]{1,5}))?")
#: What says where a request begins, ends and goes to, and which some servers read with `_` in the name too.
_MEANT: Final = frozenset({b"connection", b"content-length", b"host", b"transfer-encoding", b"upgrade"})
_CONTROL: Final = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Destination:
    """The host that a connection is to, in canonical form, and its port."""

    host: str
    port: int

    @property
    def bracketed(self) -> str:
        """The host as it is written before a port (RFC 3986, section 3.2.2)."""
        return f"[{self.host}]" if ":" in self.host else self.host

    def is_named(self, written: str) -> bool:
        """Whether this is the host that is written, with the port if there is one."""
        found = _HOST.fullmatch(written)
        try:
            is_host = found is not None and canonical_host(found[1]) == self.host
        except ValueError:
            return False
        return found is not None and is_host and int(found[2] or self.port) == self.port

    def authority(self, *, tls: bool) -> str:
        """As it is written in a URL: without the port where that is the usual one."""
        usual = DEFAULT_PORTS["https" if tls else "http"]
        return self.bracketed if self.port == usual else f"{self.bracketed}:{self.port}"

    def host_header(self, event: h11.Request) -> bytes:
        """The Host header to send: what a request that has no problem has, in canonical form."""
        [written] = [value.decode("latin-1") for name, value in event.headers if name == b"host"]
        found = _HOST.fullmatch(written)
        assert found is not None
        return (f"{self.bracketed}:{self.port}" if found[2] else self.bracketed).encode()


def problem(event: h11.Request, destination: Destination, *, tls: bool) -> str:
    """What is wrong with a request that is valid HTTP; empty when nothing is."""
    names = [name for name, _ in event.headers]
    if event.method == b"CONNECT":
        return "CONNECT is not allowed: the sandbox has no proxy"
    if event.http_version not in (b"1.0", b"1.1"):
        return f"HTTP/{event.http_version.decode()} is not available: only HTTP/1.1 is"
    if any(_CONTROL.search(value) for _, value in event.headers):
        return "a header has a control character in it"
    for name in names:
        if b"_" in name and name.replace(b"_", b"-") in _MEANT:
            return f"the header {name.decode()} may be taken for one that the host writes"
    if b"#" in event.target:
        return "a request has no fragment (#) in its target"
    if b"transfer-encoding" in names and b"content-length" in names:
        return "a request has a Content-Length or a Transfer-Encoding, not both"
    hosts = [value.decode("latin-1") for name, value in event.headers if name == b"host"]
    if len(hosts) != 1 or not destination.is_named(hosts[0]):
        place = destination.authority(tls=tls)
        return f"the Host header {', '.join(hosts)!r} is not {place}, which this connection is to"
    return ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the rules say of a request; both are empty for one that is allowed."""

    denial: str
    """Why a deny rule forbids it, which `on_request` cannot change."""
    refusal: str
    """Why no rule allows it, where `on_request` does not either."""


def judged(policy: Network, event: h11.Request, destination: Destination, url: str) -> Verdict:
    """What the rules say of a request to `url`: also in the meanings that servers may give to it.

    Raises ValueError for a target that is not a path.
    """
    scheme, method, target = url.partition("://")[0], event.method.decode(), event.target.decode("latin-1")
    others = overriding(event)
    place = (scheme, destination.host, destination.port)
    meanings = [(one, path) for one in (method, *others.methods) for path in (target, *others.targets)]
    denied = any(policy.denies(*place, *one) for one in meanings)
    elsewhere = [one for one in others.hosts if not destination.is_named(one)]
    allowed = not elsewhere and all(policy.allows(*place, *one) for one in meanings)
    known = (elsewhere or others.methods + others.targets)[:1]
    taken = "".join(f" (which may be taken for {one})" for one in known)
    return Verdict(
        denial=f"{method} {url} is denied by a rule" if denied else "",
        refusal="" if allowed else policy.refusal(f"{method} {url}{taken}"),
    )


def may_carry(secret: Secret, event: h11.Request, destination: Destination, scheme: str) -> bool:
    """Whether a request may carry a secret, in all the meanings that servers may give to it.

    Raises ValueError for a target that is not a path.
    """
    others = overriding(event)
    place = (scheme, destination.host, destination.port)
    return all(map(destination.is_named, others.hosts)) and all(
        secret.is_for(*place, method, path)
        for method in (event.method.decode(), *others.methods)
        for target in (event.target.decode("latin-1"), *others.targets)
        for path in readings(target)
    )
