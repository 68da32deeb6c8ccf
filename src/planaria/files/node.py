"""Nodes, mount points and handles: what the path resolution works with.

A filesystem gives its files as `Node` objects. Everything about paths (symbolic links, `..`, trailing
slashes, mount points) is done once, in `resolution`, so that all filesystems agree about it.
"""

from __future__ import annotations

import errno
from abc import ABC, abstractmethod
from typing import TypeVar

from planaria.files.filesystem import (
    Columns,
    DirEntry,
    FileKind,
    FileSystem,
    FileSystemSnapshot,
    Handle,
    OpenFlags,
    Stat,
    StatMaker,
    failure,
)

__all__ = ["MountPoint", "Node", "NodeHandle", "NodeStore"]

Value = TypeVar("Value")

DIRECTORY = int(FileKind.DIRECTORY)
#: Directories that a mount remembers by their paths.
_MOST_KNOWN = 256


class NodeStore(FileSystem):
    """A filesystem that has nodes, as nodes and mounts see it; `NodeFileSystem` has its operations."""

    __slots__ = ("name_limit", "path_limit", "top")

    #: The outermost mount.
    top: MountPoint
    path_limit: int
    name_limit: int
    #: How often a directory was moved or removed; None where that happens without being seen.
    moves: int | None = None

    def find_node(self, inode: int) -> Node | None:
        """The node of an inode number, or None where that cannot be known."""
        return None

    def accepts(self, snapshot: FileSystemSnapshot) -> bool:
        """Whether `restore` takes this kind of snapshot."""
        return False

    def discard_orphans(self) -> None:
        """Nothing to do where unlinked files are kept elsewhere."""


class Node(ABC):
    """One file, directory, link or device of a filesystem.

    The second half of the methods is for directories; the walk calls them on nothing else. Names
    given to them are single components, neither empty nor `.` nor `..`. What a kind of node does not
    define is refused, so that a filesystem that cannot be written needs to say nothing about it.
    """

    __slots__ = ()

    #: The filesystem that the node belongs to: links and renames cannot leave it.
    filesystem: NodeStore
    #: The type bits of `st_mode`.
    format: int
    inode: int

    @abstractmethod
    def stat(self, device: int) -> Stat: ...

    def stat_as(self, make: StatMaker[Value], device: int) -> Value:
        """What `make` makes of the same."""
        return make(*self.stat(device))

    @abstractmethod
    def open(self, flags: OpenFlags, mount: MountPoint) -> NodeHandle:
        """A handle; truncates if the flags say so. Kind and read-only mounts were checked."""

    @abstractmethod
    def path(self) -> bytes | None:
        """The present path within the filesystem, or None when there is no name any more."""

    def utime(self, atime: int | None, mtime: int | None) -> None:
        raise failure(errno.EROFS)

    def chmod(self, mode: int) -> None:
        raise failure(errno.EROFS)

    def readlink(self) -> bytes:
        """The target of a symbolic link."""
        raise failure(errno.EINVAL)

    def same_contents(self, other: Node) -> bool | None:
        """Whether two regular files are equal, or None if they have to be read to tell."""
        return None

    # -- directories ----------------------------------------------------------------------------

    @property
    def parent(self) -> Node:
        """The directory above; the root is its own."""
        raise failure(errno.ENOTDIR)

    def lookup(self, name: bytes) -> Node | None:
        raise failure(errno.ENOTDIR)

    def entries(self) -> list[DirEntry]:
        raise failure(errno.ENOTDIR)

    def columns(self) -> Columns | None:
        """The same as columns where they are at hand, or None."""
        return None

    def create(self, name: bytes, mode: int) -> Node:
        """Make an empty regular file. The walk has seen that the name is free; EEXIST if it no longer is."""
        raise failure(errno.EROFS)

    def mkdir(self, name: bytes, mode: int) -> None:
        raise failure(errno.EROFS)

    def symlink(self, name: bytes, target: bytes) -> None:
        raise failure(errno.EROFS)

    def link(self, name: bytes, node: Node) -> None:
        """Give `node`, which is not a directory, another name."""
        raise failure(errno.EROFS)

    def unlink(self, name: bytes, node: Node) -> None:
        raise failure(errno.EROFS)

    def rmdir(self, name: bytes, node: Node) -> None:
        """Remove the directory; ENOTEMPTY unless it is empty."""
        raise failure(errno.EROFS)

    def rename(self, name: bytes, node: Node, directory: Node, new: bytes, target: Node | None) -> None:
        """Move `node` over `target`; both kinds fit, and `directory` is not inside `node`."""
        raise failure(errno.EROFS)


class MountPoint:
    """A filesystem at its place in the tree; the outermost one has no parent."""

    __slots__ = (
        "covered",
        "device",
        "filesystem",
        "known",
        "opens",
        "parent",
        "points",
        "read_only",
        "root",
        "shared",
    )

    def __init__(
        self,
        filesystem: NodeStore,
        root: Node,
        *,
        device: int = 1,
        read_only: bool = False,
        shared: bool = False,
        parent: MountPoint | None = None,
        covered: Node | None = None,
    ) -> None:
        self.filesystem = filesystem
        self.root = root
        self.device = device
        self.read_only = read_only
        self.shared = shared
        self.parent = parent
        self.covered = covered
        #: What is mounted on directories of this one, by inode of the covered directory; change it by `cover`
        #: and `uncover`.
        self.points: dict[int, MountPoint] = {}
        #: Directories by their paths, which lead over directories of this mount only, and the `moves` of the
        #: filesystem when they were found there.
        self.known: dict[bytes, tuple[int, Node]] = {}
        #: Open handles that were opened through it.
        self.opens = 0

    def know(self, path: bytes, moves: int, directory: Node) -> None:
        """Remember where a directory was found."""
        if len(self.known) >= _MOST_KNOWN:
            self.known.clear()
        self.known[path] = moves, directory

    def cover(self, inode: int, point: MountPoint) -> None:
        """Mount something on a directory."""
        self.points[inode] = point
        self.known.clear()

    def uncover(self, inode: int | None = None) -> None:
        """Take away what is mounted on a directory, or on all of them."""
        if inode is None:
            self.points.clear()
        else:
            del self.points[inode]
        self.known.clear()

    def path(self) -> bytes | None:
        """Where it is mounted, without a trailing slash (so that the outermost one is empty)."""
        if self.parent is None or self.covered is None:
            return b""
        return self.parent.path_of(self.covered)

    def path_of(self, node: Node) -> bytes | None:
        """The absolute path of a node of this mount."""
        prefix, path = self.path(), node.path()
        if prefix is None or path is None:
            return None
        if not prefix:
            return path
        return prefix if path == b"/" else prefix + path


class NodeHandle(Handle):
    """An open node. The mount it was opened through decides about writing and its path."""

    __slots__ = ("closed", "flags", "mount", "node")

    def __init__(self, node: Node, flags: OpenFlags, mount: MountPoint) -> None:
        self.node = node
        self.flags = int(flags)
        self.mount = mount
        self.closed = False
        mount.opens += 1

    def same_contents(self, other: Handle) -> bool | None:
        return self.node.same_contents(other.node) if isinstance(other, NodeHandle) else None

    def check(self) -> None:
        """Raise EBADF when the handle is closed."""
        if self.closed:
            raise failure(errno.EBADF)

    def stat(self) -> Stat:
        self.check()
        return self.node.stat(self.mount.device)

    def identity(self) -> tuple[int, int, int]:
        """As in `Handle`, without asking for more: a replay has no file to ask."""
        self.check()
        return self.mount.device, self.node.inode, self.node.format

    def read(self, size: int, offset: int) -> bytes:
        raise self.unusable(OpenFlags.READ)

    def write(self, data: bytes | memoryview, offset: int) -> int:
        raise self.unusable(OpenFlags.WRITE)

    def append(self, data: bytes | memoryview) -> int:
        raise self.unusable(OpenFlags.WRITE)

    def truncate(self, size: int) -> None:
        raise self.unusable(OpenFlags.WRITE, otherwise=errno.EINVAL)

    def unusable(self, needed: OpenFlags, otherwise: int = errno.EISDIR) -> OSError:
        """Why a handle does not do something: not opened for it, or not that kind of file."""
        if self.closed or not self.flags & needed:
            return failure(errno.EBADF)
        return failure(otherwise)

    def sync(self) -> None:
        self.check()

    def utime(self, atime: int | None, mtime: int | None) -> None:
        self.check()
        if self.mount.read_only:
            raise failure(errno.EROFS, self.path())
        self.node.utime(atime, mtime)

    def chmod(self, mode: int) -> None:
        self.check()
        if self.mount.read_only:
            raise failure(errno.EROFS, self.path())
        self.node.chmod(mode)

    def entries(self) -> list[DirEntry]:
        self.check()
        if self.node.format != DIRECTORY:
            raise failure(errno.ENOTDIR, self.path())
        return self.node.entries()

    def columns(self) -> Columns:
        node = self.node
        if not self.closed and node.format == DIRECTORY and (columns := node.columns()) is not None:
            return columns
        return super().columns()

    def path(self) -> bytes | None:
        return self.mount.path_of(self.node)

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self.mount.opens -= 1
