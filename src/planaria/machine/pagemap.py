"""The kernel's account of a process's pages: PAGEMAP_SCAN of Linux 6.7 (ioctl_pagemap_scan(2))."""

from __future__ import annotations

import ctypes
import os
import threading
from typing import Final

from planaria.fork import in_forked_child
from planaria.machine.memory import Span, united

__all__ = ["PAGE_IS_FILE", "PAGE_IS_WRITTEN", "scan"]

PAGE_IS_WRITTEN: Final = 1 << 1
PAGE_IS_FILE: Final = 1 << 2
_PAGE_IS_PRESENT: Final = 1 << 3
_PAGE_IS_SWAPPED: Final = 1 << 4

_REQUEST: Final = ctypes.c_ulong(3 << 30 | 96 << 16 | ord("f") << 8 | 16)
_MOST_REGIONS: Final = 4096

_library: Final = ctypes.CDLL(None, use_errno=True)


class _Buffer:
    """What the kernel fills: one for the process, so calls take turns."""

    regions = (ctypes.c_uint64 * (3 * _MOST_REGIONS))()
    arguments = (ctypes.c_uint64 * 12)()
    lock = threading.Lock()


@in_forked_child("runtime")
def _after_fork() -> None:
    _Buffer.lock = threading.Lock()  # another thread of the parent may have held it


def scan(base: int, size: int, *, flags: int = 0, inverted: int, wanted: int) -> list[Span]:
    """The spans of pages that are present or swapped out and of all the categories `wanted`.

    Of those that are in `inverted` as well, the pages that are not. Raises OSError.
    """
    end = base + size
    start = base
    spans: list[Span] = []
    arguments, regions = _Buffer.arguments, _Buffer.regions
    with _Buffer.lock, open("/proc/self/pagemap", "rb", buffering=0) as pagemap:
        while start < end:
            arguments[:] = [
                96, flags, start, end, 0, ctypes.addressof(regions), _MOST_REGIONS, 0,
                inverted, wanted, _PAGE_IS_PRESENT | _PAGE_IS_SWAPPED, _PAGE_IS_PRESENT,
            ]  # fmt: skip
            count = _library.ioctl(pagemap.fileno(), _REQUEST, arguments)
            if count < 0:
                number = ctypes.get_errno()
                raise OSError(number, f"PAGEMAP_SCAN: {os.strerror(number)}")
            found = regions[: 3 * count]
            spans.extend((a - base, b - base) for a, b in zip(found[0::3], found[1::3], strict=True))
            walked = arguments[4]
            if walked <= start:
                break
            start = walked
    # The walk may end before the last region it told, which then comes again.
    return united(spans, [])
