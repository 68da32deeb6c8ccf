"""Names and addresses of hosts: one canonical form, and which addresses are public."""

from __future__ import annotations

import ipaddress
import re
from typing import Final

__all__ = ["Address", "address_of", "canonical_host", "embedded_address", "is_public"]

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_LABEL: Final = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER: Final = re.compile(r"0x[0-9a-f]*|[0-9]+")
#: The longest text that is looked at as a host: encoding long names takes quadratic time.
_MOST_HOST: Final = 1000
#: The IPv6 prefix whose addresses stand for IPv4 addresses: NAT64 (RFC 6052).
_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")
#: All IPv6 addresses of servers on the internet (RFC 4291, section 2.4), but those of documents (RFC 9637).
_GLOBAL: Final = ipaddress.IPv6Network("2000::/3")
_DOCUMENTS: Final = ipaddress.IPv6Network("3fff::/20")


def canonical_host(text: str) -> str:
    """A host as rules compare it: in lower case, without the trailing dot, international names in their ASCII
    form (IDNA 2008), addresses in the usual notation, however they were written.

    Raises ValueError for what is neither a name (RFC 1123) nor an address.
    """
    if len(text) > _MOST_HOST:
        raise ValueError(f"{text[:100]!r}... is not a valid host name: it has {len(text)} characters")
    host = text.strip("[]") if text[:1] == "[" and text[-1:] == "]" else text
    if not host.isascii():
        import idna

        try:
            host = idna.encode(host, uts46=True).decode("ascii")
        except idna.IDNAError as error:
            raise ValueError(f"{text!r} is not a valid host name: {error}") from None
    host = host.lower()
    if host.endswith("."):
        host = host[:-1]
    address = address_of(host)
    if address is not None:
        return str(address)
    labels = host.split(".")
    if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise ValueError(f"{text[:100]!r} is not a valid host name")
    if _NUMBER.fullmatch(labels[-1]):
        raise ValueError(f"{text[:100]!r} is not a valid IPv4 address")
    return host


def address_of(host: str) -> Address | None:
    """The address that a host is written as, or None for a name.

    IPv4 addresses may have fewer than four parts, in octal or hexadecimal, as inet_aton(3) takes them. IPv6
    addresses that stand for IPv4 ones are given as these.
    """
    if ":" in host:
        try:
            address = ipaddress.IPv6Address(host.partition("%")[0])
        except ValueError:
            return None
        return embedded_address(address) or address
    parts = host.split(".")
    if len(parts) > 4 or not all(_NUMBER.fullmatch(part) for part in parts):
        return None
    try:
        numbers = [_number(part) for part in parts]
    except ValueError:
        return None
    *first, last = numbers
    if any(number > 255 for number in first) or last >= 256 ** (5 - len(parts)):
        return None
    value = last
    for position, number in enumerate(first):
        value += number << (24 - 8 * position)
    return ipaddress.IPv4Address(value)


def _number(part: str) -> int:
    if part.startswith("0x"):
        return int(part[2:] or "0", 16)
    return int(part, 8) if part.startswith("0") and part != "0" else int(part)


def embedded_address(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address that an IPv6 address leads to: IPv4-mapped, 6to4, Teredo or NAT64; otherwise None."""
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return None


def is_public(address: Address) -> bool:
    """Whether an address belongs to the internet: not private, loopback, link-local, shared (CGNAT),
    multicast, or reserved (https://www.iana.org/assignments/iana-ipv4-special-registry).
    """
    if isinstance(address, ipaddress.IPv6Address):
        inner = embedded_address(address)
        if inner is not None:
            return is_public(inner)
        if address not in _GLOBAL or address in _DOCUMENTS:
            return False
    return address.is_global and not address.is_multicast and not address.is_reserved
