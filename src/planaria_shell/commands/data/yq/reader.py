"""YAML to values (YAML 1.2, core schema)."""

from __future__ import annotations

import re
from typing import Any

from planaria_shell.commands.data.jq.values import Literal


class YamlError(ValueError):
    """Text that is not YAML, with the line."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(f"yaml: line {line}: {message}")


_INTEGER = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
KEY = re.compile(r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s#,\[\]{}"'&*!|>%@`-](?:[^#:]|:(?!\s|$)|(?<!\s)\#)*?|[-?](?=\S)(?:[^#:]|:(?!\s|$)|(?<!\s)\#)*?)\s*:(?=\s|$)""")  # fmt: skip  # noqa: E501
_ESCAPES = {
    "0": "\0",
    "a": "\a",
    "b": "\b",
    "t": "\t",
    "\t": "\t",
    "n": "\n",
    "v": "\v",
    "f": "\f",
    "r": "\r",
    "e": "\x1b",
    " ": " ",
    '"': '"',
    "/": "/",
    "\\": "\\",
    "N": "\x85",
    "_": "\xa0",
    "L": "\u2028",
    "P": "\u2029",
}


def resolve(text: str) -> Any:
    """A plain scalar by the core schema."""
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


def read_documents(text: str) -> list[Any]:
    """The values of all documents; raises YamlError."""
    return [_Document(lines).value() for lines in split_documents(text)]


def split_documents(text: str) -> list[list[tuple[int, str]]]:
    """The lines of each document, with their numbers."""
    documents: list[list[tuple[int, str]]] = []
    current: list[tuple[int, str]] = []
    started = False
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        line = line.rstrip("\r")
        if re.match(r"---(?:\s|$)", line):
            if started or any(part.strip() and not part.lstrip().startswith("#") for _, part in current):
                documents.append(current)
            current = [(number, "   " + line[3:])] if line[3:].strip() else []
            started = True
        elif re.match(r"\.\.\.(?:\s|$)", line):
            documents.append(current)
            current, started = [], False
        elif line.startswith("%") and not current:
            continue
        else:
            current.append((number, line))
    if started or any(line.strip() and not line.lstrip().startswith("#") for _, line in current):
        documents.append(current)
    return documents


class _Document:
    def __init__(self, lines: list[tuple[int, str]]) -> None:
        self.lines = lines
        self.place = 0
        self.anchors: dict[str, Any] = {}

    def value(self) -> Any:
        self.skip()
        if self.place >= len(self.lines):
            return None
        value = self.node(-1)
        self.skip()
        if self.place < len(self.lines):
            raise self.error("did not find expected <document start>")
        return value

    def error(self, message: str) -> YamlError:
        number = self.lines[min(self.place, len(self.lines) - 1)][0] if self.lines else 1
        return YamlError(number, message)

    def skip(self) -> None:
        """Pass over empty lines and comments."""
        while self.place < len(self.lines):
            text = self.lines[self.place][1].strip()
            if text and not text.startswith("#"):
                return
            self.place += 1

    def indent(self) -> int:
        line = self.lines[self.place][1]
        return len(line) - len(line.lstrip(" "))

    def node(self, parent: int) -> Any:
        """The node that starts at the current line, indented deeper than `parent`."""
        self.skip()
        if self.place >= len(self.lines) or self.indent() <= parent:
            return None
        indent = self.indent()
        text = self.lines[self.place][1][indent:]
        if text.startswith("\t"):
            raise self.error("found character that cannot start any token")
        if text == "-" or text.startswith(("- ", "-\t")):
            return self.sequence(indent)
        if text.startswith("? ") or KEY.match(text) or self.tagged_key(text):
            return self.mapping(indent)
        return self.inline(text, parent)

    @staticmethod
    def tagged_key(text: str) -> bool:
        match = re.match(r"(?:[&!]\S*\s+|\*\S+\s*(?=:))+", text)
        if match is None:
            return False
        rest = text[match.end() :]
        return text.startswith("*") or KEY.match(rest) is not None

    def replace(self, column: int, text: str) -> None:
        number, _ = self.lines[self.place]
        self.lines[self.place] = (number, " " * column + text)

    def sequence(self, indent: int) -> list[Any]:
        items: list[Any] = []
        while True:
            self.skip()
            if self.place >= len(self.lines) or self.indent() != indent:
                break
            text = self.lines[self.place][1][indent:]
            if not (text == "-" or text.startswith(("- ", "-\t"))):
                break
            rest = text[1:].lstrip(" \t")
            column = indent + len(text) - len(rest)
            if not rest or rest.startswith("#"):
                self.place += 1
                items.append(self.node(indent))
                continue
            self.replace(column, rest)
            if (
                re.match(r"-(?:\s|$)", rest)
                or KEY.match(rest)
                or rest.startswith("? ")
                or self.tagged_key(rest)
            ):
                items.append(self.node(indent))
            else:
                items.append(self.inline(rest, indent))
        return items

    def mapping(self, indent: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        merges: list[Any] = []
        while True:
            self.skip()
            if self.place >= len(self.lines) or self.indent() != indent:
                if self.place < len(self.lines) and self.indent() > indent:
                    raise self.error("did not find expected key")
                break
            text = self.lines[self.place][1][indent:]
            key, rest, column = self.key(text, indent)
            if rest and not rest.startswith("#"):
                self.replace(column, rest)
                value = self.inline(rest, indent)
            else:
                self.place += 1
                value = self.below(indent)
            if key == "<<":
                merges += value if isinstance(value, list) else [value]
            else:
                result[key] = value
        for source in merges:
            if isinstance(source, dict):
                result = {**{name: item for name, item in source.items() if name not in result}, **result}
        return result

    def below(self, indent: int) -> Any:
        """The value of a key that has nothing behind it: a deeper node, or a sequence at the same depth."""
        self.skip()
        if self.place < len(self.lines) and self.indent() == indent:
            text = self.lines[self.place][1][indent:]
            if text == "-" or text.startswith(("- ", "-\t")):
                return self.sequence(indent)
        return self.node(indent)

    def key(self, text: str, indent: int) -> tuple[str, str, int]:
        if text.startswith("? "):
            raise self.error("complex keys are not supported")
        anchor = re.match(r"(?:&(\S+)|!\S*)\s+", text)
        start = anchor.end() if anchor else 0
        alias = re.match(r"\*(\S+?)\s*:(?=\s|$)", text)
        if alias:
            found = self.anchors.get(alias.group(1))
            rest = text[alias.end() :].lstrip(" \t")
            return _key_text(found), rest, indent + len(text) - len(rest)
        match = KEY.match(text, start)
        if match is None:
            raise self.error("could not find expected ':'")
        raw = match.group()[:-1].strip()
        if raw[:1] == '"':
            key = unescape(raw[1:-1])
        elif raw[:1] == "'":
            key = raw[1:-1].replace("''", "'")
        else:
            key = raw
        if anchor and anchor.group(1):
            self.anchors[anchor.group(1)] = key
        rest = text[match.end() :].lstrip(" \t")
        return key, rest, indent + len(text) - len(rest)

    def inline(self, text: str, parent: int) -> Any:
        """A value that begins behind a key or a dash, at the current line."""
        tag = anchor = None
        while match := re.match(r"([&!])(\S*)(?:\s+|$)", text):
            if match.group(1) == "&":
                anchor = match.group(2)
            else:
                tag = match.group(2)
            text = text[match.end() :]
        if not text or text.startswith("#"):
            self.place += 1
            value = self.below(parent)
        elif text[0] == "*":
            name = re.match(r"\*(\S+)", text)
            if name is None or name.group(1) not in self.anchors:
                raise self.error(f"unknown anchor '{text[1:].strip()}' referenced")
            value = self.anchors[name.group(1)]
            self.place += 1
        elif text[0] in "|>":
            value = self.block(text, parent)
        elif text[0] in "[{\"'":
            value = self.flow_value(text, parent)
        else:
            value = self.plain(text, parent, tag)
        value = _tagged(tag, value)
        if anchor is not None:
            self.anchors[anchor] = value
        return value

    def plain(self, text: str, parent: int, tag: str | None) -> Any:
        """A plain scalar, which may go on over deeper lines."""
        parts = [uncomment(text)]
        if re.search(r":(?:\s|$)", parts[0]):
            raise self.error("mapping values are not allowed in this context")
        ended = parts[0] != text.rstrip()
        self.place += 1
        blanks = 0
        while self.place < len(self.lines) and not ended:
            line = self.lines[self.place][1]
            if not line.strip():
                blanks += 1
                self.place += 1
                continue
            if self.indent() <= parent or line.lstrip().startswith("#"):
                break
            piece = uncomment(line.strip())
            if re.search(r":(?:\s|$)", piece):
                raise self.error("mapping values are not allowed in this context")
            parts.append("\n" * blanks + piece if blanks else " " + piece)
            blanks = 0
            self.place += 1
        joined = "".join(parts)
        return joined if tag in ("!str", "str") else resolve(joined)

    def block(self, text: str, parent: int) -> str:
        """A literal or folded scalar."""
        header = re.match(r"([|>])([-+]?)([1-9]?)([-+]?)\s*(?:#.*)?$", text)
        if header is None:
            raise self.error("did not find expected comment or line break")
        style, chomp = header.group(1), header.group(2) or header.group(4)
        self.place += 1
        lines: list[str] = []
        indent = max(parent, 0) + int(header.group(3)) if header.group(3) else None
        while self.place < len(self.lines):
            line = self.lines[self.place][1]
            if line.strip(" "):
                own = len(line) - len(line.lstrip(" "))
                if indent is None:
                    if own <= parent:
                        break
                    indent = own
                elif own < indent:
                    break
            lines.append(line)
            self.place += 1
        cut = [line[indent or 0 :] for line in lines]
        trailing = 0
        while cut and not cut[-1].strip(" "):
            cut.pop()
            trailing += 1
        body = "\n".join(cut) if style == "|" else _fold(cut)
        if chomp == "-":
            return body
        if chomp == "+":
            return body + "\n" * ((1 if cut else 0) + max(trailing - (self.place >= len(self.lines)), 0))
        return body + "\n" if cut else ""

    def flow_value(self, text: str, parent: int) -> Any:
        """A flow collection or quoted scalar, which may go on over lines."""
        start = self.place
        source = text
        while True:
            flow = _Flow(source, self.anchors)
            try:
                value = flow.value()
                rest = source[flow.place :].strip()
                if rest and not rest.startswith("#"):
                    raise self.error(f"did not find expected <block end> near {rest[:20]!r}")
                self.place += 1
                return value
            except _More:
                self.place += 1
                if self.place >= len(self.lines):
                    self.place = start
                    raise self.error("found unexpected end of stream") from None
                source += "\n" + self.lines[self.place][1]


def _key_text(value: Any) -> str:
    return value if isinstance(value, str) else str(value)


def _tagged(tag: str | None, value: Any) -> Any:
    if tag in ("!str", "str") and not isinstance(value, (str, list, dict)):
        return "" if value is None else value.text if isinstance(value, Literal) else str(value).lower()
    if tag in ("!int", "!float") and isinstance(value, str):
        return resolve(value)
    return value


def uncomment(text: str) -> str:
    match = re.search(r"\s#", text)
    return (text[: match.start()] if match else text).rstrip()


def _fold(lines: list[str]) -> str:
    """Lines joined by spaces; empty lines and deeper ones keep their breaks."""
    out = ""
    breaks = 0
    previous: str | None = None
    for line in lines:
        if not line:
            breaks += 1
            continue
        if previous is None:
            out += "\n" * breaks
        elif line[0] in " \t" or previous[0] in " \t":
            out += "\n" * (breaks + 1)
        else:
            out += "\n" * breaks if breaks else " "
        out += line
        previous, breaks = line, 0
    return out


def unescape(text: str) -> str:
    """The content of a double quoted scalar."""
    text = re.sub(r"\\\n[ \t]*", "", text)
    text = _join_lines(text)

    def replace(match: re.Match[str]) -> str:
        code = match.group(1)
        if code[0] in "xuU" and len(code) > 1:
            return chr(int(code[1:], 16))
        return _ESCAPES.get(code, code)

    joined = re.sub(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", replace, text)
    return joined.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _join_lines(text: str) -> str:
    """Line breaks within quotes: one is a space, more are one fewer."""
    return re.sub(
        r"[ \t]*\n((?:[ \t]*\n)*)[ \t]*", lambda match: "\n" * match.group(1).count("\n") or " ", text
    )


class _More(Exception):
    """The text ends inside a flow collection or quotes."""


class _Flow:
    """Flow style: `[a, {b: c}, "d"]`."""

    def __init__(self, source: str, anchors: dict[str, Any]) -> None:
        self.source = source
        self.place = 0
        self.anchors = anchors

    def space(self) -> None:
        match = re.compile(r"(?:\s|(?:(?<=\s)|^)#[^\n]*)*").match(self.source, self.place)
        self.place = match.end() if match else self.place

    def peek(self) -> str:
        self.space()
        if self.place >= len(self.source):
            raise _More
        return self.source[self.place]

    def value(self) -> Any:
        character = self.peek()
        if character == "[":
            return self.list()
        if character == "{":
            return self.map()
        if character in "\"'":
            return self.quoted(character)
        if character in "&!":
            match = re.compile(r"([&!])([^\s,\[\]{}]*)").match(self.source, self.place)
            assert match is not None
            self.place = match.end()
            value = self.value()
            if match.group(1) == "&":
                self.anchors[match.group(2)] = value
                return value
            return _tagged(match.group(2), value)
        if character == "*":
            match = re.compile(r"\*([^\s,\[\]{}]+)").match(self.source, self.place)
            if match is None:
                raise _More
            self.place = match.end()
            return self.anchors.get(match.group(1))
        match = re.compile(r"(?:[^,\[\]{}:#\n]|:(?=[^\s,\[\]{}])|(?<=\S)#)*").match(self.source, self.place)
        assert match is not None
        self.place = match.end()
        return resolve(match.group().strip())

    def quoted(self, quote: str) -> str:
        pattern = r'"((?:[^"\\]|\\[\s\S])*)"' if quote == '"' else r"'((?:[^']|'')*)'"
        match = re.compile(pattern).match(self.source, self.place)
        if match is None:
            raise _More
        self.place = match.end()
        body = match.group(1)
        return unescape(body) if quote == '"' else _join_lines(body.replace("''", "'"))

    def list(self) -> list[Any]:
        self.place += 1
        items: list[Any] = []
        while self.peek() != "]":
            value = self.value()
            if self.peek() == ":":
                self.place += 1
                value = {_key_text(value): None if self.peek() in ",]" else self.value()}
            items.append(value)
            if self.peek() == ",":
                self.place += 1
            elif self.peek() != "]":
                raise YamlError(1, "did not find expected ',' or ']'")
        self.place += 1
        return items

    def map(self) -> dict[str, Any]:
        self.place += 1
        result: dict[str, Any] = {}
        while self.peek() != "}":
            start = self.place
            key = self.value()
            raw = self.source[start : self.place].strip()
            value = None
            if self.peek() == ":":
                self.place += 1
                value = None if self.peek() in ",}" else self.value()
            result[key if isinstance(key, str) else raw] = value
            if self.peek() == ",":
                self.place += 1
            elif self.peek() != "}":
                raise YamlError(1, "did not find expected ',' or '}'")
        self.place += 1
        return result
