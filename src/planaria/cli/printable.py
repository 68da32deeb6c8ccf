"""Text of strangers on a terminal."""

from __future__ import annotations

__all__ = ["printable"]


def printable(text: str) -> str:
    """A line with what a terminal would act upon, such as escape sequences, written as `\\x1b`."""
    return "".join(
        one if one.isprintable() else one.encode("unicode_escape", "surrogatepass").decode("ascii")
        for one in text
    )
