"""What a process makes once, whichever of its threads asks first."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

from planaria.fork import in_forked_child

__all__ = ["once"]

Made = TypeVar("Made")

_lock = threading.RLock()  # what is made may need something else that is made once


@in_forked_child("runtime")
def _after_fork() -> None:
    global _lock
    _lock = threading.RLock()  # another thread of the parent may have held it


def once(make: Callable[..., Made]) -> Callable[..., Made]:
    """`functools.cache` that calls `make` once for the same arguments, also when threads ask at once.

    For what must not exist twice, such as functions that native code keeps a pointer to.
    """
    made: dict[tuple[Any, ...], Made] = {}

    def get(*arguments: Any) -> Made:
        with _lock:
            if arguments not in made:
                made[arguments] = make(*arguments)
            return made[arguments]

    return cache(get)
