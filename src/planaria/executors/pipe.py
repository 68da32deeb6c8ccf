"""The host's end of the connection with a kernel in another process.

Frames go both ways: four bytes of length, little-endian, and a host call or its reply (see
docs/internals/boundary.md). What the other side sends is not trusted: a frame's length is checked before
anything is allocated for it, and memory grows only with what really arrives.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import socket
import struct
import termios
from collections.abc import Callable, Mapping
from typing import Final

from planaria.errors import ProtocolError
from planaria_kernel.protocol import MAX_BYTES

__all__ = ["MAX_FRAME", "FrameReader", "Pipe"]

#: Bytes of a frame: one encoded value, and what stands around it.
MAX_FRAME: Final = MAX_BYTES + (16 << 20)
_HEADER: Final = 4
_READ: Final = 1 << 18
_STRAY: Final = 4096


class FrameReader:
    """Takes bytes as they come and gives whole frames."""

    __slots__ = ("_buffer", "_most", "_size", "_start")

    def __init__(self, most: int = MAX_FRAME) -> None:
        self._buffer = bytearray()
        self._start = 0
        #: The length of the frame that has begun, -1 before its header is there.
        self._size = -1
        self._most = most

    def feed(self, data: bytes) -> None:
        if self._start:
            del self._buffer[: self._start]
            self._start = 0
        self._buffer += data

    def next(self) -> bytes | None:
        """The next frame, None before all of it is there.

        Raises ProtocolError when it claims to be larger than any may be, or has nothing in it.
        """
        buffer, start = self._buffer, self._start
        if self._size < 0:
            if len(buffer) - start < _HEADER:
                return None
            size = int.from_bytes(buffer[start : start + _HEADER], "little")
            if not 0 < size <= self._most:
                raise ProtocolError(
                    f"the kernel announced a frame of {size} bytes; the limits are 1 and {self._most}"
                )
            self._size = size
        start += _HEADER
        end = start + self._size
        if len(buffer) < end:
            return None
        frame = bytes(memoryview(buffer)[start:end])
        self._start = end
        self._size = -1
        if end == len(buffer):
            self._buffer = bytearray()
            self._start = 0
        return frame


class Pipe:
    """Frames over a socket, and what the process writes to descriptors beside it.

    `beside` are pipes by the number of the descriptor that writes into them. `unpack` turns what arrives on
    the socket into the bytes of frames. The pipe owns the socket and those descriptors.
    """

    def __init__(
        self,
        connection: socket.socket,
        beside: Mapping[int, int] | None = None,
        unpack: Callable[[bytes], bytes] | None = None,
    ) -> None:
        self._socket = connection
        self._number = connection.fileno()
        connection.setblocking(False)
        self._beside = {source: number for number, source in (beside or {}).items()}
        #: Gets the number of a descriptor and what was written to it, always before frames that came later.
        self.written: Callable[[int, bytes], None] | None = None
        #: The last that was written while there was no listener.
        self.stray = bytearray()
        self._unpack = unpack
        self._frames = FrameReader()
        self._out = b""
        self._sent = 0
        #: The other side has closed the connection; what it had sent may still be there.
        self.ended = False
        self.closed = False
        self._wake_source, self._wake_sink = os.pipe()
        for source in (self._wake_source, self._wake_sink, *self._beside):
            os.set_blocking(source, False)
        # The socket first: what was written before a frame is then seen no later than the frame.
        self._poll = select.poll()
        self._poll.register(self._number, select.POLLIN)
        self._poll.register(self._wake_source, select.POLLIN)
        self._poll_beside = select.poll()
        for source in self._beside:
            self._poll.register(source, select.POLLIN)
            self._poll_beside.register(source, select.POLLIN)

    def next_frame(self) -> bytes | None:
        """The next frame that is there already. Raises ProtocolError, see `FrameReader`."""
        return self._frames.next()

    def send(self, frame: bytes) -> None:
        """Send a frame, as much of it as the other side takes now and the rest in `wait`."""
        data = len(frame).to_bytes(_HEADER, "little") + frame
        self._out = self._out[self._sent :] + data if self._out else data
        self._sent = 0
        self._send_more()

    def _send_more(self) -> None:
        try:
            while self._sent < len(self._out):
                self._sent += self._socket.send(memoryview(self._out)[self._sent :])
        except (BlockingIOError, InterruptedError):
            self._poll.modify(self._number, select.POLLIN | select.POLLOUT)
            return
        except OSError:
            self.ended = True
        self._out = b""
        self._sent = 0
        if not self.ended:
            self._poll.modify(self._number, select.POLLIN)

    def wait(self, seconds: float | None) -> None:
        """Wait until something has arrived or been sent, `wake` is called, or the time is over."""
        events = self._poll.poll(None if seconds is None else max(0.0, seconds * 1e3))
        for number, event in events:
            if number == self._number:
                if event & select.POLLOUT and self._out:
                    self._send_more()
                if event & ~select.POLLOUT:
                    self._receive()
            elif number == self._wake_source:
                os.read(number, _READ)
            else:
                self._take(number, event)

    def _receive(self) -> None:
        try:
            data = self._socket.recv(_READ)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if not data:
            self.ended = True
            self._poll.unregister(self._number)
            return
        self._frames.feed(data if self._unpack is None else self._unpack(data))
        self.take_beside()

    def take_beside(self) -> None:
        """Take what the process has written beside the connection until now."""
        for number, event in self._poll_beside.poll(0):
            self._take(number, event)

    def _take(self, source: int, event: int) -> None:
        """Take what is in a pipe now, and not what is written meanwhile: that might never end."""
        if source not in self._beside:
            return
        left = struct.unpack("i", fcntl.ioctl(source, termios.FIONREAD, b"\0" * 4))[0]
        if not left and event & select.POLLHUP:  # all that could write have closed it
            self._poll.unregister(source)
            self._poll_beside.unregister(source)
            os.close(source)
            del self._beside[source]
        while left > 0:
            data = os.read(source, min(left, _READ))
            left -= len(data)
            if self.written is not None:
                self.written(self._beside[source], data)
            else:
                self.stray = (self.stray + data)[-_STRAY:]

    def wake(self) -> None:
        """Have `wait` return; from any thread or a signal handler."""
        try:
            os.write(self._wake_sink, b"!")
        except OSError:  # full, so it will; or closed
            pass

    def hang_up(self) -> None:
        """End the connection for both sides, and give everything back."""
        if not self.closed:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
            self.close()

    def close(self) -> None:
        """Give back what this process has of it; in a child of a fork, the parent goes on with it."""
        if not self.closed:
            self.closed = self.ended = True
            self._socket.close()
            for number in (self._wake_source, self._wake_sink, *self._beside):
                os.close(number)
