"""The shell's builtins: importing this package puts all of them into `BUILTINS`."""

from __future__ import annotations

from planaria_shell.builtins import (
    commands,
    declarations,
    directories,
    flow,
    history,
    input,
    jobs,
    line_editing,
    options,
    output,
    parameters,
    resources,
    unsetting,
)
from planaria_shell.builtins.registry import BUILTINS, Builtin

__all__ = [
    "BUILTINS",
    "Builtin",
    "commands",
    "declarations",
    "directories",
    "flow",
    "history",
    "input",
    "jobs",
    "line_editing",
    "options",
    "output",
    "parameters",
    "resources",
    "unsetting",
]
