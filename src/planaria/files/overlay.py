"""A filesystem over another: reads go through, writes stay in the upper layer.

A name that was removed from below is remembered as a whiteout of its directory, a directory that was
moved remembers where its lower half is, and a file is copied up when it is first opened for writing.
Unlike the overlay of Linux, files that are open for reading while they are copied up see the copy,
and directories of the lower layer can be renamed.
"""

from __future__ import annotations

import errno
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Self

from planaria.errors import SnapshotError
from planaria.files.failure import failure
from planaria.files.filesystem import (
    DirEntry,
    FileKind,
    FileSystem,
    FileSystemSnapshot,
    FileSystemUsage,
    Manifest,
    OpenFlags,
    Stat,
)
from planaria.files.manifest import bytes_of, text_of
from planaria.files.memory import MemoryFileSystem
from planaria.files.node import MountPoint, Node, NodeHandle
from planaria.files.quota import Quota
from planaria.files.resolution import NodeFileSystem

__all__ = ["OverlayFileSystem"]

FORMAT: Final = "planaria-overlay-1"
_DIRECTORY: Final = int(FileKind.DIRECTORY)
_REGULAR: Final = int(FileKind.REGULAR)
_SYMBOLIC_LINK: Final = int(FileKind.SYMBOLIC_LINK)
_PIECE: Final = 1 << 20
_ZEROS: Final = bytes(_PIECE)


class _Layer:
    """What a directory of the upper layer knows about the lower one."""

    __slots__ = ("hidden", "lower", "shared")

    def __init__(self, hidden: Iterable[bytes] = (), lower: bytes | None = None) -> None:
        #: Names that are not looked for below.
        self.hidden = set(hidden)
        #: Where its lower half is when that is not where the directory is: a path, or b"" for nowhere.
        self.lower = lower
        #: A snapshot has it too, so it has to be copied before it changes.
        self.shared = False


class OverlayFileSystem(NodeFileSystem):
    """`lower`, which is never written, with the changes in `upper` (a new MemoryFileSystem if not given).

    `clock` and `quota` are for that new one. The lower layer may be shared by many overlays; it is not
    captured by snapshots and not copied by forks.
    """

    __slots__ = ("_clock", "_copied", "_layers", "_live", "_lock", "_origins", "lower", "upper")

    def __init__(
        self,
        lower: FileSystem,
        upper: FileSystem | None = None,
        *,
        clock: Callable[[], int] = time.time_ns,
        quota: Quota | None = None,
    ) -> None:
        upper = MemoryFileSystem(clock=clock, quota=quota) if upper is None else upper
        if not isinstance(lower, NodeFileSystem) or not isinstance(upper, NodeFileSystem):
            raise TypeError("the layers of an OverlayFileSystem have to be NodeFileSystems")
        super().__init__(path_limit=upper.path_limit, name_limit=upper.name_limit)
        self.lower = lower
        self.upper = upper
        self._clock = clock
        self._lock = threading.RLock()
        #: By the inode of the upper directory.
        self._layers: dict[int, _Layer] = {}
        #: The inode number that a file had before it was copied up, by its upper inode, and back.
        self._origins: dict[int, int] = {}
        self._copied: dict[int, int] = {}
        #: Nodes that somebody holds, so that all who hold a file see it copied up.
        self._live: weakref.WeakValueDictionary[object, _OverlayNode] = weakref.WeakValueDictionary()
        root = _OverlayNode(self, 1, _DIRECTORY, upper.top.root, lower.top.root, None, b"")
        self.top = MountPoint(self, root)

    # -- nodes -----------------------------------------------------------------------------------------

    def merged(
        self, above: _OverlayNode, name: bytes, upper: Node | None, lower: Node | None
    ) -> _OverlayNode:
        """The node for what the two layers have under a name."""
        shown = upper or lower
        assert shown is not None
        if upper is not None:
            inode: int = self._origins.get(upper.inode, 2 * upper.inode + 1)
            key: object = inode
        else:
            assert lower is not None
            key = inode = 2 * lower.inode
            if lower.format != _DIRECTORY and lower.stat(0).links > 1:
                # Copying one of the names up parts it from the others.
                key = (above.inode, name)
        node = self._live.get(key)
        if node is None or node.format != shown.format:
            node = _OverlayNode(self, inode, shown.format, upper, lower, above, name)
            self._live[key] = node
        else:
            if upper is not None or node.upper is None:
                node.upper, node.lower = upper, lower
            node.above, node.name = above, name
        return node

    def find_node(self, inode: int) -> Node | None:
        if inode == self.top.root.inode:
            return self.top.root
        node = self._live.get(inode)
        if node is not None:
            return node
        number = self._copied.get(inode, inode >> 1 if inode & 1 else 0)
        upper = self.upper.find_node(number) if number else None
        if upper is None:
            return None
        path = upper.path()
        if path is None:
            return _OverlayNode(self, inode, upper.format, upper, None, None, b"")
        return self.walk(path, False)[3]

    def layer(self, node: Node) -> _Layer:
        """What is known of an upper directory."""
        return self._layers.get(node.inode, _NO_LAYER)

    def lower_at(self, path: bytes) -> Node | None:
        """What the lower layer has at a path, if it has anything there (still)."""
        try:
            return self.lower.walk(path, False)[3] if path else None
        except OSError:
            return None

    def own_layer(self, node: Node) -> _Layer:
        """The same, to be changed."""
        layer = self._layers.get(node.inode, _NO_LAYER)
        if layer.shared:
            layer = self._layers[node.inode] = _Layer(layer.hidden, layer.lower)
        return layer

    def came_from(self, upper: Node, inode: int) -> None:
        """The node with that inode number now lives in `upper`."""
        self._origins[upper.inode] = inode
        self._copied[inode] = upper.inode

    def forget(self, upper: Node) -> None:
        """An upper node lost a name; if that was all there was, drop what is known of it."""
        if upper.path() is None and self.upper.find_node(upper.inode) is None:
            self._layers.pop(upper.inode, None)
            self._copied.pop(self._origins.pop(upper.inode, 0), None)

    # -- the filesystem ----------------------------------------------------------------------------------

    def usage(self) -> FileSystemUsage:
        """Of the upper layer, which is the one that grows."""
        return self.upper.usage()

    def discard_orphans(self) -> None:
        self.upper.discard_orphans()

    def accepts(self, snapshot: FileSystemSnapshot) -> bool:
        return isinstance(snapshot, _OverlaySnapshot) and self.upper.accepts(snapshot.upper)

    def snapshot(self) -> FileSystemSnapshot:
        with self._lock:
            for layer in self._layers.values():
                layer.shared = True
            return _OverlaySnapshot(
                self.lower, self.upper.snapshot(), dict(self._layers), dict(self._origins), self._clock
            )

    def restore(self, snapshot: FileSystemSnapshot) -> None:
        if not isinstance(snapshot, _OverlaySnapshot):
            raise TypeError(f"an OverlayFileSystem cannot take the state of a {type(snapshot).__name__}")
        with self._lock:
            self.upper.restore(snapshot.upper)
            self._adopt(snapshot.layers, snapshot.origins)
            for node in self._live.values():
                node.stale = True
            self._live.clear()

    def _adopt(self, layers: Mapping[int, _Layer], origins: Mapping[int, int]) -> None:
        self._layers = dict(layers)
        for layer in self._layers.values():
            layer.shared = True
        self._origins = dict(origins)
        self._copied = {inode: upper for upper, inode in origins.items()}

    def fork(self) -> Self:
        with self._lock:
            other = type(self)(self.lower, self.upper.fork(), clock=self._clock)
            for layer in self._layers.values():
                layer.shared = True
            other._adopt(self._layers, self._origins)
            return other

    def read_manifest(self, manifest: Manifest, chunks: Mapping[str, bytes]) -> FileSystemSnapshot:
        if (
            type(manifest) is not dict
            or manifest.get("format") != FORMAT
            or set(manifest) != {"format", "upper", "layers", "origins"}
        ):
            raise SnapshotError(f"the description of an overlay is not of format {FORMAT}")
        upper = self.upper.read_manifest(manifest["upper"], chunks)
        try:
            layers = {_number(line[0]): _read_layer(*line[1:]) for line in manifest["layers"]}
            origins = {_number(line[0]): _number(line[1]) for line in manifest["origins"]}
        except (TypeError, ValueError, IndexError, AttributeError) as error:
            raise SnapshotError(f"the description of an overlay is not well formed: {error}") from error
        if len(set(origins.values())) != len(origins):
            raise SnapshotError("the description of an overlay gives two files one inode number")
        return _OverlaySnapshot(self.lower, upper, layers, origins, self._clock)


_NO_LAYER: Final = _Layer()
_NO_LAYER.shared = True


def _number(value: object) -> int:
    if type(value) is not int or not 0 < value < 2**64:
        raise ValueError("not an inode number")
    return value


def _read_layer(hidden: object, lower: object) -> _Layer:
    if type(hidden) is not list or not (lower is None or type(lower) is str):
        raise ValueError("not a layer")
    return _Layer((bytes_of(name) for name in hidden), None if lower is None else bytes_of(lower))


class _OverlaySnapshot(FileSystemSnapshot):
    __slots__ = ("clock", "layers", "lower", "origins", "upper")

    def __init__(
        self,
        lower: NodeFileSystem,
        upper: FileSystemSnapshot,
        layers: dict[int, _Layer],
        origins: dict[int, int],
        clock: Callable[[], int],
    ) -> None:
        self.lower = lower
        self.upper = upper
        self.layers = layers
        self.origins = origins
        self.clock = clock

    def open(self) -> OverlayFileSystem:
        filesystem = OverlayFileSystem(self.lower, self.upper.open(), clock=self.clock)
        filesystem._adopt(self.layers, self.origins)
        return filesystem

    def manifest(self) -> Manifest:
        layers: list[list[Any]] = [
            [
                inode,
                [text_of(name) for name in sorted(layer.hidden)],
                None if layer.lower is None else text_of(layer.lower),
            ]
            for inode, layer in sorted(self.layers.items())
        ]
        return {
            "format": FORMAT,
            "upper": self.upper.manifest(),
            "layers": layers,
            "origins": [list(pair) for pair in sorted(self.origins.items())],
        }

    def chunks(self) -> Mapping[str, bytes]:
        return self.upper.chunks()


class _OverlayNode(Node):
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

    filesystem: OverlayFileSystem

    def __init__(
        self,
        filesystem: OverlayFileSystem,
        inode: int,
        kind: int,
        upper: Node | None,
        lower: Node | None,
        above: _OverlayNode | None,
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
        with filesystem._lock:
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
                filesystem._live[self.inode] = self
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
                inode = filesystem._origins.get(entry.inode, 2 * entry.inode + 1)
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
            upper.utime(None, self.filesystem._clock())

    def create(self, name: bytes, mode: int) -> Node:
        with self.filesystem._lock:
            return self.filesystem.merged(self, name, self.copy_up().create(name, mode), None)

    def mkdir(self, name: bytes, mode: int) -> None:
        with self.filesystem._lock:
            self.copy_up().mkdir(name, mode)
            self._hide(name)

    def symlink(self, name: bytes, target: bytes) -> None:
        with self.filesystem._lock:
            self.copy_up().symlink(name, target)

    def link(self, name: bytes, node: Node) -> None:
        assert isinstance(node, _OverlayNode)
        with self.filesystem._lock:
            self.copy_up().link(name, node.copy_up())

    def unlink(self, name: bytes, node: Node) -> None:
        assert isinstance(node, _OverlayNode)
        with self.filesystem._lock:
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
        assert isinstance(node, _OverlayNode)
        with self.filesystem._lock:
            if node.entries():
                raise failure(errno.ENOTEMPTY)
            directory = self.copy_up()
            if node.upper is not None:
                directory.rmdir(name, node.upper)
                self.filesystem.forget(node.upper)
            self._hide(name)
            node.above = None

    def rename(self, name: bytes, node: Node, directory: Node, new: bytes, target: Node | None) -> None:
        assert isinstance(node, _OverlayNode)
        assert isinstance(directory, _OverlayNode)
        assert target is None or isinstance(target, _OverlayNode)
        filesystem = self.filesystem
        with filesystem._lock:
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


def _copy(source: Node, target: Node, filesystem: OverlayFileSystem) -> None:
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

    node: _OverlayNode

    def __init__(self, node: _OverlayNode, flags: OpenFlags, mount: MountPoint) -> None:
        self._open(node, flags)
        super().__init__(node, flags, mount)

    def _open(self, node: _OverlayNode, flags: OpenFlags) -> None:
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
