"""The linear memory of one machine: what it begins from, and what it has come to, as files and pages.

It is a private mapping of the memory that it began from (`private_pages`), behind which it grows (`growth`).
"""

from __future__ import annotations

import os
import threading
from functools import partial
from typing import Final
from weakref import ref

import wasmtime

from planaria.errors import SessionError
from planaria.machine.changes import ChangedPages, discard, read_pages, spans_of, write_pages
from planaria.machine.exhaustion import check_mappings, mappings_left
from planaria.machine.growth import Growth, begin_fork
from planaria.machine.memory import (
    WASM_PAGE_BYTES,
    Mapped,
    MemoryFile,
    Span,
    length,
    mapped_spans,
    without,
)
from planaria.machine.private_pages import PrivatePages
from planaria.machine.wasi.memory import GuestMemory, view_of_address
from planaria.runtime.native import memory_base, memory_size

__all__ = ["LinearMemory", "check_mappings_left", "memories_left"]

#: Memory mappings of a machine, without those of layers.
_MAPPINGS: Final = 5
#: How many memories of 4 GiB, which is what each reserves, a process has addresses for.
_ADDRESSED: Final = 1 << 47 - 32
#: Beyond so many memories of this process their size counts more than a millisecond.
_MANY_MEMORIES: Final = 64
#: What a memory has grown by, in bytes, is copied into a state up to here: that costs less than new mappings.
_MOST_GROWN: Final = 256 << 10


def _view_of(store: wasmtime.Store, memory: wasmtime.Memory, base: int) -> memoryview:
    return view_of_address(base, memory_size(store, memory))


class LinearMemory:
    """The memory of one instance. Its guest is at rest in everything but `size` and `detach_growth`."""

    def __init__(self, store: wasmtime.Store, memory: wasmtime.Memory) -> None:
        _memories[id(self)] = None
        self._store = store
        self.exported = memory
        #: The address of its first byte.
        self.base = memory_base(store, memory)
        #: The memory as the host uses it while the guest runs.
        self.view = GuestMemory(partial(_view_of, store, memory, self.base))
        #: What it began from; None before `load`.
        self.image: MemoryFile | None = None
        self.known_size: int | None = None
        """Its size in bytes; None while the guest runs, or before it was asked for."""
        #: How many mappings of layers it has at most, and whether that is all of its layers.
        self._mappings = Mapped(0, True)
        #: What it grows by, if that can be part of a state without being copied.
        self._growth: Growth | None = None
        self.private = PrivatePages(self.base)
        """What of the rest differs from the image."""
        self.user: int | None = None
        """The thread on which the guest runs."""
        self.is_new = False
        """Whether no code has run in it since `load`."""

    @property
    def size(self) -> int:
        """How large it is now, in bytes."""
        if self.user is not None:
            return memory_size(self._store, self.exported)
        if self.known_size is None:
            self.known_size = memory_size(self._store, self.exported)
        return self.known_size

    @property
    def copied(self) -> int:
        """The bytes of pages that were copied for states so far."""
        return self.private.copied

    def load(self, image: MemoryFile, size: int, pages: ChangedPages) -> None:
        """Become what `image` with `pages` written over it is, `size` bytes in all.

        Raises SessionError when the memory may not grow so far.
        """
        missing = max(size, image.size) - self.size
        if missing > 0 and self.grow(missing) < 0:
            raise SessionError(f"a state of {size >> 20} MiB does not fit the memory limit of this session")
        self._count_mappings(image.map_over(self.base))
        self.image = image
        self.is_new = True
        self.private.forget()
        self._reserve_growth(image.size)
        write_pages(self.base, pages)
        self.view.refresh()

    def _reserve_growth(self, start: int) -> None:
        self._growth = Growth.reserve(self.base, start, self.size)
        if self._growth is not None:
            _growing[id(self)] = ref(self)

    def has_run(self) -> None:
        """Code has run in it for the first time. Where there are many memories, what it has not changed is
        released: that takes a millisecond or two, and otherwise memory is what runs out first.
        """
        self.is_new = False
        if self.image is not None and len(_memories) > _MANY_MEMORIES:
            self.private.give_back_unchanged(self._parts()[0][1], self.image)

    def can_go_back(self, image: MemoryFile, size: int) -> bool:
        """Whether `go_back` can make this memory one of `size` bytes that began from `image`."""
        return image is self.image and size == self.size and self._mappings.is_whole

    def go_back(self, pages: ChangedPages) -> None:
        """Become what `load` made of the same image, with `pages` written over it.

        Only pages that have changed are touched, so what has not is as quick to use as before.
        """
        assert self.image is not None
        private, grown = self._parts()
        end = private[1]
        self.private.find(end, self.image)
        above: ChangedPages = {}
        below = pages
        if pages and max(pages) >= end:
            above = {at: page for at, page in pages.items() if at >= end}
            below = {at: page for at, page in pages.items() if at < end}
        self.private.go_back(below, self.image)
        discard(self.base, without(grown, spans_of(above)))
        write_pages(self.base, above)

    def _parts(self) -> tuple[Span, list[Span]]:
        """The span of private memory, and that of what has grown since it was last part of a state."""
        size, growth = self.size, self._growth
        return ((0, size), []) if growth is None else ((0, growth.start), growth.span(size))

    def grow(self, missing: int) -> int:
        """Make it so many bytes larger; negative when it may not grow so far."""
        self.known_size = None
        try:
            return self.exported.grow(self._store, -(-missing // WASM_PAGE_BYTES))
        except wasmtime.WasmtimeError:
            return -1

    def pages(self, most: int, most_rewritten: int, known: ChangedPages) -> tuple[MemoryFile, ChangedPages]:
        """The present memory as a file and what changed since it, by whole pages.

        More than `most` bytes of changes go into a new file, which this machine is then mapped over as
        well, so that they are copied once however often the state is taken. It takes ten times as long as
        copying pages, so it is not made of up to `most_rewritten` bytes that were all but `most` written by
        the last execution: the next one may write there again. By how much the memory has grown is not
        copied at all. `known` is what an earlier state had (see `read_pages`).
        """
        image, growth, size = self.image, self._growth, self.size
        assert image is not None
        if growth is not None and growth.start == size:
            again = self.private.look_again(size, most)
            if again is not None:
                return image, again
        private, grown = self._parts()
        self.private.find(private[1], image)
        changed = self.private.bytes_up_to(most)
        if growth is not None and grown and length(grown) > min(_MOST_GROWN, most - changed):
            self.image = image = growth.freeze(size, image)
            self._count_mappings(Mapped(1, True), added=True)
            grown = []
        if changed > most and (changed > most_rewritten or self.private.settled_bytes() > most):
            spans = self.private.spans()
            self.private.forget()
            self.image = image = MemoryFile.layer(self.base, size, spans, image)
            self._count_mappings(image.map_own_over(self.base), added=True)
            pages: ChangedPages = {}
        else:
            pages = self.private.read(known)
        if grown:
            pages = pages | read_pages(self.base, grown, known)
        if growth is None:  # the process was forked
            self._reserve_growth(size)
        return image, pages

    def __del__(self) -> None:
        """One that was not closed releases its mappings when its machine is collected."""
        if hasattr(self, "_mappings"):
            self._count_mappings(Mapped(0, True))
            _growing.pop(id(self), None)
            _memories.pop(id(self), None)

    def _count_mappings(self, mapped: Mapped, *, added: bool = False) -> None:
        before = self._mappings
        if added:
            mapped = Mapped(before.mappings + mapped.mappings, before.is_whole and mapped.is_whole)
        mapped_spans(mapped.mappings - before.mappings)
        self._mappings = mapped

    def detach_growth(self) -> None:
        """Before a fork of the process. Where another thread is in the guest, it is lost in the child."""
        if self.user not in (None, threading.get_ident()):
            return
        if self._growth is not None:
            assert self.image is not None
            self.image = self._growth.detach(self.size, self.image)
            self._forget_growth()

    def _forget_growth(self) -> None:
        self._growth = None
        _growing.pop(id(self), None)

    def capture(self) -> MemoryFile:
        """All of it as a new file."""
        return MemoryFile.capture(self.base, self.size)

    def close(self) -> None:
        """The store of the memory is closed."""
        self._count_mappings(Mapped(0, True))
        _memories.pop(id(self), None)
        if self._growth is not None:
            self._growth.close()
            self._forget_growth()


#: The memories that are not closed, by their identity.
_memories: Final[dict[int, None]] = {}
#: Those that have more to grow by, by their identity.
_growing: Final[dict[int, ref[LinearMemory]]] = {}


def check_mappings_left() -> None:
    """Raise SessionError when another memory needs more mappings than the process may have."""
    check_mappings(mapped_spans() + _MAPPINGS * (len(_memories) + 1))


def memories_left() -> int:
    """How many more memories this process has room for at the most."""
    mappings = mappings_left(mapped_spans())
    most = _ADDRESSED if mappings is None else min(_ADDRESSED, mappings // _MAPPINGS)
    return max(0, most - len(_memories))


def _before_fork() -> None:
    begin_fork()
    for reference in list(_growing.values()):
        memory = reference()
        if memory is not None:
            memory.detach_growth()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork)
