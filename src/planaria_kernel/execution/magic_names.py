"""The names of the magics."""

from __future__ import annotations

from typing import Final

__all__ = ["CELL_MAGICS", "LINE_MAGICS", "SCRIPT_MAGICS", "SHELL_ALIASES", "WRAPPERS"]

#: Line magics that are commands of the shell.
SHELL_ALIASES: Final = frozenset({"cat", "cp", "ls", "mkdir", "mv", "rm", "rmdir"})
#: Cell magics in which the statements of the cell run, as a part of it.
WRAPPERS: Final = frozenset({"capture", "time"})
#: Cell magics whose body is a program for another interpreter.
SCRIPT_MAGICS: Final = frozenset({"bash", "python", "python3", "script", "sh"})
#: Those that have a method `line_NAME`; more may be added to it, with `register_magic_function`.
LINE_MAGICS: Final = {
    *("cd", "env", "lsmagic", "matplotlib", "pip", "pwd", "reset", "run", "set_env", "sx", "system", "time"),
    *("timeit", "who", "whos"),
    *SHELL_ALIASES,
}
#: Those that have a method `cell_NAME`, likewise.
CELL_MAGICS: Final = {"html", "javascript", "js", "latex", "markdown", "svg", "timeit", "writefile", "file"}
