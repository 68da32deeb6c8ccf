"""Writing snapshots of filesystems in memory as JSON-able values, and parsing them from untrusted input."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NoReturn, cast

from planaria.errors import SnapshotError
from planaria.files.chunks import CHUNK, SHIFT, Chunk, digest_of, frozen
from planaria.files.filesystem import FileKind, Manifest
from planaria.files.hostblob import HostBlob
from planaria.files.inodes import InodeRecord, RecordTable
from planaria.files.quota import CHUNK_COST, MAX_FILE_SIZE, NAME_COST, NODE_COST, Quota

__all__ = ["bytes_of", "memory_chunks", "memory_manifest", "read_records", "text_of"]

FORMAT: Final = "planaria-memory-1"
_ROOT: Final = 1
_MAX_TIME: Final = 2**63
_DIRECTORY: Final = int(FileKind.DIRECTORY)
_REGULAR: Final = int(FileKind.REGULAR)
_SYMBOLIC_LINK: Final = int(FileKind.SYMBOLIC_LINK)


def text_of(name: bytes) -> str:
    """A name or path as text; bytes that are not UTF-8 become lone surrogates (PEP 383)."""
    return name.decode("utf-8", "surrogateescape")


def bytes_of(text: str) -> bytes:
    """The inverse of `text_of`; UnicodeEncodeError for text that it never makes."""
    return text.encode("utf-8", "surrogateescape")


# -- writing ---------------------------------------------------------------------------------------


def memory_manifest(records: RecordTable, next_inode: int) -> Manifest:
    """The records as a list sorted by inode, names and chunks sorted too."""
    return {
        "format": FORMAT,
        "next_inode": next_inode,
        "nodes": [_describe(record) for _, record in records.items()],
    }


def _describe(record: InodeRecord) -> dict[str, Any]:
    node: dict[str, Any] = {
        "inode": record.inode,
        "mode": record.mode,
        "times": [record.atime, record.mtime, record.ctime],
    }
    if record.names is not None:
        node["names"] = {text_of(name): record.names[name] for name in sorted(record.names)}
    elif record.target is not None:
        node["target"] = text_of(record.target)
    elif record.blob is not None:
        node["host"] = {"name": record.blob.name, "size": record.size, "digest": record.blob.digest()}
    else:
        chunks = record.chunks or {}
        node["size"] = record.size
        node["chunks"] = [[index, chunks[index].digest] for index in sorted(chunks)]
    return node


def memory_chunks(records: RecordTable) -> dict[str, bytes]:
    """All contents by digest."""
    return {
        chunk.digest: chunk.data
        for _, record in records.items()
        if record.chunks
        for chunk in record.chunks.values()
    }


# -- reading ---------------------------------------------------------------------------------------


def read_records(
    manifest: Manifest, chunks: Mapping[str, bytes], quota: Quota, host_files: Mapping[str, HostBlob]
) -> tuple[RecordTable, int, int, int, frozenset[int]]:
    """What a `MemorySnapshot` is made of, from a manifest; see `memory.read_memory_manifest`."""
    return _Reader(quota, chunks, host_files).read(manifest)


def _refuse(reason: str) -> NoReturn:
    raise SnapshotError(f"the description of a filesystem is not well formed: {reason}")


def _integer(value: object, low: int, high: int, what: str) -> int:
    if type(value) is not int or not low <= value <= high:
        _refuse(f"{what} is not an integer from {low} to {high}")
    return value


def _bytes(value: object, what: str, limit: int) -> bytes:
    if type(value) is not str or not 0 < len(value) <= limit:
        _refuse(f"{what} is not a text of 1 to {limit} characters")
    try:
        data = bytes_of(value)
    except UnicodeEncodeError:
        _refuse(f"{what} holds surrogates that stand for no bytes")
    if len(data) > limit or b"\0" in data or text_of(data) != value:
        _refuse(f"{what} is too long, holds a null byte, or is not in its one form")
    return data


def _fields(value: object, wanted: set[str], what: str) -> dict[str, Any]:
    if type(value) is not dict or set(value) != wanted:
        _refuse(f"{what} does not have exactly the fields {', '.join(sorted(wanted))}")
    return cast("dict[str, Any]", value)


class _Reader:
    def __init__(self, quota: Quota, chunks: Mapping[str, bytes], host_files: Mapping[str, HostBlob]) -> None:
        self.quota = quota
        self.given = chunks
        self.host_files = host_files
        self.verified: dict[str, Chunk] = {}
        self.used = 0

    def read(self, manifest: Manifest) -> tuple[RecordTable, int, int, int, frozenset[int]]:
        fields = _fields(manifest, {"format", "next_inode", "nodes"}, "the manifest")
        if fields["format"] != FORMAT:
            _refuse(f"the format is not {FORMAT}")
        next_inode = _integer(fields["next_inode"], _ROOT + 1, 2**62, "next_inode")
        nodes = fields["nodes"]
        if type(nodes) is not list or not nodes:
            _refuse("nodes is not a list with a root in it")
        if self.quota.nodes is not None and len(nodes) > self.quota.nodes:
            raise SnapshotError(f"the filesystem has {len(nodes)} nodes; the quota allows {self.quota.nodes}")
        records: dict[int, InodeRecord | None] = {}
        last = 0
        for value in nodes:
            record = self._node(value, last + 1, next_inode - 1)
            last = record.inode
            records[last] = record
            if self.quota.bytes is not None and self.used > self.quota.bytes:
                raise SnapshotError(f"the filesystem is larger than the quota of {self.quota.bytes} bytes")
        self._place(cast("dict[int, InodeRecord]", records))
        orphans = frozenset(inode for inode, record in records.items() if record and not record.links)
        return RecordTable().updated(records), next_inode, len(records), self.used, orphans

    def _node(self, value: object, lowest: int, highest: int) -> InodeRecord:
        if type(value) is not dict:
            _refuse("a node is not an object")
        mode = _integer(value.get("mode"), 0, 0o177777, "mode")
        kind = mode & 0o170000
        common = {"inode", "mode", "times"}
        if kind == _DIRECTORY:
            node = _fields(value, common | {"names"}, "a directory")
        elif kind == _SYMBOLIC_LINK:
            node = _fields(value, common | {"target"}, "a symbolic link")
        elif kind == _REGULAR:
            node = _fields(value, common | ({"host"} if "host" in value else {"size", "chunks"}), "a file")
        else:
            _refuse("mode is of no type of file that is kept")
        times = node["times"]
        if type(times) is not list or len(times) != 3:
            _refuse("times are not three")
        atime, mtime, ctime = (_integer(time, -_MAX_TIME, 2 * _MAX_TIME, "a time") for time in times)
        inode = _integer(node["inode"], lowest, highest, "inode (they ascend)")
        record = InodeRecord(inode, mode, 0, atime, mtime, ctime, inode, b"")
        self.used += NODE_COST
        if kind == _DIRECTORY:
            record.names = self._names(node["names"])
        elif kind == _SYMBOLIC_LINK:
            record.target = _bytes(node["target"], "the target of a link", self.quota.path_length)
            self.used += len(record.target)
        elif "host" in node:
            self._host(record, node["host"])
        else:
            self._contents(record, node)
        return record

    def _names(self, value: object) -> dict[bytes, int]:
        if type(value) is not dict:
            _refuse("names is not an object")
        names: dict[bytes, int] = {}
        for text, inode in value.items():
            name = _bytes(text, "a name", self.quota.name_length)
            if b"/" in name or name in (b".", b".."):
                _refuse("a name is `.`, `..` or holds a slash")
            names[name] = _integer(inode, _ROOT + 1, 2**62, "the inode of a name")
            self.used += NAME_COST + len(name)
        return names

    def _host(self, record: InodeRecord, value: object) -> None:
        host = _fields(value, {"name", "size", "digest"}, "a host file")
        blob = self.host_files.get(host["digest"]) if type(host["digest"]) is str else None
        if blob is None:
            raise SnapshotError(f"the host file {host['name']!r} was not given")
        if blob.digest() != host["digest"] or blob.size != host["size"]:
            raise SnapshotError(f"the host file {host['name']!r} is not the one that was captured")
        record.blob = blob
        record.size = blob.size

    def _contents(self, record: InodeRecord, node: dict[str, Any]) -> None:
        limit = MAX_FILE_SIZE if self.quota.file_size is None else self.quota.file_size
        record.size = _integer(node["size"], 0, limit, "the size of a file")
        value = node["chunks"]
        if type(value) is not list:
            _refuse("chunks is not a list")
        record.chunks = {}
        lowest = 0
        for pair in value:
            if type(pair) is not list or len(pair) != 2 or type(pair[1]) is not str:
                _refuse("a chunk is not a number and a digest")
            index = _integer(pair[0], lowest, MAX_FILE_SIZE >> SHIFT, "the number of a chunk (they ascend)")
            lowest = index + 1
            chunk = self._chunk(pair[1])
            if (index << SHIFT) + len(chunk.data) > record.size:
                _refuse("a chunk lies beyond the end of its file")
            record.chunks[index] = chunk
            self.used += len(chunk.data) + CHUNK_COST

    def _chunk(self, digest: str) -> Chunk:
        chunk = self.verified.get(digest)
        if chunk is None:
            data = self.given.get(digest)
            if data is None:
                raise SnapshotError(f"the chunk {digest[:80]} is missing")
            if type(data) is not bytes or not 0 < len(data) <= CHUNK or data[-1] == 0:
                _refuse("a chunk is empty, too long, or ends in zeros")
            if digest_of(data) != digest:
                raise SnapshotError(f"the chunk {digest} does not have the contents it is named after")
            chunk = self.verified[digest] = frozen(data)
        return chunk

    def _place(self, records: dict[int, InodeRecord]) -> None:
        """Count links and set where things are, from the root down; what has no name is an orphan."""
        root = records.get(_ROOT)
        if root is None or root.names is None:
            _refuse("the root is not a directory")
        limit = self.quota.depth
        level = [root]
        root.links = 2
        depth = 0
        while level:
            if limit is not None and depth > limit:
                raise SnapshotError(f"the tree is deeper than the quota of {limit} directories")
            below: list[InodeRecord] = []
            for directory in level:
                for name in sorted(directory.names or ()):
                    record = records.get(cast("dict[bytes, int]", directory.names)[name])
                    if record is None:
                        _refuse("a name leads to no node")
                    if not record.links:
                        record.up, record.name = directory.inode, name
                    if record.names is None:
                        record.links += 1
                        continue
                    if record.links:
                        _refuse("a directory has two names")
                    record.links = 2
                    directory.links += 1
                    below.append(record)
            level = below
            depth += 1
        for record in records.values():
            if record.names and not record.links:
                _refuse("a directory that has entries cannot be reached")
