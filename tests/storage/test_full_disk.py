"""What becomes of stores, workspaces and mounts when the disk is full."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from small_disk import fill, small_disk

import planaria

_ROOM = 2 << 20


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A directory on a filesystem of its own, with room for two megabytes."""
    with small_disk(tmp_path / "disk", _ROOM) as place:
        yield place


def _names(place: Path) -> set[str]:
    return {str(one.relative_to(place)) for one in place.rglob("*") if one.is_file()}


@pytest.mark.parametrize("kind", [planaria.FileStore, planaria.SqliteStore])
def test_stores(disk: Path, kind: Callable[[Path], planaria.FileStore | planaria.SqliteStore]) -> None:
    """A store on a full disk raises a StorageError, keeps what it has, and works again once there is room."""
    store = kind(disk / "store")
    with planaria.Session() as session:
        session.execute("x = 1")
        store.save("kept", session.snapshot_state())
        kept = bytes(store.load("kept"))
        session.execute("import os; big = os.urandom(3 << 20)")
        for name in ("kept", "new"):
            with pytest.raises(planaria.StorageError, match="free space on that filesystem"):
                store.save(name, session.snapshot_state())
            assert bytes(store.load("kept")) == kept
            assert store.list() == ["kept"]
        with pytest.raises(OSError, match="No space left"):
            session.snapshot_state().save(disk / "file")
        assert not list(disk.glob("file*"))
        session.execute("del big; x = 2")
        with planaria.Session.from_snapshot(store.load("kept")) as other:
            other.execute("y = 2")
            if kind is planaria.FileStore:
                store.save("new", other.snapshot_state())
                assert store.list() == ["kept", "new"]


@pytest.mark.parametrize("is_full", [False, True], ids=["little room", "none"])
def test_workspaces(disk: Path, is_full: bool) -> None:
    """A workspace on a full disk raises a StorageError in the code, and leaves nothing half written."""
    with planaria.Session.from_base(disk / "desk") as session:
        session.execute("artifacts.save('kept', 'old')")
        session.execute("workflows.create('one', 'def run(): return 1')")
        names = _names(disk)
        if is_full:
            fill(disk)
        session.execute("import os; big = os.urandom(3 << 20)")
        for code in ("artifacts.save('kept', big)", "artifacts.save('new', big)"):
            error = session.run(code).error
            assert error is not None
            assert error.type == "StorageError", error
            assert "free space on that filesystem" in error.message
            assert str(disk) not in error.message
        if is_full:
            for code in ("artifacts.save('tiny', 1)", "workflows.create('two', 'def run(): return 2')"):
                error = session.run(code).error
                assert error is not None
                assert error.type == "StorageError", error
            (disk / "filling").unlink()
        assert _names(disk) == names
        assert session.execute("artifacts.load('kept'), workflows.one()").value == ("old", 1)
        session.execute("artifacts.save('new', 1)")


def test_mounts(disk: Path) -> None:
    """Writing to a mount of a full disk is an OSError in the code and on this side; the session goes on."""
    with planaria.Session(mounts=[planaria.Mount(disk, "/out", mode="rw")]) as session:
        session.execute(
            "import os, errno, sqlite3, shutil; big = os.urandom(3 << 20); open('big', 'wb').write(big)"
        )
        for code in ("open('/out/a', 'wb').write(big)", "shutil.copy('big', '/out/a')"):
            caught = f"try: {code}\nexcept OSError as error: number = error.errno\nnumber == errno.ENOSPC"
            assert session.execute(caught).value is True
            os.unlink(disk / "a")
        assert "No space left" in session.bash("cat big > /out/a").stderr
        os.unlink(disk / "a")
        with pytest.raises(planaria.FileSystemError, match="No space left"):
            session.files.write_bytes("/out/a", bytes(3 << 20))
        error = session.run(
            "c = sqlite3.connect('/out/d'); c.execute('create table t (x)'); c.commit()\n"
            "c.execute('insert into t values (?)', (big,)); c.commit()"
        ).error
        assert error is not None
        assert "full" in error.message
        assert session.execute("len(big)").value == 3 << 20
