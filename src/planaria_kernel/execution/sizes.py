"""How much memory a variable takes, as far as that is known without running the user's code."""

from __future__ import annotations

import sys
from typing import Any, Final

__all__ = ["size_of"]

#: Objects within one variable that are counted; what holds more is taken to hold more of the same.
_MOST_OBJECTS: Final = 10_000
_PLAIN: Final = frozenset({int, float, complex, bool, str, bytes, bytearray, type(None)})
_SEQUENCES: Final = frozenset({list, tuple, set, frozenset})


def size_of(value: Any) -> int:
    """Its bytes: of containers with what is in them, of arrays and frames with their data."""
    seen: set[int] = set()
    pending = [value]
    total = 0
    while pending and len(seen) < _MOST_OBJECTS:
        one = pending.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        total += _own_size(one)
        kind = type(one)
        if kind is dict:
            pending += [*one.keys(), *one.values()]
        elif kind in _SEQUENCES:
            pending += one
    left = len(pending)
    return total + (total * left // len(seen) if left else 0)


def _own_size(value: Any) -> int:
    kind = type(value)
    module = kind.__module__.partition(".")[0]
    if module == "numpy" and isinstance(nbytes := getattr(value, "nbytes", None), int):
        return nbytes
    if module == "pandas" and hasattr(kind, "memory_usage"):
        used = value.memory_usage()
        return int(used if isinstance(used, int) else getattr(used, "sum", lambda: used)())
    if kind in _PLAIN or kind in _SEQUENCES or kind is dict:
        return sys.getsizeof(value)
    return object.__sizeof__(value)
