"""The heap of a guest: which pages are free, and what no heap says."""

from __future__ import annotations

import os
from struct import pack_into

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planaria.machine.heap import first_chunk, free_pages
from planaria.machine.memory import PAGE_BYTES, WASM_PAGE_BYTES, MemoryFile, anonymous_file

_START = 4096 + 64
_FOOT = 56
_SIZES = st.integers(2, 3 * PAGE_BYTES // 8).map(lambda words: 8 * words)
#: Chunks by their size, and whether the first of each pair is free; no two free ones are neighbours.
_CHUNKS = st.lists(st.tuples(_SIZES, _SIZES, st.booleans()), min_size=1, max_size=20)


def _heap(chunks: list[tuple[int, int, bool]], immortal: int = -1) -> tuple[bytearray, set[int]]:
    """A memory with such a heap from `_START` on, and its free pages. The chunk of the number `immortal` has
    an immortal object.
    """
    row = [(8 * 2, True)]
    for first, second, is_free in chunks:
        row += [(first, not is_free), (second, True)]
    used = _START + sum(size for size, _ in row)
    end = -(-(used + _FOOT + 64) // WASM_PAGE_BYTES) * WASM_PAGE_BYTES
    row.append((end - _FOOT - used, False))
    memory = bytearray(b"\xa5") * end
    free: set[int] = set()
    at, before = _START, True
    for number, (size, is_used) in enumerate(row):
        pack_into("<I", memory, at + 4, size | before | is_used << 1)
        if is_used:
            pack_into("<I", memory, at + 8, 1 << 30 if number == immortal else 1)
        else:
            pack_into("<I", memory, at + size, size)
            free.update(range(-(-(at + 32) // PAGE_BYTES), (at + size) // PAGE_BYTES))
        at, before = at + size, is_used
    pack_into("<I", memory, at + 4, _FOOT)
    return memory, free


def _file(memory: bytes | bytearray) -> MemoryFile:
    descriptor = anonymous_file("test")
    os.pwrite(descriptor, memory, 0)
    return MemoryFile(descriptor, len(memory))


@given(chunks=_CHUNKS, written=st.sets(st.integers(0, 15)))
def test_free_pages(chunks: list[tuple[int, int, bool]], written: set[int]) -> None:
    """The pages within free chunks are found, wherever the words of the heap are: in a file or written over."""
    memory, free = _heap(chunks)
    pages = {
        number * PAGE_BYTES: bytes(memory[number * PAGE_BYTES :][:PAGE_BYTES])
        for number in written
        if number < len(memory) // PAGE_BYTES
    }
    below = bytearray(memory)
    for at in pages:
        below[at : at + PAGE_BYTES] = bytes(PAGE_BYTES)
    assert free_pages(_file(below), pages, len(memory), _START, 100) == free


@given(chunks=_CHUNKS, data=st.data())
def test_a_heap_that_contradicts_itself(chunks: list[tuple[int, int, bool]], data: st.DataObject) -> None:
    """Where the size or the flags of one chunk are others than they were, no page is free that was not."""
    memory, free = _heap(chunks)
    at = _START
    places = []
    while at < len(memory) - _FOOT:
        places.append(at + 4)
        at += int.from_bytes(memory[at + 4 : at + 8], "little") & ~7
    place = data.draw(st.sampled_from(places))
    pack_into("<I", memory, place, data.draw(st.integers(0, 0xFFFFFFFF)))
    assert free_pages(_file(memory), {}, len(memory), _START, 100) <= free


def test_many_chunks() -> None:
    """A heap of more chunks than are to be looked at has no free pages."""
    memory, free = _heap([(PAGE_BYTES * 2, 64, True)] * 5)
    assert free
    assert free_pages(_file(memory), {}, len(memory), _START, 12) == free
    assert free_pages(_file(memory), {}, len(memory), _START, 11) == frozenset()


@pytest.mark.parametrize("before", [8, 16])
def test_first_chunk(before: int) -> None:
    """The last chunk with an immortal object is found from an object that is known; none where there is no
    heap, no such chunk, or none that a row of others leads to.
    """
    chunks = [(64, 64, False)] * 40
    memory, _ = _heap(chunks, immortal=77)
    assert first_chunk(_file(memory), _START + before) == _START + 16 + 64 * 76
    for number in (-1, 3):
        memory, _ = _heap(chunks, immortal=number)
        assert first_chunk(_file(memory), _START + before) is None
    assert first_chunk(_file(bytes(WASM_PAGE_BYTES)), _START) is None
