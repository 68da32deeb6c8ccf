"""Memory files, and the three ways of finding what changed."""

from __future__ import annotations

import ctypes
import gc
import itertools
import mmap
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest
from example_counts import examples
from hypothesis import given, settings
from hypothesis import strategies as st

import planaria
from planaria.machine import changes, memory, write_protection
from planaria.machine.changes import read_pages, spans_of, write_pages
from planaria.machine.memory import PAGE_BYTES, WASM_PAGE_BYTES, MemoryFile

SIZE = 16 * WASM_PAGE_BYTES
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux")


def ways() -> list[Any]:
    found: list[Callable[..., Any]] = []
    if sys.platform.startswith("linux") and mmap.PAGESIZE == PAGE_BYTES:
        found.append(changes._pagemap)
        probe = mmap.mmap(-1, PAGE_BYTES)
        try:
            changes._pagemap_scan(
                ctypes.addressof(ctypes.c_char.from_buffer(probe)),
                PAGE_BYTES,
                None,  # type: ignore[arg-type]
                0,
            )
        except OSError:
            pass  # a kernel before 6.7
        else:
            found.append(changes._pagemap_scan)
    # Last: it reads every page, and one beyond the file that was only read counts as touched.
    return [*found, changes.compare]


def file_of(data: bytes) -> MemoryFile:
    descriptor = memory.anonymous_file("test")
    os.truncate(descriptor, len(data))
    os.pwrite(descriptor, data, 0)
    return MemoryFile(descriptor, len(data))


class Area:
    """Memory of our own with room for a file and more behind it."""

    def __init__(self, image: MemoryFile, size: int) -> None:
        self.map = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.anchor = ctypes.c_char.from_buffer(self.map)
        self.base = ctypes.addressof(self.anchor)
        image.map_over(self.base)


@linux
@settings(max_examples=examples(40), deadline=None)
@given(st.lists(st.integers(0, 2 * SIZE - 1), max_size=12), st.lists(st.integers(0, SIZE - 1), max_size=5))
def test_ways_agree(written: list[int], read: list[int]) -> None:
    """Each way finds every page that was changed, and none that was only read; they agree to the page."""
    image = file_of(bytes(range(256)) * (SIZE // 256))
    area = Area(image, 2 * SIZE)
    for at in read:
        assert area.map[at] == at % 256
    for at in written:
        area.map[at] = (area.map[at] + 1) % 256 or 1
    expected = sorted({at // PAGE_BYTES for at in written})
    for way in ways():
        spans = way(area.base, 2 * SIZE, image, 0)
        pages = [page for start, end in spans for page in range(start // PAGE_BYTES, end // PAGE_BYTES)]
        if way is changes.compare:  # a page may be back to what it was
            assert set(pages) <= set(expected)
        else:
            assert pages == expected
        assert all(a[1] < b[0] for a, b in itertools.pairwise(spans))


@linux
def test_ways_agree_on_a_machine() -> None:
    """On the memory of a session every way finds all that differs from the image."""
    with planaria.Session() as session:
        session.execute(
            "import json, decimal\nx = [bytearray(5000) for _ in range(300)]\ny = json.dumps(list(range(1000)))"
        )
        executor: Any = session._engine.executor
        machine = executor._running()
        image = machine.linear.image
        differing = pages_of(changes.compare(machine.linear.base, machine.memory_bytes, image, 0))
        for way in ways():
            pages = pages_of(way(machine.linear.base, machine.memory_bytes, image, 0))
            assert differing <= pages
            assert len(pages) < 4000


def pages_of(spans: list[tuple[int, int]]) -> set[int]:
    return {page for start, end in spans for page in range(start // PAGE_BYTES, end // PAGE_BYTES)}


@pytest.mark.parametrize("way", ways(), ids=lambda way: getattr(way, "__name__", type(way).__name__))
def test_sessions_work_with_each_way(way: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forks and undo are right whichever way finds the changes."""
    monkeypatch.setattr(changes, "_way", way)
    monkeypatch.setattr(write_protection._Protection, "descriptor", -1)
    with planaria.Session() as session:
        session.execute("x = list(range(1000))")
        session.execute("x.append(5); big = bytes(30 << 20)")
        fork = session.fork()[0]
        fork.execute("x.append(6)")
        session.undo()
        assert len(session.execute("x").value) == 1000
        assert fork.execute("x[-2:], len(big)").value == ([5, 6], 30 << 20)
        fork.close()


@linux
@settings(max_examples=examples(30), deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, SIZE // PAGE_BYTES - 1), st.integers(1, 9)), max_size=8),
    st.binary(min_size=1),
)
def test_read_and_written(pages: list[tuple[int, int]], data: bytes) -> None:
    """What was read back from changed spans and written elsewhere makes an equal memory; known pieces are
    shared.
    """
    image = file_of(bytes(SIZE))
    area, other = Area(image, SIZE), Area(image, SIZE)
    for page, count in pages:
        at = page * PAGE_BYTES
        piece = (data * (count * PAGE_BYTES // len(data) + 1))[: min(count * PAGE_BYTES, SIZE - at)]
        area.map[at : at + len(piece)] = piece
    spans = changes.compare(area.base, SIZE, image, 0)
    found = read_pages(area.base, spans, {})
    write_pages(other.base, found)
    assert area.map[:] == other.map[:]
    again = read_pages(area.base, spans, found)
    assert found.keys() == again.keys()
    assert all(page is again[at] for at, page in found.items())


_PAGE_SETS = st.sets(st.integers(0, 2 * SIZE // PAGE_BYTES - 1), max_size=40)


def _spans_of(pages: set[int]) -> list[tuple[int, int]]:
    return spans_of(page * PAGE_BYTES for page in pages)


@linux
@settings(max_examples=examples(60), deadline=None)
@given(_PAGE_SETS, _PAGE_SETS)
def test_going_back(changed: set[int], kept: set[int]) -> None:
    """A memory goes back to any earlier state: pages of that state are written, all other changed ones are the
    file's again, or zero behind it, and are no longer reported as changed.
    """
    image = file_of(bytes(range(256)) * (SIZE // 256))
    area = Area(image, 2 * SIZE)
    expected = bytearray(bytes(range(256)) * (SIZE // 256) + bytes(SIZE))
    written = {page * PAGE_BYTES: bytes([page % 251 + 1]) * PAGE_BYTES for page in kept}
    for start, data in written.items():
        expected[start : start + len(data)] = data
    for page in changed:
        area.map[page * PAGE_BYTES : (page + 1) * PAGE_BYTES] = b"x" * PAGE_BYTES
    spans = memory.without(changes.dirty_spans(area.base, 2 * SIZE, image), _spans_of(kept))
    assert spans == _spans_of(changed - kept)
    changes.revert(area.base, spans, image)
    write_pages(area.base, written)
    assert changes.dirty_spans(area.base, 2 * SIZE, image) == _spans_of(kept)
    assert area.map[:] == bytes(expected)


@linux
def test_captures_and_threads() -> None:
    """A captured memory is a copy of its own; several threads may ask for changes at once."""
    image = file_of(bytes(SIZE))
    area = Area(image, SIZE)
    area.map[5] = 1
    captured = MemoryFile.capture(area.base, SIZE)
    area.map[5] = 2
    with captured.view() as view:
        assert view[5] == 1
    with image.view() as view:
        assert view[5] == 0
    failures: list[Any] = []

    def ask() -> None:
        for _ in range(50):
            if changes.dirty_spans(area.base, SIZE, image) != [(0, PAGE_BYTES)]:
                failures.append(1)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_files_close_themselves() -> None:
    """A memory file gives its descriptor back when it has no owner any more, and refuses odd sizes."""
    file = file_of(bytes(WASM_PAGE_BYTES))
    descriptor = file._contents.descriptor
    del file
    gc.collect()
    with pytest.raises(OSError, match="descriptor"):
        os.fstat(descriptor)
    with pytest.raises(ValueError, match="multiple"):
        MemoryFile(-1, 5)
    with pytest.raises(FileNotFoundError):
        MemoryFile.open("/nowhere/at/all")


@linux
@settings(max_examples=examples(40), deadline=None)
@given(_PAGE_SETS, st.lists(_PAGE_SETS, max_size=6))
def test_what_was_written(read: set[int], rounds: list[set[int]]) -> None:
    """Write protection reports the pages that were written since its last report, whether they had been there
    before or not, and nothing when something else was mapped there.
    """
    image = file_of(bytes(range(256)) * (SIZE // 256))
    area = Area(image, 2 * SIZE)
    for page in read:
        assert area.map[page * PAGE_BYTES] == 0
    if not write_protection.protect(area.base, 0, 2 * SIZE):
        pytest.skip("this system has no asynchronous write protection")
    for number, pages in enumerate(rounds):
        for page in pages:
            area.map[page * PAGE_BYTES] = (area.map[page * PAGE_BYTES] + 1) % 256
        assert write_protection.see_written(area.base, 0, 2 * SIZE) == _spans_of(pages), number
        assert write_protection.take_written(area.base, 0, 2 * SIZE) == _spans_of(pages), number
    changes.revert(area.base, _spans_of({page for page in read if page < SIZE // PAGE_BYTES}), image)
    assert write_protection.take_written(area.base, 0, 2 * SIZE) == []
    image.map_over(area.base)
    assert write_protection.take_written(area.base, 0, 2 * SIZE) is None
