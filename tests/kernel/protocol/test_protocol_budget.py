"""Decoding costs no more than it was allowed, whatever the bytes describe."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest
from amplification import CASES, encoded

from planaria_kernel.errors import DecodeLimitError, ProtocolError
from planaria_kernel.protocol import Budget, Undecodable, decode, encode

pytestmark = pytest.mark.slow

_HEAVY = frozenset({"frame", "series", "index", "extension", "record array", "pandas scalar"})


class Counting(Budget):
    """A budget that counts what it is asked."""

    def __init__(self) -> None:
        super().__init__()
        self.spent = 0.0
        self.looks = 0

    def spend(self, size: float) -> None:
        self.spent += size

    def check_time(self) -> None:
        self.looks += 1


@pytest.fixture
def traced() -> Iterator[None]:
    tracemalloc.start()
    yield
    tracemalloc.stop()


def count_of(name: str) -> int:
    return 200 if name in _HEAVY else 5000


@pytest.mark.parametrize("name", CASES)
def test_what_is_charged_covers_what_is_taken(name: str, traced: None) -> None:
    """The memory that the objects of a value take is at most what the budget was charged."""
    data = encoded(name, count_of(name))
    decode(encoded(name, 1))  # what is imported, and caches
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    budget = Counting()
    value = decode(data, budget)
    peak = tracemalloc.get_traced_memory()[1] - before
    assert value is not None
    assert peak <= budget.spent * 1.15 + 65536


@pytest.mark.parametrize("name", CASES)
def test_memory_beyond_the_budget_is_refused(name: str, traced: None) -> None:
    """A value that takes more memory than is allowed is refused before it takes much more."""
    data = encoded(name, count_of(name))
    budget = Counting()
    decode(data, budget)
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    allowed = int(budget.spent / 4)
    with pytest.raises(DecodeLimitError, match=r"more than .* bytes of memory") as caught:
        decode(data, Budget(memory=allowed))
    assert caught.value.limit == "memory"
    assert tracemalloc.get_traced_memory()[1] - before <= allowed * 1.15 + 65536 * 16


@pytest.mark.parametrize("name", CASES)
def test_the_clock_is_looked_at(name: str) -> None:
    """The time is looked at at least once for 64 containers, and for 65536 items of a large one."""
    count = count_of(name)
    budget = Counting()
    decode(encoded(name, count), budget)
    assert budget.looks >= (count // 64 if name in _CONTAINERS else 1)
    with pytest.raises(DecodeLimitError, match="the time is over") as caught:
        decode(encoded(name, count), Budget(deadline=0.0))
    assert caught.value.limit == "timeout"


_CONTAINERS = frozenset(CASES) - {
    *("none", "text", "float", "bytes", "int column", "float column", "bool column", "text column"),
    *("records", "tuple rows", "list rows", "wide text"),
}


def test_a_large_list_is_looked_at_on_the_way() -> None:
    """The time is looked at while a list of many plain items is filled."""
    budget = Counting()
    decode(encoded("none", 300_000), budget)
    assert budget.looks == 5


def _collide(count: int) -> list[int]:
    """Numbers that all have the hash 0."""
    return [place * (2**61 - 1) for place in range(count)]


def test_a_column_is_not_repeated_for_an_index_without_end() -> None:
    """A frame or series whose columns are shorter than their index is refused."""
    frame = pd.DataFrame({"a": np.array([1])})
    data = encode(frame)
    rows = encode(pd.RangeIndex(1))
    assert data.count(rows) >= 1
    endless = encode(pd.RangeIndex(1 << 40))
    place = data.rindex(rows)
    with pytest.raises(ProtocolError):
        decode(data[:place] + endless + data[place + len(rows) :])


def test_labels_that_share_a_hash_are_refused() -> None:
    """Labels chosen to have one hash, which pandas would take quadratic time to count, are refused; repeated
    ones are not.
    """
    same = pd.MultiIndex.from_arrays([["a"] * 5000, list(range(5000))])
    assert decode(encode(same)).equals(same)
    labels = np.array(_collide(3000), dtype=object)
    index = pd.MultiIndex.from_arrays([labels])
    with pytest.raises(ProtocolError):
        decode(encode(index))


def test_an_object_that_cannot_be_built_is_replaced() -> None:
    """With a list for the reasons, what cannot be built is Undecodable and the rest arrives."""
    refused: list[str] = []
    value = decode(encode((1, dict.fromkeys(_collide(100)), "rest")), refused=refused)
    assert value == (1, Undecodable("too many keys with the same hash", "undecodable"), "rest")
    assert refused == ["too many keys with the same hash"]
    with pytest.raises(ProtocolError, match="same hash"):
        decode(encode(dict.fromkeys(_collide(100))))


def test_zones_that_do_not_exist_are_fixed_offsets() -> None:
    """A time zone that this computer does not know arrives as the offset that it had."""
    zone = decode(encoded("zone", 1))[0]
    assert str(zone) == "x"
