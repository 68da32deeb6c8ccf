"""Pipes, without threads: nothing runs concurrently with the reader.

When a reader finds a pipe empty it runs the writer, a generator, until that has written something or ended. A
writer yields when the pipe is `full`, and when it sleeps.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable

from planaria_shell.state.streams import CAPACITY, BufferedInput, Stream

__all__ = ["NothingYetError", "Pipe", "PipeInput", "PipeOutput", "PipeUpdate"]


class Pipe:
    """Bytes on their way from a writer to a reader; make the two ends with `PipeInput` and `PipeOutput`."""

    __slots__ = (
        "abandoned",
        "alarm",
        "deadline",
        "pieces",
        "pull",
        "reader_closed",
        "size",
        "wanted",
        "writer_closed",
    )

    def __init__(self) -> None:
        #: What the reader wants before it stops, where that is known: a delimiter (None for bytes), how many.
        self.wanted: tuple[bytes | None, int] | None = None
        self.pieces: list[bytes] = []
        self.size = 0
        self.reader_closed = False
        self.writer_closed = False
        #: Runs the writer for a while; False when it has ended, cannot go on, or does not by the deadline.
        self.pull: Callable[[], bool] | None = None
        #: When the reader gives up, and when a writer that sleeps wants to go on (of `time.monotonic()`).
        self.deadline: float | None = None
        self.alarm = [0.0]
        #: What is done when the reader has gone.
        self.abandoned: Callable[[], None] | None = None

    @property
    def sleeping(self) -> float:
        """Seconds until the writer wants to go on."""
        alarm = self.alarm[0]
        return max(0.0, alarm - time.monotonic()) if alarm else 0.0

    def patience(self, seconds: float) -> float:
        """How much of this time the reader waits."""
        return seconds if self.deadline is None else min(seconds, max(0.0, self.deadline - time.monotonic()))


class PipeOutput(Stream):
    """The writing end of a pipe."""

    __slots__ = ("full", "pipe")
    writable = True

    def __init__(self, pipe: Pipe) -> None:
        super().__init__()
        self.pipe = pipe
        self.full = False

    def write(self, data: bytes) -> None:
        pipe = self.pipe
        if pipe.reader_closed:
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))
        pipe.pieces.append(data)
        pipe.size += len(data)
        if pipe.size >= CAPACITY:
            self.full = True

    def close(self) -> None:
        self.pipe.writer_closed = True


class NothingYetError(BaseException):
    """A command wants to read what is not there yet. No Exception: it is none of the command's business."""


class PipeInput(BufferedInput):
    """The reading end of a pipe."""

    __slots__ = ("output", "pipe", "untouched")

    def __init__(self, pipe: Pipe, output: PipeOutput | None = None) -> None:
        super().__init__()
        self.pipe = pipe
        self.output = output
        #: Whether the command that reads has done nothing so far: then it gets `NothingYetError` rather than
        #: wait, and is run again when there is something.
        self.untouched: Callable[[], bool] | None = None

    def fill(self) -> bytes:
        pipe = self.pipe
        if self.untouched is not None:
            if not self.ready() and self.untouched():
                raise NothingYetError
            self.untouched = None
        while not pipe.pieces:
            if pipe.writer_closed or pipe.pull is None or not pipe.pull():
                if pipe.pieces:
                    break
                return b""
        data = b"".join(pipe.pieces)
        pipe.pieces.clear()
        pipe.size = 0
        if self.output is not None:
            self.output.full = False
        return data

    def ready(self) -> bool:
        pipe = self.pipe
        if self.position < len(self.buffer) or pipe.pieces or pipe.writer_closed:
            return True
        if pipe.pull is not None and not pipe.sleeping:
            before, pipe.deadline = pipe.deadline, 0.0
            try:
                pipe.pull()
            finally:
                pipe.deadline = before
        return bool(pipe.pieces) or pipe.writer_closed

    def wait_until(self, deadline: float | None) -> None:
        self.pipe.deadline = deadline

    def close(self) -> None:
        self.pipe.reader_closed = True
        self.pipe.pieces.clear()
        if self.pipe.abandoned is not None:
            self.pipe.abandoned()


class PipeUpdate(PipeInput):
    """Both ends of a named pipe at once (`<>`)."""

    __slots__ = ()
    writable = True

    def write(self, data: bytes) -> None:
        self.pipe.pieces.append(data)
        self.pipe.size += len(data)
