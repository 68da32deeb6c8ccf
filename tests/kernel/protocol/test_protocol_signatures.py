"""Whether a function of the host takes the arguments of a call."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planaria_kernel.protocol.signatures import ArgumentCheck

FUNCTIONS: list[Callable[..., Any]] = [
    lambda: None,
    lambda a, b=1: None,
    lambda a, /, *, b: None,
    lambda *a, **b: None,
]
ways = st.tuples(
    st.lists(st.integers(), max_size=3).map(tuple), st.dictionaries(st.sampled_from("abcd"), st.none())
)


@pytest.mark.parametrize("function", FUNCTIONS)
@given(st.lists(ways, max_size=20))
def test_it_is_what_binding_says(function: Callable[..., Any], calls: list[Any]) -> None:
    """Arguments are taken when they can be bound, however often they were given in that way before."""
    signature = inspect.signature(function)
    check = ArgumentCheck(signature)
    for arguments, keywords in calls:
        bind = partial(signature.bind, *arguments, **keywords)
        assert _refusal(partial(check, arguments, keywords)) == _refusal(bind)


def _refusal(function: Callable[[], object]) -> str | None:
    """What a call says that is refused."""
    try:
        function()
    except TypeError as error:
        return str(error)
    return None


def test_ways_are_bounded() -> None:
    """A function that takes any keywords does not remember each set of them."""
    check = ArgumentCheck(inspect.signature(FUNCTIONS[3]))
    for number in range(1000):
        check((), {f"k{number}": 1})
    assert len(check.taken) < 100
