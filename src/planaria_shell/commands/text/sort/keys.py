"""What sort(1) orders lines by: keys, the parts of a line they take and how those compare."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from typing import Any

from planaria_shell.commands.text.sort.columns import (
    column_pattern,
    cut_column,
    general_column,
    numeric_column,
)
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import quote
from planaria_shell.toolkit.version_order import version_key

__all__ = ["LETTERS", "Key", "Order", "Ordering", "parse_key"]

_BLANKS = re.compile(rb"[ \t\n]*")

_NUMBER = re.compile(rb"[ \t\n]*(-?)([0-9]*)(\.?)([0-9]*)([KkMGTPEZYRQ]?)")

_GENERAL = re.compile(
    rb"[ \t\n\v\f\r]*([+-]?(?:0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)(?:[pP][+-]?\d+)?"
    rb"|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|inf(?:inity)?|nan))",
    re.IGNORECASE,
)

_MONTHS = {
    name: number
    for number, name in enumerate(
        (b"JAN", b"FEB", b"MAR", b"APR", b"MAY", b"JUN", b"JUL", b"AUG", b"SEP", b"OCT", b"NOV", b"DEC"), 1
    )
}

_SUFFIXES = {suffix: power for power, suffix in enumerate(b"KMGTPEZYRQ", 1)} | {ord("k"): 1, None: 0}

_NOT_DICTIONARY = bytes(b for b in range(256) if not (bytes([b]).isalnum() or b in b" \t"))

_NOT_PRINTABLE = bytes(b for b in range(256) if not 32 <= b < 127)


_UPPER = bytes(range(256)).upper()

#: Python reads whole numbers of more digits than this as Decimal only.
_LONG = 4000
#: A field that no line has: more than a regular expression counts.
_LARGEST = 1 << 30

_KeyFunction = Callable[[bytes], Any]
_ColumnFunction = Callable[[list[bytes]], list[Any]]


@dataclass(slots=True)
class Ordering:
    """How the text of a key is compared."""

    kinds: set[str] = field(default_factory=set)  # of n g h M R V d i f
    reverse: bool = False
    skip_start: bool = False
    skip_end: bool = False

    @property
    def is_default(self) -> bool:
        return not (self.kinds or self.reverse or self.skip_start or self.skip_end)

    def add(self, letter: str, blanks: str = "both") -> None:
        if letter == "r":
            self.reverse = True
        elif letter == "b":
            self.skip_start |= blanks in ("both", "start")
            self.skip_end |= blanks in ("both", "end")
        else:
            self.kinds.add(letter)

    def check(self) -> None:
        exclusive = [letter for letter in "ghnMRV" if letter in self.kinds]
        if len(exclusive) > 1 or (set("ghnM") & self.kinds and set("di") & self.kinds):
            # `d` has what `i` does in it.
            kinds = self.kinds - {"i"} if "d" in self.kinds else self.kinds
            shown = "".join(letter for letter in "dfghinMRV" if letter in kinds)
            raise UsageError(f"options '-{shown}' are incompatible", hint=False)


@dataclass(slots=True)
class Key:
    ordering: Ordering
    first_field: int = 0
    first_character: int = 0
    last_field: int | None = None  # None: to the end of the line
    last_character: int = 0  # 0: to the end of the field


LETTERS = "bdfghiMnRrV"


def parse_key(text: str) -> Key:
    """A key definition `F[.C][OPTS][,F[.C][OPTS]]`."""

    def bad(problem: str) -> UsageError:
        return UsageError(f"{problem}: invalid field specification {quote(text)}", hint=False)

    def count(at: int, what: str) -> tuple[int, int]:
        match = re.compile(r"\d+").match(text, at)
        if match is None:
            raise UsageError(f"{what}: invalid count at start of {quote(text[at:])}", hint=False)
        return min(int(match[0]), _LARGEST), match.end()

    key = Key(Ordering())
    number, at = count(0, "invalid number at field start")
    if not number:
        raise bad("field number is zero")
    key.first_field = number - 1
    if text[at : at + 1] == ".":
        number, at = count(at + 1, "invalid number after '.'")
        if not number:
            raise bad("character offset is zero")
        key.first_character = number - 1
    while at < len(text) and text[at] in LETTERS:
        key.ordering.add(text[at], "start")
        at += 1
    if text[at : at + 1] == ",":
        number, at = count(at + 1, "invalid number after ','")
        if not number:
            raise bad("field number is zero")
        key.last_field = number - 1
        if text[at : at + 1] == ".":
            key.last_character, at = count(at + 1, "invalid number after '.'")
        while at < len(text) and text[at] in LETTERS:
            key.ordering.add(text[at], "end")
            at += 1
    if at < len(text):
        raise bad("stray character in field spec")
    return key


def _fields_of_blanks(number: int) -> Callable[[bytes], int]:
    """Where `number` fields end when fields are separated by the turn from non-blank to blank."""
    if not number:
        return lambda line: 0
    match = re.compile(rb"(?:[ \t\n]*+[^ \t\n]++){%d}" % number).match

    def end(line: bytes) -> int:
        found = match(line)
        return found.end() if found else len(line)

    return end


def _extractor(key: Key, separator: bytes | None) -> _KeyFunction | None:
    """A function that cuts the key's text out of a line, None when it is the whole line."""
    plain = not (key.first_character or key.last_character or key.ordering.skip_start)
    if separator is not None and plain and key.last_field == key.first_field:
        return _one_field(key.first_field, separator)
    begin = _begin(key, separator)
    end = _end(key, separator)
    if begin is None and end is None:
        return None
    if end is None:
        assert begin is not None
        start = begin
        return lambda line: line[start(line) :]
    stop = end
    if begin is None:
        return lambda line: line[: stop(line)]
    start_of = begin
    return lambda line: line[start_of(line) : stop(line)]


def _one_field(number: int, separator: bytes) -> _KeyFunction:
    """The common `-t, -k2,2`: one whole field."""
    limit = number + 1

    def field_of(line: bytes) -> bytes:
        fields = line.split(separator, limit)
        return fields[number] if number < len(fields) else b""

    return field_of


def _begin(key: Key, separator: bytes | None) -> Callable[[bytes], int] | None:
    skip = key.ordering.skip_start
    offset = key.first_character
    number = key.first_field
    if not (number or offset or skip):
        return None
    if separator is None:
        base = _fields_of_blanks(number)
    else:
        sep = separator

        def base(line: bytes) -> int:
            at = 0
            for _ in range(number):
                at = line.find(sep, at)
                if at < 0:
                    return len(line)
                at += 1
            return at

    if not (skip or offset):
        return base

    def begin(line: bytes) -> int:
        at = base(line)
        if skip:
            at = _BLANKS.match(line, at).end()  # type: ignore[union-attr]
        return min(at + offset, len(line))

    return begin


def _end(key: Key, separator: bytes | None) -> Callable[[bytes], int] | None:
    if key.last_field is None:
        return None
    number = key.last_field
    characters = key.last_character
    whole = characters == 0
    if whole:
        number += 1
    if separator is None:
        base = _fields_of_blanks(number)
    else:
        sep = separator

        def base(line: bytes) -> int:
            at = 0
            for left in range(number, 0, -1):
                at = line.find(sep, at)
                if at < 0:
                    return len(line)
                if left > 1 or not whole:
                    at += 1
            return at

    if whole:
        return base
    skip = key.ordering.skip_end

    def end(line: bytes) -> int:
        at = base(line)
        if skip:
            at = _BLANKS.match(line, at).end()  # type: ignore[union-attr]
        return min(at + characters, len(line))

    return end


def _numeric(text: bytes) -> Any:
    """The number at the start of a text, exactly; 0 without one."""
    if text.isdigit() and len(text) < _LONG:
        return int(text)
    match = _NUMBER.match(text)
    sign, whole, _, fraction, _ = match.groups()  # type: ignore[union-attr]
    if fraction:
        number: Any = Decimal((whole + b"." + fraction).decode())
    elif whole:
        number = int(whole) if len(whole) < _LONG else Decimal(whole.decode())
    else:
        return 0
    return -number if sign else number


def _human(text: bytes) -> tuple[int, Any]:
    match = _NUMBER.match(text)
    sign, whole, _, fraction, suffix = match.groups()  # type: ignore[union-attr]
    number = _numeric(text)
    if not number:
        return (0, 0)
    power = _SUFFIXES[suffix[0]] if suffix and (whole or fraction) else 0
    return (-power if sign else power, number) if power else (0, number)


def _general(text: bytes) -> tuple[int, float]:
    """What strtold(3) reads; strings that are not numbers come first, then NaN."""
    match = _GENERAL.match(text)
    if match is None:
        return (0, 0.0)
    number = match[1].decode()
    value = float.fromhex(number) if "x" in number.lower() else float(number)
    return (1, 0.0) if value != value else (2, value)


def _month(text: bytes) -> int:
    return _MONTHS.get(text.lstrip(b" \t\n")[:3].upper(), 0)


def _transform(ordering: Ordering, salt: bytes) -> _KeyFunction | None:
    """How a key's text becomes a value that compares in the right order; None: as it is."""
    kinds = ordering.kinds
    value: _KeyFunction | None = None
    for letter, function in (
        ("n", _numeric),
        ("g", _general),
        ("h", _human),
        ("M", _month),
        ("V", version_key),
    ):
        if letter in kinds:
            value = function
    if kinds & set("ngh"):
        return value
    table = _UPPER if "f" in kinds else None
    delete = b""
    if "d" in kinds:
        # It leaves out what `i` does, but not tabs.
        delete = _NOT_DICTIONARY
    elif "i" in kinds:
        delete = _NOT_PRINTABLE
    if "R" in kinds:
        value = lambda text: hashlib.blake2b(text, key=salt, digest_size=16).digest()  # noqa: E731
    if table is None and not delete:
        return value
    if value is None:
        return lambda text: text.translate(table, delete)
    then = value
    return lambda text: then(text.translate(table, delete))


def _compose(first: _KeyFunction | None, second: _KeyFunction | None) -> _KeyFunction | None:
    if first is None or second is None:
        return first or second
    inner, outer = first, second
    return lambda line: outer(inner(line))


def _column(
    key: Key, separator: bytes | None, one: _KeyFunction | None, salt: bytes
) -> _ColumnFunction | None:
    """A function that gives the values of the key for all lines at once; None: each line is its own key."""
    if one is None:
        return None
    each = one
    ordering = key.ordering
    kinds = ordering.kinds & set("nghMV") or ordering.kinds & {"R"}
    # A number skips blanks itself.
    skips = ordering.skip_start and not kinds & set("ngh")
    plain = not (key.first_character or key.last_character or ordering.kinds & set("di"))
    pattern: re.Pattern[bytes] | None = None
    if plain and (key.first_field or key.last_field is not None or skips):
        pattern = column_pattern(key.first_field, key.last_field, separator, skips)
        plain = pattern is not None
    if not plain:
        return lambda lines: list(map(each, lines))
    transform = _transform(ordering, salt)

    def column(lines: list[bytes]) -> list[Any]:
        texts = lines if pattern is None else cut_column(pattern, lines)
        if transform is None:
            return texts
        if "n" in kinds:
            return numeric_column(texts, transform)
        if "g" in kinds:
            return general_column(texts, transform)
        if not kinds:  # only -f
            return b"\n".join(texts).translate(_UPPER).split(b"\n")
        return list(map(transform, texts))

    return column


@dataclass(slots=True)
class _Pass:
    """One pass of sorting: by the key of one line, or of all at once (None: the line itself)."""

    key: _KeyFunction | None
    column: _ColumnFunction | None
    reverse: bool


class Order:
    """The complete order of lines: passes, the most significant first.

    Python's sort is stable, so lines are sorted by the least significant key first. The lines may hold a
    newline when they end in another byte (`newlines`).
    """

    def __init__(
        self,
        keys: list[Key],
        separator: bytes | None,
        last_resort: bool,
        reverse: bool,
        salt: bytes,
        newlines: bool = False,
    ):
        self.passes: list[_Pass] = []
        for key in keys:
            one = _compose(_extractor(key, separator), _transform(key.ordering, salt))
            column = _column(key, separator, one, salt)
            if newlines and one is not None:
                each = one
                column = lambda lines, each=each: list(map(each, lines))  # noqa: E731
            self.passes.append(_Pass(one, column, key.ordering.reverse))
        self.by_key = len(self.passes)
        if last_resort:
            self.passes.append(_Pass(None, None, reverse))

    def sort(self, lines: list[bytes]) -> list[bytes]:
        """The lines in order."""
        first = self.passes[0] if self.passes else None
        if len(self.passes) == 2 and first is not None and first.column is not None:
            values = first.column(lines)
            if len(set(values)) == len(values):
                # The key alone distinguishes all lines.
                return _sorted(lines, values, first.reverse)
        for one in reversed(self.passes):
            if one.column is None:
                lines = sorted(lines, reverse=one.reverse)
            else:
                lines = _sorted(lines, one.column(lines), one.reverse)
        return lines

    def compare(self, first: bytes, second: bytes) -> int:
        """Negative, zero or positive as `first` comes before, with or after `second`."""
        for one in self.passes:
            function = one.key
            a, b = (function(first), function(second)) if function else (first, second)
            if a != b:
                return (1 if a > b else -1) * (-1 if one.reverse else 1)
        return 0

    def without_repeats(self, lines: list[bytes]) -> list[bytes]:
        """Of sorted lines, the first of each run whose keys are all equal."""
        columns = [one.column for one in self.passes[: self.by_key]]
        if not columns or None in columns:
            return [line for line, _ in itertools.groupby(lines)]
        values = [column(lines) for column in columns if column is not None]
        kept = lines[:1]
        for place in range(1, len(lines)):
            for value in values:
                if value[place] != value[place - 1]:
                    kept.append(lines[place])
                    break
        return kept


def _sorted(lines: list[bytes], values: list[Any], reverse: bool) -> list[bytes]:
    """The lines in the order of the values that stand at the same places."""
    # Keys are asked for in order, each once; the line is only what `next` would give at the end.
    return sorted(lines, key=partial(next, iter(values)), reverse=reverse)
