"""What POSIX says of files and directories, for every filesystem alike."""

from __future__ import annotations

import errno

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
