"""Which pages were written to since they were last read: asynchronous write protection of Linux 6.7.

All pages of a memory are write-protected. The kernel takes the protection away by itself at the first write
to a page (userfaultfd(2), UFFD_FEATURE_WP_ASYNC), and PAGEMAP_SCAN reports which pages have lost it and
protects them again, in one step (ioctl_pagemap_scan(2)). Nothing ever waits for a fault to be handled.
Systems that do not have it, and containers whose seccomp profile forbids userfaultfd, read all changed pages.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import platform
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from planaria.fork import in_forked_child
from planaria.machine.memory import PAGE_BYTES, Span, anonymous_file
from planaria.machine.pagemap import protect_all, written_spans

__all__ = ["FAULTS", "protect", "see_written", "take_written", "thread_usage", "unprotect"]

_SYSTEM_CALLS: Final = {"x86_64": 323, "aarch64": 282}
_USER_MODE_ONLY: Final = 1  # so that no privilege is needed; asynchronous faults are not limited by it
#: UFFD_FEATURE_PAGEFAULT_FLAG_WP, _WP_HUGETLBFS_SHMEM, _WP_UNPOPULATED and _WP_ASYNC.
_FEATURES: Final = 1 << 0 | 1 << 12 | 1 << 13 | 1 << 15
_API: Final = ctypes.c_ulong(3 << 30 | 24 << 16 | 0xAA << 8 | 0x3F)
_REGISTER: Final = ctypes.c_ulong(3 << 30 | 32 << 16 | 0xAA << 8 | 0x00)
_UNREGISTER: Final = ctypes.c_ulong(2 << 30 | 16 << 16 | 0xAA << 8 | 0x01)
_MODE_WRITE_PROTECT: Final = 2
#: What a kernel answers that lacks one of the parts, or when other memory was mapped there since.
_NOT_POSSIBLE: Final = frozenset({errno.EPERM, errno.ENOTTY, errno.EINVAL})

_library: Final = ctypes.CDLL(None, use_errno=True)


class _Protection:
    """The descriptor of this process, once it was asked for."""

    #: None before that; -1 where the system does not have it.
    descriptor: int | None = None


#: The page faults in the use of resources by a thread: ru_minflt and ru_majflt.
FAULTS: Final = slice(6, 8)


def _thread_seconds() -> Sequence[float]:
    return time.thread_time(), 0.0


#: The use of resources by this thread so far: it begins with two times in seconds, ru_utime and ru_stime, and
#: its FAULTS are the page faults, of which the first write to a protected page is one; nothing is protected
#: where none are counted. Without a function of Python, since it is called around every call of the guest.
thread_usage: Callable[[], Sequence[float]] = _thread_seconds
if sys.platform.startswith("linux"):
    import resource

    thread_usage = partial(resource.getrusage, resource.RUSAGE_THREAD)


@in_forked_child("runtime")
def _after_fork() -> None:
    """A descriptor that was inherited is about the memory of the parent."""
    if _Protection.descriptor is not None and _Protection.descriptor >= 0:
        os.close(_Protection.descriptor)
    _Protection.descriptor = None


def _descriptor() -> int:
    if _Protection.descriptor is None:
        descriptor = _opened()
        if descriptor >= 0 and not _works(descriptor):
            os.close(descriptor)
            descriptor = -1
        _Protection.descriptor = descriptor
    return _Protection.descriptor


def _opened() -> int:
    number = _SYSTEM_CALLS.get(platform.machine())
    if number is None or not sys.platform.startswith("linux") or mmap.PAGESIZE != PAGE_BYTES:
        return -1
    descriptor: int = _library.syscall(number, os.O_CLOEXEC | os.O_NONBLOCK | _USER_MODE_ONLY)
    if descriptor < 0:
        return -1
    if _library.ioctl(descriptor, _API, (ctypes.c_uint64 * 3)(0xAA, _FEATURES, 0)) < 0:
        os.close(descriptor)
        return -1
    return descriptor


def _works(descriptor: int) -> bool:
    """Try it on a mapping of our own: kernels differ in what they say of pages that were never touched."""
    size = 8 * PAGE_BYTES
    file = anonymous_file("planaria-probe")
    try:
        os.ftruncate(file, size)
        probe = mmap.mmap(file, size, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE)
    finally:
        os.close(file)
    anchor = ctypes.c_char.from_buffer(probe)
    address = ctypes.addressof(anchor)
    try:
        probe[0] = 1
        if not _protect(descriptor, address, 0, size):
            return False
        faults = thread_usage()[FAULTS]
        probe[2 * PAGE_BYTES] = 1
        is_counted = thread_usage()[FAULTS] != faults
        found = probe[4 * PAGE_BYTES], _written(address, 0, size), _written(address, 0, size)
        return is_counted and found == (0, [(2 * PAGE_BYTES, 3 * PAGE_BYTES)], [])
    finally:
        del anchor
        probe.close()


# All are given a span of the memory at `base` as offsets, and answer in such.


def protect(base: int, start: int, end: int) -> bool:
    """Have writes to the pages noticed from now on; False where that is not possible."""
    descriptor = _descriptor()
    return descriptor >= 0 and _protect(descriptor, base, start, end)


def _protect(descriptor: int, base: int, start: int, end: int) -> bool:
    wanted = (ctypes.c_uint64 * 4)(base + start, end - start, _MODE_WRITE_PROTECT, 0)
    if _library.ioctl(descriptor, _REGISTER, wanted) != 0:
        return False
    try:
        protect_all(base, start, end)
    except OSError as error:
        if error.errno not in _NOT_POSSIBLE:
            raise
        return False
    return True


def unprotect(base: int, start: int, end: int) -> None:
    """Writes to what is still protected are not noticed any more. The kernel maps many pages at a time again
    when one is read, and pages that it had only protected do not look as if they had changed.
    """
    if (descriptor := _descriptor()) >= 0:
        _library.ioctl(descriptor, _UNREGISTER, (ctypes.c_uint64 * 2)(base + start, end - start))


def take_written(base: int, start: int, end: int) -> list[Span] | None:
    """The pages that were written to since `protect`, or since this last reported them.

    None when that is not known: something was mapped there since.
    """
    return None if _descriptor() < 0 else _written(base, start, end)


def see_written(base: int, start: int, end: int) -> list[Span] | None:
    """The same, and the pages are reported again the next time; writing to them costs nothing until then."""
    return None if _descriptor() < 0 else _written(base, start, end, protects=False)


def _written(base: int, start: int, end: int, *, protects: bool = True) -> list[Span] | None:
    try:
        return written_spans(base, start, end, protects=protects)
    except OSError as error:
        if error.errno not in _NOT_POSSIBLE:
            raise
        return None
