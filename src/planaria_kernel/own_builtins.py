"""Builtins of the kernel's own, and of the shell's: what code does to the module `builtins` they do not see.

The interpreter is quick with builtins as long as none is added: there, sessions add names of their own.

A function finds builtins in `__builtins__` of its module, which the import system sets unless it is there.
Installed before the rest of the kernel is imported.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType
from typing import Any, Final

__all__ = ["install"]

_OURS: Final = ("planaria_kernel.", "planaria_shell.")
#: Modules that code imports by itself.
_MODULES: Final = "planaria_kernel.sandbox.modules."


class _Loader(SourceFileLoader):
    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["__builtins__"] = _own
        super().exec_module(module)


class _Finder:
    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: Any = None) -> ModuleSpec | None:
        if not name.startswith(_OURS) or name.startswith(_MODULES):
            return None
        found = PathFinder.find_spec(name, path, target)
        if found is not None and type(found.loader) is SourceFileLoader:
            found.loader = _Loader(found.loader.name, found.loader.path)
        return found


_own: Final = dict(builtins.__dict__)


def install() -> None:
    """Give them to every module of the kernel and the shell that is imported from now on."""
    sys.meta_path.insert(0, _Finder)
