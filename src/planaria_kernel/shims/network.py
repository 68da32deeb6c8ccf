"""`socket` and `select` of the sandbox: connections by way of the host, or an `OSError` that there are none.

The build lacks the functions that resolve names, so code that catches `OSError` would see AttributeError.
"""

from __future__ import annotations

import errno
import importlib
import os
import sys
from collections.abc import Callable
from typing import Any, Final, NoReturn

from planaria_kernel.network import link, polling, sockets
from planaria_kernel.shims.importing import when_imported

__all__ = ["HOST_NAME", "install"]

#: The name of the sandbox's host, as `hostname` in the shell prints it.
HOST_NAME: Final = "planaria"
_SERVICES: Final = {
    "ftp": 21,
    "ssh": 22,
    "smtp": 25,
    "domain": 53,
    "http": 80,
    "pop3": 110,
    "imap": 143,
    "https": 443,
}
#: The buffer of a socket's file, in bytes.
_BUFFER: Final = 1 << 18
#: Options that libraries set without asking whether they exist, with the numbers of Linux.
#: The build defines few of them.
_OPTIONS: Final = {
    "SO_REUSEADDR": 2,
    "SO_ERROR": 4,
    "SO_BROADCAST": 6,
    "SO_SNDBUF": 7,
    "SO_RCVBUF": 8,
    "SO_KEEPALIVE": 9,
    "SO_OOBINLINE": 10,
    "SO_LINGER": 13,
    "SO_REUSEPORT": 15,
    "SO_RCVTIMEO": 20,
    "SO_SNDTIMEO": 21,
    "IPPROTO_IP": 0,
    "IPPROTO_IPV6": 41,
    "IP_TOS": 1,
    "IPV6_V6ONLY": 26,
    "TCP_NODELAY": 1,
    "TCP_MAXSEG": 2,
    "TCP_KEEPIDLE": 4,
    "TCP_KEEPINTVL": 5,
    "TCP_KEEPCNT": 6,
    "TCP_SYNCNT": 7,
    "TCP_QUICKACK": 12,
    "TCP_USER_TIMEOUT": 18,
}


def _change_base(module: Any) -> None:
    """What `socket.socket` is derived from, and the options it takes."""
    module.socket = module.SocketType = sockets.Socket
    for name, number in _OPTIONS.items():
        if not hasattr(module, name):
            setattr(module, name, number)
    module.setdefaulttimeout = sockets.set_default_timeout


def _change_socket(module: Any) -> None:
    stream, tcp = module.SocketKind.SOCK_STREAM, module.IPPROTO_TCP

    def address_of(host: Any) -> str:
        if isinstance(host, (bytes, bytearray)):
            host = bytes(host).decode("ascii")
        if not isinstance(host, str):
            raise TypeError("getaddrinfo() argument 1 must be string or None")
        if not link.is_enabled():
            # What needs no question is known without a network, too.
            if (address := "127.0.0.1" if host == "localhost" else link.numeric_address(host)) is None:
                raise module.gaierror(module.EAI_AGAIN, link.NO_NETWORK)
            return address
        return link.pretended_address(host)

    def getaddrinfo(
        host: Any,
        port: Any,
        family: int = 0,
        type: int = 0,  # noqa: A002
        proto: int = 0,
        flags: int = 0,
    ) -> list[Any]:
        if flags & module.AI_PASSIVE and not link.is_enabled():
            raise module.gaierror(module.EAI_AGAIN, link.NO_NETWORK)  # asyncio would not say why
        address = "127.0.0.1" if host is None else address_of(host)
        number = port_of(port)
        if ":" in address:
            return [(module.AddressFamily.AF_INET6, stream, tcp, "", (address, number, 0, 0))]
        if family == module.AF_INET6:
            raise module.gaierror(module.EAI_NONAME, "Name or service not known")
        return [(module.AddressFamily.AF_INET, stream, tcp, "", (address, number))]

    def port_of(port: Any) -> int:
        if port is None:
            return 0
        text = port.decode("ascii") if isinstance(port, bytes) else port
        if isinstance(text, str) and not text.isdigit():
            return getservbyname(text)
        return int(text)

    def gethostbyname(hostname: str) -> str:
        return address_of(hostname)

    def gethostbyname_ex(hostname: str) -> tuple[str, list[str], list[str]]:
        return hostname, [], [address_of(hostname)]

    def getnameinfo(sockaddr: Any, flags: int) -> tuple[str, str]:
        return link.name_of(address_of(sockaddr[0])), str(sockaddr[1])

    def gethostbyaddr(ip_address: str) -> tuple[str, list[str], list[str]]:
        name = link.name_of(ip_address) if link.is_enabled() else ip_address
        if name == ip_address:
            raise module.herror(2, "Host name lookup failure" if link.is_enabled() else link.NO_NETWORK)
        return name, [], [ip_address]

    def getservbyname(servicename: str, protocolname: str = "tcp") -> int:
        if servicename not in _SERVICES:
            raise OSError(errno.ENOENT, "service/proto not found")
        return _SERVICES[servicename]

    def getservbyport(port: int, protocolname: str = "tcp") -> str:
        for name, number in _SERVICES.items():
            if number == port:
                return name
        raise OSError(errno.ENOENT, "port/proto not found")

    def getprotobyname(protocolname: str) -> int:
        if protocolname != "tcp":
            raise OSError(errno.ENOENT, "protocol not found")
        return int(tcp)

    def gethostname() -> str:
        return HOST_NAME

    def socketpair(family: Any = None, type: Any = stream, proto: int = 0) -> tuple[Any, Any]:  # noqa: A002
        one, other = sockets.pair()
        return module.socket(fileno=one.detach()), module.socket(fileno=other.detach())

    plain_makefile = module.socket.makefile

    def makefile(self: Any, mode: str = "r", buffering: int | None = None, **others: Any) -> Any:
        # A part that the host brings is larger than the system's, since asking for it costs more.
        wanted = _BUFFER if buffering is None or buffering < 0 else buffering
        return plain_makefile(self, mode, wanted, **others)

    makefile.__doc__ = plain_makefile.__doc__
    makefile.__qualname__ = plain_makefile.__qualname__
    module.socket.makefile = makefile

    def sethostname(name: str) -> NoReturn:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    def if_nameindex() -> list[tuple[int, str]]:
        return []

    functions: tuple[Callable[..., Any], ...] = (
        getaddrinfo,
        gethostbyaddr,
        gethostbyname,
        gethostbyname_ex,
        gethostname,
        getnameinfo,
        getprotobyname,
        getservbyname,
        getservbyport,
        if_nameindex,
        sethostname,
        socketpair,
    )
    for function in functions:
        function.__qualname__ = function.__name__
        setattr(module, function.__name__, function)
        setattr(module._socket, function.__name__, function)


def _change_select(module: Any) -> None:
    module.select = polling.select
    module.poll = polling.Poll
    for name in ("POLLIN", "POLLPRI", "POLLOUT", "POLLERR", "POLLHUP", "POLLNVAL"):
        setattr(module, name, getattr(polling, name))


def _change_urllib_error(module: Any) -> None:
    """Let a URLError for a PermissionError be one itself: urllib wraps what sockets raise, and a refusal is
    told apart by its type. Code that catches URLError catches it as before.
    """
    plain = module.URLError

    def show(self: Any) -> str:
        return str(self.reason)

    members = {"__module__": "builtins", "__qualname__": "PermissionError", "__str__": show}
    refusal = type("PermissionError", (plain, PermissionError), members)

    def create(kind: type[OSError], reason: object = None, *others: Any, **named: Any) -> OSError:
        is_refusal = kind is plain and isinstance(reason, PermissionError)
        created: OSError = OSError.__new__(refusal if is_refusal else kind)
        if is_refusal and isinstance(reason, OSError):
            created.errno = reason.errno
        return created

    plain.__new__ = create


def install() -> None:
    """Put this in place when `socket` and `select` are imported."""
    when_imported("_socket", _change_base)
    if "socket" in sys.modules:  # asyncio has imported it
        importlib.reload(sys.modules["socket"])
    when_imported("socket", _change_socket)
    when_imported("select", _change_select)
    when_imported("urllib.error", _change_urllib_error)
    uname = os.uname()
    os.uname = lambda: os.uname_result((uname[0], HOST_NAME, *uname[2:]))
