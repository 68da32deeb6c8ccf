"""Copies of a session, and going back to states that it had."""

from __future__ import annotations

from collections.abc import Callable

from planaria.errors import SessionError
from planaria.executors.executor import Unreachable
from planaria.session.engine import SessionEngine
from planaria.session.history import Point
from planaria.session.log import log
from planaria.snapshot.state import SessionState

__all__ = ["checkpoint", "fork", "redo", "rewind", "undo"]


def fork(engine: SessionEngine, n: int, reseed: bool) -> list[SessionEngine]:
    """`n` engines that continue from the present state."""
    if isinstance(n, bool) or not isinstance(n, int) or n < 0:
        raise ValueError(f"fork(n={n!r}): n must be a non-negative integer")
    left = engine.snapshots_for("fork").copies_left
    if n > max(left, 1):  # a single one fails by itself, with the resource that lacks
        raise ValueError(f"fork(n={n}): this process can have at most {left} more sessions")
    state = engine.state(shared=True)
    return [engine.copy(state, reseed=reseed) for _ in range(n)]


def checkpoint(engine: SessionEngine, label: str) -> None:
    """Keep the present state under a label."""
    if not isinstance(label, str) or not label:
        raise TypeError("the label of a checkpoint must be a non-empty str")
    engine.executor.require("rewind")
    engine.history.add(engine.state(), label)


def _go_to(engine: SessionEngine, point: Point, present: SessionState) -> None:
    """Become a state that was kept; on failure the session is as it was."""
    log.debug("session %#x goes to the state after execution %d", id(engine), point.state.count)
    snapshots = engine.snapshots_for("rewind")
    try:
        snapshots.restore(point.state.kernel)
    except Unreachable:  # the kernel is gone
        snapshots.restore(present.kernel)
        raise
    engine.adopt(point.state)


def _found(engine: SessionEngine, place: str | int, find: Callable[[], Point]) -> Point:
    """A point that was kept, or else one that the recording leads to. Raises SessionError."""
    try:
        return find()
    except SessionError:
        if isinstance(place, str) or not 0 <= place < engine.count:
            raise
        from planaria.session.recordings import recall  # imports all that plays recordings

        point = recall(engine, place)
        if point is None:
            raise
        return point


def rewind(engine: SessionEngine, place: str | int) -> None:
    """Go back to a checkpoint by its label, or to the state after so many executions."""
    engine.executor.require("rewind")
    point = _found(engine, place, lambda: engine.history.find(place))
    _go_to(engine, point, engine.state())
    engine.history.go_to(point)
    engine.history.undone.clear()


def undo(engine: SessionEngine, n: int) -> None:
    """Take back the last `n` executions."""
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise ValueError(f"undo(n={n!r}): n must be a positive integer")
    engine.executor.require("rewind")
    history = engine.history
    point = _found(engine, engine.count - n, lambda: history.to_undo(n, engine.count))
    present = engine.state()
    left = [*history.between(point.state.count, engine.count), Point(present, None, history.past)]
    _go_to(engine, point, present)
    history.go_to(point)
    history.undone.extend(reversed(left))


def redo(engine: SessionEngine) -> None:
    """Take back an undo."""
    history = engine.history
    if not history.undone:
        raise SessionError("there is nothing to redo")
    present, point = engine.state(), history.undone[-1]
    _go_to(engine, point, present)
    history.undone.pop()
    history.add(present)
    history.past = point.past
    history.has_changed = True
