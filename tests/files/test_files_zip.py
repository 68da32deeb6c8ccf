"""Zip archives as a read-only filesystem."""

from __future__ import annotations

import errno
import io
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from filesystem_kinds import names, read
from hypothesis import given, settings
from hypothesis import strategies as st

from planaria.files import OpenFlags
from planaria.files.zip_archive import ZipFileSystem

R = OpenFlags.READ


def archive(files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as written:
        for name, contents in files.items():
            written.writestr(name, contents)
    return file.getvalue()


@pytest.fixture
def files(tmp_path: Path) -> ZipFileSystem:
    inner = archive({"fonts/a.ttf": b"font" * 99, "rc": b"x: 1\n"}, zipfile.ZIP_STORED)
    outer = archive({"one.py": b"1" * 5000, "p/__init__.py": b"", "p/d/x.txt": b"x", "p/data.zip": inner})
    (tmp_path / "library.zip").write_bytes(outer)
    filesystem = ZipFileSystem()
    filesystem.add_archive(b"/lib", tmp_path / "library.zip", expand=[b"p/data.zip"])
    filesystem.add_file(b"/own/m/mod.py", b"pass\n")
    return filesystem


def test_members_are_files_and_their_parents_directories(files: ZipFileSystem) -> None:
    """An archive is a directory tree with the contents of its members."""
    assert names(files, b"/") == [b"lib", b"own"]
    assert names(files, b"/lib/p") == [b"__init__.py", b"d", b"data"]
    assert read(files, b"/lib/one.py") == b"1" * 5000
    assert read(files, b"/lib/p/__init__.py") == b""
    assert read(files, b"/own/m/mod.py") == b"pass\n"
    stat = files.stat(b"/lib/one.py")
    assert (stat.size, stat.mtime, oct(stat.mode)) == (5000, 0, "0o100444")


def test_inner_archives_are_directories(files: ZipFileSystem) -> None:
    """An archive within the archive is shown as a directory of its name without `.zip`."""
    assert names(files, b"/lib/p/data") == [b"fonts", b"rc"]
    assert read(files, b"/lib/p/data/fonts/a.ttf") == b"font" * 99
    handle = files.open(b"/lib/p/data/fonts/a.ttf", R)
    assert handle.path() == b"/lib/p/data/fonts/a.ttf"
    assert read(files, b"/lib/p/data/fonts/../rc") == b"x: 1\n"


def test_nodes_are_found_by_number(files: ZipFileSystem) -> None:
    """Every node has a number of its own, by which it can be opened again."""
    pending, seen = [b"/"], set()
    while pending:
        path = pending.pop()
        stat = files.stat(path)
        handle = files.open_node(stat.device, stat.inode, R)
        assert handle.path() == path
        assert stat.inode not in seen
        seen.add(stat.inode)
        if stat.mode & 0o040000:
            pending += [path.rstrip(b"/") + b"/" + entry.name for entry in handle.entries()]
    assert len(seen) == 14
    for number in (0, 999, 1 << 32, (1 << 32) + 99, 5 << 32):
        with pytest.raises(OSError, match=r".") as caught:
            files.open_node(1, number, R)
        assert caught.value.errno == errno.ESTALE


def test_nothing_can_be_changed(files: ZipFileSystem) -> None:
    """Writing, making and removing fail with EROFS."""
    for change in (
        lambda: files.open(b"/lib/one.py", OpenFlags.WRITE),
        lambda: files.open(b"/lib/new", OpenFlags.WRITE | OpenFlags.CREATE),
        lambda: files.unlink(b"/lib/one.py"),
        lambda: files.mkdir(b"/lib/d"),
        lambda: files.chmod(b"/lib/one.py", 0o777),
        lambda: files.rename(b"/lib/one.py", b"/lib/two.py"),
    ):
        with pytest.raises(OSError, match=r".") as caught:
            change()
        assert caught.value.errno == errno.EROFS


def test_many_threads_read_at_once(files: ZipFileSystem) -> None:
    """Threads that open an inner archive at the same time see the same nodes."""
    with ThreadPoolExecutor(8) as pool:
        stats = list(pool.map(lambda _: files.stat(b"/lib/p/data/fonts/a.ttf"), range(64)))
        texts = list(pool.map(lambda _: read(files, b"/lib/one.py"), range(64)))
    assert len(set(stats)) == 1
    assert set(texts) == {b"1" * 5000}


@pytest.mark.parametrize("name", ["../a", "a/../../b", "/a", "a//b", "./a"])
def test_names_that_are_no_paths_are_refused(tmp_path: Path, name: str) -> None:
    """An archive whose names are absolute or hold `..` is refused."""
    (tmp_path / "a.zip").write_bytes(archive({name: b""}))
    with pytest.raises(ValueError, match="is not a valid path"):
        ZipFileSystem().add_archive(b"/", tmp_path / "a.zip")


_GOOD = archive({"a/b.txt": b"contents " * 50, "c": b"stored"})


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_damage_is_found(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """A damaged archive is refused, or its members have their contents, or fail with EIO."""
    damaged = bytearray(_GOOD)
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("zip") / "a.zip"
    path.write_bytes(damaged)
    filesystem = ZipFileSystem()
    try:
        filesystem.add_archive(b"/", path)
    except ValueError:
        return
    for name, contents in ((b"/a/b.txt", b"contents " * 50), (b"/c", b"stored")):
        try:
            assert read(filesystem, name) == contents
        except OSError as error:
            if error.errno not in (errno.EIO, errno.ENOENT, errno.ENOTDIR, errno.EISDIR):
                raise


def test_contents_that_are_put_off_are_there_when_looked_at(tmp_path: Path) -> None:
    """A filesystem with `fill` is filled once, whichever thread and operation looks at it first."""
    (tmp_path / "library.zip").write_bytes(archive({"one.py": b"1", "p/two.py": b"22"}))
    calls = []

    def fill(filesystem: ZipFileSystem) -> None:
        calls.append(filesystem)
        filesystem.add_archive(b"/lib", tmp_path / "library.zip")

    filesystem = ZipFileSystem(fill)
    assert not calls
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(lambda _: read(filesystem, b"/lib/p/two.py"), range(16))) == {b"22"}
    assert calls == [filesystem]
    assert names(ZipFileSystem(fill), b"/") == [b"lib"]
    assert ZipFileSystem(fill).usage() == filesystem.usage()
    node = ZipFileSystem(fill).find_node(3)
    assert node is not None
    assert node.path() == b"/lib/one.py"


def test_a_damaged_archive_that_was_put_off_is_an_error_each_time(tmp_path: Path) -> None:
    """Looking into a filesystem whose archive is damaged is EIO, then as the first time."""
    (tmp_path / "damaged.zip").write_bytes(archive({"one.py": b"1"})[:-30])

    def fill(filesystem: ZipFileSystem) -> None:
        filesystem.add_file(b"/first", b"")
        filesystem.add_archive(b"/lib", tmp_path / "damaged.zip")

    filesystem = ZipFileSystem(fill)
    for _ in range(2):
        with pytest.raises(OSError, match="damaged") as caught:
            filesystem.stat(b"/first")
        assert caught.value.errno == errno.EIO
