"""One call of a command: its parsed arguments, buffered output, files opened by name.

`@utility("name", ...)` registers a command that is written against `Invocation`: options are parsed
before it runs, `--help` and `--version` answered, wrong usage and errors of the system reported the
way GNU commands do, and standard output is collected into blocks (what was written stays in order
with the messages on standard error).
"""

from __future__ import annotations

import errno
import functools
import io
import os
from collections.abc import Callable, Generator, Iterator
from types import TracebackType
from typing import IO, Any, Protocol, Self

from ..command import COMMANDS, Input, Output, Process, Status
from .options import Arguments, OptionSyntax, Order, UsageError
from .quoting import shell_quote

__all__ = ["BLOCK", "CommandError", "FileInput", "FileOutput", "Invocation", "Sink", "reason", "utility"]

#: Bytes that are read or collected at once.
BLOCK = 65536

_REASONS = {
    # The C library of the guest words these differently from the one people know.
    errno.ELOOP: "Too many levels of symbolic links",
    errno.EXDEV: "Invalid cross-device link",
    errno.EDQUOT: "Disk quota exceeded",
    errno.EFBIG: "File too large",
    errno.EINVAL: "Invalid argument",
}

Body = Callable[["Invocation"], "Status | Generator[None, None, Status]"]


class CommandError(Exception):
    """A command cannot go on: `NAME: message` is written and `status` is its exit status."""

    def __init__(self, message: str, status: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.status = status


def reason(error: OSError) -> str:
    """What strerror(3) of the GNU C library says of this error."""
    if error.errno in _REASONS:
        return _REASONS[error.errno]
    return error.strerror or str(error)


class FileInput:
    """A file open for reading, as an `Input` and a context manager."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.read = file.read
        self.readline = file.readline

    def chunks(self) -> Iterator[bytes]:
        while block := self.file.read(BLOCK):
            yield block

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.file)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.file.close()


class _Shared:
    """Standard input under a name: like a FileInput, but leaving does not close it."""

    def __init__(self, source: Input) -> None:
        self.read = source.read
        self.readline = source.readline
        self.chunks = source.chunks
        self._source = source

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._source)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass


Source = FileInput | _Shared


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


Target = FileOutput | _Borrowed | _Discard


class _Collected:
    """An output that passes on blocks instead of lines."""

    __slots__ = ("_parts", "_size", "_target", "full")

    def __init__(self, target: Output) -> None:
        self._target = target
        #: Plain for speed: it is looked up after every line. The reader's turn resets it.
        self.full = False
        self._parts: list[bytes] = []
        self._size = 0

    def write(self, data: bytes) -> None:
        self._parts.append(data)
        self._size += len(data)
        if self._size >= BLOCK:
            self.pass_on()

    def pass_on(self) -> None:
        if self._parts:
            data = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
            self._parts = []
            self._size = 0
            self._target.write(data)
            self.full = self._target.full

    def flush(self) -> None:
        self.pass_on()
        self._target.flush()


class Invocation:
    """A `Process` with parsed arguments; commands of this package get one.

    `status` is the exit status so far: `complain()` sets it to the command's status for failures.
    """

    def __init__(self, process: Process, name: str, failure: int) -> None:
        self.process = process
        self.name = name
        self.argv = process.argv
        self.env = process.env
        self.cwd = process.cwd
        self.stdin: Input = process.stdin
        self.stdout = _Collected(process.stdout)
        self.stderr: Output = process.stderr
        self.path = process.path
        # The protocol does not know a umask; the shell that runs a command does.
        self.umask: int = getattr(getattr(process, "shell", process), "umask", 0o022)
        #: The name in messages, where it is not that of the command (gunzip speaks as gzip).
        self.label = ""
        self.status: Status = 0
        self.failure = failure
        self.arguments = Arguments()

    @property
    def operands(self) -> list[str]:
        return self.arguments.operands

    def print(self, text: str, end: str = "\n") -> None:
        """Write text to standard output; bytes in names that are not UTF-8 come out as they were."""
        self.stdout.write((text + end).encode("utf-8", "surrogateescape"))

    def error(self, message: str) -> None:
        """Write `NAME: message` to standard error, after what was written to standard output."""
        self.stdout.pass_on()
        if self.label:
            self.warn(f"{self.label}: {message}")
        else:
            self.process.error(message)

    def warn(self, text: str) -> None:
        """Write a line to standard error without the command's name."""
        self.stdout.pass_on()
        self.stderr.write((text + "\n").encode("utf-8", "surrogateescape"))

    def complain(self, message: str, error: OSError | None = None) -> None:
        """Report a failure after which the command goes on with its next operand."""
        self.error(f"{message}: {reason(error)}" if error else message)
        self.status = self.failure

    def run(
        self,
        argv: list[str],
        *,
        stdin: Input | bytes | None = None,
        stdout: Output | None = None,
        stderr: Output | None = None,
        env: dict[str, str] | None = None,
        cwd: str | None = None,
    ) -> Status:
        """Run another command to its end; see `Process.run`."""
        self.stdout.pass_on()
        return self.process.run(argv, stdin=stdin, stdout=stdout, stderr=stderr, env=env, cwd=cwd)

    def replace(self, argv: list[str], env: dict[str, str] | None = None) -> Generator[None, None, Status]:
        """Run another command in this one's place: where the shell can, it yields as that command does."""
        self.stdout.pass_on()
        stream = getattr(self.process, "stream", None)
        if stream is None:
            return self.process.run(argv, env=env)
        return int((yield from stream(argv, env)))

    def open(self, name: str) -> Source:
        """Open an operand for reading; `-` is standard input. Raises OSError (EISDIR for a directory)."""
        if name in ("-", "/dev/stdin"):
            return _Shared(self.stdin)
        if name.startswith("/dev/fd/") and (streams := self._streams()):
            return _Shared(streams(name, "r"))
        try:
            return FileInput(open(self.path(name), "rb", BLOCK))
        except FileNotFoundError:
            if name == "/dev/null":
                return FileInput(io.BytesIO())
            if name in _DEVICES:
                return FileInput(io.BufferedReader(_DEVICES[name](), BLOCK))
            raise

    def _streams(self) -> Callable[[str, str], Any] | None:
        """How the shell opens its own descriptors (process substitution); None natively."""
        return getattr(self.process, "open", None)

    def create(self, name: str, mode: str = "wb") -> Target:
        """Open a file for writing, `mode` being "wb" or "ab"; raises OSError."""
        if name == "/dev/stdout":
            return _Borrowed(self.stdout)
        if name == "/dev/stderr":
            return _Borrowed(self.stderr)
        if name == "/dev/null":
            return _Discard()
        if name.startswith("/dev/fd/") and (streams := self._streams()):
            return _Borrowed(streams(name, "w"))
        path = self.path(name)
        flags = os.O_WRONLY | os.O_CREAT | (os.O_APPEND if mode == "ab" else os.O_TRUNC)
        return FileOutput(os.fdopen(os.open(path, flags, 0o666 & ~self.umask), mode, BLOCK))

    def confirm(self, question: str) -> bool:
        """Ask on standard error and read the answer from standard input; yes is `y` or `Y`."""
        self.stdout.pass_on()
        self.stderr.write(f"{self.name}: {question} ".encode("utf-8", "surrogateescape"))
        return self.stdin.readline()[:1] in (b"y", b"Y")

    def inputs(self, names: list[str] | None = None) -> Iterator[Source]:
        """Each operand opened in turn, standard input without any; what cannot be opened is reported."""
        for name in (self.operands if names is None else names) or ["-"]:
            try:
                source = self.open(name)
            except OSError as error:
                self.complain(shell_quote(name), error)
                continue
            with source:
                yield source


def _steps(body: Generator[None, None, Status], call: Invocation) -> Generator[None, None, Status]:
    """Run a command's body; after each of its yields the reader has had its turn."""
    try:
        while True:
            try:
                next(body)
            except StopIteration as stop:
                return int(stop.value)
            yield
            call.stdout.full = False
    finally:
        body.close()


def utility(
    *names: str,
    short: str = "",
    long: str = "",
    usage: str = "[OPTION]... [FILE]...",
    order: Order = "permute",
    failure: Status = 1,
    misuse: Status | None = None,
    rewrite: Callable[[list[str]], list[str]] | None = None,
    parse: bool = True,
    hint: str = "Try '{} --help' for more information.",
) -> Callable[[Body], Body]:
    """Register a function as the command of these names.

    Args:
        short, long, order: The options; see `OptionSyntax`.
        usage: What follows the name in `--help`; the function's docstring comes after it.
        failure: Exit status for failures; `misuse` for wrong usage (the same when None).
        rewrite: Turns old forms (`head -5`) of the words after the name into options.
        parse: False leaves all words as operands (commands with a language of their own).
        hint: The line after a message about wrong usage, with the command's name for `{}`.
    """
    syntax = OptionSyntax(short, long, order=order)
    wrong = failure if misuse is None else misuse

    def register(body: Body) -> Body:
        @functools.wraps(body)
        def start(process: Process) -> Generator[None, None, Status]:
            name = process.argv[0].rpartition("/")[2]
            call = Invocation(process, name, failure)
            words = process.argv[1:]
            try:
                if parse:
                    call.arguments = syntax.parse(rewrite(words) if rewrite else words)
                    topic = call.arguments.last(("help", "version"))
                    if topic:
                        call.print(
                            _help(name, usage, body, syntax) if topic == "help" else _version(name), ""
                        )
                        call.stdout.flush()
                        return 0
                else:
                    call.arguments.operands = words
                result = body(call)
                status = result if isinstance(result, int) else (yield from _steps(result, call))
                call.stdout.flush()
            except UsageError as problem:
                call.error(problem.message)
                if problem.hint:
                    call.warn(hint.format(process.argv[0]))
                return wrong if problem.status is None else problem.status
            except CommandError as problem:
                call.error(problem.message)
                return problem.status
            except BrokenPipeError:
                raise
            except OSError as problem:
                shown = problem.filename if isinstance(problem.filename, str) else "write error"
                call.error(f"{shown}: {reason(problem)}")
                return failure
            return status

        for name in names:
            COMMANDS[name] = start
        return body

    return register


def _version(name: str) -> str:
    return f"{name} (planaria)\n"


def _help(name: str, usage: str, body: Body, syntax: OptionSyntax) -> str:
    lines = [f"Usage: {name} {usage}".rstrip(), *(body.__doc__ or "").strip().splitlines(), ""]
    longs: dict[str, list[str]] = {}
    for long, (key, colons) in syntax.long.items():
        longs.setdefault(key, []).append(f"--{long}" + ("", "=ARG", "[=ARG]")[colons])
    for letter, colons in syntax.short.items():
        forms = [f"-{letter}" + ("", " ARG", "[ARG]")[colons], *longs.pop(letter, [])]
        lines.append("  " + ", ".join(forms))
    lines += ["      " + ", ".join(forms) for forms in longs.values()]
    return "\n".join(lines) + "\n"
