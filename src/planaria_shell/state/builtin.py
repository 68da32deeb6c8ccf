"""What a builtin is, and the table of them; the modules of `builtins` fill it."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

__all__ = ["BUILTINS", "PURE_BUILTINS", "SPECIAL", "STREAMING", "Builtin", "builtins_without"]

#: Takes the shell (which is defined in terms of this table) and the arguments; returns the exit status.
Builtin = Callable[[Any, list[str]], int]

BUILTINS: dict[str, Builtin] = {}

#: Builtins that wait for their input in a pipeline: the generator function that lets other stages run.
STREAMING: dict[str, Callable[[Any, list[str]], Generator[None, None, int]]] = {}

#: What POSIX calls special builtins.
SPECIAL = frozenset(
    [
        ".", ":", "break", "continue", "eval", "exec", "exit", "export", "readonly", "return", "set", "shift",
        "source", "times", "trap", "unset",
    ]
)  # fmt: skip

#: Builtins that change nothing in the shell that runs them.
PURE_BUILTINS = frozenset(["echo", "printf", "pwd", "test", "[", "true", "false", ":", "type", "dirs"])


def builtins_without(disabled: set[str]) -> dict[str, Builtin]:
    """The table of builtins without those that `enable -n` turned off."""
    if not disabled:
        return BUILTINS
    return {name: function for name, function in BUILTINS.items() if name not in disabled}
