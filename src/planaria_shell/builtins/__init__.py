"""The shell's builtins: importing this package puts all of them into `BUILTINS`."""

from __future__ import annotations

from planaria_shell.builtins import (
    commands,
    completion,
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
from planaria_shell.state.builtin import BUILTINS, Builtin

__all__ = [
    "BUILTINS",
    "Builtin",
    "commands",
    "completion",
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
