"""JSON text from values, laid out byte for byte as jq does."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from planaria_shell.commands.data.jq.values import Literal, format_number, kind

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r", "\b": "\\b", "\f": "\\f"}
_TO_ESCAPE = re.compile(r'["\\\x00-\x1f\x7f]')
_TO_ESCAPE_ASCII = re.compile(r'["\\\x00-\x1f\x7f-\U0010ffff]')


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    short = _ESCAPES.get(character)
    if short is not None:
        return short
    code = ord(character)
    if code > 0xFFFF:
        code -= 0x10000
        return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
    return f"\\u{code:04x}"


def quote(text: str) -> str:
    """A string as a JSON string."""
    return '"' + (_TO_ESCAPE.sub(_escape, text) if _TO_ESCAPE.search(text) else text) + '"'


def quote_ascii(text: str) -> str:
    """A string as a JSON string of ASCII characters only."""
    return '"' + _TO_ESCAPE_ASCII.sub(_escape, text) + '"'


@dataclass(frozen=True, slots=True)
class Colors:
    """The escape sequences of `-C`, by kind (the fields of JQ_COLORS)."""

    null: str = "1;30"
    false: str = "0;39"
    true: str = "0;39"
    numbers: str = "0;39"
    strings: str = "0;32"
    arrays: str = "1;39"
    objects: str = "1;39"
    keys: str = "34;1"

    @staticmethod
    def parse(text: str) -> Colors:
        """Colours from the value of JQ_COLORS; what is not given or malformed keeps its default."""
        names = ("null", "false", "true", "numbers", "strings", "arrays", "objects", "keys")
        given = text.split(":") if text else []
        if not all(re.fullmatch(r"[0-9;]*", part) for part in given):
            return Colors()
        return Colors(**dict(zip(names, given, strict=False)))


@dataclass(slots=True)
class Writer:
    """Turns values into text. `indent` None means compact, "" means one line per item without indentation."""

    indent: str | None = "  "
    sort_keys: bool = False
    ascii_only: bool = False
    colors: Colors | None = None
    _quote: Callable[[str], str] = field(init=False)

    def __post_init__(self) -> None:
        self._quote = quote_ascii if self.ascii_only else quote

    def write(self, value: Any) -> str:
        """The text of a value, without a newline at the end."""
        if type(value) is str and self.colors is None:
            return self._quote(value)
        pieces: list[str] = []
        if self.colors is not None:
            self._colored(value, pieces, "\n", self.colors)
        elif self.indent is None:
            self._compact(value, pieces)
        else:
            self._indented(value, pieces, "\n")
        return "".join(pieces)

    def _scalar(self, value: Any) -> str:
        if value is None:
            return "null"
        if value is True:
            return "true"
        if value is False:
            return "false"
        if isinstance(value, str):
            return self._quote(value)
        return format_number(value)

    def _compact(self, value: Any, pieces: list[str]) -> None:
        kind_ = type(value)
        if kind_ is dict:
            if not value:
                pieces.append("{}")
                return
            separator = "{"
            quoted = self._quote
            for key in sorted(value) if self.sort_keys else value:
                item = value[key]
                kind_ = type(item)
                if kind_ is str:
                    pieces.append(f"{separator}{quoted(key)}:{quoted(item)}")
                elif kind_ is int:
                    pieces.append(f"{separator}{quoted(key)}:{item}")
                else:
                    pieces.append(f"{separator}{quoted(key)}:")
                    self._compact(item, pieces)
                separator = ","
            pieces.append("}")
        elif kind_ is list:
            if not value:
                pieces.append("[]")
                return
            separator = "["
            for item in value:
                pieces.append(separator)
                self._compact(item, pieces)
                separator = ","
            pieces.append("]")
        elif kind_ is int:
            pieces.append(str(value))
        else:
            pieces.append(self._scalar(value))

    def _indented(self, value: Any, pieces: list[str], newline: str) -> None:
        kind_ = type(value)
        if kind_ is dict:
            if not value:
                pieces.append("{}")
                return
            inner = newline + (self.indent or "")
            separator = "{" + inner
            following = "," + inner
            quoted = self._quote
            for key in sorted(value) if self.sort_keys else value:
                item = value[key]
                kind_ = type(item)
                if kind_ is str:
                    pieces.append(f"{separator}{quoted(key)}: {quoted(item)}")
                elif kind_ is int:
                    pieces.append(f"{separator}{quoted(key)}: {item}")
                else:
                    pieces.append(f"{separator}{quoted(key)}: ")
                    self._indented(item, pieces, inner)
                separator = following
            pieces.append(newline + "}")
        elif kind_ is list:
            if not value:
                pieces.append("[]")
                return
            inner = newline + (self.indent or "")
            separator = "[" + inner
            following = "," + inner
            for item in value:
                pieces.append(separator)
                self._indented(item, pieces, inner)
                separator = following
            pieces.append(newline + "]")
        elif kind_ is int:
            pieces.append(str(value))
        else:
            pieces.append(self._scalar(value))

    def _colored(self, value: Any, pieces: list[str], newline: str, colors: Colors) -> None:
        """The layout of jq 1.7.1: each bracket and separator is inside the container's colour."""
        reset = "\x1b[0m"
        if not isinstance(value, (list, dict)):
            if isinstance(value, bool):
                color = colors.true if value else colors.false
            else:
                color = {"null": colors.null, "number": colors.numbers, "string": colors.strings}[kind(value)]
            pieces.append(f"\x1b[{color}m{self._scalar(value)}{reset}")
            return
        array = isinstance(value, list)
        start = f"\x1b[{colors.arrays if array else colors.objects}m"
        opening, closing = "[]" if array else "{}"
        if not value:
            pieces.append(f"{start}{opening}{closing}" + reset)
            return
        inner = "" if self.indent is None else newline + self.indent
        outer = "" if self.indent is None else newline
        pieces.append(start + opening)
        first = True
        keys: Any = range(len(value)) if array else sorted(value) if self.sort_keys else value
        for key in keys:
            if not first:
                pieces.append(f"{start},")
            pieces.append(inner)
            if not array:
                space = "" if self.indent is None else " "
                pieces.append(f"{reset}\x1b[{colors.keys}m{self._quote(key)}{reset}{start}:{space}{reset}")
            self._colored(value[key], pieces, newline + (self.indent or ""), colors)
            first = False
        pieces.append(f"{start}{outer}{start}{closing}{reset}")


_PLAIN = Writer(indent=None)


def to_json(value: Any) -> str:
    """The compact text of a value (`tojson`)."""
    if type(value) is str:
        return quote(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value.text if type(value) is Literal and value.text.isdigit() else format_number(value)
    return _PLAIN.write(value)
