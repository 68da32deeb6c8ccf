"""A TCP connection whose data is asked for before it is waited for, with TLS or without.

What is there already costs a system call and no turn of an event loop, and a thread beside that of the loop
may take it.
"""

from __future__ import annotations

import errno
import os
import select
import socket
import ssl
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import anyio
from anyio.abc import ByteStream, SocketAttribute
from anyio.streams.tls import TLSAttribute, TLSStream

from planaria.network.hosts import Address

__all__ = ["TcpStream", "start_tls"]

#: A connection that is being made: EINPROGRESS, or on Windows EWOULDBLOCK.
_CONNECTING: Final = frozenset({errno.EINPROGRESS, errno.EWOULDBLOCK})
#: The longest record of TLS (RFC 8446, section 5.1): one read decrypts no more than that.
_RECORD: Final = 1 << 14
#: How much encrypted data one read takes at most.
_MOST_ENCRYPTED: Final = 1 << 18


class TcpStream(ByteStream):
    """A connected socket. Not thread-safe: one thread may use it at a time."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected

    @classmethod
    async def connect(cls, address: Address, port: int) -> TcpStream:
        """Connect to an address. Raises OSError."""
        family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
        connection = socket.socket(family, socket.SOCK_STREAM)
        try:
            connection.setblocking(False)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            number = connection.connect_ex((str(address), port))
            if number in _CONNECTING:
                await anyio.wait_writable(connection)
                number = connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if number:
                raise OSError(number, os.strerror(number))
        except BaseException:
            connection.close()
            raise
        return cls(connection)

    async def start_tls(self, context: ssl.SSLContext, name: str | None) -> None:
        """Encrypt the connection, and verify that the server is `name`. Raises ssl.SSLError and OSError.

        Data that was received before must have been taken.
        """
        encrypted = context.wrap_socket(self._socket, server_hostname=name, do_handshake_on_connect=False)
        self._socket = encrypted
        await self._until_done(encrypted.do_handshake)

    @property
    def is_encrypted(self) -> bool:
        """Whether TLS has begun."""
        return isinstance(self._socket, ssl.SSLSocket)

    # -- without waiting -------------------------------------------------------------------------------------

    def receive_nowait(self, size: int) -> bytes | None:
        """What is there, at most `size` bytes; none at the end of the connection; None when nothing is there.

        Raises OSError.
        """
        if isinstance(self._socket, ssl.SSLSocket) and size > _RECORD:
            buffer = memoryview(bytearray(min(size, _MOST_ENCRYPTED)))
            count = self.receive_into_nowait(buffer)
            return None if count is None else bytes(buffer[:count])
        try:
            return self._socket.recv(size)
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return None

    def receive_into_nowait(self, buffer: memoryview) -> int | None:
        """Put what is there into a buffer; its length, 0 at the end of the connection; None when nothing is
        there. Raises OSError.
        """
        try:
            if isinstance(self._socket, ssl.SSLSocket):
                return _decrypted(self._socket, buffer)
            return self._socket.recv_into(buffer)
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return None

    def send_nowait(self, data: bytes | memoryview) -> int:
        """Send what the system takes of the data; its length. Raises OSError.

        With TLS what is sent next has to begin with the rest.
        """
        try:
            return self._socket.send(data)
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return 0

    def wait_for_input(self, seconds: float) -> None:
        """Block until there may be something to receive, for so many seconds at most. From any thread; the
        connection may be closed meanwhile.
        """
        self._wait(select.POLLIN, seconds)

    def wait_for_output(self, seconds: float) -> None:
        """Block until the system may take something to send; as `wait_for_input`."""
        self._wait(select.POLLOUT, seconds)

    def _wait(self, event: int, seconds: float) -> None:
        descriptor = self._socket.fileno()
        if descriptor >= 0:
            poll = select.poll()
            poll.register(descriptor, event)
            poll.poll(seconds * 1e3)

    def is_alive(self) -> bool:
        """Whether the connection is open and silent."""
        try:
            return self.receive_nowait(1) is None
        except OSError:
            return False

    # -- a stream of anyio -----------------------------------------------------------------------------------

    async def receive(self, max_bytes: int = 1 << 16) -> bytes:
        """What comes next. Raises anyio.EndOfStream, and anyio.BrokenResourceError."""
        try:
            while True:
                data = self.receive_nowait(max_bytes)
                if data:
                    return data
                if data is not None:
                    raise anyio.EndOfStream
                await anyio.wait_readable(self._socket)
        except (OSError, ValueError) as error:
            raise self._failure() from error

    async def send(self, item: bytes | memoryview) -> None:
        """Send all of the data. Raises anyio.BrokenResourceError."""
        rest = memoryview(item)
        try:
            while rest:
                count = await self._until_done(partial(self._socket.send, rest))
                rest = rest[count:]
        except (OSError, ValueError) as error:
            raise self._failure() from error

    async def send_eof(self) -> None:
        self._socket.shutdown(socket.SHUT_WR)

    async def aclose(self) -> None:
        """Close the connection; tasks that wait for it get anyio.ClosedResourceError."""
        if self._socket.fileno() >= 0:
            anyio.notify_closing(self._socket)
            self._socket.close()

    async def _until_done(self, step: Callable[[], Any]) -> Any:
        """Repeat a step as long as the socket is not ready for it."""
        while True:
            try:
                return step()
            except ssl.SSLWantReadError:
                await anyio.wait_readable(self._socket)
            except (BlockingIOError, ssl.SSLWantWriteError):
                await anyio.wait_writable(self._socket)

    def _failure(self) -> Exception:
        return anyio.BrokenResourceError() if self._socket.fileno() >= 0 else anyio.ClosedResourceError()

    @property
    def extra_attributes(self) -> Mapping[Any, Callable[[], Any]]:
        attributes: dict[Any, Callable[[], Any]] = {
            SocketAttribute.raw_socket: lambda: self._socket,
            SocketAttribute.local_address: self._socket.getsockname,
            SocketAttribute.remote_address: self._socket.getpeername,
        }
        if self.is_encrypted:
            attributes[TLSAttribute.ssl_object] = lambda: self._socket
        return attributes


async def start_tls(stream: ByteStream, context: ssl.SSLContext, name: str | None) -> ByteStream:
    """The stream, encrypted, whose server was verified to be `name`. Raises ssl.SSLError and OSError, and
    anyio.BrokenResourceError or anyio.EndOfStream when the server closes the connection meanwhile.
    """
    if isinstance(stream, TcpStream) and not stream.is_encrypted:
        await stream.start_tls(context, name)
        return stream
    return await TLSStream.wrap(stream, hostname=name, ssl_context=context, standard_compatible=False)


def _decrypted(connection: ssl.SSLSocket, buffer: memoryview) -> int:
    """Put what is there into a buffer, which comes by records; its length. Raises ssl.SSLWantReadError."""
    count = connection.recv_into(buffer)
    try:
        while count < len(buffer):
            more = connection.recv_into(buffer[count:])
            if not more:  # the end, which the next read finds again
                break
            count += more
    except OSError:
        pass  # nothing more is there; an error comes again
    return count
