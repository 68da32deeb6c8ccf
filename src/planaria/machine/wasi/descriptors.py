"""The table of open descriptors: numbers, and what the guest reads and writes through them."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator
from typing import Any, Final

from planaria.files.filesystem import Columns, FileSystem, Handle, OpenFlags
from planaria.machine.wasi.abi import ALL_RIGHTS, DIRENT, FILE_TYPES, U64_MASK, FdFlags, FileType, Rights

__all__ = [
    "PREOPEN",
    "STANDARD_STREAMS",
    "Descriptor",
    "DescriptorTable",
    "Listing",
    "access_flags",
    "standard_stream",
]

#: The one directory that the guest holds from the beginning: `/`.
PREOPEN: Final = 3
STANDARD_STREAMS: Final = 3
_STREAM_PATHS: Final = (b"/dev/stdin", b"/dev/stdout", b"/dev/stderr")

_FD_READ: Final = int(Rights.FD_READ)
_FD_WRITE: Final = int(Rights.FD_WRITE)
_APPEND: Final = int(FdFlags.APPEND)
_DIRECTORY: Final = int(FileType.DIRECTORY)


class Descriptor:
    """One open file, directory or standard stream.

    `stream` is 0, 1 or 2 for a standard stream, which has no handle, and -1 for everything else. Rights and
    flags are plain ints: arithmetic with an IntFlag is ten times slower.
    """

    __slots__ = (
        "append",
        "file_type",
        "flags",
        "handle",
        "inheriting",
        "listing",
        "position",
        "readable",
        "rights",
        "shared",
        "stream",
        "writable",
    )

    def __init__(
        self,
        handle: Handle | None,
        rights: int,
        inheriting: int,
        flags: int,
        *,
        stream: int = -1,
        file_type: int | None = None,
    ) -> None:
        self.handle: Any = handle  # hot paths have looked at `stream` before
        self.rights = rights
        self.inheriting = inheriting
        self.readable = rights & _FD_READ != 0
        self.writable = rights & _FD_WRITE != 0
        self.stream = stream
        #: How many numbers beside the first stand for it (dup(2)).
        self.shared = 0
        self.file_type = file_type
        self.position = 0
        self.listing: Listing | None = None
        self.flags = flags
        self.append = flags & _APPEND != 0

    def set_rights(self, rights: int, inheriting: int) -> None:
        self.rights = int(rights)
        self.inheriting = int(inheriting)
        self.readable = self.rights & _FD_READ != 0
        self.writable = self.rights & _FD_WRITE != 0

    def set_flags(self, flags: int) -> None:
        self.flags = int(flags)
        self.append = flags & _APPEND != 0

    def look_up_type(self) -> int:
        """The WASI file type; asked from the handle once, since a node never changes its kind."""
        if self.file_type is None:
            self.file_type = FILE_TYPES.get(self.handle.stat().mode & 0o170000, int(FileType.UNKNOWN))
        return self.file_type

    def path(self) -> bytes:
        """The path of what is open, or `/ (deleted)` when it has no name any more."""
        if self.stream >= 0:
            return _STREAM_PATHS[self.stream]
        try:
            path: bytes | None = self.handle.path()
        except OSError:  # stale
            path = None
        return b"/ (deleted)" if path is None else path

    def close(self) -> None:
        if self.shared:
            self.shared -= 1
            return
        if self.handle is not None:
            self.handle.close()


def access_flags(rights: int) -> OpenFlags:
    """How the filesystem opens a file for these rights; without either it is for reading (O_SEARCH)."""
    flags = OpenFlags.WRITE if rights & _FD_WRITE else OpenFlags(0)
    return flags | OpenFlags.READ if rights & _FD_READ or not flags else flags


def standard_stream(stream: int) -> Descriptor:
    """Standard input (0), output (1) or error (2): no terminal, of a type that preview 1 cannot name."""
    rights = (Rights.FD_WRITE if stream else Rights.FD_READ) | Rights.POLL_FD_READWRITE
    return Descriptor(None, int(rights), 0, 0, stream=stream, file_type=int(FileType.UNKNOWN))


class Listing:
    """A directory as it was when its reading began, encoded as `fd_readdir` gives it out.

    The cookie of an entry is its number, so an entry is found without looking at those before it, and
    changes of the directory during the reading cannot make it skip or repeat one.
    """

    __slots__ = ("_offsets", "encoded")

    def __init__(self, encoded: bytes, offsets: list[int] | None = None) -> None:
        self.encoded = encoded
        self._offsets = offsets

    def offset(self, cookie: int) -> int | None:
        """Where the entry after that of this number begins, or the end; None for no such place.

        Few directories are so large that they are given out in more than one piece, from another place than
        their beginning.
        """
        if not cookie:
            return 0
        if self._offsets is None:
            self._offsets = _offsets(self.encoded)
        return self._offsets[cookie] if cookie < len(self._offsets) else None

    @classmethod
    def of(cls, own: int, parent: int, columns: Columns) -> Listing:
        """Of these names, with `.` and `..` (their inodes: `own`, `parent`) before them."""
        names = [b".", b"..", *columns[0]]
        inodes = [own, parent, *columns[1]]
        types = [_DIRECTORY, _DIRECTORY, *map(FILE_TYPES.__getitem__, columns[2])]
        if max(inodes) > U64_MASK or min(inodes) < 0:
            inodes = [inode & U64_MASK for inode in inodes]
        # Thousands of entries at a time: all of it is done by functions that are not written in Python.
        headers = map(DIRENT.pack, itertools.count(1), inodes, map(len, names), types)
        return cls(b"".join(itertools.chain.from_iterable(zip(headers, names, strict=True))))

    @classmethod
    def decode(cls, encoded: bytes) -> Listing:
        """From what `encoded` was; ValueError when it is something else."""
        return cls(encoded, _offsets(encoded))


def _offsets(encoded: bytes) -> list[int]:
    """Where each entry of a listing begins, and its end."""
    end, size = len(encoded), DIRENT.size
    offset, offsets = 0, [0]
    while offset < end:
        if end < offset + size:
            raise ValueError("an entry of the listing is cut off")
        offset += size + DIRENT.unpack_from(encoded, offset)[2]
        offsets.append(offset)
    if offset != end:
        raise ValueError("a name in the listing is cut off")
    return offsets


class DescriptorTable:
    """Numbers and what they stand for; a new one gets the lowest free number, as in POSIX.

    `limit` is the greatest count of open descriptors; EMFILE beyond.
    """

    __slots__ = ("_free", "_next", "files", "get", "limit", "open")

    def __init__(self, files: FileSystem, limit: int) -> None:
        self.files = files
        self.limit = limit
        self.open: dict[int, Descriptor] = {}
        self.get = self.open.get  # bound once: nearly every call of the guest begins with it
        self._free: list[int] = []
        self._next = 0
        for stream in range(STANDARD_STREAMS):
            self.put(stream, standard_stream(stream))
        root = files.open(b"/", OpenFlags.READ | OpenFlags.DIRECTORY)
        rights = int(ALL_RIGHTS & ~Rights.FD_WRITE)
        self.put(PREOPEN, Descriptor(root, rights, int(ALL_RIGHTS), 0, file_type=int(FileType.DIRECTORY)))

    def __len__(self) -> int:
        return len(self.open)

    def __iter__(self) -> Iterator[int]:
        return iter(sorted(self.open))

    def paths(self) -> dict[int, bytes]:
        """What each descriptor has open, as /proc/self/fd shows it."""
        return {number: self.open[number].path() for number in self}

    def put(self, number: int, descriptor: Descriptor) -> None:
        """Give `descriptor` this number, which must be free and greater than all that were given so far."""
        for skipped in range(self._next, number):
            heapq.heappush(self._free, skipped)
        self._next = number + 1
        self.open[number] = descriptor

    def add(self, descriptor: Descriptor) -> int:
        """Give `descriptor` the lowest free number; the caller looked at `limit` before opening."""
        if self._free:
            number = heapq.heappop(self._free)
        else:
            number = self._next
            self._next += 1
        self.open[number] = descriptor
        return number

    def duplicate(self, number: int) -> int:
        """Another number for what `number` stands for, as dup(2) gives it: they share one position."""
        descriptor = self.open[number]
        descriptor.shared += 1
        return self.add(descriptor)

    def remove(self, number: int) -> Descriptor:
        """Free a number that is in use and return what it stood for, not yet closed."""
        descriptor = self.open.pop(number)
        heapq.heappush(self._free, number)
        return descriptor

    def clear(self) -> None:
        """Close everything and begin again with no descriptor at all."""
        for descriptor in self.open.values():
            descriptor.close()
        self.open.clear()
        self._free.clear()
        self._next = 0
