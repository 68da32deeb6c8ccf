"""The history of a session: what was executed, and the states that it can go back to."""

from __future__ import annotations

import html
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from planaria.errors import SessionError
from planaria.limits import Limits
from planaria.snapshot.state import SessionState

__all__ = ["CheckpointBudget", "History", "HistoryEntry", "Past", "Point", "html_table"]

#: Automatic checkpoints that a session keeps at most.
_KEEP_POINTS: Final = 64
#: Of so many automatic checkpoints, the very oldest is dropped first.
_FEW_POINTS: Final = 5
#: What checkpoints may take at once beyond their share, in seconds.
_CREDIT: Final = 0.25
#: What a checkpoint takes that is logged, in seconds: about that, since reading a clock takes as long.
_LOGGED: Final = 5e-6
#: Executions that a history has at least, as far as there were so many, and twice as many at most.
KEEP_ENTRIES: Final = 10_000
#: The same for their code together, in characters.
_KEEP_CODE: Final = 16 << 20


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One execution of the past."""

    count: int
    code: str
    duration_ms: float
    error: str | None
    checkpoint: str | int | None
    """The label or number with which `rewind` goes back to just before it, None when that was thinned out."""


def html_table(entries: Sequence[HistoryEntry]) -> str:
    """The executions as a table, a row for each."""
    rows = "".join(
        f"<tr><td>{entry.count}</td><td><code>{html.escape(entry.code.strip()[:100])}</code></td>"
        f"<td>{entry.duration_ms:.1f} ms</td><td>{html.escape(entry.error or '')}</td></tr>"
        for entry in entries
    )
    return f"<table>{rows}</table>"


@dataclass(slots=True, eq=False)
class Past:
    """The executions that led to a state, the newest first; states of one branch share them."""

    count: int
    code: str
    duration_ms: float
    error: str | None
    before: Past | None = None

    @property
    def entry(self) -> HistoryEntry:
        """The newest of them."""
        return HistoryEntry(self.count, self.code, self.duration_ms, self.error, None)

    def after(self, before: Past | None) -> Past:
        """The same execution after others."""
        return Past(self.count, self.code, self.duration_ms, self.error, before)


@dataclass(slots=True, eq=False)
class Point:
    """A state with a name: a label given by the user, or None for an automatic one."""

    state: SessionState
    label: str | None = None
    past: Past | None = None


class CheckpointBudget:
    """The time that automatic checkpoints may take: a share of the time that passes, and a credit.

    The credit covers hundreds of quick executions, and large states at the pace of a person or a model. What
    is thinned out are long loops of executions that take less time than their checkpoints.
    """

    def __init__(self, share: float | None) -> None:
        self._share = share
        self._credit = _CREDIT
        self._looked = time.monotonic()

    def allows(self) -> bool:
        """Whether a checkpoint may be taken now."""
        if self._share is None:
            return True
        now = time.monotonic()
        self._credit = min(_CREDIT, self._credit + (now - self._looked) * self._share)
        self._looked = now
        return self._credit > 0

    def spend(self, seconds: float) -> None:
        """A checkpoint took so much processor time."""
        self._credit -= seconds

    def fork(self) -> CheckpointBudget:
        """The budget of a copy of the session."""
        return CheckpointBudget(self._share)


def _beside(point: Point, *others: Point | None) -> int:
    """What the state of a point holds in bytes that those of others do not."""
    parts = point.state.parts
    known = [one.state.parts for one in others if one is not None]
    own = set(parts)
    for one in known:
        own -= one.keys()
    held = sum(map(parts.__getitem__, own))
    # A layer may have become larger in between.
    for identity, size in point.state.kernel.memory.parts():
        if identity not in own:
            held += max(0, size - max(one.get(identity, 0) for one in known))
    return held


def _added(point: Point, before: Point | None) -> int:
    """At least what the state of a new point holds in bytes that the one before does not."""
    if before is None or point.state.kernel.memory is not before.state.kernel.memory:
        return _beside(point, before)
    return point.state.kernel.copied - before.state.kernel.copied


@dataclass(slots=True)
class History:
    """Points in the order in which they were added; labelled ones stay, automatic ones are thinned out.

    Going back and executing something else makes a branch. Labelled points of other branches can be gone to
    by their labels; only those of the present one can be undone to.
    """

    points: list[Point] = field(default_factory=list)
    undone: list[Point] = field(default_factory=list)
    """For `redo`, the next one last."""
    recent: list[Past] = field(default_factory=list)
    """What was executed since `past` was last asked for, each by itself; executions add themselves here."""
    _past: Past | None = None
    _remembered: int = 0
    """Executions in `past`, and the characters of their code."""
    _remembered_code: int = 0
    has_changed: bool = True
    """Whether anything may have changed since the newest point."""
    most_bytes: int | None = None
    """Memory that automatic points may hold beside what the session uses itself, in bytes."""
    budget: CheckpointBudget = field(default_factory=lambda: CheckpointBudget(None))
    _held: int = 0
    """The most that the points hold, in bytes: what each copied is added, and all is counted again, with what
    neighbours share once, when that is more than they may hold."""
    _automatic: int = 0
    """How many of the points have no label."""

    @classmethod
    def of(cls, limits: Limits) -> History:
        """An empty history within the limits of a session."""
        return cls(most_bytes=limits.checkpoints, budget=CheckpointBudget(limits.checkpoint_time))

    @property
    def entries(self) -> list[HistoryEntry]:
        """The executions that led here, the oldest first; each with the point before it."""
        kept = {point.state.count: point.label or point.state.count for point in self._on_this_branch()}
        entries = []
        past = self.past
        while past is not None:
            entries.append(replace(past.entry, checkpoint=kept.get(past.count - 1)))
            past = past.before
        return entries[::-1]

    def fork(self) -> History:
        """The history of a copy of the session."""
        return History(
            list(self.points),
            _past=self.past,
            _remembered=self._remembered,
            _remembered_code=self._remembered_code,
            most_bytes=self.most_bytes,
            budget=self.budget.fork(),
            _held=self._held,
            _automatic=self._automatic,
        )

    @property
    def past(self) -> Past | None:
        """What was executed to come here, without what is too long ago."""
        if self.recent:
            self.remember()
        return self._past

    @past.setter
    def past(self, past: Past | None) -> None:
        self.recent.clear()
        self._past = past

    def remember(self) -> None:
        """Take what was executed recently, and forget what is too long ago."""
        for past in self.recent:
            past.before = self._past
            self._past = past
            self._remembered += 1
            self._remembered_code += len(past.code)
        self.recent.clear()
        if self._remembered > 2 * KEEP_ENTRIES or self._remembered_code > 2 * _KEEP_CODE:
            self._forget_oldest()

    def _forget_oldest(self) -> None:
        """Forget executions beyond the newest ones, in amounts, so that each execution costs little.

        Other branches and copies of the session may share what is forgotten, so it is not changed itself.
        """
        kept: list[Past] = []
        forgotten: set[Past] = set()
        past, code = self._past, 0
        while past is not None:
            if len(kept) < KEEP_ENTRIES and (code < _KEEP_CODE or not kept):
                kept.append(past)
                code += len(past.code)
            else:
                forgotten.add(past)
            past = past.before
        anew: dict[Past, Past] = {}
        newest: Past | None = None
        for past in reversed(kept):
            anew[past] = newest = past.after(newest)

        def moved(point: Point) -> Point:
            past = point.past
            if past is None or past in forgotten:
                return replace(point, past=None)
            # What led to another branch is forgotten but for its last execution.
            return replace(point, past=anew.get(past) or past.after(None))

        self.points = [moved(point) for point in self.points]
        self.undone = [moved(point) for point in self.undone]
        self._past, self._remembered, self._remembered_code = newest, len(kept), code

    def checkpoint(self, capture: Callable[[], SessionState], *, needed: bool = False) -> None:
        """Keep the present state, as `capture` gives it, before something is executed, if there is time for
        that or it is `needed`.
        """
        if not self.budget.allows():
            if needed:
                self.add(capture())
                self.has_changed = False
            return
        began = time.thread_time()
        self.add(capture())
        self.has_changed = False
        self.budget.spend(time.thread_time() - began)

    def add(self, state: SessionState, label: str | None = None) -> None:
        """Keep the present state; a label is taken from an older point that has it."""
        if label is not None and any(one.label == label for one in self.points):
            self._keep([one for one in self.points if one.label != label])
        point = Point(state, label, self.past)
        self._held += _added(point, self.points[-1] if self.points else None)
        self._automatic += label is None
        self.points.append(point)
        self._thin()

    def add_logged(self, state: SessionState) -> None:
        """Keep the present state, which is logged, before something is executed: it holds no memory of its
        own.
        """
        self.budget.spend(_LOGGED)
        self.points.append(Point(state, None, self._past))
        self._automatic += 1
        self.has_changed = False
        if self._automatic > _KEEP_POINTS:
            self._drop(self._next_dropped())

    def _keep(self, points: list[Point]) -> None:
        """Have these points and no others."""
        self.points = points
        self._automatic = sum(one.label is None for one in points)
        self._count()

    def _count(self) -> None:
        self._held = sum(map(_beside, self.points, [None, *self.points]))

    def _thin(self) -> None:
        """Drop the oldest automatic points beyond the limits, every other one first, so that far ones
        remain. The newest one is always kept.
        """
        while self._automatic > _KEEP_POINTS:
            self._drop(self._next_dropped())
        if self.most_bytes is None or self._held <= self.most_bytes:
            return
        # Without what the session uses itself.
        most = self.points[-1].state.kernel.memory.layer_bytes + self.most_bytes
        if self._held <= most:
            return
        self._count()
        if self._held > most:
            # A little more, so that the next ones need not be counted at once.
            most -= self.most_bytes // 8
        while self._held > most and self._automatic > 1:
            index = self._next_dropped()
            before, after = self.points[index - 1] if index else None, self.points[index + 1 : index + 2]
            self._held -= _beside(self.points[index], before, *after)
            self._drop(index)

    def _next_dropped(self) -> int:
        """Which point is dropped next."""
        others = 0 if self._automatic <= _FEW_POINTS else 1
        for index, one in enumerate(self.points):
            if one.label is None:
                if not others:
                    return index
                others -= 1
        raise LookupError("there is no automatic point")

    def _drop(self, index: int) -> None:
        self._automatic -= self.points[index].label is None
        del self.points[index]

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
            f"undo({n}): the state after execution {count - n} is no longer kept; a session keeps "
            f"{_KEEP_POINTS} of them, in the memory that Limits(checkpoints=...) and the time that "
            "Limits(checkpoint_time=...) allow"
        )
        older = self.newest(count - n)
        newer = [one.state.count for one in self.between(count - n, count)]
        ways = [] if not newer else [f"undo({count - newer[0]}) undoes less"]
        if older is not None:
            ways.append(f"undo({count - older.state.count}) undoes more")
        raise SessionError(
            f"{reason}; {' and '.join(ways)}" if ways else f"{reason}, and no other state is kept"
        )

    def go_to(self, point: Point) -> None:
        """The session has become the state of `point`: what came later, or on another way, never happened."""
        self.past = past = point.past
        self._remembered = self._remembered_code = 0
        while past is not None:
            self._remembered += 1
            self._remembered_code += len(past.code)
            past = past.before
        self.has_changed = False
        ancestors = self._on_this_branch()
        self._keep(
            [
                one
                for one in self.points
                if one.label is not None or (one.state.count <= point.state.count and one in ancestors)
            ]
        )
