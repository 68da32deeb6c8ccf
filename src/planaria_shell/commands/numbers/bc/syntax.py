"""The language of bc: words and a recursive descent parser that makes Python functions of statements.

Expressions become functions without arguments that return a number; statements become generator functions
that yield where the reader of the output may run (see `planaria_shell.run.command`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""(?P<space>[ \t]+|\\\r?\n|/\*[\s\S]*?\*/|\#[^\n]*)
    |(?P<newline>\n)
    |(?P<string>"[^"]*")
    |(?P<number>(?:[0-9A-F](?:\\\n)?)+(?:\.(?:[0-9A-F](?:\\\n)?)*)?|\.(?:[0-9A-F](?:\\\n)?)+)
    |(?P<name>[a-z][a-z0-9_]*)
    |(?P<operator>\+\+|--|&&|\|\||[-+*/%^]=|==|!=|<=|>=|[-+*/%^=<>!(){}\[\],;&.])
    """,
    re.VERBOSE,
)

KEYWORDS = frozenset(
    [
        "define",
        "auto",
        "return",
        "if",
        "else",
        "while",
        "for",
        "break",
        "continue",
        "print",
        "quit",
        "halt",
        "length",
        "sqrt",
        "scale",
        "read",
        "ibase",
        "obase",
        "last",
        "void",
        "limits",
        "warranty",
        "random",
    ]
)


class BcSyntaxError(Exception):
    """A program that is not well formed, with the line."""

    def __init__(self, line: int, message: str = "syntax error") -> None:
        super().__init__(message)
        self.line = line


@dataclass(slots=True)
class Token:
    kind: str
    text: str
    line: int


def tokenize(source: str) -> list[Token]:
    """The words of a program; a character that is none becomes a token of kind `illegal`."""
    tokens = []
    position, line = 0, 1
    while position < len(source):
        match = _TOKEN.match(source, position)
        if match is None:
            kind = "illegal"
            tokens.append(Token(kind, source[position], line))
            position += 1
            continue
        kind, text = str(match.lastgroup), match.group()
        if kind == "newline":
            tokens.append(Token("\n", "\n", line))
        elif kind != "space":
            if kind == "operator" or (kind == "name" and text in KEYWORDS):
                kind = text
            tokens.append(Token(kind, text.replace("\\\n", "") if kind == "number" else text, line))
        line += text.count("\n")
        position = match.end()
    tokens.append(Token("end", "", line))
    return tokens


def complete(source: str) -> bool:
    """Whether a text is whole statements: nothing open at its end."""
    depth = 0
    for token in tokenize(source):
        if token.kind in "{(":
            depth += 1
        elif token.kind in "})":
            depth -= 1
        elif token.kind == "illegal" and token.text == '"':
            return False
    return depth <= 0
