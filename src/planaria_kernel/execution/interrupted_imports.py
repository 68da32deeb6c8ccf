"""Imports that an interrupt ended: what they leave behind can be imported again.

CPython takes a module whose code failed out of `sys.modules`, but leaves the submodules that it had imported,
which refer to it. A new module in its place would be another one than theirs, so the code runs again in the
old one. An interrupt inside the import system itself could leave a submodule without its package's attribute,
or end the initialisation of a native module, which cannot begin twice; it has to wait there.
"""

from __future__ import annotations

import _imp
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import FrameType, ModuleType
from typing import Any, Final

__all__ = ["import_again", "interrupted_modules", "must_finish"]

_MACHINERY: Final = frozenset({"importlib._bootstrap", "importlib._bootstrap_external", "zipimport"})
_INITIALISERS: Final = tuple(
    getattr(_imp, name)
    for name in ("create_builtin", "exec_builtin", "create_dynamic", "exec_dynamic")
    if hasattr(_imp, name)
)


def must_finish(frame: FrameType, is_innermost: bool) -> bool:
    """Whether what a frame does has to end before an interrupt is raised: the innermost one, or one that
    called it.
    """
    if frame.f_globals.get("__name__") not in _MACHINERY:
        return False
    if is_innermost:
        return True
    # The import system calls everything that is not its own through this function.
    return frame.f_code.co_name == "_call_with_frames_removed" and frame.f_locals.get("f") in _INITIALISERS


def interrupted_modules(frame: FrameType | None) -> dict[str, ModuleType]:
    """The modules whose code a frame belongs to, or was called from, by name."""
    found: dict[str, ModuleType] = {}
    while frame is not None:
        if frame.f_code.co_name == "<module>":
            name = frame.f_globals.get("__name__")
            module = sys.modules.get(name) if type(name) is str else None
            if module is not None and vars(module) is frame.f_globals and name != "__main__":
                found[module.__name__] = module
        frame = frame.f_back
    return found


def import_again(modules: dict[str, ModuleType]) -> None:
    """When one of these is not a module any more, the next import runs its code again in the same module."""
    left = {name: module for name, module in modules.items() if name not in sys.modules}
    if left:
        for finder in sys.meta_path:
            if isinstance(finder, _InterruptedFinder):
                finder.modules.update(left)
                return
        sys.meta_path.insert(0, _InterruptedFinder(left))


class _InterruptedFinder:
    """Finds nothing itself: of a module that was interrupted it wraps the loader."""

    def __init__(self, modules: dict[str, ModuleType]) -> None:
        self.modules = modules

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        # Taken out first, so that asking the others does not come back here.
        module = self.modules.pop(name, None)
        if not self.modules and self in sys.meta_path:
            sys.meta_path.remove(self)
        if module is None:
            return None
        spec = find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _Again(spec.loader, module)  # type: ignore[assignment]
        return spec


class _Again:
    """Runs the code of a module once more in the module that it ran in before."""

    def __init__(self, loader: Any, module: ModuleType) -> None:
        self._loader = loader
        self._module = module

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        if not hasattr(module, "__path__"):
            # No submodule could be missed, and the code may object to what it left behind.
            for name in [name for name in vars(module) if not name.startswith("__")]:
                delattr(module, name)
        self._loader.exec_module(module)
