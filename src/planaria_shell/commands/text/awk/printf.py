"""printf and sprintf of awk."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from planaria_shell.commands.text.awk.syntax import fatal
from planaria_shell.commands.text.awk.values import Input, looks_numeric, number, number_text, special_text

_DIRECTIVE = re.compile(
    r"%(?P<position>\d+\$)?(?P<flags>[-+ #0']*)(?P<width>\*|\d+)?"
    r"(?:\.(?P<precision>\*|-?\d*))?[hlLqjzt]*(?P<kind>.)?",
    re.DOTALL,
)

_NO_DIGITS = re.compile(r"\.0*\Z")

#: A format in pieces: text as it is, or (directive without its letter, letter, stars, offset in the format).
_Piece = str | tuple[str, str, tuple[bool, bool], int, int]


@lru_cache(maxsize=1000)
def _pieces(template: str) -> tuple[_Piece, ...]:
    pieces: list[_Piece] = []
    at = 0
    while True:
        start = template.find("%", at)
        if start < 0:
            pieces.append(template[at:])
            return tuple(pieces)
        if start > at:
            pieces.append(template[at:start])
        found = _DIRECTIVE.match(template, start)
        assert found is not None
        at = found.end()
        kind = found["kind"]
        if kind == "%":
            pieces.append("%")
        elif kind is None or kind not in "dicouxXeEfFgGaAs":
            pieces.append(found[0])
        else:
            width, precision = found["width"] or "", found["precision"]
            directive = "%" + found["flags"].replace("'", "") + width
            directive += (
                "" if precision is None else "." + (precision if not precision.startswith("-") else "")
            )
            stars = (width == "*", precision == "*")
            position = int(found["position"][:-1]) if found["position"] else 0
            pieces.append((directive, kind, stars, at, position))


def format_values(template: str, values: Sequence[Any], text: Callable[[Any], str] = number_text) -> str:
    """The text of a format and its values; `text` converts those for %s. Raises AwkError."""
    parts: list[str] = []
    used = 0
    for piece in _pieces(template):
        if isinstance(piece, str):
            parts.append(piece)
            continue
        directive, kind, stars, end, position = piece
        needed = stars[0] + stars[1]
        if used + needed + 1 > len(values) and not position:
            raise fatal(
                f"not enough arguments to satisfy format string\n\t`{template}'\n\t{' ' * (end - 1)}"
                "^ ran out for this one"
            )
        for star in stars:
            if star:
                size = int(number(values[used]))
                used += 1
                if directive.rindex("*") != directive.index("*") or not directive.endswith(".*"):
                    # A negative width means left.
                    directive = directive.replace("*", str(size), 1)
                    if size < 0:
                        directive = directive.replace(str(size), "-" + str(-size), 1)
                else:
                    directive = directive[:-2] + (f".{size}" if size >= 0 else "")
        if position:
            value = values[position - 1] if position <= len(values) else None
        else:
            value = values[used]
            used += 1
        parts.append(_one(directive, kind, value, text))
    return "".join(parts)


def _one(directive: str, kind: str, value: Any, text: Callable[[Any], str]) -> str:
    if kind == "s":
        shown = text(value)
        return shown if directive == "%" else _pad(directive, shown)
    if kind == "c":
        return _pad(directive.partition(".")[0], _character(value))
    amount = number(value)
    if amount - amount != 0.0:
        # In no field of a width.
        return special_text(amount)
    if kind in "di":
        if not amount and _NO_DIGITS.search(directive):
            return _pad(directive.partition(".")[0], "")
        return (directive + "d") % int(amount)
    if kind in "ouxX":
        whole = int(amount)
        if not whole:
            # Zero has no prefix, and with a precision of zero no digits.
            plain = "#" in directive
            if not plain and _NO_DIGITS.search(directive):
                return _pad(directive.partition(".")[0], "")
            directive = directive.replace("#", "")
            return ((directive.partition(".")[0] if plain else directive) + "d") % 0
        if whole < 0:
            whole += 1 << 64
        if kind == "u":
            return (directive.replace("+", "").replace(" ", "") + "d") % whole
        if "#" in directive and kind == "o":
            return _octal(directive, whole)
        return (directive + kind) % whole
    if kind in "aA":
        shown = re.sub(r"\.?0*p", "p", amount.hex())
        return _pad(directive.partition(".")[0], shown if kind == "a" else shown.upper())
    return (directive + kind) % amount


def _octal(directive: str, whole: int) -> str:
    """An octal number that begins with 0, as `%#o` asks for."""
    directive, point, precision = directive.replace("#", "").partition(".")
    shown = "0" + format(whole, "o")
    if point:
        shown = shown[1:].rjust(int(precision or 0), "0") if int(precision or 0) >= len(shown) else shown
    found = re.match(r"%([-+ 0]*)(\d*)", directive)
    assert found is not None
    if "0" in found[1] and "-" not in found[1] and not point:
        shown = shown.rjust(int(found[2] or 0), "0")
    return _pad(directive, shown)


def _pad(directive: str, shown: str) -> str:
    found = re.match(r"%([-+ #0]*)(\d*)(?:\.(\d*))?", directive)
    assert found is not None
    if found[3] is not None:
        shown = shown[: int(found[3] or 0)]
    width = int(found[2] or 0)
    return shown.ljust(width) if "-" in found[1] else shown.rjust(width)


def _character(value: Any) -> str:
    amount = value if value.__class__ is float else looks_numeric(value) if value.__class__ is Input else None
    if amount is None:
        # What is empty or unset is a NUL, as in C.
        return value[:1] if value else "\0"
    code = int(amount) if amount - amount == 0.0 else 0
    if 0 <= code < 0x110000:
        return chr(code)
    low = code & 0xFF
    return chr(low if low < 128 else 0xDC00 + low)
