"""Directories of a filesystem in memory: names and everything that changes them."""

from __future__ import annotations

import errno
from typing import Any, Final, cast

from planaria.files.filesystem import Columns, DirEntry, FileKind, failure
from planaria.files.inodes import InodeRecord
from planaria.files.memory_file import RegularFile
from planaria.files.memory_nodes import ROOT, MemoryNode, MemoryNodeStore, MemoryParent, MemorySymbolicLink
from planaria.files.node import Node
from planaria.files.quota import NAME_COST, NODE_COST

__all__ = ["MemoryDirectory"]

_DIRECTORY: Final = int(FileKind.DIRECTORY)
_REGULAR: Final = int(FileKind.REGULAR)
_SYMBOLIC_LINK: Final = int(FileKind.SYMBOLIC_LINK)
_KINDS: Final = {int(kind): kind for kind in FileKind}
#: The size of a directory, whatever it holds, as ext4 reports it for small ones.
_DIRECTORY_SIZE: Final = 4096


class MemoryDirectory(MemoryParent):
    __slots__ = ()

    def __init__(self, filesystem: MemoryNodeStore, inode: int, mode: int, now: int) -> None:
        super().__init__(filesystem, inode, mode, now)
        self.names = {}
        self.size = _DIRECTORY_SIZE

    def fields(self) -> dict[str, Any]:
        return {"names": self.names}

    def become(self, record: InodeRecord) -> None:
        super().become(record)
        self.names = cast("dict[bytes, int]", record.names)

    def changing(self) -> None:
        if self.record is not None:
            self.names = dict(self.names)
        super().changing()

    @property
    def parent(self) -> Node:
        above = self.filesystem.find_node(self.up)
        if above is None:
            raise failure(errno.ENOENT)  # both were removed
        return above

    def lookup(self, name: bytes) -> MemoryNode | None:
        inode = self.names.get(name)
        if inode is None:
            if self.stale:
                raise failure(errno.ESTALE)
            return None
        try:
            return self.filesystem.table[inode]
        except KeyError:
            return None  # another thread unlinked it just now

    def entries(self) -> list[DirEntry]:
        if self.stale:
            raise failure(errno.ESTALE)
        table = self.filesystem.table
        with self.filesystem.lock:
            return [
                DirEntry(name, inode, _KINDS[table[inode].format])
                for name, inode in sorted(self.names.items())
            ]

    def columns(self) -> Columns:
        if self.stale:
            raise failure(errno.ESTALE)
        table = self.filesystem.table
        with self.filesystem.lock:
            names = sorted(self.names)
            inodes = list(map(self.names.__getitem__, names))
            return names, inodes, [table[inode].format for inode in inodes]

    # -- new nodes ---------------------------------------------------------------------------------

    def check_new(self, name: bytes, length: int) -> int:
        """Check that a node with `length` bytes in it may be made under `name`; what it costs."""
        self.check_name(name)
        filesystem = self.filesystem
        if filesystem.nodes >= filesystem.nodes_limit:
            raise failure(errno.EDQUOT, None, f"Disk quota exceeded ({filesystem.nodes_limit} nodes)")
        cost = NODE_COST + NAME_COST + len(name) + length
        if filesystem.used + cost > filesystem.bytes_limit:
            filesystem.charge(cost)
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

    def insert_new(self, name: bytes, node: MemoryNode, cost: int) -> None:
        """Add a node whose number is the next one."""
        filesystem = self.filesystem
        filesystem.next_inode += 1
        filesystem.nodes += 1
        filesystem.used += cost
        filesystem.table[node.inode] = node
        filesystem.changed.add(node.inode)
        self._insert(name, node)

    def _insert(self, name: bytes, node: MemoryNode) -> None:
        if self.record is not None:
            self.changing()
        self.names[name] = node.inode
        node.up = self.inode
        node.name = name
        self.mtime = self.ctime = self.filesystem.clock()

    def _remove(self, name: bytes) -> None:
        if self.record is not None:
            self.changing()
        del self.names[name]
        self.mtime = self.ctime = self.filesystem.clock()

    def create(self, name: bytes, mode: int) -> Node:
        filesystem = self.filesystem
        with filesystem.lock:
            cost = self.check_new(name, 0)
            node = RegularFile(
                filesystem, filesystem.next_inode, _REGULAR | (mode & 0o7777), filesystem.clock()
            )
            self.insert_new(name, node, cost)
            return node

    def mkdir(self, name: bytes, mode: int) -> None:
        filesystem = self.filesystem
        with filesystem.lock:
            cost = self.check_new(name, 0)
            limit = filesystem.quota.depth
            if limit is not None and self._depth() >= limit:
                raise failure(errno.ENAMETOOLONG, None, f"File name too long ({limit} directories deep)")
            node = MemoryDirectory(
                filesystem, filesystem.next_inode, _DIRECTORY | (mode & 0o7777), filesystem.clock()
            )
            node.links = 2
            self.insert_new(name, node, cost)
            self.links += 1

    def symlink(self, name: bytes, target: bytes) -> None:
        filesystem = self.filesystem
        with filesystem.lock:
            cost = self.check_new(name, len(target))
            node = MemorySymbolicLink(
                filesystem, filesystem.next_inode, _SYMBOLIC_LINK | 0o777, filesystem.clock()
            )
            node.point_to(target)
            self.insert_new(name, node, cost)

    # -- names ---------------------------------------------------------------------------------------

    def link(self, name: bytes, node: Node) -> None:
        filesystem = self.filesystem
        with filesystem.lock:
            self.check_name(name)
            linked = cast(MemoryNode, node)
            if not linked.links:
                raise failure(errno.ENOENT)
            filesystem.charge(NAME_COST + len(name))
            linked.changing()
            linked.links += 1
            linked.ctime = filesystem.clock()
            self._insert(name, linked)

    def unlink(self, name: bytes, node: Node) -> None:
        with self.filesystem.lock:
            self._still(name, node)
            self._remove(name)
            self.filesystem.used -= NAME_COST + len(name)
            self._drop(cast(MemoryNode, node))

    def rmdir(self, name: bytes, node: Node) -> None:
        with self.filesystem.lock:
            self._still(name, node)
            self._drop_directory(cast(MemoryDirectory, node))
            self._remove(name)
            self.filesystem.moves += 1
            self.filesystem.used -= NAME_COST + len(name)

    def rename(self, name: bytes, node: Node, directory: Node, new: bytes, target: Node | None) -> None:
        filesystem = self.filesystem
        with filesystem.lock:
            self._still(name, node)
            to = cast(MemoryDirectory, directory)
            moved = cast(MemoryNode, node)
            replaced = cast("MemoryNode | None", target)
            if replaced is None:
                to.check_name(new)
            if isinstance(moved, MemoryDirectory):
                moved.check_depth_below(to)
            if replaced is None:
                filesystem.charge(len(new) - len(name))
            else:
                to._still(new, replaced)
            if replaced is not None:
                if isinstance(replaced, MemoryDirectory):
                    to._drop_directory(replaced)
                filesystem.used -= NAME_COST + len(name)
                to._remove(new)
            self._remove(name)
            moved.changing()
            moved.ctime = filesystem.clock()
            to._insert(new, moved)
            if isinstance(moved, MemoryDirectory):
                filesystem.moves += 1
            if isinstance(moved, MemoryDirectory) and to is not self:
                # Each directory counts as a link of the one above it, as its `..`.
                self.changing()
                self.links -= 1
                to.changing()
                to.links += 1
            if replaced is not None and not isinstance(replaced, MemoryDirectory):
                self._drop(replaced)

    def _still(self, name: bytes, node: Node) -> None:
        """The walk found `node` before the lock was taken; is it still there?"""
        if self.stale:
            raise failure(errno.ESTALE)
        if self.names.get(name) != node.inode:
            raise failure(errno.ENOENT)

    def _drop(self, node: MemoryNode) -> None:
        node.changing()
        node.links -= 1
        node.ctime = self.filesystem.clock()
        if not node.links:
            self.filesystem.nameless(node)

    def _drop_directory(self, node: MemoryDirectory) -> None:
        if node.names:
            raise failure(errno.ENOTEMPTY)
        self.changing()
        self.links -= 1
        node.changing()
        node.links = 0
        self.filesystem.nameless(node)

    # -- depth ---------------------------------------------------------------------------------------

    def _depth(self) -> int:
        table = self.filesystem.table
        depth = 0
        inode = self.inode
        while inode != ROOT:
            inode = table[inode].up
            depth += 1
        return depth

    def check_depth_below(self, directory: MemoryDirectory) -> None:
        """Would the tree become too deep if this directory were moved into that one?"""
        limit = self.filesystem.quota.depth
        if limit is None:
            return
        depth = directory._depth() + 1
        if depth <= self._depth():
            return
        table = self.filesystem.table
        level: list[MemoryDirectory] = [self]
        while level:
            if depth > limit:
                raise failure(errno.ENAMETOOLONG, None, f"File name too long ({limit} directories deep)")
            below = (table[inode] for directory in level for inode in directory.names.values())
            level = [node for node in below if isinstance(node, MemoryDirectory)]
            depth += 1
