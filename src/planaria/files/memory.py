"""A filesystem in memory, with everything POSIX says, whose states are cheap values.

A snapshot is a table of immutable records, one for each inode; it costs by what changed since the
last one. A fork starts with the records alone and makes nodes when they are first looked up.

Reading does not move `atime` (as with the mount option noatime), so that reading changes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from os import PathLike
from typing import Final, Self, cast

from planaria.files.filesystem import FileKind, FileSystemSnapshot, FileSystemUsage, Manifest
from planaria.files.hostblob import HostBlob
from planaria.files.inodes import InodeRecord, RecordTable
from planaria.files.manifest import memory_chunks, memory_manifest, read_records
from planaria.files.memory_directory import MemoryDirectory
from planaria.files.memory_file import MemoryHostFile, RegularFile
from planaria.files.memory_nodes import ROOT, Clock, MemoryNode, MemoryNodeStore, MemorySymbolicLink
from planaria.files.node import MountPoint
from planaria.files.quota import NODE_COST, Quota

__all__ = ["MemoryFileSystem", "MemorySnapshot", "read_memory_manifest"]

_DIRECTORY: Final = int(FileKind.DIRECTORY)
_REGULAR: Final = int(FileKind.REGULAR)


class MemoryFileSystem(MemoryNodeStore):
    """A filesystem in memory, safe to use from several threads.

    `clock` gives the time in nanoseconds since the epoch; inode numbers are counted, so with a
    clock that repeats, the same operations give the same state. `quota` limits its growth.
    """

    __slots__ = ()

    def __init__(self, *, clock: Clock = time.time_ns, quota: Quota | None = None) -> None:
        super().__init__(clock, quota or Quota())
        now = clock()
        self.begin(RecordTable(), next_inode=ROOT + 1, nodes=1, used=NODE_COST)
        root = MemoryDirectory(self, ROOT, _DIRECTORY | 0o755, now)
        root.links = 2
        self.table[ROOT] = root
        self.changed.add(ROOT)
        self.top = MountPoint(self, root)

    # -- looking ---------------------------------------------------------------------------------

    def usage(self) -> FileSystemUsage:
        return FileSystemUsage(self.used, self.quota.bytes, self.nodes, self.quota.nodes)

    def discard_orphans(self) -> None:
        with self.lock:
            for inode in list(self.orphans):
                node = self.table[inode]
                if not node.opens:
                    self.free(node)

    def thaw(self, record: InodeRecord) -> MemoryNode:
        kind: type[MemoryNode] = RegularFile
        if record.names is not None:
            kind = MemoryDirectory
        elif record.target is not None:
            kind = MemorySymbolicLink
        elif record.blob is not None:
            kind = MemoryHostFile
        node = kind(self, record.inode, record.mode, record.mtime)
        node.become(record)
        return node

    # -- making nodes ------------------------------------------------------------------------------

    def add_host_file(
        self, path: bytes, host: str | PathLike[str] | HostBlob, *, mode: int = 0o444, mtime: int = 0
    ) -> None:
        """Show one file of the host here, read only and without copying it.

        `mtime` is in nanoseconds; the host's own times, owner and inode are not shown. Give the same
        `HostBlob` to many filesystems to open the file once.
        """
        blob = host if isinstance(host, HostBlob) else HostBlob.open(host)
        parent, name = self._vacant(path, None)
        with self.lock:
            directory = cast("MemoryDirectory", parent)
            cost = directory.check_new(name, 0)
            node = MemoryHostFile(self, self.next_inode, _REGULAR | mode, mtime)
            node.blob = blob
            node.size = blob.size
            directory.insert_new(name, node, cost)

    # -- as a value --------------------------------------------------------------------------------

    def snapshot(self) -> MemorySnapshot:
        with self.lock:
            if self.changed:
                table = self.table
                changes: dict[int, InodeRecord | None] = {}
                for inode in self.changed:
                    node = dict.get(table, inode)
                    changes[inode] = None if node is None else node.freeze()
                self.records = self.records.updated(changes)
                self.changed.clear()
            latest = self.latest
            if not (isinstance(latest, MemorySnapshot) and latest.is_of(self)):
                latest = self.latest = MemorySnapshot(
                    self.records, self.next_inode, self.nodes, self.used, frozenset(self.orphans)
                )
            return latest

    def accepts(self, snapshot: FileSystemSnapshot) -> bool:
        return isinstance(snapshot, MemorySnapshot)

    def restore(self, snapshot: FileSystemSnapshot) -> None:
        if not isinstance(snapshot, MemorySnapshot):
            raise TypeError(f"a MemoryFileSystem cannot restore the state of a {type(snapshot).__name__}")
        with self.lock:
            root = cast(MemoryDirectory, self.top.root)
            for node in self.table.values():
                node.stale = node is not root
            self._begin_with(snapshot)
            # The root stays the same object: others have mounted it, and open handles of it stay good.
            root.become(snapshot.records[ROOT])
            self.table[ROOT] = root
            self.handles = root.opens

    def fork(self) -> Self:
        other = type(self).__new__(type(self))
        snapshot = self.snapshot()
        MemoryNodeStore.__init__(other, self.clock, self.quota)
        other._adopt(snapshot)
        return other

    def _begin_with(self, snapshot: MemorySnapshot) -> None:
        self.begin(
            snapshot.records,
            next_inode=snapshot.next_inode,
            nodes=snapshot.nodes,
            used=snapshot.used,
            orphans=snapshot.orphans,
        )

    def _adopt(self, snapshot: MemorySnapshot) -> None:
        self._begin_with(snapshot)
        self.top = MountPoint(self, self.table[ROOT])

    @classmethod
    def from_snapshot(
        cls, snapshot: MemorySnapshot, *, clock: Clock = time.time_ns, quota: Quota | None = None
    ) -> Self:
        """A new filesystem that starts in a captured state."""
        filesystem = cls.__new__(cls)
        MemoryNodeStore.__init__(filesystem, clock, quota or Quota())
        filesystem._adopt(snapshot)
        return filesystem

    def read_manifest(
        self,
        manifest: Manifest,
        chunks: Mapping[str, bytes],
        *,
        host_files: Mapping[str, HostBlob] | None = None,
    ) -> MemorySnapshot:
        """As in `FileSystem`; `host_files` are the blobs for host files in it, by their digest."""
        return read_memory_manifest(manifest, chunks, quota=self.quota, host_files=host_files or {})


class MemorySnapshot(FileSystemSnapshot):
    """A state of a `MemoryFileSystem`."""

    __slots__ = ("next_inode", "nodes", "orphans", "records", "used")

    def __init__(
        self, records: RecordTable, next_inode: int, nodes: int, used: int, orphans: frozenset[int]
    ) -> None:
        self.records = records
        self.next_inode = next_inode
        self.nodes = nodes
        self.used = used
        self.orphans = orphans

    def is_of(self, filesystem: MemoryFileSystem) -> bool:
        """Whether a filesystem without changes since its last snapshot is in this state."""
        return (
            self.records is filesystem.records
            and self.next_inode == filesystem.next_inode
            and self.nodes == filesystem.nodes
            and self.used == filesystem.used
            and self.orphans == filesystem.orphans
        )

    def open(self) -> MemoryFileSystem:
        return MemoryFileSystem.from_snapshot(self)

    def manifest(self) -> Manifest:
        return memory_manifest(self.records, self.next_inode)

    def chunks(self) -> Mapping[str, bytes]:
        return memory_chunks(self.records)


def read_memory_manifest(
    manifest: Manifest,
    chunks: Mapping[str, bytes],
    *,
    quota: Quota | None = None,
    host_files: Mapping[str, HostBlob] | None = None,
) -> MemorySnapshot:
    """The snapshot that a manifest describes; SnapshotError unless it is well formed in every respect.

    Only states that operations could have led to are accepted: a tree from the root, each directory
    with one name, chunks that have their digest, everything within `quota`.
    """
    return MemorySnapshot(*read_records(manifest, chunks, quota or Quota(), host_files or {}))
