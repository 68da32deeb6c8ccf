"""YAML to values: PyYAML's events, with scalars resolved by the core schema of YAML 1.2.

https://yaml.org/spec/1.2.2/#103-core-schema. PyYAML is in the sandbox; natively it is installed by
`pip install PyYAML`. Its parser in Python is used everywhere, so that messages are the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from planaria_shell.commands.data.jq.json_writer import Writer
from planaria_shell.commands.data.jq.values import Literal

try:
    from yaml.error import MarkedYAMLError, YAMLError
    from yaml.events import (
        AliasEvent,
        DocumentStartEvent,
        MappingEndEvent,
        MappingStartEvent,
        ScalarEvent,
        SequenceEndEvent,
        SequenceStartEvent,
    )

    from planaria_shell.commands.data.yq.events import events
except ImportError:  # natively, where it is not installed
    events = None  # type: ignore[assignment]

__all__ = ["Document", "YamlError", "read", "read_documents", "resolve"]


class YamlError(ValueError):
    """A string that is not YAML, with the line."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(f"yaml: line {line}: {message}" if line else f"yaml: {message}")


class Document(NamedTuple):
    """The value of one document and the lines that it was read from."""

    value: Any
    lines: list[str]


_INTEGER = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
#: What a plain scalar begins with that is not a string.
_NOT_STRINGS = frozenset("0123456789+-.~nNtTfF")
_TAG = "tag:yaml.org,2002:"
#: Tags that make a quoted scalar something else than a string.
_RESOLVED = frozenset(_TAG + kind for kind in ("null", "bool", "int", "float"))


def resolve(text: str) -> Any:
    """A plain scalar by the core schema."""
    if text and text[0] not in _NOT_STRINGS:
        return text
    if text in ("", "~", "null", "Null", "NULL"):
        return None
    if text in ("true", "True", "TRUE"):
        return True
    if text in ("false", "False", "FALSE"):
        return False
    if _INTEGER.fullmatch(text):
        return int(text)
    if re.fullmatch(r"0x[0-9a-fA-F]+", text):
        return int(text, 16)
    if re.fullmatch(r"0o[0-7]+", text):
        return int(text[2:], 8)
    if _FLOAT.fullmatch(text):
        return Literal(text)
    special = re.fullmatch(r"([-+]?)\.(?:inf|Inf|INF)", text)
    if special:
        return float(special.group(1) + "inf")
    return float("nan") if text in (".nan", ".NaN", ".NAN") else text


def read_documents(source: str) -> list[Any]:
    """The values of all documents; raises YamlError."""
    return [document.value for document in read(source)]


def read(source: str) -> list[Document]:
    """All documents; raises YamlError."""
    if events is None:
        raise YamlError(0, "PyYAML is not installed; run: pip install PyYAML")
    source = source.removeprefix("\ufeff")
    builder = _Builder()
    try:
        # A last line without a line break ends as any other line.
        builder.take(events(source if source.endswith("\n") else source + "\n"))
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise YamlError(mark.line + 1 if mark else 0, _message(error.problem or "")) from None
    except YAMLError:  # of the reader, which knows no line
        raise YamlError(0, "control characters are not allowed") from None
    lines = [line.rstrip("\r") for line in source.split("\n")]
    ends = [start for start, _ in builder.documents[1:]]
    return [
        Document(value, _lines(lines, start, end))
        for (start, value), end in zip(builder.documents, [*ends, len(lines)], strict=False)
    ]


def _message(problem: str) -> str:
    """PyYAML's words as libyaml and yq have them."""
    found = re.fullmatch(r"expected (.*?),? but (?:found|got) .*", problem, re.DOTALL)
    if found:
        return f"did not find expected {found[1]}"
    return problem.replace("not allowed here", "not allowed in this context")


def _lines(lines: list[str], start: int, end: int) -> list[str]:
    """The lines of a document without its markers."""
    found = lines[start:end]
    if found and re.match(r"---(?:\s|$)", found[0]):
        found[0] = "   " + found[0][3:]
    stop = next((place for place, line in enumerate(found) if re.match(r"\.\.\.(?:\s|$)", line)), len(found))
    return found[:stop]


@dataclass(slots=True)
class _Open:
    """A collection whose end has not come yet."""

    value: list[Any] | dict[str, Any]
    anchor: str | None
    #: The key that waits for its value.
    key: str | None = None
    merges: list[Any] = field(default_factory=list)
    merging: bool = False


class _Builder:
    """Makes values of events. It keeps a stack of its own, so that depth is not limited by Python's."""

    def __init__(self) -> None:
        #: The first line and the value of each document that has ended.
        self.documents: list[tuple[int, Any]] = []
        self._open: list[_Open] = []
        self._anchors: dict[str, Any] = {}
        self._start = 0

    def take(self, found: Iterable[Any]) -> None:
        """Build what these events describe."""
        actions: dict[type, Callable[[Any], None]] = {
            ScalarEvent: self._scalar,
            MappingStartEvent: lambda event: self._open.append(_Open({}, event.anchor)),
            SequenceStartEvent: lambda event: self._open.append(_Open([], event.anchor)),
            MappingEndEvent: self._end,
            SequenceEndEvent: self._end,
            AliasEvent: self._alias,
            DocumentStartEvent: self._start_document,
        }
        for event in found:
            action = actions.get(type(event))
            if action is not None:
                action(event)

    def _end(self, event: Any) -> None:
        done = self._open.pop()
        self._add(_merged(done), done.anchor)

    def _alias(self, event: Any) -> None:
        if event.anchor not in self._anchors:
            line = event.start_mark.line + 1
            raise YamlError(line, f"unknown anchor '{event.anchor}' referenced")
        self._add(self._anchors[event.anchor], None)

    def _start_document(self, event: Any) -> None:
        self._anchors = {}
        first = not self.documents and not event.explicit
        self._start = 0 if first else event.start_mark.line

    def _scalar(self, event: Any) -> None:
        plain = event.style is None
        top = self._open[-1] if self._open else None
        if top is not None and isinstance(top.value, dict) and top.key is None:
            top.merging = plain and event.value == "<<"
            self._add(event.value, event.anchor)
            return
        tag = event.tag or ""
        if tag in ("!", _TAG + "str"):
            value = event.value
        else:
            value = resolve(event.value) if plain or tag in _RESOLVED else event.value
        self._add(value, event.anchor)

    def _add(self, value: Any, anchor: str | None) -> None:
        """Put a value where it belongs: into the innermost open collection, or as a document."""
        if anchor is not None:
            self._anchors[anchor] = value
        if not self._open:
            self.documents.append((self._start, value))
            return
        top = self._open[-1]
        if isinstance(top.value, list):
            top.value.append(value)
        elif top.key is None:
            top.key = _key(value)
        else:
            if top.merging:
                top.merges += value if isinstance(value, list) else [value]
                top.merging = False
            else:
                top.value[top.key] = value
            top.key = None


def _merged(done: _Open) -> Any:
    """A collection with what `<<` merges into it, which its own keys override."""
    result = done.value
    for source in done.merges:
        if isinstance(source, dict) and isinstance(result, dict):
            result = {**{name: item for name, item in source.items() if name not in result}, **result}
    return result


def _key(value: Any) -> str:
    """A key as a string; a collection as JSON, since the language of jq has keys that are strings only."""
    if isinstance(value, str):
        return value
    return value.text if isinstance(value, Literal) else Writer(None).write(value)
