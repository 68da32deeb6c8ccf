"""What the guest's standard streams hold back: read from their buffers in its memory.

What is written gathers in the text stream (see `held_text`), and then in its buffer. That is CPython's
`io.BufferedWriter` (Modules/_io/bufferedio.c), which has its positions in one row of 64-bit numbers:

    Py_off_t abs_pos;  char *buffer;  Py_off_t pos, raw_pos, read_end, write_pos, write_end;

Where that row is follows from what the guest has written there while it boots. From then on the host takes
what lies between `write_pos` and `write_end`, and what the text stream holds back behind it, whenever it
wants to, and remembers how much of that; when the guest writes the buffer out, only the rest is new.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from planaria.errors import SnapshotError
from planaria.machine.wasi.abi import U32
from planaria.machine.wasi.held_text import HeldTexts
from planaria.machine.wasi.memory import GuestMemory

__all__ = ["Held", "HeldOutput", "checked_state", "find_buffer"]

#: pos, raw_pos, read_end, write_pos, write_end
_POSITIONS: Final = struct.Struct("<qqqqq")
_RANGE: Final = struct.Struct("<qq")
_RANGE_OFFSET: Final = 24
_END: Final = struct.Struct("<q")
_END_OFFSET: Final = 32
#: The address of the buffer comes before the positions, which begin at a multiple of 8.
_POINTER_OFFSET: Final = -8
#: The object of a buffer has at most this size, in bytes.
_MOST_OBJECT: Final = 256
#: A buffer holds at most this, in bytes; the guest may be anyone's.
_MOST_HELD: Final = 1 << 20
_STREAMS: Final = (1, 2)
_MOST_ADDRESS: Final = 1 << 32


def find_buffer(memory: GuestMemory, address: int, held: bytes) -> int | None:
    """Where the positions of a buffer are, which is at `address` and holds `held`; None if not found."""
    start = -(-address // 8) * 8
    length = len(held)
    expected = [_POSITIONS.pack(length, 0, read_end, 0, length) for read_end in (0, -1)]
    for at in range(start, start + _MOST_OBJECT, 8):
        memory.require(at, _POSITIONS.size)
        if memory.read(at, _POSITIONS.size) in expected:
            buffer = U32.unpack_from(memory.view, at + _POINTER_OFFSET)[0]
            return at if memory.read(buffer, length) == held else None
    return None


@dataclass(frozen=True, slots=True)
class Held:
    """Where the guest's standard streams are in its memory."""

    positions: Mapping[int, int]
    """By stream, where the positions of its buffer are."""
    texts: HeldTexts | None = None


class HeldOutput:
    """What standard output and error hold back. At most one of them holds something."""

    __slots__ = ("_positions", "_taken", "_texts")

    def __init__(self) -> None:
        #: By stream, where the positions of its buffer are.
        self._positions: dict[int, int] = {}
        self._texts: HeldTexts | None = None
        #: By stream, how many of the bytes that it holds were taken.
        self._taken: dict[int, int] = {}

    def __bool__(self) -> bool:
        return bool(self._positions)

    def watch(self, stream: int, positions: int) -> None:
        """Look from now on at the buffer whose positions are at this address."""
        self._positions[stream] = positions
        self._taken[stream] = 0

    def watch_text(self, stream: int, found: HeldTexts) -> None:
        """Look from now on at what a text stream holds back, too."""
        if self._texts is not None:
            found = replace(found, places=self._texts.places | found.places)
        self._texts = found

    def written(self, memory: GuestMemory, stream: int, count: int) -> None:
        """The guest has written out the buffer, but not yet noted it: it holds nothing from now on."""
        self.wrote(stream, count)
        _END.pack_into(memory.view, self._positions[stream] + _END_OFFSET, -1)

    def wrote(self, stream: int, count: int) -> None:
        """The guest has written out so many bytes of what it held, and goes on with the rest."""
        self._taken[stream] = max(0, self._taken.get(stream, 0) - count)

    def take(self, memory: GuestMemory, stream: int) -> bytes:
        """What the stream holds and was not taken yet. It stays there."""
        held = self._all(memory, stream)
        taken = self._taken.get(stream, 0)
        if len(held) <= taken:
            return b""
        self._taken[stream] = len(held)
        return held[taken:]

    def is_all(self, memory: GuestMemory, stream: int, at: int, length: int) -> bool:
        """Whether what is written to the stream is all that its buffer holds."""
        return length > 0 and self._held(memory, stream) == (at, length)

    def taken(self, stream: int) -> int:
        """How many bytes of what the stream holds were taken."""
        return self._taken.get(stream, 0)

    def taken_before(self, memory: GuestMemory, stream: int) -> int:
        """How many bytes were taken of what the guest now writes past the buffer."""
        taken = self._taken.get(stream, 0)
        return max(0, taken - len(self._all(memory, stream))) if taken else 0

    def _all(self, memory: GuestMemory, stream: int) -> bytes:
        """What the buffer holds, and behind it what the text stream does."""
        at, length = self._held(memory, stream)
        text = b"" if self._texts is None else self._texts.read(memory, stream)
        return memory.read(at, length) + text if length else text

    def _held(self, memory: GuestMemory, stream: int) -> tuple[int, int]:
        """The address and the length of what the buffer holds; the guest may have written anything there."""
        positions = self._positions.get(stream)
        if positions is None or positions + _POSITIONS.size > memory.size:
            return 0, 0
        start, end = _RANGE.unpack_from(memory.view, positions + _RANGE_OFFSET)
        if not 0 <= start < end <= _MOST_HELD:
            return 0, 0
        at = U32.unpack_from(memory.view, positions + _POINTER_OFFSET)[0] + start
        length = end - start
        if at + length > memory.size:
            memory.refresh()
            if at + length > memory.size:
                return 0, 0
        return at, length

    # -- as a value --------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Where the streams are, which hold nothing between two entries; for `restore`."""
        state: dict[str, Any] = {str(stream): at for stream, at in self._positions.items()}
        if (texts := self._texts) is not None:
            state["texts"] = {str(stream): at for stream, at in texts.places.items()}
            state["types"] = [texts.list_type, texts.str_type, texts.bytes_type]
        return state

    def restore(self, held: Held) -> None:
        """Look at the streams of another state, as `checked_state` gives them."""
        self._positions = dict(held.positions)
        self._texts = held.texts
        self._taken = {}


def checked_state(state: object) -> Held:
    """Where the streams are, of what `HeldOutput.state` gave. Raises SnapshotError."""
    if not isinstance(state, Mapping):
        raise SnapshotError(f"the captured buffers of the standard streams are {state!r}")
    given: dict[Any, Any] = dict(state)
    texts = None
    if "texts" in given or "types" in given:
        types, places = given.pop("types", None), given.pop("texts", None)
        if not isinstance(types, list) or len(types) != 3 or not all(_is_address(one, 4) for one in types):
            raise SnapshotError(f"the captured types of the standard streams are {types!r}")
        if not isinstance(places, Mapping):
            raise SnapshotError(f"the captured texts of the standard streams are {places!r}")
        texts = HeldTexts(_checked(places, 4), *types)
    return Held(_checked(given, 8), texts)


def _checked(given: Mapping[Any, Any], alignment: int) -> dict[int, int]:
    """Addresses by stream."""
    places: dict[int, int] = {}
    for stream in _STREAMS:
        at = given.get(str(stream))
        if at is None:
            continue
        if not _is_address(at, alignment):
            raise SnapshotError(f"a captured buffer of the standard streams is at {at!r}")
        places[stream] = at
    if len(places) != len(given):
        raise SnapshotError("the captured buffers of the standard streams have unknown keys")
    return places


def _is_address(value: object, alignment: int) -> bool:
    """Whether it is one in the guest's memory, with room for the positions of a buffer behind it."""
    return type(value) is int and not value % alignment and 8 <= value <= _MOST_ADDRESS - _POSITIONS.size
