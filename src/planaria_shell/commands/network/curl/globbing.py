"""URLs of curl that stand for several: `{one,two}`, `[1-9]`, `[01-20:2]`, `[a-z]`."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

__all__ = ["expanded"]

_PATTERN = re.compile(r"\{([^{}]*)\}|\[(?:(\d+)-(\d+)|([A-Za-z])-([A-Za-z]))(?::(\d+))?\]")


def expanded(url: str, *, plain: bool) -> Iterator[tuple[str, list[str]]]:
    """Each URL with what was chosen in it, which `#1` and so on stand for in names of files."""
    if plain:
        yield url, []
        return
    texts: list[str] = []
    choices: list[list[str]] = []
    place = 0
    for found in _PATTERN.finditer(url):
        texts.append(url[place : found.start()])
        place = found.end()
        choices.append(_choices(found))
    texts.append(url[place:])
    for chosen in itertools.product(*choices):
        parts = [text + part for text, part in zip(texts, chosen, strict=False)]
        yield "".join(parts) + texts[-1], list(chosen)


def _choices(found: re.Match[str]) -> list[str]:
    words, first, last, start, end, step = found.groups()
    if words is not None:
        return words.split(",")
    by = int(step or 1) or 1
    if first is not None:
        width = len(first) if first.startswith("0") else 0
        return [f"{number:0{width}}" for number in range(int(first), int(last) + 1, by)]
    return [chr(code) for code in range(ord(start), ord(end) + 1, by)]
