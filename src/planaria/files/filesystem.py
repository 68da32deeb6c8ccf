"""The protocol that every filesystem of planaria implements, and the words it uses.

Paths are `bytes`, absolute within the filesystem (`b"/a/b"`), separated by `/`; they may hold
`.`, `..`, doubled slashes and symbolic links, and the filesystem resolves them itself (POSIX
path resolution: https://pubs.opengroup.org/onlinepubs/9799919799/basedefs/V1_chap04.html#tag_04_16).
A path never leaves the filesystem: `..` at the root is the root, an absolute symbolic link starts
again at the root.

Every operation fails with `OSError` carrying the errno that Linux gives for the same situation,
and leaves nothing half done.
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

__all__ = [
    "Columns",
    "Difference",
    "DirEntry",
    "FileKind",
    "FileSystem",
    "FileSystemSnapshot",
    "FileSystemUsage",
    "Handle",
    "Manifest",
    "OpenFlags",
    "Stat",
]

#: A JSON-able description of a snapshot in which contents are named by their digests.
Manifest = dict[str, Any]


class FileKind(enum.IntEnum):
    """The type of a node, with the file type bits of `st_mode` as value (`stat.S_IFREG` and so on)."""

    FIFO = 0o010000
    CHARACTER_DEVICE = 0o020000
    DIRECTORY = 0o040000
    BLOCK_DEVICE = 0o060000
    REGULAR = 0o100000
    SYMBOLIC_LINK = 0o120000
    SOCKET = 0o140000


class OpenFlags(enum.IntFlag):
    """How to open a file; the meanings are those of open(2)."""

    READ = 1
    WRITE = 2
    APPEND = 4
    CREATE = 8
    EXCLUSIVE = 16
    TRUNCATE = 32
    DIRECTORY = 64
    NO_FOLLOW = 128


class Stat(NamedTuple):
    """What stat(2) reports: sizes in bytes, times in nanoseconds since the epoch.

    A named tuple because one is made for each call of the guest, and it is made five times faster
    than a frozen dataclass.
    """

    device: int
    inode: int
    mode: int
    """Type and permission bits, as in `st_mode`."""
    links: int
    size: int
    atime: int
    mtime: int
    ctime: int

    @property
    def kind(self) -> FileKind:
        return FileKind(self.mode & 0o170000)


class DirEntry(NamedTuple):
    """One name in a directory."""

    name: bytes
    inode: int
    kind: FileKind


#: The names in a directory, their inodes, and the type bits of their modes.
Columns = tuple[Sequence[bytes], Sequence[int], Sequence[int]]


@dataclass(frozen=True, slots=True)
class FileSystemUsage:
    """What statvfs(3) reports, in bytes and nodes; None where there is no limit."""

    bytes_used: int
    bytes_limit: int | None
    nodes_used: int
    nodes_limit: int | None


class Difference(NamedTuple):
    """Paths, sorted; of a directory that was added or removed, all paths in it as well."""

    added: list[bytes]
    removed: list[bytes]
    changed: list[bytes]
    """Of another kind, or with other contents, link target or permission bits; times do not count."""


class Handle(ABC):
    """An open file or directory: it stays valid when its name is renamed or unlinked.

    A handle has no position; its owner (a descriptor table) keeps one.
    """

    __slots__ = ()

    @abstractmethod
    def stat(self) -> Stat: ...

    @abstractmethod
    def read(self, size: int, offset: int) -> bytes:
        """At most `size` bytes from `offset`; empty at the end of the file."""

    def read_into(self, buffer: memoryview, offset: int) -> int:
        """Read at most `len(buffer)` bytes from `offset` into `buffer` and return how many there were."""
        data = self.read(len(buffer), offset)
        buffer[: len(data)] = data
        return len(data)

    @abstractmethod
    def write(self, data: bytes | memoryview, offset: int) -> int:
        """Write all of `data` at `offset` and return its length, or raise (ENOSPC, EDQUOT, EFBIG)."""

    @abstractmethod
    def append(self, data: bytes | memoryview) -> int:
        """Write at the end, atomically, and return the offset after what was written."""

    @abstractmethod
    def truncate(self, size: int) -> None: ...

    @abstractmethod
    def sync(self) -> None: ...

    @abstractmethod
    def utime(self, atime: int | None, mtime: int | None) -> None:
        """Set times in nanoseconds; None leaves one as it is."""

    @abstractmethod
    def chmod(self, mode: int) -> None: ...

    @abstractmethod
    def entries(self) -> list[DirEntry]:
        """A directory's names without `.` and `..`, in a stable order; ENOTDIR for files."""

    def columns(self) -> Columns:
        """What `entries` gives, as columns: faster to create, and faster to encode."""
        entries = self.entries()
        return (
            [entry.name for entry in entries],
            [entry.inode for entry in entries],
            [int(entry.kind) for entry in entries],
        )

    @abstractmethod
    def path(self) -> bytes | None:
        """The present absolute path of the node, or None when it has no name any more."""

    @abstractmethod
    def close(self) -> None:
        """Release it; closing twice is harmless."""


class FileSystem(ABC):
    """A tree of files. `at` is an open directory of the same filesystem to which a relative path refers."""

    # -- opening and looking -------------------------------------------------------------------

    @abstractmethod
    def open(
        self, path: bytes, flags: OpenFlags, mode: int = 0o666, *, at: Handle | None = None
    ) -> Handle: ...

    @abstractmethod
    def stat(self, path: bytes, *, follow: bool = True, at: Handle | None = None) -> Stat: ...

    @abstractmethod
    def readlink(self, path: bytes, *, at: Handle | None = None) -> bytes: ...

    @abstractmethod
    def usage(self) -> FileSystemUsage: ...

    @abstractmethod
    def open_node(self, device: int, inode: int, flags: OpenFlags) -> Handle:
        """Open the file that `Stat` identified so, also one that was unlinked while open.

        This is how a descriptor table is rebuilt after `fork` or `restore`, in the manner of
        open_by_handle_at(2). ESTALE when there is no such file (any more), and for files of the host,
        which have to be opened again by path.
        """

    @abstractmethod
    def discard_orphans(self) -> None:
        """Free unlinked files that are not open; call it once the descriptors are rebuilt."""

    # -- changing --------------------------------------------------------------------------------

    @abstractmethod
    def mkdir(self, path: bytes, mode: int = 0o777, *, at: Handle | None = None) -> None: ...

    @abstractmethod
    def rmdir(self, path: bytes, *, at: Handle | None = None) -> None: ...

    @abstractmethod
    def unlink(self, path: bytes, *, at: Handle | None = None) -> None: ...

    @abstractmethod
    def rename(
        self, old: bytes, new: bytes, *, old_at: Handle | None = None, new_at: Handle | None = None
    ) -> None: ...

    @abstractmethod
    def link(
        self,
        old: bytes,
        new: bytes,
        *,
        follow: bool = False,
        old_at: Handle | None = None,
        new_at: Handle | None = None,
    ) -> None: ...

    @abstractmethod
    def symlink(self, target: bytes, path: bytes, *, at: Handle | None = None) -> None: ...

    @abstractmethod
    def utime(
        self,
        path: bytes,
        atime: int | None,
        mtime: int | None,
        *,
        follow: bool = True,
        at: Handle | None = None,
    ) -> None: ...

    @abstractmethod
    def chmod(self, path: bytes, mode: int, *, follow: bool = True, at: Handle | None = None) -> None: ...

    # -- as a value --------------------------------------------------------------------------------

    @abstractmethod
    def fork(self) -> Self:
        """An independent copy that shares unchanged contents; costs by what changes later."""

    @abstractmethod
    def snapshot(self) -> FileSystemSnapshot:
        """The present state as an immutable value; costs by what changed since the last one."""

    @abstractmethod
    def restore(self, snapshot: FileSystemSnapshot) -> None:
        """Replace the whole state; open handles of the old state become stale (ESTALE)."""

    @abstractmethod
    def read_manifest(self, manifest: Manifest, chunks: Mapping[str, bytes]) -> FileSystemSnapshot:
        """A snapshot for `restore` from what `manifest()` and `chunks()` gave, perhaps on another machine.

        The input may come from anyone: everything is checked, this filesystem's quota included, and
        nothing is changed. Raises `SnapshotError`.
        """

    def diff(self, other: FileSystem | FileSystemSnapshot) -> Difference:
        """What is added, removed and changed in `other`, compared with this."""
        from planaria.files.difference import difference

        return difference(self, other)

    def scandir(self, path: bytes, *, at: Handle | None = None) -> Iterable[DirEntry]:
        """The names in a directory."""
        handle = self.open(path, OpenFlags.READ | OpenFlags.DIRECTORY, at=at)
        try:
            return handle.entries()
        finally:
            handle.close()


class FileSystemSnapshot(ABC):
    """An immutable state of a filesystem: it can be restored, opened, compared and serialised."""

    __slots__ = ()

    @abstractmethod
    def open(self) -> FileSystem:
        """A filesystem of its own that starts in this state."""

    def diff(self, other: FileSystem | FileSystemSnapshot) -> Difference:
        """What is added, removed and changed in `other`, compared with this."""
        from planaria.files.difference import difference

        return difference(self, other)

    @abstractmethod
    def manifest(self) -> Manifest:
        """The state as JSON-able values; contents are named by the BLAKE2b-256 of their chunks.

        The same state gives the same manifest.
        """

    @abstractmethod
    def chunks(self) -> Mapping[str, bytes]:
        """The contents that `manifest` names, by hexadecimal digest."""
