"""Directories of the host cannot be left, and read only means it."""

from __future__ import annotations

import errno
import gc
import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from filesystem_kinds import names, read, write

from planaria.files import FileKind, HostFileSystem, MemoryFileSystem, MountFileSystem, OpenFlags

R, W = OpenFlags.READ, OpenFlags.WRITE
NEW = OpenFlags.WRITE | OpenFlags.CREATE


@pytest.fixture
def jail(tmp_path: Path) -> Path:
    """A directory with a secret beside it."""
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "key").write_text("key")
    inside = tmp_path / "jail"
    inside.mkdir()
    (inside / "f").write_text("inside")
    return inside


@pytest.mark.parametrize("target", ["../secret", "/etc/passwd", "../secrets/key", "x/../../secret"])
@pytest.mark.parametrize("read_only", [True, False])
def test_links_of_the_host_stay_inside(jail: Path, target: str, read_only: bool) -> None:
    """A link on the host that leads out of the directory leads to nothing."""
    (jail / "x").mkdir()
    (jail / "link").symlink_to(target)
    filesystem = HostFileSystem(jail, read_only=read_only)
    for path in (b"/link", b"/x/../link", b"/link/"):
        with pytest.raises(FileNotFoundError):
            filesystem.open(path, R)
    assert filesystem.readlink(b"/link") == target.encode()


def test_links_to_directories_stay_inside(jail: Path) -> None:
    """A directory outside cannot be entered through a link, whatever way the path takes."""
    (jail / "up").symlink_to("..")
    (jail / "root").symlink_to("/")
    (jail / "out").symlink_to(jail.parent / "secrets")
    filesystem = HostFileSystem(jail)
    assert filesystem.stat(b"/up").inode == filesystem.stat(b"/").inode
    assert names(filesystem, b"/root/root/up") == names(filesystem)
    for path in (b"/up/secret", b"/out/key", b"/root/etc/passwd", b"/../secret", b"/up/../../secret"):
        with pytest.raises(FileNotFoundError):
            filesystem.stat(path)


def test_absolute_links_start_at_the_root_of_the_directory(jail: Path) -> None:
    """An absolute link of the host is resolved inside."""
    (jail / "link").symlink_to("/f")
    assert read(HostFileSystem(jail), b"/link") == b"inside"


def test_a_guest_cannot_make_a_way_out(jail: Path) -> None:
    """Links made through the filesystem do not lead out either, and hard links stay inside."""
    filesystem = HostFileSystem(jail, read_only=False, escaping_links=True)
    filesystem.symlink(b"../secret", b"/l")
    filesystem.symlink(b"/etc", b"/outside")
    for path in (b"/l", b"/outside/passwd"):
        with pytest.raises(FileNotFoundError):
            filesystem.open(path, R)
    with pytest.raises(FileNotFoundError):
        filesystem.link(b"/../secret", b"/hard")
    with pytest.raises(FileNotFoundError):
        filesystem.rename(b"/f", b"/outside/f")
    filesystem.open(b"/l", NEW).close()
    assert (jail.parent / "secret").read_text() == "secret"
    assert (jail / "secret").exists()


def test_a_race_does_not_lead_out(jail: Path) -> None:
    """A directory that is swapped with a link all the time never shows what is outside."""
    (jail / "d").mkdir()
    (jail / "d" / "key").write_text("inside")
    (jail / "evil").symlink_to("../secrets")
    filesystem = HostFileSystem(jail)
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            os.rename(jail / "d", jail / "kept")
            os.rename(jail / "evil", jail / "d")
            os.rename(jail / "d", jail / "evil")
            os.rename(jail / "kept", jail / "d")

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        for _ in range(2000):
            try:
                assert read(filesystem, b"/d/key") == b"inside"
            except OSError as error:
                if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
                    raise
    finally:
        stop.set()
        swapper.join()


def test_special_files_cannot_be_opened(jail: Path) -> None:
    """FIFOs and sockets are seen and not opened, so nothing blocks."""
    os.mkfifo(jail / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        os.chdir(jail)
        listener.bind("socket")
        filesystem = HostFileSystem(jail, read_only=False)
        kinds = {entry.name: entry.kind for entry in filesystem.scandir(b"/")}
        assert kinds == {b"f": FileKind.REGULAR, b"fifo": FileKind.FIFO, b"socket": FileKind.SOCKET}
        for name in (b"/fifo", b"/socket"):
            assert filesystem.stat(name).kind is kinds[name[1:]]
            for flags in (R, W, R | W, NEW):
                with pytest.raises(PermissionError):
                    filesystem.open(name, flags)


def test_read_only_means_it(jail: Path) -> None:
    """Nothing can be changed through a read-only directory, not even times."""
    (jail / "d").mkdir()
    before = sorted((path.name, path.lstat()) for path in jail.iterdir())
    filesystem = HostFileSystem(jail)
    handle = filesystem.open(b"/f", R)
    directory = filesystem.open(b"/d", R)
    attempts: list[Callable[[], object]] = [
        lambda: filesystem.open(b"/f", W),
        lambda: filesystem.open(b"/f", R | OpenFlags.TRUNCATE),
        lambda: filesystem.open(b"/new", NEW),
        lambda: filesystem.mkdir(b"/new"),
        lambda: filesystem.rmdir(b"/d"),
        lambda: filesystem.unlink(b"/f"),
        lambda: filesystem.rename(b"/f", b"/g"),
        lambda: filesystem.link(b"/f", b"/g"),
        lambda: filesystem.symlink(b"f", b"/g"),
        lambda: filesystem.utime(b"/f", 1, 1),
        lambda: filesystem.chmod(b"/f", 0),
        lambda: handle.utime(1, 1),
        lambda: handle.chmod(0),
        lambda: directory.utime(1, 1),
        lambda: directory.chmod(0),
    ]
    mounted = MountFileSystem(MemoryFileSystem())
    mounted.mkdir(b"/m")
    mounted.mount(b"/m", filesystem)
    attempts += [lambda: mounted.unlink(b"/m/f"), lambda: mounted.open(b"/m/f", W)]
    for attempt in attempts:
        with pytest.raises(OSError) as caught:  # noqa: PT011
            attempt()
        assert caught.value.errno == errno.EROFS
    handle.close()
    directory.close()
    assert sorted((path.name, path.lstat()) for path in jail.iterdir()) == before


def test_no_special_bits_on_the_host(jail: Path) -> None:
    """A guest cannot make set-user-ID programs on the host."""
    filesystem = HostFileSystem(jail, read_only=False)
    filesystem.chmod(b"/f", 0o6755)
    filesystem.open(b"/g", NEW, 0o4755).close()
    filesystem.mkdir(b"/d", 0o2755)
    for name in ("f", "g", "d"):
        assert (jail / name).stat().st_mode & 0o7000 == 0


def test_descriptors_are_limited_and_given_back(jail: Path) -> None:
    """Open files of the host are limited, deep paths take no descriptors, and closing gives them back."""
    filesystem = HostFileSystem(jail, read_only=False, handles=3)
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    handles = [filesystem.open(b"/f", R) for _ in range(3)]
    with pytest.raises(OSError, match="Too many") as caught:
        filesystem.open(b"/f", R)
    assert caught.value.errno == errno.EMFILE
    for handle in handles:
        handle.close()
    path = b""
    for _ in range(100):
        path += b"/d"
        filesystem.mkdir(path)
    write(filesystem, path + b"/f", b"deep")
    handle = filesystem.open(path + b"/f", R)
    assert len(os.listdir("/proc/self/fd")) <= before + 3
    assert handle.read(10, 0) == b"deep"
    handle.close()
    del handle
    assert filesystem.stat(path + b"/" + b"../" * 100 + b"f").size == 6
    assert len(os.listdir("/proc/self/fd")) == before
