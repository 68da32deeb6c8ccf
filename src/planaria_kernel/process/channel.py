"""The connection of a kernel that has a process of its own with its host.

Frames go both ways: four bytes of length, little-endian, and a host-call request or reply (see
docs/internals/boundary.md).
"""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

from planaria_kernel.protocol import encode

__all__ = ["Channel", "ForkOver", "HostGone"]

#: Requests that are not answered.
_ONE_WAY: Final = frozenset({b"R", b"D", b"K", b"O", b"A"})
#: Most bytes of output in one frame.
_PIECE: Final = 1 << 20
_READ: Final = 1 << 16


class HostGone(OSError):
    """The host has closed the connection."""

    def __init__(self) -> None:
        super().__init__("the host of this kernel is gone")


class ForkOver(BaseException):
    """A cell has come to its end in a child that its code forked; `report` is what that would report."""

    def __init__(self, report: bytes) -> None:
        super().__init__()
        self.report = report


class Channel:
    """The host-call interface of a kernel that is connected by two descriptors; may be used from any thread.

    An interrupt never breaks a frame: while the main thread is in here it is put off.
    """

    def __init__(self, source: int, sink: int) -> None:
        self._source = source
        self._sink = sink
        self._main = threading.get_ident()
        self._inside = 0
        self._put_off = False
        #: Frames to be sent: a finaliser may print while a frame is being written.
        self._queue: deque[bytes] = deque()
        self._sending = threading.Lock()
        self._sender = 0
        self._asking = threading.Lock()
        self._asker = 0
        self._unsettled = False
        self.closed = False
        #: In a child that the user's code has forked.
        self.forked = False
        # User code may replace these.
        self._read, self._write, self._get_ident = os.read, os.write, threading.get_ident

    def __call__(self, request: bytes) -> bytes:
        """Send a request and return its reply, b"" at once for those that have none."""
        if self.forked:
            if request[:1] == b"R":
                raise ForkOver(request[1:])
            raise RuntimeError("this process was forked from the session's and cannot reach the host")
        main = self._get_ident() == self._main
        if main:
            self._inside += 1
        try:
            if request[:1] in _ONE_WAY:
                self._send(request)
                return b""
            return self._ask(request)
        finally:
            if main:
                self._inside -= 1
                if self._put_off and not self._inside:
                    self._put_off = False
                    signal.raise_signal(signal.SIGINT)

    def on_interrupt(self, handle: Callable[[int, FrameType | None], None]) -> None:
        """Have SIGINT handled by `handle`, except in here."""

        def handler(number: int, frame: FrameType | None) -> None:
            if self._inside:
                self._put_off = True
            else:
                handle(number, frame)

        signal.signal(signal.SIGINT, handler)

    def output(self, descriptor: int, data: Any) -> None:
        """Send what was written to a standard stream."""
        self._unsettled = True
        head = b"O%d" % descriptor
        view = memoryview(data).cast("B")
        for start in range(0, len(view), _PIECE):
            self(head + view[start : start + _PIECE])

    def settle(self) -> None:
        """Return when the host has everything that was sent."""
        if self._unsettled and not self.forked:
            self(b"S")

    # -- frames ----------------------------------------------------------------------------------------

    def _send(self, request: bytes) -> None:
        queue = self._queue
        queue.append(len(request).to_bytes(4, "little") + request)
        here = self._get_ident()
        while queue and self._sender != here:  # else: a send is in progress further up on this stack
            with self._sending:
                self._sender = here
                try:
                    while queue:
                        self._send_all(queue.popleft())
                finally:
                    self._sender = 0

    def _send_all(self, frame: bytes) -> None:
        try:
            sent = self._write(self._sink, frame)
            while sent < len(frame):
                sent += self._write(self._sink, memoryview(frame)[sent:])
        except OSError:
            self.closed = True
            raise HostGone from None

    def _ask(self, request: bytes) -> bytes:
        here = self._get_ident()
        if self._asker == here:
            raise RuntimeError("the host cannot be asked for something while it is being asked")
        with self._asking:
            self._asker = here
            try:
                self._send(request)
                self._unsettled = False
                reply = self.receive(request)
            finally:
                self._asker = 0
        if request == b"N":
            self._put_off = False  # it was meant for an execution that is over
        return reply

    def receive(self, request: bytes = b"") -> bytes:
        """The next frame. The host sends one when it is asked, so never more than one is there."""
        data = self._receive_some(_READ)
        while len(data) < 4:
            data += self._receive_some(_READ)
        size = int.from_bytes(data[:4], "little") + 4
        if len(data) == size:
            return data[4:]
        try:
            frame = bytearray(size)
        except MemoryError:
            left = size - len(data)
            while left:
                left -= len(self._receive_some(min(left, _READ)))
            return _too_large(request)
        frame[: len(data)] = data
        view = memoryview(frame)
        got = len(data)
        while got < size:
            count = os.readv(self._source, [view[got:]])
            if not count:
                self._lost()
            got += count
        try:
            return bytes(view[4:])
        except MemoryError:
            return _too_large(request)

    def _receive_some(self, most: int) -> bytes:
        try:
            data = self._read(self._source, most)
        except OSError:
            data = b""
        if not data:
            self._lost()
        return data

    def _lost(self) -> None:
        self.closed = True
        raise HostGone

    def leave_to_parent(self) -> None:
        """In a forked child: this connection is the parent's."""
        self.forked = True
        for descriptor in {self._source, self._sink}:
            os.close(descriptor)


def _too_large(request: bytes) -> bytes:
    """What stands for a reply that does not fit the memory."""
    if request == b"N":
        return encode(("refuse",))
    return encode(("error", "MemoryError", "the answer does not fit the memory of this process"))
