"""What of a state is in a snapshot: equal states, deltas, differences."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import planaria
from planaria.snapshot.snapshot import Snapshot

# -- equal states ----


def test_no_change_no_difference(session: planaria.Session) -> None:
    """Two snapshots with nothing between them are the same bytes."""
    session.execute("x = 1")
    assert bytes(session.snapshot_state()) == bytes(session.snapshot_state())


_REPEATED = """
import sys
sys.path[:0] = sys.argv[1:]
import planaria
session = planaria.Session(clock=planaria.FrozenClock(10**18), seed=3)
session.execute("import random, json; x = {str(i): random.random() for i in range(100)}; s = {'a', 'b', 'c'}")
session.execute("open('f', 'w').write(json.dumps(x))")
print(session.snapshot_state().digest)
"""


def test_same_state_same_bytes() -> None:
    """Two processes that execute the same under a frozen clock and a seed have snapshots of the same
    bytes."""
    digests = {
        subprocess.run(
            [sys.executable, "-c", _REPEATED, *sys.path],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1


def test_restored_state_is_the_same(session: planaria.Session) -> None:
    """A session restored without new seeds has a snapshot of the same pages and files as the one it is
    from.
    """
    session.execute("x = 1; f = open('a', 'w')")
    first = session.snapshot_state()
    again = planaria.Session.from_snapshot(first, reseed=False).snapshot_state()
    assert [one for one in again.container.sections if one.kind in ("pages", "chunks", "files")] == [
        one for one in first.container.sections if one.kind in ("pages", "chunks", "files")
    ]


_NUMBERS = "import random, uuid, tempfile, os\nrandom.random(), str(uuid.uuid4()), os.path.basename(tempfile.mktemp()), os.urandom(4)"


def test_reseed(session: planaria.Session) -> None:
    """Sessions restored from one snapshot draw different numbers, unless reseed=False."""
    session.execute("import random, uuid, tempfile; random.random(); tempfile.mktemp()")
    snapshot = session.snapshot_state()
    first, second = (planaria.Session.from_snapshot(snapshot).execute(_NUMBERS).value for _ in range(2))
    assert all(a != b for a, b in zip(first, second, strict=True))
    first, second = (
        planaria.Session.from_snapshot(snapshot, reseed=False).execute("random.random()").value
        for _ in range(2)
    )
    assert first == second


def test_seeded_sessions_go_on() -> None:
    """A session with a seed goes on with its own numbers after a restore."""
    session = planaria.Session(seed=5)
    session.execute("import random, os; random.random(); os.urandom(8)")
    snapshot = session.snapshot_state()
    expected = session.execute("random.random(), os.urandom(8)").value
    assert (
        planaria.Session.from_snapshot(snapshot, seed=5).execute("random.random(), os.urandom(8)").value
        == expected
    )


# -- deltas ----


def test_deltas(session: planaria.Session, tmp_path: Path) -> None:
    """A delta is small, and restores to the whole state with what it rests on, also when that was
    another's.
    """
    session.execute(
        "keep = list(range(50_000)); open('big', 'wb').write(os.urandom(300_000)) if (os := __import__('os')) else 0"
    )
    root = session.snapshot_state()
    session.execute("x = 1; open('small', 'w').write('s')")
    child = session.snapshot_state(parent=root)
    session.execute("x = 2")
    grandchild = session.snapshot_state(parent=child)
    assert len(child) < len(root) / 3
    assert (child.info.parent, grandchild.info.parent) == (root.digest, child.digest)
    other = planaria.Session.from_snapshot(grandchild)
    assert other.execute("x, sum(keep), len(open('big', 'rb').read()), open('small').read()").value == (
        2,
        sum(range(50_000)),
        300_000,
        "s",
    )
    with pytest.raises(planaria.SnapshotMismatch, match="not at hand"):
        session.restore_state(bytes(child))
    child.save(tmp_path / "c")
    session.restore_state(Snapshot.load(tmp_path / "c", parent=root))
    assert session.execute("x").value == 1


def test_delta_after_going_back(session: planaria.Session) -> None:
    """The parent may be a state that the session has left, even a larger one."""
    session.execute("x = 1")
    session.checkpoint("small")
    session.execute("big = bytearray(30_000_000)")
    parent = session.snapshot_state()
    session.rewind("small")
    assert session.execute("x").value == 1
    delta = session.snapshot_state(parent=parent)
    assert planaria.Session.from_snapshot(delta).execute("x, 'big' in globals()").value == (1, False)


def test_store_resumes(session: planaria.Session) -> None:
    """A session that saves deltas into a store is loaded whole from it."""
    store = planaria.MemoryStore()
    parent = None
    for number in range(5):
        session.execute(f"x = {number}")
        parent = session.snapshot_state(parent=parent)
        store.save("work", parent)
    store.delete("work", keep=1)
    store.collect_garbage()
    assert planaria.Session.from_snapshot(store.load("work")).execute("x").value == 4


# -- comparing ---------------------------------------------------------------------------------------------


def test_diff(session: planaria.Session) -> None:
    """A difference lists which variables and files were added, removed and changed."""
    session.execute(
        "x, gone, same = 1, 'g', [1, 2]\nlarge = list(range(10_000))\nclass A: pass\na = A(); a.v = 1\ndef f(): return 1\n"
        "open('kept', 'w').write('k'); open('lost', 'w').write('l'); open('edited', 'w').write('e')"
    )
    before = session.snapshot_state()
    session.execute(
        "x, new = 2, None\ndel gone\nlarge[5000] = 0\na.v = 2\ndef f(): return 2\n"
        "import os; os.remove('lost'); open('edited', 'a').write('e'); os.mkdir('folder')"
    )
    difference = before.diff(session.snapshot_state(parent=before))
    assert {name: one.type for name, one in difference.added.items()} == {"new": "NoneType", "os": "module"}
    assert difference.removed == {"gone": ("str", "'g'")}
    assert sorted(difference.changed) == ["a", "f", "large", "x"]
    assert difference.changed["x"] == (("int", "1"), ("int", "2"))
    assert difference.files.added == ["/home/user/folder"]
    assert difference.files.removed == ["/home/user/lost"]
    assert difference.files.changed == ["/home/user/edited"]
    assert "~ x: int = 1 -> int = 2" in str(difference).splitlines()


def test_diff_of_the_same(session: planaria.Session) -> None:
    """A snapshot does not differ from itself."""
    session.execute("import math\nx = {'a': [1.5]}\nlarge = list(range(10_000))\ndef f(): pass")
    snapshot = session.snapshot_state()
    assert not snapshot.diff(Snapshot(bytes(snapshot)))


def test_what_is_no_snapshot() -> None:
    """Bytes in the place of a snapshot to compare with, or of a parent, are a TypeError."""
    with planaria.Session() as session:
        snapshot = session.snapshot_state()
        with pytest.raises(TypeError, match=r"compares with a planaria\.Snapshot, not bytes"):
            snapshot.diff(bytes(snapshot))  # type: ignore[arg-type]
        with pytest.raises(TypeError, match=r"parent= must be a planaria\.Snapshot or None, not bytes"):
            session.snapshot_state(parent=b"")  # type: ignore[arg-type]
        with pytest.raises(TypeError, match=r"parent= must be a planaria\.Snapshot or None, not bytes"):
            planaria.Snapshot(bytes(snapshot), parent=b"")  # type: ignore[arg-type]


def test_deltas_of_one_parent(new_session: Any) -> None:
    """A delta after other deltas of its parent has the same bytes as one whose parent had none before."""
    session = new_session(clock=planaria.FrozenClock(10**18), seed=3)
    session.execute("x = [0] * 3000; text = ''")
    base = session.snapshot_state()
    for number in range(4):
        session.execute(
            f"x[{number} * 700] = {number}; text = 'abc' * {number}; open('f{number // 2}', 'a').close()"
        )
        delta = session.snapshot_state(parent=base)
        assert base._origin is not None
        base._origin.differences.clear()
        assert bytes(session.snapshot_state(parent=base)) == bytes(delta)
        read = Snapshot(bytes(delta), parent=Snapshot(bytes(base)))
        restored = planaria.Session.from_snapshot(read)
        assert restored.execute("x, text").value == session.execute("x, text").value
        restored.close()
