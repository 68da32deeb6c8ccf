"""Which threads wait for the present one."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import Final

__all__ = ["any_waits_for_this"]

#: Modules whose functions block for another thread; `self` in their frames is what is waited for.
_BLOCKING: Final = frozenset({"concurrent.futures._base", "queue", "threading"})

#: Waits for the new thread to begin, which holds up nothing.
_START: Final = threading.Thread.start.__code__


def any_waits_for_this(threads: Iterable[int]) -> bool:
    """Whether one of these threads waits for something that this thread holds.

    A thread waits for something when it is inside a method of a future, thread, queue, event or lock of the
    standard library; this thread holds it when a function that it is in has it as a variable, or as an
    attribute of one. Waiting in C alone, as in `SimpleQueue.get()`, is not seen.
    """
    frames = sys._current_frames()
    awaited = {id(one) for thread in threads for one in _awaited(frames.get(thread))}
    return bool(awaited) and any(id(one) in awaited for one in _held(sys._getframe(1)))


def _awaited(frame: FrameType | None) -> list[object]:
    """What a thread waits for: the objects whose methods it is in."""
    awaited: list[object] = []
    while frame is not None and frame.f_globals.get("__name__") in _BLOCKING:
        if frame.f_code is _START:
            return []  # it goes on as soon as the new thread is running
        if (waited := frame.f_locals.get("self")) is not None:
            awaited.append(waited)
        frame = frame.f_back
    return awaited


def _held(frame: FrameType | None) -> Iterator[object]:
    """The variables of the functions that this thread is in, and their attributes."""
    while frame is not None:
        names = frame.f_globals
        variables = [*frame.f_locals.values(), *(names.get(name) for name in frame.f_code.co_names)]
        yield from variables
        for variable in variables:
            # Not of modules and classes, whose attributes belong to all threads.
            if not isinstance(variable, (type, type(sys))):
                yield from getattr(variable, "__dict__", {}).values()
        frame = frame.f_back
