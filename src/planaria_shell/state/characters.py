"""Characters as the locale has them: in that of C each byte is one, and a letter has one of the other case.

Invalid bytes are surrogates in Python's texts, so a text by bytes is a text as well.
"""

from __future__ import annotations

__all__ = ["by_bytes", "by_characters", "lower_case", "swapped_case", "upper_case"]


def by_bytes(text: str) -> str:
    """The text with each byte of a character that has several as a character of its own."""
    return (
        text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("ascii", "surrogateescape")
    )


def by_characters(text: str) -> str:
    """The text as it is elsewhere, with bytes put together that make a character."""
    return (
        text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
    )


def upper_case(text: str) -> str:
    """The text in capitals. What has no single one (ß) stays as it is."""
    return text.upper() if text.isascii() else "".join(_other(char, char.upper()) for char in text)


def lower_case(text: str) -> str:
    """The text in small letters."""
    return text.lower() if text.isascii() else "".join(_other(char, char.lower()) for char in text)


def swapped_case(text: str) -> str:
    """The text with capitals for small letters and small letters for capitals."""
    return text.swapcase() if text.isascii() else "".join(_other(char, char.swapcase()) for char in text)


def _other(char: str, changed: str) -> str:
    return changed if len(changed) == 1 else char
