"""The command to run a cell, which nearly every one is: the same bytes as of any value, but written and read
at once.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from planaria_kernel.protocol import format as f
from planaria_kernel.protocol.encoding import encode

__all__ = ["RunCommand", "decode_cell", "encode_cell"]

RunCommand = tuple[str, str, int, str]

_RUN: Final = "run"
_BEGIN: Final = encode((_RUN, "", 0, ""))[:-3]
_TEXT_AT: Final = len(_BEGIN)
#: Sources of more bytes are left to the codec, whose limits they may reach.
_MOST_BYTES: Final = 1 << 20
_pack_size: Final = Struct("<BBI").pack
_pack_count: Final = Struct("<Bq").pack
# Not by indices of bytes, for which CPython has no special instruction: it counts each time that it has none,
# which changes the memory that the code is in.
_unpack_bytes: Final = Struct("<BB").unpack_from
_unpack_size: Final = Struct("<I").unpack_from
_unpack_count: Final = Struct("<q").unpack_from


def encode_cell(source: str, count: int, tier: str) -> bytes:
    """The bytes of ("run", source, count, tier); the tier is a short word. Raises EncodeError."""
    try:
        text = source.encode()
    except UnicodeEncodeError:
        return encode((_RUN, source, count, tier))
    size = len(text)
    if size < 128:
        head = bytes((f.SHORT_TEXT + size,))
    elif size < 255:
        head = bytes((f.TEXT, size))
    elif size < _MOST_BYTES:
        head = _pack_size(f.TEXT, 255, size)
    else:
        return encode((_RUN, source, count, tier))
    number = bytes((f.SMALL_INT + count,)) if 0 <= count < 64 else _pack_count(f.INT64, count)
    name = tier.encode()
    return b"".join((_BEGIN, head, text, number, bytes((f.SHORT_TEXT + len(name),)), name))


def decode_cell(data: bytes) -> RunCommand | None:
    """The command to run a cell that the host has encoded; None when it is another value."""
    if not data.startswith(_BEGIN):
        return None
    tag, size = _unpack_bytes(data, _TEXT_AT)
    start = _TEXT_AT + 2
    if tag >= f.SHORT_TEXT:
        size, start = tag - f.SHORT_TEXT, start - 1
    elif size == 255:
        (size,) = _unpack_size(data, start)
        start += 4
    end = start + size
    source = data[start:end].decode("utf-8", "surrogatepass")
    tag, _ = _unpack_bytes(data, end)
    end += 1
    if tag == f.INT64:
        (count,) = _unpack_count(data, end)
        end += 8
    else:
        count = tag - f.SMALL_INT
    return (_RUN, source, count, data[end + 1 :].decode())
