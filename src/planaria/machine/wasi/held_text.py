"""What the guest's text streams hold back: read from their lists of strings in its memory.

The streams are CPython's `io.TextIOWrapper` (Modules/_io/textio.c). What is written to one gathers, in front
of its buffer, in

    PyObject *pending_bytes;  Py_ssize_t pending_bytes_count;

which is nothing, one string, or a list of strings: each a `str` of ASCII characters alone or a `bytes`.
Where these two words are follows from what the guest has written there while it boots, and with it that
objects are laid out as they are expected.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

from planaria.machine.wasi.abi import U32
from planaria.machine.wasi.memory import GuestMemory

__all__ = ["HeldTexts", "find_text"]

#: The object of a stream has at most this size, in bytes.
_MOST_OBJECT: Final = 256
#: A stream holds at most this, in bytes and in strings; the guest may be anyone's.
_MOST_HELD: Final = 1 << 20
_MOST_STRINGS: Final = 1 << 20
#: Strings that differ, beside those of a byte or more: empty ones.
_EMPTY_STRINGS: Final = 16

#: ob_refcnt, ob_type, ob_size, ob_item
_LIST: Final = struct.Struct("<IIII")
#: ob_refcnt, ob_type, length
_STRING: Final = struct.Struct("<III")
_STR_DATA: Final = 20
_BYTES_DATA: Final = 16
#: pending_bytes, pending_bytes_count
_PENDING: Final = struct.Struct("<II")


@dataclass(frozen=True, slots=True)
class HeldTexts:
    """Where the text streams keep what they hold back, by stream, and the addresses of the types of that."""

    places: dict[int, int]
    list_type: int
    str_type: int
    bytes_type: int

    def read(self, memory: GuestMemory, stream: int) -> bytes:
        """What a stream holds back; nothing while the guest is about to change it.

        The guest may have been interrupted anywhere, and may have written anything there.
        """
        place = self.places.get(stream)
        if place is None or place + _PENDING.size > memory.size:
            return b""
        pending, count = _PENDING.unpack_from(memory.view, place)
        if not pending or not 0 < count <= _MOST_HELD:
            return b""
        try:
            text = self._joined(memory, pending, count)
        except OSError:  # an address outside the memory
            return b""
        return text if len(text) == count else b""

    def _joined(self, memory: GuestMemory, pending: int, count: int) -> bytes:
        memory.require(pending, _LIST.size)
        _, kind, size, items = _LIST.unpack_from(memory.view, pending)
        if kind != self.list_type:
            return self._string(memory, pending, count)
        if size > _MOST_STRINGS:
            return b""
        memory.require(items, 4 * size)
        addresses = memory.view[items : items + 4 * size].cast("I")
        different = set(addresses)
        if len(different) > count + _EMPTY_STRINGS:
            return b""
        strings = {address: self._string(memory, address, count) for address in different}
        if size > count and sum(map(len, strings.values())) > count:
            return b""
        return b"".join(map(strings.__getitem__, addresses))

    def _string(self, memory: GuestMemory, address: int, most: int) -> bytes:
        """The contents of a string of at most so many bytes."""
        memory.require(address, _STRING.size)
        _, kind, length = _STRING.unpack_from(memory.view, address)
        if length > most or kind not in (self.str_type, self.bytes_type):
            return b""
        return memory.read(address + (_STR_DATA if kind == self.str_type else _BYTES_DATA), length)


def find_text(memory: GuestMemory, address: int, stream: int, held: bytes) -> HeldTexts | None:
    """Where the stream at `address` keeps `held`, of which it was given a `str` and then a `bytes`.

    None if it is not found.
    """
    for place in range(address, address + _MOST_OBJECT, 4):
        memory.require(place, _PENDING.size)
        pending, count = _PENDING.unpack_from(memory.view, place)
        if count != len(held):
            continue
        try:
            _, list_type, size, items = _LIST.unpack(memory.read(pending, _LIST.size))
            if size != 2:
                continue
            first, second = (U32.unpack(memory.read(items + at, 4))[0] for at in (0, 4))
            types = [_STRING.unpack(memory.read(one, _STRING.size))[1] for one in (first, second)]
        except OSError:  # not an address
            continue
        found = HeldTexts({stream: place}, list_type, *types)
        if found.read(memory, stream) == held:
            return found
    return None
