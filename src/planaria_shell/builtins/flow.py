"""Builtins that change where execution goes: jumps, `eval`, `source`, `exec`, `exit`, and `:`."""

from __future__ import annotations

import os
from collections.abc import Generator

from planaria_shell.builtins.registry import (
    BuiltinUsageError,
    OptionError,
    builtin,
    ends_shell,
    no_more,
    operands_of,
    running,
    usage,
)
from planaria_shell.compile.redirection import open_stream
from planaria_shell.errors import ShellError
from planaria_shell.expand.condition_operators import TestError, evaluate_test
from planaria_shell.state.builtin import BUILTINS, STREAMING
from planaria_shell.state.control import Break, Continue, Exit, Return
from planaria_shell.state.functions import Frame
from planaria_shell.state.interpreter import Interpreter


def _status(shell: Interpreter, argv: list[str], usual: int) -> int:
    """The status that `exit` and `return` are given; `usual` without one."""
    words = argv[1:]
    if words and words[0] == "--":
        words = words[1:]
    if not words:
        return usual
    text = words[0].strip()
    if not text.lstrip("+-").isdecimal():
        shell.complain(f"{argv[0]}: {words[0]}: numeric argument required")
        return 2
    no_more(argv[0], words[1:])
    return int(text) & 0xFF


def _true(shell: Interpreter, argv: list[str]) -> int:
    return 0


def _false(shell: Interpreter, argv: list[str]) -> int:
    return 1


BUILTINS[":"] = _true
BUILTINS["true"] = _true
BUILTINS["false"] = _false


@builtin("exit")
def exit_shell(shell: Interpreter, argv: list[str]) -> int:
    usual = shell.trap_status if shell.running_trap == "EXIT" else shell.status
    status = _status(shell, argv, usual)
    run_logout(shell)
    raise Exit(status, asked=True)


@builtin("logout")
def logout(shell: Interpreter, argv: list[str]) -> int:
    if "login_shell" not in shell.shopts:
        raise BuiltinUsageError("not login shell: use `exit'", 1)
    return exit_shell(shell, argv)


def run_logout(shell: Interpreter) -> None:
    """Run `~/.bash_logout`, if this is a login shell itself and not a subshell of one."""
    if "login_shell" not in shell.shopts or shell.subshell_level:
        return
    try:
        with open(f"{shell.variables.get('HOME') or ''}/.bash_logout", "rb") as file:
            text = file.read().decode("utf-8", "surrogateescape")
    except OSError:
        return
    shell.run_text(text)


@builtin("return")
def return_(shell: Interpreter, argv: list[str]) -> int:
    usual = shell.status if shell.running_trap in ("", "DEBUG") else shell.trap_status
    status = _status(shell, argv, usual)
    if not shell.frames and not shell.sourcing and not shell.running_traps:
        raise BuiltinUsageError("can only `return' from a function or sourced script", 2)
    raise Return(status)


def _count(shell: Interpreter, argv: list[str]) -> int:
    if not shell.loops:
        if not shell.posix:
            shell.complain(f"{argv[0]}: only meaningful in a `for', `while', or `until' loop")
        return 0
    words = argv[2:] if argv[1:2] == ["--"] else argv[1:]
    if not words:
        return 1
    text = words[0]
    if not text.lstrip("+-").isdecimal():
        shell.complain(f"{argv[0]}: {text}: numeric argument required")
        raise Exit(128)
    no_more(argv[0], words[1:])
    count = int(text)
    if count < 1:
        shell.complain(f"{argv[0]}: {text}: loop count out of range")
        return -1
    return count


@builtin("break")
def break_(shell: Interpreter, argv: list[str]) -> int:
    count = _count(shell, argv)
    shell.last_argument = argv[-1]
    if count == -1:
        raise Break(shell.loops, status=1)
    if count:
        raise Break(min(count, shell.loops))
    return 0


@builtin("continue")
def continue_(shell: Interpreter, argv: list[str]) -> int:
    count = _count(shell, argv)
    shell.last_argument = argv[-1]
    if count == -1:
        raise Break(shell.loops, status=1)
    if count:
        raise Continue(min(count, shell.loops))
    return 0


@running("eval")
def eval_(shell: Interpreter, argv: list[str]) -> int:
    words = argv[1:]
    if words and words[0].startswith("-"):
        words = operands_of(argv)
    return shell.run_text(" ".join(words), line=shell.line, where="eval: ")


def _unreadable(shell: Interpreter, name: str) -> int:
    """A file that cannot be sourced ends the shell in POSIX mode, unless it is `command` that sources it."""
    if ends_shell(shell, name):
        raise Exit(1)
    return 1


def _unfit(shell: Interpreter, name: str) -> int:
    """Why a command cannot take the shell's place, which is reported: its status, or 0."""
    path = shell.path(name)
    if "/" in name and os.path.isdir(path):
        shell.complain(f"{name}: Is a directory")
        shell.complain(f"exec: {name}: cannot execute: Is a directory")
        return 126
    if shell.find_command(name) is not None:
        return 0
    if "/" in name and not os.path.exists(path):
        shell.complain(f"{name}: No such file or directory")
    else:
        shell.complain(f"exec: {name}: not found")
    return 127


@running("source", ".")
def source(shell: Interpreter, argv: list[str]) -> int:
    words = operands_of(argv)
    if not words:
        shell.complain(f"{argv[0]}: filename argument required")
        return usage(shell, argv[0])
    name = words[0]
    if shell.restricted and "/" in name:
        raise BuiltinUsageError(f"{name}: restricted", 1)
    path = _script_path(shell, name)
    if name and os.path.isdir(shell.path(path)):
        shell.complain(f"{argv[0]}: {name}: is a directory")
        return 1
    try:
        stream = open_stream(shell, path, "<")
        data = stream.read()
        stream.release()
    except ShellError as error:
        shell.complain(error.message)
        return _unreadable(shell, argv[0])
    except OSError as error:
        shell.complain(f"{name}: {error.strerror}")
        return _unreadable(shell, argv[0])
    text = data.decode("utf-8", "surrogateescape")
    saved = shell.positional
    if len(words) > 1:
        shell.positional = words[1:]
    given, sets = shell.positional, shell.positional_sets
    line = shell.line
    limit = shell.deepest
    if len(shell.frames) >= limit:
        raise ShellError(f"{name}: maximum source nesting level exceeded ({limit})")
    shell.frames.append(Frame("source", name, shell.line, words[1:]))
    shell.sourcing += 1
    hidden = shell.traps.pop("DEBUG", None) if not shell.functrace else None
    if hidden is not None:
        shell.update_watching()
    try:
        return shell.run_text(text)
    except Return as jump:
        return jump.status
    finally:
        shell.sourcing -= 1
        shell.frames.pop()
        shell.line = line
        if hidden is not None and "DEBUG" not in shell.traps:
            shell.traps["DEBUG"] = hidden
            shell.update_watching()
        if len(words) > 1 and (shell.positional is given or shell.positional_sets == sets):
            # What `set` put in their place stays; what `shift` left of them does not.
            shell.positional = saved
        if "RETURN" in shell.traps and not shell.function_depth:
            shell.run_trap("RETURN")


def _script_path(shell: Interpreter, name: str) -> str:
    if "/" in name:
        return name
    if "sourcepath" in shell.shopts:
        for directory in (shell.variables.get("PATH") or "").split(":"):
            path = os.path.join(shell.cwd, directory or ".", name)
            if os.path.isfile(path):
                return path
    return name


@builtin("exec")
def exec_(shell: Interpreter, argv: list[str]) -> int:
    words = argv[1:]
    clean = False
    shown: str | None = None
    login = False
    while words and words[0].startswith("-") and len(words[0]) > 1:
        option = words.pop(0)
        if option == "--":
            break
        letters, attached, name = option[1:].partition("a")
        if attached:
            if not name and not words:
                raise OptionError("-a: option requires an argument")
            shown = name or words.pop(0)
        if set(letters) <= {"c", "l"}:
            clean = clean or "c" in letters
            login = login or "l" in letters
        else:
            raise OptionError(f"{option[:2]}: invalid option")
    if not words:
        return 0
    if shell.restricted:
        raise BuiltinUsageError("restricted", 1)
    failure = _unfit(shell, words[0])
    if failure:
        if "execfail" in shell.shopts or (shell.interactive and not shell.subshell_level):
            return failure
        raise Exit(failure)
    if clean:
        found = shell.find_command(words[0])
        shell.replace_environment({})
        if found is not None and "/" not in words[0]:
            shell.hashed[words[0]] = found
    if login:
        shown = "-" + (shown or words[0])
    shell.reports_deaths = False
    status = shell.external(words, shown)
    # What takes the shell's place runs no trap of it.
    shell.traps.pop("EXIT", None)
    raise Exit(status)


def _stream_exec(shell: Interpreter, argv: list[str]) -> Generator[None, None, int]:
    """`exec` in a job or pipeline: others run while the command that takes the shell's place waits."""
    words = argv[1:]
    if not words or words[0].startswith("-") or shell.find_command(words[0]) is None:
        return shell.builtins["exec"](shell, argv)
    shell.reports_deaths = False
    status = yield from shell.stream_external(words)
    shell.traps.pop("EXIT", None)
    raise Exit(status)


STREAMING["exec"] = _stream_exec


@builtin("test")
def test(shell: Interpreter, argv: list[str]) -> int:
    try:
        return 0 if evaluate_test(shell, argv[1:]) else 1
    except TestError as error:
        shell.complain(f"test: {error.message}")
        return error.status


def _bracket(shell: Interpreter, argv: list[str]) -> int:
    if argv[-1] != "]":
        shell.complain("[: missing `]'")
        return 2
    try:
        return 0 if evaluate_test(shell, argv[1:-1]) else 1
    except TestError as error:
        shell.complain(f"[: {error.message}")
        return error.status


BUILTINS["["] = _bracket
