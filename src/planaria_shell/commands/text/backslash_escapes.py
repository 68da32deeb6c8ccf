"""Backslash escapes of `echo -e` and `printf`."""

from __future__ import annotations

import re

from planaria_shell.toolkit.invocation import CommandError

__all__ = ["ESCAPES", "Stop", "escape", "escaped"]


ESCAPES = {
    "a": b"\a",
    "b": b"\b",
    "e": b"\x1b",
    "f": b"\f",
    "n": b"\n",
    "r": b"\r",
    "t": b"\t",
    "v": b"\v",
    "\\": b"\\",
}


class Stop(Exception):
    """`\\c`: no more output."""


def escape(text: str, at: int, zero_octal: bool) -> tuple[bytes, int]:
    """The bytes of the escape after the backslash at `at - 1`, and the position after it."""
    if at >= len(text):
        return b"\\", at
    letter = text[at]
    if letter in ESCAPES:
        return ESCAPES[letter], at + 1
    if letter == "c":
        raise Stop
    if letter == "x":
        match = re.compile(r"[0-9a-fA-F]{1,2}").match(text, at + 1)
        if match:
            return bytes([int(match[0], 16)]), match.end()
        return b"\\x", at + 1
    if not zero_octal and letter == '"':
        return b'"', at + 1
    if letter in "01234567":
        if zero_octal and letter != "0":
            match = None
        else:
            match = re.compile(r"[0-7]{1,3}").match(text, at + (letter == "0" and zero_octal))
        if match:
            return bytes([int(match[0], 8) & 255]), match.end()
        if zero_octal and letter == "0":
            return b"\0", at + 1
    if not zero_octal and letter in "uU":
        match = re.compile(r"[0-9a-fA-F]{4}" if letter == "u" else r"[0-9a-fA-F]{8}").match(text, at + 1)
        if match:
            return chr(int(match[0], 16)).encode(), match.end()
        raise CommandError("missing hexadecimal number in escape")
    return b"\\" + letter.encode("utf-8", "surrogateescape"), at + 1


def escaped(text: str, zero_octal: bool, out: bytearray) -> None:
    """Append a text with its escapes replaced; raises Stop at `\\c`, what came before is there."""
    at = 0
    while (found := text.find("\\", at)) >= 0:
        out += text[at:found].encode("utf-8", "surrogateescape")
        data, at = escape(text, found + 1, zero_octal)
        out += data
    out += text[at:].encode("utf-8", "surrogateescape")
