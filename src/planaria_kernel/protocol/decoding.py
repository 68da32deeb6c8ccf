"""Bytes to values. The bytes may come from the sandbox, so nothing in them is trusted."""

from __future__ import annotations

import sys
from array import array
from collections import Counter
from itertools import accumulate
from struct import Struct
from typing import Any, NoReturn

from planaria_kernel.errors import DecodeLimitError, ProtocolError
from planaria_kernel.protocol import format as f
from planaria_kernel.protocol.budget import (
    EMPTY,
    PLACE,
    SMALL,
    SMALL_ITEM,
    STEP,
    STRUCTURE,
    STRUCTURES,
    Budget,
)
from planaria_kernel.protocol.structures import build
from planaria_kernel.protocol.values import Undecodable

__all__ = ["decode"]

_int64 = Struct("<q").unpack_from
_float = Struct("<d").unpack_from
_uint32 = Struct("<I").unpack_from
#: Containers between two looks at the clock, as a mask.
_LOOK = 63
#: Bytes that an item of a column takes in the list, without the characters of a string.
_COLUMN_ITEM = {f.INT64_COLUMN: 48, f.FLOAT_COLUMN: 40, f.BOOL_COLUMN: 8, f.TEXT_COLUMN: 90}
#: Bytes from which on a string is charged by itself.
_LONG = 1024
#: The values of the tags from NONE to TRUE.
_CONSTANTS = (None, False, True)
_STRUCTURE_BASE = 0x100  # a structure's kind on the stack is this plus its code


def decode(
    data: bytes, budget: Budget | None = None, refused: list[str] | None = None, *, shares: bool = False
) -> Any:
    """The value that `data` encodes; raises `ProtocolError` for anything that is not one whole value.

    There is no recursion, and nothing is allocated before its length was compared with what is left. Numpy
    arrays and pandas objects are such where those packages can be imported, otherwise `ArrayValue` and
    `FrameValue`. With a `budget`, a value that takes more time or memory raises `DecodeLimitError`.

    Well-formed bytes can describe what cannot be built, such as a dict whose keys share a hash. With a list
    `refused`, an `Undecodable` is in the place of such an object and its reason is added to the list.

    With `shares` long bytes are views of `data`, which copies nothing.
    """
    try:
        return _decode(data, budget or Budget(), refused, _LONG if shares else sys.maxsize)
    except IndexError:
        raise ProtocolError("the value ends before it is complete") from None
    except UnicodeDecodeError:
        raise ProtocolError("a text is not UTF-8") from None


def _short(wanted: int, left: int) -> NoReturn:
    raise ProtocolError(f"a length of {wanted} where {left} bytes are left")


def _decode(data: bytes, budget: Budget, refused: list[str] | None, shared: int) -> Any:
    size = len(data)
    position = 0
    containers = f.MAX_CONTAINERS
    spent = 0  # bytes of containers that the budget was not charged yet
    stack: list[tuple[int, int, int, list[Any]]] = []
    # The container being filled: what it is, how many items it wants, after how many the budget is looked at,
    # those it has. The outermost one stands for the value itself.
    kind, wanted, stop = -1, 1, 1
    items: list[Any] = []
    while True:
        tag = data[position]
        position += 1
        value: Any
        if tag >= f.SHORT_TEXT:
            end = position + tag - f.SHORT_TEXT
            if end > size:
                _short(end - position, size - position)
            value = data[position:end].decode()
            position = end
        elif tag >= f.SMALL_INT:
            value = tag - f.SMALL_INT
        elif f.NONE <= tag <= f.TRUE:
            value = _CONSTANTS[tag - f.NONE]
        elif tag == f.INT64 or tag == f.FLOAT:
            end = position + 8
            if end > size:
                _short(8, size - position)
            value = (_int64 if tag == f.INT64 else _float)(data, position)[0]
            position = end
        else:
            # What is left has a length or count.
            count = data[position]
            position += 1
            if count == 255 and tag != f.STRUCTURE:
                if position + 4 > size:
                    _short(4, size - position)
                count = _uint32(data, position)[0]
                position += 4
            if count > size - position and tag != f.STRUCTURE:
                _short(count, size - position)
            if tag <= f.LAST_CONTAINER:
                containers -= 1
                if containers < 0 or len(stack) >= f.MAX_DEPTH:
                    raise ProtocolError("the value holds too many containers, or is nested too deeply")
                if not containers & _LOOK:
                    budget.check_time()
                    budget.spend(spent)
                    spent = 0
                stack.append((kind, wanted, stop, items))
                items = []
                if tag == f.STRUCTURE:
                    kind, wanted = _STRUCTURE_BASE + count, data[position]
                    position += 1
                    spent += STRUCTURES.get(count, STRUCTURE)
                else:
                    kind, wanted = tag, 2 * count if tag == f.DICT else count
                    spent += EMPTY[tag] + PLACE[tag] * wanted
                    if wanted < SMALL:
                        spent += SMALL_ITEM * wanted
                    else:
                        budget.spend(spent)
                        spent = 0
                stop = wanted if wanted < STEP else STEP
                if wanted:
                    continue
                value = _finish(kind, items, budget, refused)
                kind, wanted, stop, items = stack.pop()
            elif tag == f.TEXT or tag == f.BYTES or tag == f.INT:
                end = position + count
                if count >= _LONG:
                    budget.check_time()
                    budget.text(count) if tag == f.TEXT else budget.spend(count)
                if tag == f.TEXT:
                    value = data[position:end].decode("utf-8", "surrogatepass")
                elif tag == f.BYTES:
                    value = data[position:end] if count < shared else memoryview(data)[position:end]
                else:
                    value = int.from_bytes(data[position:end], "little", signed=True)
                position = end
            else:
                value, position = _column(tag, count, data, position, budget)
        items.append(value)
        while len(items) == stop:
            if wanted >= SMALL:
                budget.items(items, (stop - 1) // STEP * STEP)
                if stop < wanted:
                    stop = min(wanted, stop + STEP)
                    break
            if not stack:
                if position != size:
                    raise ProtocolError(f"{size - position} bytes follow the value")
                budget.spend(spent)
                return items[0]
            if kind == f.TUPLE:
                value = tuple(items)
            elif kind == f.LIST:
                value = items
            else:
                value = _finish(kind, items, budget, refused)
                if f.RECORDS <= kind <= f.LIST_ROWS and type(value) is list:
                    containers -= len(value)
                    if containers < 0:
                        raise ProtocolError("the value holds too many rows")
            kind, wanted, stop, items = stack.pop()
            items.append(value)


def _column(tag: int, count: int, data: bytes, position: int, budget: Budget) -> tuple[list[Any], int]:
    """A list of one type, and the position after it."""
    budget.check_time()
    budget.spend(_COLUMN_ITEM.get(tag, 0) * count)
    if tag == f.INT64_COLUMN or tag == f.FLOAT_COLUMN:
        numbers, position = _numbers("q" if tag == f.INT64_COLUMN else "d", count, data, position)
        return numbers.tolist(), position
    if tag == f.BOOL_COLUMN:
        return list(map(bool, data[position : position + count])), position + count
    if tag == f.TEXT_COLUMN:
        lengths, position = _numbers("I", count, data, position)
        if data[position] != 255 or position + 5 > len(data):
            raise ProtocolError("a column of text without its text")
        end = position + 5 + _uint32(data, position + 1)[0]
        if end > len(data):
            _short(end - position - 5, len(data) - position - 5)
        budget.text(end - position)
        budget.spend(4 * (end - position))  # its parts
        text = data[position + 5 : end].decode("utf-8", "surrogatepass")
        ends = list(accumulate(lengths))
        if (ends[-1] if ends else 0) != len(text):
            raise ProtocolError("a column of text whose lengths do not fit it")
        strings: list[Any] = []
        for start in range(0, count, STEP):
            budget.check_time()
            parts = zip(ends[start : start + STEP], lengths[start : start + STEP], strict=True)
            strings += [text[end - length : end] for end, length in parts]
        return strings, end
    raise ProtocolError(f"tag 0x{tag:02x} is not known to this version")


def _numbers(typecode: str, count: int, data: bytes, position: int) -> tuple[array[Any], int]:
    numbers: array[Any] = array(typecode)
    end = position + count * numbers.itemsize
    if end > len(data):
        _short(end - position, len(data) - position)
    numbers.frombytes(data[position:end])
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers, end


def _finish(kind: int, items: list[Any], budget: Budget, refused: list[str] | None) -> Any:
    """The container of these items, or an `Undecodable`."""
    if refused is None:
        return _build(kind, items, budget)
    try:
        return _build(kind, items, budget)
    except DecodeLimitError:
        raise
    except ProtocolError as error:
        refused.append(str(error))
        return Undecodable(str(error), "undecodable")


def _build(kind: int, items: list[Any], budget: Budget) -> Any:
    if kind == f.TUPLE:
        return tuple(items)
    if kind == f.LIST:
        return items
    if kind >= _STRUCTURE_BASE:
        return build(kind - _STRUCTURE_BASE, items)
    try:
        if kind == f.DICT:
            if len(items) > 2 * f.MAX_EQUAL_HASHES:
                _check_hashes(items[::2])
            pairs = iter(items)
            return dict(zip(pairs, pairs, strict=True))
        if kind == f.SET or kind == f.FROZENSET:
            if len(items) > f.MAX_EQUAL_HASHES:
                _check_hashes(items)
            return set(items) if kind == f.SET else frozenset(items)
    except TypeError:
        raise ProtocolError("a key or a member of a set that cannot be hashed") from None
    return _rows(kind, items, budget)


def _check_hashes(keys: list[Any]) -> None:
    """Refuse keys chosen to share one hash: filling a dict with them would take quadratic time."""
    if set(map(type, keys)) <= {str}:
        return  # those hash with a secret of this process
    if Counter(map(hash, keys)).most_common(1)[0][1] > f.MAX_EQUAL_HASHES:
        raise ProtocolError("too many keys with the same hash")


def _rows(kind: int, items: list[Any], budget: Budget) -> list[Any]:
    """Rows from columns."""
    keys: tuple[Any, ...] = ()
    if kind == f.RECORDS:
        if not items:
            raise ProtocolError("records without keys")
        keys, *items = items
        if type(keys) is not tuple or len(keys) != len(items) or not all(type(key) is str for key in keys):
            raise ProtocolError("records whose keys do not fit their columns")
    if not items or any(type(column) is not list or len(column) != len(items[0]) for column in items):
        raise ProtocolError("rows whose columns differ in length")
    budget.rows(len(items[0]), kind, len(items))
    rows = zip(*items, strict=True)
    if kind == f.RECORDS:
        return [dict(zip(keys, row, strict=True)) for row in rows]
    return list(rows) if kind == f.TUPLE_ROWS else [list(row) for row in rows]
