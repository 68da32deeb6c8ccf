"""Finding what a command's name stands for outside the shell: on PATH, in the registry, in a script."""

from __future__ import annotations

import errno
import os
import shlex
import stat
from collections.abc import Iterator

from planaria_shell.errors import ShellError
from planaria_shell.execution.missing_programs import ABSENT
from planaria_shell.execution.process import RunningCommand
from planaria_shell.execution.suggestions import is_misspelling
from planaria_shell.state.builtin import BUILTINS
from planaria_shell.state.command import COMMANDS, CommandFunction
from planaria_shell.state.interpreter import Interpreter

__all__ = [
    "PROGRAMS_TOO",
    "SYSTEM_DIRECTORIES",
    "find_command",
    "find_commands",
    "hint",
    "interpreter",
    "must_be_executable",
    "registered",
]


#: Directories that hold the commands of the registry.
SYSTEM_DIRECTORIES = frozenset(
    ["/usr/bin", "/bin", "/usr/local/bin", "/usr/sbin", "/sbin", "/usr/local/sbin"]
)
#: Builtins that a real system also has as programs, so that `xargs`, `env` and `find -exec` find them.
PROGRAMS_TOO = frozenset(["echo", "printf", "test", "[", "true", "false", "pwd", "kill"])


def find_command(
    shell: Interpreter, name: str, *, remember: bool = True
) -> tuple[str, CommandFunction | None] | None:
    """Where a command is: its path, and its function when the registry has it."""
    if "/" in name:
        path = shell.path(name)
        directory, _, base = path.rpartition("/")
        function = shell.registered(base)
        if directory in SYSTEM_DIRECTORIES and function is not None:
            return name, function
        try:
            os.stat(path)
        except FileNotFoundError:
            return None
        except OSError:
            pass  # it is reported when it is to be run
        return name, None
    found = shell.hashed.get(name)
    if found is not None:
        if found[1] is not None or "checkhash" not in shell.shopts or _may_run(shell.path(found[0])):
            return found
        del shell.hashed[name]
    found = next(shell.find_commands(name), None)
    if found is None:
        return next(_files(shell, name, 0), None)
    if remember and shell.hashes:
        shell.hashed[name] = found
    return found


def _may_run(path: str) -> bool:
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return stat.S_ISREG(mode) and mode & 0o111 != 0


def find_commands(shell: Interpreter, name: str) -> Iterator[tuple[str, CommandFunction | None]]:
    """All places on PATH where a command of this name is."""
    return _files(shell, name, 0o111)


def _files(shell: Interpreter, name: str, permissions: int) -> Iterator[tuple[str, CommandFunction | None]]:
    """Commands of this name on PATH, and files that have one of the permissions, or with 0 any at all."""
    search = shell.variables.get("PATH")
    for directory in (search or "").split(":"):
        if directory in SYSTEM_DIRECTORIES:
            function = shell.registered(name) if directory in ("/usr/bin", "/bin") else None
            if function is not None:
                yield f"{directory}/{name}", function
            continue
        if not directory:
            directory = "."
        path = os.path.join(shell.cwd, directory, name)
        try:
            mode = os.stat(path).st_mode
        except OSError:
            continue
        if stat.S_ISREG(mode) and (not permissions or mode & permissions):
            yield (path if directory.startswith("/") else f"{directory}/{name}"), None


def registered(shell: Interpreter, name: str) -> CommandFunction | None:
    """The function behind a command's name, from the host's commands or the registry."""
    function = shell.commands.get(name)
    if function is not None:
        return function
    function = COMMANDS.get(name)
    if function is None and name in PROGRAMS_TOO:
        return _builtin_as_program
    return function


def interpreter(shell: Interpreter, path: str, argv: list[str]) -> tuple[CommandFunction, list[str]]:
    """The interpreter of a script, and its arguments."""
    full = shell.path(path)
    try:
        if os.path.isdir(full):
            raise ShellError(f"{path}: Is a directory", status=126)
        if not os.stat(full).st_mode & 0o111:
            raise ShellError(f"{path}: Permission denied", status=126)
        with open(full, "rb") as file:
            first = file.readline(512)
    except OSError as error:
        status = 127 if isinstance(error, FileNotFoundError) else 126
        raise ShellError(f"{path}: {error.strerror}", status=status) from None
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
        function = shell.registered(base)
        if function is None:
            raise ShellError(f"{argv[0]}: {words[0]}: bad interpreter: No such file or directory", status=126)
        return function, [base, *words[1:], path, *argv[1:]]
    if b"\0" in first:
        raise ShellError(f"{argv[0]}: cannot execute binary file: Exec format error", status=126)
    bash = shell.registered("bash")
    assert bash is not None
    return bash, ["bash", path, *argv[1:]]


def must_be_executable(shell: Interpreter, name: str) -> None:
    """Raise the OSError with which execvp(3) would refuse to run a command of this name."""
    found = shell.find_command(name) if name else None
    if found is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
    path, function = found
    if function is None:
        mode = os.stat(shell.path(path)).st_mode
        if not stat.S_ISREG(mode) or not mode & 0o111:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), name)


def hint(shell: Interpreter, name: str) -> str:
    """Why a program is not here, or the command of which a name is a slip of the fingers."""
    if name in ABSENT:
        return f" ({ABSENT[name]})"
    known = {*shell.builtins, *COMMANDS, *shell.commands, *shell.functions}
    if name in known:
        return ""
    near = min((other for other in known if is_misspelling(name, other)), default=None)
    return f" (did you mean {near}?)" if near else ""


def _builtin_as_program(process: object) -> int:
    """`/usr/bin/echo` and its like: the builtin, run as a program."""
    assert isinstance(process, RunningCommand)
    child = process.shell.fork()
    name = os.path.basename(process.argv[0])
    return child.run_subshell(lambda sh: BUILTINS[name](sh, [name, *process.argv[1:]]))
