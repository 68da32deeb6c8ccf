"""What a YAML text has besides its values: comments, and how its scalars were written.

It is found line by line, by the indentation of keys and dashes, and used only where the values that the
reader found are still the same.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from planaria_shell.commands.data.yq.reader import YamlError, read_documents, resolve

__all__ = ["Notes", "Path", "find_notes"]

#: A key with the colon behind it.
_KEY = re.compile(r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s#,\[\]{}"'&*!|>%@`-](?:[^#:]|:(?!\s|$)|(?<!\s)\#)*?|[-?](?=\S)(?:[^#:]|:(?!\s|$)|(?<!\s)\#)*?)\s*:(?=\s|$)""")  # fmt: skip  # noqa: E501
#: What a value begins with that is not a plain scalar.
_INDICATORS = frozenset("[{&*!|>'\"%@`#?:-")

#: A list of plain scalars, which is read without a parser: there may be one on each line.
_SIMPLE_LIST = re.compile(r"""\[([^][{}"'#:&*!|>%@`?]*)\]""")

#: Keys and places from the top of a document down to a value.
Path = tuple[str | int, ...]


@dataclass(slots=True)
class Notes:
    """By the path of a value: comments on the lines before it and behind it, and its text."""

    before: dict[Path, list[str]] = field(default_factory=dict)
    behind: dict[Path, str] = field(default_factory=dict)
    text: dict[Path, str] = field(default_factory=dict)
    #: Comments after everything.
    end: list[str] = field(default_factory=list)

    def text_of(self, path: Path, value: Any) -> str | None:
        """How the value was written, if that still means the value."""
        text = self.text.get(path)
        if text is None:
            return None
        if not text:
            return text if value is None else None
        if text[0] in "'\"" and isinstance(value, str) and value.isprintable():
            # A text stays in quotes, also when it is another one.
            if text[0] == '"':
                return json.dumps(value, ensure_ascii=False)
            return "'" + value.replace("'", "''") + "'"
        if text[0] not in _INDICATORS:
            return text if repr(resolve(text)) == repr(value) else None
        simple = _SIMPLE_LIST.fullmatch(text)
        if simple and repr([resolve(item.strip()) for item in simple[1].split(",")]) == repr(value):
            return text
        try:
            found = read_documents(text)
        except YamlError:
            return None
        # By their notation, since 1, 1.0 and true are equal in Python.
        return text if len(found) == 1 and repr(found[0]) == repr(value) else None


@dataclass(slots=True)
class _Level:
    """A mapping or a sequence that is open."""

    column: int
    path: Path
    sequence: bool
    count: int = 0


def find_notes(lines: list[str]) -> Notes:
    """The notes of one document."""
    notes = Notes()
    levels: list[_Level] = []
    waiting: list[str] = []
    #: The value that is written on the lines to come.
    open_path: Path = ()
    #: Lines indented deeper than this go on with a scalar.
    scalar: int | None = None
    for line in lines:
        text = line.strip()
        column = len(line) - len(line.lstrip(" "))
        if not text or (scalar is not None and column > scalar):
            continue
        if text.startswith("#"):
            waiting.append(text)
            continue
        scalar = None
        while True:
            dash = re.match(r"-(?:\s+|$)", text)
            key = None if dash else _KEY.match(text)
            if dash is None and key is None:
                _value(notes, open_path, text)
                scalar = levels[-1].column if levels else -1
                break
            level = _level(levels, column, open_path, sequence=dash is not None)
            if dash is not None:
                open_path = (*level.path, level.count)
                level.count += 1
                size = dash.end()
            else:
                assert key is not None
                open_path = (*level.path, _name(key.group()[:-1].strip()))
                size = key.end()
            if waiting:
                notes.before[open_path] = waiting
                waiting = []
            rest = text[size:].lstrip()
            if not rest or rest.startswith("#"):
                notes.text[open_path] = ""
                if rest:
                    notes.behind[open_path] = rest
                break
            if key is not None:
                _value(notes, open_path, rest)
                scalar = column
                break
            column += len(text) - len(rest)
            text = rest
    notes.end = waiting
    return notes


def _level(levels: list[_Level], column: int, path: Path, *, sequence: bool) -> _Level:
    """The mapping or sequence whose entries begin at this column, made when it begins here."""
    while levels and (
        levels[-1].column > column or (levels[-1].column == column and levels[-1].sequence and not sequence)
    ):
        levels.pop()
    if levels and levels[-1].column == column and levels[-1].sequence is sequence:
        return levels[-1]
    levels.append(_Level(column, path, sequence))
    return levels[-1]


def _name(text: str) -> str:
    """The key that a string of YAML stands for."""
    if text[:1] in ("'", '"'):
        return str(read_documents(text)[0])
    return text


def _uncomment(text: str) -> str:
    found = re.search(r"\s#", text)
    return (text[: found.start()] if found else text).rstrip()


def _value(notes: Notes, path: Path, text: str) -> None:
    """Note a value on one line, and the comment behind it."""
    quoted = re.match(r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[\[{].*[\]}]|[|>][-+0-9]*)(?=\s|$)""", text)
    body = quoted.group() if quoted else _uncomment(text).rstrip()
    comment = text[len(body) :].strip()
    if comment.startswith("#"):
        notes.behind[path] = comment
    if body[:1] not in "|>":
        notes.text[path] = body
