"""What POSIX says of paths, links and attributes, and filesystems as values, for every one alike."""

from __future__ import annotations

import errno
from collections.abc import Callable

import pytest
from filesystem_kinds import fails, names, read, write

from planaria.files import FileKind, FileSystem, OpenFlags

R, W = OpenFlags.READ, OpenFlags.WRITE
NEW = OpenFlags.WRITE | OpenFlags.CREATE


# -- paths -----------------------------------------------------------------------------------------


def test_paths_are_resolved(filesystem: FileSystem) -> None:
    """Doubled slashes, `.` and `..` are resolved, and `..` at the root is the root."""
    filesystem.mkdir(b"/d")
    write(filesystem, b"/d/f", b"x")
    for path in (b"//d//f", b"/d/./f", b"/d/../d/f", b"/../../d/f", b"/./d/f", b"d/f"):
        assert read(filesystem, path) == b"x"
    fails(errno.ENOENT, filesystem.stat, b"")
    fails(errno.ENOENT, filesystem.stat, b"/missing/..")
    fails(errno.ENOENT, filesystem.stat, b"/missing/x")
    fails(errno.EINVAL, filesystem.stat, b"/a\0b")
    fails(errno.ENAMETOOLONG, filesystem.stat, b"/" + b"x" * 256)
    fails(errno.ENAMETOOLONG, filesystem.mkdir, b"/" + b"x" * 256)
    fails(errno.ENAMETOOLONG, filesystem.stat, b"/x" * 3000)


def test_symbolic_links_are_followed(filesystem: FileSystem) -> None:
    """Links lead to their targets, relative ones from where they are, absolute ones from the root."""
    filesystem.mkdir(b"/d")
    write(filesystem, b"/d/f", b"x")
    filesystem.symlink(b"d/f", b"/relative")
    filesystem.symlink(b"/d", b"/absolute")
    filesystem.symlink(b"../relative", b"/d/up")
    filesystem.symlink(b"../../../../d", b"/d/out")
    assert read(filesystem, b"/relative") == b"x"
    assert read(filesystem, b"/absolute/f") == b"x"
    assert read(filesystem, b"/absolute/up") == b"x"
    assert read(filesystem, b"/d/out/f") == b"x"
    assert filesystem.readlink(b"/absolute") == b"/d"
    assert filesystem.stat(b"/relative", follow=False).kind is FileKind.SYMBOLIC_LINK
    assert filesystem.stat(b"/relative", follow=False).size == 3
    assert filesystem.stat(b"/absolute/", follow=False).kind is FileKind.DIRECTORY
    fails(errno.EINVAL, filesystem.readlink, b"/d")
    fails(errno.ENOENT, filesystem.readlink, b"/none")
    fails(errno.ELOOP, filesystem.open, b"/relative", R | OpenFlags.NO_FOLLOW)
    fails(errno.ENOTDIR, filesystem.stat, b"/relative/")
    fails(errno.EEXIST, filesystem.symlink, b"x", b"/relative")
    fails(errno.ENOENT, filesystem.symlink, b"", b"/empty")


def test_links_that_loop(filesystem: FileSystem) -> None:
    """A chain of links that is too long or never ends is ELOOP."""
    filesystem.symlink(b"b", b"/a")
    filesystem.symlink(b"a", b"/b")
    filesystem.symlink(b"self/x", b"/self")
    fails(errno.ELOOP, filesystem.stat, b"/a")
    fails(errno.ELOOP, filesystem.stat, b"/self")
    filesystem.unlink(b"/a")
    assert names(filesystem) == [b"b", b"self"]


def test_removing_a_link_keeps_its_target(filesystem: FileSystem) -> None:
    """unlink and rename act on the link itself."""
    write(filesystem, b"/f", b"x")
    filesystem.symlink(b"f", b"/l")
    filesystem.rename(b"/l", b"/m")
    assert filesystem.readlink(b"/m") == b"f"
    filesystem.unlink(b"/m")
    assert names(filesystem) == [b"f"]


# -- renames and hard links ------------------------------------------------------------------------


def test_rename_replaces(filesystem: FileSystem) -> None:
    """A file takes the place of a file, a directory that of an empty directory."""
    write(filesystem, b"/a", b"a")
    write(filesystem, b"/b", b"b")
    old = filesystem.open(b"/b", R)
    filesystem.rename(b"/a", b"/b")
    assert names(filesystem) == [b"b"]
    assert read(filesystem, b"/b") == b"a"
    assert old.read(1, 0) == b"b"
    old.close()
    filesystem.mkdir(b"/d")
    filesystem.mkdir(b"/e")
    write(filesystem, b"/d/f", b"f")
    filesystem.rename(b"/d", b"/e")
    assert names(filesystem, b"/e") == [b"f"]
    filesystem.rename(b"/e/", b"/g/")
    assert names(filesystem) == [b"b", b"g"]


def test_rename_is_refused(filesystem: FileSystem) -> None:
    """What cannot be renamed is reported by the right errno, and nothing has changed."""
    write(filesystem, b"/f", b"f")
    filesystem.mkdir(b"/d")
    filesystem.mkdir(b"/d/e")
    filesystem.mkdir(b"/g")
    fails(errno.ENOENT, filesystem.rename, b"/none", b"/x")
    fails(errno.ENOENT, filesystem.rename, b"/f", b"/none/x")
    fails(errno.EISDIR, filesystem.rename, b"/f", b"/d")
    fails(errno.ENOTDIR, filesystem.rename, b"/d", b"/f")
    fails(errno.ENOTDIR, filesystem.rename, b"/f", b"/new/")
    fails(errno.ENOTEMPTY, filesystem.rename, b"/g", b"/d")
    fails(errno.EINVAL, filesystem.rename, b"/d", b"/d/x")
    fails(errno.EINVAL, filesystem.rename, b"/d", b"/d/e/x")
    fails(errno.EBUSY, filesystem.rename, b"/", b"/x")
    fails(errno.EBUSY, filesystem.rename, b"/d/.", b"/x")
    filesystem.rename(b"/f", b"/f")
    assert names(filesystem) == [b"d", b"f", b"g"]


def test_renaming_directories_moves_what_is_in_them(filesystem: FileSystem) -> None:
    """A tree is moved as a whole, and `..` in it leads to its new place."""
    filesystem.mkdir(b"/a")
    filesystem.mkdir(b"/a/b")
    filesystem.mkdir(b"/c")
    write(filesystem, b"/a/b/f", b"x")
    write(filesystem, b"/c/here", b"")
    filesystem.rename(b"/a/b", b"/c/b")
    assert read(filesystem, b"/c/b/f") == b"x"
    assert filesystem.stat(b"/c/b/../here").size == 0
    assert names(filesystem, b"/a") == []
    assert filesystem.stat(b"/a").links == 2
    filesystem.mkdir(b"/a/b")
    assert names(filesystem, b"/a/b") == []


def test_hard_links_are_one_file(filesystem: FileSystem) -> None:
    """Names of one file share contents and inode; the file goes with the last one."""
    write(filesystem, b"/a", b"x")
    filesystem.mkdir(b"/d")
    filesystem.link(b"/a", b"/d/b")
    assert filesystem.stat(b"/a").inode == filesystem.stat(b"/d/b").inode
    assert filesystem.stat(b"/a").links == 2
    write(filesystem, b"/d/b", b"changed")
    assert read(filesystem, b"/a") == b"changed"
    filesystem.rename(b"/a", b"/d/b")  # two names of one file: nothing happens
    assert names(filesystem) == [b"a", b"d"]
    filesystem.unlink(b"/a")
    assert read(filesystem, b"/d/b") == b"changed"
    assert filesystem.stat(b"/d/b").links == 1
    fails(errno.EPERM, filesystem.link, b"/d", b"/e")
    fails(errno.EEXIST, filesystem.link, b"/d/b", b"/d")
    fails(errno.ENOENT, filesystem.link, b"/none", b"/e")


def test_linking_a_link(filesystem: FileSystem) -> None:
    """`link` takes the symbolic link itself unless asked to follow it."""
    write(filesystem, b"/f", b"x")
    filesystem.symlink(b"f", b"/l")
    filesystem.link(b"/l", b"/m")
    filesystem.link(b"/l", b"/n", follow=True)
    assert filesystem.readlink(b"/m") == b"f"
    assert filesystem.stat(b"/n", follow=False).kind is FileKind.REGULAR


# -- attributes ------------------------------------------------------------------------------------


def test_times_in_nanoseconds(filesystem: FileSystem) -> None:
    """Times are kept to the nanosecond; None leaves one as it is."""
    write(filesystem, b"/f", b"x")
    filesystem.utime(b"/f", 1_000_000_001, 2_000_000_002)
    filesystem.utime(b"/f", None, 3_000_000_003)
    info = filesystem.stat(b"/f")
    assert (info.atime, info.mtime) == (1_000_000_001, 3_000_000_003)
    handle = filesystem.open(b"/f", W)
    handle.utime(4, None)
    assert filesystem.stat(b"/f").atime == 4
    handle.write(b"y", 0)
    assert filesystem.stat(b"/f").mtime > 3_000_000_003
    handle.close()
    filesystem.symlink(b"f", b"/l")
    filesystem.utime(b"/l", 5, 6, follow=False)
    assert filesystem.stat(b"/l", follow=False).mtime == 6
    assert filesystem.stat(b"/f").mtime != 6


def test_changing_a_directory_moves_its_time(filesystem: FileSystem) -> None:
    """A directory is modified when names in it come or go."""
    filesystem.mkdir(b"/d")
    changes: list[Callable[[], object]] = [
        lambda: write(filesystem, b"/d/f", b""),
        lambda: filesystem.rename(b"/d/f", b"/d/g"),
        lambda: filesystem.mkdir(b"/d/e"),
        lambda: filesystem.unlink(b"/d/g"),
        lambda: filesystem.rmdir(b"/d/e"),
    ]
    for change in changes:
        filesystem.utime(b"/d", 1, 1)
        change()
        assert filesystem.stat(b"/d").mtime > 1


def test_modes_are_kept(filesystem: FileSystem) -> None:
    """Permission bits are what chmod set; the type does not change."""
    write(filesystem, b"/f", b"x")
    filesystem.chmod(b"/f", 0o640)
    assert filesystem.stat(b"/f").mode == 0o100640
    handle = filesystem.open(b"/f", R)
    handle.chmod(0o755)
    assert handle.stat().mode == 0o100755
    handle.close()
    filesystem.mkdir(b"/d")
    filesystem.chmod(b"/d", 0o711)
    assert filesystem.stat(b"/d").mode == 0o040711
    filesystem.symlink(b"f", b"/l")
    filesystem.chmod(b"/l", 0o600)
    assert filesystem.stat(b"/f").mode == 0o100600
    fails(errno.ENOTSUP, filesystem.chmod, b"/l", 0o600, follow=False)


def test_many_files_in_one_directory(filesystem: FileSystem) -> None:
    """A directory takes thousands of names and gives them all back."""
    filesystem.mkdir(b"/many")
    for number in range(2000):
        filesystem.open(b"/many/%04d" % number, NEW).close()
    assert names(filesystem, b"/many") == [b"%04d" % number for number in range(2000)]
    for number in range(2000):
        filesystem.unlink(b"/many/%04d" % number)
    filesystem.rmdir(b"/many")


# -- as a value ------------------------------------------------------------------------------------


def test_a_fork_is_independent(filesystem: FileSystem, request: pytest.FixtureRequest) -> None:
    """Changes of a fork and of its origin do not meet, except in a directory of the host."""
    if request.node.callspec.params["filesystem"] == "host":
        assert filesystem.fork() is filesystem
        return
    write(filesystem, b"/f", b"x" * 100_000)
    fork = filesystem.fork()
    write(filesystem, b"/f", b"parent")
    handle = fork.open(b"/f", W)
    handle.write(b"child", 70_000)
    handle.close()
    fork.mkdir(b"/d")
    assert read(filesystem, b"/f") == b"parent"
    assert read(fork, b"/f") == b"x" * 70_000 + b"child" + b"x" * 29_995
    assert names(filesystem) == [b"f"]


def test_restore_goes_back(filesystem: FileSystem, request: pytest.FixtureRequest) -> None:
    """restore brings the whole state back, as often as one likes; old handles are stale."""
    if request.node.callspec.params["filesystem"] == "host":
        filesystem.restore(filesystem.snapshot())
        return
    filesystem.mkdir(b"/d")
    write(filesystem, b"/d/f", b"one")
    before = filesystem.stat(b"/d/f")
    snapshot = filesystem.snapshot()
    for _ in range(2):
        write(filesystem, b"/d/f", b"two")
        filesystem.rename(b"/d", b"/e")
        handle = filesystem.open(b"/e/f", R)
        filesystem.restore(snapshot)
        assert names(filesystem) == [b"d"]
        assert read(filesystem, b"/d/f") == b"one"
        assert filesystem.stat(b"/d/f") == before
        fails(errno.ESTALE, handle.read, 1, 0)
        fails(errno.ESTALE, handle.stat)
        handle.close()
    assert read(snapshot.open(), b"/d/f") == b"one"
    assert filesystem.snapshot().manifest() == snapshot.manifest()


def test_manifests_restore(filesystem: FileSystem) -> None:
    """A snapshot survives being written down and read back."""
    filesystem.mkdir(b"/d")
    write(filesystem, b"/d/f", bytes(range(256)) * 1000)
    write(filesystem, b"/\xff", b"")
    filesystem.symlink(b"d/f", b"/l")
    snapshot = filesystem.snapshot()
    again = filesystem.read_manifest(snapshot.manifest(), snapshot.chunks())
    assert again.manifest() == snapshot.manifest()
    write(filesystem, b"/d/f", b"changed")
    filesystem.restore(again)
    assert len(read(filesystem, b"/l")) in (256_000, len(b"changed"))


def test_diff_reports_what_changed(filesystem: FileSystem, request: pytest.FixtureRequest) -> None:
    """diff names what was added, removed and changed since a snapshot."""
    if request.node.callspec.params["filesystem"] == "host":
        pytest.skip("contents of the host are not captured")
    filesystem.mkdir(b"/d")
    for name in (b"/same", b"/gone", b"/other", b"/d/f"):
        write(filesystem, name, b"x")
    before = filesystem.snapshot()
    assert before.diff(filesystem) == ([], [], [])
    filesystem.unlink(b"/gone")
    write(filesystem, b"/other", b"y")
    write(filesystem, b"/same", b"x")
    filesystem.rename(b"/d", b"/e")
    filesystem.symlink(b"x", b"/new")
    assert before.diff(filesystem) == ([b"/e", b"/e/f", b"/new"], [b"/d", b"/d/f", b"/gone"], [b"/other"])


def test_files_are_opened_by_identity(filesystem: FileSystem, request: pytest.FixtureRequest) -> None:
    """A fork opens the files that its origin had open, also those without a name, by inode."""
    if request.node.callspec.params["filesystem"] == "host":
        info = filesystem.stat(b"/")
        fails(errno.ESTALE, filesystem.open_node, info.device, info.inode, R)
        return
    write(filesystem, b"/f", b"named")
    write(filesystem, b"/g", b"nameless")
    named, nameless = filesystem.open(b"/f", R), filesystem.open(b"/g", R)
    filesystem.unlink(b"/g")
    fork = filesystem.fork()
    for handle, text in ((named, b"named"), (nameless, b"nameless")):
        info = handle.stat()
        again = fork.open_node(info.device, info.inode, R)
        assert again.read(10, 0) == text
        assert again.path() == handle.path()
    used = fork.usage().nodes_used
    fork.discard_orphans()
    assert fork.usage().nodes_used == used
    again.close()
    assert fork.usage().nodes_used == used - 1
    fails(errno.ESTALE, fork.open_node, 1, 999_999, R)
