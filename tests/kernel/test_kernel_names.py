"""The reprs of values that are shown."""

from __future__ import annotations

from typing import Any

import pytest

from planaria_kernel.execution.names import short_repr


class Long:
    def __repr__(self) -> str:
        return "<begin " + "x" * 5000 + " end>"


@pytest.mark.parametrize(
    ("value", "begin", "end"),
    [
        ("a" * 3000 + "z", "'aaa", "az'"),
        (b"a" * 3000 + b"z", "b'aaa", "az'"),
        (list(range(100_000)), "[0, 1, 2, ", ", ..., 99997, 99998, 99999]"),
        (tuple(range(100_000)), "(0, 1, 2, ", ", ..., 99997, 99998, 99999)"),
        ({"k": list(range(100_000))}, "{'k': [0, 1, ", ", ..., 99997, 99998, 99999]}"),
        (["x" * 90, *range(5000), "end"], "['xxx", "'end']"),
        (Long(), "<begin x", "x end>"),
    ],
)
def test_a_long_repr_keeps_both_ends(value: Any, begin: str, end: str) -> None:
    """A repr beyond the limit keeps its beginning and its end, with dots between."""
    text = short_repr(value, 1000)
    assert text.startswith(begin)
    assert text.endswith(end)
    assert "..." in text
    assert len(text) < 2000  # the commas between items are not counted


@pytest.mark.parametrize(
    "value", [[], [1], (1,), (1, 2), [[1], [2]], {1}, frozenset(), {"a": [1]}, "x" * 1000]
)
def test_a_short_repr_is_whole(value: Any) -> None:
    """A repr within the limit is Python's own."""
    assert short_repr(value, 1100) == repr(value)
