"""Zip archives as a read-only filesystem: the guest's library, shared by all sessions.

Only the table of contents is read when an archive is added, which may be put off until something is looked
up: a session whose image has all that it imports does without. A member is inflated when it is read,
by the host's zlib, and kept for a while, since the next session reads the same modules. The format is
that of PKWARE's APPNOTE.TXT, as far as libraries need it: stored and deflated members, neither encrypted
nor beyond 4 GiB.
"""

from __future__ import annotations

import errno
import struct
import threading
import zlib
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator
from os import PathLike
from typing import Final, NamedTuple

from planaria.files.filesystem import DirEntry, FileKind, FileSystemUsage, OpenFlags, Stat, failure
from planaria.files.hostblob import HostBlob
from planaria.files.node import MountPoint, Node, NodeHandle
from planaria.files.stateless import StatelessFileSystem

__all__ = ["ZipFileSystem"]

FORMAT: Final = "planaria-zip-1"
_DIRECTORY: Final = int(FileKind.DIRECTORY)
_REGULAR: Final = int(FileKind.REGULAR)
#: The size of a directory, as ext4 reports it for small ones.
_DIRECTORY_SIZE: Final = 4096
#: Bytes of inflated members that are kept.
_KEPT: Final = 32 << 20
#: The numbers of an inner archive's nodes lie apart, so that they do not depend on which is looked at first.
_INNER_SHIFT: Final = 32

_END: Final = struct.Struct("<4s4H2LH")
_ENTRY: Final = struct.Struct("<4s6H3L5H2L")
_LOCAL: Final = struct.Struct("<4s5H3L2H")
_STORED: Final = 0
_DEFLATED: Final = 8
_ENCRYPTED: Final = 1
_BEYOND: Final = 0xFFFF_FFFF


class _Member(NamedTuple):
    """Where the contents of one member are."""

    method: int
    crc: int
    packed: int
    size: int
    offset: int


class _Archive:
    """A zip archive in `source`, a file of the host or an inflated member of another archive."""

    def __init__(self, source: HostBlob | bytes, name: str) -> None:
        self.source = source
        self.name = name

    def bytes_at(self, offset: int, size: int) -> bytes:
        if isinstance(self.source, bytes):
            return self.source[offset : offset + size]
        return self.source.read(size, offset)

    def members(self) -> Iterator[tuple[bytes, _Member]]:
        """The names and places of all members. Raises ValueError for what cannot be read."""
        size = len(self.source) if isinstance(self.source, bytes) else self.source.size
        start = max(0, size - _END.size - 0xFFFF)
        tail = self.bytes_at(start, size - start)
        at = tail.rfind(b"PK\5\6")
        if at < 0 or len(tail) - at < _END.size:
            raise ValueError(f"{self.name} is not a zip archive")
        _, _, _, _, count, length, offset, _ = _END.unpack_from(tail, at)
        table = self.bytes_at(offset, length)
        at = 0
        unpack, header = _ENTRY.unpack_from, _ENTRY.size
        for _ in range(count):
            if len(table) - at < header:
                raise ValueError(f"the table of contents of {self.name} is cut off")
            magic, _, _, flags, method, _, _, crc, packed, unpacked, *lengths, place = unpack(table, at)
            name_length, extra, comment = lengths[:3]
            at += header
            name = table[at : at + name_length]
            at += name_length + extra + comment
            if magic != b"PK\1\2" or len(name) < name_length:
                raise ValueError(f"the table of contents of {self.name} is damaged")
            if flags & _ENCRYPTED or method not in (_STORED, _DEFLATED):
                raise ValueError(f"{name!r} in {self.name} is encrypted or not of the method deflate")
            if _BEYOND in (packed, unpacked, place):
                raise ValueError(f"{name!r} in {self.name} is beyond 4 GiB")
            yield name, _Member(method, crc, packed, unpacked, place)

    def contents(self, member: _Member) -> bytes:
        """Raises OSError (EIO) for a member that is damaged."""
        header = self.bytes_at(member.offset, _LOCAL.size)
        if len(header) == _LOCAL.size:
            magic, *_, name_length, extra = _LOCAL.unpack(header)
            data = self.bytes_at(member.offset + _LOCAL.size + name_length + extra, member.packed)
            if member.method == _DEFLATED:
                try:
                    data = zlib.decompressobj(-15).decompress(data, member.size + 1)
                except zlib.error:
                    data = b""
            if magic == b"PK\3\4" and len(data) == member.size and zlib.crc32(data) == member.crc:
                return data
        raise failure(errno.EIO, None, f"Input/output error ({self.name} is damaged)")


class ZipFileSystem(StatelessFileSystem):
    """Archives and single files, put together as one read-only tree.

    All times are 0 and inode numbers count the members in the order in which they were added, so that
    what a guest sees is the same on every machine. Safe to use from several threads; add everything first,
    or in `fill`, which is called with the filesystem when it is first looked at.
    """

    __slots__ = ("_fill_later", "_inner", "_kept", "_kept_bytes", "_lock", "_nodes", "_root")

    manifest_format = FORMAT

    def __init__(self, fill: Callable[[ZipFileSystem], None] | None = None) -> None:
        super().__init__()
        self._fill_later = fill
        self._nodes: list[_ZipNode] = []
        self._inner: list[_InnerDirectory] = []
        self._lock = threading.RLock()
        self._kept: OrderedDict[int, bytes] = OrderedDict()
        self._kept_bytes = 0
        self._root = _RootDirectory(self, 1, None, b"")
        self._nodes.append(self._root)
        self.top = MountPoint(self, self._root, read_only=True)

    # -- putting it together -----------------------------------------------------------------------

    def add_archive(
        self, path: bytes, archive: str | PathLike[str] | HostBlob, *, expand: Collection[bytes] = ()
    ) -> None:
        """Show the contents of an archive of the host as the directory `path`.

        Members named in `expand`, archives themselves (`b"a/data.zip"`), are shown as directories (`a/data`).
        Raises OSError when the file cannot be opened, ValueError when it is not a supported archive.
        """
        blob = archive if isinstance(archive, HostBlob) else HostBlob.open(archive)
        self._fill(_Archive(blob, blob.name), self._directory(path), self._nodes, 1, expand)

    def add_file(self, path: bytes, contents: bytes) -> None:
        """Show a file with these contents at `path`."""
        above, _, name = path.rpartition(b"/")
        directory = self._directory(above)
        node = _ZipFile(self, len(self._nodes) + 1, directory, name)
        node.size = len(contents)
        node.contents = contents
        self._nodes.append(node)
        directory.names[name] = node

    def _directory(self, path: bytes) -> _ZipDirectory:
        node: _ZipDirectory = self._root
        for name in path.split(b"/"):
            if name:
                node = self._below(node, name, self._nodes, 1)
        return node

    def _below(self, above: _ZipDirectory, name: bytes, nodes: list[_ZipNode], first: int) -> _ZipDirectory:
        node = above.names.get(name)
        if node is None:
            node = above.names[name] = _ZipDirectory(self, first + len(nodes), above, name)
            nodes.append(node)
        if not isinstance(node, _ZipDirectory):
            raise ValueError(f"{name!r} is both a file and a directory")
        return node

    def _fill(
        self,
        archive: _Archive,
        top: _ZipDirectory,
        nodes: list[_ZipNode],
        first: int,
        expand: Collection[bytes] = (),
    ) -> None:
        """Make the nodes of an archive's members below `top`; their numbers begin with `first`."""
        directories: dict[bytes, _ZipDirectory] = {b"": top}

        def directory(path: bytes) -> _ZipDirectory:
            node = directories.get(path)
            if node is None:
                above, _, name = path.rpartition(b"/")
                if name in (b"", b".", b".."):
                    raise ValueError(f"{path!r} in {archive.name} is not a valid path")
                node = directories[path] = self._below(directory(above), name, nodes, first)
            return node

        for path, member in archive.members():
            above, _, name = path.rpartition(b"/")
            parent = directories.get(above)
            if parent is None:
                parent = directory(above)
            if not name:
                continue  # the entry of a directory
            if name in (b".", b"..") or b"\0" in name or path[0] == 47:
                raise ValueError(f"{path!r} in {archive.name} is not a valid path")
            if path in expand:
                name = name.removesuffix(b".zip")
                inner = _InnerDirectory(self, first + len(nodes), parent, name)
                inner.archive, inner.member = archive, member
                inner.first = (len(self._inner) + 1 << _INNER_SHIFT) + 1
                self._inner.append(inner)
                node: _ZipNode = inner
            else:
                node = _ZipFile(self, first + len(nodes), parent, name)
                node.archive, node.member, node.size = archive, member, member.size
            nodes.append(node)
            parent.names[name] = node

    def complete(self) -> None:
        """Call `fill`, unless it has been. Raises OSError (EIO) when an archive is damaged."""
        if self._fill_later is None:
            return
        with self._lock:
            fill = self._fill_later
            if fill is None:
                return  # another thread has, meanwhile
            try:
                fill(self)
            except BaseException as error:
                del self._nodes[1:], self._inner[:]
                self._root.names.clear()
                if not isinstance(error, ValueError):
                    raise
                raise failure(errno.EIO, None, f"Input/output error ({error})") from None
            self._fill_later = None

    # -- contents ----------------------------------------------------------------------------------

    def contents(self, node: _ZipFile) -> bytes:
        """What is in a file, inflated now or lately."""
        if node.contents is not None:
            return node.contents
        inode = node.inode
        with self._lock:
            data = self._kept.get(inode)
            if data is not None:
                self._kept.move_to_end(inode)
                return data
        data = node.archive.contents(node.member)
        if isinstance(node.archive.source, bytes) and node.member.method == _STORED:
            return data  # there is a copy in memory as it is
        with self._lock:
            if inode not in self._kept and len(data) <= _KEPT:
                self._kept[inode] = data
                self._kept_bytes += len(data)
                while self._kept_bytes > _KEPT:
                    self._kept_bytes -= len(self._kept.popitem(last=False)[1])
        return data

    def load(self, directory: _InnerDirectory) -> None:
        """Read the table of contents of an inner archive, which stays in memory from then on."""
        with self._lock:
            if directory.nodes is None:
                data = directory.archive.contents(directory.member)
                nodes: list[_ZipNode] = []
                try:
                    self._fill(_Archive(data, directory.name.decode()), directory, nodes, directory.first)
                except ValueError as error:
                    directory.names.clear()
                    raise failure(errno.EIO, None, f"Input/output error ({error})") from None
                directory.nodes = nodes

    # -- looking -----------------------------------------------------------------------------------

    def find_node(self, inode: int) -> Node | None:
        self.complete()
        nodes, number = self._nodes, inode
        archive = inode >> _INNER_SHIFT
        if archive > 0:
            if archive > len(self._inner):
                return None
            inner = self._inner[archive - 1]
            self.load(inner)
            assert inner.nodes is not None
            nodes, number = inner.nodes, inode - inner.first + 1
        return nodes[number - 1] if 0 < number <= len(nodes) else None

    def usage(self) -> FileSystemUsage:
        self.complete()
        return FileSystemUsage(0, 0, len(self._nodes), len(self._nodes))


class _ZipNode(Node):
    __slots__ = ("above", "filesystem", "format", "inode", "name")

    filesystem: ZipFileSystem
    above: _ZipDirectory

    def __init__(
        self, filesystem: ZipFileSystem, inode: int, above: _ZipDirectory | None, name: bytes
    ) -> None:
        self.filesystem = filesystem
        self.inode = inode
        self.name = name
        self.format = _REGULAR
        if above is not None:
            self.above = above

    def path(self) -> bytes | None:
        parts: list[bytes] = []
        node: _ZipNode = self
        while node.inode != 1:
            parts.append(node.name)
            node = node.above
        return b"/" + b"/".join(reversed(parts))


class _ZipDirectory(_ZipNode):
    __slots__ = ("names",)

    def __init__(
        self, filesystem: ZipFileSystem, inode: int, above: _ZipDirectory | None, name: bytes
    ) -> None:
        super().__init__(filesystem, inode, above, name)
        self.format = _DIRECTORY
        self.names: dict[bytes, _ZipNode] = {}
        if above is None:
            self.above = self

    @property
    def parent(self) -> Node:
        return self.above

    def stat(self, device: int) -> Stat:
        return Stat(device, self.inode, _DIRECTORY | 0o555, 2, _DIRECTORY_SIZE, 0, 0, 0)

    def open(self, flags: OpenFlags, mount: MountPoint) -> NodeHandle:
        return NodeHandle(self, flags, mount)

    def lookup(self, name: bytes) -> Node | None:
        return self.names.get(name)

    def entries(self) -> list[DirEntry]:
        return [
            DirEntry(name, node.inode, FileKind(node.format)) for name, node in sorted(self.names.items())
        ]


class _RootDirectory(_ZipDirectory):
    """The top, by which everything else is found."""

    __slots__ = ()

    def lookup(self, name: bytes) -> Node | None:
        self.filesystem.complete()
        return super().lookup(name)

    def entries(self) -> list[DirEntry]:
        self.filesystem.complete()
        return super().entries()


class _InnerDirectory(_ZipDirectory):
    """A member that is an archive, shown as a directory; it is opened on first access."""

    __slots__ = ("archive", "first", "member", "nodes")

    archive: _Archive
    member: _Member
    #: The number of its first node.
    first: int

    def __init__(
        self, filesystem: ZipFileSystem, inode: int, above: _ZipDirectory | None, name: bytes
    ) -> None:
        super().__init__(filesystem, inode, above, name)
        self.nodes: list[_ZipNode] | None = None

    def lookup(self, name: bytes) -> Node | None:
        if self.nodes is None:
            self.filesystem.load(self)
        return self.names.get(name)

    def entries(self) -> list[DirEntry]:
        if self.nodes is None:
            self.filesystem.load(self)
        return super().entries()


class _ZipFile(_ZipNode):
    __slots__ = ("archive", "contents", "member", "size")

    archive: _Archive
    member: _Member
    size: int

    def __init__(
        self, filesystem: ZipFileSystem, inode: int, above: _ZipDirectory | None, name: bytes
    ) -> None:
        super().__init__(filesystem, inode, above, name)
        self.contents: bytes | None = None

    def stat(self, device: int) -> Stat:
        return Stat(device, self.inode, _REGULAR | 0o444, 1, self.size, 0, 0, 0)

    def open(self, flags: OpenFlags, mount: MountPoint) -> NodeHandle:
        if int(flags) & (OpenFlags.WRITE | OpenFlags.TRUNCATE):
            raise failure(errno.EROFS)
        return _ZipHandle(self, flags, mount)


class _ZipHandle(NodeHandle):
    """An open member keeps its contents, once it was read, until it is closed."""

    __slots__ = ("contents",)

    node: _ZipFile

    def __init__(self, node: Node, flags: OpenFlags, mount: MountPoint) -> None:
        super().__init__(node, flags, mount)
        self.contents: bytes | None = None

    def read(self, size: int, offset: int) -> bytes:
        if size < 0 or offset < 0:
            raise failure(errno.EINVAL)
        return self._contents()[offset : offset + size]

    def read_into(self, buffer: memoryview, offset: int) -> int:
        if offset < 0:
            raise failure(errno.EINVAL)
        data = memoryview(self._contents())[offset : offset + len(buffer)]
        buffer[: len(data)] = data
        return len(data)

    def _contents(self) -> bytes:
        if self.closed or not self.flags & OpenFlags.READ:
            raise failure(errno.EBADF)
        if self.contents is None:
            self.contents = self.node.filesystem.contents(self.node)
        return self.contents

    def close(self) -> None:
        super().close()
        self.contents = None
