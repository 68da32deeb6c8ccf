"""Standard input, output and error of a Python that runs as a command: text, bytes and descriptors."""

from __future__ import annotations

import builtins
import contextlib
import errno
import io
import os
import sys
import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import IO, Any

from planaria_shell.state import streams
from planaria_shell.state.command import Input, Output, Process

__all__ = ["Sink", "Standard", "running"]


class Sink:
    """Where output goes, at once as long as its reader takes it.

    A script cannot be suspended when a pipe is full: what it writes then waits in a temporary file until the
    script has ended. It ends early where the reader, a `head`, is known to want no more.
    """

    #: What writers ask (see `command.Output`): here is always room.
    full = False

    def __init__(self, stream: Output) -> None:
        self.stream = stream
        #: A user may be watching this: nothing is buffered.
        self.live = getattr(stream, "descriptor", None) in (1, 2)
        #: The reader has gone.
        self.broken = False
        self._waiting: IO[bytes] | None = None
        #: Of what the reader wants, how much is to come after what waits.
        self._missing = 0

    def write(self, data: bytes) -> None:
        if self._waiting is not None or self.stream.full:
            self._wait(data)
        else:
            try:
                self.stream.write(data)
            except BrokenPipeError:
                self.broken = True
                raise
            if self.live:
                self.stream.flush()

    def _wait(self, data: bytes) -> None:
        pipe: Any = getattr(self.stream, "pipe", None)
        wanted: tuple[bytes | None, int] | None = None if pipe is None else pipe.wanted
        if self._waiting is None:
            self._waiting = tempfile.TemporaryFile(prefix="planaria-")
            if wanted is not None:
                self._missing = wanted[1] - _count(b"".join(pipe.pieces), wanted[0])
        if wanted is not None:
            if self._missing <= 0:
                self.broken = True
                raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))
            self._missing -= _count(data, wanted[0])
        self._waiting.write(data)

    def flush(self) -> None:
        self.stream.flush()

    def drain(self) -> Generator[None, None, None]:
        """Pass on what waits; yields when the reader should run."""
        if self._waiting is None:
            return
        with self._waiting as file:
            file.seek(0)
            while piece := file.read(65536):
                if self.stream.full:
                    yield
                self.stream.write(piece)


def _count(data: bytes, delimiter: bytes | None) -> int:
    return len(data) if delimiter is None else data.count(delimiter)


class _RawOutput(io.RawIOBase):
    """A sink as a raw file."""

    mode = "wb"

    def __init__(self, sink: Sink, number: int) -> None:
        self._sink = sink
        self._number = number
        self.name = f"<{('stdin', 'stdout', 'stderr')[number]}>"

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._number

    def write(self, data: Any, /) -> int:
        content = bytes(data)
        self._sink.write(content)
        return len(content)


class _RawInput(io.RawIOBase):
    """A command's input as a raw file: gives what is there, and waits only when nothing is."""

    mode = "rb"
    name = "<stdin>"

    def __init__(self, source: Input) -> None:
        self._pieces: Iterator[bytes] | None = None
        self._source = source
        self._left = memoryview(b"")

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        return 0

    def readinto(self, buffer: Any, /) -> int:
        if not self._left:
            if self._pieces is None:
                self._pieces = iter(self._source.chunks())
            self._left = memoryview(next(self._pieces, b""))
        count = min(len(buffer), len(self._left))
        buffer[:count] = self._left[:count]
        self._left = self._left[count:]
        return count


class _ErrorText(io.TextIOWrapper):
    """Writes out what standard output holds back before its own text, so that the order is kept."""

    before: Callable[[], None]

    def write(self, text: str, /) -> int:
        self.before()
        return super().write(text)

    def writelines(self, lines: Iterable[str], /) -> None:  # type: ignore[override]
        self.write("".join(lines))


class Standard:
    """The three streams of one run: for `sys`, for functions that take descriptors, and for commands that the
    script starts.
    """

    def __init__(self, process: Process, *, unbuffered: bool, encoding: str = "") -> None:
        self.process = process
        name, _, errors = encoding.partition(":")
        name, errors = name or "utf-8", errors or "surrogateescape"
        self.output = Sink(process.stdout)
        self.error = self.output if process.stderr is process.stdout else Sink(process.stderr)
        self.raw = (_RawInput(process.stdin), _RawOutput(self.output, 1), _RawOutput(self.error, 2))
        self.stdin = io.TextIOWrapper(io.BufferedReader(self.raw[0]), name, errors)
        self.stdin.__dict__["mode"] = "r"
        self.stdout = io.TextIOWrapper(
            io.BufferedWriter(self.raw[1]),
            name,
            errors,
            newline="\n",
            line_buffering=self.output.live,
            write_through=unbuffered,
        )
        self.stdout.__dict__["mode"] = "w"
        self.stderr = _ErrorText(
            io.BufferedWriter(self.raw[2]), name, "backslashreplace", newline="\n", line_buffering=True
        )
        self.stderr.__dict__["mode"] = "w"
        self.stderr.before = self.flush_output
        if unbuffered:
            self.stdout.buffer.write = self._write_through  # type: ignore[method-assign]

    def _write_through(self, data: Any, /) -> int:
        return self.raw[1].write(data)

    def flush_output(self) -> None:
        """Write out what standard output holds back, unless the script has closed or broken it."""
        with contextlib.suppress(ValueError, BrokenPipeError):
            self.stdout.flush()

    def input(self, prompt: object = "", /) -> str:
        """Read a line from standard input, after writing the prompt to standard output."""
        sys.stderr.flush()
        sys.stdout.write(str(prompt))
        sys.stdout.flush()
        line = sys.stdin.readline()
        if not line:
            raise EOFError("EOF when reading a line")
        return line.removesuffix("\n")

    @contextlib.contextmanager
    def connected(self) -> Iterator[None]:
        """Make descriptors 0, 1 and 2 stand for these streams in `os.read`, `os.write` and `open`."""
        read, write, open_file = os.read, os.write, io.open

        def os_read(fd: int, length: int, /) -> bytes:
            """Read from a file descriptor.  Returns a bytes object."""
            if fd != 0 or _asked_by_streams():
                return read(fd, length)
            return self.raw[0].read(length) or b""

        def os_write(fd: int, data: Any, /) -> int:
            """Write a bytes object to a file descriptor."""
            if fd not in (1, 2) or _asked_by_streams():
                return write(fd, data)
            self.flush_output()
            return self.raw[fd].write(data)

        def opened(file: Any, mode: str = "r", buffering: int = -1, *args: Any, **kwargs: Any) -> IO[Any]:
            """Open file and return a stream.  Raise OSError upon failure."""
            number: Any = _NAMES.get(file, file) if isinstance(file, str) else file
            if not isinstance(number, int) or isinstance(number, bool) or number not in (0, 1, 2):
                return open_file(file, mode, buffering, *args, **kwargs)
            return self._open(number, mode, buffering, *args, **kwargs)

        os.read, os.write = os_read, os_write
        io.open = builtins.open = opened  # type: ignore[assignment]
        running.append(self)
        try:
            yield
        finally:
            running.remove(self)
            os.read, os.write = read, write
            io.open = builtins.open = open_file

    def _open(
        self,
        number: int,
        mode: str,
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        closefd: bool = True,
        opener: Any = None,
    ) -> IO[Any]:
        raw: Any
        if number == 0:
            # What the buffer of `sys.stdin` has read ahead stays there, as with a descriptor of the system.
            raw = _RawInput(self.process.stdin) if self.raw[0].closed else self.raw[0]
        else:
            self.flush_output()
            raw = _RawOutput(self.output if number == 1 else self.error, number)
        if "b" in mode and buffering == 0:
            return raw  # type: ignore[no-any-return]
        buffer: Any = io.BufferedReader(raw) if number == 0 else io.BufferedWriter(raw)
        if "b" in mode:
            return buffer  # type: ignore[no-any-return]
        return io.TextIOWrapper(buffer, encoding or "utf-8", errors, newline, buffering == 1)


def _asked_by_streams() -> bool:
    """Whether the shell's streams call: what they write leaves through the real descriptors."""
    return sys._getframe(2).f_globals.get("__name__") == streams.__name__


_NAMES = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2, "/dev/fd/0": 0, "/dev/fd/1": 1, "/dev/fd/2": 2}

#: The runs that are under way, the innermost last.
running: list[Standard] = []
