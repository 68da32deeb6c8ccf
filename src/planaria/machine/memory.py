"""Linear memory as files and pages: mapping an image, and finding and copying what changed since.

A machine's memory starts as a private copy-on-write mapping of a `MemoryFile`, so what a session
changed is what the kernel gave it as pages of its own. Three ways to ask for those, best first:

- `PAGEMAP_SCAN` (Linux 6.7, ioctl_pagemap_scan(2)): the kernel returns the ranges, 45 us for 40 MB;
- `/proc/self/pagemap`: bit 63 present, 62 swapped, 61 file-backed (proc_pid_pagemap(5)), 190 us;
- comparing with the file's contents, everywhere: 10 ms.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import re
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Final, Self

__all__ = [
    "PAGE_BYTES",
    "WASM_PAGE_BYTES",
    "MemoryFile",
    "Run",
    "Span",
    "dirty_runs",
    "has_mappings_left",
    "mapped_spans",
    "read_runs",
    "revert",
    "without",
    "write_runs",
]

PAGE_BYTES: Final = 4096
BLOCK_BYTES: Final = 16384
WASM_PAGE_BYTES: Final = 65536

#: A span of changed memory: offset of its first byte and its contents.
Run = tuple[int, bytes]
#: A span of memory: offsets of its first byte and of the one after its last.
Span = tuple[int, int]

_MAP_FIXED: Final = 0x10
_IS_LINUX: Final = sys.platform.startswith("linux")

_library: Final = ctypes.CDLL(None, use_errno=True)
_mmap: Final = _library.mmap
_mmap.restype = ctypes.c_void_p
_mmap.argtypes = [
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_long,
]

_madvise: Final = _library.madvise if _IS_LINUX else None
_MADV_DONTNEED: Final = 4

_memcmp: Final = _library.memcmp
_memcmp.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]
_memcmp.restype = ctypes.c_int


#: At most so many stretches make a layer; each is a mapping of every machine that has it.
_MOST_SPANS: Final = 64
#: Mappings of layers in the process (Linux allows about 65,000 of all kinds); beyond, layers are copied.
_MOST_MAPPINGS: Final = 24_000
#: A layer takes in the one below when that is at most so many times as large.
_ABSORB: Final = 2


class MemoryFile:
    """A complete linear memory, never changed after it was made.

    It is a file, or a layer: a file with spans of it, over another memory.
    It owns its descriptor and closes it when collected; the mappings made from it stay valid.
    """

    __slots__ = ("__weakref__", "_below", "_descriptor", "_spans", "_view", "size")

    def __init__(self, descriptor: int, size: int) -> None:
        """Take ownership of `descriptor`, a file of `size` bytes (a multiple of 64 KiB)."""
        if size % WASM_PAGE_BYTES:
            raise ValueError(f"a linear memory is a multiple of {WASM_PAGE_BYTES} bytes, not {size}")
        self._descriptor = descriptor
        self.size = size
        self._view: mmap.mmap | None = None
        self._below: MemoryFile | None = None
        #: What a layer has of the memory; its file has them back to back.
        self._spans: list[Span] = [(0, size)]

    def __del__(self) -> None:
        try:
            os.close(self._descriptor)
        except (AttributeError, OSError):  # never opened, or closed at exit
            pass

    @classmethod
    def capture(cls, base: int, size: int) -> Self:
        """Copy `size` bytes of memory at address `base` into an anonymous file."""
        descriptor = anonymous_file("planaria-memory")
        try:
            os.ftruncate(descriptor, size)
            view = memoryview((ctypes.c_char * size).from_address(base)).cast("B")
            written = 0
            while written < size:
                written += os.pwrite(descriptor, view[written : written + (1 << 30)], written)
        except BaseException:
            os.close(descriptor)
            raise
        return cls(descriptor, size)

    @classmethod
    def layer(cls, base: int, size: int, spans: list[Span], below: MemoryFile) -> Self:
        """The `size` bytes at address `base`; only `spans` of them, which `below` lacks, are copied."""
        spans = _coalesced(spans)
        while below._below is not None and below.own_bytes <= _ABSORB * _length(spans):
            spans = _coalesced(_united(spans, below._spans))
            below = below._below
        descriptor = anonymous_file("planaria-layer")
        try:
            os.ftruncate(descriptor, _length(spans))
            written = 0
            for start, end in spans:
                view = memoryview((ctypes.c_char * (end - start)).from_address(base + start)).cast("B")
                done = 0
                while done < len(view):
                    done += os.pwrite(descriptor, view[done : done + (1 << 30)], written + done)
                written += done
        except BaseException:
            os.close(descriptor)
            raise
        made = cls(descriptor, size)
        made._below, made._spans = below, spans
        return made

    def layers(self) -> Iterator[MemoryFile]:
        """This memory and those below it, as far as they are layers."""
        layer = self
        while layer._below is not None:
            yield layer
            layer = layer._below

    @property
    def mappings(self) -> int:
        """How many mappings of layers `map_over` makes, while the process has enough of them."""
        return 0 if self._below is None else self._below.mappings + len(self._spans)

    @property
    def own_bytes(self) -> int:
        """The length of its file."""
        return _length(self._spans)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Self:
        """The memory kept in a file of a cache, read only."""
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        try:
            return cls(descriptor, os.fstat(descriptor).st_size)
        except BaseException:
            os.close(descriptor)
            raise

    def view(self) -> memoryview:
        """The contents, read only."""
        if self._view is None and self._below is not None:
            self._view = mmap.mmap(-1, self.size, flags=mmap.MAP_PRIVATE)
            self.map_over(ctypes.addressof(ctypes.c_char.from_buffer(self._view)))
        if self._view is None:
            self._view = mmap.mmap(self._descriptor, self.size, access=mmap.ACCESS_READ)
        return memoryview(self._view)

    def map_over(self, base: int) -> int:
        """Replace the memory at `base` by these contents, copy-on-write; returns the mappings of layers.

        Raises OSError(ENOMEM) when the process has no mappings left (vm.max_map_count).
        """
        if not _IS_LINUX:  # pragma: no cover - no MAP_FIXED over foreign mappings there
            with self.view() as view:
                ctypes.memmove(base, bytes(view), self.size)
            return 0
        if self._below is None:
            _map(base, self.size, self._descriptor, 0)
            return 0
        return self._below.map_over(base) + self.map_own_over(base)

    def map_own_over(self, base: int) -> int:
        """The same for what a layer has itself, over a memory that has the rest."""
        if mapped_spans() + len(self._spans) > _MOST_MAPPINGS:
            self._copy_own_over(base)
            return 0
        offset = 0
        for start, end in self._spans:
            _map(base + start, end - start, self._descriptor, offset)
            offset += end - start
        return len(self._spans)

    def _copy_own_over(self, base: int) -> None:
        offset = 0
        for start, end in self._spans:
            view = memoryview((ctypes.c_char * (end - start)).from_address(base + start)).cast("B")
            done = 0
            while done < len(view):
                done += os.preadv(self._descriptor, [view[done : done + (1 << 30)]], offset + done)
            offset += done


class _Mapped:
    """How many mappings of layers the machines of this process have."""

    count = 0


def has_mappings_left() -> bool:
    """Whether another layer can be mapped rather than copied."""
    return _Mapped.count + _MOST_SPANS <= _MOST_MAPPINGS


def mapped_spans(more: int = 0) -> int:
    """How many mappings of layers the machines of this process have, after `more` came or (negative) went."""
    _Mapped.count += more
    return _Mapped.count


def _map(address: int, size: int, descriptor: int, offset: int) -> None:
    found = _mmap(
        address, size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | _MAP_FIXED, descriptor, offset
    )
    if found != address:
        number = ctypes.get_errno()
        raise OSError(number, f"cannot map a memory of {size} bytes: {os.strerror(number)}")


def _length(spans: list[Span]) -> int:
    return sum(end - start for start, end in spans)


def _united(one: list[Span], other: list[Span]) -> list[Span]:
    """The bytes of either, as spans in order that do not touch."""
    united: list[Span] = []
    for start, end in sorted([*one, *other]):
        if united and start <= united[-1][1]:
            united[-1] = (united[-1][0], max(end, united[-1][1]))
        else:
            united.append((start, end))
    return united


def without(spans: list[Span], others: list[Span]) -> list[Span]:
    """The bytes of `spans` that are not in `others`; both are in order, and so is the result."""
    left: list[Span] = []
    position = 0
    for start, end in spans:
        while position < len(others) and others[position][1] <= start:
            position += 1
        at = position
        while start < end and at < len(others) and others[at][0] < end:
            if start < others[at][0]:
                left.append((start, others[at][0]))
            start = max(start, others[at][1])
            at += 1
        if start < end:
            left.append((start, end))
    return left


def _coalesced(spans: list[Span]) -> list[Span]:
    """At most `_MOST_SPANS` that cover them, across the smallest gaps."""
    if len(spans) <= _MOST_SPANS:
        return spans
    gaps = sorted(range(1, len(spans)), key=lambda index: spans[index][0] - spans[index - 1][1], reverse=True)
    cuts = [0, *sorted(gaps[: _MOST_SPANS - 1]), len(spans)]
    return [(spans[a][0], spans[b - 1][1]) for a, b in pairwise(cuts)]


def anonymous_file(name: str) -> int:
    """A descriptor of a file without a name, in memory where the system has that."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create(name, os.MFD_CLOEXEC)
    descriptor, path = tempfile.mkstemp(prefix=name)  # pragma: no cover
    os.unlink(path)  # pragma: no cover
    return descriptor  # pragma: no cover


# -- what changed ------------------------------------------------------------------------------------

_SCAN_REQUEST: Final = (3 << 30) | (96 << 16) | (ord("f") << 8) | 16
_PAGE_IS_FILE: Final = 1 << 2
_PAGE_IS_PRESENT: Final = 1 << 3
_PAGE_IS_SWAPPED: Final = 1 << 4
_SCAN_REGIONS: Final = 4096


class _PagemapScan:
    """The ioctl. One buffer for the process, so calls take turns."""

    def __init__(self) -> None:
        self._regions = (ctypes.c_uint64 * (3 * _SCAN_REGIONS))()
        self._arguments = (ctypes.c_uint64 * 12)()
        self._lock = threading.Lock()

    def __call__(self, base: int, size: int, image: MemoryFile) -> list[Span]:
        end = base + size
        start = base
        spans: list[Span] = []
        arguments, regions = self._arguments, self._regions
        with self._lock, open("/proc/self/pagemap", "rb", buffering=0) as pagemap:
            while start < end:
                # Wanted: pages not file-backed, and present or swapped out.
                arguments[:] = [
                    96, 0, start, end, 0, ctypes.addressof(regions), _SCAN_REGIONS, 0,
                    _PAGE_IS_FILE, _PAGE_IS_FILE, _PAGE_IS_PRESENT | _PAGE_IS_SWAPPED, _PAGE_IS_PRESENT,
                ]  # fmt: skip
                count = _library.ioctl(pagemap.fileno(), ctypes.c_ulong(_SCAN_REQUEST), arguments)
                if count < 0:
                    raise OSError(ctypes.get_errno(), "PAGEMAP_SCAN")
                found = regions[: 3 * count]
                spans.extend((a - base, b - base) for a, b in zip(found[0::3], found[1::3], strict=True))
                walked = arguments[4]
                if walked <= start:
                    break
                start = walked
        # The walk may end before the last region it told, which then comes again.
        return _united(spans, [])


#: In the top bytes of pagemap entries: present or swapped, and not file-backed.
_PRIVATE: Final = re.compile(rb"[\x40-\x5f\x80-\x9f\xc0-\xdf]+")


def _pagemap(base: int, size: int, image: MemoryFile) -> list[Span]:
    with open("/proc/self/pagemap", "rb", buffering=0) as pagemap:
        pagemap.seek(base // PAGE_BYTES * 8)
        entries = pagemap.read(size // PAGE_BYTES * 8)
    if len(entries) != size // PAGE_BYTES * 8:
        raise OSError("short read of /proc/self/pagemap")
    return [
        (match.start() * PAGE_BYTES, match.end() * PAGE_BYTES) for match in _PRIVATE.finditer(entries[7::8])
    ]


def compare(base: int, size: int, image: MemoryFile) -> list[Span]:
    """The spans whose contents differ from the image's, by pages; beyond the image, those not zero."""
    memory = memoryview((ctypes.c_char * size).from_address(base)).cast("B")
    spans: list[Span] = []
    zeros = bytes(WASM_PAGE_BYTES)
    with image.view() as original:
        for block in range(0, size, WASM_PAGE_BYTES):
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


def _best_way() -> Callable[[int, int, MemoryFile], list[Span]]:
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
        for way in (_PagemapScan(), _pagemap):
            try:
                if way(ctypes.addressof(anchor), size, image) == [(3 * PAGE_BYTES, 4 * PAGE_BYTES)]:
                    return way
            except OSError:
                continue
        return compare
    finally:
        del anchor
        probe.close()


_way: Callable[[int, int, MemoryFile], list[Span]] | None = None


def dirty_runs(base: int, size: int, image: MemoryFile) -> list[Span]:
    """The spans (start, end, in bytes from `base`) that may differ from `image`, by whole pages.

    `image` must be what was mapped over `base`; what lies beyond it counts when it was touched.
    """
    global _way
    if _way is None:
        _way = _best_way()
    return _way(base, size, image)


def read_runs(base: int, spans: list[Span], known: Mapping[int, bytes]) -> list[Run]:
    """Copy the contents of spans, in pieces of at most `BLOCK_BYTES`.

    A piece that is the same in `known` (contents by their start) is taken from there: comparing costs a
    tenth of copying into memory that the process does not have yet.
    """
    read = ctypes.string_at
    runs: list[Run] = []
    for start, end in spans:
        while start < end:
            stop = min(end, (start // BLOCK_BYTES + 1) * BLOCK_BYTES)
            before = known.get(start)
            if before is None or len(before) != stop - start or _memcmp(base + start, before, stop - start):
                before = read(base + start, stop - start)
            runs.append((start, before))
            start = stop
    return runs


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


def write_runs(base: int, runs: list[Run]) -> None:
    """Write contents back where they were; the caller has checked that they lie inside."""
    write = ctypes.memmove
    for start, data in runs:
        write(base + start, data, len(data))
