"""Finding what a command's name stands for outside the shell: on PATH, in the registry, in a script."""

# mypy: disable-error-code="misc"
# The methods here are a part of `Shell` and are only ever called on one, which is what `self: Shell` says.

from __future__ import annotations

import errno
import os
import shlex
import stat
from collections.abc import Iterator
from typing import TYPE_CHECKING

from planaria_shell.run.command import COMMANDS, CommandFunction
from planaria_shell.run.missing_programs import ABSENT
from planaria_shell.run.process import RunningCommand
from planaria_shell.run.suggestions import is_misspelling
from planaria_shell.run.variable import ShellError

if TYPE_CHECKING:
    from planaria_shell.run.shell import Shell

__all__ = ["PROGRAMS_TOO", "SYSTEM_DIRECTORIES", "Lookup"]

#: Directories that hold the commands of the registry.
SYSTEM_DIRECTORIES = frozenset(
    ["/usr/bin", "/bin", "/usr/local/bin", "/usr/sbin", "/sbin", "/usr/local/sbin"]
)
#: Builtins that a real system also has as programs, so that `xargs`, `env` and `find -exec` find them.
PROGRAMS_TOO = frozenset(["echo", "printf", "test", "[", "true", "false", "pwd", "kill"])


class Lookup:
    """How a shell finds commands."""

    def find_command(
        self: Shell, name: str, *, remember: bool = True
    ) -> tuple[str, CommandFunction | None] | None:
        """Where a command is: its path, and its function when the registry has it."""
        if "/" in name:
            path = self.path(name)
            directory, _, base = path.rpartition("/")
            function = self.registered(base)
            if directory in SYSTEM_DIRECTORIES and function is not None:
                return name, function
            return (name, None) if os.path.exists(path) else None
        found = self.hashed.get(name)
        if found is not None:
            return found
        found = next(self.find_commands(name), None)
        if found is not None and remember:
            self.hashed[name] = found
        return found

    def find_commands(self: Shell, name: str) -> Iterator[tuple[str, CommandFunction | None]]:
        """All places on PATH where a command of this name is."""
        search = self.variables.get("PATH")
        for directory in (search or "").split(":"):
            if directory in SYSTEM_DIRECTORIES:
                function = self.registered(name) if directory in ("/usr/bin", "/bin") else None
                if function is not None:
                    yield f"{directory}/{name}", function
                continue
            if not directory:
                directory = "."
            path = os.path.join(self.cwd, directory, name)
            try:
                mode = os.stat(path).st_mode
            except OSError:
                continue
            if stat.S_ISREG(mode) and mode & 0o111:
                yield (path if directory.startswith("/") else f"{directory}/{name}"), None

    def registered(self: Shell, name: str) -> CommandFunction | None:
        """The function behind a command's name, from the host's commands or the registry."""
        function = self.commands.get(name)
        if function is not None:
            return function
        function = COMMANDS.get(name)
        if function is None and not self.commands_loaded:
            self.load_commands()
            function = COMMANDS.get(name)
        if function is None and name in PROGRAMS_TOO:
            return _builtin_as_program
        return function

    def interpreter(self: Shell, path: str, argv: list[str]) -> tuple[CommandFunction, list[str]]:
        """The interpreter of a script, and its arguments."""
        full = self.path(path)
        try:
            if os.path.isdir(full):
                raise ShellError(f"{argv[0]}: Is a directory", status=126)
            if not os.stat(full).st_mode & 0o111:
                raise ShellError(f"{argv[0]}: Permission denied", status=126)
            with open(full, "rb") as file:
                first = file.readline(512)
        except OSError as error:
            raise ShellError(f"{argv[0]}: {error.strerror}", status=126) from None
        if first.startswith(b"#!"):
            words = shlex.split(first[2:].decode("utf-8", "surrogateescape").strip())
            if not words:
                words = ["/bin/sh"]
            base = os.path.basename(words[0])
            if base == "env" and len(words) > 1:
                words = words[1:]
                if words[0] == "-S":
                    words = words[1:]
                base = os.path.basename(words[0])
            function = self.registered(base)
            if function is None:
                raise ShellError(
                    f"{argv[0]}: {words[0]}: bad interpreter: No such file or directory", status=126
                )
            return function, [base, *words[1:], path, *argv[1:]]
        if b"\0" in first:
            raise ShellError(f"{argv[0]}: cannot execute binary file: Exec format error", status=126)
        shell = self.registered("bash")
        assert shell is not None
        return shell, ["bash", path, *argv[1:]]

    def must_be_executable(self: Shell, name: str) -> None:
        """Raise the OSError with which execvp(3) would refuse to run a command of this name."""
        found = self.find_command(name) if name else None
        if found is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
        path, function = found
        if function is None:
            mode = os.stat(self.path(path)).st_mode
            if not stat.S_ISREG(mode) or not mode & 0o111:
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), name)

    def hint(self: Shell, name: str) -> str:
        """Why a program is not here, or the command of which a name is a slip of the fingers."""
        if name in ABSENT:
            return f" ({ABSENT[name]})"
        known = {*self.builtins, *COMMANDS, *self.commands, *self.functions}
        if name in known:
            return ""
        near = min((other for other in known if is_misspelling(name, other)), default=None)
        return f" (did you mean {near}?)" if near else ""


def _builtin_as_program(process: object) -> int:
    """`/usr/bin/echo` and its like: the builtin, run as a program."""
    assert isinstance(process, RunningCommand)
    child = process.shell.fork()
    name = os.path.basename(process.argv[0])
    return child.run_subshell(lambda sh: sh.builtins[name](sh, [name, *process.argv[1:]]))
