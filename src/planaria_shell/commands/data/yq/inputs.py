"""Documents in other formats than YAML and JSON: separated values, properties, TOML, XML."""

from __future__ import annotations

import csv
import datetime
import io
import re
import tomllib
from typing import Any
from xml.parsers import expat

from planaria_shell.commands.data.yq.reader import YamlError, resolve

__all__ = ["EXTENSIONS", "read"]

#: What a file's name says about its format.
EXTENSIONS = {
    ".json": "json", ".csv": "csv", ".tsv": "tsv", ".properties": "props", ".toml": "toml", ".xml": "xml",
}  # fmt: skip

_PROPERTY = re.compile(r"((?:[^\\\s=:]|\\.)*)\s*[=:]?\s*(.*)")


def read(text: str, layout: str) -> Any:
    """The document in a text; raises YamlError."""
    match layout:
        case "csv" | "c":
            return _rows(text, ",")
        case "tsv" | "t":
            return _rows(text, "\t")
        case "props" | "p":
            return _properties(text)
        case "toml":
            try:
                return _plain(tomllib.loads(text))
            except tomllib.TOMLDecodeError as problem:
                raise YamlError(0, f"toml: {problem}") from None
        case "xml" | "x":
            return _Elements().read(text)
    raise YamlError(0, f"unknown input format '{layout}'")


def _rows(text: str, separator: str) -> list[dict[str, Any]]:
    """A mapping for each row, the first of which holds the names."""
    rows = [row for row in csv.reader(io.StringIO(text.removeprefix("\ufeff")), delimiter=separator) if row]
    if not rows:
        return []
    names = rows[0]
    return [{name: resolve(cell) for name, cell in zip(names, row, strict=False)} for row in rows[1:]]


def _properties(text: str) -> dict[str, Any]:
    """Mappings and lists of lines `a.b.0 = text`."""
    whole: dict[str, Any] = {}
    for line in re.sub(r"\\\r?\n[ \t]*", "", text).splitlines():
        line = line.strip()
        if not line or line[0] in "#!":
            continue
        found = _PROPERTY.match(line)
        assert found is not None
        name, value = found.groups()
        at: dict[str, Any] = whole
        *above, last = name.split(".")
        for part in above:
            inner = at.setdefault(part, {})
            if not isinstance(inner, dict):
                inner = at[part] = {}
            at = inner
        at[last] = resolve(value)
    listed = _listed(whole)
    return listed if isinstance(listed, dict) else whole


def _listed(value: Any) -> Any:
    """Mappings whose keys are 0, 1, 2 … as lists."""
    if not isinstance(value, dict):
        return value
    inner = {key: _listed(item) for key, item in value.items()}
    return list(inner.values()) if inner and list(inner) == [str(n) for n in range(len(inner))] else inner


def _plain(value: Any) -> Any:
    """What TOML gives, in the types of JSON: times as texts."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat().replace("+00:00", "Z")
    return value


class _Elements:
    """XML as mappings: attributes as `+@name`, text beside them as `+content`."""

    def __init__(self) -> None:
        self.stack: list[tuple[str, dict[str, Any], list[str]]] = [("", {}, [])]

    def read(self, text: str) -> Any:
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = lambda data: self.stack[-1][2].append(data)
        parser.XmlDeclHandler = self._declaration
        try:
            parser.Parse(text.encode("utf-8", "surrogateescape"), True)
        except expat.ExpatError as problem:
            raise YamlError(problem.lineno, f"xml: {problem}") from None
        return self.stack[0][1]

    def _declaration(self, version: str, encoding: str | None, standalone: int) -> None:
        words = [f'version="{version}"']
        if encoding:
            words.append(f'encoding="{encoding}"')
        self.stack[0][1]["+p_xml"] = " ".join(words)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self.stack.append((name, {f"+@{key}": value for key, value in attributes.items()}, []))

    def _end(self, name: str) -> None:
        _, content, texts = self.stack.pop()
        text = "".join(texts).strip()
        value: Any = content
        if text and content:
            content["+content"] = text
        elif not content:
            value = text or None
        above = self.stack[-1][1]
        if name not in above:
            above[name] = value
        elif isinstance(above[name], list):
            above[name].append(value)
        else:
            above[name] = [above[name], value]
