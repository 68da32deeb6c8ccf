"""The guest's linear memory as the host sees it: one view, and a check before every use.

The guest chooses every address and length. None is used before it was found to lie in the memory;
what does not is EFAULT, as in a system call, and never a fault of the host.
"""

from __future__ import annotations

import ctypes
import errno
from collections.abc import Callable, Sequence
from typing import Final

from planaria.machine.wasi.abi import CIOVEC

__all__ = ["VECTORS_LIMIT", "GuestMemory", "view_of_address"]

#: The most buffers in one read or write (IOV_MAX of Linux); more is EINVAL.
VECTORS_LIMIT: Final = 1024

_PYBUF_WRITE: Final = 0x200
_view_of_memory = ctypes.pythonapi.PyMemoryView_FromMemory
_view_of_memory.restype = ctypes.py_object
_view_of_memory.argtypes = [ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int]


def view_of_address(address: int, size: int) -> memoryview:
    """A writable view of `size` bytes at `address`. It does not keep them alive: the caller does."""
    view: memoryview = _view_of_memory(address, size, _PYBUF_WRITE)
    return view


class GuestMemory:
    """The linear memory of one instance.

    `locate` returns a view of all of it as it is now (`view_of_address` makes one); it is asked again when
    an address lies beyond what is known, because the guest grows its memory without telling. The memory must
    not move when it grows, which the engine promises for 32 bit memories with its default reservation.
    """

    __slots__ = ("_locate", "size", "view")

    def __init__(self, locate: Callable[[], memoryview]) -> None:
        self._locate = locate
        self.view = locate()
        self.size = len(self.view)

    def refresh(self) -> None:
        """Look at the memory anew: it grew, or another one was mapped in its place."""
        self.view = self._locate()
        self.size = len(self.view)

    def require(self, at: int, length: int) -> None:
        """Raise EFAULT unless the `length` bytes at `at` lie in the memory."""
        if at < 0 or length < 0 or at + length > self.size:
            self.refresh()
            if at < 0 or length < 0 or at + length > self.size:
                raise OSError(errno.EFAULT, f"{length} bytes at {at} are not in the guest's memory")

    def read(self, at: int, length: int) -> bytes:
        """A copy of the `length` bytes at `at`; EFAULT outside the memory."""
        if at + length > self.size:
            self.require(at, length)
        return self.view[at : at + length].tobytes()

    def write(self, at: int, data: bytes) -> None:
        """Copy `data` to `at`; EFAULT outside the memory."""
        if at + len(data) > self.size:
            self.require(at, len(data))
        self.view[at : at + len(data)] = data

    def vectors(self, at: int, count: int) -> Sequence[tuple[int, int]]:
        """The (address, length) pairs of `count` iovecs at `at`, each found to lie in the memory.

        Raises EINVAL for more than `VECTORS_LIMIT`, EFAULT for anything outside the memory.
        """
        if count == 1:  # by far the usual case
            if at + 8 > self.size:
                self.require(at, 8)
            vector: tuple[int, int] = CIOVEC.unpack_from(self.view, at)
            if vector[0] + vector[1] > self.size:
                self.require(*vector)
            return (vector,)
        if count > VECTORS_LIMIT:
            raise OSError(errno.EINVAL, f"{count} buffers in one call; the limit is {VECTORS_LIMIT}")
        self.require(at, 8 * count)
        vectors: list[tuple[int, int]] = list(CIOVEC.iter_unpack(self.view[at : at + 8 * count]))
        for start, length in vectors:
            self.require(start, length)
        return vectors
