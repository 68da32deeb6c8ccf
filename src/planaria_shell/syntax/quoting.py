"""Writing text so that the shell reads it back as the same text."""

from __future__ import annotations

import re

__all__ = [
    "double_quoted",
    "plainly_quoted",
    "printf_quoted",
    "single_quoted",
    "trace_quoted",
    "value_quoted",
    "without_quotes",
]

_SAFE = re.compile(r"[A-Za-z0-9_@%+=:,./\-]+\Z")
_PRINTF_SPECIAL = re.compile(r"[^A-Za-z0-9_@%+=:./\-~#]|(?:^|(?<=[:=]))~|^#")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\udc80-\udcff]")
_DOUBLE_SPECIAL = re.compile(r'(["\\$`])')
_PLAIN_VALUE = re.compile(r"[A-Za-z0-9_@%+:,./=^\-\u00a0-\ud7ff\ue000-\U0010ffff]*\Z")
#: What the shell would not read as itself.
_META = re.compile(r"[ \t\n'\"\\|&;()<>!{}*\[?\]^$`]|(?:^|[:=])~|(?:^|[ \t\n])#")
_ANSI = {
    "\a": "\\a", "\b": "\\b", "\x1b": "\\E", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v",
    "'": "\\'", "\\": "\\\\",
}  # fmt: skip


def _ansi_quoted(text: str) -> str:
    pieces: list[str] = []
    for char in text:
        named = _ANSI.get(char)
        if named is not None:
            pieces.append(named)
        elif _CONTROL.match(char):
            pieces += [f"\\{byte:03o}" for byte in char.encode("utf-8", "surrogateescape")]
        else:
            pieces.append(char)
    return "$'" + "".join(pieces) + "'"


def single_quoted(text: str) -> str:
    """As `${x@Q}` writes it: always quoted."""
    return _ansi_quoted(text) if _CONTROL.search(text) else plainly_quoted(text)


def plainly_quoted(text: str) -> str:
    """Between single quotes, whatever is in it."""
    return "'" + text.replace("'", "'\\''") + "'"


def printf_quoted(text: str) -> str:
    """As `printf %q` writes it: a backslash before what is special."""
    if not text:
        return "''"
    if _CONTROL.search(text):
        return _ansi_quoted(text)

    def escape(match: re.Match[str]) -> str:
        char = match.group()
        return char if ord(char) > 0x7F else "\\" + char

    return _PRINTF_SPECIAL.sub(escape, text)


def double_quoted(text: str) -> str:
    """As `declare -p` writes a value."""
    if _CONTROL.search(text):
        return _ansi_quoted(text)
    return '"' + _DOUBLE_SPECIAL.sub(r"\\\1", text) + '"'


def value_quoted(text: str) -> str:
    """As `set` and `set -x` write a value: quoted only when it must be."""
    if _PLAIN_VALUE.match(text):
        return text
    return single_quoted(text)


def trace_quoted(text: str) -> str:
    """As `set -x` writes a word."""
    if not text:
        return "''"
    if _META.search(text):
        return "\\'" if text == "'" else "'" + text.replace("'", "'\\''") + "'"
    return _ansi_quoted(text) if _CONTROL.search(text) else text


_QUOTED = re.compile(r"""\\(.)|'([^']*)'|"((?:[^"\\]|\\.)*)\"""", re.DOTALL)


def without_quotes(source: str) -> str:
    """A word after quote removal alone, whatever else is in it."""

    def bare(match: re.Match[str]) -> str:
        escaped, single, double = match.groups()
        if escaped is not None:
            return "" if escaped == "\n" else escaped
        return single if single is not None else re.sub(r'\\(["$`\\])', r"\1", double)

    return _QUOTED.sub(bare, source)
