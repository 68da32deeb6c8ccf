"""What an awk program prints to: files, commands, standard output under its name."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, BinaryIO

from planaria_shell.commands.text.awk.records import RecordReader
from planaria_shell.commands.text.awk.syntax import fatal
from planaria_shell.state.command import Process
from planaria_shell.toolkit.streams import decode, encode, reason

#: What is printed to a pipe or a file waits for so many bytes.
_BUFFER = 4096


class Sink:
    """What a program prints to under a name."""

    def __init__(self, write: Callable[[bytes], object], file: BinaryIO | None, shell: str | None) -> None:
        self.write = write
        self.file = file
        #: For `|`: the command that gets everything when the sink is closed.
        self.shell = shell
        self.parts: list[str] = []

    def add(self, text: str) -> None:
        self.parts.append(text)
        if len(self.parts) > 512 and self.shell is None:
            self.flush()

    def flush(self) -> None:
        if self.parts and self.shell is None:
            self.write(encode("".join(self.parts)))
            self.parts.clear()


class StandardSink(Sink):
    """Standard output under its name: in order with what is printed without one."""

    def __init__(self, printed: list[str], flush: Callable[[], None]) -> None:
        super().__init__(lambda data: None, None, None)
        self.printed = printed
        self.flush = flush  # type: ignore[method-assign]

    def add(self, text: str) -> None:
        self.printed.append(text)


class UnbufferedSink(Sink):
    def add(self, text: str) -> None:
        self.write(encode(text))


class Printing:
    """The part of the runtime that prints, and that runs what is printed to."""

    __slots__ = ("ending",)

    process: Process
    #: What is printed to standard output and not yet written.
    printed: list[str]
    #: What is printed in place of a file that is being read; None when nothing is.
    edited: list[bytes] | None
    sinks: dict[str, Sink]
    readers: dict[str, RecordReader]
    command_status: dict[str, int]
    #: The program has ended: only what is open is left to be closed.
    ending: bool

    if TYPE_CHECKING:

        def warn(self, message: str) -> None: ...
        def close_current(self) -> None: ...

    def flush(self) -> None:
        """Write what was printed to standard output."""
        if self.printed:
            data = encode("".join(self.printed))
            self.printed.clear()
            if self.edited is None:
                self.process.stdout.write(data)
            else:
                self.edited.append(data)

    def _flush_blocks(self) -> None:
        """Write what a buffer does not hold."""
        data = encode("".join(self.printed))
        cut = len(data) // _BUFFER * _BUFFER
        if cut and self.edited is None:
            self.process.stdout.write(data[:cut])
            self.printed[:] = [decode(data[cut:])] if cut < len(data) else []

    def flush_all(self) -> None:
        self.flush()
        for sink in self.sinks.values():
            sink.flush()

    def sink(self, redirection: str, name: str) -> Callable[[str], None]:
        """Where `print > name`, `>> name` or `| name` writes to."""
        if redirection == "|&" and name in self.readers:
            raise fatal(f"coprocess `{name}' has given its answer: it reads nothing more here")
        found = self.sinks.get(name)
        if found is None:
            found = self.sinks[name] = self._open_sink(redirection, name)
        return found.add

    def _open_sink(self, redirection: str, name: str) -> Sink:
        if redirection in ("|", "|&"):
            self.flush_all()
            return Sink(lambda data: None, None, name)
        if name in ("/dev/stdout", "-", "/dev/fd/1"):
            return StandardSink(self.printed, self.flush)
        if name in ("/dev/stderr", "/dev/fd/2"):
            return UnbufferedSink(self.process.stderr.write, None, None)
        if not name:
            raise fatal(f"expression for `{redirection}' redirection has null string value")
        try:
            file = open(self.process.path(name), "ab" if redirection == ">>" else "wb", buffering=0)
        except OSError as problem:
            raise fatal(f"cannot redirect to `{name}': {reason(problem)}") from None
        return Sink(file.write, file, None)

    def fflush(self, name: str | None) -> float:
        """The function of that name; -1 for a name that nothing is printed to."""
        if not name:
            self.flush_all()
            return 0.0
        sink = self.sinks.get(name)
        if sink is None:
            if name in self.readers:
                return 0.0
            self.warn(f"fflush: `{name}' is not an open file, pipe or co-process")
            return -1.0
        sink.flush()
        return 0.0

    def close(self, name: str, end: str = "") -> float:
        """Close a file or command; its status, or -1 for a name that is not open.

        Of a coprocess, the end "to" may be closed alone: it runs when its answer is first asked for.
        """
        status = -1.0
        if end == "to":
            return 0.0 if name in self.sinks else status
        sink = self.sinks.pop(name, None)
        if sink is not None:
            status = 0.0
            if sink.shell is not None:
                if not self.ending:
                    self.flush_all()
                status = float(self.process.run(["sh", "-c", sink.shell], stdin=encode("".join(sink.parts))))
            else:
                sink.flush()
                if sink.file is not None:
                    sink.file.close()
        reader = self.readers.pop(name, None)
        if reader is not None:
            reader.close()
            status = float(self.command_status.pop(name, 0))
        return status

    def close_all(self) -> None:
        """The end of the program: everything is written, and commands that are printed to run."""
        # What was printed since a command began waits in the buffer until that has ended.
        self.ending = True
        for name in reversed(list(self.sinks)):
            self.close(name)
        self.flush()
        self.close_current()

    def system(self, script: str) -> float:
        self.flush_all()
        return float(self.process.run(["sh", "-c", script]))

    def pass_on(self) -> Generator[None, None, None]:
        """Write what was printed and let the reader run when it should."""
        if any(sink.shell is not None for sink in self.sinks.values()):
            self._flush_blocks()
        else:
            self.flush()
        if self.process.stdout.full:
            yield
