"""Snapshots of executions that wait."""

from __future__ import annotations

import pytest

import planaria


def approve(amount: int) -> bool:
    """Asks a person."""
    raise planaria.Suspend("ask")


def waiting_session(code: str) -> planaria.Session:
    session = planaria.Session(callbacks=[approve])
    session.start(code)
    return session


def test_resume_elsewhere() -> None:
    """An execution that waits goes on in another session, with all that it printed before."""
    session = waiting_session(
        "print('asking')\nok = await approve(amount=900)\nprint('paid' if ok else 'refused')"
    )
    snapshot = session.snapshot_state()
    assert snapshot.info.waiting
    assert [(call.name, call.kwargs) for call in snapshot.info.pending] == [("approve", {"amount": 900})]
    for answer, word in ((True, "paid"), (False, "refused")):
        other = planaria.Session.from_snapshot(bytes(snapshot), callbacks=[approve])
        run = other.run_in_progress
        assert run is not None
        assert [(call.name, call.kwargs) for call in run.pending] == [("approve", {"amount": 900})]
        run.resolve(run.pending[0].id, answer)
        assert run.status == "done"
        assert run.result().stdout == f"asking\n{word}\n"
        assert other.execute("ok").value is answer


def test_exactly_the_pending_calls() -> None:
    """Of three awaited at once one is answered; restored twice, exactly the other two are pending, with
    their ids.
    """
    session = waiting_session(
        "import asyncio\nr = await asyncio.gather(*(approve(n) for n in range(3)))\nprint(r)"
    )
    run = session.run_in_progress
    assert run is not None
    first, second, third = run.pending
    run.resolve(first.id, "a")
    snapshot = session.snapshot_state()
    for answers in (("b", "c"), ("x", "y")):
        other = planaria.Session.from_snapshot(snapshot, callbacks=[approve])
        run = other.run_in_progress
        assert run is not None
        assert run.pending == [second, third]
        run.resolve(third.id, answers[1])
        run.resolve(second.id, answers[0])
        assert run.result().stdout == f"{['a', *answers]}\n"


def test_deadlines_stay() -> None:
    """A timeout in the code keeps its deadline: time that went by outside counts."""
    import time

    session = waiting_session(
        "import asyncio\ntry:\n    async with asyncio.timeout(0.3): await approve(1)\nexcept TimeoutError: print('too late')"
    )
    snapshot = session.snapshot_state()
    time.sleep(0.4)
    other = planaria.Session.from_snapshot(snapshot, callbacks=[approve])
    run = other.run_in_progress
    assert run is not None
    run.step()
    assert run.result().stdout == "too late\n"


def test_same_bytes_while_waiting() -> None:
    """However long an execution waits, its snapshot is the same."""
    session = waiting_session("import asyncio\nasync with asyncio.timeout(60): await approve(1)")
    assert bytes(session.snapshot_state()) == bytes(session.snapshot_state())


def test_missing_callback_of_a_pending_call() -> None:
    """A pending call can be answered by hand where its callback is missing."""
    snapshot = waiting_session("r = await approve(1)").snapshot_state()
    with pytest.raises(planaria.SnapshotMismatch, match="'approve'"):
        planaria.Session.from_snapshot(snapshot)
    other = planaria.Session.from_snapshot(snapshot, missing="ignore")
    run = other.run_in_progress
    assert run is not None
    run.resolve(run.pending[0].id, 5)
    assert other.execute("r").value == 5


def test_restore_replaces_a_waiting_execution() -> None:
    """Restoring over an execution that waits makes an end of it."""
    session = planaria.Session(callbacks=[approve])
    session.execute("x = 1")
    snapshot = session.snapshot_state()
    run = session.start("await approve(1)")
    session.restore_state(snapshot)
    assert session.run_in_progress is None
    with pytest.raises(planaria.SessionError):
        run.resolve(run.pending[0].id, 1)
    assert session.execute("x").value == 1


def test_delta_of_a_waiting_execution() -> None:
    """A delta carries the execution that waits."""
    session = planaria.Session(callbacks=[approve])
    session.execute("x = 1")
    parent = session.snapshot_state()
    session.start("x = await approve(2)")
    other = planaria.Session.from_snapshot(session.snapshot_state(parent=parent), callbacks=[approve])
    run = other.run_in_progress
    assert run is not None
    run.resolve(run.pending[0].id, 7)
    assert other.execute("x").value == 7
