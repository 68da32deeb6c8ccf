"""A bash and its commands, in Python over the standard library.

    >>> import planaria_shell
    >>> planaria_shell.run("echo hello | tr a-z A-Z").stdout
    b'HELLO\\n'

`Shell` keeps state from one script to the next, `run` runs one script and collects its output, `command`
registers a Python function as a command, and `Limits` says how much a script may use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from planaria_shell.running import Completed, run
    from planaria_shell.shell import Shell
    from planaria_shell.state.limits import Limits
    from planaria_shell.toolkit.invocation import command

__all__ = ["Completed", "Limits", "Shell", "command", "run"]

_MODULES = {
    "Completed": "planaria_shell.running",
    "Limits": "planaria_shell.state.limits",
    "Shell": "planaria_shell.shell",
    "command": "planaria_shell.toolkit.invocation",
    "run": "planaria_shell.running",
}


def __getattr__(name: str) -> Any:
    # Imported when it is asked for: a process that only needs one module of the package starts sooner.
    try:
        module = _MODULES[name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
    return getattr(importlib.import_module(module), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
