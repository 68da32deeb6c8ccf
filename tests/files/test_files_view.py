"""The user's view: text paths, storages, copying in and out, archives, fsspec."""

from __future__ import annotations

import errno
import io
import os
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from example_counts import examples
from filesystem_kinds import read
from hypothesis import given, settings
from hypothesis import strategies as st

import planaria.errors
from planaria.errors import FileSystemError
from planaria.files import (
    Files,
    MemoryFileSystem,
    Mount,
    MountFileSystem,
    OpenFlags,
    Quota,
    VfsStorage,
    standard_layout,
)


@pytest.fixture
def files() -> VfsStorage:
    storage = VfsStorage()
    storage.mkdir("/site/css", parents=True)
    storage.write_text("/site/index.html", "<html>")
    storage.write_bytes("/site/css/a.css", bytes(100_000) + b"end")
    storage.symlink("css/a.css", "/site/style.css")
    storage.write_text("/site/.hidden", "")
    return storage


def fails(code: int, function: Callable[..., object], *arguments: object, **options: object) -> str:
    with pytest.raises(FileSystemError) as caught:
        function(*arguments, **options)
    assert errno.errorcode[caught.value.errno or 0] == errno.errorcode[code]
    assert isinstance(caught.value, OSError)
    assert isinstance(caught.value, planaria.errors.PlanariaError)
    return str(caught.value)


def test_reading_and_writing(files: VfsStorage) -> None:
    """Text and bytes go in and come out unchanged."""
    assert files.write_text("/ü.txt", "a\r\nü\n") == 6
    assert files.read_text("/ü.txt") == "a\r\nü\n"
    assert files.read_text("ü.txt") == "a\r\nü\n"
    files.append_bytes("/ü.txt", b"more")
    assert files.read_bytes(Path("/ü.txt")).endswith(b"\nmore")
    files.write_bytes("/empty", b"")
    assert files.read_bytes("/empty") == b""
    assert files.listdir("/") == ["empty", "site", "ü.txt"]
    files.rename("/empty", "/site/empty")
    files.remove("/site/empty")
    assert "'/none'" in fails(errno.ENOENT, files.read_text, "/none")
    fails(errno.EISDIR, files.read_bytes, "/site")
    fails(errno.ENOENT, files.write_text, "/no/such", "")
    fails(errno.EEXIST, files.mkdir, "/site")
    files.mkdir("/site", exist_ok=True)
    fails(errno.EEXIST, files.mkdir, "/site/index.html", exist_ok=True)
    fails(errno.ENOTEMPTY, files.remove, "/site")


def test_looking(files: VfsStorage) -> None:
    """exists, is_file, is_dir and stat tell what there is, through links."""
    files.symlink("nowhere", "/dangling")
    assert files.exists("/site")
    assert files.is_dir("/site")
    assert files.is_file("/site/style.css")
    assert files.is_symlink("/site/style.css")
    assert not files.exists("/dangling")
    assert not files.exists("/site/index.html/x")
    assert files.readlink("/dangling") == "nowhere"
    assert files.stat("/site/style.css").size == 100_003
    assert files.stat("/site/style.css", follow=False).size == 9


def test_walking_and_globbing(files: VfsStorage) -> None:
    """walk goes top down and sorted; glob matches as a shell with globstar would."""
    assert list(files.walk("/site")) == [
        ("/site", ["css"], [".hidden", "index.html", "style.css"]),
        ("/site/css", [], ["a.css"]),
    ]
    assert files.glob("/site/*.css") == ["/site/style.css"]
    assert files.glob("/**/*.css") == ["/site/css/a.css", "/site/style.css"]
    assert files.glob("site/**") == [
        "/site",
        "/site/css",
        "/site/css/a.css",
        "/site/index.html",
        "/site/style.css",
    ]
    assert files.glob("/site/.h*") == ["/site/.hidden"]
    assert files.glob("/s?te/[a-i]*") == ["/site/css", "/site/index.html"]
    assert files.glob("/none/*") == []
    with pytest.raises(TypeError, match="the pattern must be a str, not int"):
        files.glob(5)  # type: ignore[arg-type]


def test_removing_trees(files: VfsStorage) -> None:
    """rmtree removes a directory with all in it, and links without their targets."""
    files.write_text("/keep", "x")
    files.symlink("/keep", "/site/link")
    files.rmtree("/site")
    assert files.listdir("/") == ["keep"]
    fails(errno.ENOTDIR, files.rmtree, "/keep")


def test_file_objects(files: VfsStorage) -> None:
    """open gives file objects that behave as those of the built-in open."""
    with files.open("/f", "w") as file:
        file.write("one\ntwo\n")
    with files.open("/f") as file:
        assert list(file) == ["one\n", "two\n"]
    with files.open("/f", "r+b") as file:
        file.seek(-4, os.SEEK_END)
        file.write(b"TWO")
        file.seek(0)
        assert file.read() == b"one\nTWO\n"
        file.truncate(3)
    with files.open("/f", "a") as file:
        file.write("!")
    assert files.read_text("/f") == "one!"
    fails(errno.EEXIST, files.open, "/f", "x")
    fails(errno.EISDIR, files.open, "/site")
    with pytest.raises(ValueError, match="mode"):
        files.open("/f", "rw")


def test_storages_are_values(files: VfsStorage) -> None:
    """A storage can be captured, restored, forked and compared."""
    snapshot = files.snapshot()
    fork = files.fork()
    files.write_text("/new", "x")
    files.remove("/site/index.html")
    files.write_bytes("/site/css/a.css", b"changed")
    assert fork.diff(files) == (["/new"], ["/site/index.html"], ["/site/css/a.css"])
    files.restore(snapshot)
    assert fork.diff(files) == ([], [], [])
    assert files.usage() == fork.usage()
    small = VfsStorage(quota=Quota(bytes=5000))
    fails(errno.ENOSPC, small.write_bytes, "/f", bytes(6000))
    assert small.listdir("/") == []
    small.write_text("/f", "old")
    fails(errno.ENOSPC, small.write_bytes, "/f", bytes(6000))
    assert small.read_text("/f") == "old"
    small.write_text("/f", "n")
    assert small.read_text("/f") == "n"


# -- copying ---------------------------------------------------------------------------------------


def test_copying_in_and_out(files: VfsStorage, tmp_path: Path) -> None:
    """A tree goes out and comes back as it was, with links, modes and times."""
    files.filesystem.chmod(b"/site/index.html", 0o755)
    files.filesystem.utime(b"/site/index.html", 1_000_000_001, 2_000_000_002)
    files.copy_out("/site", tmp_path / "out" / "site")
    out = tmp_path / "out" / "site"
    assert (out / "css" / "a.css").read_bytes() == files.read_bytes("/site/css/a.css")
    assert os.readlink(out / "style.css") == "css/a.css"
    assert (out / "index.html").stat().st_mode & 0o777 == 0o755
    assert (out / "index.html").stat().st_mtime_ns == 2_000_000_002
    files.copy_in(out, "/back/again")
    files.rename("/back/again", "/site2")
    files.rmtree("/back")
    assert [path.replace("/site2", "/site") for path in files.glob("/site2/**")] == files.glob("/site/**")
    assert files.stat("/site2/css/a.css").mtime == files.stat("/site/css/a.css").mtime
    files.copy_in(out / "index.html", "/single.html")
    files.copy_out("/single.html", tmp_path / "single.html")
    assert (tmp_path / "single.html").read_text() == "<html>"
    files.copy_out("/site", out)  # again, over what is there
    fails(errno.EISDIR, files.copy_out, "/single.html", out)
    fails(errno.ENOENT, files.copy_out, "/none", tmp_path / "x")
    with pytest.raises(FileSystemError) as caught:
        files.copy_in(tmp_path / "none", "/x")
    assert (caught.value.errno, caught.value.filename) == (errno.ENOENT, str(tmp_path / "none"))
    fails(errno.EFBIG, files.copy_in, out, "/limited", max_bytes=1000)


@pytest.mark.parametrize(
    "target",
    ["/etc", "..", "../../x", "css/../../x", "css/../css/../..", "./..", "../site/../.."],
)
def test_links_that_lead_out_are_not_copied_out(files: VfsStorage, tmp_path: Path, target: str) -> None:
    """A link of the guest that could lead out of the tree does not reach the host."""
    files.symlink(target, "/site/evil")
    fails(errno.EPERM, files.copy_out, "/site", tmp_path / "out")
    assert not (tmp_path / "out" / "evil").is_symlink()


def test_links_of_the_host_are_not_written_through(files: VfsStorage, tmp_path: Path) -> None:
    """Copying out replaces links that are in the way instead of writing where they lead."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "victim").write_text("victim")
    out = tmp_path / "out"
    out.mkdir()
    (out / "index.html").symlink_to("../victim")
    (out / "css").symlink_to("../outside")
    fails(errno.EEXIST, files.copy_out, "/site", out)
    assert (tmp_path / "victim").read_text() == "victim"
    assert list((tmp_path / "outside").iterdir()) == []
    (out / "css").unlink()
    files.copy_out("/site", out)
    assert (tmp_path / "victim").read_text() == "victim"
    assert (out / "index.html").read_text() == "<html>"
    assert not (out / "index.html").is_symlink()


def test_special_files_are_not_copied(tmp_path: Path) -> None:
    """A FIFO among the files to copy is an error, not something to wait for."""
    os.mkfifo(tmp_path / "fifo")
    fails(errno.EINVAL, VfsStorage().copy_in, tmp_path, "/x")
    with_devices = Files(MemoryFileSystem())
    with_devices.copy_in(__file__, "/deep/down/here.py")
    assert with_devices.read_bytes("/deep/down/here.py") == Path(__file__).read_bytes()


def test_mounts_of_host_directories(tmp_path: Path) -> None:
    """Mount gives a read-only, a writable or a covered view of a directory."""
    (tmp_path / "f").write_text("host")
    views = {}
    for mode in ("ro", "rw", "overlay"):
        mount = Mount(tmp_path, "/in", mode)
        views[mode] = Files(mount.filesystem())
        assert views[mode].read_text("/f") == "host"
    fails(errno.EROFS, views["ro"].write_text, "/f", "x")
    views["overlay"].write_text("/f", "guest")
    assert (tmp_path / "f").read_text() == "host"
    views["rw"].write_text("/f", "changed")
    assert (tmp_path / "f").read_text() == "changed"
    assert views["overlay"].read_text("/f") == "guest"
    tree = Files(standard_layout(mounts=[Mount(tmp_path, "/a/in"), Mount(tmp_path, "/o", "overlay")]))
    assert tree.read_text("/a/in/f") == "changed"
    tree.write_text("/o/f", "over")
    assert tree.read_text("/a/in/f") == "changed"
    fork = Files(tree.filesystem.fork())
    assert fork.read_text("/o/f") == "over"
    for guest_path in ("in", "/", "/a/../b", ""):
        with pytest.raises(ValueError, match="guest_path"):
            Mount(tmp_path, guest_path)
    with pytest.raises(ValueError, match="mode"):
        Mount(tmp_path, "/in", "wr")  # type: ignore[arg-type]


# -- archives --------------------------------------------------------------------------------------


@pytest.mark.parametrize("compression", ["", "gz", "bz2", "xz"])
def test_tar_round_trip(files: VfsStorage, compression: str) -> None:
    """A tree survives a tar archive, with links, hard links, odd names, modes and times."""
    files.filesystem.link(b"/site/index.html", b"/site/hard")
    files.filesystem.utime(b"/site/hard", 0, 1_234_567_890_123_456_789)
    handle = files.filesystem.open(b"/site/\xff" + b"x" * 200, OpenFlags.WRITE | OpenFlags.CREATE)
    handle.close()
    packed = io.BytesIO()
    files.export_tar("/", packed, compression=compression)
    packed.seek(0)
    other = VfsStorage()
    other.import_tar(packed, "/")
    assert files.diff(other) == ([], [], [])
    assert other.stat("/site/hard").links == 2
    assert other.stat("/site/hard").mtime == 1_234_567_890_123_456_789


def test_zip_round_trip(files: VfsStorage, tmp_path: Path) -> None:
    """A tree survives a zip archive, and one that Python made comes in."""
    files.export_zip("/site", tmp_path / "site.zip")
    other = VfsStorage()
    other.import_zip(tmp_path / "site.zip", "/site")
    assert files.diff(other) == ([], [], [])
    with zipfile.ZipFile(tmp_path / "site.zip") as archive:
        assert archive.read("index.html") == b"<html>"
    with zipfile.ZipFile(tmp_path / "plain.zip", "w") as archive:
        archive.writestr("a/b.txt", "plain")
    other.import_zip(tmp_path / "plain.zip", "/new/place")
    assert other.read_text("/new/place/a/b.txt") == "plain"


def _tar(*members: tuple[str, bytes, str]) -> io.BytesIO:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, kind, value in members:
            member = tarfile.TarInfo(name)
            member.type = kind
            if kind == tarfile.REGTYPE:
                member.size = len(value)
                archive.addfile(member, io.BytesIO(value.encode()))
            else:
                member.linkname = value
                archive.addfile(member)
    packed.seek(0)
    return packed


@pytest.mark.parametrize(
    "members",
    [
        [("/abs", tarfile.REGTYPE, "x")],
        [("../up", tarfile.REGTYPE, "x")],
        [("a/../../up", tarfile.REGTYPE, "x")],
        [("a/..", tarfile.DIRTYPE, "")],
        [("link", tarfile.SYMTYPE, ".."), ("link/x", tarfile.REGTYPE, "x")],
        [("link", tarfile.SYMTYPE, "/"), ("link/x/y", tarfile.REGTYPE, "x")],
        [("link", tarfile.SYMTYPE, "/outside"), ("link", tarfile.DIRTYPE, "")],
        [("hard", tarfile.LNKTYPE, "../outside")],
        [("hard", tarfile.LNKTYPE, "/outside")],
        [("link", tarfile.SYMTYPE, "/"), ("hard", tarfile.LNKTYPE, "link/outside")],
        [("device", tarfile.CHRTYPE, "")],
        [("fifo", tarfile.FIFOTYPE, "")],
        [("f", tarfile.REGTYPE, "x"), ("f/g", tarfile.REGTYPE, "x")],
        [(".", tarfile.REGTYPE, "x")],
    ],
)
def test_archives_that_want_out(members: list[tuple[str, bytes, str]]) -> None:
    """Whatever an archive tries, nothing is made or changed outside of where it is unpacked."""
    files = VfsStorage()
    files.write_text("/outside", "untouched")
    fails(errno.EINVAL, files.import_tar, _tar(*members), "/in")
    assert files.listdir("/") == ["in", "outside"]
    assert files.read_text("/outside") == "untouched"


def test_a_file_replaces_a_link() -> None:
    """A member with the name of a link replaces it and does not write where it leads."""
    files = VfsStorage()
    files.write_text("/outside", "untouched")
    packed = _tar(("l", tarfile.SYMTYPE, "/outside"), ("l", tarfile.REGTYPE, "new"))
    files.import_tar(packed, "/in")
    assert files.read_text("/in/l") == "new"
    assert files.read_text("/outside") == "untouched"


@pytest.mark.parametrize("name", ["../up", "/abs", "a/../../b", "link/x"])
def test_zip_archives_that_want_out(name: str) -> None:
    """The same holds for zip archives."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        link = zipfile.ZipInfo("link")
        link.create_system, link.external_attr = 3, 0o120777 << 16
        archive.writestr(link, "/")
        archive.writestr(name, "x")
    files = VfsStorage()
    fails(errno.EINVAL, files.import_zip, packed, "/in")
    assert files.listdir("/") == ["in"]


def test_archives_that_explode() -> None:
    """Contents are counted as they come out: limits and quotas hold whatever the archive says."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("big", b"x" * 5_000_000)
        for number in range(20):
            archive.writestr(f"{number}", b"")
    fails(errno.EFBIG, VfsStorage().import_zip, packed, "/", max_bytes=1_000_000)
    fails(errno.EDQUOT, VfsStorage().import_zip, packed, "/", max_nodes=10)
    fails(errno.ENOSPC, VfsStorage(quota=Quota(bytes=1_000_000)).import_zip, packed, "/")
    bomb = io.BytesIO()
    with tarfile.open(fileobj=bomb, mode="w:gz") as tar:
        member = tarfile.TarInfo("x")
        member.pax_headers = {"comment": "x" * 20_000_000}
        tar.addfile(member)
    bomb.seek(0)
    fails(errno.EINVAL, VfsStorage().import_tar, bomb, "/")


def _damaged() -> tuple[bytes, bytes]:
    storage = VfsStorage(clock=lambda: 10**18)
    storage.mkdir("/d")
    storage.write_bytes("/d/f", b"contents" * 100)
    storage.symlink("d/f", "/l")
    tar, packed = io.BytesIO(), io.BytesIO()
    storage.export_tar("/", tar, compression="")
    storage.export_zip("/", packed)
    return tar.getvalue(), packed.getvalue()


@given(
    which=st.integers(0, 1),
    edits=st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), max_size=6),
    cut=st.integers(0, 10_000),
)
@settings(max_examples=examples(300), deadline=None)
def test_damaged_archives(which: int, edits: list[tuple[int, int]], cut: int) -> None:
    """A damaged archive is unpacked or refused with FileSystemError; it never escapes or crashes."""
    data = bytearray(_ARCHIVES[which])
    for position, value in edits:
        data[position % len(data)] = value
    if cut < len(data):
        del data[cut:]
    storage = VfsStorage(quota=Quota(bytes=1 << 20))
    storage.write_text("/outside", "untouched")
    unpack: Any = storage.import_zip if which else storage.import_tar
    try:
        unpack(io.BytesIO(bytes(data)), "/in", max_bytes=1 << 20)
    except FileSystemError:
        pass
    assert storage.listdir("/") == ["in", "outside"]
    assert storage.read_text("/outside") == "untouched"


_ARCHIVES = _damaged()


# -- fsspec ----------------------------------------------------------------------------------------


def test_fsspec(files: VfsStorage) -> None:
    """Whatever speaks fsspec can read and write the files of a storage."""
    fsspec = pytest.importorskip("fsspec")
    adapter = files.fsspec()
    assert adapter.ls("/site", detail=False) == [
        "/site/.hidden",
        "/site/css",
        "/site/index.html",
        "/site/style.css",
    ]
    assert adapter.info("/site/css")["type"] == "directory"
    assert adapter.cat("/site/index.html") == b"<html>"
    assert adapter.find("/site/css") == ["/site/css/a.css"]
    adapter.pipe("/made", b"by fsspec")
    assert files.read_bytes("/made") == b"by fsspec"
    adapter.mv("/made", "/moved")
    adapter.rm("/site", recursive=True)
    assert files.listdir("/") == ["moved"]
    with fsspec.open("planaria:///moved", "r", files=files) as file:
        assert file.read() == "by fsspec"
    with pytest.raises(FileNotFoundError):
        adapter.cat("/none")


def test_pandas_reads_files_of_a_storage() -> None:
    """pandas reads and writes CSV in a storage by URL."""
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("fsspec")
    files = VfsStorage()
    files.write_text("/sales.csv", "a,b\n1,2\n")
    files.fsspec()
    frame = pandas.read_csv("planaria:///sales.csv", storage_options={"files": files})
    assert frame.to_dict("list") == {"a": [1], "b": [2]}
    frame.to_csv("planaria:///copy.csv", index=False, storage_options={"files": files})
    assert files.read_text("/copy.csv") == "a,b\n1,2\n"


def test_a_storage_in_a_tree() -> None:
    """What one tree writes to a mounted storage, its owner and other trees read at once."""
    storage = VfsStorage()
    trees = []
    for _ in range(2):
        tree = MountFileSystem(MemoryFileSystem())
        tree.mkdir(b"/data")
        tree.mount(b"/data", storage.filesystem, shared=True)
        trees.append(tree)
    Files(trees[0]).write_text("/data/test.txt", "hello")
    assert storage.read_text("/test.txt") == "hello"
    assert read(trees[1], b"/data/test.txt") == b"hello"
