"""No value that code makes is lost at the boundary: what cannot be sent is replaced, and says what it was."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import fractions
import uuid
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planaria_kernel.execution.names import encoded, stand_in
from planaria_kernel.protocol import MAX_BYTES, Repr, decode, encode


@dataclasses.dataclass(frozen=True)
class Point:
    x: int


class Listed(enum.Enum):
    A = [1]  # noqa: RUF012


class OddYear(datetime.datetime):
    @property
    def year(self) -> Any:
        return "MMXX"


class OddBytes(uuid.UUID):
    @property
    def bytes(self) -> Any:
        return "no bytes"


class Leaving:
    @property
    def __dataclass_fields__(self) -> Any:
        raise SystemExit


class BrokenRepr:
    def __repr__(self) -> str:
        raise ZeroDivisionError


def _spoilt_fraction() -> Any:
    fraction = fractions.Fraction(1, 2)
    fraction._numerator = "one"  # type: ignore[attr-defined]
    return fraction


def _impostor() -> Any:
    return type("datetime", (), {"__module__": "datetime"})()


def arrived(value: Any) -> Any:
    return decode(encoded(value, MAX_BYTES))


SAME = [
    pd.NaT,
    pd.NA,
    pd.Timestamp("2026-01-01 00:00:00.123456789"),
    pd.Timestamp("2026-01-01", tz="Europe/Zurich"),
    pd.Timestamp("2026-01-01", tz="UTC"),
    pd.Timestamp.max,
    pd.Timedelta(5),
    pd.Timedelta(-5, "s"),
    pd.Period("2026-03", freq="M"),
    pd.Interval(1, 2, closed="left"),
    pd.Interval(pd.Timestamp("2026"), pd.Timestamp("2027")),
    np.datetime64("2026-01-01"),
    range(3),
    fractions.Fraction(1, 3),
]

ODD = [
    OddYear(2026, 1, 1),
    OddBytes(int=3),
    _spoilt_fraction(),
    _impostor(),
    Leaving(),
    pd.Period("NaT", freq="D"),
    Listed.A,
    Point(1),
    object,
    iter([]),
    *SAME,
]


@pytest.mark.parametrize("value", SAME, ids=repr)
def test_scalars_keep_their_type_and_every_digit(value: Any) -> None:
    """A scalar of numpy, pandas or the standard library arrives as itself."""
    result = arrived(value)
    assert type(result) is type(value)
    assert repr(result) == repr(value)


@pytest.mark.parametrize("value", ODD[:5])
def test_what_only_looks_like_a_known_type_arrives_as_its_repr(value: Any) -> None:
    """A subclass, an impostor or a damaged object whose fields make no value of the known type is a Repr."""
    assert isinstance(arrived([value])[0], Repr)


@pytest.mark.parametrize("key", [Point(1), Listed.A, (1, (Point(2),))])
def test_keys_that_lose_their_hash_are_replaced(key: Any) -> None:
    """A key, or a member of a set, that would have no hash on the other side arrives as its Repr."""
    ((result, value),) = arrived({key: 1}).items()
    assert isinstance(result, Repr)
    assert value == 1
    assert {type(member) for member in arrived({key})} == {Repr}


def test_an_object_whose_repr_raises_arrives_as_a_repr_that_says_so() -> None:
    """The text of an object whose `__repr__` raises names the object's type and the exception."""
    assert arrived([BrokenRepr()])[0].text == "<BrokenRepr object; its repr raised ZeroDivisionError>"


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


# By number, since hypothesis shows what it samples from, and one of these has no repr.
_leaves = (
    st.integers(0, len(ODD) - 1).map(ODD.__getitem__) | st.integers() | st.text(max_size=3) | st.floats()
)
_values = st.recursive(
    _leaves,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(inner.filter(_hashable), inner, max_size=3)
        | st.frozensets(inner.filter(_hashable), max_size=3)
    ),
    max_leaves=12,
)


@given(_values)
def test_every_value_arrives(value: Any) -> None:
    """Whatever is put together of ordinary and odd objects can be decoded, also as an argument of a call."""
    arrived(value)
    decode(encode(("name", (value,), {"key": value}), stand_in))
