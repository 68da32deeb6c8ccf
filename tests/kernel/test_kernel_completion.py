"""Completion from the live session."""

from __future__ import annotations

from typing import Any

import pytest


def complete(host: Any, text: str) -> tuple[list[str], int]:
    kind, answer = host.send("complete", text, len(text))
    assert kind == "answer"
    assert answer["end"] == len(text)
    return answer["matches"], answer["start"]


@pytest.mark.parametrize(
    ("text", "match", "start"),
    [
        ("val", "value", 0),
        ("x = val", "value", 4),
        ("print(val", "value", 6),
        ("pri", "print", 0),
        ("whi", "while", 0),
        ("value.up", "upper", 6),
        ("value . up", "upper", 8),
        ("table['key'].up", "upper", 13),
        ("'a'.up", "upper", 4),
        ("thing.attr", "attribute", 6),
        ("thing.inner.re", "real", 12),
        ("table['k", "key", 7),
        ("table[", "'key'", 6),
        ("import js", "json", 7),
        ("import os, js", "json", 11),
        ("import xml.et", "xml.etree", 7),
        ("from js", "json", 5),
        ("from json import lo", "loads", 17),
        ("from os import path, sep, get", "getcwd", 26),
        ("function(al", "alpha=", 9),
        ("function(1, be", "beta=", 12),
        ("function(\n    al", "alpha=", 14),
        ("x = 1\nval", "value", 6),
        ("f(thing.attr", "attribute", 8),
        ("disp", "display", 0),
    ],
)
def test_match(host: Any, text: str, match: str, start: int) -> None:
    """Names, attributes, keys, modules and keyword arguments complete in their places."""
    host.run("value = 'v'\ntable = {'key': 'x', 5: 1}\ndef function(alpha, *, beta=1): ...")
    host.run(
        "class Thing:\n    def __init__(self):\n        self.attribute = 1; self.inner = 5\nthing = Thing()"
    )
    matches, at = complete(host, text)
    assert match in matches
    assert at == start


def test_nothing_is_run(host: Any) -> None:
    """Completing runs no property, no `__getattr__`, no `__dir__`, no call."""
    host.run(
        "ran = []\nclass Trap:\n    @property\n    def prop(self): ran.append('property')\n"
        "    def __getattr__(self, name): ran.append(name); raise AttributeError\n"
        "    def __dir__(self): ran.append('dir'); return []\n"
        "    def method(self): ran.append('call')\ntrap = Trap()"
    )
    assert "prop" in complete(host, "trap.")[0]
    complete(host, "trap.prop.")
    complete(host, "trap.nothing.")
    complete(host, "trap.method().")
    complete(host, "trap[")
    assert host.value("ran") == []


@pytest.mark.parametrize(
    "text", ["", "(", "'abc", "# val", "x.", "1.", "..", "a b c.", "[", "]", "\n\n", "f(]", "\ud800."]
)
def test_odd_text(host: Any, text: str) -> None:
    """Any text gives an answer; inside strings and comments nothing is offered."""
    matches, _ = complete(host, text)
    if text in ("'abc", "# val"):
        assert matches == []


def test_order(host: Any) -> None:
    """Names of the right case come first, private ones only when an underscore is typed."""
    host.run("aaB = aab = _aa = 1")
    assert complete(host, "aaB")[0][:2] == ["aaB", "aab"]
    assert "_aa" not in complete(host, "")[0]
    assert "_aa" in complete(host, "_a")[0]
