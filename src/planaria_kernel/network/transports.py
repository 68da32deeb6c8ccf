"""Connections of asyncio: they wait for awaited calls of the host, so that a cell that waits is parked."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Iterable, Iterator
from typing import Any, Final

from planaria_kernel.network import link
from planaria_kernel.network.sockets import Socket, number_of

__all__ = ["SocketTransport", "have_ssl", "readable", "sock_connect", "sock_recv", "sock_sendall"]

_CHUNK: Final = 1 << 18
#: How long a wait for data goes on before it is asked again: a connection in a pool may be idle for hours.
_PATIENCE: Final = 1e6


def _finish(waiter: asyncio.Future[Any]) -> None:
    if not waiter.done():
        waiter.set_result(None)


def have_ssl() -> None:
    """Give asyncio the module `ssl`, which was not found when the sandbox started."""
    from asyncio import base_events, sslproto

    if base_events.ssl is None:  # type: ignore[attr-defined]
        import ssl

        importlib.reload(sslproto)
        base_events.ssl = ssl


def readable(connections: Iterable[int], seconds: float | None) -> set[int]:
    """Block until one of the host's connections has something, at most so long; which have."""
    return set(link.blocking("poll", list(set(connections)), seconds))


async def sock_connect(sock: Any, address: Any) -> None:
    """Connect a socket (`loop.sock_connect`)."""
    host, port = sock.target(address)
    try:
        number = await link.awaited("open", host, port)
    except LookupError as error:
        raise OSError(str(error.args[0] if error.args else error)) from None
    Socket.connected(sock, number, address)


async def sock_recv(sock: Any, size: int) -> bytes:
    """Receive from a socket (`loop.sock_recv`)."""
    while True:
        data = await link.awaited("receive", number_of(sock.fileno()), size, _PATIENCE)
        if data is not None:
            return data  # type: ignore[no-any-return]


async def sock_sendall(sock: Any, data: Any) -> None:
    """Send to a socket (`loop.sock_sendall`)."""
    for part in _parts(data):
        await link.awaited("send", number_of(sock.fileno()), part)


def _parts(data: Any) -> Iterator[bytes]:
    view = memoryview(data).cast("B")
    for start in range(0, len(view), _CHUNK):
        yield bytes(view[start : start + _CHUNK])


class SocketTransport(asyncio.Transport):
    """A connected socket as asyncio's protocols use it."""

    _start_tls_compatible = True

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        sock: Any,
        protocol: asyncio.BaseProtocol,
        waiter: asyncio.Future[Any] | None = None,
        extra: dict[str, Any] | None = None,
    ) -> None:
        places = {"socket": sock, "peername": sock.getpeername(), "sockname": sock.getsockname()}
        super().__init__({**(extra or {}), **places})
        self._loop = loop
        self._socket = sock
        self._number = number_of(sock.fileno())
        self._protocol = protocol
        self._buffer = bytearray()
        self._paused = self._closing = self._lost = self._stopped = False
        self._high, self._low = 1 << 16, 1 << 14
        self._reader: asyncio.Task[None] | None = None
        self._writer: asyncio.Task[None] | None = None
        loop.call_soon(protocol.connection_made, self)
        loop.call_soon(self._read_on)
        if waiter is not None:
            loop.call_soon(_finish, waiter)

    # -- protocol --------------------------------------------------------------------------------------------

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._protocol = protocol

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self._protocol

    def is_closing(self) -> bool:
        return self._closing

    # -- reading ---------------------------------------------------------------------------------------------

    def is_reading(self) -> bool:
        return not self._paused and not self._closing

    def pause_reading(self) -> None:
        self._paused = True

    def resume_reading(self) -> None:
        self._paused = False
        self._read_on()

    def _read_on(self) -> None:
        if not self._paused and not self._closing and (self._reader is None or self._reader.done()):
            self._reader = self._loop.create_task(self._read())

    async def _read(self) -> None:
        try:
            while not self._paused and not self._closing:
                data = await link.awaited("receive", self._number, _CHUNK, _PATIENCE)
                if data is None:
                    continue
                if self._closing:
                    return
                if not data:
                    if not self._protocol.eof_received():  # type: ignore[attr-defined]
                        self.close()
                    return
                self._deliver(data)
        except asyncio.CancelledError:
            raise
        except Exception as error:
            self._fail(error)

    def _deliver(self, data: bytes) -> None:
        protocol = self._protocol
        if not isinstance(protocol, asyncio.BufferedProtocol):
            protocol.data_received(data)  # type: ignore[attr-defined]
            return
        while data and not self._closing:
            buffer = memoryview(protocol.get_buffer(len(data))).cast("B")
            count = min(len(buffer), len(data))
            buffer[:count] = data[:count]
            protocol.buffer_updated(count)
            data = data[count:]

    # -- writing ---------------------------------------------------------------------------------------------

    def write(self, data: Any) -> None:
        if self._closing or not data:
            return
        self._buffer += data
        if len(self._buffer) > self._high and not self._stopped:
            self._stopped = True
            self._protocol.pause_writing()
        if self._writer is None or self._writer.done():
            self._writer = self._loop.create_task(self._write())

    async def _write(self) -> None:
        try:
            while self._buffer and not self._lost:
                part = bytes(self._buffer[:_CHUNK])
                del self._buffer[:_CHUNK]
                await link.awaited("send", self._number, part)
                if self._stopped and len(self._buffer) <= self._low:
                    self._stopped = False
                    self._protocol.resume_writing()
            if self._closing:
                await self._close()
        except asyncio.CancelledError:
            raise
        except Exception as error:
            self._fail(error)

    def can_write_eof(self) -> bool:
        return False

    def get_write_buffer_size(self) -> int:
        return len(self._buffer)

    def get_write_buffer_limits(self) -> tuple[int, int]:
        return self._low, self._high

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._high = high if high is not None else 4 * low if low else 1 << 16
        self._low = low if low is not None else self._high // 4

    # -- the end ---------------------------------------------------------------------------------------------

    def close(self) -> None:
        if self._closing:
            return
        self._closing = True
        if self._reader is not None and self._reader is not asyncio.current_task(self._loop):
            self._reader.cancel()
        if self._writer is None or self._writer.done():
            self._writer = self._loop.create_task(self._write())

    def abort(self) -> None:
        self._buffer.clear()
        self.close()

    async def _close(self, error: Exception | None = None) -> None:
        if self._lost:
            return
        self._lost = True
        Socket.forget(self._socket)
        try:
            await link.awaited("close", self._number)
        finally:
            self._protocol.connection_lost(error)

    def _fail(self, error: Exception) -> None:
        self._closing = True
        self._buffer.clear()
        self._writer = self._loop.create_task(self._close(error))
