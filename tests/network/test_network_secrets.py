"""Secrets: where values go in, and that they never come back."""

from __future__ import annotations

import base64
from collections.abc import Callable
from itertools import pairwise
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planaria import Secret
from planaria.network.secrets import (
    Scrubber,
    placeholder,
    substitute_bytes,
    substitute_header,
    substitute_query,
)

VALUE = "s3cr3t/+=& value"
PAIRS = [("TOKEN", VALUE)]

#: Without the asterisk, which values are replaced by.
visible = st.text(
    st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="*"), min_size=4, max_size=40
)


def test_where_values_go() -> None:
    """Placeholders are exchanged in headers, basic credentials, queries and bodies, each in its encoding."""
    mark = placeholder("TOKEN")
    assert substitute_header(f"Bearer {mark}".encode(), PAIRS) == f"Bearer {VALUE}".encode()
    basic = base64.b64encode(f"user:{mark}".encode())
    changed = substitute_header(b"Basic " + basic, PAIRS)
    assert base64.b64decode(changed.removeprefix(b"Basic ")) == f"user:{VALUE}".encode()
    target = f"/a/{mark}?key={mark}".encode()
    assert substitute_query(target, PAIRS) == f"/a/{mark}?key={quote(VALUE, safe='')}".encode()
    assert substitute_bytes(f'{{"key": "{mark}"}}'.encode(), PAIRS) == f'{{"key": "{VALUE}"}}'.encode()


@pytest.mark.parametrize(
    "form",
    [
        str.encode,
        lambda value: quote(value, safe="").encode(),
        lambda value: value.encode().hex().encode(),
        lambda value: value[::-1].encode(),
        lambda value: base64.b64encode(value.encode()),
        lambda value: base64.b64encode(b"x" + value.encode()),
        lambda value: base64.b64encode(b"user:" + value.encode() + b" end"),
        lambda value: base64.urlsafe_b64encode(b"xy" + value.encode() + b"!"),
    ],
)
@given(value=visible, cut=st.integers(0, 200))
def test_scrubbed(form: Callable[[str], bytes], value: str, cut: int) -> None:
    """A value that comes back is replaced by asterisks of the same length, wherever the stream is cut."""
    data = b"before " + form(value) + b" after"
    scrubber = Scrubber([value])
    clean = scrubber.feed(data[:cut]) + scrubber.feed(data[cut:]) + scrubber.finish()
    assert len(clean) == len(data)
    assert form(value) not in clean
    assert value.encode() not in clean
    assert b"**" in clean


@given(data=st.binary(max_size=200), cuts=st.lists(st.integers(0, 200), max_size=5))
def test_other_data_passes(data: bytes, cuts: list[int]) -> None:
    """Data without a value passes as it is."""
    scrubber = Scrubber(["no such value in it"])
    places = [0, *sorted(cuts), len(data)]
    parts = [scrubber.feed(data[a:b]) for a, b in pairwise(places)]
    assert b"".join(parts) + scrubber.finish() == data


@pytest.mark.parametrize("guess", ["x", "s", "s3", "s3cr3t", "czNjcjN", "7", "%73", "\\x73", "eulav"])
def test_nothing_is_revealed_by_what_is_held_back(guess: str) -> None:
    """Of a text that may be the beginning of a value as much is held back as of any other, and no line is."""
    other = Scrubber([VALUE]).feed(b"before " * 50 + b"~" * len(guess))
    assert len(Scrubber([VALUE]).feed(b"before " * 50 + guess.encode())) == len(other)
    assert Scrubber([VALUE]).feed(f"data: {guess}\n\n".encode()) == f"data: {guess}\n\n".encode()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"name": "not a name", "value": "abcd", "hosts": ["x.test"]}, ValueError),
        ({"name": "A", "value": "abc", "hosts": ["x.test"]}, ValueError),
        ({"name": "A", "value": "abc\r\nd", "hosts": ["x.test"]}, ValueError),
        ({"name": "A", "value": b"abcd", "hosts": ["x.test"]}, TypeError),
        ({"name": "A", "value": "abcd", "hosts": []}, TypeError),
        ({"name": "A", "value": "abcd", "hosts": "x.test"}, TypeError),
        ({"name": "A", "value": "abcd", "hosts": ["x..test"]}, ValueError),
        ({"name": "A", "value": "abcd", "hosts": ["x.test"], "header": "no colon"}, ValueError),
    ],
)
def test_misuse(arguments: dict[str, Any], error: type[Exception]) -> None:
    """What cannot be a secret is refused, without its value in the message."""
    with pytest.raises(error) as caught:
        Secret(**arguments)
    assert "abc" not in str(caught.value)


def test_never_shown() -> None:
    """The repr of a secret has no value."""
    assert VALUE not in repr(Secret("TOKEN", VALUE, hosts=["x.test"]))


def test_value_with_other_letters_in_parts() -> None:
    """A value with letters outside of ASCII, such as a tool's password, is found wherever it is cut."""
    data = "its größte-Straße is known".encode()
    for cut in range(len(data)):
        scrubber = Scrubber(["größte-Straße"])
        found = scrubber.feed(data[:cut]) + scrubber.feed(data[cut:]) + scrubber.finish()
        assert found == b"its " + b"*" * len("größte-Straße".encode()) + b" is known"
