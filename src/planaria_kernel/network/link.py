"""What the sandbox's sockets have in common: the way to the host, and the names behind addresses.

Code never sees real addresses. A name that it looks up gets one from 198.18.0.0/15 (RFC 2544). When the code
connects there, the host receives the name again: it resolves names itself, and checks the addresses.
"""

from __future__ import annotations

import errno
import ipaddress
from typing import Any, Final

from planaria_kernel.namespaces.operations import Host

__all__ = [
    "NO_NETWORK",
    "RECEIVE",
    "awaited",
    "blocking",
    "connect",
    "descriptor_of",
    "enable",
    "is_enabled",
    "name_of",
    "numeric_address",
    "os_error",
    "pretended_address",
]

NO_NETWORK: Final = (
    "the sandbox has no network: allow one (network=, or --allow on the command line), or use a callback, a "
    "mounted file or a tool"
)

#: The call that receives from a connection, whose number is its first argument.
RECEIVE: Final = "@network.receive"

_FIRST: Final = int(ipaddress.IPv4Address("198.18.0.1"))
_MOST_NAMES: Final = 1 << 17
#: Above the descriptors of files and those of the code's sockets.
_FIRST_DESCRIPTOR: Final = 1 << 30

_host: Host | None = None
_enabled = False
_addresses: dict[str, str] = {}
_names: dict[str, str] = {}

_NUMBERS: Final = (
    (ConnectionAbortedError, errno.ECONNABORTED),
    (ConnectionRefusedError, errno.ECONNREFUSED),
    (ConnectionResetError, errno.ECONNRESET),
    (TimeoutError, errno.ETIMEDOUT),
)


def connect(host: Host) -> None:
    """Give sockets the way to the host."""
    global _host
    _host = host


def enable(setting: bool | None) -> None:
    """Whether the session has a network."""
    global _enabled
    _enabled = bool(setting)


def is_enabled() -> bool:
    """Whether the session has a network."""
    return _enabled


def os_error(error: Exception) -> OSError:
    """An error of the host's as a socket raises it: with its number.

    A refusal is a PermissionError whose message is the reason alone: the text of EACCES would add nothing.
    """
    if isinstance(error, PermissionError):
        refusal = PermissionError(str(error))
        refusal.errno = errno.EACCES
        return refusal
    for kind, number in _NUMBERS:
        if isinstance(error, kind):
            return kind(number, str(error))
    if isinstance(error, OSError):
        return OSError(error.errno or errno.EIO, error.strerror or str(error))
    return OSError(errno.ENETUNREACH, str(error))


def blocking(name: str, *arguments: Any) -> Any:
    """Ask the host and wait. Raises OSError, and LookupError for a name that has no address."""
    if _host is None or not _enabled:
        raise OSError(errno.ENETUNREACH, NO_NETWORK)
    try:
        return _host.blocking(f"@network.{name}", arguments, {})
    except LookupError:
        raise
    except Exception as error:
        raise os_error(error) from None


async def awaited(name: str, *arguments: Any) -> Any:
    """Ask the host and park. Raises what `blocking` raises."""
    if _host is None or not _enabled:
        raise OSError(errno.ENETUNREACH, NO_NETWORK)
    try:
        return await _host.awaited(f"@network.{name}", arguments, {})
    except LookupError:
        raise
    except Exception as error:
        raise os_error(error) from None


def descriptor_of(number: int) -> int:
    """The descriptor that the system has for the host's number of a connection.

    Numbers that are in use in other sessions or states have other descriptors, as far as 30 bits can tell.
    """
    return _FIRST_DESCRIPTOR | (((number >> 12) + number) & (_FIRST_DESCRIPTOR - 1))


def numeric_address(name: str) -> str | None:
    """An address in its usual form, None for what is a name."""
    try:
        return str(ipaddress.ip_address(name))
    except ValueError:
        return None


def pretended_address(name: str) -> str:
    """The address that stands for a name; an address stands for itself."""
    if (address := numeric_address(name)) is not None:
        return address
    name = name.lower().removesuffix(".")
    address = _addresses.get(name)
    if address is None:
        if len(_addresses) >= _MOST_NAMES:
            raise OSError(errno.ENOMEM, "too many host names were looked up in this session")
        address = str(ipaddress.IPv4Address(_FIRST + len(_addresses)))
        _addresses[name] = address
        _names[address] = name
    return address


def name_of(address: str) -> str:
    """The host name for an address or name that the code connects to."""
    return _names.get(address, address)
