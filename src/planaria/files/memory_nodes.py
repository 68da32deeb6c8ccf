"""The nodes of a filesystem in memory, and what they have in common.

Live nodes are ordinary mutable objects. A node remembers the immutable record of the last snapshot
until it changes, and shares contents and names with it.
"""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar, cast

from planaria.files.filesystem import FileKind, FileSystemSnapshot, OpenFlags, Stat, StatMaker, failure
from planaria.files.inodes import InodeRecord, RecordTable
from planaria.files.node import MountPoint, Node, NodeHandle
from planaria.files.quota import MAX_FILE_SIZE, NODE_COST, Quota
from planaria.files.resolution import NodeFileSystem

__all__ = ["ROOT", "Clock", "MemoryHandle", "MemoryNode", "MemoryNodeStore", "MemorySymbolicLink"]

Value = TypeVar("Value")

#: The inode of the root.
ROOT: Final = 1
UNLIMITED: Final = 2**100
_DIRECTORY: Final = int(FileKind.DIRECTORY)

#: Gives the time in nanoseconds since the epoch.
Clock = Callable[[], int]


class MemoryNodeStore(NodeFileSystem):
    """What the nodes of one filesystem have in common: the table of inodes, the clock, the accounts."""

    __slots__ = (
        "bytes_limit",
        "changed",
        "clock",
        "file_limit",
        "handles",
        "handles_limit",
        "latest",
        "lock",
        "moves",
        "next_inode",
        "nodes",
        "nodes_limit",
        "orphans",
        "quota",
        "records",
        "table",
        "used",
    )

    def __init__(self, clock: Clock, quota: Quota) -> None:
        super().__init__(path_limit=quota.path_length, name_limit=quota.name_length)
        self.lock = threading.RLock()
        self.moves: int = 0
        self.clock = clock
        #: The limits; they are fixed when the filesystem is made.
        self.quota = quota
        self.bytes_limit = UNLIMITED if quota.bytes is None else quota.bytes
        self.file_limit = MAX_FILE_SIZE if quota.file_size is None else quota.file_size
        self.nodes_limit = UNLIMITED if quota.nodes is None else quota.nodes
        self.handles_limit = UNLIMITED if quota.handles is None else quota.handles

    def begin(
        self,
        records: RecordTable,
        *,
        next_inode: int,
        nodes: int,
        used: int,
        orphans: Iterable[int] = (),
    ) -> None:
        """Start with a state of which only the records exist yet."""
        self.moves += 1
        #: The latest snapshot, if there is one of this state.
        self.latest: FileSystemSnapshot | None = None
        #: The state at the last snapshot, and the inodes that changed since then.
        self.records = records
        self.changed: set[int] = set()
        self.table = NodeTable(self)
        self.next_inode = next_inode
        self.nodes = nodes
        self.used = used
        self.handles = 0
        #: Inodes without a name, which are kept while they are open.
        self.orphans = set(orphans)

    def thaw(self, record: InodeRecord) -> MemoryNode:
        """The live node of a record."""
        raise NotImplementedError

    def find_node(self, inode: int) -> Node | None:
        try:
            return self.table[inode]
        except KeyError:
            return None

    # The lock is held for these.

    def charge(self, cost: int) -> None:
        """Count `cost` more bytes, or ENOSPC."""
        if cost > 0 and self.used + cost > self.bytes_limit:
            raise failure(errno.ENOSPC, None, f"No space left on device (quota of {self.bytes_limit} bytes)")
        self.used += cost

    def nameless(self, node: MemoryNode) -> None:
        """The last name is gone."""
        if node.opens:
            self.orphans.add(node.inode)
        else:
            self.free(node)

    def free(self, node: MemoryNode) -> None:
        """The last name and the last handle are gone."""
        self.used -= node.cost()
        self.nodes -= 1
        self.changed.add(node.inode)
        self.orphans.discard(node.inode)
        del self.table[node.inode]


class NodeTable(dict[int, "MemoryNode"]):
    """The live nodes by inode; one that is not there yet is made from its record."""

    __slots__ = ("store",)

    def __init__(self, store: MemoryNodeStore) -> None:
        self.store = store

    def __missing__(self, inode: int) -> MemoryNode:
        store = self.store
        with store.lock:
            node = self.get(inode)
            if node is None:
                if inode in store.changed:
                    raise KeyError(inode)  # it was removed; the records do not know yet
                node = self[inode] = store.thaw(store.records[inode])
            return node


class MemoryNode(Node):
    __slots__ = (
        "atime",
        "ctime",
        "filesystem",
        "format",
        "inode",
        "links",
        "mode",
        "mtime",
        "name",
        "opens",
        "record",
        "size",
        "stale",
        "up",
    )

    filesystem: MemoryNodeStore

    def __init__(self, filesystem: MemoryNodeStore, inode: int, mode: int, now: int) -> None:
        self.filesystem = filesystem
        self.inode = inode
        self.mode = mode
        self.format = mode & 0o170000
        self.links = 1
        self.size = 0
        self.atime = self.mtime = self.ctime = now
        #: Where it is: inode of a directory and the name there (one of them for hard links).
        self.up = inode
        self.name = b""
        self.opens = 0
        self.record: InodeRecord | None = None
        self.stale = False

    def cost(self) -> int:
        """What freeing the node gives back, in bytes."""
        return NODE_COST

    def fields(self) -> dict[str, Any]:
        """What the record holds beside what every node has."""
        return {}

    def freeze(self) -> InodeRecord:
        if self.record is None:
            self.record = InodeRecord(
                self.inode,
                self.mode,
                self.links,
                self.atime,
                self.mtime,
                self.ctime,
                self.up,
                self.name,
                **self.fields(),
            )
        return self.record

    def become(self, record: InodeRecord) -> None:
        """Take the state of a record."""
        self.mode = record.mode
        self.links = record.links
        self.atime = record.atime
        self.mtime = record.mtime
        self.ctime = record.ctime
        self.up = record.up
        self.name = record.name
        self.record = record

    def changing(self) -> None:
        """To be called before any change: the node is no longer what its record says."""
        self.record = None
        self.filesystem.changed.add(self.inode)

    def stat(self, device: int) -> Stat:
        return self.stat_as(Stat, device)

    def stat_as(self, make: StatMaker[Value], device: int) -> Value:
        if self.stale:
            raise failure(errno.ESTALE)
        return make(device, self.inode, self.mode, self.links, self.size, self.atime, self.mtime, self.ctime)

    def open(self, flags: OpenFlags, mount: MountPoint) -> NodeHandle:
        filesystem = self.filesystem
        with filesystem.lock:
            if filesystem.handles >= filesystem.handles_limit:
                raise failure(errno.EMFILE)
            handle = self._handle(flags, mount)
            filesystem.handles += 1
            self.opens += 1
        return handle

    def _handle(self, flags: OpenFlags, mount: MountPoint) -> NodeHandle:
        return MemoryHandle(self, flags, mount)

    def utime(self, atime: int | None, mtime: int | None) -> None:
        with self.filesystem.lock:
            if self.stale:
                raise failure(errno.ESTALE)
            self.changing()
            if atime is not None:
                self.atime = atime
            if mtime is not None:
                self.mtime = mtime
            self.ctime = self.filesystem.clock()

    def chmod(self, mode: int) -> None:
        with self.filesystem.lock:
            if self.stale:
                raise failure(errno.ESTALE)
            self.changing()
            self.mode = self.format | (mode & 0o7777)
            self.ctime = self.filesystem.clock()

    def path(self) -> bytes | None:
        if not self.links or self.stale:
            return None
        table = self.filesystem.table
        parts: list[bytes] = []
        node: MemoryNode = self
        while node.inode != ROOT:
            above = cast("MemoryParent", table[node.up])
            if above.names.get(node.name) != node.inode:
                return self._find()
            parts.append(node.name)
            node = above
        return b"/" + b"/".join(reversed(parts))

    def _find(self) -> bytes | None:
        """Another name of a file whose known name was taken away: rare, so it is searched for."""
        table = self.filesystem.table
        pending = [ROOT]
        while pending:
            directory = cast("MemoryParent", table[pending.pop()])
            for name, inode in directory.names.items():
                if inode == self.inode:
                    self.up, self.name = directory.inode, name
                    return self.path()
                if table[inode].format == _DIRECTORY:
                    pending.append(inode)
        return None


class MemoryParent(MemoryNode):
    """A node with names in it: what is needed of a directory to find a node's path."""

    __slots__ = ("names",)

    names: dict[bytes, int]
    """The inode of each name."""


class MemorySymbolicLink(MemoryNode):
    __slots__ = ("target",)

    target: bytes

    def cost(self) -> int:
        return NODE_COST + len(self.target)

    def become(self, record: InodeRecord) -> None:
        super().become(record)
        self.point_to(cast(bytes, record.target))

    def point_to(self, target: bytes) -> None:
        """Set where the link leads."""
        self.target = target
        self.size = len(target)

    def fields(self) -> dict[str, Any]:
        return {"target": self.target}

    def readlink(self) -> bytes:
        return self.target


class MemoryHandle(NodeHandle):
    __slots__ = ()

    node: MemoryNode

    def check(self) -> None:
        super().check()
        if self.node.stale:
            raise failure(errno.ESTALE)

    def stat_as(self, make: StatMaker[Value]) -> Value:
        if self.closed:
            raise failure(errno.EBADF)
        return self.node.stat_as(make, self.mount.device)

    def close(self) -> None:
        if self.closed:
            return
        self.closed = True
        self.mount.opens -= 1
        node = self.node
        filesystem = node.filesystem
        with filesystem.lock:
            if not node.stale:
                node.opens -= 1
                filesystem.handles -= 1
                if not node.links and not node.opens:
                    filesystem.free(node)

    def path(self) -> bytes | None:
        self.check()
        return super().path()
