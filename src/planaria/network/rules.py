"""Rules of a network policy: read strictly, and compared with requests in one canonical form."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import quote, unquote_to_bytes

from planaria.network.hosts import Address, address_of, canonical_host

__all__ = ["DEFAULT_PORTS", "SCHEMES", "Rule", "bare_paths", "canonical_path", "parse_rule", "readings"]

DEFAULT_PORTS: Final = {"http": 80, "https": 443, "ws": 80, "wss": 443}
SCHEMES: Final = frozenset({*DEFAULT_PORTS, "tcp"})
#: Those of HTTP, which are not meant as the name of a host.
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"})
_METHOD: Final = re.compile(r"[A-Z]+(,[A-Z]+)*")
_AUTHORITY: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:/\[\]]*)(?::([0-9]{1,5}))?")


#: ASCII in more bytes than it needs, which careless decoders accept (RFC 3629, section 10).
_OVERLONG: Final = re.compile(rb"(?:[\xc0\xc1]|\xe0[\x80\x81]|\xf0\x80[\x80\x81])[\x80-\xbf]")
#: Characters that some servers replace by the nearest in ASCII.
_LOOKALIKES: Final = str.maketrans("\uff0e\u2024\uff0f\u2215\u2044\uff3c\u2216", "..///\\\\")
_CUT: Final = re.compile("[;\0]")
#: Characters that some servers leave out.
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
#: What servers may take for the format that is wanted of a resource.
_EXTENSION: Final = re.compile(r"\.[a-z][a-z0-9]{0,5}/?$")
#: How some servers have characters encoded besides: `%u002e`.
_WIDE: Final = re.compile("%u([0-9a-f]{4})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of `Network(allow=…)` or `Network(deny=…)`."""

    text: str
    """As it was written."""
    schemes: frozenset[str]
    host: str
    """In canonical form; empty when `network` is given."""
    is_suffix: bool
    """Whether it is for the subdomains of `host` rather than for itself: `*.example.com`."""
    port: int | None
    """None: the default port of the scheme."""
    path: str
    """A prefix in canonical form; empty for every path."""
    methods: frozenset[str]
    """Empty for every method."""
    network: ipaddress.IPv4Network | ipaddress.IPv6Network | None
    """The addresses it is for, when it was written as a range."""
    every_port: bool = False
    """Whether it is for all ports."""

    def covers(self, host: str, port: int) -> bool:
        """Whether requests to this place can match, whatever else they are."""
        return any(self.is_for(scheme, host, port) for scheme in self.schemes)

    def is_for(self, scheme: str, host: str, port: int) -> bool:
        """Whether requests of a scheme to this place can match."""
        return scheme in self.schemes and self.is_host(host) and self._is_port(scheme, port)

    def as_denial(self) -> Rule:
        """The rule as it denies: in whatever case a path is written, since servers may not tell these apart;
        without a scheme for all of them, and then without a port for every port.
        """
        if "://" in self.text:
            return replace(self, path=self.path.lower())
        return replace(self, path=self.path.lower(), schemes=SCHEMES, every_port=self.port is None)

    def matches(self, scheme: str, host: str, port: int, method: str, path: str) -> bool:
        """Whether a request matches; host and path in canonical form."""
        return (
            self.is_for(scheme, host, port)
            and (not self.methods or method in self.methods)
            and _is_below(path, self.path)
        )

    def is_whole(self, port: int) -> bool:
        """Whether it is for everything at a port: any method and path."""
        return not self.methods and not self.path and self.has_port(port)

    def has_port(self, port: int) -> bool:
        """Whether it is for a port."""
        return any(self._is_port(scheme, port) for scheme in self.schemes)

    def names_address(self, host: str) -> bool:
        """Whether it was written for this very address, or for `localhost`: private ones are meant then."""
        if self.network is not None:
            return self.is_host(host)
        return self.host == host and (address_of(host) is not None or host == "localhost")

    def is_host(self, host: str) -> bool:
        """Whether it is for a host in canonical form."""
        if self.network is not None:
            address = address_of(host)
            return address is not None and address in self.network
        if self.is_suffix:
            return host.endswith(f".{self.host}")
        return self.host in ("*", host)

    def _is_port(self, scheme: str, port: int) -> bool:
        return self.every_port or port == (DEFAULT_PORTS.get(scheme) if self.port is None else self.port)

    def __str__(self) -> str:
        place = self.text.partition(" ")[2] if self.methods else self.text
        place = place.partition("://")[2] or place
        if place.endswith("/") and place.count("/") == 1:
            place = place[:-1]
        return f"{place} ({', '.join(sorted(self.methods))})" if self.methods else place


def parse_rule(text: object) -> Rule:
    """A rule from `[METHOD[,METHOD…] ][scheme://]host[:port][/path]`.

    The host is a name, `*.` and a name for its subdomains, `*` for every host, an address, or a range of
    addresses in CIDR notation. Without a scheme it is for http and https. Raises TypeError or ValueError,
    which name the rule.
    """
    if not isinstance(text, str):
        raise TypeError(f"a rule is a str such as 'api.example.com', not {type(text).__name__}")
    try:
        return _parsed(text)
    except ValueError as error:
        raise ValueError(f"rule {text!r}: {error}") from None


def _parsed(text: str) -> Rule:
    rest, methods = text, frozenset[str]()
    if " " not in text and not _METHODS.isdisjoint(text.split(",")):
        raise ValueError(f"a host follows a method: '{text} api.example.com', or '{text} *' for every one")
    if " " in text:
        method, _, rest = text.partition(" ")
        if not _METHOD.fullmatch(method):
            raise ValueError(f"{method!r} is not a method in capitals, such as GET or GET,HEAD")
        methods = frozenset(method.split(","))
    if not rest or any(not character.isprintable() or character.isspace() for character in rest):
        raise ValueError("expected [METHOD ][scheme://]host[:port][/path]")
    scheme, separator, place = rest.partition("://")
    if not separator:
        scheme, place = "", rest
    elif scheme not in SCHEMES:
        raise ValueError(f"{scheme!r} is not one of the schemes {', '.join(sorted(SCHEMES))}")
    schemes = frozenset({scheme}) if scheme else frozenset({"http", "https"})
    network = None if scheme else _range(place)
    if network is not None:
        return Rule(text, schemes, "", False, None, "", methods, network)
    authority, slash, path = place.partition("/")
    if any(character in authority for character in "@?#\\") or any(
        character in path for character in "?#*\\"
    ):
        raise ValueError(
            "a rule has a host, a port and a path, and no user, query, fragment or pattern in it"
        )
    found = _AUTHORITY.fullmatch(authority)
    if found is None or not found[1]:
        raise ValueError(f"{authority!r} is not host or host:port")
    host, port = found[1], None if found[2] is None else int(found[2])
    if port is not None and not 0 < port < 65536:
        raise ValueError(f"{port} is not a port")
    if scheme == "tcp" and (port is None or slash or methods):
        raise ValueError("a rule for tcp:// has a port, and neither a method nor a path")
    is_suffix = host.startswith("*.")
    if host != "*":
        host = canonical_host(host[2:] if is_suffix else host)
        if is_suffix and address_of(host) is not None:
            raise ValueError("an address has no subdomains")
    prefix = canonical_path("/" + path) if slash and path else ""
    if prefix and not prefix.endswith("/") and path.endswith("/"):
        prefix += "/"
    return Rule(text, schemes, host, is_suffix, port, prefix, methods, None)


def _range(place: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    """Addresses in CIDR notation, if this is such a range."""
    before, slash, bits = place.partition("/")
    if not slash or not bits.isdigit() or not isinstance(address_of(before.strip("[]")), Address):
        return None
    return ipaddress.ip_network(f"{before.strip('[]')}/{bits}")


def canonical_path(target: str) -> str:
    """The path of a request's target as a server may come to see it: without the query, with `%2e`, `..`,
    `//`, backslashes and what is encoded twice resolved.

    Raises ValueError for a target that is not a path.
    """
    if not target.startswith("/"):
        raise ValueError(f"{target[:100]!r} is not a path that begins with '/'")
    written = target.partition("?")[0].partition("#")[0]
    path = _WIDE.sub(lambda found: quote(chr(int(found[1], 16)), errors="replace"), written).encode("utf-8")
    for _ in range(8):
        decoded = unquote_to_bytes(path)
        if decoded == path:
            break
        path = decoded
    parts: list[str] = []
    pieces = _text(path).replace("\\", "/").split("/")
    for piece in pieces:
        # Servers may take parameters and control characters off before they look at the steps.
        names = {_bare_step(piece), _bare_step(_CONTROL.sub("", piece))}
        if ".." in names:
            if parts:
                parts.pop()
        elif names.isdisjoint(("", ".")):
            parts.append(piece)
    is_folder = _bare_step(pieces[-1]) in ("", ".", "..")
    return "/" + "/".join(parts) + ("/" if is_folder and parts else "")


def readings(target: str) -> tuple[str, ...]:
    """The paths that servers may take a request's target for: the canonical one, and that of a server which
    decodes it once and knows no way up but two dots between slashes. Raises ValueError as `canonical_path`.
    """
    canonical = canonical_path(target)
    parts: list[str] = []
    steps = [_written(unquote_to_bytes(one)) for one in target.partition("?")[0].partition("#")[0].split("/")]
    for step in steps:
        if step == "..":
            if parts:
                parts.pop()
        elif step not in ("", "."):
            parts.append(step)
    literal = "/" + "/".join(parts) + ("/" if steps[-1] in ("", ".", "..") and parts else "")
    return (canonical,) if literal == canonical else (canonical, literal)


def bare_paths(path: str) -> tuple[str, str]:
    """A path in canonical form as servers may shorten it: without the parameters of its steps, what follows a
    null character, and dots and spaces at the ends of steps; and without the extension of its last step too.
    """
    bare = "/".join(_bare_step(step).rstrip(". ") for step in path.split("/"))
    return bare, _EXTENSION.sub("", bare)


def _bare_step(step: str) -> str:
    """Without parameters, what follows a null character, and spaces around it."""
    return _CUT.split(step, maxsplit=1)[0].strip(" ")


def _text(path: bytes) -> str:
    """As text; what is not UTF-8 stays percent-encoded. Dots and slashes are these, however encoded."""
    return _written(_OVERLONG.sub(_shortest, path)).translate(_LOOKALIKES)


def _written(path: bytes) -> str:
    """As text; what is not UTF-8 stays percent-encoded."""
    text = path.decode("utf-8", "surrogateescape")
    return "".join(f"%{ord(one) - 0xDC00:02X}" if "\udc80" <= one <= "\udcff" else one for one in text)


def _shortest(overlong: re.Match[bytes]) -> bytes:
    """The dot or slash that an overlong sequence of UTF-8 stands for; others stay."""
    character = bytes([(overlong[0][-2] & 1) << 6 | overlong[0][-1] & 0x3F])
    return character if character in b"./\\" else overlong[0]


def _is_below(path: str, prefix: str) -> bool:
    if not prefix or path == prefix:
        return True
    return path.startswith(prefix if prefix.endswith("/") else f"{prefix}/")
