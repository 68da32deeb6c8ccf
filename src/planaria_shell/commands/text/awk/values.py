"""awk's values: numbers are float, strings str, input that may look like a number `Input`, unset None.

Conversions are POSIX's: a number that is an integer becomes text without a fraction, others by CONVFMT
(OFMT in print); text becomes the number that it begins with.
"""

from __future__ import annotations

import math
import re
from typing import Any

from planaria_shell.commands.text.awk.syntax import fatal

_NUMBER = re.compile(r"[ \t\n\r\f\v]*([+-]?(?:\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?))", re.ASCII)
_SPECIAL = re.compile(r"[ \t\n\r\f\v]*([+-](?:inf|nan))(?![A-Za-z0-9_.])", re.IGNORECASE)
_STRANGE = re.compile(r"[^0-9eE.+\- \t\n\r\f\v]")


class Input(str):
    """Text that came from outside: compared as a number when it looks like one (a "strnum")."""

    __slots__ = ()


class Regexp(str):
    """The value of `@/.../`: its source, which counts as an expression wherever one is wanted."""

    __slots__ = ()


class Array(dict[str, Any]):
    """An awk array: reading an element that is not there creates it."""

    __slots__ = ()

    def __missing__(self, key: str) -> None:
        self[key] = None

    def inner(self, key: str) -> Array:
        """The array that is the element `key`."""
        value = self.get(key)
        if value is None:
            value = self[key] = Array()
        elif not isinstance(value, Array):
            raise fatal(f'attempt to use scalar `["{key}"]\' as an array')
        return value


def text_number(text: str) -> float:
    """The number that a text begins with; 0 without one."""
    try:
        number = float(text)
    except ValueError:
        pass
    else:
        # float() also takes underscores, "nan", "infinity" and digits of other scripts.
        if number - number == 0.0 and "_" not in text and text.isascii():
            return number
    found = _NUMBER.match(text)
    if found:
        return float(found[1])
    special = _SPECIAL.match(text)
    return _special(special[1]) if special else 0.0


def _special(text: str) -> float:
    value = math.inf if text[1:].lower() == "inf" else math.nan
    return math.copysign(value, -1.0 if text[0] == "-" else 1.0)


def looks_numeric(text: str) -> float | None:
    """The number that a whole text is (with blanks around it), or None."""
    try:
        number = float(text)
    except ValueError:
        return None
    if number - number == 0.0:
        return None if "_" in text or not text.isascii() else number
    if _STRANGE.search(text):
        special = _SPECIAL.fullmatch(text.strip())
        return _special(special[1]) if special else None
    return number


def number(value: Any) -> float:
    """Any value as a number."""
    if value.__class__ is float:
        return value
    if value is None:
        return 0.0
    return text_number(value)


def truth(value: Any) -> bool:
    """Any value as a condition."""
    if value.__class__ is Input:
        found = looks_numeric(value)
        return bool(value) if found is None else found != 0.0
    return bool(value)


def number_text(value: float) -> str:
    """A number as text with the usual CONVFMT: integers plainly, others with six digits."""
    if value - value != 0.0:
        return special_text(value)
    if value == int(value):
        return str(int(value))
    return f"{value:.6g}"


def special_text(value: float) -> str:
    """Infinities and not-a-number as gawk shows them, always with a sign."""
    sign = "-" if math.copysign(1.0, value) < 0 else "+"
    return sign + ("nan" if value != value else "inf")
