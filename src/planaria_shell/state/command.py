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

import importlib
import importlib.util
import os
import re
import sys
from collections.abc import Callable, Generator, Iterator, MutableMapping
from functools import cached_property, partial
from typing import Protocol

Status = int
CommandFunction = Callable[["Process"], "Status | Generator[None, None, Status]"]


class Registry(MutableMapping[str, CommandFunction]):
    """Commands by name, each of whose modules is imported when the command is first run.

    Which module declares a name is read from the sources of a package, without importing them: a declaration
    is `@command("name", ...)` at the start of a line, with the names as literal strings. In a name, `{minor}`
    stands for the minor version of the running Python. Iterating gives all names and imports nothing.
    """

    def __init__(self, package: str) -> None:
        self._package = package
        self._functions: dict[str, CommandFunction] = {}

    @cached_property
    def index(self) -> dict[str, str]:
        """The module of each declared name."""
        package = importlib.util.find_spec(self._package)
        found: dict[str, str] = {}
        for place in (package and package.submodule_search_locations) or ():
            for directory, folders, files in os.walk(place):
                folders[:] = [folder for folder in folders if folder != "__pycache__"]
                inner = os.path.relpath(directory, place).replace(os.sep, ".")
                prefix = self._package if inner == "." else f"{self._package}.{inner}"
                for file in files:
                    if file.endswith(".py"):
                        for name in _declared(os.path.join(directory, file)):
                            found[name] = prefix if file == "__init__.py" else f"{prefix}.{file[:-3]}"
        return found

    def load(self) -> None:
        """Import every module that declares a command, so that no later lookup imports anything."""
        for module in sorted(set(self.index.values())):
            importlib.import_module(module)

    def __getitem__(self, name: str) -> CommandFunction:
        function = self._functions.get(name)
        if function is None:
            if name not in self.index:
                raise KeyError(name)
            return partial(self._start, name)
        return function

    def _start(self, name: str, process: Process) -> Status | Generator[None, None, Status]:
        """Run a command whose module may not have been imported yet."""
        if name not in self._functions:
            importlib.import_module(self.index[name])
        return self._functions[name](process)

    def __contains__(self, name: object) -> bool:
        return name in self._functions or name in self.index

    def __setitem__(self, name: str, function: CommandFunction) -> None:
        self._functions[name] = function

    def __delitem__(self, name: str) -> None:
        del self._functions[name]

    def __iter__(self) -> Iterator[str]:
        yield from self.index
        yield from (name for name in self._functions if name not in self.index)

    def __len__(self) -> int:
        return len({*self.index, *self._functions})


_DECLARATION = re.compile(rb'^@command\(\s*("[^"\n]+"(?:,\s*"[^"\n]+")*)', re.MULTILINE)


def _declared(path: str) -> list[str]:
    """The names of the commands that a source file declares."""
    with open(path, "rb") as file:
        source = file.read()
    return [
        resolve_name(name.decode())
        for declaration in _DECLARATION.findall(source)
        for name in re.findall(rb'"([^"]+)"', declaration)
    ]


def resolve_name(name: str) -> str:
    """A command's name as it is called: with the version of Python for `{minor}`."""
    return name.replace("{minor}", str(sys.version_info[1]))


#: Every command by name.
COMMANDS = Registry("planaria_shell.commands")


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
        """Write all of `data`; raises BrokenPipeError when there is no reader."""

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
    #: The signal that has ended it, if one has: 128 more is its status.
    ended_by: int

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
