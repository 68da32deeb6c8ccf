"""Small frames that describe much: one case for every container, column and structure, for tests and benchmarks."""

from __future__ import annotations

import struct
from collections.abc import Callable

from planaria_kernel.protocol import format as f

__all__ = ["CASES", "encoded"]


def _structure(code: int, *fields: bytes) -> bytes:
    return bytes([f.STRUCTURE, code, len(fields)]) + b"".join(fields)


def _text(text: str) -> bytes:
    return bytes([f.SHORT_TEXT + len(text)]) + text.encode()


def _bytes(data: bytes) -> bytes:
    return bytes([f.BYTES, len(data)]) + data


def _tuple(*items: bytes) -> bytes:
    return bytes([f.TUPLE, len(items)]) + b"".join(items)


def _int(number: int) -> bytes:
    return bytes([f.SMALL_INT + number])


def _list_of(item: bytes) -> Callable[[int], bytes]:
    return lambda count: bytes([f.LIST, 255]) + struct.pack("<I", count) + item * count


def _column(tag: int, item: bytes) -> Callable[[int], bytes]:
    return lambda count: bytes([tag, 255]) + struct.pack("<I", count) + item * count


def _texts(count: int) -> bytes:
    size = struct.pack("<I", count)
    return bytes([f.TEXT_COLUMN, 255]) + size + struct.pack("<I", 1) * count + b"\xff" + size + b"a" * count


def _rows(tag: int) -> Callable[[int], bytes]:
    keys = [_tuple(_text("a"))] if tag == f.RECORDS else []
    return lambda count: bytes([tag, len(keys) + 1]) + b"".join(keys) + _column(f.BOOL_COLUMN, b"\0")(count)


def _wide(count: int) -> bytes:
    text = b"a" * (8 * count) + "😀".encode()
    return bytes([f.TEXT, 255]) + struct.pack("<I", len(text)) + text


_NONE = bytes([f.NONE])
_DELTA = _structure(f.TIMEDELTA, _int(0), _int(60), _int(0))
_YEAR = bytes([f.INT64]) + struct.pack("<q", 2000)
_ARRAY = _structure(f.ARRAY, _tuple(_int(1)), _text("|i1"), _bytes(b"a"))
_LABELS = _structure(f.INDEX, _text("range"), _NONE, _tuple(_int(0), _int(1), _int(1)))
_FLOAT = bytes([f.FLOAT]) + struct.pack("<d", 0.5)

_STRUCTURES: dict[str, bytes] = {
    "complex": _structure(f.COMPLEX, _FLOAT, _FLOAT),
    "decimal": _structure(f.DECIMAL, _text("1")),
    "fraction": _structure(f.FRACTION, _int(1), _int(2)),
    "uuid": _structure(f.UUID, _bytes(bytes(16))),
    "date": _structure(f.DATE, _YEAR, _int(1), _int(1)),
    "time": _structure(f.TIME, *[_int(0)] * 5, _NONE),
    "datetime": _structure(f.DATETIME, _YEAR, _int(1), _int(1), *[_int(0)] * 5, _NONE),
    "timedelta": _DELTA,
    "timezone": _structure(f.TIMEZONE, _DELTA, _text("x")),
    "zone": _structure(f.ZONE, _text("Nowhere/At_All"), _DELTA, _text("x")),
    "range": _structure(f.RANGE, _int(0), _int(9), _int(1)),
    "path": _structure(f.PATH, _text("a/b/c")),
    "enum": _structure(f.ENUM, _text("a"), _text("b"), _int(1)),
    "repr": _structure(f.REPR, _text("a"), _text("b")),
    "array": _ARRAY,
    "record array": _structure(f.RECORD_ARRAY, _tuple(_int(1)), _tuple(_text("a")), _tuple(_ARRAY)),
    "frame": _structure(f.FRAME, _LABELS, _LABELS, bytes([f.LIST, 1]) + _ARRAY),
    "series": _structure(f.SERIES, _NONE, _LABELS, _ARRAY),
    "index": _LABELS,
    "extension": _structure(f.EXTENSION, _text("Int8"), _tuple(bytes([f.LIST, 1]) + _int(1))),
    "pandas scalar": _structure(
        f.PANDAS_SCALAR, _text("Timedelta"), _text("x"), _tuple(_int(1), _text("ns"))
    ),
}

#: By name, the frame of a value of so many items.
CASES: dict[str, Callable[[int], bytes]] = {
    "none": _list_of(_NONE),
    "text": _list_of(_text("ab")),
    "float": _list_of(_FLOAT),
    "bytes": _list_of(_bytes(b"ab")),
    "empty tuple": _list_of(_tuple()),
    "tuple": _list_of(_tuple(_NONE)),
    "list": _list_of(bytes([f.LIST, 1]) + _NONE),
    "dict": _list_of(bytes([f.DICT, 1]) + _NONE + _NONE),
    "set": _list_of(bytes([f.SET, 1]) + _NONE),
    "frozenset": _list_of(bytes([f.FROZENSET, 1]) + _NONE),
    "int column": _column(f.INT64_COLUMN, struct.pack("<q", 1 << 40)),
    "float column": _column(f.FLOAT_COLUMN, struct.pack("<d", 0.5)),
    "bool column": _column(f.BOOL_COLUMN, b"\1"),
    "text column": _texts,
    "records": _rows(f.RECORDS),
    "tuple rows": _rows(f.TUPLE_ROWS),
    "list rows": _rows(f.LIST_ROWS),
    "wide text": _wide,
    **{name: _list_of(item) for name, item in _STRUCTURES.items()},
}


def encoded(name: str, count: int) -> bytes:
    """The frame of a case with `count` items."""
    return CASES[name](count)
