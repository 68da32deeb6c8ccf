"""A filesystem of the outside behind a journal: what it answers is kept, or given from a recording."""

from __future__ import annotations

import errno
from collections.abc import Callable
from typing import ClassVar, Final, Protocol, Self, TypeVar

from planaria.files.filesystem import DirEntry, FileKind, FileSystemUsage, OpenFlags, Stat, failure
from planaria.files.node import MountPoint, Node, NodeHandle, NodeStore
from planaria.files.stateless import StatelessFileSystem

__all__ = ["Asking", "JournaledFileSystem"]

Value = TypeVar("Value")
#: A node as it is kept: its type bits and its inode number.
_Found = tuple[int, int]
#: The inode number of the root among kept nodes, whatever it is.
_ROOT: Final = 1


class Asking(Protocol):
    """`Journal.outcome`; see `executors.journal`."""

    def __call__(self, kind: str, ask: Callable[[], Value], /) -> Value:
        """What `ask` gives, or gave when it was recorded."""


class JournaledFileSystem(StatelessFileSystem):
    """What `inner` is, or without it what was recorded of one; every answer goes through `outcome`."""

    __slots__ = ("_kinds", "inner", "outcome")

    manifest_format: ClassVar[str] = "planaria-host-1"

    def __init__(self, inner: NodeStore | None, outcome: Asking, *, read_only: bool = False) -> None:
        super().__init__()
        self.inner = inner
        self.outcome = outcome
        #: The type bits of what was found in a replay, by inode number.
        self._kinds: dict[int, int] = {}
        top = None if inner is None else inner.top
        node = _JournaledNode(self, None if top is None else top.root, int(FileKind.DIRECTORY), _ROOT)
        self.top = MountPoint(self, node, read_only=read_only if top is None else top.read_only)

    def fork(self) -> Self:
        """The same outside, for another session too."""
        return self

    def find_node(self, inode: int) -> Node | None:
        """What was open when a replay stood here before; of the outside, what can be found by its number."""
        inner = None
        if self.inner is not None:
            inner = self.inner.find_node(inode)
            if inner is None:
                return None
        elif inode == _ROOT:
            return self.top.root
        kind = self._kinds.get(inode, int(FileKind.REGULAR)) if inner is None else inner.format
        return _JournaledNode(self, inner, kind, inode)

    def found(self, inode: int, kind: int) -> None:
        """A replay has come to this file."""
        if self.inner is None:
            self._kinds[inode] = kind

    def usage(self) -> FileSystemUsage:
        def ask() -> tuple[int | None, ...]:
            assert self.inner is not None
            usage = self.inner.usage()
            return (usage.bytes_used, usage.bytes_limit, usage.nodes_used, usage.nodes_limit)

        used, most, nodes, most_nodes = self.outcome("usage", ask)
        return FileSystemUsage(used or 0, most, nodes or 0, most_nodes)


class _JournaledNode(Node):
    __slots__ = ("filesystem", "format", "inner", "inode")

    filesystem: JournaledFileSystem

    def __init__(self, filesystem: JournaledFileSystem, inner: Node | None, kind: int, inode: int) -> None:
        self.filesystem = filesystem
        self.inner = inner
        self.format = kind
        self.inode = inode

    def _ask(self, kind: str, ask: Callable[[Node], Value]) -> Value:
        def asked() -> Value:
            return ask(_there(self.inner))

        return self.filesystem.outcome(kind, asked)

    def _node(self, kind: str, ask: Callable[[Node], Node | None]) -> Node | None:
        """A node that another one gives; None where it gives none."""
        found: list[Node] = []

        def look(inner: Node) -> _Found | None:
            node = ask(inner)
            if node is None:
                return None
            found.append(node)
            assert filesystem.inner is not None
            return node.format, _ROOT if node.inode == filesystem.inner.top.root.inode else node.inode

        filesystem = self.filesystem
        facts = self._ask(kind, look)
        if facts is None:
            return None
        if facts[1] == _ROOT:
            return filesystem.top.root
        filesystem.found(facts[1], facts[0])
        return _JournaledNode(filesystem, found[0] if found else None, *facts)

    def stat(self, device: int) -> Stat:
        return Stat(device, *self._ask("stat", lambda inner: tuple(inner.stat(0)[1:])))

    def open(self, flags: OpenFlags, mount: MountPoint) -> NodeHandle:
        opened: list[NodeHandle] = []

        def ask() -> None:
            outside = self.filesystem.inner
            # Without one, a replay opens it again that stands where it was open.
            if self.inner is not None and outside is not None:
                opened.append(self.inner.open(flags, outside.top))

        self.filesystem.outcome("open", ask)
        return _JournaledHandle(self, flags, mount, opened[0] if opened else None)

    def path(self) -> bytes | None:
        return self._ask("path", lambda inner: inner.path())

    def utime(self, atime: int | None, mtime: int | None) -> None:
        self._ask("utime", lambda inner: inner.utime(atime, mtime))

    def chmod(self, mode: int) -> None:
        self._ask("chmod", lambda inner: inner.chmod(mode))

    def readlink(self) -> bytes:
        return self._ask("readlink", lambda inner: inner.readlink())

    @property
    def parent(self) -> Node:
        found = self._node("parent", lambda inner: inner.parent)
        assert found is not None
        return found

    def lookup(self, name: bytes) -> Node | None:
        return self._node("lookup", lambda inner: inner.lookup(name))

    def entries(self) -> list[DirEntry]:
        reported = self._ask(
            "entries", lambda inner: [(one.name, one.inode, int(one.kind)) for one in inner.entries()]
        )
        return [DirEntry(name, inode, FileKind(kind)) for name, inode, kind in reported]

    def create(self, name: bytes, mode: int) -> Node:
        found = self._node("create", lambda inner: inner.create(name, mode))
        assert found is not None
        return found

    def mkdir(self, name: bytes, mode: int) -> None:
        self._ask("mkdir", lambda inner: inner.mkdir(name, mode))

    def symlink(self, name: bytes, target: bytes) -> None:
        self._ask("symlink", lambda inner: inner.symlink(name, target))

    def link(self, name: bytes, node: Node) -> None:
        self._ask("link", lambda inner: inner.link(name, _inner(node)))

    def unlink(self, name: bytes, node: Node) -> None:
        self._ask("unlink", lambda inner: inner.unlink(name, _inner(node)))

    def rmdir(self, name: bytes, node: Node) -> None:
        self._ask("rmdir", lambda inner: inner.rmdir(name, _inner(node)))

    def rename(self, name: bytes, node: Node, directory: Node, new: bytes, target: Node | None) -> None:
        self._ask(
            "rename",
            lambda inner: inner.rename(
                name, _inner(node), _inner(directory), new, None if target is None else _inner(target)
            ),
        )


def _there(inner: Value | None) -> Value:
    """What is to be asked. Between the entries of a replay nothing can be, so that nothing is found."""
    if inner is None:
        raise failure(errno.ESTALE)
    return inner


def _inner(node: Node) -> Node:
    assert isinstance(node, _JournaledNode)
    assert node.inner is not None
    return node.inner


class _JournaledHandle(NodeHandle):
    __slots__ = ("inner",)

    node: _JournaledNode

    def __init__(
        self, node: _JournaledNode, flags: OpenFlags, mount: MountPoint, inner: NodeHandle | None
    ) -> None:
        super().__init__(node, flags, mount)
        self.inner = inner

    def _ask(self, kind: str, ask: Callable[[NodeHandle], Value]) -> Value:
        self.check()

        def asked() -> Value:
            return ask(_there(self.inner))

        return self.node.filesystem.outcome(kind, asked)

    def stat(self) -> Stat:
        return Stat(self.mount.device, *self._ask("fstat", lambda inner: tuple(inner.stat()[1:])))

    def read(self, size: int, offset: int) -> bytes:
        return self._ask("read", lambda inner: inner.read(size, offset))

    def write(self, data: bytes | memoryview, offset: int) -> int:
        return self._ask("write", lambda inner: inner.write(data, offset))

    def append(self, data: bytes | memoryview) -> int:
        return self._ask("append", lambda inner: inner.append(data))

    def truncate(self, size: int) -> None:
        self._ask("truncate", lambda inner: inner.truncate(size))

    def sync(self) -> None:
        self._ask("sync", lambda inner: inner.sync())

    def utime(self, atime: int | None, mtime: int | None) -> None:
        self._ask("futime", lambda inner: inner.utime(atime, mtime))

    def chmod(self, mode: int) -> None:
        self._ask("fchmod", lambda inner: inner.chmod(mode))

    def path(self) -> bytes | None:
        return self.mount.path_of(self.node)

    def close(self) -> None:
        if not self.closed:
            super().close()
            if self.inner is not None:
                self.inner.close()
