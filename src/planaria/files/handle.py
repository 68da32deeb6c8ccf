"""What a filesystem says about its files, and a file that is open."""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

__all__ = ["Columns", "DirEntry", "FileKind", "Handle", "OpenFlags", "Stat", "StatMaker"]

Value = TypeVar("Value")


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


#: Makes something of the fields of a `Stat`, given in their order.
StatMaker = Callable[[int, int, int, int, int, int, int, int], Value]


class DirEntry(NamedTuple):
    """One name in a directory."""

    name: bytes
    inode: int
    kind: FileKind


#: The names in a directory, their inodes, and the type bits of their modes.
Columns = tuple[Sequence[bytes], Sequence[int], Sequence[int]]


class Handle(ABC):
    """An open file or directory: it stays valid when its name is renamed or unlinked.

    A handle has no position; its owner (a descriptor table) keeps one.
    """

    __slots__ = ()

    @abstractmethod
    def stat(self) -> Stat: ...

    def stat_as(self, make: StatMaker[Value]) -> Value:
        """What `make` makes of the same; quicker where a `Stat` need not be made for it."""
        return make(*self.stat())

    def identity(self) -> tuple[int, int, int]:
        """Device and inode number, by which `open_node` finds the file, and the type bits of its mode."""
        stat = self.stat()
        return stat.device, stat.inode, stat.mode & 0o170000

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

    def same_contents(self, other: Handle) -> bool | None:
        """Whether both files have the same contents, None where that takes reading them."""
        return None
