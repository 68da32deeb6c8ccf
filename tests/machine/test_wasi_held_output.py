"""Text that the guest's standard streams hold back, taken from their buffers in its memory."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planaria.errors import SnapshotError
from planaria.machine.wasi.held_output import HeldOutput, checked_state, find_buffer
from planaria.machine.wasi.memory import GuestMemory

_POSITIONS = 64
_BUFFER = 1024


def memory_with(text: bytes, *, start: int = 0, end: int | None = None, at: int = _BUFFER) -> GuestMemory:
    """A memory of 4 KiB with a buffer that holds a text, as CPython lays it out."""
    data = bytearray(4096)
    data[_BUFFER : _BUFFER + len(text)] = text
    length = len(text) if end is None else end
    struct.pack_into("<I4xqqqqq", data, _POSITIONS - 8, at, length, 0, -1, start, length)
    return GuestMemory(lambda: memoryview(data))


def test_find_buffer() -> None:
    """A buffer is found by what it holds, anywhere in its object, and not by anything else."""
    memory = memory_with(b"the mark")
    assert find_buffer(memory, 17, b"the mark") == _POSITIONS
    assert find_buffer(memory, 17, b"the mask") is None
    assert find_buffer(memory, 2048, b"the mark") is None


def test_taking() -> None:
    """Each byte is taken once, also when the guest writes the buffer out in several parts."""
    held, memory = HeldOutput(), memory_with(b"one\n")
    held.watch(1, _POSITIONS)
    assert (held.take(memory, 1), held.take(memory, 1), held.take(memory, 2)) == (b"one\n", b"", b"")
    memory.write(_BUFFER, b"one\ntwo\n")
    struct.pack_into("<q", memory.view, _POSITIONS + 32, 8)
    assert held.take(memory, 1) == b"two\n"
    assert held.is_all(memory, 1, _BUFFER, 8)
    assert not held.is_all(memory, 1, _BUFFER, 4)
    held.wrote(1, 5)
    assert held.taken(1) == 3
    held.written(memory, 1)
    assert (held.taken(1), held.take(memory, 1)) == (0, b"")


@given(
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-(2**63), 2**63 - 1),
    st.integers(0, 2**32 - 1),
    st.integers(0, 4096),
)
def test_forged_positions(start: int, end: int, at: int, positions: int) -> None:
    """Whatever the guest has written where its buffers should be, only its own memory is read."""
    held, memory = HeldOutput(), memory_with(b"text", start=start, end=end, at=at)
    held.watch(1, _POSITIONS)
    held.watch(2, positions // 8 * 8 + 8)
    assert len(held.take(memory, 1)) <= 4096
    assert len(held.take(memory, 2)) <= 4096


@pytest.mark.parametrize(
    "state",
    [
        None,
        [],
        {"1": 3},
        {"1": -8},
        {"1": 2**32},
        {"1": True},
        {"1": "8"},
        {"3": 8},
        {1: 8},
        {"1": 8, "x": 1},
    ],
)
def test_forged_state(state: Any) -> None:
    """A captured state that was not captured is refused."""
    with pytest.raises(SnapshotError):
        checked_state(state)
