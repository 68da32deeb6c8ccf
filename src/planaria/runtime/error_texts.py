"""What libc says of errors: the words of the GNU C library, which people and programs know.

The guest's libc (musl's) has texts of its own for a third of its errors, shorter ones mostly, in one table
with offsets of 16 bits: longer texts have room neither in it nor near it. So `strerror` gets a beginning that
writes the text of such an error into the table, over those that are of no use any more, and returns that
place, which C allows: what it returned before may change. The table is found by the instructions that read
it.
"""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from planaria.runtime.wasmfile import WasmFile, decode_uleb, encode_sleb, encode_uleb, end_of_locals

__all__ = ["TEXTS", "error_texts_digest", "error_texts_functions"]

_FUNCTION: Final = "strerror"

#: By the number that WASI gives the error, where the two libraries differ.
TEXTS: Final = {
    3: "Address already in use",
    4: "Cannot assign requested address",
    10: "Device or resource busy",
    12: "No child processes",
    13: "Software caused connection abort",
    16: "Resource deadlock avoided",
    18: "Numerical argument out of domain",
    19: "Disk quota exceeded",
    23: "No route to host",
    25: "Invalid or incomplete multibyte or wide character",
    26: "Operation now in progress",
    29: "Input/output error",
    30: "Transport endpoint is already connected",
    32: "Too many levels of symbolic links",
    33: "Too many open files",
    35: "Message too long",
    37: "File name too long",
    39: "Network dropped connection on reset",
    40: "Network is unreachable",
    48: "Cannot allocate memory",
    53: "Transport endpoint is not connected",
    57: "Socket operation on non-socket",
    58: "Operation not supported",
    59: "Inappropriate ioctl for device",
    61: "Value too large for defined data type",
    62: "Owner died",
    68: "Numerical result out of range",
    70: "Illegal seek",
    73: "Connection timed out",
    75: "Invalid cross-device link",
}

#: Errors that the library knows: it has texts for so many numbers from 0 on.
_COUNT: Final = 77
_UNKNOWN: Final = "Unknown error"

#: `TEXTS_OF_ALL + OFFSETS[number]`.
_LOOK_UP: Final = re.compile(
    rb"\x41\x01\x74\x2f\x01(?P<offsets>[\x80-\xff]*[\x00-\x7f])\x41(?P<texts>[\x80-\xff]*[\x00-\x7f])\x6a",
    re.DOTALL,
)
#: What is written at once.
_WORD: Final = struct.Struct("<q")


def error_texts_digest() -> str:
    """Changes when `error_texts_functions` makes something else; part of the key of what is compiled."""
    return hashlib.sha256(_beginning(0)).hexdigest()


def error_texts_functions(wasm: WasmFile) -> tuple[dict[int, bytes], list[str]]:
    """The body of `strerror` that knows `TEXTS`, by its index; and what cannot be done."""
    wanted = wasm.names().get(_FUNCTION)
    for index, start, end in wasm.functions():
        if index == wanted:
            body = wasm.data[decode_uleb(wasm.data, start)[1] : end]
            place = _unused_place(wasm, body)
            if place is None:
                break
            position = end_of_locals(body)
            return {index: body[:position] + _beginning(place) + body[position:]}, []
    return {}, ["libc's table of errors is of another kind: the texts of some errors are musl's"]


def _padded(text: str) -> bytes:
    """A text with its terminator, as whole words."""
    data = text.encode() + b"\0"
    return data + bytes(-len(data) % _WORD.size)


def _unused_place(wasm: WasmFile, body: bytes) -> int | None:
    """An address in the table where texts that nothing refers to any more lie side by side."""
    found = _LOOK_UP.findall(body)
    if len(found) != 1:
        return None
    offsets_at, texts_at = (decode_uleb(encoded, 0)[0] for encoded in found[0])
    table = _memory(wasm, offsets_at, 2 * _COUNT)
    if table is None:
        return None
    offsets = struct.unpack(f"<{_COUNT}H", table)
    needed = {offset for number, offset in enumerate(offsets) if number not in TEXTS}
    most = max(len(_padded(text)) for text in (*TEXTS.values(), _UNKNOWN))
    begin = None
    for offset, following in pairwise(sorted({*offsets})):
        if offset in needed:
            begin = None
        elif begin is None:
            begin = offset
        if begin is not None and following - begin >= most:
            return texts_at + int(begin)
    return None


def _memory(wasm: WasmFile, address: int, size: int) -> bytes | None:
    """The contents of memory as the module has it; None where it has none."""
    for begin, contents in wasm.data_segments():
        if begin <= address and address + size <= begin + len(contents):
            return bytes(contents[address - begin : address - begin + size])
    return None


def _beginning(place: int) -> bytes:
    """`if (number == …) return strcpy(place, …);` for each text, and the same for numbers beyond all."""
    parts = [_return(place, b"\x46", number, text) for number, text in TEXTS.items()]
    return b"".join((*parts, _return(place, b"\x4f", _COUNT, _UNKNOWN)))  # i32.ge_u


def _return(place: int, comparison: bytes, number: int, text: str) -> bytes:
    condition = b"\x20\x00\x41" + encode_sleb(number) + comparison  # local.get 0; i32.const
    address = b"\x41" + encode_sleb(place)
    # if; return; end
    return b"".join((condition, b"\x04\x40", *_stores(address, text), address, b"\x0f\x0b"))


def _stores(address: bytes, text: str) -> Iterator[bytes]:
    for position, (word,) in enumerate(_WORD.iter_unpack(_padded(text))):
        # i64.const; i64.store, not aligned
        yield address + b"\x42" + encode_sleb(word) + b"\x37\x00" + encode_uleb(_WORD.size * position)
