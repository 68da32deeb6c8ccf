"""The states that a session can go back to."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Final

from planaria.errors import SessionError
from planaria.snapshot.state import SessionState

__all__ = ["Budget", "HistoryEntry", "Point", "Timeline"]

#: The share of a session's time that automatic checkpoints may take.
BUDGET_SHARE: Final = 0.05
#: What may be spent before anything is earned, and the most that is saved up, in seconds.
_FIRST_CREDIT: Final = 0.1
_MOST_CREDIT: Final = 0.5
_KEEP_POINTS: Final = 64
_KEEP_BYTES: Final = 256 << 20


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One execution of the past."""

    count: int
    code: str
    duration_ms: float
    error: str | None
    checkpoint: str | int | None
    """The label or number with which `rewind` goes back to just before it, None when that was thinned out."""


@dataclass(frozen=True, slots=True)
class Point:
    """A state with a name: a label given by the user, or None for an automatic one."""

    state: SessionState
    label: str | None = None


class Budget:
    """Automatic checkpoints earn `BUDGET_SHARE` of the time that passes and spend what they take."""

    def __init__(self) -> None:
        self._credit = _FIRST_CREDIT
        self._looked = time.monotonic()
        self._usual = 0.0

    def allows(self) -> bool:
        now = time.monotonic()
        self._credit = min(_MOST_CREDIT, self._credit + (now - self._looked) * BUDGET_SHARE)
        self._looked = now
        return self._credit >= self._usual

    def spend(self, seconds: float) -> None:
        self._credit -= seconds
        self._usual = seconds if not self._usual else 0.8 * self._usual + 0.2 * seconds


@dataclass(slots=True)
class Timeline:
    """Points in order of their execution count; labelled ones stay, automatic ones are thinned out."""

    points: list[Point] = field(default_factory=list)
    undone: list[SessionState] = field(default_factory=list)
    """For `redo`, the next one last."""
    history: list[HistoryEntry] = field(default_factory=list)

    def add(self, point: Point) -> None:
        """Take in a point; a label is taken from an older point that has it."""
        if point.label is not None:
            self.points = [one for one in self.points if one.label != point.label]
        self.points.append(point)
        self._thin()

    def _thin(self) -> None:
        """Drop the oldest automatic points beyond the bounds, every other one first, so that far ones remain."""
        while True:
            automatic = [index for index, one in enumerate(self.points) if one.label is None]
            if len(automatic) <= 1:
                return
            held = {id(data): len(data) for one in self.points for _, data in one.state.kernel.runs}
            if len(automatic) <= _KEEP_POINTS and sum(held.values()) <= _KEEP_BYTES:
                return
            old = automatic[: max(2, len(automatic) // 2)]
            del self.points[old[1] if len(old) > 2 else old[0]]

    def before(self, count: int) -> Point | None:
        """The newest point at which `count` executions had been made."""
        return next((one for one in reversed(self.points) if one.state.count == count), None)

    def find(self, place: str | int) -> Point:
        """By label, or by execution count. Raises SessionError when there is none."""
        if isinstance(place, str):
            for one in self.points:
                if one.label == place:
                    return one
            labels = ", ".join(repr(one.label) for one in self.points if one.label is not None) or "none"
            raise SessionError(f"there is no checkpoint {place!r}; there are: {labels}")
        point = self.before(place)
        if point is None:
            counts = ", ".join(str(one.state.count) for one in self.points) or "none"
            raise SessionError(
                f"the state after execution {place} was not kept (see Limits and docs/snapshots.md); "
                f"there are checkpoints after: {counts}"
            )
        return point

    def forget_after(self, point: Point) -> None:
        """After going back to `point`: what came later never happened."""
        count = point.state.count
        self.points = [one for one in self.points if one.state.count <= count or one.label is not None]
        del self.history[next((i for i, one in enumerate(self.history) if one.count > count), len(self.history)) :]
