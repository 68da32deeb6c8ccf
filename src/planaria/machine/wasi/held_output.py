"""What the guest's standard streams hold back: read from their buffers in its memory.

The streams are CPython's `io.BufferedWriter` (Modules/_io/bufferedio.c), which has its positions in one row
of 64-bit numbers:

    Py_off_t abs_pos;  char *buffer;  Py_off_t pos, raw_pos, read_end, write_pos, write_end;

Where that row is follows from what the guest has written there while it boots. From then on the host takes
what lies between `write_pos` and `write_end` whenever it wants to, and remembers how much of it; when the
guest writes the buffer out, only the rest is new.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any, Final

from planaria.errors import SnapshotError
from planaria.machine.wasi.abi import U32
from planaria.machine.wasi.memory import GuestMemory

__all__ = ["HeldOutput", "checked_state", "find_buffer"]

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


class HeldOutput:
    """The buffers of standard output and error. At most one of them holds something."""

    __slots__ = ("_positions", "_taken")

    def __init__(self) -> None:
        #: By stream, where the positions of its buffer are.
        self._positions: dict[int, int] = {}
        #: By stream, how many of the bytes that its buffer holds were taken.
        self._taken: dict[int, int] = {}

    def __bool__(self) -> bool:
        return bool(self._positions)

    def watch(self, stream: int, positions: int) -> None:
        """Look from now on at the buffer whose positions are at this address."""
        self._positions[stream] = positions
        self._taken[stream] = 0

    def written(self, memory: GuestMemory, stream: int) -> None:
        """The guest has written out the buffer, but not yet noted it: it holds nothing from now on."""
        self._taken[stream] = 0
        _END.pack_into(memory.view, self._positions[stream] + _END_OFFSET, -1)

    def wrote(self, stream: int, count: int) -> None:
        """The guest has written out so many bytes of the buffer, and goes on with the rest."""
        self._taken[stream] = max(0, self._taken[stream] - count)

    def take(self, memory: GuestMemory, stream: int) -> bytes:
        """What the stream's buffer holds and was not taken yet. It stays in the buffer."""
        at, length = self._held(memory, stream)
        taken = self._taken.get(stream, 0)
        if length <= taken:
            return b""
        self._taken[stream] = length
        return memory.read(at + taken, length - taken)

    def is_all(self, memory: GuestMemory, stream: int, at: int, length: int) -> bool:
        """Whether what is written to the stream is all that its buffer holds."""
        return length > 0 and self._held(memory, stream) == (at, length)

    def taken(self, stream: int) -> int:
        """How many bytes of the buffer were taken."""
        return self._taken.get(stream, 0)

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

    def state(self) -> dict[str, int]:
        """Where the buffers are, which hold nothing between two entries; for `restore`."""
        return {str(stream): at for stream, at in self._positions.items()}

    def restore(self, positions: Mapping[int, int]) -> None:
        """Look at the buffers of another state; `positions` as `checked_state` gives them."""
        self._positions = dict(positions)
        self._taken = {}


def checked_state(state: object) -> dict[int, int]:
    """Where buffers are, of what `HeldOutput.state` gave. Raises SnapshotError."""
    positions: dict[int, int] = {}
    if not isinstance(state, Mapping):
        raise SnapshotError(f"the captured buffers of the standard streams are {state!r}")
    given: Mapping[Any, Any] = state
    for stream in _STREAMS:
        at = given.get(str(stream))
        if at is None:
            continue
        if type(at) is not int or at % 8 or not 8 <= at <= _MOST_ADDRESS - _POSITIONS.size:
            raise SnapshotError(f"a captured buffer of the standard streams is at {at!r}")
        positions[stream] = at
    if len(positions) != len(given):
        raise SnapshotError("the captured buffers of the standard streams have unknown keys")
    return positions
