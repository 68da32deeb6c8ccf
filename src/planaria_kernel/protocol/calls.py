"""The report of a cell that waits for calls of the host: the same bytes as of any value, but written and read
at once, as each call that is awaited takes one.
"""

from __future__ import annotations

from functools import lru_cache
from struct import Struct
from typing import Any, Final

from planaria_kernel.protocol import format as f
from planaria_kernel.protocol.budget import Budget
from planaria_kernel.protocol.decoding import decode
from planaria_kernel.protocol.encoding import Encoder, Fallback, encode

__all__ = ["decode_only_call", "encode_only_call", "encode_waiting"]

Call = tuple[int, str, tuple[Any, ...], dict[str, Any]]

_WAITING: Final = encode(("waiting", [], None, []))
#: What comes after the calls of a cell that waits for nothing else.
_NOTHING_ELSE: Final = encode(None) + encode([])
#: How the report begins, by the number of calls.
_BEGIN: Final = [_WAITING[: -len(_NOTHING_ELSE) - 1] + bytes((count,)) for count in range(f.COLUMN_THRESHOLD)]
_CALL: Final = bytes((f.TUPLE, 4))
_NO_ARGUMENTS: Final = encode(()) + encode({})
#: The report of a single call begins like this; longer ones are left to the codec, and copied less.
_ONLY_CALL: Final = _BEGIN[1] + _CALL
_LONGEST_CALL: Final = 4096
_MOST_NUMBER: Final = 1 << 63
_PAIR: Final = bytes((f.TUPLE, 2))
_pack_number: Final = Struct("<Bq").pack
_number: Final = Struct("<q")


def encode_waiting(
    report: tuple[str, list[Call], float | None, list[int]], fallback: Fallback, max_bytes: int
) -> bytes:
    """The bytes of the report of a cell that waits. Raises what `encode` raises."""
    _, calls, seconds, given_up = report
    if len(calls) >= f.COLUMN_THRESHOLD:
        return encode(report, fallback, max_bytes=max_bytes)
    encoder = Encoder(fallback, max_bytes)
    encoder.spend(2 + 3 * len(calls))
    encoder.out += _BEGIN[len(calls)]
    for number, name, arguments, keywords in calls:
        out = encoder.out
        out += _CALL
        if 0 <= number < 64:
            out.append(f.SMALL_INT + number)
        else:
            out += _pack_number(f.INT64, number)
        out += _encoded_name(name)
        if len(arguments) + len(keywords) == 0:
            out += _NO_ARGUMENTS
        else:
            encoder.write(arguments, 3)
            encoder.write(keywords, 3)
    if seconds is None and len(given_up) == 0:
        encoder.out += _NOTHING_ELSE
    else:
        encoder.write(seconds, 1)
        encoder.write(given_up, 1)
    return encoder.encoded()


def encode_only_call(call: Call, fallback: Fallback, max_bytes: int) -> bytes:
    """The report of a cell that waits for nothing but this call. Raises what `encode` raises."""
    number, name, arguments, keywords = call
    if len(arguments) + len(keywords) == 0 and number < _MOST_NUMBER:
        data = _ONLY_CALL + _pack_number(f.INT64, number) + _call_without_arguments(name)
        if len(data) <= max_bytes:
            return data
    return encode_waiting(("waiting", [call], None, []), fallback, max_bytes)


def decode_only_call(data: bytes, budget: Budget, refused: list[str]) -> Call | None:
    """The call of a cell that waits for nothing but that one; None when it is another report, or unusual.

    The bytes may come from the sandbox. This finds what `decode` finds, and raises what that raises.
    """
    if not (data.startswith(_ONLY_CALL) and data.endswith(_NOTHING_ELSE) and len(data) <= _LONGEST_CALL):
        return None
    end = len(data) - len(_NOTHING_ELSE)
    position = len(_ONLY_CALL)
    tag = data[position]
    if f.SMALL_INT <= tag < f.SHORT_TEXT:
        number = tag - f.SMALL_INT
        position += 1
    elif tag == f.INT64 and position + 9 < end:
        (number,) = _number.unpack_from(data, position + 1)
        position += 9
    else:
        return None
    start, position = position + 1, position + 1 + data[position] - f.SHORT_TEXT
    if not start <= position < end:
        return None
    name = data[start:position]
    rest = data[position:end]
    if not name.isascii():
        return None
    if rest == _NO_ARGUMENTS:
        return number, name.decode(), (), {}
    arguments, keywords = decode(_PAIR + rest, budget, refused)
    if type(arguments) is not tuple or type(keywords) is not dict:
        return None
    return number, name.decode(), arguments, keywords


@lru_cache(maxsize=256)
def _encoded_name(name: str) -> bytes:
    return encode(name)


@lru_cache(maxsize=256)
def _call_without_arguments(name: str) -> bytes:
    """What follows the number of the only call."""
    return encode(name) + _NO_ARGUMENTS + _NOTHING_ELSE
