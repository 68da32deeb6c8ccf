"""Paths: the operations of a filesystem, done by walking over nodes.

The rules are those of path_resolution(7), with what Linux does in the corners (trailing slashes,
`.` and `..` as the last component, links that loop). Permission bits are kept but not enforced: the
guest is the only user there is.
"""

from __future__ import annotations

import errno
from typing import Final, TypeVar

from planaria.files.filesystem import DirEntry, FileKind, Handle, OpenFlags, Stat, StatMaker, failure
from planaria.files.interruption import give_way
from planaria.files.node import MountPoint, Node, NodeHandle, NodeStore

__all__ = ["NodeFileSystem", "Place"]

Value = TypeVar("Value")

_DIRECTORY: Final = int(FileKind.DIRECTORY)
_SYMBOLIC_LINK: Final = int(FileKind.SYMBOLIC_LINK)
_REGULAR: Final = int(FileKind.REGULAR)
_SPECIAL: Final = frozenset({b"", b".", b".."})
_MAX_LINKS: Final = 40
#: Steps of a path between two looks at whether the guest is to be interrupted, as a mask.
_LOOK: Final = 255

# Plain integers: arithmetic on an enum costs more than the rest of opening a file.
_READ: Final = int(OpenFlags.READ)
_WRITE: Final = int(OpenFlags.WRITE)
_APPEND: Final = int(OpenFlags.APPEND)
_CREATE: Final = int(OpenFlags.CREATE)
_EXCLUSIVE: Final = int(OpenFlags.EXCLUSIVE)
_TRUNCATE: Final = int(OpenFlags.TRUNCATE)
_AS_DIRECTORY: Final = int(OpenFlags.DIRECTORY)
_NO_FOLLOW: Final = int(OpenFlags.NO_FOLLOW)
_WRITING: Final = _WRITE | _APPEND | _TRUNCATE

#: Where a path leads: the mount, the directory (None when the path ends in `.`, `..` or is the root),
#: the last name, the node (None when there is none), and whether the path insists on a directory.
Place = tuple[MountPoint, "Node | None", bytes, "Node | None", bool]


class NodeFileSystem(NodeStore):
    """A filesystem that has nodes; subclasses set `top` and say what a node can do."""

    __slots__ = ()

    def __init__(self, *, path_limit: int = 4095, name_limit: int = 255) -> None:
        self.path_limit = path_limit
        self.name_limit = name_limit

    # -- the walk --------------------------------------------------------------------------------

    def walk(self, path: bytes, follow: bool, at: Handle | None = None, *, entry: bool = False) -> Place:
        """Resolve `path`; with `follow` also a symbolic link at its end.

        A slash at the end means that as well, and asks for a directory, unless it is the `entry` itself
        that is wanted, to be made or removed.
        """
        if at is None:
            # By far the usual case: something or nothing in a directory that was found before.
            mount = self.top
            prefix, _, name = path.rpartition(b"/")
            known = mount.known.get(prefix)
            if known is not None and known[0] == mount.filesystem.moves and len(path) <= self.path_limit:
                directory = known[1]
                node = directory.lookup(name)
                if node is None:
                    if len(name) <= self.name_limit and name not in _SPECIAL and b"\0" not in name:
                        return mount, directory, name, None, False
                elif (kind := node.format) == _REGULAR or (
                    kind == _DIRECTORY and node.inode not in mount.points
                ):
                    return mount, directory, name, node, False
        return self._walk(path, follow, at, entry)

    def _walk(self, path: bytes, follow: bool, at: Handle | None, entry: bool) -> Place:
        if not path:
            raise failure(errno.ENOENT, path)
        if len(path) > self.path_limit:
            raise failure(errno.ENAMETOOLONG, path)
        if b"\0" in path:
            raise failure(errno.EINVAL, path)
        prefix = b""
        moves: int | None = None
        if at is None or path[0] == 47:
            mount = self.top
            moves = mount.filesystem.moves
            node = mount.root
            prefix = path.rpartition(b"/")[0]
        else:
            if not isinstance(at, NodeHandle) or at.closed:
                raise failure(errno.EBADF, path)
            mount = at.mount
            node = at.node
            if node.format != _DIRECTORY:
                raise failure(errno.ENOTDIR, path)
        whole = path
        must_be_directory = path[-1] == 47
        if must_be_directory:
            path = path.rstrip(b"/")
        parts = path.split(b"/")
        parts.reverse()
        directory: Node | None = None
        name = b""
        links = 0
        steps = 0
        while parts:
            name = parts.pop()
            steps += 1
            if not steps & _LOOK:
                give_way()
            if name in _SPECIAL:
                if name:
                    if node.format != _DIRECTORY:
                        raise failure(errno.ENOTDIR, whole)
                    if name == b"..":
                        while node is mount.root and mount.parent is not None and mount.covered is not None:
                            node = mount.covered
                            mount = mount.parent
                        node = node.parent
                directory = None
                continue
            if node.format != _DIRECTORY:
                raise failure(errno.ENOTDIR, whole)
            child = node.lookup(name)
            if child is None:
                if len(name) > self.name_limit:
                    raise failure(errno.ENAMETOOLONG, whole)
                if parts:
                    raise failure(errno.ENOENT, whole)
                if moves is not None and not must_be_directory:
                    mount.know(prefix, moves, node)
                return mount, node, name, None, must_be_directory
            kind = child.format
            if kind == _SYMBOLIC_LINK:
                if parts or follow or (must_be_directory and not entry):
                    links += 1
                    if links > _MAX_LINKS:
                        raise failure(errno.ELOOP, whole)
                    moves = None
                    target = child.readlink()
                    if target[:1] == b"/":
                        mount = self.top
                        node = mount.root
                        directory = None
                    if target[-1:] == b"/":
                        if not parts:
                            must_be_directory = True
                        target = target.rstrip(b"/")
                    parts += reversed(target.split(b"/"))
                    continue
            elif mount.points and kind == _DIRECTORY:
                directory = node
                node = child
                while (inner := mount.points.get(node.inode)) is not None:
                    moves = None
                    mount = inner
                    node = inner.root
                continue
            directory = node
            node = child
        if must_be_directory and not entry and node.format != _DIRECTORY:
            raise failure(errno.ENOTDIR, whole)
        if moves is not None and directory is not None and not must_be_directory:
            mount.know(prefix, moves, directory)
        return mount, directory, name, node, must_be_directory

    def existing(self, path: bytes, follow: bool, at: Handle | None) -> tuple[MountPoint, Node]:
        """The node at `path`, or ENOENT."""
        mount, _, _, node, _ = self.walk(path, follow, at)
        if node is None:
            raise failure(errno.ENOENT, path)
        return mount, node

    def writable(self, path: bytes, follow: bool, at: Handle | None) -> Node:
        """The node at `path` whose metadata is to change."""
        mount, node = self.existing(path, follow, at)
        if mount.read_only:
            raise failure(errno.EROFS, path)
        return node

    # -- opening and looking -------------------------------------------------------------------

    def open(self, path: bytes, flags: OpenFlags, mode: int = 0o666, *, at: Handle | None = None) -> Handle:
        wanted = int(flags)
        if wanted & _CREATE:
            return self._open_or_create(path, wanted, mode, at)
        mount, _, _, node, must_be_directory = self.walk(path, not wanted & _NO_FOLLOW, at)
        if node is None:
            raise failure(errno.ENOENT, path)
        return self._open_node(path, node, wanted, mount, must_be_directory)

    def _open_or_create(self, path: bytes, wanted: int, mode: int, at: Handle | None) -> Handle:
        if wanted & _AS_DIRECTORY:
            raise failure(errno.EINVAL, path)
        if path.endswith(b"/"):
            _, directory, _, _, _ = self.walk(path, False, at, entry=True)
            raise failure(errno.EEXIST if directory is None and wanted & _EXCLUSIVE else errno.EISDIR, path)
        follow = not wanted & (_NO_FOLLOW | _EXCLUSIVE)
        mount, directory, name, node, must_be_directory = self.walk(path, follow, at)
        if node is None:
            if must_be_directory:
                raise failure(errno.EISDIR, path)
            if mount.read_only:
                raise failure(errno.EROFS, path)
            assert directory is not None
            try:
                node = directory.create(name, mode)
                wanted &= ~_TRUNCATE
            except FileExistsError:
                # Another thread was faster. That is a failure only for an exclusive creation.
                node = None if wanted & _EXCLUSIVE else directory.lookup(name)
                if node is None:
                    raise
        elif wanted & _EXCLUSIVE:
            raise failure(errno.EEXIST, path)
        elif node.format == _DIRECTORY:
            raise failure(errno.EISDIR, path)
        return self._open_node(path, node, wanted, mount, must_be_directory)

    def _open_node(
        self, path: bytes, node: Node, wanted: int, mount: MountPoint, must_be_directory: bool
    ) -> Handle:
        kind = node.format
        if kind == _DIRECTORY:
            if wanted & _WRITING:
                raise failure(errno.EISDIR, path)
        elif wanted & _AS_DIRECTORY or must_be_directory:
            raise failure(errno.ENOTDIR, path)
        elif kind == _SYMBOLIC_LINK:
            raise failure(errno.ELOOP, path)
        elif wanted & _WRITING and mount.read_only and kind == _REGULAR:
            raise failure(errno.EROFS, path)
        if not wanted & (_READ | _WRITE | _APPEND):
            wanted |= _READ
        if wanted & _APPEND:
            wanted |= _WRITE
        return node.open(wanted, mount)  # type: ignore[arg-type]  # a plain int, for speed

    def mount_of(self, device: int) -> MountPoint | None:
        """The mount that `stat` gives this device number for."""
        return self.top if self.top.device == device else None

    def open_node(self, device: int, inode: int, flags: OpenFlags) -> Handle:
        mount = self.mount_of(device)
        node = mount.filesystem.find_node(inode) if mount is not None else None
        if mount is None or node is None:
            raise failure(errno.ESTALE)
        return self._open_node(b"", node, int(flags), mount, False)

    def stat(self, path: bytes, *, follow: bool = True, at: Handle | None = None) -> Stat:
        found = self.stat_as(Stat, path, follow, at)
        if found is None:
            raise failure(errno.ENOENT, path)
        return found

    def stat_as(self, make: StatMaker[Value], path: bytes, follow: bool, at: Handle | None) -> Value | None:
        mount, _, _, node, _ = self.walk(path, follow, at)
        return None if node is None else node.stat_as(make, mount.device)

    def readlink(self, path: bytes, *, at: Handle | None = None) -> bytes:
        _, node = self.existing(path, False, at)
        if node.format != _SYMBOLIC_LINK:
            raise failure(errno.EINVAL, path)
        return node.readlink()

    def scandir(self, path: bytes, *, at: Handle | None = None) -> list[DirEntry]:
        _, node = self.existing(path, True, at)
        if node.format != _DIRECTORY:
            raise failure(errno.ENOTDIR, path)
        return node.entries()

    # -- changing --------------------------------------------------------------------------------

    def _vacant(self, path: bytes, at: Handle | None, *, directory: bool = False) -> tuple[Node, bytes]:
        """The directory and the free name for something new."""
        mount, parent, name, node, must_be_directory = self.walk(path, False, at, entry=True)
        if node is not None:
            raise failure(errno.EEXIST, path)
        if must_be_directory and not directory:
            raise failure(errno.ENOENT, path)
        if mount.read_only:
            raise failure(errno.EROFS, path)
        assert parent is not None
        return parent, name

    def mkdir(self, path: bytes, mode: int = 0o777, *, at: Handle | None = None) -> None:
        parent, name = self._vacant(path, at, directory=True)
        parent.mkdir(name, mode)

    def symlink(self, target: bytes, path: bytes, *, at: Handle | None = None) -> None:
        if not target:
            raise failure(errno.ENOENT, path)
        if len(target) > self.path_limit:
            raise failure(errno.ENAMETOOLONG, path)
        if b"\0" in target:
            raise failure(errno.EINVAL, path)
        parent, name = self._vacant(path, at)
        parent.symlink(name, target)

    def rmdir(self, path: bytes, *, at: Handle | None = None) -> None:
        mount, parent, name, node, _ = self.walk(path, False, at, entry=True)
        if node is None:
            raise failure(errno.ENOENT, path)
        if parent is None:
            code = errno.EINVAL if name == b"." else errno.ENOTEMPTY if name == b".." else errno.EBUSY
            raise failure(code, path)
        if node.format != _DIRECTORY:
            raise failure(errno.ENOTDIR, path)
        if node is mount.root:
            raise failure(errno.EBUSY, path)
        if mount.read_only:
            raise failure(errno.EROFS, path)
        parent.rmdir(name, node)

    def unlink(self, path: bytes, *, at: Handle | None = None) -> None:
        mount, parent, name, node, must_be_directory = self.walk(path, False, at, entry=True)
        if node is None:
            raise failure(errno.ENOENT, path)
        if node.format == _DIRECTORY or parent is None:
            raise failure(errno.EISDIR, path)
        if must_be_directory:
            raise failure(errno.ENOTDIR, path)
        if mount.read_only:
            raise failure(errno.EROFS, path)
        parent.unlink(name, node)

    def rename(
        self, old: bytes, new: bytes, *, old_at: Handle | None = None, new_at: Handle | None = None
    ) -> None:
        mount, source, name, node, old_is_directory = self.walk(old, False, old_at, entry=True)
        new_mount, directory, new_name, target, new_is_directory = self.walk(new, False, new_at, entry=True)
        if source is None or directory is None or node is mount.root:
            raise failure(errno.EBUSY, old)
        if node is None:
            raise failure(errno.ENOENT, old)
        if target is not None and target is new_mount.root:
            raise failure(errno.EBUSY, new)
        if mount is not new_mount or source.filesystem is not directory.filesystem:
            raise failure(errno.EXDEV, old)
        if mount.read_only:
            raise failure(errno.EROFS, old)
        if node.format == _DIRECTORY:
            if _contains(node, directory):
                raise failure(errno.EINVAL, old)
        elif old_is_directory or new_is_directory:
            raise failure(errno.ENOTDIR, old)
        if target is not None:
            if target.format != _DIRECTORY:
                if node.format == _DIRECTORY:
                    raise failure(errno.ENOTDIR, old)
            elif _contains(target, source):
                raise failure(errno.ENOTEMPTY, new)
            elif node.format != _DIRECTORY:
                raise failure(errno.EISDIR, new)
        if target is not None and (target is node or target.inode == node.inode):
            return  # two names of one file: rename(2) does nothing and succeeds
        source.rename(name, node, directory, new_name, target)

    def link(
        self,
        old: bytes,
        new: bytes,
        *,
        follow: bool = False,
        old_at: Handle | None = None,
        new_at: Handle | None = None,
    ) -> None:
        mount, node = self.existing(old, follow, old_at)
        new_mount, directory, name, existing, must_be_directory = self.walk(new, False, new_at, entry=True)
        if existing is not None:
            raise failure(errno.EEXIST, new)
        if must_be_directory:
            raise failure(errno.ENOENT, new)
        assert directory is not None
        if mount is not new_mount or node.filesystem is not directory.filesystem:
            raise failure(errno.EXDEV, old)
        if mount.read_only:
            raise failure(errno.EROFS, new)
        if node.format == _DIRECTORY:
            raise failure(errno.EPERM, old)
        directory.link(name, node)

    def utime(
        self,
        path: bytes,
        atime: int | None,
        mtime: int | None,
        *,
        follow: bool = True,
        at: Handle | None = None,
    ) -> None:
        self.writable(path, follow, at).utime(atime, mtime)

    def chmod(self, path: bytes, mode: int, *, follow: bool = True, at: Handle | None = None) -> None:
        node = self.writable(path, follow, at)
        if node.format == _SYMBOLIC_LINK:
            raise failure(errno.ENOTSUP, path)
        node.chmod(mode)


def _contains(outer: Node, inner: Node) -> bool:
    """Whether the directory `inner` is `outer` or below it."""
    while inner.inode != outer.inode:
        above = inner.parent
        if above is inner:
            return False
        inner = above
    return True
