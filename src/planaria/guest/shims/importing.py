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
            return None
        execute = spec.loader.exec_module

        def execute_and_change(module: ModuleType) -> None:
            execute(module)
            change(module)

        spec.loader.exec_module = execute_and_change  # type: ignore[method-assign]
        return spec


_FINDER: Any = _Finder()
