"""Private pages of a memory: what was written is found, read and taken back, whether it is protected or not."""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planaria.machine import moved_mappings, private_pages
from planaria.machine.memory import PAGE_BYTES, MemoryFile, anonymous_file, map_file
from planaria.machine.private_pages import STACK_BASE, PrivatePages
from planaria.machine.write_protection import FAULTS, thread_usage

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux")

_PAGES = 64
_SIZE = STACK_BASE + _PAGES * PAGE_BYTES
_Page = st.integers(0, _PAGES - 1)
_OPERATIONS = st.one_of(
    st.tuples(st.just("write"), _Page, st.integers(1, 8), st.integers(0, 255)),
    st.tuples(st.just("look at"), _Page, st.integers(1, 8)),
    st.tuples(st.just("read")),
    st.tuples(st.just("go back"), st.integers(0, 9)),
    st.tuples(st.just("reach"), st.integers(1, _PAGES // 16)),
    st.tuples(st.just("forget")),
)


class _Memory:
    """A file mapped copy-on-write, of which more and more belongs to the guest."""

    def __init__(self) -> None:
        descriptor = anonymous_file("test")
        os.truncate(descriptor, _SIZE)
        os.pwrite(descriptor, bytes(range(1, 65)) * (_PAGES * PAGE_BYTES // 64), STACK_BASE)
        self.image = MemoryFile(descriptor, _SIZE)
        self.map = mmap.mmap(-1, _SIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.base = ctypes.addressof(ctypes.c_char.from_buffer(self.map))
        self.image.map_over(self.base)
        self.private = PrivatePages(self.base)
        self.end = STACK_BASE + 16 * PAGE_BYTES
        self.states: list[tuple[dict[int, bytes], bytes, int]] = []
        self.read()

    def contents(self) -> bytes:
        return self.map[STACK_BASE : self.end]

    def read(self) -> None:
        self.private.find(self.end, self.image)
        before = self.contents()
        pages = self.private.read(self.states[-1][0] if self.states else {})
        assert self.contents() == before
        whole = bytearray(self.image.view()[STACK_BASE : self.end])
        for at, page in pages.items():
            whole[at - STACK_BASE : at - STACK_BASE + PAGE_BYTES] = page
        assert bytes(whole) == before
        self.states.append((pages, before, self.end))

    def do(self, operation: tuple[Any, ...]) -> None:
        match operation:
            case "write", page, count, value:
                at = STACK_BASE + page * PAGE_BYTES
                size = min(at + count * PAGE_BYTES, self.end) - at
                if size > 0:
                    faults = thread_usage()[FAULTS]
                    self.map[at : at + size] = bytes([value]) * size
                    if thread_usage()[FAULTS] != faults:
                        self.private.is_looked_at = False
            case "look at", page, count:
                assert self.map[STACK_BASE + page * PAGE_BYTES :][: count * PAGE_BYTES]
            case ("read",):
                self.read()
            case "go back", number:
                possible = [one for one in self.states if one[2] == self.end]
                if possible:
                    pages, contents, _ = possible[number % len(possible)]
                    self.private.find(self.end, self.image)
                    self.private.go_back(pages, self.image)
                    assert self.contents() == contents
            case "reach", count:
                self.end = min(_SIZE, self.end + count * 16 * PAGE_BYTES)
            case ("forget",):
                self.private.forget()


@pytest.mark.parametrize(
    ("price", "most_vain"),
    [(0, 1 << 40), (0, 2), (0, -1), (1 << 40, 0)],
    ids=["protected once", "protected again", "protected always", "never protected"],
)
@settings(max_examples=25, deadline=None)
@given(operations=st.lists(_OPERATIONS, max_size=14))
def test_states_are_full_copies(price: int, most_vain: int, operations: list[tuple[Any, ...]]) -> None:
    """Whatever is written to, read and taken back in which order, the pages read at any time and the file make
    the memory of that time.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(private_pages, "_PROTECTION", price)
        patch.setattr(private_pages, "_MOST_VAIN", most_vain)
        patch.setattr(private_pages, "_SMALL_PART", 16 * PAGE_BYTES)
        memory = _Memory()
        for operation in operations:
            memory.do(operation)
        memory.read()


def test_moved_away() -> None:
    """A large mapping that was moved away leaves the file as it was written, and another takes its place."""
    size = moved_mappings._LEAST + 3 * PAGE_BYTES
    descriptor = anonymous_file("test")
    os.truncate(descriptor, size)
    area = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    address = ctypes.addressof(ctypes.c_char.from_buffer(area))
    map_file(address, size, descriptor, 0, shared=True)
    for at in range(0, size, PAGE_BYTES):
        area[at] = at // PAGE_BYTES % 251
    moved_mappings.move_away(address, size)
    map_file(address, size, descriptor, 0)
    assert all(area[at] == at // PAGE_BYTES % 251 for at in range(0, size, PAGE_BYTES))
    area[0] = 9
    assert os.pread(descriptor, 1, 0) == b"\0"
    os.close(descriptor)
