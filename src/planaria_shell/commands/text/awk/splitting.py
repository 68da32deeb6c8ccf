"""Cutting a record, or any text, into fields."""

from __future__ import annotations

import re
from collections.abc import Callable

from planaria_shell.toolkit.regex.posix import Pattern

WORDS = re.compile("[^ \t\n]+")


def is_character(separator: str) -> bool:
    """Whether FS is a character that stands for itself (also where case is ignored)."""
    return len(separator) == 1 and separator not in " \\"


def expression_splitter(pattern: Pattern) -> Callable[[str], list[str]]:
    if pattern.exact and not pattern.nullable and not pattern.groups:
        # The engine's own split gives just the parts.
        return lambda record: pattern.engine(record).split(record) if record else []
    return lambda record: split_by(pattern, record)[0]


def split_by(pattern: Pattern, text: str) -> tuple[list[str], list[str]]:
    """The parts of a text between matches that are not empty, and the matches."""
    if not text:
        return [], []
    parts: list[str] = []
    separators: list[str] = []
    literal = pattern.literal
    if literal:
        parts = text.split(literal)
        return parts, [literal] * (len(parts) - 1)
    position = copied = 0
    while position <= len(text):
        found = pattern.search(text, position)
        if found is None:
            break
        start, end = found.span()
        if start == end:
            position = end + 1
            continue
        parts.append(text[copied:start])
        separators.append(text[start:end])
        position = copied = end
    parts.append(text[copied:])
    return parts, separators


def find_all(pattern: Pattern, text: str) -> tuple[list[str], list[str]]:
    """The matches in a text, and what is before, between and after them."""
    found_all: list[str] = []
    between: list[str] = []
    position = copied = 0
    previous = -1
    while position <= len(text):
        found = pattern.search(text, position)
        if found is None:
            break
        start, end = found.span()
        if start == end and (start == previous or start == len(text)):
            position = end + 1
            continue
        between.append(text[copied:start])
        found_all.append(text[start:end])
        copied = previous = end
        position = end if end > start else end + 1
    between.append(text[copied:])
    return found_all, between


def cut_widths(record: str, widths: list[str]) -> list[str]:
    fields: list[str] = []
    at = 0
    for width in widths:
        if at >= len(record):
            break
        skip, colon, size = width.rpartition(":")
        if colon:
            at += int(skip)
        end = len(record) if size == "*" else at + int(size)
        fields.append(record[at:end])
        at = end
    return fields
