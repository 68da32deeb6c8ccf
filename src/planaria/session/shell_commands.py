"""Functions of the host as commands of the shell."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping

from planaria.errors import CallbackError
from planaria.session.callbacks import Callback
from planaria_shell.execution.python_command import Outcome, exit_outcome, outcome_of

__all__ = ["SHADOWED", "as_command", "as_commands"]

#: Words that bash never looks up as commands: reserved ones, and its builtins.
SHADOWED = frozenset(
    [
        "!", "[[", "]]", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function",
        "if", "in", "select", "then", "time", "until", "while", "{", "}", ".", ":", "[", "alias", "bg",
        "bind", "break", "builtin", "caller", "cd", "command", "compgen", "complete", "compopt",
        "continue", "declare", "dirs", "disown", "echo", "enable", "eval", "exec", "exit", "export",
        "false", "fc", "fg", "getopts", "hash", "help", "history", "jobs", "kill", "let", "local",
        "logout", "mapfile", "popd", "printf", "pushd", "pwd", "read", "readarray", "readonly", "return",
        "set", "shift", "shopt", "source", "suspend", "test", "times", "trap", "true", "type", "typeset",
        "ulimit", "umask", "unalias", "unset", "wait",
    ]
)  # fmt: skip


def as_commands(functions: Mapping[str, Callable[..., object]] | None) -> dict[str, Callback]:
    """The callbacks of `commands=`. Raises CallbackError; see `as_command`."""
    if functions is None:
        return {}
    if not isinstance(functions, Mapping):
        raise CallbackError(
            f"commands= maps names to functions ({{'deploy': deploy}}), not {type(functions).__name__}"
        )
    return {name: as_command(name, function) for name, function in functions.items()}


def as_command(name: str, function: Callable[..., object]) -> Callback:
    """The callback by which the shell calls `function(arguments, stdin, environment)`.

    What `sys.exit` would be in a program ends the command with its status.

    Raises CallbackError when the name cannot be that of a command, or the function is not callable.
    """
    if not isinstance(name, str) or not name or "/" in name or any(one.isspace() for one in name):
        raise CallbackError(f"a command's name must be one word without a slash, not {name!r}")
    if name in SHADOWED:
        raise CallbackError(
            f"no script could call a command {name!r}: it is a word of the shell's own; use another name"
        )
    if not callable(function):
        raise CallbackError(f"command {name!r}: expected a function, not {type(function).__name__}")

    if inspect.iscoroutinefunction(function):

        async def command(arguments: list[str], stdin: bytes, environment: dict[str, str]) -> Outcome:
            try:
                return outcome_of(name, await function(arguments, stdin, environment))
            except SystemExit as leaving:
                return exit_outcome(leaving)

        return Callback("command", command)

    def plain_command(arguments: list[str], stdin: bytes, environment: dict[str, str]) -> Outcome:
        try:
            return outcome_of(name, function(arguments, stdin, environment))
        except SystemExit as leaving:
            return exit_outcome(leaving)

    return Callback("command", plain_command)
