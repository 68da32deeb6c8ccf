"""The keys of all lines at once: cut out by one expression, read as numbers by the interpreter's own loops.

What is not of a common shape (an offset in characters, numbers among words) is left to the functions for one
line in `sort_keys.py`; both give the same order.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

__all__ = ["column_pattern", "cut_column", "general_column", "numeric_column"]

#: What whole numbers and decimal ones that both Python and sort(1) read the same way consist of.
_INTEGER = b"0123456789- \t\n"
_DECIMAL = b"0123456789.- \t\n"
_GENERAL = b"0123456789.eE+- \t\n"
#: Decimal numbers of at most this many characters differ as floats whenever they differ.
_EXACT = 15
#: An expression spells out each field.
_MOST_FIELDS = 100


def column_pattern(
    first: int, last: int | None, separator: bytes | None, skip_blanks: bool
) -> re.Pattern[bytes] | None:
    """An expression whose group, at the start of each line of a text, is the fields `first` to `last`.

    Fields are counted from 0; `last` is None for the rest of the line. None when there is no such expression.
    """
    if separator is None:
        field, skipped, blanks = rb"[ \t]*+[^ \t\n]*+", b"[ \t]*+", True
    elif separator in (b"\n", b" ", b"\t") and skip_blanks:
        return None
    else:
        other = rb"[^\n" + re.escape(separator) + b"]*+"
        field, skipped, blanks = re.escape(separator) + other, b"[ \t]*+", False
    if max(first, last or 0) > _MOST_FIELDS or (last is not None and last < first):
        return None
    before = field * first if blanks else (other + re.escape(separator or b"")) * first
    if last is None:
        wanted = rb"[^\n]*+"
    elif blanks:
        wanted = (rb"[^ \t\n]*+" if skip_blanks else field) + field * (last - first)
    else:
        wanted = other + b"".join([b"(?:" + field] * (last - first)) + b")?+" * (last - first)
    wanted = (skipped if skip_blanks else b"") + b"(" + wanted + b")"
    wanted = before + wanted
    if not blanks and first:
        # A line with fewer fields has an empty key.
        wanted = b"(?:" + wanted + b")?+"
    return re.compile(b"^" + wanted + rb"[^\n]*+\n?+", re.MULTILINE)


def cut_column(pattern: re.Pattern[bytes], lines: list[bytes]) -> list[bytes]:
    """The group of the pattern in each line."""
    found: list[bytes] = pattern.findall(b"\n".join(lines))
    return found


def numeric_column(texts: list[bytes], one: Callable[[bytes], Any]) -> list[Any]:
    """The number at the start of each text, 0 without one; `one` reads what is not plainly a number."""
    rest = b"\n".join(texts).translate(None, _INTEGER)
    try:
        if not rest:
            return list(map(int, texts))
        if not rest.strip(b".") and max(map(len, texts)) <= _EXACT:
            return list(map(float, texts))
    except ValueError:
        pass
    return list(map(one, texts))


def general_column(texts: list[bytes], one: Callable[[bytes], Any]) -> list[Any]:
    """The same for floating-point numbers in any notation."""
    if not b"\n".join(texts).translate(None, _GENERAL):
        try:
            return list(map(float, texts))
        except ValueError:
            pass
    return list(map(one, texts))
