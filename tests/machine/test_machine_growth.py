"""Memory that machines grow by: part of states without being copied, and never changed by what comes later."""

from __future__ import annotations

import os
import sys
import zlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import planaria
from planaria.executors.wasm import WasmExecutor
from planaria.files.filesystem import FileSystem
from planaria.machine import growth
from planaria.machine.machine import STACK_BASE, Machine
from planaria.machine.memory import PAGE_BYTES, WASM_PAGE_BYTES, MemoryFile

pytestmark = [
    pytest.mark.skipif(
        not sys.platform.startswith("linux"), reason="growth is shared with states on Linux only"
    ),
    pytest.mark.slow,
]

_FIRST = STACK_BASE // PAGE_BYTES

_OPERATIONS = st.one_of(
    st.tuples(st.just("write"), st.integers(0, 1 << 20), st.integers(1, 100), st.integers(0, 255)),
    st.tuples(st.just("write at the end"), st.integers(0, 40), st.integers(1, 100), st.integers(0, 255)),
    st.tuples(st.just("grow"), st.integers(1, 90)),
    st.tuples(st.just("capture"), st.booleans()),
    st.tuples(st.just("restore"), st.integers(0, 5)),
    st.tuples(st.just("fork"), st.integers(0, 5)),
    st.tuples(st.just("switch"), st.integers(0, 5)),
)


class Memories:
    """Executors whose memory is written to from outside, and what it is to be: its checksum at each state."""

    def __init__(self, executor: WasmExecutor) -> None:
        self.executors = [executor]
        self.current = executor
        self.states: list[tuple[Any, int]] = []
        self.capture(shared=False)

    @property
    def machine(self) -> Machine:
        return self.current._running()

    def checksum(self, executor: WasmExecutor) -> int:
        machine = executor._running()
        return zlib.crc32(machine.memory.read(STACK_BASE, machine.memory_bytes - STACK_BASE))

    def write(self, page: int, count: int, value: int) -> None:
        pages = self.machine.memory_bytes // PAGE_BYTES
        start = _FIRST + page % (pages - _FIRST)
        size = min(count, pages - start) * PAGE_BYTES
        self.machine.memory.write(start * PAGE_BYTES, bytes([value]) * size)
        self.machine.linear.private.is_looked_at = False  # as after a call of the guest with page faults
        self.current._known.memory = None

    def capture(self, *, shared: bool) -> None:
        known = self.states[-1][0] if self.states else None
        checksum = self.checksum(self.current)
        self.states.append((self.current.capture(known, shared=shared), checksum))
        assert self.checksum(self.current) == checksum

    def do(self, operation: tuple[Any, ...]) -> None:
        match operation:
            case "write", page, count, value:
                self.write(page, count, value)
            case "write at the end", before, count, value:
                self.write(self.machine.memory_bytes // PAGE_BYTES - _FIRST - 1 - before, count, value)
            case "grow", pages:
                assert self.machine.linear.grow(pages * WASM_PAGE_BYTES) >= 0
                self.machine.memory.refresh()
                self.current._known.memory = None
            case "capture", shared:
                self.capture(shared=shared)
            case "restore", number:
                state, checksum = self.states[number % len(self.states)]
                self.current.restore(state)
                assert self.checksum(self.current) == checksum
            case "fork", number:
                state, checksum = self.states[number % len(self.states)]
                files: FileSystem = self.current.files.fork()
                self.executors.append(self.current.spawn(self.current._factory.host, state, files))
                assert self.checksum(self.executors[-1]) == checksum
            case "switch", number:
                self.current = self.executors[number % len(self.executors)]


@settings(max_examples=15, deadline=None)
@given(st.lists(_OPERATIONS, max_size=12))
def test_states_are_full_copies(operations: list[tuple[Any, ...]]) -> None:
    """However memories are written to, grown, captured, forked and taken back, each state stays what a full
    copy of the memory would be, and no memory sees what another does.
    """
    with planaria.Session() as session:
        session.execute("x = 1")
        memories = Memories(session._engine.executor)  # type: ignore[arg-type]
        try:
            left: dict[WasmExecutor, int] = {}
            for operation in operations:
                if operation[0] == "switch":
                    left[memories.current] = memories.checksum(memories.current)
                memories.do(operation)
                left.pop(memories.current, None)
            for executor, checksum in left.items():
                assert memories.checksum(executor) == checksum
            for number in range(len(memories.states)):
                memories.do(("restore", number))
        finally:
            for executor in memories.executors[1:]:
                executor.close()


def test_growth_is_not_copied(new_session: Any) -> None:
    """A state of a session with a large new object shares the object's memory; what is written to it later
    is the only thing that is copied.
    """
    session = new_session(limits=planaria.Limits(checkpoint_time=None))
    session.execute("x = 1")
    session.execute("big = bytearray(40 << 20)\nfor i in range(0, len(big), 4096): big[i] = 1")
    session.execute("big[20 << 20] = 2")
    state = session._engine.state().kernel
    assert isinstance(state.memory, MemoryFile)
    grown = [layer for layer in state.memory.layers() if not layer._was_copied]
    assert sum(layer.own_bytes for layer in grown) >= 32 << 20
    copied = sum(layer.own_bytes for layer in state.memory.layers() if layer._was_copied)
    assert copied + PAGE_BYTES * len(state.pages) < 16 << 20
    session.undo()
    assert session.execute("big[20 << 20], sum(big)").value == (1, 40 << 8)


def test_growth_is_freed() -> None:
    """When a session is closed, and its states are gone, nothing is left of what it had grown by."""

    def is_empty() -> bool:
        try:
            return os.lseek(descriptor, offset, os.SEEK_DATA) >= offset + growth.LARGEST_MEMORY
        except OSError:  # nothing but a hole up to the end
            return True

    session = planaria.Session()
    session.execute("x = 1")
    grows: Any = session._engine.executor._running().linear._growth  # type: ignore[attr-defined]
    descriptor, offset = os.dup(grows._region.descriptor), grows._region.offset
    del grows
    session.execute("big = bytearray(40 << 20)\nfor i in range(0, len(big), 4096): big[i] = 1")
    session.execute("len(big)")
    assert not is_empty()
    session.close()
    del session
    assert is_empty()
    os.close(descriptor)


@pytest.mark.filterwarnings("ignore:This process")
def test_forks_of_the_process(new_session: Any) -> None:
    """A session with grown memory goes on in a forked child and in its parent, and neither sees the other."""
    session = new_session(limits=planaria.Limits(checkpoint_time=None))
    session.execute("big = [0] * 5_000_000")
    session.execute("big[0] = 'before'")
    session.execute("more = list(range(300_000))")  # not part of any state yet
    child = os.fork()
    if not child:
        status = 1
        try:
            session.execute("big[0] = 'child'; big[-1] = 'child'; more += range(2_000_000)")
            session.execute("larger = [1] * 3_000_000")
            session.undo(2)
            if session.execute("big[0], big[-1], len(more), sum(more)").value == (
                "before", 0, 300_000, 44_999_850_000
            ):  # fmt: skip
                status = 0
        finally:
            os._exit(status)
    session.execute("big[0] = 'parent'; more += range(1_000_000)")
    session.execute("larger = [2] * 3_000_000")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert session.execute("big[0], big[-1], len(more), sum(larger)").value == (
        "parent", 0, 1_300_000, 6_000_000
    )  # fmt: skip
    session.undo(3)
    assert session.execute("big[0], len(more)").value == ("before", 300_000)


def test_without_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no file to grow in, grown memory is copied into states, which are the same."""
    monkeypatch.setattr(growth, "_new_region", lambda: None)
    with planaria.Session(limits=planaria.Limits(checkpoint_time=None)) as session:
        session.execute("big = list(range(2_000_000))")
        session.execute("big[7] = 'changed'")
        fork = session.fork()[0]
        with fork:
            assert fork.execute("big[7], len(big)").value == ("changed", 2_000_000)
        session.undo()
        assert session.execute("big[7], sum(big)").value == (7, 1_999_999_000_000)
