"""Memory that guests grow by, which becomes part of a state without being copied.

What a guest adds to its memory is written to a file in memory from the beginning: behind what it begins
with, its memory is a shared mapping of a region of that file. When a state is taken, the region so far is
mapped anew, copy-on-write: it will not change any more, so it is part of the state as it is, and what the
guest writes there later is found like every other change.

All machines share one file, so that they need one descriptor together. Before a fork of the process what is
shared becomes copy-on-write, since parent and child would write to the same memory.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from typing import Final

from planaria.machine.memory import MemoryFile, Span, anonymous_file, map_file
from planaria.machine.moved_mappings import move_away

__all__ = ["LARGEST_MEMORY", "Growth", "begin_fork"]

#: The most that a WebAssembly memory of 32 bits has, in bytes; the engine reserves as many addresses.
LARGEST_MEMORY: Final = 4 << 30
#: Regions of one file; it is sparse, and its end below the largest that Linux allows.
_MOST_REGIONS: Final = 1 << 15

_PUNCH_HOLE: Final = 3  # FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE of fallocate(2)
_PRIVATE: Final = 0x12  # MAP_PRIVATE | MAP_FIXED of mmap(2)
_NOTHING: Final = 0x4032  # MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS | MAP_NORESERVE
_ACCESSIBLE: Final = 3  # PROT_READ | PROT_WRITE
_INACCESSIBLE: Final = 0

_IS_SUPPORTED: Final = sys.platform.startswith("linux") and sys.maxsize > 1 << 32
# With the GIL held: before a fork no other thread may begin to execute.
_library: Final = ctypes.PyDLL(None, use_errno=True)
_mmap: Final = _library.mmap
_mmap.restype = ctypes.c_void_p
_mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
_fallocate: Final = ctypes.CDLL(None).fallocate if _IS_SUPPORTED else None
if _fallocate is not None:
    _fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_long]


class _File:
    """The file, and which of its regions are free."""

    def __init__(self) -> None:
        self.descriptor = anonymous_file("planaria-growth")
        os.truncate(self.descriptor, _MOST_REGIONS * LARGEST_MEMORY)
        #: A fork has given it to another process, whose contents must not be removed.
        self.is_inherited = False
        self._free: list[int] = []
        self._unused: Iterator[int] = iter(range(0, _MOST_REGIONS * LARGEST_MEMORY, LARGEST_MEMORY))

    def __del__(self) -> None:
        try:
            os.close(self.descriptor)
        except (AttributeError, OSError):
            pass

    # Regions are released by the collector, at any place in any thread: there must be no lock.

    def take(self) -> int | None:
        """The offset of a free region, whose contents are zero."""
        try:
            return self._free.pop()
        except IndexError:
            return next(self._unused, None)

    def give_back(self, offset: int) -> None:
        if self.remove(offset, LARGEST_MEMORY):
            self._free.append(offset)

    def remove(self, offset: int, size: int) -> bool:
        """Make a part of it zero and free its pages, unless another process may have it."""
        if self.is_inherited or _fallocate is None:
            return False
        return bool(_fallocate(self.descriptor, _PUNCH_HOLE, offset, size) == 0)


class _Region:
    """A region, released when neither a machine nor a state has it any more."""

    __slots__ = ("descriptor", "file", "offset")

    def __init__(self, file: _File, offset: int) -> None:
        self.file = file
        self.descriptor = file.descriptor
        self.offset = offset

    def __del__(self) -> None:
        self.file.give_back(self.offset)


_file: _File | None = None


def begin_fork() -> None:
    """Before a fork, when no growth is shared any more: parent and child go on with new files."""
    global _file
    if _file is not None:
        _file.is_inherited = True
        _file = None


def _new_region() -> _Region | None:
    """None where the system does not support it, or the process may not have such a file (ulimit -f)."""
    global _file
    if not _IS_SUPPORTED:
        return None
    try:
        if _file is None:
            _file = _File()
    except OSError:
        return None
    file = _file
    offset = file.take()
    return None if offset is None else _Region(file, offset)


class Growth:
    """What one machine grows by: its memory from `start` on."""

    __slots__ = ("_base", "_region", "start")

    def __init__(self, base: int, start: int, region: _Region) -> None:
        self._base = base
        self._region = region
        #: Where it begins, as an offset in the memory: what lies before is a private mapping.
        self.start = start

    @classmethod
    def reserve(cls, base: int, start: int, size: int) -> Growth | None:
        """For a machine whose memory is at `base` and has `size` bytes, which are zero from `start` on.

        None when it is not possible; the memory is as it was then.
        """
        region = _new_region()
        if region is None:
            return None
        try:
            if start < size:
                map_file(base + start, size - start, region.descriptor, region.offset + start, shared=True)
            # The engine makes it accessible when the memory grows.
            map_file(
                *(base + size, LARGEST_MEMORY - size, region.descriptor, region.offset + size),
                shared=True,
                accessible=False,
            )
        except OSError:
            if start < size:
                _map(base + start, size - start, _ACCESSIBLE, _NOTHING, -1, 0)
            return None
        return cls(base, start, region)

    def span(self, size: int) -> list[Span]:
        """What there is of it in a memory of `size` bytes."""
        return [(self.start, size)] if self.start < size else []

    def freeze(self, size: int, below: MemoryFile) -> MemoryFile:
        """Make what there is of it in a memory of `size` bytes part of `below`, which is the rest."""
        region, start = self._region, self.start
        offset = region.offset + start
        move_away(self._base + start, size - start)
        map_file(self._base + start, size - start, region.descriptor, offset)
        self.start = size
        return MemoryFile.grown(below, (start, size), region, offset)

    def close(self) -> None:
        """The machine is gone: what no state has of it is freed."""
        region = self._region
        region.file.remove(region.offset + self.start, LARGEST_MEMORY - self.start)

    def detach(self, size: int, below: MemoryFile) -> MemoryFile:
        """Before a fork, as `freeze`; afterwards the memory does not grow by this any more."""
        region, start, base = self._region, self.start, self._base
        _map(base + size, LARGEST_MEMORY - size, _INACCESSIBLE, _NOTHING, -1, 0)
        if start == size:
            return below
        offset = region.offset + start
        _map(base + start, size - start, _ACCESSIBLE, _PRIVATE, region.descriptor, offset)
        return MemoryFile.grown(below, (start, size), region, offset)


def _map(address: int, size: int, protection: int, flags: int, descriptor: int, offset: int) -> None:
    if _mmap(address, size, protection, flags, descriptor, offset) != address:
        number = ctypes.get_errno()
        raise OSError(number, f"cannot map a memory of {size} bytes: {os.strerror(number)}")
