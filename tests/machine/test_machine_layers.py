"""Memories in layers: what a state shares with those that go on from it."""

from __future__ import annotations

import ctypes
import mmap
import sys
from typing import Any

import pytest
from example_counts import examples
from hypothesis import given, settings
from hypothesis import strategies as st

import planaria
from planaria.machine import exhaustion, memory
from planaria.machine.memory import PAGE_BYTES, WASM_PAGE_BYTES, MemoryFile, mapped_spans

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="layers are mapped on Linux only"
)

_SIZE = 8 * WASM_PAGE_BYTES
_PAGES = _SIZE // PAGE_BYTES


class Region:
    """A memory of our own in place of a machine's."""

    def __init__(self, contents: bytes = bytes(_SIZE)) -> None:
        self.map = mmap.mmap(-1, _SIZE, flags=mmap.MAP_PRIVATE)
        self.map[:] = contents
        self.anchor = ctypes.c_char.from_buffer(self.map)
        self.base = ctypes.addressof(self.anchor)


def write(region: Region, pages: set[int], value: int) -> list[tuple[int, int]]:
    for page in pages:
        region.map[page * PAGE_BYTES : (page + 1) * PAGE_BYTES] = bytes([value]) * PAGE_BYTES
    return [(page * PAGE_BYTES, (page + 1) * PAGE_BYTES) for page in sorted(pages)]


@given(st.lists(st.sets(st.integers(0, _PAGES - 1), min_size=1), min_size=1, max_size=6), st.integers(1, 8))
@settings(deadline=None, max_examples=examples(60))
def test_layers(rounds: list[set[int]], most: int) -> None:
    """However a memory is changed and captured in layers, each of them is the memory of its moment."""
    before, memory._MOST_SPANS = memory._MOST_SPANS, most  # type: ignore[misc]
    try:
        region = Region()
        file = MemoryFile.capture(region.base, _SIZE)
        captured: list[tuple[MemoryFile, bytes]] = []
        for value, pages in enumerate(rounds, 1):
            file = MemoryFile.layer(region.base, _SIZE, write(region, pages, value), file)
            file.map_own_over(region.base)
            captured.append((file, bytes(region.map)))
        for one, contents in captured:
            assert bytes(one.view()) == contents
            other = Region(b"x" * _SIZE)
            one.map_over(other.base)
            assert bytes(other.map) == contents
    finally:
        memory._MOST_SPANS = before  # type: ignore[misc]


def test_large_layers_stay() -> None:
    """A small change above a large layer does not copy the large one again; small layers become one."""
    region = Region()
    file = MemoryFile.capture(region.base, _SIZE)
    large = MemoryFile.layer(region.base, _SIZE, write(region, set(range(100)), 1), file)
    small = MemoryFile.layer(region.base, _SIZE, write(region, {3}, 2), large)
    assert small.own_bytes == PAGE_BYTES
    again = MemoryFile.layer(region.base, _SIZE, write(region, {3, 9}, 3), small)
    assert again.own_bytes <= 7 * PAGE_BYTES
    assert bytes(again.view()) == bytes(region.map)


def test_no_mappings_left(new_session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the process has its share of mappings, forks get copies and work as before."""
    monkeypatch.setattr(memory, "_MOST_MAPPINGS", mapped_spans())
    session = new_session()
    session.run("items = list(range(100_000))")
    for fork in session.fork(3):
        with fork:
            assert fork.run("sum(items)").value == 4_999_950_000


def test_mappings_are_given_back(new_session: Any) -> None:
    """Forks that are closed leave no mappings behind."""
    session = new_session()
    session.run("items = list(range(100_000))")
    before = mapped_spans()
    forks = session.fork(5)
    assert mapped_spans() > before
    for fork in forks:
        fork.close()
    session.close()
    assert mapped_spans() <= before


def test_mappings_run_out(new_session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the system's limit of memory mappings is met, forks are refused with an error that says what to do."""
    session = new_session()
    session.run("items = list(range(100_000))")
    first = session.fork()[0]
    with monkeypatch.context() as patch:
        patch.setattr(exhaustion, "_most_mappings", lambda: 5)
        with pytest.raises(planaria.SessionError, match=r"mappings of the 5 .* raise vm\.max_map_count"):
            session.fork()
    with session.fork()[0] as fork, first:
        assert fork.run("sum(items)").value == first.run("sum(items)").value == 4_999_950_000


def test_many_forks_have_few_mappings(new_session: Any) -> None:
    """From the second one on, a fork needs one mapping for its memory, whatever its parent had changed where."""
    session = new_session()
    session.run("items = [[n] for n in range(300_000)]")
    session.run("for n in range(0, 300_000, 1500): items[n].append(n)")
    forks = [session.fork()[0] for _ in range(4)]
    before = mapped_spans()
    forks.append(session.fork()[0])
    assert mapped_spans() - before == 1
    for fork in forks:
        with fork:
            assert fork.run("sum(map(len, items))").value == 300_200


def test_forks_of_forks(new_session: Any) -> None:
    """A fork of a fork has what its ancestors had, and none sees what another does later."""
    first = new_session()
    first.run("items = [list(range(50_000))]")
    sessions = [first]
    for number in range(6):
        sessions += sessions[-1].fork()
        sessions[-1].run(f"items.append([{number}] * 50_000)")
    for number, session in enumerate(sessions):
        with session:
            assert session.run("len(items), items[-1][0], sum(map(len, items))").value == (
                number + 1,
                max(number - 1, 0),
                50_000 * (number + 1),
            )


def test_snapshot_of_layers(new_session: Any) -> None:
    """A snapshot of a session whose memory is in layers is complete."""
    session = new_session()
    session.run("items = list(range(100_000))")
    for fork in session.fork(2):
        fork.close()
    session.run("items.append('last')")
    other = new_session()
    other.restore_state(session.snapshot_state())
    assert other.run("len(items), items[-1], items[99_999]").value == (100_001, "last", 99_999)


def test_what_each_execution_writes_is_in_no_layer(new_session: Any) -> None:
    """Memory that every execution writes to is copied for states; once executions leave it alone, it becomes
    a layer. Either way a session goes back to each of its states.
    """
    session = new_session(limits=planaria.Limits(checkpoint_time=None))
    session.execute("import os\ndata = bytearray(6 << 20)\nplaces = range(0, len(data), 4096)")

    def write(number: int) -> Any:
        session.execute(f"for place in places: data[place] = {number}\nos.urandom(1)")
        return session._engine.state().kernel

    session.fork()[0].close()
    memory = write(1).memory
    for number in range(2, 5):
        state = write(number)
        assert state.memory is memory
        assert len(state.pages) * PAGE_BYTES > 6 << 20
    for _ in range(2):
        session.execute("os.urandom(1)")
        state = session._engine.state().kernel
    assert state.memory is not memory
    assert len(state.pages) * PAGE_BYTES < 4 << 20
    assert session.execute("data[0], data[4096 * 1000]").value == (4, 4)
    session.undo(4)
    assert session.execute("data[0], data[4096 * 1000]").value == (3, 3)
