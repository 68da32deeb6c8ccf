"""The value codec: round trips, bounds, and what it does with bytes from a hostile sandbox."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import math
import pathlib
import struct
import sys
import tracemalloc
import uuid
import zoneinfo
from typing import Any

import pytest
from example_counts import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from planaria_kernel.errors import EncodeError, ProtocolError
from planaria_kernel.protocol import MAX_DEPTH, ArrayValue, EnumMember, Repr, decode, encode
from planaria_kernel.protocol import format as f

pytestmark = pytest.mark.slow

ANY_TEXT = st.text(st.characters(exclude_categories=()))
ZONES = st.timezones() | st.sampled_from(
    [datetime.UTC, datetime.timezone(datetime.timedelta(hours=-3.5), "NST"), None]
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(1 << 64), 1 << 64)
    | st.floats()
    | st.complex_numbers()
    | ANY_TEXT
    | st.binary()
    | st.dates()
    | st.times()
    | st.datetimes(timezones=ZONES, allow_imaginary=False)
    | st.timedeltas()
    | st.decimals()
    | st.fractions()
    | st.uuids()
    | st.builds(range, st.integers(), st.integers(), st.integers(1, 1 << 70))
    | st.builds(Repr, ANY_TEXT, ANY_TEXT)
)
HASHABLE = st.recursive(
    st.none() | st.booleans() | st.integers() | ANY_TEXT | st.binary() | st.dates() | st.uuids(),
    lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3),
    max_leaves=5,
)
COLUMNS = (
    st.lists(st.integers(-(1 << 63), (1 << 63) - 1), min_size=8)
    | st.lists(st.floats(), min_size=8)
    | st.lists(ANY_TEXT, min_size=8)
    | st.lists(st.booleans(), min_size=8)
    | st.lists(st.fixed_dictionaries({"a": st.integers(), "b": ANY_TEXT}), min_size=8)
    | st.lists(st.tuples(st.integers(), st.floats()), min_size=8)
    | st.lists(st.lists(st.integers(), min_size=2, max_size=2), min_size=8)
)
VALUES = st.recursive(
    SCALARS | COLUMNS,
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(HASHABLE, inner)
        | st.sets(HASHABLE)
        | st.frozensets(HASHABLE)
    ),
    max_leaves=20,
)


def same(a: Any, b: Any) -> bool:
    """Equal in value, type and sign, with nan equal to itself, all the way down."""
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return struct.pack("<d", a) == struct.pack("<d", b) or (math.isnan(a) and math.isnan(b))
    if isinstance(a, complex):
        return same(a.real, b.real) and same(a.imag, b.imag)
    if isinstance(a, decimal.Decimal):
        return str(a) == str(b)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict):
        return same(list(a.items()), list(b.items()))
    if isinstance(a, datetime.datetime):
        return a == b and a.fold == b.fold and a.utcoffset() == b.utcoffset() and a.tzname() == b.tzname()
    return bool(a == b)


@given(VALUES)
@settings(max_examples=examples(120), deadline=None)
def test_round_trip(value: Any) -> None:
    """Every value comes back equal and of the same type, whatever it is made of."""
    assert same(decode(encode(value)), value)


@given(st.binary(max_size=200))
@settings(max_examples=examples(500), deadline=None)
def test_any_bytes(data: bytes) -> None:
    """Any bytes give a value or a ProtocolError, nothing else."""
    try:
        decode(data)
    except ProtocolError:
        pass


@given(VALUES, st.data())
@settings(max_examples=examples(120), deadline=None)
def test_damaged_bytes(value: Any, data: st.DataObject) -> None:
    """An encoded value with bytes changed, cut or added gives a value or a ProtocolError."""
    encoded = bytearray(encode(value))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(encoded)))
        encoded[place : place + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=3))
    try:
        decode(bytes(encoded))
    except ProtocolError:
        pass


@given(VALUES)
@settings(max_examples=examples(50), deadline=None)
def test_every_prefix_is_refused(value: Any) -> None:
    """No proper prefix of an encoded value is one, and neither is one with something after it."""
    encoded = encode(value)
    for length in {0, 1, len(encoded) // 2, len(encoded) - 1}:
        if length < len(encoded):
            with pytest.raises(ProtocolError):
                decode(encoded[:length])
    with pytest.raises(ProtocolError):
        decode(encoded + b"\x10")


@pytest.mark.parametrize(
    "tag",
    [f.TUPLE, f.LIST, f.DICT, f.SET, f.TEXT, f.BYTES, f.INT, f.INT64_COLUMN, f.FLOAT_COLUMN, f.TEXT_COLUMN],
)
def test_length_that_lies(tag: int) -> None:
    """A length of four gigabytes in a frame of ten bytes is refused without allocating anything like it."""
    tracemalloc.start()
    try:
        with pytest.raises(ProtocolError):
            decode(bytes([tag, 255]) + b"\xff\xff\xff\xff" + b"1234")
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_deep_bytes() -> None:
    """A million nested containers are refused, not recursed into."""
    with pytest.raises(ProtocolError, match="deep"):
        decode(bytes([f.LIST, 1]) * 1_000_000 + bytes([f.NONE]))


def test_deep_value() -> None:
    """A value nested deeper than the bound is refused by the writer; one at the bound crosses."""
    value: Any = None
    for _ in range(MAX_DEPTH):
        value = [value]
    assert decode(encode(value)) == value
    with pytest.raises(EncodeError, match="nested deeper"):
        encode([value])


def test_cycle() -> None:
    """A value that contains itself, even many times over, is refused at once."""
    value: list[Any] = []
    value.extend([value, value, value])
    with pytest.raises(EncodeError, match="contains itself"):
        encode(value)


def test_shared_structure_that_would_explode() -> None:
    """A small graph whose tree is astronomically large is refused instead of filling the memory."""
    value: Any = ()
    for _ in range(60):
        value = (value, value)
    with pytest.raises(EncodeError):
        encode(value, max_bytes=1_000_000)


def test_too_large() -> None:
    """A value over the limit of bytes is refused with the limit in the message."""
    with pytest.raises(EncodeError, match="1000 bytes"):
        encode(b"x" * 2000, max_bytes=1000)


@given(
    st.lists(
        st.integers(0, 99)
        | st.sampled_from([b"a" * 65_535, b"b" * 65_536, b"c" * 100_000, bytearray(70_000)])
    )
)
@settings(deadline=None, max_examples=30)
def test_large_bytes_among_others(values: list[Any]) -> None:
    """Bytes of any size keep their place among other values, and count towards the limit."""
    value = {"values": values, b"k" * 70_000: (values, "end")}
    data = encode(value)
    plain = [bytes(one) if isinstance(one, bytearray) else one for one in values]
    assert decode(data) == {"values": plain, b"k" * 70_000: (plain, "end")}
    assert encode(value, max_bytes=len(data)) == data
    with pytest.raises(EncodeError, match="more than"):
        encode(value, max_bytes=len(data) - 1)


def test_chosen_hashes() -> None:
    """Keys chosen to have one hash, which would take quadratic time, are refused."""
    keys = frozenset(1 + n * sys.hash_info.modulus for n in range(200))
    with pytest.raises(ProtocolError, match="same hash"):
        decode(encode(keys))


def test_many_harmless_keys() -> None:
    """A large dict of integers and of pairs crosses, though small numbers of their hashes meet."""
    value = {(x, y): x for x in range(-30, 30) for y in range(-30, 30)}
    assert decode(encode(value)) == value


def test_unhashable_key() -> None:
    """A dict whose key is a list is not a value."""
    with pytest.raises(ProtocolError, match="hashed"):
        decode(bytes([f.DICT, 1, f.LIST, 0, f.NONE]))


def test_rows_without_columns() -> None:
    """Rows cannot be conjured up from nothing."""
    with pytest.raises(ProtocolError):
        decode(bytes([f.TUPLE_ROWS, 0]))


def test_keys_that_are_equal_but_not_the_same() -> None:
    """A list of dicts with the keys 1, True and 1.0 keeps them apart."""
    value = [{1: "a"}, {True: "b"}, {1.0: "c"}] * 4
    assert same(decode(encode(value)), value)


class Colour(enum.Enum):
    RED = 1


class Level(enum.IntEnum):
    HIGH = 3


@dataclasses.dataclass
class Point:
    x: int
    y: list[int]


Pair = collections.namedtuple("Pair", "a b")


@pytest.mark.parametrize(
    ("value", "arrives"),
    [
        (Colour.RED, EnumMember("Colour", "RED", 1)),
        (Level.HIGH, EnumMember("Level", "HIGH", 3)),
        (Point(1, [2]), {"x": 1, "y": [2]}),
        (Pair(1, 2), (1, 2)),
        (collections.OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
        (collections.Counter("aab"), {"a": 2, "b": 1}),
        (bytearray(b"x"), b"x"),
        (pathlib.PurePosixPath("/a/b"), pathlib.PurePosixPath("/a/b")),
        (pathlib.Path("a"), pathlib.PurePosixPath("a")),
        (type("Text", (str,), {})("t"), "t"),
        (type("Number", (int,), {})(7), 7),
        (ArrayValue((2,), "|O", [1, "x"]), ArrayValue((2,), "|O", [1, "x"])),
    ],
)
def test_what_arrives(value: Any, arrives: Any) -> None:
    """Enumerations, dataclasses, named tuples and subclasses arrive as the data they hold."""
    got = decode(encode(value))
    if "numpy" in sys.modules and isinstance(value, ArrayValue):
        assert got.tolist() == value.data
    else:
        assert got == arrives
        assert type(got) is type(arrives)


def test_zone_by_key() -> None:
    """A zone crosses by its key, so that it has its rules on the other side too."""
    moment = datetime.datetime(2024, 10, 27, 2, 30, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin"), fold=1)
    got = decode(encode(moment))
    assert got.tzinfo.key == "Europe/Berlin"
    assert (got, got.fold) == (moment, 1)


def test_unknown_zone_keeps_its_offset() -> None:
    """A zone that the reader does not know arrives with the offset it had."""
    data = encode(zoneinfo.ZoneInfo("Asia/Tokyo")).replace(b"Asia/Tokyo", b"Asia/Nowhe")
    assert decode(data).utcoffset(None) == datetime.timedelta(hours=9)


def test_foreign_object() -> None:
    """An object that is not serialisable is refused by name, or replaced by what the fallback gives."""
    with pytest.raises(EncodeError, match="object"):
        encode([object()])
    assert decode(encode([object()], lambda value: Repr("thing", "object"))) == [Repr("thing", "object")]


def test_object_that_cannot_be_taken_apart() -> None:
    """A dataclass that lacks a field is treated as a foreign object."""
    broken = Point(1, [])
    del broken.x
    with pytest.raises(EncodeError, match="Point"):
        encode(broken)
    assert decode(encode([1, broken], lambda value: "stand-in")) == [1, "stand-in"]


def test_huge_fraction() -> None:
    """A fraction so large that reducing it would stall the reader does not cross as one."""
    with pytest.raises(EncodeError):
        encode(fractions.Fraction(1, (1 << 100_000) + 1))


def test_uuid_and_decimal_fields_are_checked() -> None:
    """Structures whose fields have wrong types or lengths are refused."""
    for code, field in ((f.UUID, b"short"), (f.DECIMAL, 5), (f.DECIMAL, "x1"), (f.RANGE, 1), (99, 1)):
        data = bytes([f.STRUCTURE, code, 1]) + encode(field)
        with pytest.raises(ProtocolError):
            decode(data)
    assert decode(encode(uuid.UUID(int=5))) == uuid.UUID(int=5)
