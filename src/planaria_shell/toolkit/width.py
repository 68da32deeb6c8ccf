"""How many columns of a terminal a text takes."""

from __future__ import annotations

import unicodedata

__all__ = ["character_width", "display_width"]


def character_width(character: str) -> int:
    """The columns of one character: 0 for combining and control characters, 2 for wide ones."""
    if character.isascii():
        return 1 if character >= " " and character != "\x7f" else 0
    category = unicodedata.category(character)
    if category in ("Mn", "Me", "Cf", "Cc", "Cs"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def display_width(text: str) -> int:
    """The columns of a text without tabs and newlines."""
    if text.isascii() and text.isprintable():
        return len(text)
    return sum(map(character_width, text))
