"""A directory of the host as a filesystem that cannot be left.

Every step of a path is taken from an open directory with `O_NOFOLLOW` (openat(2)), and symbolic links
are read and resolved by our own walk, so that they lead nowhere but inside. Nothing is ever opened by
a path of the host. Only regular files and directories can be opened: no devices, no FIFOs that block.

What the guest may write is real: programs of the host follow the links that it creates. So a link that
could lead out of the directory is refused, both when it is created and when moving it would make it one.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat as modes
import threading
from collections.abc import Iterator
from os import PathLike
from typing import Final

from planaria.files.containment import climbs, stays_inside
from planaria.files.filesystem import DirEntry, FileKind, FileSystemUsage, OpenFlags, Stat, failure
from planaria.files.host_handles import HandleOwner, HostFileHandle, HostHandle, OpenedNode, times
from planaria.files.interruption import give_way
from planaria.files.node import MountPoint, Node, NodeHandle

__all__ = ["HostFileSystem"]

FORMAT: Final = "planaria-host-1"
_DIRECTORY: Final = int(FileKind.DIRECTORY)
_REGULAR: Final = int(FileKind.REGULAR)
_SYMBOLIC_LINK: Final = int(FileKind.SYMBOLIC_LINK)
_KINDS: Final = {int(kind): kind for kind in FileKind}
_SAFE: Final = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
# Walking through a directory takes no permission to read it.
_WALK: Final = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LIST: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
#: Entries of a directory between two looks at whether the guest is to be interrupted, as a mask.
_LOOK: Final = 1023
#: Held while links are created and directories are moved, so that what one checks the other does not change.
_links = threading.Lock()


class HostFileSystem(HandleOwner):
    """The directory `path` of the host, read only unless said otherwise.

    Permission bits that give away more than reading, writing and executing (set-user-ID and so on) are
    never set on the host. At most `handles` files are open at a time (EMFILE): they are descriptors of
    this process. Snapshots record that the directory was there, not what is in it, and a fork is the
    same directory.

    Symbolic links that the guest creates have to be relative and to stay inside (EPERM), also after a
    directory is moved, unless `escaping_links` allows others. Links that the host put there are not touched.

    With `same_time`, in nanoseconds since the epoch, the same contents look the same on every machine: that
    is the time of every file, and inode numbers follow from paths.
    """

    __slots__ = (
        "_device",
        "_handles",
        "_limit",
        "_lock",
        "append_lock",
        "escaping_links",
        "host_path",
        "read_only",
        "same_time",
    )

    manifest_format = FORMAT

    def __init__(
        self,
        path: str | PathLike[str],
        read_only: bool = True,
        *,
        handles: int | None = 256,
        escaping_links: bool = False,
        same_time: int | None = None,
    ) -> None:
        super().__init__()
        self.same_time = same_time
        self.host_path = os.path.abspath(path)
        self.read_only = read_only
        self.escaping_links = escaping_links
        self._limit = handles
        self._handles = 0
        self._lock = threading.Lock()
        #: Held while a file is appended to.
        self.append_lock = threading.Lock()
        descriptor = os.open(self.host_path, _LIST)
        self._device = os.fstat(descriptor).st_dev
        root = _HostDirectory(self, (), None, os.fstat(descriptor))
        root._descriptor = descriptor
        self.top = MountPoint(self, root, read_only=read_only)

    def usage(self) -> FileSystemUsage:
        """The disk's usage is not reported; there is no limit of our own."""
        return FileSystemUsage(0, None, 0, None)

    def inode_of(self, names: tuple[bytes, ...], info: os.stat_result) -> int:
        """An inode number that is also unique when the directory spans several disks."""
        if self.same_time is not None:
            return inode_of_path(names)
        if info.st_dev == self._device:
            return info.st_ino
        return (info.st_ino + (info.st_dev << 40)) & (2**63 - 1)

    def count_handle(self, change: int) -> None:
        """One file more or less is open."""
        with self._lock:
            if change > 0 and self._limit is not None and self._handles >= self._limit:
                raise failure(errno.EMFILE)
            self._handles += change


def inode_of_path(names: tuple[bytes, ...]) -> int:
    """A number for a path that is the same everywhere. An overlay doubles it, within 63 bits."""
    return int.from_bytes(hashlib.blake2b(b"/".join(names), digest_size=7).digest(), "little")


class _HostNode(OpenedNode):
    """A name in a directory, as lstat(2) reported it when it was looked up."""

    __slots__ = ("above", "filesystem", "format", "info", "inode", "names")

    filesystem: HostFileSystem

    def __init__(
        self,
        filesystem: HostFileSystem,
        names: tuple[bytes, ...],
        above: _HostDirectory | None,
        info: os.stat_result,
    ) -> None:
        self.filesystem = filesystem
        self.names = names
        self.above = above
        self.info = info
        self.format = modes.S_IFMT(info.st_mode)
        self.inode = filesystem.inode_of(names, info)

    def directory(self) -> int:
        """The descriptor of the directory that the name is in."""
        assert self.above is not None
        return self.above.descriptor

    def stat(self, device: int) -> Stat:
        return self.describe(self.info, device)

    def describe(self, info: os.stat_result, device: int) -> Stat:
        if (time := self.filesystem.same_time) is not None:
            size = 0 if self.format == _DIRECTORY else info.st_size
            return Stat(device, self.inode, info.st_mode, 1, size, time, time, time)
        return Stat(
            device,
            self.filesystem.inode_of(self.names, info),
            info.st_mode,
            info.st_nlink,
            info.st_size,
            info.st_atime_ns,
            info.st_mtime_ns,
            info.st_ctime_ns,
        )

    def check_writable(self) -> None:
        if self.filesystem.read_only:
            raise failure(errno.EROFS)

    def path(self) -> bytes | None:
        return b"/" + b"/".join(self.names)

    def readlink(self) -> bytes:
        try:
            return os.readlink(self.names[-1], dir_fd=self.directory())
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            raise failure(errno.ENOENT) from None  # something else took its place just now

    def open(self, flags: OpenFlags, mount: MountPoint) -> NodeHandle:
        if self.format != _REGULAR:
            raise failure(errno.EACCES)  # a FIFO, socket or device of the host
        wanted = int(flags)
        if wanted & (OpenFlags.WRITE | OpenFlags.TRUNCATE):
            self.check_writable()
        how = os.O_RDONLY
        if wanted & OpenFlags.WRITE:
            how = os.O_RDWR if wanted & OpenFlags.READ else os.O_WRONLY
        elif wanted & OpenFlags.TRUNCATE:
            how = os.O_RDWR
        filesystem = self.filesystem
        filesystem.count_handle(1)
        try:
            descriptor = self.open_regular(how)
            try:
                if wanted & OpenFlags.TRUNCATE:
                    os.ftruncate(descriptor, 0)
                return HostFileHandle(self, flags, mount, descriptor)
            except BaseException:
                os.close(descriptor)
                raise
        except BaseException:
            filesystem.count_handle(-1)
            raise

    def open_regular(self, how: int) -> int:
        """Open the file, whatever may have taken its place since it was looked up."""
        descriptor = os.open(self.names[-1], how | _SAFE, dir_fd=self.directory())
        if not modes.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise failure(errno.EACCES)
        return descriptor

    def utime(self, atime: int | None, mtime: int | None) -> None:
        self.check_writable()
        directory, name = self.directory(), self.names[-1]
        info = os.stat(name, dir_fd=directory, follow_symlinks=False)
        os.utime(name, ns=times(info, atime, mtime), dir_fd=directory, follow_symlinks=False)

    def chmod(self, mode: int) -> None:
        self.check_writable()
        if self.format != _REGULAR:
            raise failure(errno.EACCES)
        # Not by name: chmod(2) would follow a link that took the file's place.
        descriptor = self.open_regular(os.O_RDONLY)
        try:
            os.fchmod(descriptor, mode & 0o777)
        finally:
            os.close(descriptor)


class _HostDirectory(_HostNode):
    """A directory, with a descriptor as soon as something in it is wanted.

    It keeps no descriptors of the directories above, so that the depth of a path does not use them up.
    """

    __slots__ = ("_descriptor",)

    def __init__(
        self,
        filesystem: HostFileSystem,
        names: tuple[bytes, ...],
        above: _HostDirectory | None,
        info: os.stat_result,
    ) -> None:
        super().__init__(filesystem, names, above, info)
        self._descriptor = -1

    @property
    def descriptor(self) -> int:
        if self._descriptor < 0:
            self._descriptor = os.open(self.names[-1], _WALK, dir_fd=self.directory())
            self.above = None
        return self._descriptor

    def __del__(self) -> None:
        if getattr(self, "_descriptor", -1) >= 0:
            os.close(self._descriptor)

    def reopen(self) -> int:
        """A descriptor that can do more than walking; the caller closes it."""
        return os.open(".", _LIST, dir_fd=self.descriptor)

    @property
    def parent(self) -> Node:
        node = self.filesystem.top.root
        for name in self.names[:-1]:
            below = node.lookup(name)
            if below is None or below.format != _DIRECTORY:
                raise failure(errno.ENOENT)
            node = below
        return node

    def stat(self, device: int) -> Stat:
        return self.describe(os.fstat(self.descriptor) if self._descriptor >= 0 else self.info, device)

    def open(self, flags: OpenFlags, mount: MountPoint) -> NodeHandle:
        os.close(self.reopen())  # may it be read?
        self.filesystem.count_handle(1)
        return HostHandle(self, flags, mount)

    def utime(self, atime: int | None, mtime: int | None) -> None:
        self.check_writable()
        descriptor = self.reopen()
        try:
            os.utime(descriptor, ns=times(os.fstat(descriptor), atime, mtime))
        finally:
            os.close(descriptor)

    def chmod(self, mode: int) -> None:
        self.check_writable()
        descriptor = self.reopen()
        try:
            os.fchmod(descriptor, mode & 0o777)
        finally:
            os.close(descriptor)

    def lookup(self, name: bytes) -> _HostNode | None:
        try:
            info = os.stat(name, dir_fd=self.descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return None
        kind = _HostDirectory if modes.S_ISDIR(info.st_mode) else _HostNode
        return kind(self.filesystem, (*self.names, name), self, info)

    def entries(self) -> list[DirEntry]:
        found: list[DirEntry] = []
        same = self.filesystem.same_time is not None
        descriptor = self.reopen()
        try:
            with os.scandir(descriptor) as listing:
                for place, entry in enumerate(listing):
                    if not place & _LOOK:
                        give_way()
                    name = os.fsencode(entry.name)
                    if entry.is_symlink():
                        kind = FileKind.SYMBOLIC_LINK
                    elif entry.is_file(follow_symlinks=False):
                        kind = FileKind.REGULAR
                    elif entry.is_dir(follow_symlinks=False):
                        kind = FileKind.DIRECTORY
                    else:
                        try:
                            kind = _KINDS[modes.S_IFMT(entry.stat(follow_symlinks=False).st_mode)]
                        except FileNotFoundError:
                            continue
                    number = inode_of_path((*self.names, name)) if same else entry.inode()
                    found.append(DirEntry(name, number, kind))
        finally:
            os.close(descriptor)
        return sorted(found)

    # -- changing: all of it relative to the open directory -----------------------------------------

    def create(self, name: bytes, mode: int) -> Node:
        self.check_writable()
        how = os.O_CREAT | os.O_EXCL | os.O_WRONLY | _SAFE
        os.close(os.open(name, how, mode & 0o777, dir_fd=self.descriptor))
        node = self.lookup(name)
        if node is None:
            raise failure(errno.ENOENT)
        return node

    def mkdir(self, name: bytes, mode: int) -> None:
        self.check_writable()
        os.mkdir(name, mode & 0o777, dir_fd=self.descriptor)

    def symlink(self, name: bytes, target: bytes) -> None:
        self.check_writable()
        with _links:
            if not self.filesystem.escaping_links and not stays_inside(target, self.depth()):
                raise _escaping(name, target)
            os.symlink(target, name, dir_fd=self.descriptor)

    def link(self, name: bytes, node: Node) -> None:
        self.check_writable()
        assert isinstance(node, _HostNode)
        assert node.above is not None
        with _links:
            self._check_move(node.above, node.names[-1], name)
            os.link(
                node.names[-1],
                name,
                src_dir_fd=node.directory(),
                dst_dir_fd=self.descriptor,
                follow_symlinks=False,
            )

    def unlink(self, name: bytes, node: Node) -> None:
        self.check_writable()
        os.unlink(name, dir_fd=self.descriptor)

    def rmdir(self, name: bytes, node: Node) -> None:
        self.check_writable()
        os.rmdir(name, dir_fd=self.descriptor)

    def rename(self, name: bytes, node: Node, directory: Node, new: bytes, target: Node | None) -> None:
        self.check_writable()
        assert isinstance(directory, _HostDirectory)
        with _links:
            directory._check_move(self, name, new)
            os.rename(name, new, src_dir_fd=self.descriptor, dst_dir_fd=directory.descriptor)

    # -- links that must not lead out -----------------------------------------------------------------

    def depth(self) -> int:
        """How many levels below the top the directory is now; ENOENT when it is no longer below it.

        Asked of the system: the path by which it was opened may have changed since.
        """
        root = self.filesystem.top.root
        assert isinstance(root, _HostDirectory)
        top = os.fstat(root.descriptor)
        descriptor, depth = self.descriptor, 0
        opened = -1
        try:
            info = os.fstat(descriptor)
            while not os.path.samestat(info, top):
                above = os.open("..", _WALK, dir_fd=descriptor)
                if opened >= 0:
                    os.close(opened)
                descriptor = opened = above
                below, info = info, os.fstat(descriptor)
                if os.path.samestat(below, info):
                    raise failure(errno.ENOENT)
                depth += 1
        finally:
            if opened >= 0:
                os.close(opened)
        return depth

    def _check_move(self, source: _HostDirectory, name: bytes, new: bytes) -> None:
        """Refuse (EPERM) to bring into this directory, as `new`, a link that would lead out from here.

        Of a directory, all links below it are looked at, which is needed only when it moves upwards: a
        link does not lead further out from deeper down.
        """
        node = source.lookup(name)  # another session may have put something else there
        if node is None or node.format == _REGULAR or self.filesystem.escaping_links:
            return
        depth = self.depth()
        if depth >= source.depth():
            return
        if isinstance(node, _HostDirectory):
            for path, target, below in _links_below(node):
                if climbs(target) > depth + below:
                    raise _escaping(path, target)
        elif node.format == _SYMBOLIC_LINK:
            target = node.readlink()
            if climbs(target) > depth:
                raise _escaping(new, target)


def _escaping(path: bytes, target: bytes) -> OSError:
    return failure(
        errno.EPERM,
        path,
        f"the link to {target!r} could lead out of the mounted directory; "
        "its target has to be relative, inside, and without '..' after a name",
    )


def _links_below(top: _HostDirectory) -> Iterator[tuple[bytes, bytes, int]]:
    """The symbolic links in a tree: path, target, and how far below the directory of `top` they are."""
    pending = [(top, top.names[-1], 1)]
    while pending:
        directory, path, below = pending.pop()
        for entry in directory.entries():
            child = directory.lookup(entry.name)
            if isinstance(child, _HostDirectory):
                pending.append((child, path + b"/" + entry.name, below + 1))
            elif child is not None and child.format == _SYMBOLIC_LINK:
                yield path + b"/" + entry.name, child.readlink(), below
