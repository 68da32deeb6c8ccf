"""Brace expansion, lazily: `{a,b}` and `{1..9..2}` in words (Bash Reference Manual, section 3.5.1)."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from planaria_shell.syntax.nodes import Literal, Parameter, Part, Quoted, Word

__all__ = ["expand_braces", "has_braces", "plain_range"]

_RANGE = re.compile(r"(?:([-+]?\d+)\.\.([-+]?\d+)|([a-zA-Z])\.\.([a-zA-Z]))(?:\.\.([-+]?\d+))?\Z")


def has_braces(word: Word) -> bool:
    """Whether brace expansion could change the word at all."""
    opening = False
    for part in word.parts:
        if type(part) is Literal:
            text = part.text
            if "{" in text:
                opening = True
            if opening and "}" in text:
                return True
    return False


def expand_braces(word: Word) -> Iterator[Word]:
    """The words that `word` stands for (itself when there is nothing to expand)."""
    # Characters of unquoted text one by one, everything else as it is.
    items: list[str | Part] = []
    for part in word.parts:
        if type(part) is Literal:
            items.extend(part.text)
        else:
            items.append(part)
    for expanded in _expand(items):
        yield _word(expanded)


_PLAIN_RANGE = re.compile(r"([^{}]*)\{([^{},]*)\}([^{}]*)\Z")


def plain_range(word: Word) -> Iterator[str] | None:
    """The texts of a word that is one `{first..last}` between plain texts: no words are made on the way."""
    text = word.literal()
    match = _PLAIN_RANGE.match(text) if text else None
    if match is None or not _RANGE.match(match.group(2)) or match.group(1).endswith("$"):
        return None
    before, inner, after = match.groups()
    if not before and not after:
        return _range(inner)
    return (before + element + after for element in _range(inner))


_NAME = re.compile(r"[A-Za-z0-9_]+")


def _word(items: list[str | Part]) -> Word:
    parts: list[Part] = []
    text: list[str] = []
    for item in items:
        if isinstance(item, str):
            text.append(item)
        else:
            _close(parts, text)
            parts.append(item)
    _close(parts, text)
    return Word(parts)


def _close(parts: list[Part], text: list[str]) -> None:
    """Put the unquoted text behind the parts; a name before it goes on in it."""
    if not text:
        return
    literal = "".join(text)
    text.clear()
    before = parts[-1] if parts else None
    if isinstance(before, Parameter) and before.bare and before.name.isidentifier():
        name = _NAME.match(literal)
        if name is not None:
            parts[-1] = Parameter(before.name + name.group(), bare=True)
            literal = literal[name.end() :]
    if literal:
        parts.append(Literal(literal))


def _expand(items: list[str | Part]) -> Iterator[list[str | Part]]:
    found = _find(items)
    if found is None:
        yield items
        return
    start, end, commas = found
    before = items[:start]
    after = items[end + 1 :]
    if commas:
        bounds = [start, *commas, end]
        for left, right in itertools.pairwise(bounds):
            for middle in _expand(items[left + 1 : right]):
                for rest in _expand(after):
                    yield before + middle + rest
        return
    text = "".join(item for item in items[start + 1 : end] if isinstance(item, str))
    for element in _range(text):
        head: list[str | Part] = [*before, *element]
        if element == "\\":
            head = [*before, Quoted("")]
        for rest in _expand(after):
            yield head + rest


def _find(items: list[str | Part]) -> tuple[int, int, list[int]] | None:
    """The first brace that is one: where it opens and closes, and its commas."""
    for start, item in enumerate(items):
        if item != "{" or (start > 0 and items[start - 1] == "$"):
            continue
        depth = 0
        commas: list[int] = []
        for end in range(start + 1, len(items)):
            char = items[end]
            if char == "{":
                depth += 1
            elif char == "," and depth == 0:
                commas.append(end)
            elif char == "}":
                if depth:
                    depth -= 1
                    continue
                if commas:
                    return start, end, commas
                inner = items[start + 1 : end]
                if all(isinstance(piece, str) for piece in inner) and _RANGE.match("".join(inner)):  # type: ignore[arg-type]
                    return start, end, []
                break
    return None


def _range(text: str) -> Iterator[str]:
    match = _RANGE.match(text)
    assert match is not None
    first, last, low, high, step_text = match.groups()
    step = abs(int(step_text)) if step_text else 1
    step = step or 1
    if first is not None:
        begin, end = int(first), int(last)
        width = 0
        if any(re.match(r"-?0\d", piece) for piece in (first, last)):
            width = max(len(first), len(last))
        numbers = range(begin, end + 1, step) if begin <= end else range(begin, end - 1, -step)
        for value in numbers:
            yield f"{value:0{width}d}" if width else str(value)
        return
    begin, end = ord(low), ord(high)
    for value in range(begin, end + 1, step) if begin <= end else range(begin, end - 1, -step):
        yield chr(value)
