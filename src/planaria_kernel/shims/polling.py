"""A thread that polls for what another one would have to do: distinguished from one that makes progress.

Threads run to their end, each on the stack of the one that waits for it. One that sleeps in a loop until a
flag is set would never end when the flag is to be set by a thread below it. It is recognised by what it
sees: when it comes to the same sleep again and again, and nothing that it refers to has changed.
"""

from __future__ import annotations

from collections.abc import Sized
from types import FrameType
from typing import Any, Final

__all__ = ["SleepWatch"]

#: How often a thread may find everything as it was before it is said to poll in vain.
_PATIENCE: Final = 100


class SleepWatch:
    """Watches the sleeps of one thread."""

    def __init__(self) -> None:
        self._seen: Any = None
        self._count = 0

    def is_in_vain(self, frame: FrameType | None, *, despite_changes: bool = False) -> bool:
        """Whether the thread, in `frame`, has slept here often without a change of what it sees.

        `despite_changes`: or has just slept here often, since what it waits for cannot come.
        """
        seen = frame and (_place(frame) if despite_changes else _view(frame))
        self._count = self._count + 1 if seen == self._seen else 0
        self._seen = seen
        return self._count >= _PATIENCE


def _place(frame: FrameType) -> tuple[int, int]:
    return (id(frame), frame.f_lasti)


def _view(frame: FrameType) -> tuple[Any, ...]:
    """Where a frame is, and what its variables refer to: each by identity, size and attributes."""
    code, space = frame.f_code, frame.f_globals
    values = [*frame.f_locals.values(), *(space[name] for name in code.co_names if name in space)]
    return (*_place(frame), [_state(value) for value in values])


def _state(value: Any) -> tuple[Any, ...]:
    size = len(value) if isinstance(value, Sized) and type(value).__module__ in _SIZED else None
    attributes = getattr(value, "__dict__", None)
    if type(attributes) is not dict:
        return (id(value), size)
    return (id(value), size, [id(one) for one in attributes.values()])


#: The modules of types whose `len` runs none of the user's code.
_SIZED: Final = frozenset({"builtins", "collections", "array"})
