"""Several filesystems as one tree: mounting and unmounting while it is in use."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Self

from planaria.errors import SnapshotError
from planaria.files.filesystem import (
    FileKind,
    FileSystem,
    FileSystemSnapshot,
    FileSystemUsage,
    Manifest,
    failure,
)
from planaria.files.manifest import text_of
from planaria.files.node import MountPoint, Node, NodeStore
from planaria.files.resolution import NodeFileSystem
from planaria.files.stateless import StatelessFileSystem

__all__ = ["MountFileSystem", "MountSnapshot", "Mounted"]

FORMAT: Final = "planaria-mounts-1"
_DIRECTORY: Final = int(FileKind.DIRECTORY)


@dataclass(frozen=True, slots=True)
class Mounted:
    """One line of the table of mounts."""

    path: bytes
    filesystem: FileSystem
    read_only: bool
    shared: bool
    """Others use the filesystem too, so it is neither captured nor copied with this tree."""


class MountFileSystem(NodeFileSystem):
    """A tree that starts with the filesystem `root` and has others mounted on its directories.

    Each mounted filesystem has a device number of its own in `Stat`, by order of mounting; links and
    renames across are refused (EXDEV), and a directory with a mount on it is busy (EBUSY).
    """

    __slots__ = ("_last_device", "_latest")

    def __init__(self, root: FileSystem, *, read_only: bool = False) -> None:
        filesystem = _with_nodes(root)
        super().__init__(path_limit=filesystem.path_limit, name_limit=filesystem.name_limit)
        self._last_device = 1
        #: The latest snapshot, with those mounted filesystems that have a state and what that was, as long as
        #: what is mounted has not changed.
        self._latest: tuple[list[tuple[NodeStore, FileSystemSnapshot]], MountSnapshot] | None = None
        self.top = MountPoint(
            filesystem, filesystem.top.root, read_only=read_only or filesystem.top.read_only
        )

    # -- the table -------------------------------------------------------------------------------

    def mount(
        self, path: bytes, filesystem: FileSystem, *, read_only: bool = False, shared: bool = False
    ) -> None:
        """Put `filesystem` over the directory `path`, which has to exist.

        With `shared` the filesystem has another owner as well: `snapshot` and `fork` record
        that it is mounted and leave its contents alone.
        """
        inner = _with_nodes(filesystem)
        device = next((m.device for m in self._points() if m.filesystem is inner), self._last_device + 1)
        self._attach(path, inner, device, read_only, shared)

    def _attach(self, path: bytes, filesystem: NodeStore, device: int, read_only: bool, shared: bool) -> None:
        parent, covered = self.existing(path, True, None)
        if covered.format != _DIRECTORY:
            raise failure(errno.ENOTDIR, path)
        self._last_device = max(self._last_device, device)
        self._latest = None
        self._put_over(parent, covered, filesystem, device, read_only, shared)

    @staticmethod
    def _put_over(
        parent: MountPoint,
        covered: Node,
        filesystem: NodeStore,
        device: int,
        read_only: bool,
        shared: bool,
    ) -> MountPoint:
        point = MountPoint(
            filesystem,
            filesystem.top.root,
            device=device,
            read_only=read_only or filesystem.top.read_only,
            shared=shared,
            parent=parent,
            covered=covered,
        )
        parent.cover(covered.inode, point)
        return point

    def unmount(self, path: bytes, *, lazy: bool = False) -> None:
        """Take away what is mounted at `path`.

        EINVAL when nothing is, EBUSY when something is mounted inside or (unless `lazy`) open;
        handles that are open stay usable.
        """
        mount, node = self.existing(path, True, None)
        if node is not mount.root or mount.parent is None or mount.covered is None:
            raise failure(errno.EINVAL, path)
        if mount.points or (mount.opens and not lazy):
            raise failure(errno.EBUSY, path)
        self._latest = None
        mount.parent.uncover(mount.covered.inode)

    def mounts(self) -> list[Mounted]:
        """What is mounted where; the root first, and outer ones before inner ones."""
        return [
            Mounted(mount.path() or b"/", mount.filesystem, mount.read_only, mount.shared)
            for mount in self._points()
        ]

    def own_filesystems(self) -> Iterator[NodeStore]:
        """What is mounted and belongs to this tree alone."""
        return (mount.filesystem for mount in self._points() if not mount.shared)

    def _points(self) -> Iterator[MountPoint]:
        pending = [self.top]
        while pending:
            mount = pending.pop()
            yield mount
            if mount.points:
                pending += sorted(mount.points.values(), key=lambda point: point.device, reverse=True)

    def mount_of(self, device: int) -> MountPoint | None:
        return next((mount for mount in self._points() if mount.device == device), None)

    def usage(self) -> FileSystemUsage:
        """Of the root filesystem; the others have limits of their own."""
        return self.top.filesystem.usage()

    def discard_orphans(self) -> None:
        for mount in self._points():
            if not mount.shared:
                mount.filesystem.discard_orphans()

    # -- as a value --------------------------------------------------------------------------------

    def snapshot(self) -> MountSnapshot:
        if self._latest is not None:
            known, latest = self._latest
            for filesystem, state in known:
                if filesystem.snapshot() is not state:
                    break
            else:
                return latest
        points = list(self._points())
        latest = MountSnapshot(
            [
                _Captured(
                    mount.path() or b"/",
                    mount.device,
                    mount.read_only,
                    mount.filesystem if mount.shared else None,
                    None if mount.shared else mount.filesystem.snapshot(),
                )
                for mount in points
            ]
        )
        # A rename of a directory that has a mount must be seen, as a change of the root's filesystem.
        if all(mount.parent is None or mount.parent is self.top for mount in points):
            captured = zip((mount.filesystem for mount in points), latest.mounts, strict=True)
            self._latest = (
                [
                    (filesystem, one.state)
                    for filesystem, one in captured
                    if one.state is not None
                    and (filesystem is self.top.filesystem or not isinstance(filesystem, StatelessFileSystem))
                ],
                latest,
            )
        return latest

    def restore(self, snapshot: FileSystemSnapshot) -> None:
        """As in `FileSystem`; mounts are matched by their path, and the table becomes what it was.

        Raises SnapshotError, with nothing changed, when a shared filesystem was captured as mounted
        and is not there.
        """
        if not isinstance(snapshot, MountSnapshot):
            raise TypeError(f"a MountFileSystem cannot restore the state of a {type(snapshot).__name__}")
        self._latest = None
        present = {mount.path() or b"/": mount for mount in self._points()}
        for captured in snapshot.mounts:
            mount = present.get(captured.path)
            if captured.state is None:
                if mount is None and captured.shared is None:
                    raise SnapshotError(f"{text_of(captured.path)} is not mounted: mount it before restoring")
                continue
            if mount is not None and (mount.shared or not mount.filesystem.accepts(captured.state)):
                raise SnapshotError(f"another kind of filesystem was mounted at {text_of(captured.path)}")
        for mount in present.values():
            mount.uncover()
        for captured in snapshot.mounts:
            mount = present.get(captured.path)
            if mount is not None:
                if captured.state is not None:
                    mount.filesystem.restore(captured.state)
                mount.read_only = captured.read_only
                mount.device = captured.device
                if mount is self.top:
                    continue
                # The directory it covers is another object in the restored state.
                parent, covered = self.existing(captured.path, True, None)
                mount.parent, mount.covered = parent, covered
                parent.cover(covered.inode, mount)
            else:
                filesystem = captured.shared if captured.state is None else captured.state.open()
                assert filesystem is not None
                self._attach(
                    captured.path,
                    _with_nodes(filesystem),
                    captured.device,
                    captured.read_only,
                    captured.state is None,
                )
        self._last_device = max(mount.device for mount in self._points())

    def fork(self) -> Self:
        # One that is mounted twice is one filesystem in the copy, too.
        copies: dict[int, NodeStore] = {}
        points: dict[MountPoint, MountPoint] = {}
        other: Self | None = None
        for mount in self._points():
            filesystem = mount.filesystem
            if not mount.shared:
                if mount.device not in copies:
                    copies[mount.device] = filesystem.fork()
                filesystem = copies[mount.device]
            if mount.parent is None or mount.covered is None:
                other = type(self)(filesystem, read_only=mount.read_only)
                points[mount] = other.top
            else:
                parent = points[mount.parent]
                covered = parent.filesystem.find_node(mount.covered.inode)
                assert covered is not None, "a fork has the nodes of the original, by the same numbers"
                points[mount] = self._put_over(
                    parent, covered, filesystem, mount.device, mount.read_only, mount.shared
                )
        assert other is not None
        other._last_device = self._last_device
        return other

    def read_manifest(self, manifest: Manifest, chunks: Mapping[str, bytes]) -> MountSnapshot:
        """As in `FileSystem`. Each captured filesystem is read by the one mounted at its path."""
        if type(manifest) is not dict or manifest.get("format") != FORMAT:
            raise SnapshotError(f"the description of the mounts is not of format {FORMAT}")
        lines = manifest.get("mounts")
        if type(lines) is not list or not lines:
            raise SnapshotError("the description of the mounts lists none")
        present = {text_of(mount.path() or b"/"): mount for mount in self._points()}
        mounts: list[_Captured] = []
        devices: dict[int, NodeStore] = {}
        for line in lines:
            if type(line) is not dict or set(line) != {"path", "device", "read_only", "state"}:
                raise SnapshotError("a mount is not described by path, device, read_only and state")
            path, device = line["path"], line["device"]
            mount = present.pop(path, None) if type(path) is str else None
            if mount is None:
                raise SnapshotError(
                    f"{str(path)[:200]!r} is not mounted, or is listed twice: mount it before restoring"
                )
            if type(device) is not int or not 0 < device < 2**32 or type(line["read_only"]) is not bool:
                raise SnapshotError(f"the mount at {path!r} has an invalid description")
            if (mount is self.top) != (not mounts) or mount.shared != (line["state"] is None):
                raise SnapshotError(f"the mount at {path!r} is out of order or of another kind")
            if mount.read_only and not line["read_only"]:
                raise SnapshotError(f"the mount at {path!r} is read-only here")
            if devices.setdefault(device, mount.filesystem) is not mount.filesystem:
                raise SnapshotError("two filesystems have the same device number")
            state = None if mount.shared else mount.filesystem.read_manifest(line["state"], chunks)
            mounts.append(
                _Captured(
                    mount.path() or b"/",
                    device,
                    line["read_only"],
                    mount.filesystem if mount.shared else None,
                    state,
                )
            )
        snapshot = MountSnapshot(mounts)
        try:
            opened = [(mounted.path, mounted.filesystem) for mounted in snapshot.open().mounts()]
        except OSError as error:
            raise SnapshotError(f"a mount point is not a directory: {error}") from error
        if sorted(path for path, _ in opened) != sorted(mount.path for mount in mounts):
            raise SnapshotError("a mount point is a symbolic link")
        return snapshot


def _with_nodes(filesystem: FileSystem) -> NodeStore:
    if not isinstance(filesystem, NodeFileSystem) or isinstance(filesystem, MountFileSystem):
        raise TypeError(
            f"a {type(filesystem).__name__} cannot be mounted: it has to be a NodeFileSystem, "
            "and of a MountFileSystem its parts"
        )
    return filesystem


class _Captured(NamedTuple):
    path: bytes
    device: int
    read_only: bool
    shared: NodeStore | None
    state: FileSystemSnapshot | None


class MountSnapshot(FileSystemSnapshot):
    """The mounts of a tree, each with the state of its filesystem unless it is shared."""

    __slots__ = ("mounts",)

    def __init__(self, mounts: list[_Captured]) -> None:
        self.mounts = mounts

    def open(self) -> MountFileSystem:
        """A tree in this state. Shared filesystems are the same objects as when it was captured."""
        tree: MountFileSystem | None = None
        for mount in self.mounts:
            filesystem = mount.shared if mount.state is None else mount.state.open()
            assert filesystem is not None
            if tree is None:
                tree = MountFileSystem(filesystem, read_only=mount.read_only)
            else:
                tree._attach(
                    mount.path, _with_nodes(filesystem), mount.device, mount.read_only, mount.state is None
                )
        assert tree is not None
        return tree

    def manifest(self) -> Manifest:
        return {"format": FORMAT, "mounts": [_describe(mount) for mount in self.mounts]}

    def chunks(self) -> Mapping[str, bytes]:
        merged: dict[str, bytes] = {}
        for mount in self.mounts:
            if mount.state is not None:
                merged.update(mount.state.chunks())
        return merged


def _describe(mount: _Captured) -> dict[str, Any]:
    return {
        "path": text_of(mount.path),
        "device": mount.device,
        "read_only": mount.read_only,
        "state": None if mount.state is None else mount.state.manifest(),
    }
