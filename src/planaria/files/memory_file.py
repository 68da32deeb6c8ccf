"""Regular files of a filesystem in memory: reading, writing, and files of the host by reference."""

from __future__ import annotations

import errno
from typing import Any, Final, cast

from planaria.files.chunks import CHUNK, MASK, SHIFT, Chunk, Chunks, frozen
from planaria.files.filesystem import OpenFlags, failure
from planaria.files.hostblob import HostBlob
from planaria.files.inodes import InodeRecord
from planaria.files.memory_nodes import MemoryHandle, MemoryNode, MemoryNodeStore
from planaria.files.node import MountPoint, Node, NodeHandle
from planaria.files.quota import CHUNK_COST, NODE_COST

__all__ = ["MemoryHostFile", "RegularFile"]

_READ: Final = int(OpenFlags.READ)
_WRITE: Final = int(OpenFlags.WRITE)
_TRUNCATE: Final = int(OpenFlags.TRUNCATE)


class RegularFile(MemoryNode):
    __slots__ = ("chunks",)

    def __init__(self, filesystem: MemoryNodeStore, inode: int, mode: int, now: int) -> None:
        super().__init__(filesystem, inode, mode, now)
        self.chunks: Chunks = {}

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
        self.filesystem.used -= saved
        return {"size": self.size, "chunks": chunks}

    def become(self, record: InodeRecord) -> None:
        super().become(record)
        self.chunks = cast(Chunks, record.chunks)
        self.size = record.size

    def changing(self) -> None:
        if self.record is not None:
            self.chunks = dict(self.chunks)
        super().changing()

    def same_contents(self, other: Node) -> bool | None:
        if self.record is None or not isinstance(other, RegularFile) or other.record is None:
            return None
        # Frozen chunks of the same contents are the same object.
        return self.size == other.size and self.chunks == other.chunks

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
            # The slice is a copy, so no other thread can resize what is being copied.
            whole = chunk if type(chunk) is bytearray else cast(Chunk, chunk).data
            piece = bytes(whole[start : start + size])
            return piece if len(piece) == size else piece.ljust(size, b"\0")
        with self.filesystem.lock:
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

    def read_into(self, buffer: memoryview, offset: int) -> int:
        if offset < 0:
            raise failure(errno.EINVAL)
        size = min(len(buffer), self.size - offset)
        if size <= 0:
            return 0
        start = offset & MASK
        if start + size <= CHUNK:
            chunk = self.chunks.get(offset >> SHIFT)
            if chunk is not None:
                piece = (chunk if type(chunk) is bytearray else cast(Chunk, chunk).data)[start : start + size]
                if len(piece) == size:
                    buffer[:size] = piece
                    return size
        position = 0
        while position < size:
            start = offset + position & MASK
            length = min(CHUNK - start, size - position)
            chunk = self.chunks.get(offset + position >> SHIFT)
            data = b"" if chunk is None else _data(chunk)
            if start or length != len(data):
                data = data[start : start + length].ljust(length, b"\0")
            buffer[position : position + length] = data
            position += length
        return size

    def write(self, data: bytes | memoryview, offset: int) -> int:
        """Write with the lock held; either everything is written or nothing."""
        size = len(data)
        if offset < 0:
            raise failure(errno.EINVAL)
        if not size:
            return 0
        filesystem = self.filesystem
        end = offset + size
        if end > filesystem.file_limit:
            raise failure(errno.EFBIG)
        start = offset & MASK
        if start + size <= CHUNK:
            self._write_chunk(offset >> SHIFT, start, data, size)
        else:
            self._write_chunks(data, offset, size)
        if end > self.size:
            self.size = end
        self.mtime = self.ctime = filesystem.clock()
        return size

    def _write_chunk(self, index: int, start: int, data: bytes | memoryview, size: int) -> None:
        filesystem = self.filesystem
        chunk = self.chunks.get(index)
        have = 0 if chunk is None else len(_data(chunk))
        growth = start + size - have
        if growth > 0:
            filesystem.charge(growth if chunk is not None else growth + CHUNK_COST)
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
        self.filesystem.charge(cost)
        self.filesystem.used -= cost  # it was only a question; each chunk is charged as it is written
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
                self.filesystem.used += CHUNK + CHUNK_COST if chunk is None else CHUNK - len(_data(chunk))
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
        if size > filesystem.file_limit:
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
                filesystem.used -= len(_data(chunks.pop(index))) + CHUNK_COST
            rest = size & MASK
            chunk = chunks.get(size >> SHIFT) if rest else None
            if chunk is not None and len(_data(chunk)) > rest:
                filesystem.used -= len(_data(chunk)) - rest
                chunks[size >> SHIFT] = bytearray(_data(chunk)[:rest])
        self.size = size
        self.mtime = self.ctime = filesystem.clock()


def _data(chunk: bytearray | Chunk) -> bytes | bytearray:
    return chunk if type(chunk) is bytearray else cast(Chunk, chunk).data


class _FileHandle(MemoryHandle):
    __slots__ = ()

    node: RegularFile

    def read(self, size: int, offset: int) -> bytes:
        node = self.node
        if self.closed or node.stale or not self.flags & _READ:
            raise self.unusable(OpenFlags.READ)
        return node.read(size, offset)

    def read_into(self, buffer: memoryview, offset: int) -> int:
        node = self.node
        if self.closed or node.stale or not self.flags & _READ:
            raise self.unusable(OpenFlags.READ)
        return node.read_into(buffer, offset)

    def write(self, data: bytes | memoryview, offset: int) -> int:
        node = self.node
        if self.closed or node.stale or not self.flags & _WRITE:
            raise self.unusable(OpenFlags.WRITE)
        with node.filesystem.lock:
            return node.write(data, offset)

    def append(self, data: bytes | memoryview) -> int:
        node = self.node
        if self.closed or node.stale or not self.flags & _WRITE:
            raise self.unusable(OpenFlags.WRITE)
        with node.filesystem.lock:
            node.write(data, node.size)
            return node.size

    def truncate(self, size: int) -> None:
        node = self.node
        if self.closed or node.stale or not self.flags & _WRITE:
            raise self.unusable(OpenFlags.WRITE, errno.EINVAL)
        with node.filesystem.lock:
            node.truncate(size)

    def unusable(self, needed: OpenFlags, otherwise: int = errno.EISDIR) -> OSError:
        return failure(errno.ESTALE) if self.node.stale else super().unusable(needed, otherwise)


class MemoryHostFile(MemoryNode):
    """A file of the host, by reference."""

    __slots__ = ("blob",)

    blob: HostBlob

    def become(self, record: InodeRecord) -> None:
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


class _HostFileHandle(MemoryHandle):
    __slots__ = ()

    node: MemoryHostFile

    def read(self, size: int, offset: int) -> bytes:
        self.check()
        return self.node.blob.read(size, offset)
