"""What a shell's descriptors stand for: files, pipes, texts, and nothing.

A descriptor table maps numbers to `Stream` objects. A stream is shared by everything that inherited or
duplicated it, as an open file description is, and closes when its last owner lets go (`retain`, `release`).
"""

from __future__ import annotations

import errno
import os
import select
import stat
import time
from collections.abc import Callable, Iterator
from typing import Any

__all__ = [
    "CAPACITY",
    "CLOSED",
    "AdaptedStream",
    "BorrowedOutput",
    "BufferedInput",
    "CapturedOutput",
    "DescriptorInput",
    "DescriptorOutput",
    "FileUpdate",
    "HostInput",
    "NullStream",
    "Stream",
    "TextInput",
    "descriptor_of",
    "flush_all",
    "flush_shown",
    "pause",
]

#: Bytes after which a pipe is full and a file's buffer is written out.
CAPACITY = 65536

#: Names of descriptors that have no number in them.
_STANDARD_STREAMS = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}


class Stream:
    """An open file description; by itself neither readable nor writable."""

    __slots__ = ("__weakref__", "owners")

    full = False
    #: Whether this is the kind of stream that `read`, `mapfile` and commands can read from.
    readable = False
    writable = False

    def __init__(self) -> None:
        self.owners = 1

    def retain(self) -> Stream:
        """One more descriptor stands for this stream."""
        self.owners += 1
        return self

    def release(self) -> None:
        """One descriptor fewer; the last one closes the stream."""
        self.owners -= 1
        if self.owners == 0:
            self.close()

    def close(self) -> None:
        """Give back what the stream holds."""

    def fileno(self) -> int:
        """The descriptor of the system behind the stream, or -1."""
        return -1

    def read(self, size: int = -1) -> bytes:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))

    def readline(self) -> bytes:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))

    def chunks(self) -> Iterator[bytes]:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))

    def __iter__(self) -> Iterator[bytes]:
        while line := self.readline():
            yield line

    def read_some(self, size: int) -> bytes:
        """What one read(2) of this size gives: what there is, and nothing at the end."""
        return self.read(size)

    def unread(self, data: bytes) -> None:
        """Take back what a command has read and not used: the next one reads it from a file, but not from a
        pipe."""

    def write(self, data: bytes) -> None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))

    def flush(self) -> None:
        """Write out what is buffered."""

    def isatty(self) -> bool:
        number = self.fileno()
        return number >= 0 and os.isatty(number)

    def wait_until(self, deadline: float | None) -> None:
        """From now on, reading gives up at this time (of `time.monotonic()`); None means never. It applies
        only to inputs that can be empty for a while."""


# -- inputs ----------------------------------------------------------------------------------------


class BufferedInput(Stream):
    """Reading by lines and pieces over `fill`, which gives the next piece or nothing at the end."""

    __slots__ = ("buffer", "position")
    readable = True

    def __init__(self) -> None:
        super().__init__()
        self.buffer = b""
        self.position = 0

    def fill(self) -> bytes:
        raise NotImplementedError

    def read(self, size: int = -1) -> bytes:
        buffer, position = self.buffer, self.position
        if 0 <= size <= len(buffer) - position:
            self.position = position + size
            return buffer[position : position + size]
        pieces = [buffer[position:]]
        self.buffer, self.position = b"", 0
        missing = size - len(pieces[0])
        while size < 0 or missing > 0:
            piece = self.fill()
            if not piece:
                break
            if size >= 0 and missing < len(piece):
                self.buffer, self.position = piece, missing
                pieces.append(piece[:missing])
                break
            pieces.append(piece)
            missing -= len(piece)
        return b"".join(pieces)

    def read_some(self, size: int) -> bytes:
        if self.position == len(self.buffer):
            self.buffer, self.position = self.fill(), 0
        start = self.position
        self.position = min(start + size, len(self.buffer))
        return self.buffer[start : self.position]

    def readline(self) -> bytes:
        return self.read_until(b"\n")

    def read_until(self, delimiter: bytes) -> bytes:
        """Bytes up to and with `delimiter`, or what is left."""
        buffer, position = self.buffer, self.position
        end = buffer.find(delimiter, position) + 1
        if end:
            self.position = end
            return buffer[position:end]
        pieces = [buffer[position:]]
        while piece := self.fill():
            end = piece.find(delimiter) + 1
            if end:
                self.buffer, self.position = piece, end
                pieces.append(piece[:end])
                return b"".join(pieces)
            pieces.append(piece)
        self.buffer, self.position = b"", 0
        return b"".join(pieces)

    def chunks(self) -> Iterator[bytes]:
        rest = self.buffer[self.position :]
        self.buffer, self.position = b"", 0
        if rest:
            yield rest
        while piece := self.fill():
            yield piece

    def ready(self) -> bool:
        """Whether something can be read at once."""
        return self.position < len(self.buffer)


class DescriptorInput(BufferedInput):
    """A file opened for reading; owns its system descriptor by default."""

    __slots__ = ("deadline", "descriptor", "owned", "path")

    def __init__(self, descriptor: int, path: str = "", *, owned: bool = True) -> None:
        # What the classes above do, at once: scripts open many files.
        self.owners = 1
        self.buffer = b""
        self.position = 0
        self.descriptor = descriptor
        self.path = path
        self.owned = owned
        self.deadline: float | None = None

    def fill(self) -> bytes:
        if self.deadline is not None and not self._comes(max(0.0, self.deadline - time.monotonic())):
            return b""
        if _dirty:
            flush_all()  # it may be what is read here
        return os.read(self.descriptor, CAPACITY)

    def unread(self, data: bytes) -> None:
        if data and stat.S_ISREG(os.fstat(self.descriptor).st_mode):
            self.buffer, self.position = data + self.buffer[self.position :], 0

    def _comes(self, seconds: float) -> bool:
        """Whether something can be read within this time."""
        if stat.S_ISREG(os.fstat(self.descriptor).st_mode):
            return True
        return bool(select.select([self.descriptor], [], [], seconds)[0])

    def fileno(self) -> int:
        return self.descriptor

    def ready(self) -> bool:
        return self.position < len(self.buffer) or self._comes(0)

    def wait_until(self, deadline: float | None) -> None:
        self.deadline = deadline

    def close(self) -> None:
        if self.owned:
            self.owned = False
            os.close(self.descriptor)


class TextInput(BufferedInput):
    """Bytes that are already there: a here-document, a captured text."""

    __slots__ = ()

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self.buffer = data

    def fill(self) -> bytes:
        return b""

    def ready(self) -> bool:
        return True


# -- outputs ---------------------------------------------------------------------------------------

#: Files with bytes that are not written out yet.
_dirty: list[DescriptorOutput] = []


def flush_all() -> None:
    """Write out every file's buffer: done before anything looks at the filesystem."""
    while _dirty:
        stream = _dirty[-1]
        try:
            stream.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            # Not for the caller, who only wants to read files: reported at the next write, or on closing.
            stream.failure = error


def flush_shown() -> None:
    """Write out what goes to the process's own standard output and error, so that it is seen in time."""
    for stream in _dirty.copy():
        if not stream.owned:
            stream.flush()


class DescriptorOutput(Stream):
    """A file opened for writing, buffered; see `flush_all`."""

    __slots__ = ("buffered", "descriptor", "failure", "owned", "path", "pieces")
    writable = True

    def __init__(self, descriptor: int, path: str = "", *, owned: bool = True) -> None:
        self.owners = 1
        self.descriptor = descriptor
        self.path = path
        self.owned = owned
        self.pieces: list[bytes] = []
        self.buffered = 0
        #: The error of an earlier write that has not been reported yet.
        self.failure: OSError | None = None

    def write(self, data: bytes) -> None:
        if not self.pieces:
            if self.failure is not None:
                self._report_failure()
            if _dirty and not self.owned:
                # Output and errors appear in the order in which they are written.
                flush_shown()
            _dirty.append(self)
        self.pieces.append(data)
        self.buffered += len(data)
        if self.buffered >= CAPACITY:
            self.flush()

    def _report_failure(self) -> None:
        if self.failure is not None:
            failure, self.failure = self.failure, None
            raise failure

    def flush(self) -> None:
        if not self.pieces:
            self._report_failure()
            return
        data = b"".join(self.pieces)
        self.pieces.clear()
        self.buffered = 0
        _dirty.remove(self)
        written = os.write(self.descriptor, data)
        if written < len(data):
            view = memoryview(data)[written:]
            while view:
                view = view[os.write(self.descriptor, view) :]

    def fileno(self) -> int:
        return self.descriptor

    def close(self) -> None:
        try:
            self.flush()
        finally:
            if self.owned:
                self.owned = False
                os.close(self.descriptor)


class FileUpdate(DescriptorInput):
    """A file opened for reading and writing (`<>`): one offset for both."""

    __slots__ = ()
    writable = True

    def write(self, data: bytes) -> None:
        behind = len(self.buffer) - self.position
        if behind:
            os.lseek(self.descriptor, -behind, os.SEEK_CUR)
            self.buffer, self.position = b"", 0
        view = memoryview(data)
        while view:
            view = view[os.write(self.descriptor, view) :]


class AdaptedStream(Stream):
    """Any object that reads or writes as `command.Input` and `command.Output` say, as a stream."""

    __slots__ = ("inner",)
    readable = True
    writable = True

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner = inner

    @property
    def full(self) -> bool:  # type: ignore[override]
        return bool(self.inner.full)

    def read(self, size: int = -1) -> bytes:
        return self.inner.read(size)  # type: ignore[no-any-return]

    def readline(self) -> bytes:
        return self.inner.readline()  # type: ignore[no-any-return]

    def chunks(self) -> Iterator[bytes]:
        return self.inner.chunks()  # type: ignore[no-any-return]

    def unread(self, data: bytes) -> None:
        if isinstance(self.inner, Stream):
            self.inner.unread(data)

    def wait_until(self, deadline: float | None) -> None:
        if isinstance(self.inner, Stream):
            self.inner.wait_until(deadline)

    def write(self, data: bytes) -> None:
        self.inner.write(data)

    def flush(self) -> None:
        self.inner.flush()


#: What a descriptor stands for that is not open.
CLOSED = Stream()


class NullStream(Stream):
    """`/dev/null`."""

    __slots__ = ()
    readable = True
    writable = True

    def read(self, size: int = -1) -> bytes:
        return b""

    def readline(self) -> bytes:
        return b""

    def read_until(self, delimiter: bytes) -> bytes:
        return b""

    def chunks(self) -> Iterator[bytes]:
        return iter(())

    def ready(self) -> bool:
        return True

    def write(self, data: bytes) -> None:
        pass


class BorrowedOutput(Stream):
    """Another stream, until the loan ends: what is written later goes nowhere."""

    __slots__ = ("target",)
    writable = True

    def __init__(self, target: Stream) -> None:
        super().__init__()
        self.target: Stream | None = target

    def write(self, data: bytes) -> None:
        if self.target is not None:
            self.target.write(data)

    def flush(self) -> None:
        if self.target is not None:
            self.target.flush()

    def fileno(self) -> int:
        return -1 if self.target is None else self.target.fileno()

    def end(self) -> None:
        """The stream is not lent any longer."""
        self.target = None


class CapturedOutput(Stream):
    """Collects what is written; `limit` in bytes, beyond which `exceeded` is called."""

    __slots__ = ("exceeded", "limit", "pieces", "size")
    writable = True

    def __init__(self, limit: int | None = None, exceeded: Callable[[], None] | None = None) -> None:
        super().__init__()
        self.pieces: list[bytes] = []
        self.size = 0
        self.limit = limit
        self.exceeded = exceeded

    def write(self, data: bytes) -> None:
        self.pieces.append(data)
        if self.limit is not None:
            self.size += len(data)
            if self.size > self.limit and self.exceeded is not None:
                self.exceeded()

    def getvalue(self) -> bytes:
        """All that was written."""
        return b"".join(self.pieces)


class HostInput(BufferedInput):
    """Standard input that is asked for line by line when it is read; `ask` gives a line or nothing."""

    __slots__ = ("ask", "terminal")

    def __init__(self, ask: Callable[[], str], *, terminal: bool = False) -> None:
        super().__init__()
        self.ask = ask
        #: Whether a person types what is read.
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal

    def fill(self) -> bytes:
        flush_all()
        return self.ask().encode("utf-8", "surrogateescape")


def pause(seconds: float) -> None:
    """Sleep, after writing what is buffered; wakes up every 50 ms so that an interrupt is noticed."""
    flush_all()
    while seconds > 0:
        step = min(seconds, 0.05)
        time.sleep(step)
        seconds -= step


def descriptor_of(name: str) -> int | None:
    """The number that names like `/dev/fd/3` and `/dev/stdin` stand for."""
    if not name.startswith("/dev/"):
        return None
    if name in _STANDARD_STREAMS:
        return _STANDARD_STREAMS[name]
    if name.startswith("/dev/fd/") and name[8:].isdecimal():
        return int(name[8:])
    return None
