"""Linear memories as files, and mapping them.

A `MemoryFile` is what a session's memory was at some time. Machines that begin from it share its pages until
they write to them. It is one file, or layers: files with spans of the memory, one over the other.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from typing import Final, NamedTuple, Protocol, Self

__all__ = [
    "PAGE_BYTES",
    "WASM_PAGE_BYTES",
    "Contents",
    "Mapped",
    "MemoryFile",
    "Span",
    "anonymous_file",
    "has_mappings_left",
    "length",
    "map_file",
    "mapped_spans",
    "united",
    "without",
]

PAGE_BYTES: Final = 4096
WASM_PAGE_BYTES: Final = 65536

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

#: At most so many spans make a layer; each is a mapping of every machine that has it.
_MOST_SPANS: Final = 64
#: Mappings of layers in the process (Linux allows about 65,000 of all kinds); beyond, layers are copied.
_MOST_MAPPINGS: Final = 24_000
#: A layer takes in the one below when that is at most so many times as large.
_ABSORB: Final = 2
#: The second machine of a memory has it as one file when it would otherwise need more mappings than this,
_MOST_FRAGMENTS: Final = 4
#: and it has at most so many bytes.
_MOST_FLATTENED: Final = 256 << 20
_CHUNK: Final = 1 << 20


class Contents(Protocol):
    """A file that holds memory. It stays open as long as this exists."""

    @property
    def descriptor(self) -> int: ...


class _OwnedFile:
    """A file that is closed when it is collected; the mappings made from it stay valid."""

    __slots__ = ("descriptor",)

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def __del__(self) -> None:
        try:
            os.close(self.descriptor)
        except (AttributeError, OSError):  # never opened, or closed at exit
            pass


class Mapped(NamedTuple):
    """What mapping a memory has come to."""

    mappings: int
    """Mappings of layers."""
    is_whole: bool
    """Whether nothing had to be copied because the process has no mappings left."""


class MemoryFile:
    """A complete linear memory, never changed after it was made: a file, or a layer over another memory.

    A layer was copied, or is memory that a machine has grown by (`grown`), which is below all layers that
    were copied.
    """

    __slots__ = ("__weakref__", "_below", "_contents", "_flat", "_offset", "_spans", "_uses", "_view", "size")

    def __init__(self, descriptor: int, size: int) -> None:
        """Take ownership of `descriptor`, a file of `size` bytes (a multiple of 64 KiB)."""
        if size % WASM_PAGE_BYTES:
            raise ValueError(f"a linear memory is a multiple of {WASM_PAGE_BYTES} bytes, not {size}")
        self._set(_OwnedFile(descriptor), 0, [(0, size)], None, size)

    def _set(
        self, contents: Contents, offset: int, spans: list[Span], below: MemoryFile | None, size: int
    ) -> None:
        self._contents = contents
        #: Its spans are back to back in the file, from here on.
        self._offset = offset
        self._spans = spans
        self._below = below
        self.size = size
        self._view: mmap.mmap | None = None
        #: The same as one file, made when several machines want it.
        self._flat: MemoryFile | None = None
        self._uses = 0

    @classmethod
    def _over(
        cls, contents: Contents, offset: int, spans: list[Span], below: MemoryFile, size: int
    ) -> MemoryFile:
        layer = cls.__new__(cls)
        layer._set(contents, offset, spans, below, size)
        return layer

    @classmethod
    def capture(cls, base: int, size: int) -> Self:
        """Copy `size` bytes of memory at address `base` into an anonymous file."""
        return cls(_copied(base, [(0, size)], "planaria-memory"), size)

    @classmethod
    def layer(cls, base: int, size: int, spans: list[Span], below: MemoryFile) -> MemoryFile:
        """The `size` bytes at address `base`; only `spans` of them, which `below` lacks, are copied."""
        spans = _coalesced(spans)
        while below._was_copied and below.own_bytes <= _ABSORB * length(spans):
            assert below._below is not None
            spans = _coalesced(united(spans, below._spans))
            below = below._below
        return cls._over(_OwnedFile(_copied(base, spans, "planaria-layer")), 0, spans, below, size)

    @classmethod
    def grown(cls, below: MemoryFile, grown: Span, contents: Contents, offset: int) -> MemoryFile:
        """`below` with more behind its end, which `contents` has at `offset` and which will not change."""
        start, size = grown
        if below._was_copied:
            # What was copied lies before the memory that is added, so it may as well be on top.
            assert below._below is not None
            lower = cls.grown(below._below, grown, contents, offset)
            return cls._over(below._contents, below._offset, below._spans, lower, size)
        if below._contents is contents and below._offset + below.own_bytes == offset:
            assert below._below is not None
            start, offset, below = below._spans[0][0], below._offset, below._below
        return cls._over(contents, offset, [(start, size)], below, size)

    @property
    def _was_copied(self) -> bool:
        return self._below is not None and isinstance(self._contents, _OwnedFile)

    def layers(self) -> Iterator[MemoryFile]:
        """This memory and those below it, as far as they are layers."""
        layer = self
        while layer._below is not None:
            yield layer
            layer = layer._below

    def parts(self) -> list[tuple[int, int]]:
        """The files of its layers by their identity, and how much it has of each in bytes."""
        return [(id(layer._contents), layer.own_bytes) for layer in self.layers()]

    @property
    def layer_bytes(self) -> int:
        """How much its layers have of the memory together, in bytes."""
        return sum(layer.own_bytes for layer in self.layers())

    @property
    def own_bytes(self) -> int:
        """How much its own file has of the memory."""
        return length(self._spans)

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
            self._view = mmap.mmap(self._contents.descriptor, self.size, access=mmap.ACCESS_READ)
        return memoryview(self._view)

    def map_over(self, base: int) -> Mapped:
        """Replace the memory at `base` by these contents, copy-on-write.

        Raises OSError(ENOMEM) when the process has no mappings left (vm.max_map_count).
        """
        if not _IS_LINUX:  # pragma: no cover - no MAP_FIXED over foreign mappings there
            with self.view() as view:
                ctypes.memmove(base, bytes(view), self.size)
            return Mapped(0, True)
        if self._below is None:
            map_file(base, self.size, self._contents.descriptor, 0)
            return Mapped(0, True)
        self._uses += 1
        if self._flat is None and self._uses > 1:
            self._flat = self._flattened()
        if self._flat is not None:
            map_file(base, self.size, self._flat._contents.descriptor, 0)
            return Mapped(1, True)
        below, own = self._below.map_over(base), self.map_own_over(base)
        return Mapped(below.mappings + own.mappings, below.is_whole and own.is_whole)

    def map_own_over(self, base: int) -> Mapped:
        """The same for what a layer has itself, over a memory that has the rest."""
        offset = self._offset
        is_whole = mapped_spans() + len(self._spans) <= _MOST_MAPPINGS
        for start, end in self._spans:
            if is_whole:
                map_file(base + start, end - start, self._contents.descriptor, offset)
            else:
                _read(self._contents.descriptor, offset, base + start, end - start)
            offset += end - start
        return Mapped(len(self._spans) if is_whole else 0, is_whole)

    def _flattened(self) -> MemoryFile | None:
        """One file that has all of this memory, None where that is not worth its bytes."""
        layers = [self, *self.layers()][1:]
        if sum(len(layer._spans) for layer in layers) <= _MOST_FRAGMENTS or self.size > _MOST_FLATTENED:
            return None
        lowest = layers[-1]._below
        assert lowest is not None
        flat = _OwnedFile(anonymous_file("planaria-memory"))
        os.ftruncate(flat.descriptor, self.size)
        for layer in (lowest, *reversed(layers)):
            layer._write_own(flat.descriptor)
        whole = MemoryFile.__new__(MemoryFile)
        whole._set(flat, 0, [(0, self.size)], None, self.size)
        return whole

    def _write_own(self, descriptor: int) -> None:
        """Write what its own file has to where that belongs in a file of the whole memory."""
        source, offset = self._contents.descriptor, self._offset
        for start, end in self._spans:
            # Holes of a complete memory stay holes; a layer's zeros may hide what lies below.
            for first, last in _data(source, end) if self._below is None else [(start, end)]:
                at = first
                while at < last:
                    data = os.pread(source, min(_CHUNK, last - at), offset + at - start)
                    if not data:
                        raise OSError("a file in memory is shorter than it was")
                    at += os.pwrite(descriptor, data, at)
            offset += end - start


def _data(descriptor: int, size: int) -> Iterator[Span]:
    """The spans of a file that are not holes (lseek(2), SEEK_DATA)."""
    end = 0
    while end < size:
        try:
            start = os.lseek(descriptor, end, os.SEEK_DATA)
        except OSError:  # ENXIO: nothing but a hole up to the end
            return
        end = os.lseek(descriptor, start, os.SEEK_HOLE)
        yield start, end


def _copied(base: int, spans: list[Span], name: str) -> int:
    """A file with the spans of the memory at `base`, back to back."""
    descriptor = anonymous_file(name)
    try:
        os.ftruncate(descriptor, length(spans))
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
    return descriptor


def _read(descriptor: int, offset: int, address: int, size: int) -> None:
    """Read a span of a file into memory."""
    view = memoryview((ctypes.c_char * size).from_address(address)).cast("B")
    done = 0
    while done < size:
        done += os.preadv(descriptor, [view[done : done + (1 << 30)]], offset + done)


class _Count:
    """How many mappings of layers the machines of this process have."""

    mappings = 0


def has_mappings_left() -> bool:
    """Whether another layer can be mapped rather than copied."""
    return _Count.mappings + _MOST_SPANS <= _MOST_MAPPINGS


def mapped_spans(more: int = 0) -> int:
    """How many mappings of layers the machines of this process have, after `more` came or (negative) went."""
    _Count.mappings += more
    return _Count.mappings


def map_file(
    address: int, size: int, descriptor: int, offset: int, *, shared: bool = False, accessible: bool = True
) -> None:
    """Map a file over the memory at `address`: copy-on-write, or `shared`, so that writes change the file."""
    found = _mmap(
        address,
        size,
        mmap.PROT_READ | mmap.PROT_WRITE if accessible else 0,
        (mmap.MAP_SHARED if shared else mmap.MAP_PRIVATE) | _MAP_FIXED,
        descriptor,
        offset,
    )
    if found != address:
        number = ctypes.get_errno()
        raise OSError(number, f"cannot map a memory of {size} bytes: {os.strerror(number)}")


def length(spans: list[Span]) -> int:
    """Their bytes."""
    return sum([end - start for start, end in spans])


def united(one: list[Span], other: list[Span]) -> list[Span]:
    """The bytes of either, as spans in order that do not touch."""
    found: list[Span] = []
    for start, end in sorted([*one, *other]):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


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
