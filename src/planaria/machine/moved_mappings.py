"""Taking the page tables of a large mapping away, so that something else is mapped there at once.

To map over 500 MB the kernel first releases each of its pages, which takes 40 ms. Moving them elsewhere takes
none (mremap(2), MREMAP_DONTUNMAP of Linux 5.13), and they are released there while the caller goes on.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from typing import Final

__all__ = ["move_away"]

#: Smaller mappings are taken down faster than a thread is started, in bytes.
_LEAST: Final = 16 << 20
#: What is unmapped at once: meanwhile nothing can be mapped in this process.
_STEP: Final = 16 << 20
#: Page tables are moved as a whole where both addresses lie alike to this.
_ALIGNMENT: Final = 2 << 20

_IS_LINUX: Final = sys.platform.startswith("linux")
_RESERVED: Final = 0x4022  # MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
_FAILED: Final = ctypes.c_void_p(-1).value
_MOVES: Final = 1 | 2 | 4  # MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP
_NOT_IN_CHILDREN: Final = 10  # MADV_DONTFORK

_library: Final = ctypes.CDLL(None)
if _IS_LINUX:
    _mmap: Final = _library.mmap
    _mmap.restype = ctypes.c_void_p
    _mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    _mremap: Final = _library.mremap
    _mremap.restype = ctypes.c_void_p
    _mremap.argtypes = [ctypes.c_void_p, *[ctypes.c_size_t] * 2, ctypes.c_int, ctypes.c_void_p]
    _munmap: Final = _library.munmap
    _munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    _madvise: Final = _library.madvise
    _madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


def move_away(address: int, size: int) -> None:
    """Make a large mapping at `address` quick to replace, which the caller does next.

    Where that is not possible, nothing happens.
    """
    if size < _LEAST or not _IS_LINUX:
        return
    reserved = size + _ALIGNMENT
    place = _mmap(None, reserved, 0, _RESERVED, -1, 0)
    if place == _FAILED:
        return
    to = place + (address - place) % _ALIGNMENT
    if _mremap(address, size, size, _MOVES, to) != to:
        _munmap(place, reserved)
        return
    # A child of this process would keep them forever.
    _madvise(to, size, _NOT_IN_CHILDREN)
    try:
        threading.Thread(target=_unmap, args=(place, reserved), name="planaria-unmap", daemon=True).start()
    except RuntimeError:  # no more threads, or the interpreter ends
        _unmap(place, reserved)


def _unmap(start: int, size: int) -> None:
    end = start + size
    for at in range(start, end, _STEP):
        _munmap(at, min(_STEP, end - at))
