"""A filesystem over another: reads go through, writes stay in the upper layer.

A name that was removed from below is remembered as a whiteout of its directory, a directory that was
moved remembers where its lower half is, and a file is copied up when it is first opened for writing.
Unlike the overlay of Linux, files that are open for reading while they are copied up see the copy,
and directories of the lower layer can be renamed.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Self

from planaria.errors import SnapshotError
from planaria.files.filesystem import FileKind, FileSystem, FileSystemSnapshot, FileSystemUsage, Manifest
from planaria.files.manifest import bytes_of, text_of
from planaria.files.memory import MemoryFileSystem
from planaria.files.mount import MountFileSystem
from planaria.files.node import MountPoint, Node
from planaria.files.overlay_nodes import Layer, Overlay, OverlayNode
from planaria.files.quota import Quota
from planaria.files.resolution import NodeFileSystem

__all__ = ["OverlayFileSystem"]

FORMAT: Final = "planaria-overlay-1"
_DIRECTORY: Final = int(FileKind.DIRECTORY)


class OverlayFileSystem(Overlay):
    """`lower`, which is never written, with the changes in `upper` (a new MemoryFileSystem if not given).

    `clock` and `quota` are for that new one. The lower layer may be shared by many overlays; it is not
    captured by snapshots and not copied by forks.
    """

    __slots__ = ("clock", "copied", "layers", "live", "lock", "lower", "origins", "upper")

    def __init__(
        self,
        lower: FileSystem,
        upper: FileSystem | None = None,
        *,
        clock: Callable[[], int] = time.time_ns,
        quota: Quota | None = None,
    ) -> None:
        upper = MemoryFileSystem(clock=clock, quota=quota) if upper is None else upper
        for layer in (lower, upper):
            if not isinstance(layer, NodeFileSystem) or isinstance(layer, MountFileSystem):
                raise TypeError(f"a {type(layer).__name__} cannot be a layer of an OverlayFileSystem")
        assert isinstance(lower, NodeFileSystem)
        assert isinstance(upper, NodeFileSystem)
        super().__init__(path_limit=upper.path_limit, name_limit=upper.name_limit)
        self.lower = lower
        self.upper = upper
        self.clock = clock
        self.lock = threading.RLock()
        #: By the inode of the upper directory.
        self.layers: dict[int, Layer] = {}
        #: The inode number that a file had before it was copied up, by its upper inode, and back.
        self.origins: dict[int, int] = {}
        self.copied: dict[int, int] = {}
        #: Nodes in use, so that every user of a file sees it copied up.
        self.live: weakref.WeakValueDictionary[object, OverlayNode] = weakref.WeakValueDictionary()
        root = OverlayNode(self, 1, _DIRECTORY, upper.top.root, lower.top.root, None, b"")
        self.top = MountPoint(self, root)

    # -- nodes -----------------------------------------------------------------------------------------

    def merged(self, above: OverlayNode, name: bytes, upper: Node | None, lower: Node | None) -> OverlayNode:
        """The node for what the two layers have under a name."""
        shown = upper or lower
        assert shown is not None
        if upper is not None:
            inode: int = self.origins.get(upper.inode, 2 * upper.inode + 1)
            key: object = inode
        else:
            assert lower is not None
            key = inode = 2 * lower.inode
            if lower.format != _DIRECTORY and lower.stat(0).links > 1:
                # Copying one of the names up parts it from the others.
                key = (above.inode, name)
        node = self.live.get(key)
        if node is None or node.format != shown.format:
            node = OverlayNode(self, inode, shown.format, upper, lower, above, name)
            self.live[key] = node
        else:
            if upper is not None or node.upper is None:
                node.upper, node.lower = upper, lower
            node.above, node.name = above, name
        return node

    def find_node(self, inode: int) -> Node | None:
        if inode == self.top.root.inode:
            return self.top.root
        node = self.live.get(inode)
        if node is not None:
            return node
        number = self.copied.get(inode, inode >> 1 if inode & 1 else 0)
        if not number:
            lower = self.lower.find_node(inode >> 1)
            if lower is None:
                return None
            # Where it is becomes known when its name is looked up.
            node = self.live[inode] = OverlayNode(self, inode, lower.format, None, lower, None, b"")
            return node
        upper = self.upper.find_node(number)
        if upper is None:
            return None
        path = upper.path()
        if path is not None:
            try:
                return self.walk(path, False)[3]
            except OSError:
                pass  # the directories above cannot be asked, or are gone
        return OverlayNode(self, inode, upper.format, upper, None, None, b"")

    def layer(self, node: Node) -> Layer:
        """What is known of an upper directory."""
        return self.layers.get(node.inode, _NO_LAYER)

    def lower_at(self, path: bytes) -> Node | None:
        """What the lower layer has at a path, if it has anything there (still)."""
        node: Node | None = self.lower.top.root if path else None
        for name in path.split(b"/")[1:]:
            if node is None or node.format != _DIRECTORY:
                return None
            node = node.lookup(name)
        return node

    def own_layer(self, node: Node) -> Layer:
        """The same, to be changed."""
        layer = self.layers.get(node.inode, _NO_LAYER)
        if layer.shared:
            layer = self.layers[node.inode] = Layer(layer.hidden, layer.lower)
        return layer

    def came_from(self, upper: Node, inode: int) -> None:
        """The node with that inode number now lives in `upper`."""
        self.origins[upper.inode] = inode
        self.copied[inode] = upper.inode

    def forget(self, upper: Node) -> None:
        """An upper node lost a name; if that was all there was, drop what is known of it."""
        if upper.path() is None and self.upper.find_node(upper.inode) is None:
            self.layers.pop(upper.inode, None)
            self.copied.pop(self.origins.pop(upper.inode, 0), None)

    # -- the filesystem ----------------------------------------------------------------------------------

    def usage(self) -> FileSystemUsage:
        """Of the upper layer, which is the one that grows."""
        return self.upper.usage()

    def discard_orphans(self) -> None:
        self.upper.discard_orphans()

    def accepts(self, snapshot: FileSystemSnapshot) -> bool:
        return isinstance(snapshot, _OverlaySnapshot) and self.upper.accepts(snapshot.upper)

    def snapshot(self) -> FileSystemSnapshot:
        with self.lock:
            for layer in self.layers.values():
                layer.shared = True
            return _OverlaySnapshot(
                self.lower, self.upper.snapshot(), dict(self.layers), dict(self.origins), self.clock
            )

    def restore(self, snapshot: FileSystemSnapshot) -> None:
        if not isinstance(snapshot, _OverlaySnapshot):
            raise TypeError(f"an OverlayFileSystem cannot restore the state of a {type(snapshot).__name__}")
        with self.lock:
            self.upper.restore(snapshot.upper)
            self._adopt(snapshot.layers, snapshot.origins)
            for node in self.live.values():
                node.stale = True
            self.live.clear()

    def _adopt(self, layers: Mapping[int, Layer], origins: Mapping[int, int]) -> None:
        self.layers = dict(layers)
        for layer in self.layers.values():
            layer.shared = True
        self.origins = dict(origins)
        self.copied = {inode: upper for upper, inode in origins.items()}

    def fork(self) -> Self:
        with self.lock:
            other = type(self)(self.lower, self.upper.fork(), clock=self.clock)
            for layer in self.layers.values():
                layer.shared = True
            other._adopt(self.layers, self.origins)
            return other

    def read_manifest(self, manifest: Manifest, chunks: Mapping[str, bytes]) -> FileSystemSnapshot:
        if (
            type(manifest) is not dict
            or manifest.get("format") != FORMAT
            or set(manifest) != {"format", "upper", "layers", "origins"}
        ):
            raise SnapshotError(f"the description of an overlay is not of format {FORMAT}")
        state = self.upper.read_manifest(manifest["upper"], chunks)
        try:
            layers = {
                inode: _read_layer(hidden, lower) for inode, hidden, lower in _lines(manifest["layers"], 3)
            }
            origins = {upper: _number(inode) for upper, inode in _lines(manifest["origins"], 2)}
        except ValueError as error:
            raise SnapshotError(f"the description of an overlay is not well formed: {error}") from error
        if len(set(origins.values())) != len(origins):
            raise SnapshotError("the description of an overlay gives two files one inode number")
        opened = state.open()
        assert isinstance(opened, NodeFileSystem)
        _check_once(opened.top.root, layers)
        return _OverlaySnapshot(self.lower, state, layers, origins, self.clock)


_NO_LAYER: Final = Layer()
_NO_LAYER.shared = True


def _lines(value: object, length: int) -> Iterator[list[Any]]:
    """Lists of `length`, each beginning with an inode number, in ascending order."""
    if type(value) is not list:
        raise ValueError("a table is not a list")
    last = 0
    for line in value:
        if type(line) is not list or len(line) != length or _number(line[0]) <= last:
            raise ValueError("a line of a table is too short, too long or out of order")
        last = line[0]
        yield line


def _number(value: object) -> int:
    if type(value) is not int or not 0 < value < 2**64:
        raise ValueError("an inode number is invalid")
    return value


def _text(value: object) -> bytes:
    if type(value) is not str:
        raise ValueError("a name is not a string")
    return bytes_of(value)


def _read_layer(hidden: object, lower: object) -> Layer:
    if type(hidden) is not list:
        raise ValueError("the hidden names are not a list")
    names = [_text(name) for name in hidden]
    if sorted(set(names)) != names:
        raise ValueError("hidden names are out of order")
    return Layer(names, None if lower is None else _text(lower))


def _check_once(root: Node, layers: Mapping[int, Layer]) -> None:
    """Refuse tables that show a directory of the lower layer at two places, perhaps inside itself."""
    #: The upper directory that each lower one is merged with.
    merged: dict[bytes, int] = {}
    pending: list[tuple[Node, bytes | None]] = [(root, b"")]
    while pending:
        directory, lower = pending.pop()
        if lower is not None and merged.setdefault(lower, directory.inode) != directory.inode:
            raise SnapshotError(f"{text_of(lower)!r} of the lower layer is shown twice by an overlay")
        hidden = layers.get(directory.inode, _NO_LAYER).hidden
        for entry in directory.entries():
            below = directory.lookup(entry.name) if entry.kind is FileKind.DIRECTORY else None
            if below is None:
                continue
            elsewhere = layers.get(below.inode, _NO_LAYER).lower
            if elsewhere is not None:
                pending.append((below, elsewhere or None))
            else:
                natural = lower is not None and entry.name not in hidden
                pending.append((below, (lower or b"") + b"/" + entry.name if natural else None))
    for layer in layers.values():
        if layer.lower:
            above, _, name = layer.lower.rpartition(b"/")
            if not layer.lower.startswith(b"/") or not _ordinary(layer.lower):
                raise SnapshotError("the place of a directory in the lower layer is not a plain path")
            while above not in merged:  # it is only seen where one above it is
                above, _, name = above.rpartition(b"/")
            if name not in layers.get(merged[above], _NO_LAYER).hidden:
                raise SnapshotError(
                    f"{text_of(layer.lower)!r} of the lower layer was moved and is still there"
                )


def _ordinary(path: bytes) -> bool:
    return not any(name in (b"", b".", b"..") for name in path.split(b"/")[1:])


class _OverlaySnapshot(FileSystemSnapshot):
    __slots__ = ("clock", "layers", "lower", "origins", "upper")

    def __init__(
        self,
        lower: NodeFileSystem,
        upper: FileSystemSnapshot,
        layers: dict[int, Layer],
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
