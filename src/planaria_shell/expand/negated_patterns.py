"""Extended patterns with `!(…)` in them, which no regular expression stands for.

What `!(a|b)` matches is any text that neither alternative matches as a whole, wherever it ends; so these
patterns are matched by following the sets of places that each piece can end at.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

__all__ = ["Found", "NegatedPattern"]

#: A piece: from a text, a place in it and where the text ends to the places where a match can end.
Piece = Callable[[str, int, int], "set[int]"]


class Found:
    """What was matched."""

    __slots__ = ("_end", "_start", "_text")

    def __init__(self, text: str, start: int, end: int) -> None:
        self._text = text
        self._start = start
        self._end = end

    def start(self) -> int:
        return self._start

    def end(self) -> int:
        return self._end

    def group(self) -> str:
        return self._text[self._start : self._end]


class NegatedPattern:
    """A pattern with the methods of a regular expression that patterns are used with."""

    def __init__(self, pieces: list[Piece], *, shortest: bool) -> None:
        self._pieces = pieces
        self._choose: Callable[[Iterable[int]], int] = min if shortest else max

    def ends(self, text: str, start: int, end: int) -> set[int]:
        """All places where a match that begins at `start` can end."""
        places = {start}
        for piece in self._pieces:
            places = {found for place in places for found in piece(text, place, end)}
            if not places:
                break
        return places

    def fullmatch(self, text: str, start: int = 0, end: int | None = None) -> Found | None:
        stop = len(text) if end is None else end
        return Found(text, start, stop) if stop in self.ends(text, start, stop) else None

    def match(self, text: str, start: int = 0) -> Found | None:
        places = self.ends(text, start, len(text))
        return Found(text, start, self._choose(places)) if places else None

    def search(self, text: str, start: int = 0) -> Found | None:
        for place in range(start, len(text) + 1):
            found = self.match(text, place)
            if found is not None:
                return found
        return None


def single(expression: str, flags: int) -> Piece:
    """A piece of exactly one character, or of none when the expression says so."""
    match = re.compile(expression, flags).match

    def piece(text: str, start: int, end: int) -> set[int]:
        found = match(text, start, end)
        return {found.end()} if found is not None else set()

    return piece


def anything(expression: str, flags: int) -> Piece:
    """`*`: any number of the characters that the expression stands for."""
    match = re.compile(f"{expression}*", flags).match

    def piece(text: str, start: int, end: int) -> set[int]:
        found = match(text, start, end)
        return set(range(start, found.end() + 1)) if found is not None else set()

    return piece


def group(kind: str, alternatives: list[NegatedPattern], character: str, flags: int) -> Piece:
    """`?(…)`, `*(…)`, `+(…)`, `@(…)` or `!(…)`."""

    def once(text: str, start: int, end: int) -> set[int]:
        return {place for one in alternatives for place in one.ends(text, start, end)}

    if kind == "@":
        return once
    if kind == "?":
        return lambda text, start, end: once(text, start, end) | {start}
    if kind == "!":
        reach = anything(character, flags)
        return lambda text, start, end: reach(text, start, end) - once(text, start, end)

    def often(text: str, start: int, end: int) -> set[int]:
        places = {start} if kind == "*" else set()
        new = once(text, start, end)
        while new - places:
            places |= new
            new = {found for place in new for found in once(text, place, end)}
        return places

    return often
