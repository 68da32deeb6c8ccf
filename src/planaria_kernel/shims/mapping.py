"""`mmap` over reads and writes of files, since WebAssembly has one memory and cannot map anything into it.

A map is a copy of its part of the file. It is written back by `flush` and `close`, when it is collected, at
the end of the cell, and before another map of any file is made.
"""

from __future__ import annotations

import errno
import os
import stat
import weakref
import zlib
from collections.abc import Iterator
from typing import Any, Final, Self

from planaria_kernel.shims.importing import when_imported

__all__ = ["install", "open_maps", "write_back"]

ACCESS_DEFAULT, ACCESS_READ, ACCESS_WRITE, ACCESS_COPY = range(4)
ALLOCATIONGRANULARITY = PAGESIZE = 65536
#: The constants of Linux.
CONSTANTS: Final = {
    "ACCESS_DEFAULT": ACCESS_DEFAULT,
    "ACCESS_READ": ACCESS_READ,
    "ACCESS_WRITE": ACCESS_WRITE,
    "ACCESS_COPY": ACCESS_COPY,
    "ALLOCATIONGRANULARITY": ALLOCATIONGRANULARITY,
    "PAGESIZE": PAGESIZE,
    "MAP_SHARED": 1,
    "MAP_PRIVATE": 2,
    "MAP_ANON": 32,
    "MAP_ANONYMOUS": 32,
    "MAP_POPULATE": 0x8000,
    "PROT_READ": 1,
    "PROT_WRITE": 2,
    "PROT_EXEC": 4,
    "MADV_NORMAL": 0,
    "MADV_RANDOM": 1,
    "MADV_SEQUENTIAL": 2,
    "MADV_WILLNEED": 3,
    "MADV_DONTNEED": 4,
}
_SHARED: Final = 1
_PRIVATE: Final = 2
_READ: Final = 1
_WRITE: Final = 2
_NAMES: Final = ("ACCESS_DEFAULT", "ACCESS_READ", "ACCESS_WRITE", "ACCESS_COPY")
#: Bytes of a file that are read at once.
_CHUNK: Final = 1 << 24
#: A flag of the buffer protocol.
_WRITABLE: Final = 1

open_maps: weakref.WeakSet[mmap] = weakref.WeakSet()


def write_back() -> None:
    """Write what has changed in the maps to their files."""
    if (
        len(open_maps) == 0
    ):  # looked at when every cell ends; going over a set of weak references takes its time
        return
    for one in tuple(open_maps):
        one._write_back()


class mmap:  # noqa: N801 - it is the one of the module mmap
    """A file, or a part of it, as a mutable array of bytes."""

    _fd: int
    _data: bytearray | None
    _exports: int
    _position: int
    _access: int
    _offset: int
    _checksum: int

    def __new__(
        cls,
        fileno: int,
        length: int,
        flags: int = _SHARED,
        prot: int = _READ | _WRITE,
        access: int = ACCESS_DEFAULT,
        offset: int = 0,
        *,
        trackfd: bool = True,
    ) -> Self:
        self = super().__new__(cls)
        self._fd = -1
        self._data = None
        self._exports = 0
        self._position = 0
        if length < 0:
            raise OverflowError("memory mapped length must be positive")
        if offset < 0:
            raise OverflowError("memory mapped offset must be positive")
        if access and (flags != _SHARED or prot != _READ | _WRITE):
            raise ValueError("mmap can't specify both access, flags and prot.")
        if access not in range(4):
            raise ValueError("mmap invalid access parameter.")
        if not access and not prot & _WRITE:
            access = ACCESS_READ
        self._access = access
        is_written = access not in (ACCESS_READ, ACCESS_COPY) and not flags & _PRIVATE
        self._offset = offset
        if offset % ALLOCATIONGRANULARITY or (fileno == -1 and not length):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        if fileno == -1:
            self._data = bytearray(length)
            return self
        write_back()
        found = os.fstat(fileno)
        if stat.S_ISREG(found.st_mode):
            length = _length_in(found.st_size, length, offset)
        if is_written:
            _check_writable(fileno)
        self._data = _read(fileno, length, offset)
        if trackfd:
            self._fd = os.dup(fileno)
        if is_written and trackfd:
            self._checksum = zlib.crc32(self._data)
            open_maps.add(self)
        return self

    # -- the file ---------------------------------------------------------------------------------------

    def _write_back(self, start: int = 0, end: int | None = None) -> None:
        data = self._data
        if data is None or self not in open_maps:
            return
        checksum = zlib.crc32(data)
        if checksum == self._checksum:
            return
        with memoryview(data) as view:
            end = len(view) if end is None else end
            position = start
            while position < end:
                position += os.pwrite(self._fd, view[position:end], self._offset + position)
        if end - start == len(data):
            self._checksum = checksum

    def flush(self, offset: int = 0, size: int | None = None, /, *, flags: int = 0) -> None:
        """Write changes back to the file."""
        data = self._bytes()
        size = len(data) - offset if size is None else size
        if offset < 0 or size < 0 or len(data) - offset < size:
            raise ValueError("flush values out of range")
        self._write_back(offset, offset + size)

    def close(self) -> None:
        """Write changes back, and let the file go; the map cannot be used any more."""
        if self._exports:
            raise BufferError("cannot close exported pointers exist")
        self._end()

    def _end(self) -> None:
        try:
            self._write_back()
        finally:
            open_maps.discard(self)
            self._data = None
            if self._fd != -1:
                fd, self._fd = self._fd, -1
                os.close(fd)

    def __del__(self) -> None:
        self._end()

    @property
    def closed(self) -> bool:
        return self._data is None

    def size(self) -> int:
        """The length of the file, which may be larger than the map."""
        data = self._bytes()
        return len(data) if self._fd == -1 else os.fstat(self._fd).st_size

    def resize(self, newsize: int, /) -> None:
        """Give the map, and the file, another length."""
        data = self._writable()
        if self._exports:
            raise BufferError("mmap can't resize with extant pointers exported.")
        if self._access == ACCESS_COPY:
            raise TypeError("mmap can't resize a readonly or copy-on-write memory map.")
        if newsize < 0:
            raise ValueError("new size out of range")
        if self._fd != -1:
            self._write_back()
            os.ftruncate(self._fd, self._offset + newsize)
        if newsize < len(data):
            del data[newsize:]
        else:
            data.extend(bytes(newsize - len(data)))
        self._checksum = zlib.crc32(data)

    def madvise(self, option: int, start: int = 0, length: int | None = None, /) -> None:
        """Advice on how the map is used: there is nothing to do with it."""
        data = self._bytes()
        if not 0 <= start < len(data):
            raise ValueError("madvise start out of bounds")
        if length is not None and length < 0:
            raise ValueError("madvise length invalid")

    # -- the bytes --------------------------------------------------------------------------------------

    def _bytes(self) -> bytearray:
        if self._data is None:
            raise ValueError("mmap closed or invalid")
        return self._data

    def _writable(self) -> bytearray:
        data = self._bytes()
        if self._access == ACCESS_READ:
            raise TypeError("mmap can't modify a readonly memory map.")
        return data

    def __buffer__(self, flags: int, /) -> memoryview:
        view = memoryview(self._bytes())
        if self._access == ACCESS_READ:
            if flags & _WRITABLE:
                raise BufferError("Object is not writable.")
            view = view.toreadonly()
        self._exports += 1
        return view

    def __release_buffer__(self, view: memoryview, /) -> None:
        self._exports -= 1
        view.release()

    def __len__(self) -> int:
        return len(self._bytes())

    def __getitem__(self, index: Any, /) -> Any:
        data = self._bytes()
        if isinstance(index, slice):
            return bytes(data[index])
        try:
            return data[index]
        except IndexError:
            raise IndexError("mmap index out of range") from None
        except TypeError:
            raise TypeError("mmap indices must be integers") from None

    def __setitem__(self, index: Any, value: Any, /) -> None:
        data = self._writable()
        if isinstance(index, slice):
            value = bytes(memoryview(value))
            if len(range(*index.indices(len(data)))) != len(value):
                raise IndexError("mmap slice assignment is wrong size")
            data[index] = value
            return
        self[index]  # raises the errors of an index
        if not isinstance(value, int):
            raise TypeError("mmap item value must be an int")
        if not 0 <= value < 256:
            raise ValueError("mmap item value must be in range(0, 256)")
        data[index] = value

    def __iter__(self) -> Iterator[int]:
        return iter(self._bytes())

    def find(self, view: Any, start: int | None = None, end: int | None = None, /) -> int:
        """The lowest index of a subsequence from `start` (the current position) on, or -1."""
        data = self._bytes()
        first = self._position if start is None else start
        return data.find(view, first, len(data) if end is None else end)

    def rfind(self, view: Any, start: int | None = None, end: int | None = None, /) -> int:
        """The highest index of a subsequence from `start` (the current position) on, or -1."""
        data = self._bytes()
        first = self._position if start is None else start
        return data.rfind(view, first, len(data) if end is None else end)

    def move(self, dest: int, src: int, count: int, /) -> None:
        """Copy `count` bytes from the index `src` to the index `dest`."""
        data = self._writable()
        if min(dest, src, count) < 0 or max(dest, src) + count > len(data):
            raise ValueError("source, destination, or count out of range")
        data[dest : dest + count] = data[src : src + count]

    # -- a position, as files have one --------------------------------------------------------------------

    def read(self, n: int | None = None, /) -> bytes:
        """Up to `n` bytes from the current position; all that is left without `n`."""
        data = self._bytes()
        left = max(0, len(data) - self._position)
        size = left if n is None or n < 0 else min(n, left)
        self._position += size
        return bytes(data[self._position - size : self._position])

    def readline(self) -> bytes:
        """A line from the current position, with its newline."""
        data = self._bytes()
        end = data.find(b"\n", self._position) + 1
        return self.read(end - self._position if end else None)

    def read_byte(self) -> int:
        """The byte at the current position."""
        data = self._bytes()
        if self._position >= len(data):
            raise ValueError("read byte out of range")
        self._position += 1
        return data[self._position - 1]

    def write(self, data: Any, /) -> int:
        """Write bytes at the current position; returns how many."""
        own = self._writable()
        with memoryview(data).cast("B") as view:
            if self._position + len(view) > len(own):
                raise ValueError("data out of range")
            own[self._position : self._position + len(view)] = view
            self._position += len(view)
            return len(view)

    def write_byte(self, byte: int, /) -> None:
        """Write one byte at the current position."""
        data = self._writable()
        if self._position >= len(data):
            raise ValueError("write byte out of range")
        data[self._position] = byte
        self._position += 1

    def tell(self) -> int:
        """The current position."""
        self._bytes()
        return self._position

    def seek(self, pos: int, whence: int = 0, /) -> int:
        """Change the current position; returns it."""
        data = self._bytes()
        if whence not in (0, 1, 2):
            raise ValueError("unknown seek type")
        position = pos + (0, self._position, len(data))[whence]
        if not 0 <= position <= len(data):
            raise ValueError("seek out of range")
        self._position = position
        return position

    def seekable(self) -> bool:
        return True

    def __enter__(self) -> Self:
        self._bytes()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._data is None:
            return "<mmap.mmap closed=True>"
        name = _NAMES[self._access]
        return (
            f"<mmap.mmap closed=False, access={name}, length={len(self._data)}, pos={self._position}, "
            f"offset={self._offset}>"
        )

    def __reduce__(self) -> Any:
        raise TypeError("cannot pickle 'mmap.mmap' object")


def _length_in(size: int, length: int, offset: int) -> int:
    """How much of a file of `size` bytes is mapped."""
    if not length:
        if not size:
            raise ValueError("cannot mmap an empty file")
        if offset >= size:
            raise ValueError("mmap offset is greater than file size")
        return size - offset
    if offset > size or size - offset < length:
        raise ValueError("mmap length is greater than file size")
    return length


def _check_writable(fd: int) -> None:
    """Raise PermissionError for a descriptor that was opened for reading only."""
    try:
        os.write(fd, b"")
    except OSError:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES)) from None


def _read(fd: int, length: int, offset: int) -> bytearray:
    data = bytearray(length)
    position = 0
    while chunk := os.pread(fd, min(_CHUNK, length - position), offset + position):
        data[position : position + len(chunk)] = chunk
        position += len(chunk)
    return data


def _change(module: Any) -> None:
    mmap.__module__ = "mmap"
    vars(module).update(CONSTANTS, mmap=mmap, error=OSError)


def install() -> None:
    """Put it in the place of the module's class when it is imported."""
    when_imported("mmap", _change)
