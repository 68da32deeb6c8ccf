"""Imports that the core tier cannot serve: seen before a cell runs, or stopped when one is reached."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

from planaria_kernel.protocol import encode

__all__ = ["TierImports", "TierNeededError", "look_in"]


class TierNeededError(Exception):
    """The source imports modules that this tier does not have."""

    def __init__(self, modules: list[str]) -> None:
        super().__init__(", ".join(modules))
        self.modules = modules


class TierImports:
    """Knows the top-level modules that only the full tier has (`modules`).

    It is also a finder for `sys.meta_path`: an import that reaches one of them is reported to the host, which
    does not return from that.
    """

    def __init__(self, call_host: Callable[[bytes], bytes]) -> None:
        self._call_host = call_host
        self.modules: frozenset[str] = frozenset()

    def check(self, tree: ast.Module) -> None:
        """Raise TierNeededError when the source imports one of `modules`, wherever in it."""
        if not self.modules:
            return
        found: dict[str, None] = {}
        for node in ast.walk(tree):
            names: list[str | None] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module]
            for name in names:
                top = (name or "").partition(".")[0]
                if top in self.modules and top not in sys.modules:
                    found[top] = None
        if found:
            raise TierNeededError(list(found))

    def stop_at(self, source: str) -> None:
        """Tell the host, which does not return from that, when a source imports one of `modules`."""
        if self.modules and "import" in source:
            try:
                self.check(ast.parse(source))
            except SyntaxError:
                return  # the compiler will report it
            except TierNeededError as needed:
                self._call_host(b"T" + encode(needed.modules))

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        top = name.partition(".")[0]
        if top in self.modules:
            self._call_host(b"T" + encode([top]))
        return None


def look_in(paths: Sequence[str]) -> None:
    """Have modules found in these directories too.

    When they are known already, what was put into any directory meanwhile is found.
    """
    new = [path for path in paths if path not in sys.path]
    sys.path.extend(new)
    if not new:  # it imports much, the first time
        importlib.invalidate_caches()
