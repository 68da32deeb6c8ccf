"""What POSIX says of files, for every filesystem alike."""

from __future__ import annotations

import errno
from collections.abc import Callable

import pytest
from filesystem_kinds import fails, names, read, write

from planaria.files import FileKind, FileSystem, OpenFlags

R, W = OpenFlags.READ, OpenFlags.WRITE
NEW = OpenFlags.WRITE | OpenFlags.CREATE


# -- files -----------------------------------------------------------------------------------------


def test_what_is_written_is_read(filesystem: FileSystem) -> None:
    """A file gives back what was written to it, from any offset."""
    write(filesystem, b"/f", b"hello world")
    assert read(filesystem, b"/f") == b"hello world"
    handle = filesystem.open(b"/f", R)
    assert handle.read(5, 6) == b"world"
    assert handle.read(100, 11) == b""
    assert handle.read(100, 1000) == b""
    buffer = bytearray(8)
    assert handle.read_into(memoryview(buffer), 6) == 5
    assert buffer == b"world\0\0\0"
    handle.close()


def test_overwriting_keeps_the_rest(filesystem: FileSystem) -> None:
    """Writing in the middle changes only those bytes."""
    write(filesystem, b"/f", b"aaaaaaaaaa")
    handle = filesystem.open(b"/f", W)
    assert handle.write(b"bb", 4) == 2
    assert handle.stat().size == 10
    handle.close()
    assert read(filesystem, b"/f") == b"aaaabbaaaa"


@pytest.mark.parametrize("offset", [0, 1, 65535, 65536, 65537, 131071, 200000])
@pytest.mark.parametrize("size", [1, 2, 65536, 65537, 150000])
def test_writes_across_chunks(filesystem: FileSystem, offset: int, size: int) -> None:
    """Where a write falls within the storage makes no difference."""
    data = bytes(range(251)) * (size // 251 + 1)
    data = data[:size]
    model = bytearray(b"x" * 100_000)
    write(filesystem, b"/f", bytes(model))
    handle = filesystem.open(b"/f", R | W)
    handle.write(data, offset)
    if offset > len(model):
        model += bytes(offset - len(model))
    model[offset : offset + size] = data
    assert handle.read(1 << 20, 0) == model
    assert handle.stat().size == len(model)
    handle.close()


def test_holes_read_as_zeros(filesystem: FileSystem) -> None:
    """Writing beyond the end leaves a hole that reads as zeros."""
    handle = filesystem.open(b"/f", NEW | R)
    handle.write(b"end", 300_000)
    assert handle.stat().size == 300_003
    assert handle.read(300_000, 0) == bytes(300_000)
    assert handle.read(10, 299_998) == b"\0\0end"
    handle.close()


def test_truncate_shortens_and_lengthens(filesystem: FileSystem) -> None:
    """Bytes that were cut off do not come back when the file grows again."""
    write(filesystem, b"/f", b"x" * 100_000)
    handle = filesystem.open(b"/f", R | W)
    handle.truncate(70_000)
    handle.truncate(3)
    handle.truncate(90_000)
    assert handle.read(100_000, 0) == b"xxx" + bytes(89_997)
    fails(errno.EINVAL, handle.truncate, -1)
    handle.close()


def test_open_truncates(filesystem: FileSystem) -> None:
    """TRUNCATE empties an existing file."""
    write(filesystem, b"/f", b"old")
    filesystem.open(b"/f", W | OpenFlags.TRUNCATE).close()
    assert read(filesystem, b"/f") == b""


def test_append_goes_to_the_end(filesystem: FileSystem) -> None:
    """Two handles that append never write over each other."""
    flags = NEW | OpenFlags.APPEND
    first, second = filesystem.open(b"/f", flags), filesystem.open(b"/f", flags)
    assert first.append(b"one ") == 4
    assert second.append(b"two ") == 8
    assert first.append(b"three") == 13
    first.close()
    second.close()
    assert read(filesystem, b"/f") == b"one two three"


def test_exclusive_creation(filesystem: FileSystem) -> None:
    """EXCLUSIVE makes a file or fails, also when a link is there that leads nowhere."""
    filesystem.open(b"/f", NEW | OpenFlags.EXCLUSIVE).close()
    fails(errno.EEXIST, filesystem.open, b"/f", NEW | OpenFlags.EXCLUSIVE)
    filesystem.symlink(b"nowhere", b"/l")
    fails(errno.EEXIST, filesystem.open, b"/l", NEW | OpenFlags.EXCLUSIVE)
    filesystem.open(b"/l", NEW).close()
    assert filesystem.stat(b"/nowhere").kind is FileKind.REGULAR


def test_flags_of_a_handle_are_kept(filesystem: FileSystem) -> None:
    """A handle does only what it was opened for, and nothing when closed; closing twice is harmless."""
    write(filesystem, b"/f", b"x")
    reader, writer = filesystem.open(b"/f", R), filesystem.open(b"/f", W)
    fails(errno.EBADF, reader.write, b"y", 0)
    fails(errno.EBADF, reader.append, b"y")
    fails(errno.EBADF, writer.read, 1, 0)
    reader.close()
    reader.close()
    fails(errno.EBADF, reader.read, 1, 0)
    fails(errno.EBADF, reader.stat)
    writer.close()
    fails(errno.EBADF, writer.write, b"y", 0)


def test_unlinked_while_open(filesystem: FileSystem) -> None:
    """A file lives as long as it is open, without a name."""
    write(filesystem, b"/f", b"before")
    handle = filesystem.open(b"/f", R | W)
    assert handle.path() == b"/f"
    filesystem.unlink(b"/f")
    fails(errno.ENOENT, filesystem.stat, b"/f")
    handle.write(b"after!", 0)
    assert handle.read(10, 0) == b"after!"
    assert handle.path() is None
    assert handle.stat().links == 0
    write(filesystem, b"/f", b"another")
    assert handle.read(10, 0) == b"after!"
    handle.close()


def test_handles_of_one_file_agree(filesystem: FileSystem) -> None:
    """What one handle writes, another reads, even if it was opened before."""
    write(filesystem, b"/f", b"first")
    reader = filesystem.open(b"/f", R)
    writer = filesystem.open(b"/f", W)
    writer.write(b"F", 0)
    assert reader.read(10, 0) == b"First"
    reader.close()
    writer.close()


def test_a_handle_follows_its_file(filesystem: FileSystem) -> None:
    """A handle reports the new path after a rename, of its file or of a directory above it."""
    filesystem.mkdir(b"/d")
    write(filesystem, b"/d/f", b"x")
    handle = filesystem.open(b"/d/f", R)
    assert handle.path() == b"/d/f"
    filesystem.rename(b"/d/f", b"/g")
    assert handle.read(1, 0) == b"x"
    assert handle.path() in (b"/g", None)  # a directory of the host cannot always tell
    handle.close()


# -- directories -----------------------------------------------------------------------------------


def test_directories_list_their_names(filesystem: FileSystem) -> None:
    """A directory lists names, kinds and inodes, sorted and without `.` and `..`."""
    filesystem.mkdir(b"/d")
    write(filesystem, b"/f", b"")
    filesystem.symlink(b"f", b"/l")
    entries = list(filesystem.scandir(b"/"))
    assert [(e.name, e.kind) for e in entries] == [
        (b"d", FileKind.DIRECTORY),
        (b"f", FileKind.REGULAR),
        (b"l", FileKind.SYMBOLIC_LINK),
    ]
    for entry in entries:
        assert filesystem.stat(b"/" + entry.name, follow=False).inode == entry.inode
    fails(errno.ENOTDIR, filesystem.scandir, b"/f")


def test_names_are_bytes(filesystem: FileSystem) -> None:
    """Names that are not UTF-8, or odd, are names like any other."""
    for name in (b"\xff\xfe", b" ", b"a\nb", b"...", "ä".encode(), b"a" * 255):
        write(filesystem, b"/" + name, name)
        assert read(filesystem, b"/" + name) == name
    assert len(names(filesystem)) == 6


def test_making_and_removing_directories(filesystem: FileSystem) -> None:
    """mkdir and rmdir fail as Linux says."""
    filesystem.mkdir(b"/d")
    fails(errno.EEXIST, filesystem.mkdir, b"/d")
    fails(errno.EEXIST, filesystem.mkdir, b"/")
    fails(errno.EEXIST, filesystem.mkdir, b"/d/.")
    fails(errno.ENOENT, filesystem.mkdir, b"/x/y")
    filesystem.mkdir(b"/d/e/")
    fails(errno.ENOTEMPTY, filesystem.rmdir, b"/d")
    fails(errno.ENOTEMPTY, filesystem.rmdir, b"/d/e/..")
    fails(errno.EINVAL, filesystem.rmdir, b"/d/e/.")
    fails(errno.EBUSY, filesystem.rmdir, b"/")
    filesystem.rmdir(b"/d/e/")
    filesystem.rmdir(b"/d")
    fails(errno.ENOENT, filesystem.rmdir, b"/d")
    write(filesystem, b"/f", b"")
    fails(errno.ENOTDIR, filesystem.rmdir, b"/f")
    fails(errno.ENOTDIR, filesystem.mkdir, b"/f/x")
    fails(errno.EISDIR, filesystem.unlink, b"/")


def test_directories_are_not_files(filesystem: FileSystem) -> None:
    """Directories are opened for reading only, and their handles do not read bytes."""
    filesystem.mkdir(b"/d")
    fails(errno.EISDIR, filesystem.open, b"/d", W)
    fails(errno.EISDIR, filesystem.open, b"/d", NEW)
    fails(errno.EISDIR, filesystem.open, b"/new/", NEW)
    fails(errno.EISDIR, filesystem.unlink, b"/d")
    handle = filesystem.open(b"/d", R)
    fails(errno.EISDIR, handle.read, 1, 0)
    assert handle.entries() == []
    assert handle.stat().kind is FileKind.DIRECTORY
    handle.close()
    write(filesystem, b"/f", b"")
    fails(errno.ENOTDIR, filesystem.open, b"/f", R | OpenFlags.DIRECTORY)
    fails(errno.ENOTDIR, filesystem.open, b"/f/", R)
    fails(errno.ENOTDIR, filesystem.stat, b"/f/.")
    fails(errno.ENOTDIR, filesystem.stat, b"/f/..")


def test_listing_tolerates_changes(filesystem: FileSystem) -> None:
    """A listing that was taken stays as it is while names come and go."""
    for number in range(50):
        write(filesystem, b"/%d" % number, b"")
    for entry in filesystem.scandir(b"/"):
        filesystem.unlink(b"/" + entry.name)
        filesystem.mkdir(b"/new" + entry.name)
    assert len(names(filesystem)) == 50


def test_a_removed_directory_is_empty(filesystem: FileSystem) -> None:
    """A directory that was removed while open has no names, and gets none."""
    filesystem.mkdir(b"/d")
    handle = filesystem.open(b"/d", R | OpenFlags.DIRECTORY)
    filesystem.rmdir(b"/d")
    fails(errno.ENOENT, filesystem.open, b"f", NEW, at=handle)
    fails(errno.ENOENT, filesystem.mkdir, b"d", at=handle)
    handle.close()


def test_relative_paths_start_at_a_handle(filesystem: FileSystem) -> None:
    """With `at`, relative paths start in that directory, wherever it has been moved; absolute ones do not."""
    filesystem.mkdir(b"/d")
    filesystem.mkdir(b"/d/e")
    write(filesystem, b"/top", b"t")
    write(filesystem, b"/d/f", b"f")
    handle = filesystem.open(b"/d", R | OpenFlags.DIRECTORY)
    assert filesystem.stat(b"f", at=handle).size == 1
    assert filesystem.stat(b"../top", at=handle).inode == filesystem.stat(b"/top").inode
    assert filesystem.stat(b"/top", at=handle).inode == filesystem.stat(b"/top").inode
    filesystem.rename(b"f", b"../g", old_at=handle, new_at=handle)
    assert names(filesystem, b"/d") == [b"e"]
    filesystem.rename(b"/d", b"/moved")
    filesystem.mkdir(b"in", at=handle)
    assert names(filesystem, b"/moved") == [b"e", b"in"]
    handle.close()
    file = filesystem.open(b"/g", R)
    fails(errno.ENOTDIR, filesystem.stat, b"x", at=file)
    file.close()


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


def test_diff_tells_what_changed(filesystem: FileSystem, request: pytest.FixtureRequest) -> None:
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
