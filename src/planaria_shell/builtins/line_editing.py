"""`bind`: keys for the editing of lines, which is not on in this shell, as in any that reads no terminal."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from planaria_shell.builtins.registry import UsageError, builtin, options_of
from planaria_shell.run.variable import ShellError

if TYPE_CHECKING:
    from planaria_shell.run.shell import Shell

_KEYMAPS = [
    "emacs",
    "emacs-standard",
    "emacs-meta",
    "emacs-ctlx",
    "vi",
    "vi-move",
    "vi-command",
    "vi-insert",
    "vi-standard",
]
_USAGE = (
    "bind: usage: bind [-lpsvPSVX] [-m keymap] [-f filename] [-q name] [-u name] [-r keyseq] "
    "[-x keyseq:shell-command] [keyseq:readline-function or readline-command]\n"
)


@builtin("bind")
def bind(shell: Shell, argv: list[str]) -> int:
    """Say that lines are not edited here: there are no keys to bind, and none to list."""
    shell.complain("bind: warning: line editing not enabled")
    try:
        options, _ = options_of(argv, "lpsvPSVXm:f:q:u:r:x:")
    except UsageError as error:
        raise UsageError(f"{error.message}\n{_USAGE.rstrip()}", error.status) from None
    for letter, value in options:
        if letter == "m" and value not in _KEYMAPS:
            raise ShellError(f"`{value}': invalid keymap name")
        if letter == "f" and not os.access(os.path.join(shell.cwd, value), os.R_OK):
            raise ShellError(f"{value}: cannot read: No such file or directory")
        if letter in "qu":
            raise ShellError(f"`{value}': unknown function name")
    return 0
