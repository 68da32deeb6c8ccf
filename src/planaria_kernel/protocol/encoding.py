"""Values to bytes."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Iterable
from struct import Struct
from typing import Any

from planaria_kernel.errors import EncodeError
from planaria_kernel.protocol import format as f
from planaria_kernel.protocol.structures import fields_of
from planaria_kernel.protocol.values import Fields

__all__ = ["Encoder", "Fallback", "encode"]

_pack_u32 = Struct("<BI").pack
_pack_int64 = Struct("<Bq").pack
_pack_float = Struct("<Bd").pack
_SHORT = [bytes((f.SHORT_TEXT + n,)) for n in range(128)]

#: Bytes of this size are copied once alone.
_LARGE = 1 << 16

Fallback = Callable[[Any], Any]

#: Types of keys that have a hash on every side.
_HASHABLE = frozenset({str, int, float, bool, bytes, type(None)})
_HASHABLE_CONTAINERS = frozenset({f.TUPLE, f.FROZENSET, f.STRUCTURE})


class _UnhashableError(Exception):
    """What is written as a key or a member of a set has no hash on the other side."""


def encode(value: Any, fallback: Fallback | None = None, *, max_bytes: int = f.MAX_BYTES) -> bytes:
    """The bytes of `value`.

    `fallback` is called with an object that has no form on the other side and returns a value that
    has one (the kernel's gives a `Repr`). Raises `EncodeError` without one, and when the value is nested
    deeper than MAX_DEPTH (as one that contains itself is) or needs more than `max_bytes` bytes.
    """
    encoder = Encoder(fallback, max_bytes)
    encoder.write(value, 0)
    return encoder.encoded()


class Encoder:
    """What `encode` does, for those that write a part of a value themselves: to `out`."""

    __slots__ = ("containers", "fallback", "hashed", "max_bytes", "out", "parts", "size")

    def __init__(self, fallback: Fallback | None, max_bytes: int) -> None:
        #: What was written is `parts`, of `size` bytes, and `out` after them.
        self.parts: tuple[bytes | bytearray, ...] = ()
        self.size = 0
        self.out = bytearray()
        self.fallback = fallback
        self.max_bytes = max_bytes
        self.containers = f.MAX_CONTAINERS
        #: How many keys and members of sets are being written: they must have a hash on the other side too.
        self.hashed = 0

    def encoded(self) -> bytes:
        """What was written. Raises EncodeError when that is too large."""
        if self.size + len(self.out) > self.max_bytes:
            raise self.too_large()
        return b"".join((*self.parts, self.out)) if self.parts else bytes(self.out)

    def write(self, value: Any, depth: int) -> None:
        kind = type(value)
        out = self.out
        if kind is str:
            try:
                data = value.encode()
            except UnicodeEncodeError:
                data = value.encode("utf-8", "surrogatepass")
            else:
                if len(data) < 128:
                    out += _SHORT[len(data)]
                    out += data
                    return
            self.head(f.TEXT, len(data))
            out += data
        elif kind is int:
            if 0 <= value < 64:
                out.append(f.SMALL_INT + value)
            elif -0x8000000000000000 <= value < 0x8000000000000000:
                out += _pack_int64(f.INT64, value)
            else:
                size = value.bit_length() // 8 + 1
                self.head(f.INT, size)
                out += value.to_bytes(size, "little", signed=True)
        elif value is None:
            out.append(f.NONE)
        elif value is True:
            out.append(f.TRUE)
        elif value is False:
            out.append(f.FALSE)
        elif kind is dict:
            self.open(f.DICT, len(value), depth)
            write = self.write
            depth += 1
            for key, item in value.items():
                if type(key) in _HASHABLE:
                    write(key, depth)
                else:
                    self.write_hashed(key, depth)
                write(item, depth)
        elif kind is tuple:
            self.write_items(f.TUPLE, value, len(value), depth)
        elif kind is list:
            if len(value) < f.COLUMN_THRESHOLD or not self.write_column(value, depth):
                # A copy, since the code of an item may change the list.
                self.write_items(f.LIST, tuple(value), len(value), depth)
        elif kind is float:
            out += _pack_float(f.FLOAT, value)
        elif kind is bytes or kind is bytearray:
            self.head(f.BYTES, len(value))
            if kind is bytearray or len(value) < _LARGE or self.hashed:
                out += value
            else:
                # Copied once, at the end. A bytearray could change until then.
                self.parts += (out, value)
                self.size += len(out) + len(value)
                self.out = bytearray()
        elif kind is set or kind is frozenset:
            self.open(f.SET if kind is set else f.FROZENSET, len(value), depth)
            depth += 1
            for item in tuple(value):
                if type(item) in _HASHABLE:
                    self.write(item, depth)
                else:
                    self.write_hashed(item, depth)
        else:
            self.write_object(value, depth)

    def write_hashed(self, value: Any, depth: int) -> None:
        """A key, or a member of a set: what becomes something without a hash, as a dataclass becomes a dict,
        is replaced.
        """
        start = len(self.out)
        self.hashed += 1
        try:
            self.write(value, depth)
        except _UnhashableError:
            del self.out[start:]
            if self.fallback is None:
                raise EncodeError(
                    f"a {type(value).__qualname__} cannot be a key or a member of a set on the other side"
                ) from None
            self.write(self.fallback(value), depth + 1)
        finally:
            self.hashed -= 1

    def head(self, tag: int, count: int) -> None:
        """A tag and a length or count."""
        if count < 255:
            self.out.append(tag)
            self.out.append(count)
            return
        if count > self.max_bytes:
            raise self.too_large()
        self.out.append(tag)
        self.out += _pack_u32(255, count)

    def open(self, tag: int, count: int, depth: int) -> None:
        """The head of a container, after the checks that bound all containers."""
        out = self.out
        self.containers = left = self.containers - 1
        if left < 0 or self.size + len(out) > self.max_bytes:
            self.spend(0)
        if self.hashed and tag not in _HASHABLE_CONTAINERS:
            raise _UnhashableError
        if depth >= f.MAX_DEPTH:
            raise EncodeError(
                f"the value is nested deeper than {f.MAX_DEPTH} levels, or contains itself: flatten it"
            )
        if count < 255:
            out.append(tag)
            out.append(count)
        else:
            self.head(tag, count)

    def spend(self, containers: int) -> None:
        self.containers -= containers
        if self.containers < 0:
            raise EncodeError(
                f"the value holds more than {f.MAX_CONTAINERS} containers: pass arrays or a file instead"
            )
        if self.size + len(self.out) > self.max_bytes:
            raise self.too_large()

    def too_large(self) -> EncodeError:
        return EncodeError(
            f"the value needs more than {self.max_bytes} bytes: pass a part of it, or write it to a file"
        )

    def write_items(self, tag: int, items: Iterable[Any], count: int, depth: int) -> None:
        self.open(tag, count, depth)
        write = self.write
        depth += 1
        for item in items:
            write(item, depth)

    def write_column(self, items: list[Any], depth: int) -> bool:
        """Write a list of one type by columns; False (and nothing written) when it is not one."""
        kinds = set(map(type, items))
        if len(kinds) != 1:
            return False
        kind = kinds.pop()
        if kind is int:
            try:
                numbers = array("q", items)
            except OverflowError:
                return False
            self.write_numbers(f.INT64_COLUMN, numbers, depth)
        elif kind is float:
            self.write_numbers(f.FLOAT_COLUMN, array("d", items), depth)
        elif kind is str:
            text = "".join(items).encode("utf-8", "surrogatepass")
            self.write_numbers(f.TEXT_COLUMN, array("I", map(len, items)), depth)
            self.out += _pack_u32(255, len(text))
            self.out += text
        elif kind is bool:
            self.open(f.BOOL_COLUMN, len(items), depth)
            self.out += bytes(items)
        elif kind is dict:
            keys = tuple(items[0])
            # Only text: keys that are equal without being the same (1, True) must not become those of the
            # first.
            if not keys or len(keys) > 254 or not all(type(key) is str for key in keys):
                return False
            if any(tuple(row) != keys for row in items):
                return False
            columns = [[row[key] for row in items] for key in keys]
            self.write_columns(f.RECORDS, len(items), columns, depth, keys)
        elif kind is tuple or kind is list:
            width = len(items[0])
            if not 0 < width < 255 or any(len(row) != width for row in items):
                return False
            tag = f.TUPLE_ROWS if kind is tuple else f.LIST_ROWS
            self.write_columns(tag, len(items), [list(column) for column in zip(*items, strict=True)], depth)
        else:
            return False
        return True

    def write_columns(
        self, tag: int, rows: int, columns: list[list[Any]], depth: int, keys: tuple[Any, ...] | None = None
    ) -> None:
        self.spend(rows)
        self.open(tag, len(columns) + (keys is not None), depth)
        if keys is not None:
            self.write(keys, depth + 1)
        for column in columns:
            self.write(column, depth + 1)

    def write_numbers(self, tag: int, numbers: array[Any], depth: int) -> None:
        if sys.byteorder == "big":
            numbers.byteswap()
        self.open(tag, len(numbers), depth)
        self.out += memoryview(numbers).cast("B")

    def write_object(self, value: Any, depth: int) -> None:
        """What is neither plain data nor one of the exact container types."""
        fields: Fields | tuple[Any] | None
        try:
            fields = fields_of(value)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # the object's own code: an attribute is missing, a property raises
            if self.fallback is None:
                raise EncodeError(f"a {type(value).__qualname__} cannot be taken apart: {error!r}") from error
            fields = None
        if isinstance(fields, Fields):
            if self.hashed and (
                fields.code in f.UNHASHABLE or (fields.code == f.ARRAY and fields.items[0] is not None)
            ):
                raise _UnhashableError
            self.open(f.STRUCTURE, fields.code, depth)
            self.out.append(len(fields.items))
            for item in fields.items:
                self.write(item, depth + 1)
        elif fields is not None:
            self.write(fields[0], depth)
        elif self.fallback is not None:
            self.write(self.fallback(value), depth + 1)
        else:
            kind = type(value)
            raise EncodeError(
                f"a value of type {kind.__module__}.{kind.__qualname__} cannot be serialised: "
                "pass plain data (numbers, text, bytes, lists, dicts, dates, arrays, frames …)"
            )
