"""Characters as the locale has them: in that of C each byte is one.

Invalid bytes are surrogates in Python's texts, so a text by bytes is a text as well.
"""

from __future__ import annotations

__all__ = ["by_bytes", "by_characters"]


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
