"""Change a module when it is imported, so that nothing is imported only to be changed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

__all__ = ["when_imported"]

_waiting: dict[str, Callable[[Any], None]] = {}


def when_imported(name: str, change: Callable[[Any], None]) -> None:
    """Call `change` with the module `name`: now if it is there, otherwise right after its code has run."""
    module = sys.modules.get(name)
    if module is not None:
        change(module)
        return
    _waiting[name] = change
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)


class _Loader:
    """A loader around the real one (which may be shared, as that of a zip file is): changes what that has
    loaded.
    """

    def __init__(self, loader: Any, change: Callable[[Any], None]) -> None:
        self._loader = loader
        self._change = change

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        created: ModuleType | None = self._loader.create_module(spec)
        return created

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._change(module)


class _Finder:
    """Finds nothing itself: it asks the other finders and wraps the loader they give."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        # Taken out first, so that asking the others does not come back here.
        change = _waiting.pop(name, None)
        if change is None:
            return None
        spec = find_spec(name)
        if spec is None or spec.loader is None:
            _waiting[name] = change  # it may be installed later
            return None
        spec.loader = _Loader(spec.loader, change)  # type: ignore[assignment]
        return spec


_FINDER: Any = _Finder()
