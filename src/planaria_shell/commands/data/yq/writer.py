"""Values to YAML, in block style."""

from __future__ import annotations

import json
import math
import re
from collections import deque
from typing import Any

from planaria_shell.commands.data.jq.values import Literal, format_number
from planaria_shell.commands.data.yq.comments import Notes, Path
from planaria_shell.commands.data.yq.reader import resolve

_PLAIN = re.compile(
    r"[^\s\-?:,\[\]{}#&*!|>'\"%@`][^\n\r\t\x00-\x1f\x7f\x85\u2028\u2029\ufeff]*|[-?:][^\s\n][^\n\r\t\x00-\x1f]*"
)


def scalar(value: Any, *, key: bool = False) -> str:
    """A scalar on one line; quoted where it would be read as something else."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Literal):
        return value.text
    if isinstance(value, float) and not math.isfinite(value):
        return ".nan" if math.isnan(value) else ".inf" if value > 0 else "-.inf"
    if isinstance(value, (int, float)):
        return format_number(value)
    text = str(value)
    plain = (
        _PLAIN.fullmatch(text)
        and not re.search(r":(?:\s|$)|\s#|\s$", text)
        and (isinstance(resolve(text), str) or key)
        and text not in ("---", "...", "<<", "~", "")
    )
    if plain:
        return text
    if text.isprintable() and not key and "\\" in text and "'" not in text:
        return f"'{text}'"
    return json.dumps(text, ensure_ascii=False)


def write(
    value: Any, width: int = 2, notes: Notes | None = None, path: Path = (), original: Any = None
) -> str:
    """A document without its last newline.

    `notes` are those of the text that held `original` at `path`: comments and notations of what is still
    there are kept.
    """
    writer = _Writer(width, notes or Notes())
    writer.node(value, 0, "", path if notes is not None else None, original)
    if notes is not None and not path:
        writer.lines += notes.end
    return "\n".join(writer.lines)


class _Writer:
    """Gathers lines; a path is None where the text had nothing."""

    def __init__(self, width: int, notes: Notes) -> None:
        self.width = width
        self.notes = notes
        self.lines: list[str] = []

    def node(self, value: Any, indent: int, head: str, path: Path | None, original: Any) -> None:
        """Add the lines of a value; `head` is what stands before it on its first line."""
        lines, margin = self.lines, " " * indent
        behind = self.notes.behind.get(path) if path is not None else None
        comment = f" {behind}" if behind else ""
        text = self.notes.text_of(path, value) if path is not None else None
        if text is not None:
            lines.append((head + text).rstrip() + comment)
            return
        if isinstance(value, (dict, list)) and value:
            first = head.endswith("- ")
            if head and not first:
                lines.append(head.rstrip() + comment)
            entries: list[tuple[str, Any, Path | None, Any]]
            if isinstance(value, dict):
                entries = [
                    (f"{scalar(key, key=True)}:", item, *_inner(path, original, key))
                    for key, item in value.items()
                ]
            else:
                places = _places(value, original)
                entries = [
                    ("-" + " " * (self.width - 1), item, *_inner(path, original, place))
                    for item, place in zip(value, places, strict=True)
                ]
            for name, item, below, before in entries:
                lead = head if first else margin
                if not first and below is not None:
                    lines += [margin + line for line in self.notes.before.get(below, ())]
                first = False
                self._entry(lead + name, item, indent, below, before)
        elif isinstance(value, (dict, list)):
            lines.append(head + ("{}" if isinstance(value, dict) else "[]") + comment)
        elif (
            isinstance(value, str)
            and "\n" in value
            and re.fullmatch(r"[^\r\x00-\x08\x0b-\x1f\x7f]*", value)
            and value.strip()
        ):
            _literal(value, indent, lines, head)
        else:
            lines.append(head + scalar(value) + comment)

    def _entry(self, head: str, value: Any, indent: int, path: Path | None, original: Any) -> None:
        below = indent + self.width
        nested = isinstance(value, (dict, list)) and bool(value)
        kept = path is not None and self.notes.text_of(path, value) is not None
        if head.endswith(":") and (kept or not nested):
            head += " "
        self.node(value, below, head, path, original)


def _inner(path: Path | None, original: Any, key: str | int | None) -> tuple[Path | None, Any]:
    """The path of what is below, and what was there."""
    if path is None or key is None:
        return None, None
    if isinstance(key, str):
        there = isinstance(original, dict) and key in original
    else:
        there = isinstance(original, list) and key < len(original)
    return ((*path, key), original[key]) if there else (None, None)


def _places(value: list[Any], original: Any) -> list[int | None]:
    """Where the items of a list were before: at the same places, or where an equal item was."""
    if not isinstance(original, list):
        return [None] * len(value)
    if len(value) == len(original):
        return list(range(len(value)))
    there: dict[str, deque[int]] = {}
    for place, item in enumerate(original):
        there.setdefault(repr(item), deque()).append(place)
    none: deque[int] = deque()
    found = [there.get(repr(item), none) for item in value]
    return [queue.popleft() if queue else None for queue in found]


def _literal(text: str, indent: int, lines: list[str], head: str) -> None:
    body = text.rstrip("\n")
    ending = len(text) - len(body)
    chomp = "-" if ending == 0 else "" if ending == 1 else "+"
    digit = "2" if body[:1] in (" ", "\n") else ""
    margin = " " * max(indent, 2)
    lines.append(f"{head}|{digit}{chomp}")
    lines.extend(margin + line if line else "" for line in body.split("\n"))
    lines.extend([""] * (ending - 1))
