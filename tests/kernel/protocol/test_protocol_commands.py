"""What the host writes for a kernel in the short way."""

from __future__ import annotations

import array
import enum
import marshal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planaria_kernel.errors import EncodeError, ProtocolError
from planaria_kernel.protocol import decode, encode
from planaria_kernel.protocol.commands import (
    decode_from_host,
    encode_answer,
    encode_answers,
    encode_cell,
    outline,
)

sources = st.one_of(
    st.text(st.characters(), max_size=300),
    st.integers(0, 200).map(lambda size: "é" * size),
    st.just("x" * (3 << 20)),
)
counts = st.one_of(st.integers(0, 100), st.integers(0, 1 << 62))
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(1 << 70), 1 << 70),
    st.floats(allow_nan=False),
    st.text(st.characters(), max_size=20),
    st.binary(max_size=300),
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=12),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(st.text(max_size=5), inner, max_size=4),
        st.sets(st.integers(), max_size=3),
        st.frozensets(st.text(max_size=3), max_size=3),
    ),
    max_leaves=40,
)


class Level(enum.IntEnum):
    HIGH = 3


class Words(str):
    __slots__ = ()


def same(value: Any) -> Any:
    """A value with the types of all that it holds."""
    if isinstance(value, dict):
        return dict, [(same(key), same(item)) for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return type(value), [same(item) for item in value]
    return type(value), value


@given(sources, counts, st.sampled_from(["core", "full"]))
def test_cells(source: str, count: int, tier: str) -> None:
    """The command to run a cell is read as it was written, surrogates and megabytes too."""
    assert decode_from_host(encode_cell(source, count, tier)) == ("run", source, count, tier)


@given(sources, st.dictionaries(st.text(max_size=5), values, max_size=3))
def test_cells_with_settings(source: str, settings: dict[str, Any]) -> None:
    """The command to run a cell after taking settings is read as the codec would have it."""
    expected = decode(encode(("begin", settings, ("run", source, 1, "full"))))
    assert same(decode_from_host(encode_cell(source, 1, "full", settings))) == same(expected)


@given(st.lists(st.tuples(counts, st.just(True), values), max_size=5))
def test_answers_are_what_the_codec_makes_of_them(answers: list[tuple[int, bool, Any]]) -> None:
    """Answers arrive as the codec would have them, of the same types, whichever way they are written."""
    expected = decode(encode(("resume", answers)))
    assert same(decode_from_host(encode_answers(answers))) == same(expected)
    for answer in answers:
        assert same(decode_from_host(encode_answer(answer))) == same(decode(encode(answer)))


@pytest.mark.parametrize(
    "value",
    [bytearray(b"x"), Level.HIGH, Words("x"), {Words("k"): 1}, [Level.HIGH], {1, 2}, 1 << 80, "x" * 70_000],
    ids=lambda value: type(value).__name__,
)
def test_other_types_are_left_to_the_codec(value: Any) -> None:
    """A value that marshal would write as another one, or that is large, is written by the codec."""
    answers = [(1, True, value)]
    assert encode_answers(answers) == encode(("resume", answers))
    assert encode_answer(("ok", value)) == encode(("ok", value))


def test_buffers_are_not_bytes() -> None:
    """An array, which marshal would write as bytes, is refused as the codec refuses it."""
    for value in (array.array("q", [1]), memoryview(b"x")):
        with pytest.raises(EncodeError, match="cannot be serialised"):
            encode_answers([(1, True, value)])


def test_an_object_in_two_places_arrives_as_two() -> None:
    """What is in two places of an answer is two objects afterwards, as the codec makes it."""
    shared = [1]
    (_, [(_, _, value)]) = decode_from_host(encode_answers([(1, True, [shared, shared])]))
    assert value == [[1], [1]]
    assert value[0] is not value[1]


def test_values_without_end() -> None:
    """A value that contains itself is refused in words, one that is nested deeply as well."""
    endless: list[Any] = []
    endless.append(endless)
    deep: list[Any] = []
    for _ in range(140):
        deep = [deep]
    for value in (endless, deep):
        with pytest.raises(EncodeError, match="nested deeper"):
            encode_answers([(1, True, value)])


@given(st.lists(st.tuples(counts, st.just(True), scalars), max_size=20))
def test_outlines(answers: list[tuple[int, bool, Any]]) -> None:
    """The host reads which calls a command answers without reading what marshal has written."""
    command = encode_answers(answers)
    found = outline(command)
    if found is None:
        found = decode(command)
    assert [call for call, *_ in found[1]] == [call for call, _, _ in answers]
    assert outline(encode_cell("x", 1, "full")) == ("run",)
    assert outline(encode_cell("x", 1, "full", {"reseed": bytes(16)})) == ("run",)
    assert outline(encode(("clear",))) is None


@given(st.binary(max_size=20), st.integers(0, 255))
def test_damaged_outlines(data: bytes, count: int) -> None:
    """A command of a file that is not whole raises ProtocolError, or gives as many calls as it says."""
    try:
        found = outline(b"m" + data + bytes((count,)))
    except ProtocolError:
        assert 8 * count > len(data)
    else:
        assert found is not None
        assert len(found[1]) == count


def test_what_kernels_write_is_never_unmarshalled() -> None:
    """The codec, with which the host reads what kernels send, takes none of what marshal writes."""
    for data in (encode_cell("x", 1, "full"), encode_answers([(1, True, None)]), encode_answer(("ok", 1))):
        assert marshal.loads(data[1:])
        with pytest.raises(ProtocolError):
            decode(data)
