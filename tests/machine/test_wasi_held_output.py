"""Text that the guest's standard streams hold back, taken from them in its memory."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planaria.errors import SnapshotError
from planaria.machine.wasi.held_output import HeldOutput, checked_state, find_buffer
from planaria.machine.wasi.held_text import find_text
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
    held.written(memory, 1, 8)
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


_STREAM, _LIST, _ITEMS, _STRINGS = 256, 512, 544, 2048
_TYPES = _LIST_TYPE, _STR_TYPE, _BYTES_TYPE = 3072, 3076, 3080


def put_text(memory: GuestMemory, *texts: str, place: int = _STREAM + 40) -> bytes:
    """Have a text stream hold texts, as CPython lays them out; what they are as bytes."""
    at, addresses = _STRINGS, []
    for text in texts:
        data = text.encode()
        kind, header = (_STR_TYPE, 20) if text.isascii() else (_BYTES_TYPE, 16)
        struct.pack_into("<III", memory.view, at, 1, kind, len(data))
        memory.write(at + header, data)
        addresses.append(at)
        at += -(-(header + len(data) + 1) // 16) * 16
    struct.pack_into("<IIII", memory.view, _LIST, 1, _LIST_TYPE, len(texts), _ITEMS)
    struct.pack_into(f"<{len(texts)}I", memory.view, _ITEMS, *addresses)
    held = "".join(texts).encode()
    pending = addresses[0] if len(texts) == 1 else _LIST
    struct.pack_into("<II", memory.view, place, pending if texts else 0, len(held))
    return held


def watching(memory: GuestMemory) -> HeldOutput:
    """The stream 1, whose text stream was found."""
    held = HeldOutput()
    held.watch(1, _POSITIONS)
    found = find_text(memory, _STREAM, 1, put_text(memory, "one ", "zwölf"))
    assert found is not None
    assert (found.places, found.list_type) == ({1: _STREAM + 40}, _LIST_TYPE)
    held.watch_text(1, found)
    put_text(memory)
    return held


def test_find_text() -> None:
    """A text stream is found by the two kinds of strings that it holds, and not by anything else."""
    memory = memory_with(b"")
    held = put_text(memory, "one ", "zwölf")
    assert find_text(memory, _STREAM, 1, held[:-1] + b"F") is None
    assert find_text(memory, _STREAM, 1, held[:-1]) is None
    assert find_text(memory, 1024, 1, held) is None
    struct.pack_into("<I", memory.view, _STREAM + 40, 2**32 - 1)
    assert find_text(memory, _STREAM, 1, held) is None


def test_taking_texts() -> None:
    """What a text stream holds comes after what its buffer does, and each byte is taken once."""
    memory = memory_with(b"buffer ")
    held = watching(memory)
    put_text(memory, "text")
    assert (held.take(memory, 1), held.take(memory, 1)) == (b"buffer text", b"")
    put_text(memory, "text", "", " ", "", "zwölf", "")
    assert held.take(memory, 1) == " zwölf".encode()
    # The guest writes out the buffer, and gives it the texts.
    held.written(memory, 1, 7)
    assert held.taken(1) == len("text zwölf".encode())
    put_text(memory)
    assert held.take(memory, 1) == b""
    memory.write(_BUFFER, "text zwölf!".encode())
    struct.pack_into("<qq", memory.view, _POSITIONS + 24, 0, 12)
    assert held.take(memory, 1) == b"!"


def test_texts_past_the_buffer() -> None:
    """Of what is written past the buffer, what was taken while the text stream held it is not new."""
    memory = memory_with(b"", end=-1)
    held = watching(memory)
    put_text(memory, "abc")
    assert (held.take(memory, 1), held.taken_before(memory, 1)) == (b"abc", 0)
    put_text(memory)
    assert held.taken_before(memory, 1) == 3
    held.wrote(1, 3)
    assert held.taken_before(memory, 1) == 0


def test_texts_that_change() -> None:
    """While the guest changes what a text stream holds, nothing is taken of it; afterwards everything is."""
    memory = memory_with(b"", end=-1)
    held = watching(memory)
    put_text(memory, "abc", "def")
    struct.pack_into("<I", memory.view, _ITEMS, 17)  # the list is just being moved
    assert held.take(memory, 1) == b""
    put_text(memory, "abc", "def")
    struct.pack_into("<I", memory.view, _STREAM + 44, 3)  # a string was added, and not yet counted
    assert held.take(memory, 1) == b""
    put_text(memory, "abc", "def")
    assert held.take(memory, 1) == b"abcdef"


@given(st.lists(st.tuples(st.integers(0, 1023), st.integers(0, 2**32 - 1)), max_size=12))
def test_forged_texts(words: list[tuple[int, int]]) -> None:
    """Whatever the guest has written where its text streams should be, only its own memory is read."""
    memory = memory_with(b"text")
    held = watching(memory)
    put_text(memory, "abc", "def", "ghi")
    for index, value in words:
        struct.pack_into("<I", memory.view, 4 * index, value)
    assert len(held.take(memory, 1)) <= 8192


def test_state() -> None:
    """What a state says of the streams is what it was captured from."""
    memory = memory_with(b"")
    held, other = watching(memory), HeldOutput()
    other.restore(checked_state(held.state()))
    put_text(memory, "abc")
    assert other.state() == held.state()
    assert other.take(memory, 1) == b"abc"
    old = HeldOutput()
    old.restore(checked_state({"1": _POSITIONS}))
    assert (old.state(), old.take(memory, 1)) == ({"1": _POSITIONS}, b"")


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
        {"1": 8, "texts": {"1": 8}},
        {"1": 8, "types": [8, 12, 16]},
        {"1": 8, "texts": {"1": 6}, "types": [8, 12, 16]},
        {"1": 8, "texts": {"3": 8}, "types": [8, 12, 16]},
        {"1": 8, "texts": [8], "types": [8, 12, 16]},
        {"1": 8, "texts": {"1": 8}, "types": [8, 12]},
        {"1": 8, "texts": {"1": 8}, "types": [8, 12, 2**32]},
        {"1": 8, "texts": {"1": 8}, "types": (8, 12, 16)},
    ],
)
def test_forged_state(state: Any) -> None:
    """A captured state that was not captured is refused."""
    with pytest.raises(SnapshotError):
        checked_state(state)
