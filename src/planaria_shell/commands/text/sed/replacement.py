"""The right-hand side of sed's s command."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from planaria_shell.state.characters import lower_case, upper_case
from planaria_shell.toolkit.regex.posix import Pattern
from planaria_shell.toolkit.regex.syntax import escaped_character


@dataclass(slots=True)
class Replacement:
    """`expand` gives the text for a match; `constant` is the text when it never changes."""

    expand: Callable[[re.Match[str]], str]
    constant: str | None
    #: The highest group that is used.
    groups: int
    #: The same in the notation of `re.sub`; None with case conversions.
    template: str | None
    #: Whether it puts a newline into the text.
    newlines: bool
    pieces: list[str | int | _Case]

    def shifted(self) -> Replacement:
        """The same for an expression that has one more group, around the whole of it."""
        return _build([piece + 1 if isinstance(piece, int) else piece for piece in self.pieces])


@dataclass(slots=True)
class Substitution:
    """An s command: what it looks for, what it puts there, and its flags."""

    pattern: Pattern | None
    replacement: Replacement
    every: bool = False
    number: int = 1
    printed: int = 0
    evaluated: bool = False
    file: str | None = None


def parse_replacement(source: str) -> Replacement:
    """Compile the text between the second and third delimiter."""
    #: Pieces: text, the number of a group, or a case conversion `\\U` `\\L` `\\u` `\\l` `\\E`.
    pieces: list[str | int | _Case] = []
    at = 0
    while at < len(source):
        char = source[at]
        at += 1
        if char == "&":
            pieces.append(0)
        elif char != "\\" or at >= len(source):
            pieces.append(char)
        elif source[at].isdigit() and source[at].isascii():
            pieces.append(int(source[at]))
            at += 1
        elif source[at] in "ULulE":
            pieces.append(_Case(source[at]))
            at += 1
        else:
            named = escaped_character(source, at, "sed")
            pieces.append(named[0] if named else source[at])
            at = named[1] if named else at + 1
    return _build(pieces)


def _build(pieces: list[str | int | _Case]) -> Replacement:
    groups = max((piece for piece in pieces if isinstance(piece, int)), default=0)
    newlines = any(isinstance(piece, str) and "\n" in piece for piece in pieces)
    if any(isinstance(piece, _Case) for piece in pieces):
        return Replacement(_with_cases(pieces), None, groups, None, newlines, pieces)
    merged: list[str | int] = []
    for piece in pieces:
        if isinstance(piece, str) and merged and isinstance(merged[-1], str):
            merged[-1] += piece
        elif not isinstance(piece, _Case):
            merged.append(piece)
    template = "".join(
        [piece.replace("\\", "\\\\") if isinstance(piece, str) else f"\\g<{piece}>" for piece in merged]
    )
    if all(isinstance(piece, str) for piece in merged):
        constant = "".join(map(str, merged))
        return Replacement(lambda found: constant, constant, groups, template, newlines, pieces)
    if len(merged) == 1:
        only = int(merged[0])
        return Replacement(lambda found: found[only] or "", None, groups, template, newlines, pieces)

    def expand(found: re.Match[str]) -> str:
        return "".join([piece if piece.__class__ is str else found[piece] or "" for piece in merged])

    return Replacement(expand, None, groups, template, newlines, pieces)


@dataclass(frozen=True, slots=True)
class _Case:
    letter: str


def _with_cases(pieces: list[str | int | _Case]) -> Callable[[re.Match[str]], str]:
    def expand(found: re.Match[str]) -> str:
        result: list[str] = []
        convert: Callable[[str], str] = str
        once: Callable[[str], str] | None = None
        for piece in pieces:
            if isinstance(piece, _Case):
                match piece.letter:
                    case "U":
                        convert = upper_case
                    case "L":
                        convert = lower_case
                    case "E":
                        convert = str
                    case "u":
                        once = upper_case
                    case _:
                        once = lower_case
                continue
            text = piece if isinstance(piece, str) else found[piece] or ""
            if not text:
                continue
            if once:
                result += [once(text[0]), convert(text[1:])]
                once = None
            else:
                result.append(convert(text))
        return "".join(result)

    return expand


def replace_in(pattern: Pattern, text: str, substitution: Substitution) -> str | None:
    """The text after a substitution, or None when nothing matched."""
    expand = substitution.replacement.expand
    parts: list[str] = []
    position = copied = 0
    count = 0
    previous_end = -1
    while position <= len(text):
        found = pattern.search(text, position)
        if found is None:
            break
        start, end = found.span()
        if start == end == previous_end:
            # An empty match right after a match does not count.
            position = end + 1
            continue
        count += 1
        previous_end = end
        if count >= substitution.number:
            parts += [text[copied:start], expand(found)]
            copied = end
            if not substitution.every:
                break
        position = end if end > start else end + 1
    if not parts:
        return None
    parts.append(text[copied:])
    return "".join(parts)
