"""Failures of the place are errors of ours, which name it and say what to do."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from made_snapshots import make_snapshot
from small_disk import mounted

import planaria
from planaria.storage.locking import locked

_WITH_LITTLE_ROOM = """
import resource, signal, sys
import planaria
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
place = sys.argv[2]
make = planaria.FileStorage if sys.argv[1] == "file" else planaria.SqliteStorage
storage = make(place)
storage.get_artifact_store().save("n", "old")
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
try:
    storage.get_artifact_store().save("n", "x" * 3_000_000)
except planaria.StorageError as error:
    print("StorageError", error)
print(storage.get_artifact_store().load("n"))
"""


@pytest.mark.parametrize("kind", ["file", "sqlite"])
def test_no_room(kind: str, tmp_path: Path) -> None:
    """A write for which there is no room is a StorageError that names the place, and what was there stays."""
    place = str(tmp_path / "place")
    done = subprocess.run(
        [sys.executable, "-c", _WITH_LITTLE_ROOM, kind, place], capture_output=True, text=True, check=True
    )
    first, second = done.stdout.splitlines()
    assert first.startswith("StorageError the storage at ")
    assert place in first
    assert second == "old"


def test_full_disk_of_sqlite(tmp_path: Path) -> None:
    """SQLite's "database or disk is full" says to free space."""
    store = planaria.SqliteStore(tmp_path / "store.db")
    store.save("n", make_snapshot(1))
    store.close()
    connection = store._backend._database._connect()  # type: ignore[attr-defined]
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(planaria.StorageError, match=r"store\.db.*full.*free space"):
        store.save("m", make_snapshot(2, pages=40))
    assert store.load("n") == make_snapshot(1)
    assert store.list() == ["n"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_permission(tmp_path: Path) -> None:
    """A directory that this user may not write to is named, with what to do."""
    (tmp_path / "locked").mkdir(mode=0o500)
    with pytest.raises(planaria.StorageError, match=r"locked.*Permission denied.*permission"):
        planaria.FileStore(tmp_path / "locked" / "store")


def test_a_file_where_a_directory_is_needed(tmp_path: Path) -> None:
    """A place below a file is refused by all kinds of files, by its name."""
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(planaria.StorageError, match=r"file.*remove it, or use another place"):
        planaria.FileStore(tmp_path / "file" / "store")
    with pytest.raises(planaria.StorageError, match=r"store\.db.*check that its directory exists"):
        planaria.SqliteStore(tmp_path / "file" / "store.db")


def test_a_workspace_on_a_file(tmp_path: Path) -> None:
    """A session with a workspace where a file is is refused when it is created."""
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(planaria.StorageError, match=r"file.*remove it, or use another place"):
            planaria.Session.from_base(place)


def test_a_directory_where_a_database_is_needed(tmp_path: Path) -> None:
    """A directory that is given as the file of a database is refused with what to do."""
    with pytest.raises(planaria.StorageError, match="a directory is where a file has to be"):
        planaria.SqliteStore(tmp_path)


@pytest.mark.parametrize("change", ["removed", "replaced"])
def test_a_database_that_goes_away(tmp_path: Path, change: str) -> None:
    """What is saved to a file that was removed or replaced is not said to be saved; then its place is used."""
    place, other = tmp_path / "store.db", tmp_path / "other.db"
    store = planaria.SqliteStore(place)
    store.save("n", make_snapshot(1))
    if change == "removed":
        for one in tmp_path.glob("store.db*"):
            if one.is_file():
                one.unlink()
    else:
        with contextlib.closing(planaria.SqliteStore(other)) as copy:
            copy.save("o", make_snapshot(2))
        os.replace(other, place)
        (tmp_path / "store.db-wal").unlink()
    with pytest.raises(planaria.StorageError, match=rf"store\.db was {change} while it was open"):
        store.save("n", make_snapshot(3))
    store.save("m", make_snapshot(3))
    assert sorted(store.list()) == (["m"] if change == "removed" else ["m", "o"])


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    """A directory with stores, as it is seen on a filesystem that is read-only."""
    original = tmp_path / "original"
    original.mkdir()
    for store in (planaria.SqliteStore(original / "store.db"), planaria.FileStore(original / "files")):
        store.save("n", make_snapshot(1))
        store.close()
    with mounted(tmp_path / "place", ["--bind", str(original)], ["-o", "remount,ro,bind"]) as place:
        yield place


def test_a_read_only_filesystem(read_only: Path) -> None:
    """On a filesystem that is read-only files are read, and what has to be written to is refused as such."""
    store = planaria.FileStore(read_only / "files")
    assert store.load("n") == make_snapshot(1)
    with pytest.raises(planaria.StorageError, match="the filesystem is read-only; use another place"):
        store.save("n", make_snapshot(2))
    for name in ("store.db", "other.db"):
        with pytest.raises(planaria.StorageError, match=rf"{name}.*the filesystem is read-only"):
            planaria.SqliteStore(read_only / name)


def test_not_a_database(tmp_path: Path) -> None:
    """A file that is not an SQLite file is refused by its name."""
    (tmp_path / "notes.txt").write_text("text " * 1000)
    with pytest.raises(planaria.StorageError, match=r"notes\.txt.*not an SQLite file"):
        planaria.SqliteStore(tmp_path / "notes.txt")


def test_lock_that_is_held(tmp_path: Path) -> None:
    """A lock that another holds for too long is an error that names the lock; readers share theirs."""
    place = tmp_path / "lock"
    with (
        locked(place, exclusive=False),
        locked(place, exclusive=False, timeout=0),
        pytest.raises(planaria.StorageError, match=f"has held the lock {place}"),
        locked(place, exclusive=True, timeout=0.01),
    ):
        pass
    with locked(place, exclusive=True, timeout=0):
        pass


def test_long_names(tmp_path: Path) -> None:
    """Names of 150 characters can be used in a directory, whatever their characters are."""
    store = planaria.FileStore(tmp_path)
    for name in ("A" * 150, "漢" * 150, "A" * 85, "A" * 84 + "aa"):
        store.save(name, make_snapshot(1))
        assert store.load(name) == make_snapshot(1)
    assert sorted(store.list()) == sorted(["A" * 150, "漢" * 150, "A" * 85, "A" * 84 + "aa"])
