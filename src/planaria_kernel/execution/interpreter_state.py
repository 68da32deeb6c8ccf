"""What the kernel needs of the interpreter, and that code can reach: kept, and put back when it was damaged.

Code may replace `builtins.len`, delete `sys.modules` or empty a module, by mistake or to see what happens.
That is its right as long as the kernel can report. When the kernel itself fails, it restores what it began
with and tries again.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Iterable
from typing import Any

__all__ = ["InterpreterState"]


class InterpreterState:
    """The contents of the modules that are loaded now, those excepted that start with one of `without`.

    The builtins `without_names` come and go. `restore` looks up no global name and no builtin, since those
    may be what is missing.
    """

    def __init__(self, without: tuple[str, ...] = (), without_names: Iterable[str] = ()) -> None:
        self._modules = sys.modules
        self._loaded = {
            name: module
            for name, module in sys.modules.items()
            if not name.startswith((*without, "__main__"))
        }
        self._contents = [
            (name, module.__dict__, dict(module.__dict__)) for name, module in self._loaded.items()
        ]
        self._missing = object()
        self._builtins = builtins.__dict__
        self._least = len(self._builtins.keys() - without_names)

    @property
    def is_lost(self) -> bool:
        """Whether what no code can do without is gone: modules, importing, or some of the builtins.

        Builtins that are replaced by others are the code's own affair.
        """
        modules, space = self._modules, self._builtins
        return (
            getattr(sys, "modules", None) is not modules
            or "builtins" not in modules
            or len(space) < self._least
            or space.get("__import__") is None
        )

    def restore(self, without: dict[str, Any]) -> list[str]:
        """Put back what was removed or replaced since, and return its names.

        The builtins in `without` stay as they are.
        """
        restored = []
        missing = self._missing
        for name, module in self._loaded.items():
            if self._modules.get(name, missing) is not module:
                self._modules[name] = module
                restored.append("sys.modules['" + name + "']")
        for name, space, contents in self._contents:
            for key, value in contents.items():
                if space.get(key, missing) is not value and not (name == "builtins" and key in without):
                    space[key] = value
                    restored.append(name + "." + key)
        return restored
