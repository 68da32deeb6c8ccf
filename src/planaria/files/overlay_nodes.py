"""The nodes of an overlay: two halves, one above the other, and copying from the lower to the upper."""

from __future__ import annotations

import errno
import threading
import weakref
from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import Final

from planaria.files.filesystem import DirEntry, FileKind, OpenFlags, Stat, failure
from planaria.files.node import MountPoint, Node, NodeHandle
from planaria.files.resolution import NodeFileSystem

__all__ = ["Layer", "OverlayNode"]

_DIRECTORY: Final = int(FileKind.DIRECTORY)
_REGULAR: Final = int(FileKind.REGULAR)
_SYMBOLIC_LINK: Final = int(FileKind.SYMBOLIC_LINK)
_PIECE: Final = 1 << 20
_ZEROS: Final = bytes(_PIECE)


class Layer:
    """What a directory of the upper layer knows about the lower one."""

    __slots__ = ("hidden", "lower", "shared")

    def __init__(self, hidden: Iterable[bytes] = (), lower: bytes | None = None) -> None:
        #: Names that are not looked for below.
        self.hidden = set(hidden)
        #: Where its lower half is when that is not where the directory is: a path, or b"" for nowhere.
        self.lower = lower
        #: A snapshot has it too, so it has to be copied before it changes.
        self.shared = False


class Overlay(NodeFileSystem):
    """What the nodes of an overlay need of it; `OverlayFileSystem` is the one there is."""

    __slots__ = ()

    lower: NodeFileSystem
    upper: NodeFileSystem
    clock: Callable[[], int]
    lock: threading.RLock
    origins: dict[int, int]
    """The inode number that a file had before it was copied up, by its upper inode."""
    live: weakref.WeakValueDictionary[object, OverlayNode]
    """Nodes in use, so that every user of a file sees it copied up."""

    @abstractmethod
    def merged(self, above: OverlayNode, name: bytes, upper: Node | None, lower: Node | None) -> OverlayNode:
        """The node for what the two layers have under a name."""

    @abstractmethod
    def layer(self, node: Node) -> Layer:
        """What is known of an upper directory."""

    @abstractmethod
    def own_layer(self, node: Node) -> Layer:
        """The same, to be changed."""

    @abstractmethod
    def lower_at(self, path: bytes) -> Node | None:
        """What the lower layer has at a path, if it has anything there (still)."""

    @abstractmethod
    def came_from(self, upper: Node, inode: int) -> None:
        """The node with that inode number is now the one of `upper`."""

    @abstractmethod
    def forget(self, upper: Node) -> None:
        """An upper node lost a name; if that was all there was, drop what is known of it."""


class OverlayNode(Node):
    __slots__ = (
        "__weakref__",
        "above",
        "filesystem",
        "format",
        "inode",
        "lower",
        "name",
        "stale",
        "upper",
    )

    filesystem: Overlay

    def __init__(
        self,
        filesystem: Overlay,
        inode: int,
        kind: int,
        upper: Node | None,
        lower: Node | None,
        above: OverlayNode | None,
        name: bytes,
    ) -> None:
        self.filesystem = filesystem
        self.inode = inode
        self.format = kind
        self.upper = upper
        self.lower = lower
        #: Where it was found; None for the root, and when the name was removed.
        self.above = above
        self.name = name
        self.stale = False

    @property
    def shown(self) -> Node:
        """The layer that has the contents (of directories, the attributes)."""
        node = self.upper or self.lower
        assert node is not None
        return node

    def stat(self, device: int) -> Stat:
        return self.shown.stat(device)._replace(inode=self.inode)

    def readlink(self) -> bytes:
        return self.shown.readlink()

    def path(self) -> bytes | None:
        if self.upper is not None:
            return self.upper.path()
        if self.above is None:
            return None
        path = self.above.path()
        return path if path is None else path.rstrip(b"/") + b"/" + self.name

    def utime(self, atime: int | None, mtime: int | None) -> None:
        self.copy_up().utime(atime, mtime)

    def chmod(self, mode: int) -> None:
        self.copy_up().chmod(mode)

    def open(self, flags: OpenFlags, mount: MountPoint) -> NodeHandle:
        if self.format == _DIRECTORY:
            return NodeHandle(self, flags, mount)
        wanted = int(flags)
        if wanted & (OpenFlags.WRITE | OpenFlags.TRUNCATE) and self.format == _REGULAR:
            self.copy_up(contents=not wanted & OpenFlags.TRUNCATE)
        return _OverlayHandle(self, flags, mount)

    # -- copying up ------------------------------------------------------------------------------------

    def copy_up(self, contents: bool = True) -> Node:
        """The node in the upper layer, made now if it was not there; all or nothing."""
        filesystem = self.filesystem
        if self.format == _DIRECTORY and self.above is None and self is not filesystem.top.root:
            raise failure(errno.ENOENT)  # the directory was removed
        if self.upper is not None:
            return self.upper
        with filesystem.lock:
            lower = self.lower
            if self.above is None or lower is None:
                raise failure(errno.ESTALE)  # it was removed; there is nothing to attach a copy to
            directory = self.above.copy_up()
            info = lower.stat(0)
            made: Node | None
            if self.format == _DIRECTORY:
                directory.mkdir(self.name, info.mode & 0o7777)
                made = directory.lookup(self.name)
            elif self.format == _SYMBOLIC_LINK:
                directory.symlink(self.name, lower.readlink())
                made = directory.lookup(self.name)
            elif self.format == _REGULAR:
                made = directory.create(self.name, info.mode & 0o7777)
                if contents:
                    try:
                        _copy(lower, made, filesystem)
                    except BaseException:
                        directory.unlink(self.name, made)
                        raise
            else:
                raise failure(errno.EPERM)
            assert made is not None
            made.utime(info.atime, info.mtime)
            if self.format == _DIRECTORY or info.links == 1:
                filesystem.came_from(made, self.inode)
            else:
                self.inode = 2 * made.inode + 1
                filesystem.live[self.inode] = self
            self.upper = made
            return made

    # -- directories -------------------------------------------------------------------------------------

    @property
    def parent(self) -> Node:
        if self.above is not None:
            return self.above
        if self is self.filesystem.top.root:
            return self
        raise failure(errno.ENOENT)

    def _below(self, name: bytes) -> Node | None:
        """What the lower layer has under a name that is not hidden."""
        if self.lower is None or (
            self.upper is not None and name in self.filesystem.layer(self.upper).hidden
        ):
            return None
        return self.lower.lookup(name)

    def lookup(self, name: bytes) -> Node | None:
        if self.stale:
            raise failure(errno.ESTALE)
        filesystem = self.filesystem
        upper = self.upper.lookup(name) if self.upper is not None else None
        if upper is not None and upper.format != _DIRECTORY:
            return filesystem.merged(self, name, upper, None)
        elsewhere = filesystem.layer(upper).lower if upper is not None else None
        lower = self._below(name) if elsewhere is None else filesystem.lower_at(elsewhere)
        if upper is None and lower is None:
            return None
        if upper is not None and lower is not None and lower.format != _DIRECTORY:
            lower = None
        return filesystem.merged(self, name, upper, lower)

    def entries(self) -> list[DirEntry]:
        if self.stale:
            raise failure(errno.ESTALE)
        filesystem = self.filesystem
        found: dict[bytes, DirEntry] = {}
        hidden: set[bytes] = set()
        if self.upper is not None:
            hidden = filesystem.layer(self.upper).hidden
            for entry in self.upper.entries():
                inode = filesystem.origins.get(entry.inode, 2 * entry.inode + 1)
                found[entry.name] = entry._replace(inode=inode)
        if self.lower is not None:
            for entry in self.lower.entries():
                if entry.name not in hidden and entry.name not in found:
                    found[entry.name] = entry._replace(inode=2 * entry.inode)
        return [found[name] for name in sorted(found)]

    def _hide(self, name: bytes) -> None:
        """From now on the lower layer is not asked for this name."""
        upper = self.copy_up()
        layer = self.filesystem.layer(upper)
        if self.lower is not None and name not in layer.hidden:
            self.filesystem.own_layer(upper).hidden.add(name)
            upper.utime(None, self.filesystem.clock())

    def create(self, name: bytes, mode: int) -> Node:
        with self.filesystem.lock:
            return self.filesystem.merged(self, name, self.copy_up().create(name, mode), None)

    def mkdir(self, name: bytes, mode: int) -> None:
        with self.filesystem.lock:
            self.copy_up().mkdir(name, mode)
            self._hide(name)

    def symlink(self, name: bytes, target: bytes) -> None:
        with self.filesystem.lock:
            self.copy_up().symlink(name, target)

    def link(self, name: bytes, node: Node) -> None:
        assert isinstance(node, OverlayNode)
        with self.filesystem.lock:
            self.copy_up().link(name, node.copy_up())

    def unlink(self, name: bytes, node: Node) -> None:
        assert isinstance(node, OverlayNode)
        with self.filesystem.lock:
            below = self._below(name)
            directory = self.copy_up() if below is not None else self.upper
            upper = directory.lookup(name) if directory is not None else None
            if directory is not None and upper is not None:
                directory.unlink(name, upper)
                self.filesystem.forget(upper)
            if below is not None:
                self._hide(name)
            if node.name == name and node.above is self:
                node.above = None

    def rmdir(self, name: bytes, node: Node) -> None:
        assert isinstance(node, OverlayNode)
        with self.filesystem.lock:
            if node.entries():
                raise failure(errno.ENOTEMPTY)
            directory = self.copy_up()
            if node.upper is not None:
                directory.rmdir(name, node.upper)
                self.filesystem.forget(node.upper)
            self._hide(name)
            node.above = None

    def rename(self, name: bytes, node: Node, directory: Node, new: bytes, target: Node | None) -> None:
        assert isinstance(node, OverlayNode)
        assert isinstance(directory, OverlayNode)
        assert target is None or isinstance(target, OverlayNode)
        filesystem = self.filesystem
        with filesystem.lock:
            if target is not None and target.format == _DIRECTORY and target.entries():
                raise failure(errno.ENOTEMPTY)
            source, destination, moved = self.copy_up(), directory.copy_up(), node.copy_up()
            replaced = destination.lookup(new)
            source.rename(name, moved, destination, new, replaced)
            if replaced is not None:
                filesystem.forget(replaced)
            if node.format == _DIRECTORY:
                where = node.lower.path() if node.lower is not None else b""
                filesystem.own_layer(moved).lower = where
                directory._hide(new)
            if self._below(name) is not None:
                self._hide(name)
            if target is not None:
                target.above = None
            node.above, node.name = directory, new


def _copy(source: Node, target: Node, filesystem: Overlay) -> None:
    """Copy the contents, leaving out long runs of zeros."""
    reader = source.open(OpenFlags.READ, filesystem.lower.top)
    try:
        writer = target.open(OpenFlags.WRITE, filesystem.upper.top)
        try:
            offset = 0
            while piece := reader.read(_PIECE, offset):
                if piece != _ZEROS[: len(piece)]:
                    writer.write(piece, offset)
                offset += len(piece)
            writer.truncate(offset)
        finally:
            writer.close()
    finally:
        reader.close()


class _OverlayHandle(NodeHandle):
    """An open file: it moves on to the copy when there is one."""

    __slots__ = ("_inner", "_is_upper")

    node: OverlayNode

    def __init__(self, node: OverlayNode, flags: OpenFlags, mount: MountPoint) -> None:
        self._open(node, flags)
        super().__init__(node, flags, mount)

    def _open(self, node: OverlayNode, flags: OpenFlags) -> None:
        self._is_upper = node.upper is not None
        layer = node.filesystem.upper if self._is_upper else node.filesystem.lower
        self._inner = node.shown.open(flags, layer.top)

    @property
    def inner(self) -> NodeHandle:
        self.check()
        if not self._is_upper and self.node.upper is not None:
            self._inner.close()
            self._open(self.node, self.flags & ~OpenFlags.TRUNCATE)
        return self._inner

    def check(self) -> None:
        super().check()
        if self.node.stale:
            raise failure(errno.ESTALE)

    def stat(self) -> Stat:
        return self.inner.stat()._replace(device=self.mount.device, inode=self.node.inode)

    def read(self, size: int, offset: int) -> bytes:
        return self.inner.read(size, offset)

    def read_into(self, buffer: memoryview, offset: int) -> int:
        return self.inner.read_into(buffer, offset)

    def write(self, data: bytes | memoryview, offset: int) -> int:
        return self.inner.write(data, offset)

    def append(self, data: bytes | memoryview) -> int:
        return self.inner.append(data)

    def truncate(self, size: int) -> None:
        self.inner.truncate(size)

    def sync(self) -> None:
        self.inner.sync()

    def utime(self, atime: int | None, mtime: int | None) -> None:
        if self._is_upper and not self.mount.read_only:
            self.inner.utime(atime, mtime)
        else:
            super().utime(atime, mtime)

    def chmod(self, mode: int) -> None:
        if self._is_upper and not self.mount.read_only:
            self.inner.chmod(mode)
        else:
            super().chmod(mode)

    def path(self) -> bytes | None:
        self.check()
        return super().path()

    def close(self) -> None:
        if not self.closed:
            super().close()
            self._inner.close()
