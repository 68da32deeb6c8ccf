"""The kernel's account of a process's pages: PAGEMAP_SCAN of Linux 6.7 (ioctl_pagemap_scan(2))."""

from __future__ import annotations

import ctypes
import errno
import os
import threading
from typing import Final

from planaria.fork import in_forked_child
from planaria.machine.memory import Span, united

__all__ = ["changed_spans", "protect_all", "written_spans"]

_PAGE_IS_WRITTEN: Final = 1 << 1
_PAGE_IS_FILE: Final = 1 << 2
_PAGE_IS_PRESENT: Final = 1 << 3
_PAGE_IS_SWAPPED: Final = 1 << 4
_PROTECTS: Final = 1  # PM_SCAN_WP_MATCHING
_CHECKS: Final = 2  # PM_SCAN_CHECK_WPASYNC

_REQUEST: Final = ctypes.c_ulong(3 << 30 | 96 << 16 | ord("f") << 8 | 16)
_MOST_REGIONS: Final = 4096
_CLOSED: Final = (errno.EBADF, errno.ENOTTY)

_library: Final = ctypes.CDLL(None, use_errno=True)


class _Buffer:
    """What the kernel fills: one for the process, so calls take turns."""

    regions = (ctypes.c_uint64 * (3 * _MOST_REGIONS))()
    arguments = (ctypes.c_uint64 * 12)()
    lock = threading.Lock()
    #: Stays open: when a process has no descriptors left, its sessions must still find what has changed.
    pagemap = -1
    identity = (0, 0)

    @classmethod
    def open(cls) -> int:
        if cls.pagemap < 0:
            cls.pagemap = os.open("/proc/self/pagemap", os.O_RDONLY | os.O_CLOEXEC)
            cls.identity = _identity(cls.pagemap)
        return cls.pagemap

    @classmethod
    def is_open(cls) -> bool:
        """Whether it still is: a program may close descriptors that are not its own, as daemons do."""
        try:
            return _identity(cls.pagemap) == cls.identity
        except OSError:
            return False


def _identity(descriptor: int) -> tuple[int, int]:
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino


@in_forked_child("runtime")
def _after_fork() -> None:
    _Buffer.lock = threading.Lock()  # another thread of the parent may have held it
    if _Buffer.pagemap >= 0:  # it is the parent's
        if _Buffer.is_open():
            os.close(_Buffer.pagemap)
        _Buffer.pagemap = -1


# All are given a span of the memory at `base` as offsets, and answer in such.


def changed_spans(base: int, start: int, end: int) -> list[Span]:
    """The spans of pages that are not the mapped file's: present or swapped out, and not of a file."""
    any_of = _PAGE_IS_PRESENT | _PAGE_IS_SWAPPED
    return _scan(base, start, end, 0, (_PAGE_IS_FILE, _PAGE_IS_FILE, any_of, _PAGE_IS_PRESENT))


def written_spans(base: int, start: int, end: int, *, protects: bool) -> list[Span]:
    """The spans of pages, all of which were protected, that have been written to; they are protected again if
    that is wanted.

    This very question has a short way through the kernel, which looks at nothing but one bit of each page.
    """
    flags = _CHECKS | (_PROTECTS if protects else 0)
    return _scan(base, start, end, flags, (0, _PAGE_IS_WRITTEN, 0, _PAGE_IS_WRITTEN))


def protect_all(base: int, start: int, end: int) -> None:
    """Protect the pages, also those that are not there yet."""
    _scan(base, start, end, _CHECKS | _PROTECTS, (0, 0, 0, 0), reports=False)


def _scan(
    base: int,
    start: int,
    end: int,
    flags: int,
    categories: tuple[int, int, int, int],
    *,
    reports: bool = True,
) -> list[Span]:
    """Spans by the categories inverted, all wanted, any wanted and told apart. Raises OSError."""
    start, end = base + start, base + end
    spans: list[Span] = []
    arguments, regions = _Buffer.arguments, _Buffer.regions
    most = _MOST_REGIONS if reports else 0
    place = ctypes.addressof(regions) if reports else 0
    walks = 0
    with _Buffer.lock:
        pagemap = _Buffer.open()
        while start < end:
            arguments[:] = [96, flags, start, end, 0, place, most, 0, *categories]
            count = _library.ioctl(pagemap, _REQUEST, arguments)
            if count < 0 and ctypes.get_errno() in _CLOSED and not _Buffer.is_open():
                _Buffer.pagemap = -1
                pagemap = _Buffer.open()
                count = _library.ioctl(pagemap, _REQUEST, arguments)
            if count < 0:
                number = ctypes.get_errno()
                raise OSError(number, f"PAGEMAP_SCAN: {os.strerror(number)}")
            found = regions[: 3 * count]
            spans += [(a - base, b - base) for a, b in zip(found[0::3], found[1::3], strict=True)]
            walks += 1
            walked = arguments[4]
            if walked <= start:
                break
            start = walked
    # A walk may end before the last region that it reported, which then comes again.
    return united(spans, []) if walks > 1 else spans
