"""Threads that take turns: one of them waits for the network for as long as the code waits for it.

The sandbox has one stack, so a thread runs on top of the code that waits. One that only takes in what comes
from a connection can be left when nothing has come, and be begun anew later: `TurnOver` ends its turn.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

__all__ = ["TurnOver", "turn", "waited"]

T = TypeVar("T")


class TurnOver(BaseException):
    """A thread that takes turns has nothing to do at present."""


class Turn:
    """One turn of a thread."""

    def __init__(self, deadline: float | None) -> None:
        self.deadline = deadline
        """When the code below wants to go on, by the monotonic clock."""
        self.has_waited = False
        """Whether it has waited for the network."""


_current: Turn | None = None


@contextmanager
def turn(deadline: float | None, *, is_one: bool) -> Iterator[Turn]:
    """Inside, a thread takes its turn, for one that wants to go on at `deadline` by the monotonic clock; it
    takes none if not `is_one`.
    """
    global _current
    taken = Turn(deadline)
    outer, _current = _current, taken if is_one else None
    try:
        yield taken
    finally:
        _current = outer


def is_turn() -> bool:
    """Whether the thread that runs takes turns."""
    return _current is not None


def waited(look: Callable[[float | None], T], seconds: float | None) -> T:
    """What `look` finds within so many seconds (None: for as long as it takes); a false value for nothing.

    In a turn, the first wait lasts as long as the code below wants to wait, since what it waits for may have
    come with that; no other wait does. Raises TurnOver when the time of the turn is over before that.
    """
    if _current is None:
        return look(seconds)
    patience: float | None = 0.0
    if not _current.has_waited:
        deadline = _current.deadline
        patience = None if deadline is None else max(0.0, deadline - time.monotonic())
    _current.has_waited = True
    is_shorter = patience is not None and (seconds is None or patience < seconds)
    found = look(patience if is_shorter else seconds)
    if not found and is_shorter:
        raise TurnOver
    return found
