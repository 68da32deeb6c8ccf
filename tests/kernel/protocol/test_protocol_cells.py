"""The short way to write and read the command to run a cell."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from planaria_kernel.protocol import decode, encode
from planaria_kernel.protocol.cells import decode_cell, encode_cell

sources = st.one_of(
    st.text(st.characters(), max_size=300),
    st.integers(100, 300).map(lambda size: "x" * size),
    st.integers(0, 200).map(lambda size: "é" * size),
)
counts = st.one_of(st.integers(0, 100), st.integers(0, 1 << 62))


@given(sources, counts, st.sampled_from(["core", "full"]))
def test_it_is_what_the_codec_writes(source: str, count: int, tier: str) -> None:
    """A command is written as the codec writes it, and read as the codec reads it, surrogates too."""
    command = ("run", source, count, tier)
    data = encode_cell(source, count, tier)
    assert data == encode(command)
    assert decode_cell(data) == decode(data) == command


def test_long_source() -> None:
    """A source of megabytes is a command like others."""
    source = "x" * (3 << 20)
    assert decode_cell(encode_cell(source, 1, "full")) == ("run", source, 1, "full")


def test_other_commands_are_left_to_the_codec() -> None:
    """What is not the command to run a cell without a name is not read."""
    others: list[object] = [("run", "x", 1, "full", "name"), ("resume", []), ("clear",), None, "run"]
    for command in others:
        assert decode_cell(encode(command)) is None
