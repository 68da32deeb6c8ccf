"""The report of a cell that waits for calls of the host, written and read in the short way."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planaria_kernel.errors import EncodeError
from planaria_kernel.execution.names import stand_in
from planaria_kernel.protocol import MAX_BYTES, Budget, decode, encode
from planaria_kernel.protocol.calls import decode_only_call, encode_only_call, encode_waiting

numbers = st.one_of(st.integers(0, 130), st.integers(0, 1 << 62))
scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5), st.binary(max_size=5))
values = st.one_of(scalars, st.lists(scalars, max_size=10), st.dictionaries(st.text(max_size=2), scalars))
arguments = st.lists(values, max_size=3).map(tuple)
keywords = st.dictionaries(st.text(max_size=5), values, max_size=3)
names = st.one_of(st.text(max_size=10), st.integers(120, 140).map(lambda size: "x" * size))
calls = st.tuples(numbers, names, arguments, keywords)
reports = st.tuples(
    st.just("waiting"),
    st.lists(calls, max_size=10),
    st.one_of(st.none(), st.floats(0, 1)),
    st.one_of(st.just([]), st.lists(numbers, max_size=3)),
)


@given(reports)
def test_it_is_what_the_codec_writes(report: Any) -> None:
    """A report is written as the codec writes it."""
    assert encode_waiting(report, stand_in, MAX_BYTES) == encode(report)


@given(calls)
def test_an_only_call_is_read_as_any_report(call: Any) -> None:
    """The request for an answer at once is read as the report of a cell that waits for that call."""
    data = encode_only_call(call, stand_in, MAX_BYTES)
    assert decode(data) == ("waiting", [call], None, [])
    assert decode_only_call(data, Budget(), []) in (call, None)


@given(reports)
def test_it_is_what_the_codec_reads(report: Any) -> None:
    """A single call is found where there is nothing else, and is what the codec reads."""
    data = encode(report)
    call = decode_only_call(data, Budget(), [])
    usual = len(report[1]) == 1 and report[2:] == (None, []) and report[1][0][1].isascii()
    if usual and len(report[1][0][1]) < 128 and len(data) < 4096:
        assert call == report[1][0]
    else:
        assert call is None


@given(calls, st.data())
def test_damaged_reports(call: Any, data: st.DataObject) -> None:
    """Of damaged bytes, a call is found where the codec finds the same one, and nowhere else."""
    report = bytearray(encode(("waiting", [call], None, [])))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(report) - 1))
        report[at] = data.draw(st.one_of(st.integers(0, 255), st.sampled_from([0, 1, 2, 0x10, 0x13, 0x80])))
    damaged = bytes(report[: data.draw(st.integers(0, len(report)))] if data.draw(st.booleans()) else report)
    try:
        found = decode_only_call(damaged, Budget(), [])
    except Exception as error:
        with pytest.raises(type(error)):
            decode(damaged)
    else:
        if found is not None:
            assert decode(damaged) == ("waiting", [found], None, [])


def test_what_cannot_be_sent() -> None:
    """Arguments that are too large or nested too deeply are refused as the codec refuses them."""
    deep: list[Any] = []
    for _ in range(124):
        deep = [deep]
    encode_waiting(("waiting", [(1, "f", (), {})], None, []), stand_in, 100)
    fits: Any = ("waiting", [(1, "f", (deep[0],), {})], None, [])
    assert decode(encode_waiting(fits, stand_in, MAX_BYTES)) == fits
    refused: list[tuple[Any, int]] = [
        (("waiting", [(1, "f", (b"x" * 100,), {})], None, []), 100),
        (("waiting", [(1, "f", (deep,), {})], None, []), MAX_BYTES),
    ]
    for report, most in refused:
        for write in (
            encode_waiting,
            lambda report, fallback, most: encode(report, fallback, max_bytes=most),
        ):
            with pytest.raises(EncodeError):
                write(report, stand_in, most)
