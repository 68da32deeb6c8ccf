"""Which substitutions stand in the words of a command."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from planaria_shell.syntax.nodes import (
    Arithmetic,
    Assignment,
    DoubleQuoted,
    Parameter,
    ProcessSubstitution,
    Redirect,
    Substitution,
    Word,
)

__all__ = ["has_process", "has_substitution"]

_PROCESS = re.compile(r"[<>]\(")


def _walk(value: object) -> Any:
    """All nodes in a piece of syntax that belong to its own words (not to programs in them)."""
    if isinstance(value, list | tuple):
        for item in value:
            yield from _walk(item)
    elif isinstance(value, (Word, DoubleQuoted)):
        yield from _walk(value.parts)
    elif isinstance(value, Assignment):
        yield from _walk([value.value, value.subscript, value.elements])
    elif isinstance(value, Redirect):
        yield from _walk(value.target)
    elif isinstance(value, Parameter):
        yield from _walk([value.subscript, value.argument, value.second])
    elif isinstance(value, Arithmetic):
        yield from _walk(value.expression)
    elif isinstance(value, Substitution | ProcessSubstitution):
        yield value
    elif value is not None and hasattr(value, "value") and hasattr(value, "subscript"):
        yield from _walk([value.value, value.subscript])


def has_process(items: Iterable[Word | Assignment | Redirect]) -> bool:
    """Whether there is a process substitution among the words."""
    for item in items:
        if _PROCESS.search(_source(item)) and any(
            isinstance(one, ProcessSubstitution) for one in _walk(item)
        ):
            return True
    return False


def has_substitution(items: Iterable[Word | Assignment | Redirect]) -> bool:
    """Whether there is a command substitution among the words."""
    for item in items:
        source = _source(item)
        if ("$(" in source or "`" in source) and any(isinstance(one, Substitution) for one in _walk(item)):
            return True
    return False


def _source(item: Word | Assignment | Redirect) -> str:
    return item.target.source if isinstance(item, Redirect) else item.source
