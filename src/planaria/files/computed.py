"""Filesystems whose contents are functions: the devices in /dev and the text files in /proc.

The tree is fixed, and what is written to a device goes to its function, so there is no state to capture. It
is created on first access, which most sessions never do.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping
from typing import Final

from planaria.files.filesystem import DirEntry, FileKind, FileSystemUsage, OpenFlags, Stat, failure
from planaria.files.node import MountPoint, Node, NodeHandle
from planaria.files.stateless import StatelessFileSystem

__all__ = ["ComputedFileSystem", "Device", "Link", "Text", "Tree"]

FORMAT: Final = "planaria-computed-1"
_DIRECTORY: Final = int(FileKind.DIRECTORY)


class Device:
    """A character device: `read(size)` gives bytes, `write(data)` takes them and returns how many.

    A device without one of the two cannot be opened for it (ENXIO).
    """

    __slots__ = ("mode", "read", "write")

    def __init__(
        self,
        read: Callable[[int], bytes] | None = None,
        write: Callable[[bytes], int] | None = None,
        *,
        mode: int = 0o666,
    ) -> None:
        self.read = read
        self.write = write
        self.mode = mode


class Text:
    """A read-only regular file whose contents are computed when it is opened (its size is reported as 0)."""

    __slots__ = ("contents",)

    def __init__(self, contents: Callable[[], bytes] | bytes) -> None:
        self.contents = contents


class Link:
    """A symbolic link whose target may be computed."""

    __slots__ = ("target",)

    def __init__(self, target: Callable[[], bytes] | bytes) -> None:
        self.target = target


#: What names stand for; a directory is such a mapping, or a function that gives the names of the moment.
Tree = Mapping[bytes, "Device | Text | Link | Tree | Callable[[], Mapping[bytes, Link]]"]


class ComputedFileSystem(StatelessFileSystem):
    """The fixed tree that `tree` gives; all times are `time` (nanoseconds since the epoch)."""

    __slots__ = ("_nodes", "time")

    manifest_format = FORMAT

    def __init__(self, *, time: int = 0) -> None:
        super().__init__()
        self.time = time
        root = _ComputedDirectory(self, 1, None, b"", FileKind.DIRECTORY | 0o555)
        self._nodes: list[_ComputedNode] = [root]
        self.top = MountPoint(self, root)

    def tree(self) -> Tree:
        """What is in the root."""
        raise NotImplementedError

    def all_nodes(self) -> list[_ComputedNode]:
        """Every node but those of directories that are functions, by inode."""
        root = self._nodes[0]
        assert isinstance(root, _ComputedDirectory)
        if root.names is None:
            nodes: list[_ComputedNode] = [root]
            names = {name: self._make(nodes, root, name, content) for name, content in self.tree().items()}
            # At once: another thread may look at the same time.
            self._nodes, root.names = nodes, names
        return self._nodes

    def _make(
        self, nodes: list[_ComputedNode], parent: _ComputedDirectory, name: bytes, content: object
    ) -> _ComputedNode:
        inode = len(nodes) + 1
        node: _ComputedNode
        if isinstance(content, Device):
            node = _DeviceNode(self, inode, parent, name, FileKind.CHARACTER_DEVICE | content.mode)
            node.device = content
        elif isinstance(content, Text):
            node = _TextNode(self, inode, parent, name, FileKind.REGULAR | 0o444)
            node.text = content
        elif isinstance(content, Link):
            node = _LinkNode(self, inode, parent, name, FileKind.SYMBOLIC_LINK | 0o777)
            node.content = content
        else:
            node = _ComputedDirectory(self, inode, parent, name, FileKind.DIRECTORY | 0o555)
            nodes.append(node)
            if callable(content):
                node.listing = content
            else:
                assert isinstance(content, Mapping)
                node.names = {one: self._make(nodes, node, one, inner) for one, inner in content.items()}
            return node
        nodes.append(node)
        return node

    def find_node(self, inode: int) -> Node | None:
        nodes = self._nodes if inode == 1 else self.all_nodes()
        return nodes[inode - 1] if 0 < inode <= len(nodes) else None

    def usage(self) -> FileSystemUsage:
        nodes = len(self.all_nodes())
        return FileSystemUsage(0, 0, nodes, nodes)


class _ComputedNode(Node):
    __slots__ = ("above", "filesystem", "format", "inode", "mode", "name")

    filesystem: ComputedFileSystem

    def __init__(
        self,
        filesystem: ComputedFileSystem,
        inode: int,
        above: _ComputedDirectory | None,
        name: bytes,
        mode: int,
    ) -> None:
        self.filesystem = filesystem
        self.inode = inode
        self.above = above
        self.name = name
        self.mode = mode
        self.format = mode & 0o170000

    def stat(self, device: int) -> Stat:
        time = self.filesystem.time
        return Stat(device, self.inode, self.mode, 2 if self.format == _DIRECTORY else 1, 0, time, time, time)

    def open(self, flags: OpenFlags, mount: MountPoint) -> NodeHandle:
        return NodeHandle(self, flags, mount)

    def path(self) -> bytes | None:
        parts: list[bytes] = []
        node: _ComputedNode = self
        while node.above is not None:
            parts.append(node.name)
            node = node.above
        return b"/" + b"/".join(reversed(parts))


class _ComputedDirectory(_ComputedNode):
    __slots__ = ("listing", "names")

    #: None of the root until it is made, and of a directory that is a function.
    names: dict[bytes, _ComputedNode] | None
    listing: Callable[[], Mapping[bytes, Link]] | None

    def __init__(
        self,
        filesystem: ComputedFileSystem,
        inode: int,
        above: _ComputedDirectory | None,
        name: bytes,
        mode: int,
    ) -> None:
        super().__init__(filesystem, inode, above, name, mode)
        self.names = None
        self.listing = None

    @property
    def parent(self) -> Node:
        return self.above or self

    def _present(self) -> dict[bytes, _ComputedNode]:
        if self.listing is None:
            if self.names is None:
                self.filesystem.all_nodes()
            assert self.names is not None
            return self.names
        names: dict[bytes, _ComputedNode] = {}
        for number, (name, link) in enumerate(self.listing().items()):
            # Such nodes come and go, so their numbers lie apart from those of the fixed ones.
            node = _LinkNode(self.filesystem, (self.inode << 32) + number, self, name, 0o120777)
            node.content = link
            names[name] = node
        return names

    def lookup(self, name: bytes) -> Node | None:
        return self._present().get(name)

    def entries(self) -> list[DirEntry]:
        return [DirEntry(name, node.inode, FileKind(node.format)) for name, node in self._present().items()]


class _LinkNode(_ComputedNode):
    __slots__ = ("content",)

    content: Link

    def readlink(self) -> bytes:
        target = self.content.target
        return target() if callable(target) else target


class _TextNode(_ComputedNode):
    __slots__ = ("text",)

    text: Text

    def open(self, flags: OpenFlags, mount: MountPoint) -> NodeHandle:
        if int(flags) & (OpenFlags.WRITE | OpenFlags.TRUNCATE):
            raise failure(errno.EACCES)
        contents = self.text.contents
        return _TextHandle(self, flags, mount, contents() if callable(contents) else contents)


class _TextHandle(NodeHandle):
    __slots__ = ("contents",)

    def __init__(self, node: Node, flags: OpenFlags, mount: MountPoint, contents: bytes) -> None:
        super().__init__(node, flags, mount)
        self.contents = contents

    def read(self, size: int, offset: int) -> bytes:
        self.check()
        if size < 0 or offset < 0:
            raise failure(errno.EINVAL)
        return self.contents[offset : offset + size]


class _DeviceNode(_ComputedNode):
    __slots__ = ("device",)

    device: Device

    def open(self, flags: OpenFlags, mount: MountPoint) -> NodeHandle:
        wanted = int(flags)
        if (wanted & OpenFlags.READ and self.device.read is None) or (
            wanted & OpenFlags.WRITE and self.device.write is None
        ):
            raise failure(errno.ENXIO)
        return _DeviceHandle(self, flags, mount)


class _DeviceHandle(NodeHandle):
    """Offsets mean nothing to a device, and truncating one is harmless, as for /dev/null."""

    __slots__ = ()

    node: _DeviceNode

    def read(self, size: int, offset: int) -> bytes:
        read = self.node.device.read
        if self.closed or read is None or not self.flags & OpenFlags.READ:
            raise failure(errno.EBADF)
        if size < 0:
            raise failure(errno.EINVAL)
        return read(size)

    def write(self, data: bytes | memoryview, offset: int) -> int:
        write = self.node.device.write
        if self.closed or write is None or not self.flags & OpenFlags.WRITE:
            raise failure(errno.EBADF)
        return write(bytes(data))

    def append(self, data: bytes | memoryview) -> int:
        self.write(data, 0)
        return 0

    def truncate(self, size: int) -> None:
        self.check()
