"""The words of a jq program (jq 1.7 manual; the lexical grammar of jq's own lexer)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any


class JqSyntaxError(Exception):
    """A program that cannot be compiled; the message is what follows `jq: error: `."""


@dataclass(slots=True)
class Token:
    """One word: `kind` is a name of a class of words or the operator itself."""

    kind: str
    value: Any
    start: int
    line: int


KEYWORDS = frozenset(
    [
        "def",
        "module",
        "import",
        "include",
        "if",
        "then",
        "else",
        "elif",
        "end",
        "as",
        "reduce",
        "foreach",
        "and",
        "or",
        "not_",
        "try",
        "catch",
        "label",
        "__loc__",
    ]
) - {"not_"}

_WORD = re.compile(
    r"""(?P<space>[ \t\r\n]+|\#(?:[^\n\r\\]|\\(?:\r\n|[\s\S]))*)
    |(?P<op>\?//=|\?//|\|=|\+=|-=|\*=|//=|/=|%=|==|!=|<=|>=|//|\.\.|[.?=;,:|+\-*/%()\[\]{}<>$](?![0-9])|[?=;,:|+\-*/%()\[\]{}<>$])
    |(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    |(?P<field>\.[a-zA-Z_][a-zA-Z_0-9]*)
    |(?P<format>@[a-zA-Z0-9_]+)
    |(?P<name>(?:[a-zA-Z_][a-zA-Z_0-9]*::)*[a-zA-Z_][a-zA-Z_0-9]*)
    |(?P<quote>")
    """,
    re.VERBOSE,
)

_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "/": "/", '"': '"', "\\": "\\"}


def tokenize(source: str) -> list[Token]:
    """All words of a program, strings as (kind `string`, list of text and nested token lists)."""
    lexer = _Lexer(source)
    tokens, _ = lexer.run(0, nested=False)
    return tokens


class _Lexer:
    def __init__(self, source: str) -> None:
        self.source = source

    def line(self, position: int) -> int:
        return self.source.count("\n", 0, position) + 1

    def run(self, position: int, *, nested: bool) -> tuple[list[Token], int]:
        source = self.source
        tokens: list[Token] = []
        depth = 0
        line = self.line(position)
        while position < len(source):
            # A field needs its name next to its dot; `..` and lone dots are operators.
            match = _WORD.match(source, position)
            if source[position] == "." and (
                field := re.compile(r"\.[a-zA-Z_]\w*", re.ASCII).match(source, position)
            ):
                tokens.append(Token("field", field.group()[1:], position, line))
                position = field.end()
                continue
            if match is None:
                tokens.append(Token("INVALID_CHARACTER", source[position], position, line))
                position += 1
                continue
            kind = str(match.lastgroup)
            text = match.group()
            if kind == "quote":
                parts, end = self.string(position + 1)
                tokens.append(Token("string", parts, position, line))
                line += source.count("\n", position, end)
                position = end
                continue
            if kind == "space":
                line += text.count("\n")
            elif kind == "op":
                if nested:
                    if text == "(":
                        depth += 1
                    elif text == ")":
                        if depth == 0:
                            tokens.append(Token("end", None, position, line))
                            return tokens, match.end()
                        depth -= 1
                tokens.append(Token(text, text, position, line))
            elif kind == "name":
                tokens.append(Token(text if text in KEYWORDS else "name", text, position, line))
            else:
                tokens.append(Token(kind, text, position, line))
            position = match.end()
        if nested:
            raise JqSyntaxError(
                "syntax error, unexpected end of file (Unix shell quoting issues?) at <top-level>, "
                f"line {line}:\n{source}"
            )
        tokens.append(Token("end", None, len(source), line))
        return tokens, position

    def string(self, position: int) -> tuple[list[Any], int]:
        source = self.source
        start = position
        parts: list[Any] = []
        text: list[str] = []
        while True:
            if position >= len(source):
                raise JqSyntaxError(
                    "syntax error, unexpected end of file, expecting QQSTRING_TEXT or "
                    "QQSTRING_INTERP_START or QQSTRING_END (Unix shell quoting issues?) at <top-level>, "
                    f"line {self.line(start)}:\n{source}"
                )
            character = source[position]
            if character == '"':
                parts.append("".join(text))
                return parts, position + 1
            if character != "\\":
                text.append(character)
                position += 1
                continue
            following = source[position + 1 : position + 2]
            if following == "(":
                tokens, position = self.run(position + 2, nested=True)
                parts.append("".join(text))
                text = []
                parts.append(tokens)
            elif following == "u":
                code, position = self._unicode(position)
                text.append(code)
            elif following in _ESCAPED and following:
                text.append(_ESCAPED[following])
                position += 2
            else:
                raise JqSyntaxError(
                    "syntax error, unexpected INVALID_CHARACTER (Unix shell quoting issues?) at <top-level>, "
                    f"line {self.line(position)}:\n{source}"
                )

    def _unicode(self, position: int) -> tuple[str, int]:
        match = re.compile(r"(?:\\u[0-9a-fA-F]{4})+").match(self.source, position)
        if match is None:
            raise JqSyntaxError(
                "Invalid escape at line 1, column 4 "
                f"(while parsing '\"{self.source[position : position + 6]}\"') "
                f"at <top-level>, line {self.line(position)}:\n{self.source}"
            )
        codes = match.group().split("\\u")[1:]
        raw = b"".join(int(code, 16).to_bytes(2, "little") for code in codes)
        return raw.decode("utf-16-le", "replace"), match.end()
