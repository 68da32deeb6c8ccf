"""Magics of the user's own."""

from collections.abc import Callable
from typing import Any

from IPython import get_ipython  # type: ignore[import-not-found]

__all__ = ["register_cell_magic", "register_line_cell_magic", "register_line_magic"]


def _registering(*kinds: str) -> Callable[..., Any]:
    def register(name: Any) -> Any:
        def add(function: Callable[..., Any], called: str | None = None) -> Callable[..., Any]:
            for kind in kinds:
                get_ipython().register_magic_function(function, kind, called)
            return function

        return add(name) if callable(name) else lambda function: add(function, name)

    return register


register_line_magic = _registering("line")
register_cell_magic = _registering("cell")
register_line_cell_magic = _registering("line", "cell")
