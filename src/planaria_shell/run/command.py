"""What a command of the shell is, and what it is given to work with.

A command is a function `command(process) -> int` or a generator function that yields now and then
and returns its exit status. A command whose output can exceed its input or has no end (`yes`,
`seq`, `cat`, `tr`, filters in general) must be a generator and `yield` whenever `process.stdout.full`
is true: that is the point where the reader of a pipe runs, or where a closed pipe ends the writer
(GeneratorExit there means SIGPIPE; exit status 141). Reading never needs a yield: an input pulls from
the process that writes into it.

Names of files are `str` with surrogateescape, as everywhere in Python. The shell has a working
directory of its own, so a command never uses a relative name by itself: `process.path(name)`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Protocol

Status = int
CommandFunction = Callable[["Process"], "Status | Generator[None, None, Status]"]

#: Every command by name; a module of commands registers itself here when it is imported.
COMMANDS: dict[str, CommandFunction] = {}


def command(*names: str) -> Callable[[CommandFunction], CommandFunction]:
    """Register a function as the command of these names."""

    def register(function: CommandFunction) -> CommandFunction:
        for name in names:
            COMMANDS[name] = function
        return function

    return register


class Input(Protocol):
    """Where a command reads bytes from: a file, a pipe, a here-document, nothing."""

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes (all that comes when negative); empty at the end."""

    def readline(self) -> bytes:
        """One line with its newline, or what is left without one; empty at the end."""

    def chunks(self) -> Iterator[bytes]:
        """What is left in pieces of convenient size (64 KiB or what is there)."""

    def __iter__(self) -> Iterator[bytes]:
        """Lines."""


class Output(Protocol):
    """Where a command writes bytes to."""

    #: True when the reader should run before more is written; see the module's docstring.
    full: bool

    def write(self, data: bytes) -> None:
        """Write all of `data`; raises BrokenPipeError when nobody will read it."""

    def flush(self) -> None: ...


class Process(Protocol):
    """One running command."""

    #: The command's name and arguments: `argv[0]` is the name.
    argv: list[str]
    #: Exported variables.
    env: dict[str, str]
    #: The working directory, absolute.
    cwd: str
    stdin: Input
    stdout: Output
    stderr: Output

    def path(self, name: str) -> str:
        """`name` made absolute with the working directory (`-` is not special here)."""

    def open(self, name: str, mode: str = "r") -> Input | Output:
        """Open a file as a stream: mode "r", "w" or "a". A name like `/dev/fd/63` or `/dev/stdin` gives the
        stream behind it as it is, so that what is written into it can be read before it has ended; `path`
        must wait for that end. Raises OSError."""

    def error(self, message: str) -> None:
        """Write `NAME: message` and a newline to standard error."""

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
        """Run another command to its end (xargs, find -exec, env, timeout, nohup …).

        Raises OSError when there is no such command, or when it may not be executed."""
