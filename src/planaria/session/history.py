"""The history of a session: what was executed, and the states that it can go back to."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from planaria.errors import SessionError
from planaria.snapshot.state import SessionState

__all__ = ["Budget", "History", "HistoryEntry", "Past", "Point"]

#: The share of a session's time that automatic checkpoints may take.
BUDGET_SHARE: Final = 0.05
#: What may be spent before anything is earned, and the most that is saved up, in seconds.
_FIRST_CREDIT: Final = 0.05
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


@dataclass(frozen=True, slots=True, eq=False)
class Past:
    """The executions that led to a state, the newest first; states of one branch share them."""

    entry: HistoryEntry
    before: Past | None


@dataclass(frozen=True, slots=True)
class Point:
    """A state with a name: a label given by the user, or None for an automatic one."""

    state: SessionState
    label: str | None = None
    past: Past | None = None


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
class History:
    """Points in the order in which they were added; labelled ones stay, automatic ones are thinned out.

    Going back and executing something else makes a branch. Labelled points of other branches can be gone to
    by their labels; only those of the present one can be undone to.
    """

    points: list[Point] = field(default_factory=list)
    undone: list[Point] = field(default_factory=list)
    """For `redo`, the next one last."""
    past: Past | None = None
    """What was executed to come here."""
    budget: Budget = field(default_factory=lambda: Budget())
    has_changed: bool = True
    """Whether anything may have changed since the newest point."""
    _own: list[int] = field(default_factory=list)
    """For each point, the bytes that it does not share with the one before it, as far as counted."""

    @property
    def entries(self) -> list[HistoryEntry]:
        """The executions that led here, the oldest first; each with the point before it."""
        kept = {point.state.count: point.label or point.state.count for point in self._on_this_branch()}
        entries = []
        past = self.past
        while past is not None:
            entries.append(replace(past.entry, checkpoint=kept.get(past.entry.count - 1)))
            past = past.before
        return entries[::-1]

    def fork(self) -> History:
        """The history of a copy of the session."""
        return History(points=list(self.points), past=self.past)

    def checkpoint(self, capture: Callable[[], SessionState]) -> None:
        """Keep the present state, as `capture` gives it, before something is executed."""
        began = time.perf_counter()
        self.add(capture())
        self.has_changed = False
        self.budget.spend(time.perf_counter() - began)

    def add(self, state: SessionState, label: str | None = None) -> None:
        """Keep the present state; a label is taken from an older point that has it."""
        if label is not None:
            self.points = [one for one in self.points if one.label != label]
            self._own.clear()
        self.points.append(Point(state, label, self.past))
        self._thin()

    def _thin(self) -> None:
        """Drop the oldest automatic points beyond the limits, every other one first, so that far ones
        remain.
        """
        while True:
            automatic = [index for index, one in enumerate(self.points) if one.label is None]
            if len(automatic) <= 1 or (len(automatic) <= _KEEP_POINTS and self._held() <= _KEEP_BYTES):
                return
            old = automatic[: max(2, len(automatic) // 2)]
            dropped = old[1] if len(old) > 2 else old[0]
            del self.points[dropped]
            self._own.clear()

    def _held(self) -> int:
        """Bytes of memory that the points hold, each chunk counted where it is first held."""
        while len(self._own) < len(self.points):
            point = self.points[len(self._own)]
            before = dict(self.points[len(self._own) - 1].state.kernel.runs) if self._own else {}
            runs = point.state.kernel.runs
            self._own.append(sum(len(data) for start, data in runs if before.get(start) is not data))
        del self._own[len(self.points) :]
        return sum(self._own)

    def _on_this_branch(self) -> list[Point]:
        """The points through which the session came here, the oldest first."""
        ancestors: set[Past | None] = {None}
        past = self.past
        while past is not None:
            ancestors.add(past)
            past = past.before
        return [one for one in self.points if one.past in ancestors]

    def before(self, count: int) -> Point | None:
        """The newest point of this branch after `count` executions."""
        return next((one for one in reversed(self._on_this_branch()) if one.state.count == count), None)

    def newest(self, most: int) -> Point | None:
        """The newest point of this branch with at most `most` executions and nothing under way."""
        resting = [one for one in self._on_this_branch() if one.state.run is None and one.state.count <= most]
        return max(reversed(resting), key=lambda one: one.state.count, default=None)

    def between(self, first: int, last: int) -> list[Point]:
        """The newest point of this branch for each count of executions between two, the oldest first."""
        found = {one.state.count: one for one in self._on_this_branch() if first < one.state.count < last}
        return [found[count] for count in sorted(found)]

    def find(self, place: str | int) -> Point:
        """By label, or by execution count. Raises SessionError when there is none."""
        if isinstance(place, str):
            for one in self.points:
                if one.label == place:
                    return one
            labels = ", ".join(repr(one.label) for one in self.points if one.label is not None) or "none"
            raise SessionError(f"there is no checkpoint {place!r}; there are: {labels}")
        if isinstance(place, bool) or not isinstance(place, int):
            raise TypeError(f"a checkpoint is a label or a number of executions, not {place!r}")
        point = self.before(place)
        if point is None:
            counts = (
                ", ".join(sorted({str(one.state.count) for one in self._on_this_branch()}, key=int)) or "none"
            )
            raise SessionError(
                f"the state after execution {place} was not kept (see docs/snapshots.md); "
                f"there are checkpoints after: {counts}"
            )
        return point

    def to_undo(self, n: int, count: int) -> Point:
        """The point before the last `n` of `count` executions. Raises SessionError when it was not kept."""
        if n > count:
            raise SessionError(f"undo({n}): only {count} executions can be undone")
        point = self.before(count - n)
        if point is not None:
            return point
        reason = (
            f"undo({n}): the state after execution {count - n} was not saved because the checkpoint budget "
            "was used up (see docs/snapshots.md)"
        )
        older = self.newest(count - n)
        newer = [one.state.count for one in self.between(count - n, count)]
        ways = [] if not newer else [f"undo({count - newer[0]}) undoes less"]
        if older is not None:
            ways.append(f"undo({count - older.state.count}) undoes more")
        raise SessionError(f"{reason}; {' and '.join(ways)}" if ways else f"{reason}, nor was any other")

    def go_to(self, point: Point) -> None:
        """The session has become the state of `point`: what came later, or on another way, never happened."""
        self.past = point.past
        self.has_changed = False
        ancestors = self._on_this_branch()
        self.points = [
            one
            for one in self.points
            if one.label is not None or (one.state.count <= point.state.count and one in ancestors)
        ]
