"""More depth for interpreters that are written with nested Python functions."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

#: Python frames; each is small, and this many fit the stack of a thread of 8 MiB.
DEPTH = 6000


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Allow at least `DEPTH` nested frames while the block runs."""
    before = sys.getrecursionlimit()
    if before < DEPTH:
        sys.setrecursionlimit(DEPTH)
    try:
        yield
    finally:
        if before < DEPTH:
            sys.setrecursionlimit(before)
