"""A filesystem in memory, with everything POSIX says, whose states are cheap values.

Live nodes are ordinary mutable objects. A snapshot is a table of immutable records, one for each
inode; a node remembers its record until it changes, so that a snapshot costs by what changed since
the last one. A fork starts with the records alone and makes nodes when they are first looked up.

Reading does not move `atime` (as with the mount option noatime), so that reading changes nothing.
"""

from __future__ import annotations

import errno
import threading
import time
from collections.abc import Callable, Mapping
from os import PathLike
from typing import Any, Final, Self, cast

from planaria.files.contents import CHUNK, MASK, SHIFT, Chunk, Chunks, frozen
from planaria.files.failure import failure
from planaria.files.filesystem import (
    DirEntry,
    FileKind,
    FileSystemSnapshot,
    FileSystemUsage,
    Handle,
    Manifest,
    OpenFlags,
    Stat,
)
from planaria.files.hostblob import HostBlob
from planaria.files.node import MountPoint, Node, NodeHandle
from planaria.files.quota import CHUNK_COST, MAX_FILE_SIZE, NAME_COST, NODE_COST, Quota
from planaria.files.records import Record, RecordTable
from planaria.files.resolution import NodeFileSystem

__all__ = ["MemoryFileSystem"]

_DIRECTORY: Final = int(FileKind.DIRECTORY)
_REGULAR: Final = int(FileKind.REGULAR)
_SYMBOLIC_LINK: Final = int(FileKind.SYMBOLIC_LINK)
_READ: Final = int(OpenFlags.READ)
_WRITE: Final = int(OpenFlags.WRITE)
_TRUNCATE: Final = int(OpenFlags.TRUNCATE)
_KINDS: Final = {int(kind): kind for kind in FileKind}
_ROOT: Final = 1
_UNLIMITED: Final = 2**100
#: The size of a directory, whatever it holds, as ext4 tells it for small ones.
_DIRECTORY_SIZE: Final = 4096

Clock = Callable[[], int]


class MemoryFileSystem(NodeFileSystem):
    """A filesystem in memory, safe to use from several threads.

    `clock` gives the time in nanoseconds since the epoch; inode numbers are counted, so with a
    clock that repeats, the same operations give the same state. `quota` limits its growth.
    """

    __slots__ = (
        "_bytes_limit",
        "_changed",
        "_clock",
        "_file_limit",
        "_handles",
        "_handles_limit",
        "_lock",
        "_next_inode",
        "_nodes",
        "_nodes_limit",
        "_quota",
        "_records",
        "_table",
        "_used",
    )

    def __init__(self, *, clock: Clock = time.time_ns, quota: Quota | None = None) -> None:
        self._prepare(clock, quota or Quota())
        now = clock()
        self._begin(RecordTable(), next_inode=_ROOT + 1, nodes=1, used=NODE_COST)
        root = _Directory(self, _ROOT, _DIRECTORY | 0o755, now)
        root.links = 2
        self._table[_ROOT] = root
        self._changed.add(_ROOT)
        self.top = MountPoint(self, root)

    def _prepare(self, clock: Clock, quota: Quota) -> None:
        super().__init__(path_limit=quota.path_length, name_limit=quota.name_length)
        self._lock = threading.RLock()
        self._clock = clock
        self._quota = quota
        self._bytes_limit = _UNLIMITED if quota.bytes is None else quota.bytes
        self._file_limit = MAX_FILE_SIZE if quota.file_size is None else quota.file_size
        self._nodes_limit = _UNLIMITED if quota.nodes is None else quota.nodes
        self._handles_limit = _UNLIMITED if quota.handles is None else quota.handles

    def _begin(self, records: RecordTable, *, next_inode: int, nodes: int, used: int) -> None:
        """Start with a state of which only the records exist yet."""
        self._records = records
        self._table = _NodeTable(self, records)
        self._changed: set[int] = set()
        self._next_inode = next_inode
        self._nodes = nodes
        self._used = used
        self._handles = 0

    @property
    def quota(self) -> Quota:
        """The limits; they are fixed when the filesystem is made."""
        return self._quota

    # -- looking ---------------------------------------------------------------------------------

    def usage(self) -> FileSystemUsage:
        return FileSystemUsage(self._used, self._quota.bytes, self._nodes, self._quota.nodes)

    def open_node(self, device: int, inode: int, flags: OpenFlags) -> Handle:
        with self._lock:
            try:
                node = self._table[inode]
            except KeyError:
                raise failure(errno.ESTALE) from None
            return self._open_node(b"", node, int(flags), self.top, False)

    def discard_orphans(self) -> None:
        with self._lock:
            orphans = [inode for inode, record in self._records.items() if not record.links]
            for inode in orphans:
                if inode in self._table or inode not in self._changed:
                    node = self._table[inode]
                    if not node.links and not node.opens:
                        self._free(node)

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
        with self._lock:
            directory = cast("_Directory", parent)
            cost = directory.check_new(name, 0)
            node = _HostFile(self, self._next_inode, _REGULAR | mode, mtime)
            node.blob = blob
            node.size = blob.size
            directory.insert_new(name, node, cost)

    # -- as a value --------------------------------------------------------------------------------

    def snapshot(self) -> MemorySnapshot:
        with self._lock:
            if self._changed:
                table = self._table
                changes: dict[int, Record | None] = {}
                for inode in self._changed:
                    node = dict.get(table, inode)
                    changes[inode] = None if node is None else node.freeze()
                self._records = table.records = self._records.updated(changes)
                self._changed.clear()
            return MemorySnapshot(self._records, self._next_inode, self._nodes, self._used)

    def restore(self, snapshot: FileSystemSnapshot) -> None:
        if not isinstance(snapshot, MemorySnapshot):
            raise TypeError(f"a MemoryFileSystem cannot take the state of a {type(snapshot).__name__}")
        with self._lock:
            root = cast(_Directory, self.top.root)
            for node in self._table.values():
                node.stale = node is not root
            self._begin(
                snapshot.records, next_inode=snapshot.next_inode, nodes=snapshot.nodes, used=snapshot.used
            )
            # The root stays the same object: others have mounted it, and open handles of it stay good.
            root.become(snapshot.records[_ROOT])
            self._table[_ROOT] = root
            self._handles = root.opens

    def fork(self) -> Self:
        other = type(self).__new__(type(self))
        snapshot = self.snapshot()
        other._prepare(self._clock, self._quota)
        other._adopt(snapshot)
        return other

    def _adopt(self, snapshot: MemorySnapshot) -> None:
        self._begin(
            snapshot.records, next_inode=snapshot.next_inode, nodes=snapshot.nodes, used=snapshot.used
        )
        self.top = MountPoint(self, self._table[_ROOT])

    @classmethod
    def from_snapshot(
        cls, snapshot: MemorySnapshot, *, clock: Clock = time.time_ns, quota: Quota | None = None
    ) -> Self:
        """A new filesystem that starts in a captured state."""
        filesystem = cls.__new__(cls)
        filesystem._prepare(clock, quota or Quota())
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
        from planaria.files.manifest import read_memory_manifest

        return read_memory_manifest(manifest, chunks, quota=self._quota, host_files=host_files or {})

    # -- accounting (the lock is held) ---------------------------------------------------------------

    def _charge(self, cost: int) -> None:
        if cost > 0 and self._used + cost > self._bytes_limit:
            raise failure(
                errno.ENOSPC, None, f"No space left on device (the quota is {self._quota.bytes} bytes)"
            )
        self._used += cost

    def _free(self, node: _MemoryNode) -> None:
        """The last name and the last handle are gone."""
        self._used -= node.cost()
        self._nodes -= 1
        self._changed.add(node.inode)
        del self._table[node.inode]


class _NodeTable(dict[int, "_MemoryNode"]):
    """The live nodes by inode; one that is not there yet is made from its record."""

    __slots__ = ("filesystem", "records")

    def __init__(self, filesystem: MemoryFileSystem, records: RecordTable) -> None:
        self.filesystem = filesystem
        self.records = records

    def __missing__(self, inode: int) -> _MemoryNode:
        with self.filesystem._lock:
            node = self.get(inode)
            if node is None:
                if inode in self.filesystem._changed:
                    raise KeyError(inode)  # it was removed; the records do not know yet
                node = self[inode] = _thaw(self.filesystem, self.records[inode])
            return node


class _MemoryNode(Node):
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
        "stale",
        "up",
    )

    filesystem: MemoryFileSystem

    def __init__(self, filesystem: MemoryFileSystem, inode: int, mode: int, now: int) -> None:
        self.filesystem = filesystem
        self.inode = inode
        self.mode = mode
        self.format = mode & 0o170000
        self.links = 1
        self.atime = self.mtime = self.ctime = now
        #: Where it is: inode of a directory and the name there (one of them for hard links).
        self.up = inode
        self.name = b""
        self.opens = 0
        self.record: Record | None = None
        self.stale = False

    def _size(self) -> int:
        raise NotImplementedError

    def cost(self) -> int:
        """What freeing the node gives back, in bytes."""
        return NODE_COST

    def fields(self) -> dict[str, Any]:
        """What the record holds beside what every node has."""
        return {}

    def freeze(self) -> Record:
        if self.record is None:
            self.record = Record(
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

    def become(self, record: Record) -> None:
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
        self.filesystem._changed.add(self.inode)

    def stat(self, device: int) -> Stat:
        if self.stale:
            raise failure(errno.ESTALE)
        return Stat(
            device, self.inode, self.mode, self.links, self._size(), self.atime, self.mtime, self.ctime
        )

    def open(self, flags: OpenFlags, mount: MountPoint) -> NodeHandle:
        filesystem = self.filesystem
        with filesystem._lock:
            if filesystem._handles >= filesystem._handles_limit:
                raise failure(errno.EMFILE)
            handle = self._handle(flags, mount)
            filesystem._handles += 1
            self.opens += 1
        return handle

    def _handle(self, flags: OpenFlags, mount: MountPoint) -> NodeHandle:
        return _Handle(self, flags, mount)

    def utime(self, atime: int | None, mtime: int | None) -> None:
        with self.filesystem._lock:
            if self.stale:
                raise failure(errno.ESTALE)
            self.changing()
            if atime is not None:
                self.atime = atime
            if mtime is not None:
                self.mtime = mtime
            self.ctime = self.filesystem._clock()

    def chmod(self, mode: int) -> None:
        with self.filesystem._lock:
            if self.stale:
                raise failure(errno.ESTALE)
            self.changing()
            self.mode = self.format | (mode & 0o7777)
            self.ctime = self.filesystem._clock()

    def readlink(self) -> bytes:
        raise failure(errno.EINVAL)

    def path(self) -> bytes | None:
        if not self.links or self.stale:
            return None
        table = self.filesystem._table
        parts: list[bytes] = []
        node: _MemoryNode = self
        while node.inode != _ROOT:
            above = cast("_Directory", table[node.up])
            if above.names.get(node.name) != node.inode:
                return self._find()
            parts.append(node.name)
            node = above
        return b"/" + b"/".join(reversed(parts))

    def _find(self) -> bytes | None:
        """Another name of a file whose known name was taken away: rare, so it is searched for."""
        table = self.filesystem._table
        pending = [_ROOT]
        while pending:
            directory = cast("_Directory", table[pending.pop()])
            for name, inode in directory.names.items():
                if inode == self.inode:
                    self.up, self.name = directory.inode, name
                    return self.path()
                if table[inode].format == _DIRECTORY:
                    pending.append(inode)
        return None

    # Only directories have these.

    @property
    def parent(self) -> Node:
        raise failure(errno.ENOTDIR)

    def lookup(self, name: bytes) -> _MemoryNode | None:
        raise failure(errno.ENOTDIR)

    def entries(self) -> list[DirEntry]:
        raise failure(errno.ENOTDIR)

    def create(self, name: bytes, mode: int) -> Node:
        raise failure(errno.ENOTDIR)

    def mkdir(self, name: bytes, mode: int) -> None:
        raise failure(errno.ENOTDIR)

    def symlink(self, name: bytes, target: bytes) -> None:
        raise failure(errno.ENOTDIR)

    def link(self, name: bytes, node: Node) -> None:
        raise failure(errno.ENOTDIR)

    def unlink(self, name: bytes, node: Node) -> None:
        raise failure(errno.ENOTDIR)

    def rmdir(self, name: bytes, node: Node) -> None:
        raise failure(errno.ENOTDIR)

    def rename(self, name: bytes, node: Node, directory: Node, new: bytes, target: Node | None) -> None:
        raise failure(errno.ENOTDIR)


class _SymbolicLink(_MemoryNode):
    __slots__ = ("target",)

    target: bytes

    def _size(self) -> int:
        return len(self.target)

    def cost(self) -> int:
        return NODE_COST + len(self.target)

    def become(self, record: Record) -> None:
        super().become(record)
        self.target = cast(bytes, record.target)

    def fields(self) -> dict[str, Any]:
        return {"target": self.target}

    def readlink(self) -> bytes:
        return self.target


class _HostFile(_MemoryNode):
    """A file of the host, by reference."""

    __slots__ = ("blob", "size")

    blob: HostBlob
    size: int

    def _size(self) -> int:
        return self.size

    def become(self, record: Record) -> None:
        super().become(record)
        self.blob = cast(HostBlob, record.blob)
        self.size = record.size

    def fields(self) -> dict[str, Any]:
        return {"blob": self.blob, "size": self.size}

    def open(self, flags: OpenFlags, mount: MountPoint) -> NodeHandle:
        if int(flags) & (_WRITE | _TRUNCATE):
            raise failure(errno.EROFS)
        return super().open(flags, mount)

    def _handle(self, flags: OpenFlags, mount: MountPoint) -> NodeHandle:
        return _HostFileHandle(self, flags, mount)


class _File(_MemoryNode):
    __slots__ = ("chunks", "size")

    def __init__(self, filesystem: MemoryFileSystem, inode: int, mode: int, now: int) -> None:
        super().__init__(filesystem, inode, mode, now)
        self.chunks: Chunks = {}
        self.size = 0

    def _size(self) -> int:
        return self.size

    def cost(self) -> int:
        return NODE_COST + sum(len(_data(chunk)) + CHUNK_COST for chunk in self.chunks.values())

    def fields(self) -> dict[str, Any]:
        """Freeze the chunks. Zeros at their ends are cut off: how a file came to be must not show."""
        chunks = self.chunks
        saved = 0
        for index, chunk in list(chunks.items()):
            if type(chunk) is bytearray:
                data = bytes(chunk)
                if data[-1:] == b"\0":
                    data = data.rstrip(b"\0")
                    saved += len(chunk) - len(data)
                if data:
                    chunks[index] = frozen(data)
                else:
                    del chunks[index]
                    saved += CHUNK_COST
        self.filesystem._used -= saved
        return {"size": self.size, "chunks": chunks}

    def become(self, record: Record) -> None:
        super().become(record)
        self.chunks = cast(Chunks, record.chunks)
        self.size = record.size

    def changing(self) -> None:
        if self.record is not None:
            self.chunks = dict(self.chunks)
        super().changing()

    def _handle(self, flags: OpenFlags, mount: MountPoint) -> NodeHandle:
        if int(flags) & _TRUNCATE:
            self.truncate(0)
        return _FileHandle(self, flags, mount)

    def read(self, size: int, offset: int) -> bytes:
        if offset < 0 or size < 0:
            raise failure(errno.EINVAL)
        end = offset + size
        if end > self.size:
            end = self.size
            size = end - offset
        if size <= 0:
            return b""
        start = offset & MASK
        if start + size <= CHUNK:
            chunk = self.chunks.get(offset >> SHIFT)
            if chunk is None:
                return bytes(size)
            # One expression copies the piece, so no other thread can resize what is being copied.
            piece = bytes(
                (chunk if type(chunk) is bytearray else cast(Chunk, chunk).data)[start : start + size]
            )
            return piece if len(piece) == size else piece.ljust(size, b"\0")
        with self.filesystem._lock:
            pieces: list[bytes | bytearray] = []
            while size:
                length = min(CHUNK - start, size)
                chunk = self.chunks.get(offset >> SHIFT)
                data = b"" if chunk is None else _data(chunk)
                if start or length != len(data):
                    data = data[start : start + length].ljust(length, b"\0")
                pieces.append(data)
                offset += length
                size -= length
                start = 0
            return b"".join(pieces)

    def write(self, data: bytes | memoryview, offset: int) -> int:
        """Write with the lock held; either everything is written or nothing."""
        size = len(data)
        if offset < 0:
            raise failure(errno.EINVAL)
        if not size:
            return 0
        filesystem = self.filesystem
        end = offset + size
        if end > filesystem._file_limit:
            raise failure(errno.EFBIG)
        start = offset & MASK
        if start + size <= CHUNK:
            self._write_chunk(offset >> SHIFT, start, data, size)
        else:
            self._write_chunks(data, offset, size)
        if end > self.size:
            self.size = end
        self.mtime = self.ctime = filesystem._clock()
        return size

    def _write_chunk(self, index: int, start: int, data: bytes | memoryview, size: int) -> None:
        filesystem = self.filesystem
        chunk = self.chunks.get(index)
        have = 0 if chunk is None else len(_data(chunk))
        growth = start + size - have
        if growth > 0:
            filesystem._charge(growth if chunk is not None else growth + CHUNK_COST)
        if self.record is not None:
            self.changing()
        if type(chunk) is not bytearray:
            # Not there yet, or frozen and shared: from now on it is our own.
            chunk = self.chunks[index] = bytearray() if chunk is None else bytearray(cast(Chunk, chunk).data)
        if start == have:
            chunk += data
        elif start < have:
            chunk[start : start + size] = data
        else:
            chunk += bytes(start - have)
            chunk += data

    def _write_chunks(self, data: bytes | memoryview, offset: int, size: int) -> None:
        chunks = self.chunks
        first, last = offset >> SHIFT, (offset + size - 1) >> SHIFT
        cost = 0
        for index in range(first, last + 1):
            chunk = chunks.get(index)
            wanted = (offset + size - 1 & MASK) + 1 if index == last else CHUNK
            if chunk is None:
                cost += wanted + CHUNK_COST
            else:
                cost += max(0, wanted - len(_data(chunk)))
        self.filesystem._charge(cost)
        self.filesystem._used -= cost  # it was only a question; each chunk is charged as it is written
        if self.record is not None:
            self.changing()
            chunks = self.chunks
        view = memoryview(data)
        position = 0
        start = offset & MASK
        for index in range(first, last + 1):
            length = min(CHUNK - start, size - position)
            piece = view[position : position + length]
            if length == CHUNK:
                chunk = chunks.get(index)
                self.filesystem._used += CHUNK + CHUNK_COST if chunk is None else CHUNK - len(_data(chunk))
                chunks[index] = bytearray(piece)
            else:
                self._write_chunk(index, start, piece, length)
            position += length
            start = 0

    def truncate(self, size: int) -> None:
        """Change the length with the lock held."""
        if size < 0:
            raise failure(errno.EINVAL)
        filesystem = self.filesystem
        if size > filesystem._file_limit:
            raise failure(errno.EFBIG)
        self.changing()
        if size < self.size:
            chunks = self.chunks
            keep = (size + MASK) >> SHIFT
            beyond = ((self.size + MASK) >> SHIFT) - keep
            doomed = (
                [index for index in chunks if index >= keep]
                if beyond > len(chunks)
                else [index for index in range(keep, keep + beyond) if index in chunks]
            )
            for index in doomed:
                filesystem._used -= len(_data(chunks.pop(index))) + CHUNK_COST
            rest = size & MASK
            chunk = chunks.get(size >> SHIFT) if rest else None
            if chunk is not None and len(_data(chunk)) > rest:
                filesystem._used -= len(_data(chunk)) - rest
                chunks[size >> SHIFT] = bytearray(_data(chunk)[:rest])
        self.size = size
        self.mtime = self.ctime = filesystem._clock()


def _data(chunk: bytearray | Chunk) -> bytes | bytearray:
    return chunk if type(chunk) is bytearray else cast(Chunk, chunk).data


class _Directory(_MemoryNode):
    __slots__ = ("names",)

    def __init__(self, filesystem: MemoryFileSystem, inode: int, mode: int, now: int) -> None:
        super().__init__(filesystem, inode, mode, now)
        self.names: dict[bytes, int] = {}

    def _size(self) -> int:
        return _DIRECTORY_SIZE

    def fields(self) -> dict[str, Any]:
        return {"names": self.names}

    def become(self, record: Record) -> None:
        super().become(record)
        self.names = cast("dict[bytes, int]", record.names)

    def changing(self) -> None:
        if self.record is not None:
            self.names = dict(self.names)
        super().changing()

    @property
    def parent(self) -> Node:
        return self.filesystem._table[self.up]

    def lookup(self, name: bytes) -> _MemoryNode | None:
        inode = self.names.get(name)
        if inode is None:
            if self.stale:
                raise failure(errno.ESTALE)
            return None
        try:
            return self.filesystem._table[inode]
        except KeyError:
            return None  # another thread unlinked it just now

    def entries(self) -> list[DirEntry]:
        if self.stale:
            raise failure(errno.ESTALE)
        table = self.filesystem._table
        with self.filesystem._lock:
            return [
                DirEntry(name, inode, _KINDS[table[inode].format])
                for name, inode in sorted(self.names.items())
            ]

    # -- new nodes ---------------------------------------------------------------------------------

    def check_new(self, name: bytes, length: int) -> int:
        """Check that a node with `length` bytes in it may be made under `name`; what it costs."""
        self.check_name(name)
        filesystem = self.filesystem
        if filesystem._nodes >= filesystem._nodes_limit:
            raise failure(errno.EDQUOT, None, f"Disk quota exceeded ({filesystem._nodes_limit} nodes)")
        cost = NODE_COST + NAME_COST + len(name) + length
        if filesystem._used + cost > filesystem._bytes_limit:
            filesystem._charge(cost)
        return cost

    def check_name(self, name: bytes) -> None:
        if self.stale:
            raise failure(errno.ESTALE)
        if not self.links:
            raise failure(errno.ENOENT)  # the directory itself was removed
        if name in self.names:
            raise failure(errno.EEXIST)
        if len(name) > self.filesystem.name_limit:
            raise failure(errno.ENAMETOOLONG)

    def insert_new(self, name: bytes, node: _MemoryNode, cost: int) -> None:
        """Add a node whose number is the next one."""
        filesystem = self.filesystem
        filesystem._next_inode += 1
        filesystem._nodes += 1
        filesystem._used += cost
        filesystem._table[node.inode] = node
        filesystem._changed.add(node.inode)
        self._insert(name, node)

    def _insert(self, name: bytes, node: _MemoryNode) -> None:
        if self.record is not None:
            self.changing()
        self.names[name] = node.inode
        node.up = self.inode
        node.name = name
        self.mtime = self.ctime = self.filesystem._clock()

    def _remove(self, name: bytes) -> None:
        if self.record is not None:
            self.changing()
        del self.names[name]
        self.mtime = self.ctime = self.filesystem._clock()

    def create(self, name: bytes, mode: int) -> Node:
        filesystem = self.filesystem
        with filesystem._lock:
            cost = self.check_new(name, 0)
            node = _File(filesystem, filesystem._next_inode, _REGULAR | (mode & 0o7777), filesystem._clock())
            self.insert_new(name, node, cost)
            return node

    def mkdir(self, name: bytes, mode: int) -> None:
        filesystem = self.filesystem
        with filesystem._lock:
            limit = filesystem._quota.depth
            if limit is not None and self._depth() >= limit:
                raise failure(errno.ENAMETOOLONG, None, f"File name too long ({limit} directories deep)")
            cost = self.check_new(name, 0)
            node = _Directory(
                filesystem, filesystem._next_inode, _DIRECTORY | (mode & 0o7777), filesystem._clock()
            )
            node.links = 2
            self.insert_new(name, node, cost)
            self.links += 1

    def symlink(self, name: bytes, target: bytes) -> None:
        filesystem = self.filesystem
        with filesystem._lock:
            cost = self.check_new(name, len(target))
            node = _SymbolicLink(
                filesystem, filesystem._next_inode, _SYMBOLIC_LINK | 0o777, filesystem._clock()
            )
            node.target = target
            self.insert_new(name, node, cost)

    # -- names ---------------------------------------------------------------------------------------

    def link(self, name: bytes, node: Node) -> None:
        filesystem = self.filesystem
        with filesystem._lock:
            self.check_name(name)
            linked = cast(_MemoryNode, node)
            if not linked.links:
                raise failure(errno.ENOENT)
            filesystem._charge(NAME_COST + len(name))
            linked.changing()
            linked.links += 1
            linked.ctime = filesystem._clock()
            self._insert(name, linked)

    def unlink(self, name: bytes, node: Node) -> None:
        with self.filesystem._lock:
            self._still(name, node)
            self._remove(name)
            self.filesystem._used -= NAME_COST + len(name)
            self._drop(cast(_MemoryNode, node))

    def rmdir(self, name: bytes, node: Node) -> None:
        with self.filesystem._lock:
            self._still(name, node)
            self._drop_directory(cast(_Directory, node))
            self._remove(name)
            self.filesystem._used -= NAME_COST + len(name)

    def rename(self, name: bytes, node: Node, directory: Node, new: bytes, target: Node | None) -> None:
        filesystem = self.filesystem
        with filesystem._lock:
            self._still(name, node)
            to = cast(_Directory, directory)
            moved = cast(_MemoryNode, node)
            replaced = cast("_MemoryNode | None", target)
            if isinstance(moved, _Directory):
                moved.check_depth_below(to)
            if replaced is None:
                to.check_name(new)
                filesystem._charge(len(new) - len(name))
            else:
                to._still(new, replaced)
            if replaced is not None:
                if isinstance(replaced, _Directory):
                    to._drop_directory(replaced)
                filesystem._used -= NAME_COST + len(name)
                to._remove(new)
            self._remove(name)
            moved.changing()
            moved.ctime = filesystem._clock()
            to._insert(new, moved)
            if isinstance(moved, _Directory) and to is not self:
                # Each directory counts as a link of the one above it, as its `..`.
                self.changing()
                self.links -= 1
                to.changing()
                to.links += 1
            if replaced is not None and not isinstance(replaced, _Directory):
                self._drop(replaced)

    def _still(self, name: bytes, node: Node) -> None:
        """The walk found `node` before the lock was taken; is it still there?"""
        if self.stale:
            raise failure(errno.ESTALE)
        if self.names.get(name) != node.inode:
            raise failure(errno.ENOENT)

    def _drop(self, node: _MemoryNode) -> None:
        node.changing()
        node.links -= 1
        node.ctime = self.filesystem._clock()
        if not node.links and not node.opens:
            self.filesystem._free(node)

    def _drop_directory(self, node: _Directory) -> None:
        if node.names:
            raise failure(errno.ENOTEMPTY)
        self.changing()
        self.links -= 1
        node.changing()
        node.links = 0
        if not node.opens:
            self.filesystem._free(node)

    # -- depth ---------------------------------------------------------------------------------------

    def _depth(self) -> int:
        table = self.filesystem._table
        depth = 0
        inode = self.inode
        while inode != _ROOT:
            inode = table[inode].up
            depth += 1
        return depth

    def check_depth_below(self, directory: _Directory) -> None:
        """Would the tree become too deep if this directory were moved into that one?"""
        limit = self.filesystem._quota.depth
        if limit is None:
            return
        depth = directory._depth() + 1
        if depth <= self._depth():
            return
        table = self.filesystem._table
        level: list[_Directory] = [self]
        while level:
            if depth > limit:
                raise failure(errno.ENAMETOOLONG, None, f"File name too long ({limit} directories deep)")
            below = (table[inode] for directory in level for inode in directory.names.values())
            level = [node for node in below if isinstance(node, _Directory)]
            depth += 1


class _Handle(NodeHandle):
    __slots__ = ()

    node: _MemoryNode

    def check(self) -> None:
        super().check()
        if self.node.stale:
            raise failure(errno.ESTALE)

    def close(self) -> None:
        if self.closed:
            return
        self.closed = True
        node = self.node
        filesystem = node.filesystem
        with filesystem._lock:
            if not node.stale:
                node.opens -= 1
                filesystem._handles -= 1
                if not node.links and not node.opens:
                    filesystem._free(node)

    def path(self) -> bytes | None:
        self.check()
        return super().path()


class _HostFileHandle(_Handle):
    __slots__ = ()

    node: _HostFile

    def read(self, size: int, offset: int) -> bytes:
        self.check()
        return self.node.blob.read(size, offset)


class _FileHandle(_Handle):
    __slots__ = ()

    node: _File

    def read(self, size: int, offset: int) -> bytes:
        node = self.node
        if self.closed or node.stale or not self.flags & _READ:
            raise self.unusable(OpenFlags.READ)
        return node.read(size, offset)

    def write(self, data: bytes | memoryview, offset: int) -> int:
        node = self.node
        if self.closed or node.stale or not self.flags & _WRITE:
            raise self.unusable(OpenFlags.WRITE)
        with node.filesystem._lock:
            return node.write(data, offset)

    def append(self, data: bytes | memoryview) -> int:
        node = self.node
        if self.closed or node.stale or not self.flags & _WRITE:
            raise self.unusable(OpenFlags.WRITE)
        with node.filesystem._lock:
            node.write(data, node.size)
            return node.size

    def truncate(self, size: int) -> None:
        node = self.node
        if self.closed or node.stale or not self.flags & _WRITE:
            raise self.unusable(OpenFlags.WRITE, errno.EINVAL)
        with node.filesystem._lock:
            node.truncate(size)

    def unusable(self, needed: OpenFlags, otherwise: int = errno.EISDIR) -> OSError:
        return failure(errno.ESTALE) if self.node.stale else super().unusable(needed, otherwise)


def _thaw(filesystem: MemoryFileSystem, record: Record) -> _MemoryNode:
    """The live node of a record; it shares contents and names with it until it changes."""
    kind: type[_MemoryNode] = (
        _Directory
        if record.names is not None
        else _SymbolicLink
        if record.target is not None
        else _HostFile
        if record.blob is not None
        else _File
    )
    node = kind(filesystem, record.inode, record.mode, record.mtime)
    node.become(record)
    return node


class MemorySnapshot(FileSystemSnapshot):
    """A state of a `MemoryFileSystem`."""

    __slots__ = ("next_inode", "nodes", "records", "used")

    def __init__(self, records: RecordTable, next_inode: int, nodes: int, used: int) -> None:
        self.records = records
        self.next_inode = next_inode
        self.nodes = nodes
        self.used = used

    def open(self) -> MemoryFileSystem:
        return MemoryFileSystem.from_snapshot(self)

    def manifest(self) -> Manifest:
        from planaria.files.manifest import memory_manifest

        return memory_manifest(self.records, self.next_inode)

    def chunks(self) -> Mapping[str, bytes]:
        from planaria.files.manifest import memory_chunks

        return memory_chunks(self.records)
