"""What of a linear memory has changed since a file was mapped over it, read and taken back by whole pages.

A machine's memory starts as a private copy-on-write mapping of a `MemoryFile`, so what a session
changed is what the kernel gave it as pages of its own. Three ways to ask for those, best first:

- `PAGEMAP_SCAN` (Linux 6.7, ioctl_pagemap_scan(2)): the kernel returns the ranges, 130 us for 60 MB;
- `/proc/self/pagemap`: bit 63 present, 62 swapped, 61 file-backed (proc_pid_pagemap(5)), 190 us;
- comparing with the file's contents, everywhere: 10 ms.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, compress, repeat
from operator import not_
from typing import Final

from planaria.machine.memory import PAGE_BYTES, WASM_PAGE_BYTES, MemoryFile, Span, anonymous_file
from planaria.machine.pagemap import changed_spans

__all__ = [
    "ChangedPages",
    "PageViews",
    "dirty_spans",
    "discard",
    "memory_at",
    "pages_of",
    "read_pages",
    "revert",
    "spans_of",
    "write_pages",
]

#: Changed pages: the contents of each by the offset of its first byte.
ChangedPages = dict[int, bytes]

_IS_LINUX: Final = sys.platform.startswith("linux")
_library: Final = ctypes.CDLL(None, use_errno=True)

_madvise: Final = _library.madvise if _IS_LINUX else None
_MADV_DONTNEED: Final = 4
_MADV_REMOVE: Final = 9


#: What a process has of addresses; the part of it that is looked at begins anywhere.
_Everything: Final = ctypes.c_char * (1 << 46)


def memory_at(base: int) -> memoryview:
    """The memory of this process from an address on."""
    return memoryview(_Everything.from_address(base)).cast("B")


def _pagemap_scan(base: int, size: int, image: MemoryFile, start: int) -> list[Span]:
    return changed_spans(base, start, size)


#: In the top bytes of pagemap entries: present or swapped, and not file-backed.
_PRIVATE: Final = re.compile(rb"[\x40-\x5f\x80-\x9f\xc0-\xdf]+")


def _pagemap(base: int, size: int, image: MemoryFile, start: int) -> list[Span]:
    wanted = (size - start) // PAGE_BYTES * 8
    with open("/proc/self/pagemap", "rb", buffering=0) as pagemap:
        pagemap.seek((base + start) // PAGE_BYTES * 8)
        entries = pagemap.read(wanted)
    if len(entries) != wanted:
        raise OSError("short read of /proc/self/pagemap")
    return [
        (start + match.start() * PAGE_BYTES, start + match.end() * PAGE_BYTES)
        for match in _PRIVATE.finditer(entries[7::8])
    ]


def compare(base: int, size: int, image: MemoryFile, start: int) -> list[Span]:
    """The spans whose contents differ from the image's, by pages; beyond the image, those not zero."""
    memory = memoryview((ctypes.c_char * size).from_address(base)).cast("B")
    spans: list[Span] = []
    zeros = bytes(WASM_PAGE_BYTES)
    with image.view() as original:
        for block in range(start, size, WASM_PAGE_BYTES):
            inside = block < image.size
            before = original[block : block + WASM_PAGE_BYTES] if inside else memoryview(zeros)
            now = memory[block : block + WASM_PAGE_BYTES]
            if now == before:
                continue
            for page in range(0, WASM_PAGE_BYTES, PAGE_BYTES):
                if now[page : page + PAGE_BYTES] != before[page : page + PAGE_BYTES]:
                    spans.append((block + page, block + page + PAGE_BYTES))
    return _joined(spans)


def _joined(spans: list[Span]) -> list[Span]:
    """Neighbours made one."""
    joined: list[Span] = []
    for start, end in spans:
        if joined and joined[-1][1] == start:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined


_Way = Callable[[int, int, MemoryFile, int], list[Span]]


def _best_way() -> _Way:
    """The fastest way that works here, tried on a mapping of our own."""
    if not _IS_LINUX or mmap.PAGESIZE != PAGE_BYTES:
        return compare
    size = WASM_PAGE_BYTES
    descriptor = anonymous_file("planaria-probe")
    os.ftruncate(descriptor, size)
    image = MemoryFile(descriptor, size)
    probe = mmap.mmap(descriptor, size, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE)
    probe[3 * PAGE_BYTES] = 1
    anchor = ctypes.c_char.from_buffer(probe)
    try:
        for way in (_pagemap_scan, _pagemap):
            try:
                if way(ctypes.addressof(anchor), size, image, 0) == [(3 * PAGE_BYTES, 4 * PAGE_BYTES)]:
                    return way
            except OSError:
                continue
        return compare
    finally:
        del anchor
        probe.close()


_way: _Way | None = None


def dirty_spans(base: int, size: int, image: MemoryFile, start: int = 0) -> list[Span]:
    """The spans (start, end, in bytes from `base`) that may differ from `image`, by whole pages.

    `image` must be what was mapped over `base`; what lies beyond it counts when it was touched. Looks at what
    lies between `start`, a multiple of 64 KiB, and `size`.
    """
    global _way
    if _way is None:
        _way = _best_way()
    return _way(base, size, image, start)


def read_pages(base: int, spans: list[Span], known: Mapping[int, bytes]) -> ChangedPages:
    """Copy the contents of spans, page by page.

    A page that is the same in `known` (contents by their start) is taken from there, so that states share it.
    """
    memory = memory_at(base)
    before = known.get
    pages: ChangedPages = {}
    for start, end in spans:
        for at in range(start, end, PAGE_BYTES):
            page = bytes(memory[at : at + PAGE_BYTES])
            old = before(at)
            pages[at] = old if old == page else page
    return pages


class PageViews:
    """The pages of spans, to be compared again and again.

    They are compared in place, a thousand a millisecond: `startswith` does that, `==` does not where one side
    is a view.
    """

    __slots__ = ("_pairs", "_starts", "_views", "bytes", "spans")

    def __init__(self, base: int, spans: list[Span]) -> None:
        self.spans = spans
        memory = memory_at(base)
        self._starts = list(pages_of(spans))
        self._views = [memory[at : at + PAGE_BYTES] for at in self._starts]
        self._pairs = list(zip(self._starts, self._views, strict=True))
        self.bytes = len(self._starts) * PAGE_BYTES

    def changed(self, before: Mapping[int, bytes]) -> ChangedPages:
        """Copies of those that have other contents than in `before`, or are not in there."""
        old = map(before.get, self._starts, repeat(b""))
        # Nothing begins with a page but the page itself.
        are_others = map(not_, map(bytes.startswith, old, self._views))
        return {at: bytes(view) for at, view in compress(self._pairs, are_others)}


def pages_of(spans: Iterable[Span]) -> Iterator[int]:
    """The offsets of the first bytes of the pages in spans."""
    return chain.from_iterable([range(start, end, PAGE_BYTES) for start, end in spans])


def spans_of(pages: Iterable[int]) -> list[Span]:
    """The spans of pages that are given by the offsets of their first bytes, in order."""
    return _joined([(at, at + PAGE_BYTES) for at in sorted(pages)])


def revert(base: int, spans: list[Span], image: MemoryFile) -> None:
    """Give whole pages back the contents of `image`, which was mapped over `base`; zeros beyond its end."""
    if _madvise is not None:
        # The mapping is private, so its own pages are dropped and the file's are there again.
        for start, end in spans:
            if _madvise(ctypes.c_void_p(base + start), ctypes.c_size_t(end - start), _MADV_DONTNEED):
                number = ctypes.get_errno()
                raise OSError(number, f"cannot drop changed pages: {os.strerror(number)}")
        return
    with image.view() as view:  # pragma: no cover - not on Linux
        for start, end in spans:
            contents = bytes(view[start:end])
            ctypes.memmove(base + start, contents + bytes(end - start - len(contents)), end - start)


def discard(base: int, spans: list[Span]) -> None:
    """Make whole pages zero that are mapped shared from a file of this machine alone (`growth`)."""
    for start, end in spans:
        if _library.madvise(ctypes.c_void_p(base + start), ctypes.c_size_t(end - start), _MADV_REMOVE):
            number = ctypes.get_errno()
            raise OSError(number, f"cannot drop grown memory: {os.strerror(number)}")


def write_pages(base: int, pages: Mapping[int, bytes]) -> None:
    """Write contents back where they were; the caller has checked that they lie inside."""
    memory = memory_at(base)
    for start, page in pages.items():
        memory[start : start + PAGE_BYTES] = page
