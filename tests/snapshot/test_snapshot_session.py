"""Taking and restoring snapshots of sessions."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import planaria
from planaria.snapshot.snapshot import Snapshot

# -- restoring -----------------------------------------------------------------------------------------------


def test_restore(session: planaria.Session) -> None:
    """Restoring replaces variables, files and the execution count; nothing is merged."""
    session.execute("x = 10; open('a', 'w').write('1')")
    snapshot = session.snapshot_state()
    session.execute("x = 999; y = 1; import os; os.remove('a'); open('b', 'w').write('2')")
    session.restore_state(snapshot)
    assert session.execute("x, 'y' in globals(), sorted(__import__('os').listdir())").value == (
        10,
        False,
        ["a"],
    )
    assert session.execution_count == 2
    assert [entry.count for entry in session.history] == [2]


def test_restore_elsewhere(session: planaria.Session, tmp_path: Path) -> None:
    """A snapshot goes through bytes and files into any other session, as often as one likes."""
    session.execute("x = [1]")
    snapshot = session.snapshot_state()
    snapshot.save(tmp_path / "s")
    assert bytes(Snapshot.load(tmp_path / "s")) == bytes(snapshot)
    assert len(snapshot) == len(bytes(snapshot)) == (tmp_path / "s").stat().st_size
    for given in (snapshot, bytes(snapshot), Snapshot.load(tmp_path / "s")):
        other = planaria.Session.from_snapshot(given)
        assert other.execute("x.append(2); x").value == [1, 2]


def test_pristine(session: planaria.Session) -> None:
    """A session that has executed nothing can be captured, and restored over one that has."""
    snapshot = session.snapshot_state()
    other = planaria.Session()
    other.execute("x = 1")
    other.restore_state(snapshot, reseed=False)
    assert other.execute("'x' in globals()").value is False
    fresh = planaria.Session()
    fresh.restore_state(snapshot, reseed=False)
    fresh.checkpoint("a")
    assert fresh.execute("1 + 1").value == 2


def test_checkpoints_of_a_restored_state(session: planaria.Session) -> None:
    """A session that executed nothing itself has checkpoints, copies and snapshots of what it restored."""
    session.execute("x = 1")
    snapshot = session.snapshot_state()
    fresh = planaria.Session()
    fresh.restore_state(snapshot, reseed=False)
    fresh.checkpoint("restored")
    (copy,) = fresh.fork()
    again = planaria.Session.from_snapshot(fresh.snapshot_state())
    fresh.execute("x = 2")
    fresh.rewind("restored")
    assert [one.execute("x").value for one in (fresh, copy, again)] == [1, 1, 1]


def test_undo_after_restore(session: planaria.Session) -> None:
    """After a restore, executions can be undone down to the restored state and not further."""
    session.execute("x = 1")
    snapshot = session.snapshot_state()
    session.execute("x = 2")
    session.restore_state(snapshot)
    session.execute("x = 3")
    session.undo()
    assert session.execute("x").value == 1
    with pytest.raises(planaria.SessionError):
        session.undo(2)


def test_hard_stop_after_restore() -> None:
    """A stop that takes the kernel's life goes back to the restored state."""
    snapshot = planaria.Session()
    snapshot.execute("x = 1")
    session = planaria.Session.from_snapshot(
        snapshot.snapshot_state(), limits=planaria.Limits(timeout=0.2, grace=0.1)
    )
    result = session.run("sum(range(10**12))")
    assert result.error is not None
    assert session.execute("x").value == 1


def test_several_sessions_at_once(session: planaria.Session) -> None:
    """Restored sessions live independently of each other and of the first."""
    session.execute("x = [0]")
    snapshot = session.snapshot_state()
    others = [planaria.Session.from_snapshot(snapshot) for _ in range(3)]
    for number, other in enumerate(others, 1):
        other.execute(f"x.append({number})")
    assert [other.execute("x").value for other in [session, *others]] == [[0], [0, 1], [0, 2], [0, 3]]


def test_async_session() -> None:
    """AsyncSession has the same methods, to be awaited; from_snapshot is not."""

    async def main() -> None:
        async with planaria.AsyncSession() as session:
            await session.execute("x = 1")
            snapshot = await session.snapshot_state()
            await session.execute("x = 2")
            delta = await session.snapshot_state(parent=snapshot)
            await session.restore_state(snapshot)
            assert (await session.execute("x")).value == 1
        async with planaria.AsyncSession.from_snapshot(delta) as other:
            assert (await other.execute("x")).value == 2

    asyncio.run(main())


def test_large_memory(session: planaria.Session) -> None:
    """Memory that the session was moved onto a file of its own with is captured against the image all the
    same.
    """
    session.execute("blob = bytearray(range(256)) * 120_000")
    first = session.snapshot_state()
    session.execute("blob[5_000_000] = 7; last = blob[-1]")
    second = session.snapshot_state(parent=first)
    assert len(second) < 400_000
    other = planaria.Session.from_snapshot(second)
    assert other.execute("blob[5_000_000], blob[5_000_001], len(blob), last").value == (
        7,
        65,
        30_720_000,
        255,
    )
    session.execute("del blob")
    third = session.snapshot_state(parent=second)
    assert planaria.Session.from_snapshot(third).execute("last").value == 255


@pytest.mark.parametrize("is_delta", [False, True], ids=["complete", "delta"])
def test_free_memory_is_left_out(session: planaria.Session, is_delta: bool) -> None:
    """What code has freed takes no room in a snapshot, and the state is the same without it."""
    session.execute("kept = list(range(1000)); files = [open('/tmp/f', 'w')]")
    parent = session.snapshot_state() if is_delta else None
    session.execute(
        "import os\nblocks = [os.urandom(30_000) for _ in range(800)]\n"
        "other = blocks[::8]\nlast = blocks[-1]\ndel blocks"
    )
    size = len(session.snapshot_state(parent=parent))
    session.execute("del other")
    snapshot = session.snapshot_state(parent=parent)
    assert size > 101 * 30_000 > 1_000_000 > len(snapshot)
    given = Snapshot(bytes(snapshot), parent=parent)
    other = planaria.Session.from_snapshot(given, reseed=False)
    assert other.state_digest() == session.state_digest()
    for one in (session, other):
        code = "more = [bytes([n]) * 30_000 for n in range(200)]; sum(map(len, more)) + sum(kept) + len(last)"
        assert one.execute(code).value == 6_000_000 + 499_500 + 30_000
        assert one.execute("more[7] == bytes([7]) * 30_000, files[0].write('x')").value == (True, 1)


def test_memory_that_shrank_and_grew(session: planaria.Session) -> None:
    """A delta after going back to a smaller memory does not bring back what was beyond it."""
    session.execute("base = bytearray(b'b') * 20_000_000")
    root = session.snapshot_state()
    session.checkpoint("small")
    session.execute("more = bytearray(b'm') * 12_000_000")
    grown = session.snapshot_state(parent=root)
    session.rewind("small")
    shrunk = session.snapshot_state(parent=grown)
    assert shrunk.info.memory_bytes < grown.info.memory_bytes
    session.execute("zeros = bytearray(12_000_000)")
    again = session.snapshot_state(parent=shrunk)
    question = "len(base), base.count(b'b'), zeros.count(0), 'more' in globals()"
    for snapshot in (again, session.snapshot_state()):
        other = planaria.Session.from_snapshot(snapshot)
        assert other.execute(question).value == (20_000_000, 20_000_000, 12_000_000, False)
    assert planaria.Session.from_snapshot(grown).execute("more.count(b'm')").value == 12_000_000
