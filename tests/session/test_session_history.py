"""What is kept of the past of a session, and how much."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import planaria
from planaria.session import history

pytestmark = pytest.mark.slow


def test_history(session: Any) -> None:
    """History has code, error and checkpoint of each execution that led here."""
    session.checkpoint("begin")
    session.execute("x = 1")
    session.run("1 / 0")
    session.run("y = 2")
    codes = [(entry.count, entry.code, entry.error) for entry in session.history]
    assert codes == [
        (1, "x = 1", None),
        (2, "1 / 0", "ZeroDivisionError: division by zero"),
        (3, "y = 2", None),
    ]
    assert session.history[1].checkpoint == 1
    session.undo(2)
    assert [entry.code for entry in session.history] == ["x = 1"]
    session.rewind("begin")
    assert session.history == []


def test_more_forks_than_there_can_be(new_session: Callable[..., Any]) -> None:
    """More copies than a process can have are refused before the first one is made."""
    session = new_session()
    session.execute("x = 1")
    with pytest.raises(ValueError, match=r"fork\(n=10+\): this process can have at most \d+ more sessions"):
        session.fork(10**30)
    assert [copy.execute("x").value for copy in session.fork(2)] == [1, 1]


def test_points_are_bounded(new_session: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Automatic points are thinned out, the oldest most; labelled ones stay; going to a lost one says
    which are left.
    """
    monkeypatch.setattr(history, "_KEEP_POINTS", 8)
    session = new_session()
    session.execute("n = 0")
    session.checkpoint("mine")
    for _ in range(30):
        session.execute("n += 1")
    assert len(session._engine.history.points) <= 9
    session.undo()
    assert session.fork()[0].execute("n").value == 29
    kept = [entry.checkpoint for entry in session.history]
    lost = kept.index(None, 2)
    with pytest.raises(planaria.SessionError, match="there are checkpoints after"):
        session.rewind(lost)
    session.rewind("mine")
    assert session.execute("n").value == 0


def test_reset_begins_a_new_history(session: Any) -> None:
    """After a reset there is nothing to undo; files stay."""
    session.execute("x = 1; open('f', 'w').write('kept')")
    session.checkpoint("x")
    session.reset()
    assert (session.history, session.execution_count) == ([], 0)
    with pytest.raises(planaria.SessionError):
        session.undo()
    with pytest.raises(planaria.SessionError):
        session.rewind("x")
    assert session.execute("open('f').read()").value == "kept"


def test_undo_reports_what_can_be_undone(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the state that is wanted was dropped, the error names the limit and the nearest states kept."""
    monkeypatch.setattr(history, "_KEEP_POINTS", 3)
    for number in range(8):
        session.execute(f"x = {number}")
    with pytest.raises(
        planaria.SessionError,
        match=r"execution 4 is no longer kept.*Limits\(checkpoints=.*; undo\(3\) undoes less",
    ):
        session.undo(4)
    session.undo(3)
    assert session.execute("x").value == 4


def test_each_of_many_quick_executions_can_be_undone(session: Any) -> None:
    """There is a checkpoint before every execution, however large the session and however fast they come."""
    session.execute("x = list(range(500_000))")
    for number in range(30):
        session.execute(f"v{number} = {number}")
    assert [entry.checkpoint for entry in session.history] == list(range(31))
    session.undo()
    assert session.execute("'v28' in globals(), 'v29' in globals()").value == (True, False)
    session.undo(20)
    assert session.execute("'v9' in globals(), 'v10' in globals()").value == (True, False)


def test_memory_of_checkpoints_is_limited(new_session: Callable[..., Any]) -> None:
    """Beyond `Limits.checkpoints` old states are dropped, and the newest is kept whatever it takes."""
    session = new_session(limits=planaria.Limits(checkpoints=0))
    session.execute("import random; x = 0")
    for _ in range(6):
        session.execute("x += 1; data = random.randbytes(3 << 20)")
    assert len(session._engine.history.points) < 4  # those that share their memory with the newest
    session.undo()
    assert session.execute("x").value == 5
    with new_session(limits=planaria.Limits(checkpoints=None)) as other:
        for number in range(6):
            other.execute(f"x = {number}; data = bytes([{number}]) * (3 << 20)")
        other.undo(4)
        assert other.execute("x, data[:1]").value == (1, b"\x01")


def _held(points: list[history.Point]) -> int:
    sizes: dict[int, int] = {}
    for point in points:
        for identity, size in point.state.parts.items():
            sizes[identity] = max(size, sizes.get(identity, 0))
    return sum(sizes.values())


def test_held_memory_is_what_the_points_have(new_session: Callable[..., Any]) -> None:
    """The bytes counted for all points are those of their distinct pages and layers, while points are added,
    thinned out and gone back to.
    """
    session = new_session(limits=planaria.Limits(checkpoints=6 << 20, checkpoint_time=None))
    timeline = session._engine.history
    most = 0
    for number in range(24):
        session.execute(f"a{number % 7} = list(range({number * 5_000}))")
        most = max(most, len(timeline.points))
        assert timeline._held == _held(timeline.points)
        assert timeline._automatic == len(timeline.points)
    assert timeline._held > 0
    assert len(timeline.points) < most
    session.checkpoint("here")
    assert timeline._automatic == len(timeline.points) - 1
    session.undo()
    assert timeline._held == _held(timeline.points)
    session.execute("b = 1")
    session.execute("b = 2")
    # Points of two branches, whose pages are not beside each other.
    assert timeline._held >= _held(timeline.points)


def test_history_is_bounded(new_session: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A session forgets its oldest executions, by number and by the size of their code, and nothing of its
    checkpoints; copies keep what they had.
    """
    monkeypatch.setattr(history, "KEEP_ENTRIES", 5)
    session = new_session(limits=planaria.Limits(checkpoint_time=None))
    session.execute("x = 0")
    session.checkpoint("early")
    session.execute("x = -1")
    session.checkpoint("elsewhere")
    session.rewind("early")
    for number in range(1, 9):
        session.execute(f"x = {number}")
    fork = session.fork()[0]
    for number in range(9, 31):
        session.execute(f"x = {number}")
    counts = [entry.count for entry in session.history]
    assert 5 <= len(counts) <= 11
    assert counts == list(range(32 - len(counts), 32))
    assert [entry.count for entry in fork.history] == list(range(1, 10))
    session.undo(20)
    assert session.execute("x").value == 10
    session.rewind("elsewhere")
    assert session.execute("x").value == -1
    session.rewind("early")
    assert session.execute("x").value == 0
    monkeypatch.setattr(history, "_KEEP_CODE", 1000)
    for _ in range(4):
        session.execute("x = '" + "y" * 900 + "'")
    assert sum(len(entry.code) for entry in session.history) < 3000


def test_long_loops_of_quick_executions() -> None:
    """Beyond the credit, checkpoints keep to their share of the time; with `checkpoint_time=None` each has one."""
    for share, everywhere in ((None, True), (1e-9, False)):
        with planaria.Session(limits=planaria.Limits(checkpoint_time=share)) as session:
            history = session._engine.history
            history.budget._credit = 1e-6
            for _ in range(60):
                session.execute("x = 1")
            counts = [point.state.count for point in history.points]
            assert (counts[-10:] == list(range(50, 60))) is everywhere
            assert counts[0] == 0
