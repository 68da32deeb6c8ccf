"""Files and standard streams under their names, as commands read and write them, and bytes as text."""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import IO, Any, Protocol, Self

from planaria_shell.state.command import Input, Output
from planaria_shell.state.streams import Stream

__all__ = [
    "BLOCK",
    "Collector",
    "FileInput",
    "FileOutput",
    "Sink",
    "Source",
    "Streams",
    "Target",
    "create_output",
    "decode",
    "encode",
    "file_chunks",
    "is_directory",
    "open_input",
    "open_small",
    "read_input",
    "reason",
]

#: Bytes that are read or collected at once.
BLOCK = 65536


class Streams(Protocol):
    """What has standard streams and a working directory: a `Process`, an `Invocation`."""

    stderr: Output

    @property
    def stdin(self) -> Input: ...

    @property
    def stdout(self) -> Sink: ...

    def path(self, name: str) -> str: ...


def decode(data: bytes) -> str:
    """Bytes as text; those that are not UTF-8 survive as lone surrogates."""
    return data.decode("utf-8", "surrogateescape")


def encode(text: str) -> bytes:
    """The bytes that `decode` read; other lone surrogates become what their code points would be."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def reason(error: OSError) -> str:
    """What the system says of this error."""
    return error.strerror or str(error)


class FileInput:
    """A file open for reading, as an `Input` and a context manager; buffered only where lines are read."""

    def __init__(self, raw: io.RawIOBase) -> None:
        self.raw = raw
        self._buffered: io.BufferedReader | None = None

    @property
    def file(self) -> io.BufferedReader:
        """The file with a buffer."""
        buffered = self._buffered
        if buffered is None:
            buffered = self._buffered = io.BufferedReader(self.raw, BLOCK)
            self.read = buffered.read  # type: ignore[method-assign, assignment]
            self.readline = buffered.readline  # type: ignore[method-assign]
        return buffered

    def read(self, size: int = -1) -> bytes:
        return self.file.read(size)

    def readline(self) -> bytes:
        return self.file.readline()

    def chunks(self) -> Iterator[bytes]:
        read = self.raw.read if self._buffered is None else self._buffered.read
        while block := read(BLOCK):
            yield block

    def read_some(self, size: int) -> bytes:
        return self.file.read1(size)

    def unread(self, data: bytes) -> None:
        """Nothing else reads this file."""

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.file)

    def close(self) -> None:
        self.raw.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.raw.close()


class _Shared:
    """Standard input under a name: like a FileInput, but leaving does not close it."""

    def __init__(self, source: Input) -> None:
        self.read = source.read
        self.readline = source.readline
        self.chunks = source.chunks
        self._source = source

    def read_some(self, size: int) -> bytes:
        """What one read(2) of this size gives."""
        source = self._source
        return source.read_some(size) if isinstance(source, Stream) else source.read(size)

    def unread(self, data: bytes) -> None:
        """Leave what was read and not used to the next reader, if the input is a file."""
        if isinstance(self._source, Stream):
            self._source.unread(data)

    def close(self) -> None:
        pass

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._source)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass


Source = FileInput | _Shared


class _Nothing(io.RawIOBase):
    """`/dev/null`, for a filesystem that has no such device."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        return 0


class _Zeros(io.RawIOBase):
    """`/dev/zero`, for a filesystem that has no such device."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        buffer[:] = bytes(len(buffer))
        return len(buffer)


class _Random(io.RawIOBase):
    """`/dev/urandom`, for a filesystem that has no such device."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        buffer[:] = os.urandom(len(buffer))
        return len(buffer)


_DEVICES: dict[str, Callable[[], io.RawIOBase]] = {
    "/dev/null": _Nothing,
    "/dev/zero": _Zeros,
    "/dev/urandom": _Random,
    "/dev/random": _Random,
}


class FileOutput:
    """A file open for writing, as an `Output`."""

    full = False

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self._write = file.write

    def write(self, data: bytes) -> None:
        self._write(data)

    def flush(self) -> None:
        self.file.flush()

    def close(self) -> None:
        self.file.close()


class Sink(Protocol):
    """An `Output` that may compute whether it is full."""

    @property
    def full(self) -> bool: ...

    def write(self, data: bytes) -> None: ...

    def flush(self) -> None: ...


class _Borrowed:
    """A standard stream under a file's name; closing it only flushes."""

    def __init__(self, target: Sink) -> None:
        self._target = target
        self.write = target.write
        self.flush = target.flush

    @property
    def full(self) -> bool:
        return self._target.full

    def close(self) -> None:
        self._target.flush()


class _Discard:
    """`/dev/null`."""

    full = False

    def write(self, data: bytes) -> None:
        pass

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass


class Collector:
    """An output kept in memory."""

    full = False

    def __init__(self) -> None:
        self.parts: list[bytes] = []

    def write(self, data: bytes) -> None:
        self.parts.append(data)

    def flush(self) -> None:
        pass


Target = FileOutput | _Borrowed | _Discard


def _descriptors(owner: Streams) -> Callable[[str, str], Any] | None:
    """How the shell opens its own descriptors (process substitution); None where there is no shell."""
    process = getattr(owner, "process", owner)
    return getattr(process, "open", None)


def open_input(owner: Streams, name: str) -> Source:
    """Open a file for reading; `-` is standard input. Raises OSError (EISDIR for a directory)."""
    if name in ("-", "/dev/stdin", "/dev/fd/0"):
        return _Shared(owner.stdin)
    if name.startswith("/dev/fd/") and (descriptors := _descriptors(owner)):
        return _Shared(descriptors(name, "r"))
    if not name:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    try:
        return FileInput(io.FileIO(owner.path(name)))
    except FileNotFoundError:
        if name in _DEVICES:
            return FileInput(_DEVICES[name]())
        raise


def open_small(path: str) -> tuple[FileInput | None, bytes]:
    """A regular file: all of it if it is small, else open for reading."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        data = os.read(descriptor, BLOCK)
        if len(data) == BLOCK:
            os.lseek(descriptor, 0, os.SEEK_SET)
            source = FileInput(io.FileIO(descriptor))
            descriptor = -1
            return source, b""
        return None, data
    finally:
        if descriptor >= 0:
            os.close(descriptor)


def file_chunks(owner: Streams, name: str, most: int | None = None) -> Iterator[bytes]:
    """The bytes of a file, no more of them being read than `most`; `-` is standard input. Raises OSError at
    the first."""
    with open_input(owner, name) as source:
        if most is None:
            yield from source.chunks()
            return
        while most > 0 and (block := source.read(min(most, BLOCK))):
            most -= len(block)
            yield block


def read_input(owner: Streams, name: str) -> bytes:
    """All of a file; `-` is standard input. Raises OSError."""
    with open_input(owner, name) as source:
        return source.read()


def is_directory(owner: Streams, name: str) -> bool:
    """Whether an operand is a directory; names of descriptors are not looked up, which may read them."""
    return name != "-" and not name.startswith("/dev/") and os.path.isdir(owner.path(name))


def create_output(owner: Streams, name: str, mode: str, umask: int) -> Target:
    """Open a file for writing, `mode` being "wb" or "ab"; raises OSError."""
    if name == "/dev/stdout":
        return _Borrowed(owner.stdout)
    if name == "/dev/stderr":
        return _Borrowed(owner.stderr)
    if name == "/dev/null":
        return _Discard()
    if name.startswith("/dev/fd/") and (descriptors := _descriptors(owner)):
        return _Borrowed(descriptors(name, "w"))
    path = owner.path(name)
    flags = os.O_WRONLY | os.O_CREAT | (os.O_APPEND if mode == "ab" else os.O_TRUNC)
    return FileOutput(os.fdopen(os.open(path, flags, 0o666 & ~umask), mode, BLOCK))
