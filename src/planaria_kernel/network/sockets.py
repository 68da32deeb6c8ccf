"""The type that `socket.socket` is built on: a connection of the host's, seen from the code.

The methods are those of `_socket.socket` (https://docs.python.org/3/library/socket.html#socket-objects).
There are TCP connections to servers; nothing listens, and there are no datagrams.
"""

from __future__ import annotations

import errno
import os
from _socket import AF_INET, AF_INET6, MSG_PEEK, SO_TYPE, SOCK_STREAM, SOL_SOCKET
from _socket import socket as system_socket
from typing import Any, Final, NoReturn

from planaria_kernel.network import link
from planaria_kernel.network.turns import is_turn, waited

__all__ = [
    "FIRST_DESCRIPTOR",
    "NOTHING_ELSE",
    "Socket",
    "is_paired",
    "number_of",
    "pair",
    "set_default_timeout",
]

#: Descriptors of sockets begin here, far above those of files.
FIRST_DESCRIPTOR: Final = 1 << 20

#: How many bytes one call takes from the host, and gives to it.
_FROM_HOST: Final = 1 << 20
_TO_HOST: Final = 1 << 18

#: From this size on a buffer is filled by the system, without a copy: small ones would be filled too often.
_LARGE: Final = 1 << 16
#: So many small ones are filled so after each large one: a reader with a buffer asks for the rest and refills
#: its buffer, before it has another large one filled.
_SMALL_ONES: Final = 2
#: From this size on data is first offered to the system, which takes it without a copy if it is of a body.
_LARGE_SENT: Final = 1 << 12

NOTHING_ELSE: Final = "nothing else runs that could send to this end of the pair of sockets"

_default_timeout: float | None = None


class _Connection:
    """What a descriptor stands for."""

    def __init__(self) -> None:
        self.number: int | None = None
        self.peer: tuple[str, int] | None = None
        #: Received, and not yet read by the code.
        self.peeked: bytes | memoryview = b""
        self.ended = False
        #: The other end of a pair, which is not the host's.
        self.other: _Connection | None = None
        #: How many small buffers the system may fill.
        self.small_ones = 0
        self._system: system_socket | None = None

    def direct(self) -> system_socket | None:
        """What the system fills and empties buffers by: the host's connection, which it does not own."""
        if self._system is None and self.number is not None:
            self._system = system_socket(AF_INET, SOCK_STREAM, 0, link.descriptor_of(self.number))
        return self._system

    def __del__(self) -> None:
        if self._system is not None:
            self._system.detach()


_open: dict[int, _Connection] = {}
_next_descriptor = FIRST_DESCRIPTOR


def number_of(descriptor: int) -> int | None:
    """The host's number of a connected socket."""
    connection = _open.get(descriptor)
    return None if connection is None or connection.ended else connection.number


def is_paired(descriptor: int) -> bool:
    """Whether it is one end of a pair."""
    connection = _open.get(descriptor)
    return connection is not None and connection.other is not None


def pair() -> tuple[Socket, Socket]:
    """Two sockets that are connected to each other."""
    one, other = Socket(), Socket()
    ends = one._connection(), other._connection()
    ends[0].other, ends[1].other = ends[1], ends[0]
    return one, other


def has_peeked(descriptor: int) -> bool:
    """Whether data is there without asking the host."""
    connection = _open.get(descriptor)
    return connection is not None and (bool(connection.peeked) or connection.ended)


def set_default_timeout(timeout: float | None) -> None:
    """The timeout of new sockets."""
    global _default_timeout
    _default_timeout = timeout


class Socket:
    """A socket."""

    __slots__ = ("_descriptor", "_family", "_options", "_proto", "_timeout", "_type")

    def __init__(self, family: int = -1, type: int = -1, proto: int = -1, fileno: int | None = None) -> None:  # noqa: A002
        global _next_descriptor
        if not link.is_enabled():
            raise OSError(errno.ENETUNREACH, link.NO_NETWORK)
        self._family = AF_INET if family == -1 else int(family)
        self._type = SOCK_STREAM if type == -1 else int(type)
        self._proto = 0 if proto == -1 else proto
        self._timeout = _default_timeout
        self._options: dict[tuple[int, int], Any] = {}
        if self._family not in (AF_INET, AF_INET6):
            raise OSError(errno.EAFNOSUPPORT, "the sandbox has no sockets but those of IPv4 and IPv6")
        if fileno is not None:
            if fileno not in _open:
                raise OSError(errno.EBADF, "Bad file descriptor")
            self._descriptor = fileno
            return
        self._descriptor = _next_descriptor
        _next_descriptor += 1
        _open[self._descriptor] = _Connection()

    # -- what it is ------------------------------------------------------------------------------------------

    @property
    def family(self) -> int:
        return self._family

    @property
    def type(self) -> int:
        return self._type

    @property
    def proto(self) -> int:
        return self._proto

    @property
    def timeout(self) -> float | None:
        return self._timeout

    def fileno(self) -> int:
        return self._descriptor

    def gettimeout(self) -> float | None:
        return self._timeout

    def settimeout(self, value: float | None, /) -> None:
        if value is not None:
            value = float(value)
            if value < 0:
                raise ValueError("Timeout value out of range")
        self._timeout = value

    def setblocking(self, flag: bool, /) -> None:
        self._timeout = None if flag else 0.0

    def getblocking(self) -> bool:
        return self._timeout != 0.0

    def setsockopt(self, level: int, option: int, value: Any, length: int | None = None, /) -> None:
        self._options[level, option] = value

    def getsockopt(self, level: int, option: int, length: int = 0, /) -> Any:
        if (level, option) == (SOL_SOCKET, SO_TYPE):
            return self._type
        value = self._options.get((level, option), 0)
        return value if not length else bytes(length)

    def getpeername(self) -> tuple[str, int]:
        peer = self._connection().peer
        if peer is None:
            raise OSError(errno.ENOTCONN, os.strerror(errno.ENOTCONN))
        return peer

    def getsockname(self) -> tuple[str, int]:
        return (
            ("0.0.0.0", 0) if self._connection().peer is None else ("198.18.0.0", self._descriptor & 0xFFFF)
        )

    # -- connecting ------------------------------------------------------------------------------------------

    def bind(self, address: Any, /) -> None:
        if address[0] not in ("", "0.0.0.0", "::") or address[1]:
            raise PermissionError(errno.EACCES, "the sandbox has no addresses of its own to bind to")

    def connect(self, address: Any, /) -> None:
        host, port = self.target(address)
        try:
            self.connected(link.blocking("open", host, port), address)
        except LookupError as error:
            raise _no_address(error) from None

    def connect_ex(self, address: Any, /) -> int:
        try:
            self.connect(address)
        except OSError as error:
            return error.errno or errno.EIO
        return 0

    def target(self, address: Any) -> tuple[str, int]:
        """The host and port of an address to connect to. Raises OSError when that cannot be done."""
        if self._type & 0xF != SOCK_STREAM:
            raise OSError(errno.EPROTONOSUPPORT, "the sandbox has TCP connections alone")
        if self._connection().number is not None:
            raise OSError(errno.EISCONN, "Transport endpoint is already connected")
        host, port = address[:2]
        if not isinstance(host, str) or not isinstance(port, int):
            raise TypeError("AF_INET address must be a pair (host, port)")
        return link.name_of(host), port

    def connected(self, number: int, address: Any) -> None:
        """The host has connected it."""
        connection = self._connection()
        connection.number = number
        connection.peer = (link.pretended_address(address[0]), address[1])

    # -- data ------------------------------------------------------------------------------------------------

    def recv(self, bufsize: int, flags: int = 0, /) -> bytes:
        if bufsize < 0:
            raise ValueError("negative buffersize in recv")
        data = self._waiting(bufsize, flags)
        return data if isinstance(data, bytes) else bytes(data)

    def _waiting(self, size: int, flags: int) -> bytes | memoryview:
        """At most `size` bytes of what was received; the host is asked for more when there is nothing."""
        connection = self._connection()
        data = connection.peeked
        if not data and size and not connection.ended:
            data = self._receive(connection)
        # A view: copying what remains at each small read would take the square of its length.
        connection.peeked = data if flags & MSG_PEEK else memoryview(data)[size:]
        return data if len(data) <= size else memoryview(data)[:size]

    def _receive(self, connection: _Connection) -> bytes | memoryview:
        if connection.other is not None:
            if self._timeout is None:
                raise OSError(errno.EDEADLK, NOTHING_ELSE)
            found = []
        else:
            found = waited(self._asked, self._timeout)
        if not found:
            if self._timeout == 0:
                raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
            raise TimeoutError("timed out")
        connection.ended = not found[0]
        return found[0]

    def _asked(self, seconds: float | None) -> list[bytes | memoryview]:
        """What the host has within so many seconds; nothing if it has nothing."""
        data = link.blocking("receive", self._number(), _FROM_HOST, seconds)
        return [] if data is None else [data]

    def recv_into(self, buffer: Any, nbytes: int = 0, flags: int = 0, /) -> int:
        view = memoryview(buffer).cast("B")
        if nbytes:
            if nbytes < 0:
                raise ValueError("negative buffersize in recv_into")
            view = view[:nbytes]
        if not flags and self._timeout != 0 and not is_turn():
            count = self._received_into(view)
            if count:
                return count
        data = self._waiting(len(view), flags)
        view[: len(data)] = data
        return len(data)

    def _received_into(self, buffer: memoryview) -> int:
        """Have the host put into a buffer what comes next, which no copy is made of; its length, or 0 where
        that has to be asked for.
        """
        connection = self._connection()
        if connection.peeked or connection.ended:
            return 0
        if len(buffer) >= _LARGE:
            connection.small_ones = _SMALL_ONES
        elif connection.small_ones:
            connection.small_ones -= 1
        else:
            return 0
        system = connection.direct()
        try:
            return 0 if system is None else system.recv_into(buffer)
        except OSError:
            return 0

    def recvfrom(self, bufsize: int, flags: int = 0, /) -> tuple[bytes, Any]:
        return self.recv(bufsize, flags), None

    def recvfrom_into(self, buffer: Any, nbytes: int = 0, flags: int = 0, /) -> tuple[int, Any]:
        return self.recv_into(buffer, nbytes, flags), None

    def send(self, data: Any, flags: int = 0, /) -> int:
        view = memoryview(data).cast("B")
        if len(view) >= _LARGE_SENT and (count := self._sent_from(view)):
            return count
        part = bytes(view[:_TO_HOST])
        other = self._connection().other
        if other is not None:
            if other.ended:
                raise BrokenPipeError(errno.EPIPE, "Broken pipe")
            other.peeked = bytes(other.peeked) + part
        elif part:
            link.blocking("send", self._number(), part)
        return len(part)

    def sendall(self, data: Any, flags: int = 0, /) -> None:
        view = memoryview(data).cast("B")
        while view:
            view = view[self.send(view, flags) :]

    def _sent_from(self, data: memoryview) -> int:
        """Have the host send from where the data is, without a copy; how much it took, or 0 where it has to
        be asked.
        """
        system = self._connection().direct()
        try:
            return 0 if system is None else system.send(data)
        except OSError:
            return 0

    def sendmsg(self, buffers: Any, *others: Any) -> int:
        return self.send(b"".join(bytes(one) for one in buffers))

    def sendto(self, *arguments: Any) -> NoReturn:
        raise OSError(errno.EPROTONOSUPPORT, "the sandbox has TCP connections alone")

    # -- the end ---------------------------------------------------------------------------------------------

    def shutdown(self, how: int, /) -> None:
        self.getpeername()

    def close(self) -> None:
        connection = _open.pop(self._descriptor, None)
        self._descriptor = -1
        if connection is not None and connection.other is not None:
            connection.ended = connection.other.ended = True
        elif connection is not None and connection.number is not None and link.is_enabled():
            link.blocking("close", connection.number)

    def detach(self) -> int:
        descriptor, self._descriptor = self._descriptor, -1
        return descriptor

    def forget(self) -> int | None:
        """Give up the descriptor without closing the connection; the host's number of it."""
        connection = _open.pop(self._descriptor, None)
        self._descriptor = -1
        return None if connection is None else connection.number

    # -- servers ---------------------------------------------------------------------------------------------

    def listen(self, backlog: int = 0, /) -> NoReturn:
        raise PermissionError(errno.EACCES, "nothing can listen in the sandbox")

    def _accept(self) -> NoReturn:
        raise OSError(errno.EINVAL, "Invalid argument")

    def _connection(self) -> _Connection:
        connection = _open.get(self._descriptor)
        if connection is None:
            raise OSError(errno.EBADF, "Bad file descriptor")
        return connection

    def _number(self) -> int:
        number = self._connection().number
        if number is None:
            raise OSError(errno.ENOTCONN, os.strerror(errno.ENOTCONN))
        return number


def _no_address(error: LookupError) -> OSError:
    import socket

    return socket.gaierror(socket.EAI_NONAME, str(error.args[0] if error.args else error))
