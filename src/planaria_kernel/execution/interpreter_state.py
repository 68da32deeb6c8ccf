"""What the kernel needs of the interpreter, and that code can reach: kept, and put back when it was damaged.

Code may replace `builtins.len`, delete `sys.modules` or empty a module, by mistake or to see what happens.
That is its right as long as the kernel can report. When the kernel itself fails, it restores what it began
with and tries again.
"""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["InterpreterState"]


class InterpreterState:
    """The contents of the modules that are loaded now, those excepted that start with one of `without`.

    `restore` looks up no global name and no builtin, since those may be what is missing.
    """

    def __init__(self, without: tuple[str, ...] = ()) -> None:
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
