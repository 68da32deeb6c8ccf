"""Which pages were written to since they were last read: asynchronous write protection of Linux 6.7.

Changed pages are write-protected when they are read. The kernel takes the protection away by itself at the
first write (userfaultfd(2), UFFD_FEATURE_WP_ASYNC), and PAGEMAP_SCAN reports which pages have lost it and
protects them again, in one step (ioctl_pagemap_scan(2)). Nothing ever waits for a fault to be handled.
Systems that do not have it, and containers whose seccomp profile forbids userfaultfd, read all changed pages.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import sys
from typing import Final

from planaria.fork import in_forked_child
from planaria.machine.memory import Span
from planaria.machine.pagemap import PAGE_IS_FILE, PAGE_IS_WRITTEN, scan

__all__ = ["protect", "protect_changed", "take_written"]

_SYSTEM_CALLS: Final = {"x86_64": 323, "aarch64": 282}
_USER_MODE_ONLY: Final = 1  # so that no privilege is needed; asynchronous faults are not limited by it
#: UFFD_FEATURE_PAGEFAULT_FLAG_WP, _WP_HUGETLBFS_SHMEM, _WP_UNPOPULATED and _WP_ASYNC.
_FEATURES: Final = 1 << 0 | 1 << 12 | 1 << 13 | 1 << 15
_API: Final = ctypes.c_ulong(3 << 30 | 24 << 16 | 0xAA << 8 | 0x3F)
_REGISTER: Final = ctypes.c_ulong(3 << 30 | 32 << 16 | 0xAA << 8 | 0x00)
_MODE_WRITE_PROTECT: Final = 2
_SCAN_PROTECTS: Final = 3  # PM_SCAN_WP_MATCHING | PM_SCAN_CHECK_WPASYNC

_library: Final = ctypes.CDLL(None, use_errno=True)


class _Protection:
    """The descriptor of this process, once it was asked for."""

    #: None before that; -1 where the system does not have it.
    descriptor: int | None = None


@in_forked_child("runtime")
def _after_fork() -> None:
    """A descriptor that was inherited is about the memory of the parent."""
    if _Protection.descriptor is not None and _Protection.descriptor >= 0:
        os.close(_Protection.descriptor)
    _Protection.descriptor = None


def _descriptor() -> int:
    if _Protection.descriptor is None:
        _Protection.descriptor = _opened()
    return _Protection.descriptor


def _opened() -> int:
    number = _SYSTEM_CALLS.get(platform.machine())
    if number is None or not sys.platform.startswith("linux"):
        return -1
    descriptor: int = _library.syscall(number, os.O_CLOEXEC | os.O_NONBLOCK | _USER_MODE_ONLY)
    if descriptor < 0:
        return -1
    if _library.ioctl(descriptor, _API, (ctypes.c_uint64 * 3)(0xAA, _FEATURES, 0)) < 0:
        os.close(descriptor)
        return -1
    return descriptor


def protect(address: int, size: int) -> bool:
    """Have writes to memory at `address` noticed from now on; False where that is not possible."""
    descriptor = _descriptor()
    if descriptor < 0:
        return False
    wanted = (ctypes.c_uint64 * 4)(address, size, _MODE_WRITE_PROTECT, 0)
    return bool(_library.ioctl(descriptor, _REGISTER, wanted) == 0)


def protect_changed(base: int, size: int) -> list[Span] | None:
    """All pages of private memory that are not the mapped file's, write-protected from now on.

    None where that is not possible.
    """
    if not protect(base, size):
        return None
    return _scan(base, size, 0)


def take_written(base: int, size: int) -> list[Span] | None:
    """Those of them that were written to since this or `protect_changed` last reported, and new ones.

    None when that is not known: something was mapped there since.
    """
    return None if _descriptor() < 0 else _scan(base, size, PAGE_IS_WRITTEN)


def _scan(base: int, size: int, wanted: int) -> list[Span] | None:
    try:
        return scan(base, size, flags=_SCAN_PROTECTS, inverted=PAGE_IS_FILE, wanted=PAGE_IS_FILE | wanted)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTTY, errno.EINVAL):
            raise
        return None
