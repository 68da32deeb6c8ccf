"""The tokens of an awk program."""

from __future__ import annotations

import re
from typing import NamedTuple

from planaria_shell.commands.text.awk.syntax import AwkError

KEYWORDS = frozenset(
    [
        "BEGIN",
        "END",
        "BEGINFILE",
        "ENDFILE",
        "function",
        "func",
        "if",
        "else",
        "while",
        "for",
        "do",
        "break",
        "continue",
        "next",
        "nextfile",
        "exit",
        "return",
        "delete",
        "in",
        "getline",
        "print",
        "printf",
        "switch",
        "case",
        "default",
    ]
)
BUILTINS = frozenset(
    [
        "length",
        "substr",
        "index",
        "split",
        "sub",
        "gsub",
        "gensub",
        "match",
        "sprintf",
        "sin",
        "cos",
        "atan2",
        "exp",
        "log",
        "sqrt",
        "int",
        "rand",
        "srand",
        "tolower",
        "toupper",
        "system",
        "close",
        "fflush",
        "strftime",
        "systime",
        "mktime",
        "and",
        "or",
        "xor",
        "lshift",
        "rshift",
        "compl",
        "strtonum",
        "asort",
        "asorti",
        "patsplit",
        "typeof",
        "isarray",
    ]
)

_TOKEN = re.compile(
    r"""
    (?P<space>[ \t\r]+|\\\r?\n|\#[^\n]*)
  | (?P<newline>\n)
  | (?P<number>0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)
  | (?P<name>[A-Za-z_]\w*)
  | (?P<string>")
  | (?P<operator>\*\*=|\*\*|\+\+|--|\+=|-=|\*=|/=|%=|\^=|==|<=|>=|!=|!~|&&|\|\||>>|\|&
        |[{}()\[\];,+\-*/%^!<>|?:~$=@])
    """,
    re.VERBOSE | re.ASCII,
)
#: After these a slash divides; elsewhere it begins a regular expression.
_OPERAND_ENDS = frozenset([")", "]", "$", "++", "--"])


class Token(NamedTuple):
    """`kind`: number, string, regex, name, function (a name right before a parenthesis), builtin,
    newline, end, or the keyword or operator itself."""

    kind: str
    text: str
    line: int
    position: int


def tokenize(source: str, warnings: list[str]) -> list[Token]:
    """All tokens of a program, with an "end" token. Raises AwkError."""
    tokens: list[Token] = []
    at, line = 0, 1
    while at < len(source):
        divides = bool(tokens) and (
            tokens[-1].kind in ("number", "string", "name", "builtin") or tokens[-1].kind in _OPERAND_ENDS
        )
        if source[at] == "/" and not divides:
            text, end = _regex(source, at, line)
            tokens.append(Token("regex", text, line, at))
            at = end
            continue
        found = _TOKEN.match(source, at)
        if not found:
            raise syntax_error(source, at, line, f"invalid char '{source[at]}' in expression")
        group, text = found.lastgroup, found[0]
        start, at = at, found.end()
        if group == "space":
            line += text.count("\n")
        elif group == "newline":
            tokens.append(Token("newline", text, line, start))
            line += 1
        elif group == "string":
            value, at = _string(source, start, line)
            for plain in _PLAIN.findall(source, start, at):
                warning = f"escape sequence `\\{plain}' treated as plain `{plain}'"
                if plain and warning not in warnings:
                    warnings.append(warning)
            tokens.append(Token("string", value, line, start))
            line += source.count("\n", start, at)
        elif group == "name":
            kind = "name"
            if text in KEYWORDS:
                kind = "function" if text == "func" else text
            elif text in BUILTINS:
                kind = "builtin"
            elif source.startswith("(", at):
                kind = "call"
            tokens.append(Token(kind, text, line, start))
        else:
            tokens.append(Token("number" if group == "number" else text, text, line, start))
    tokens.append(Token("newline", "", line, at))
    tokens.append(Token("end", "", line, at))
    return tokens


def syntax_error(source: str, at: int, line: int, what: str) -> AwkError:
    """An error as gawk shows it: the line and a caret below the place."""
    start = source.rfind("\n", 0, at) + 1
    end = source.find("\n", at)
    shown = source[start : end if end >= 0 else len(source)]
    prefix = f"cmd. line:{line}: "
    return AwkError(f"{prefix}{shown}\n{prefix}{' ' * (at - start)}^ {what}")


def _string(source: str, start: int, line: int) -> tuple[str, int]:
    at = start + 1
    parts: list[str] = []
    while True:
        if at >= len(source) or source[at] == "\n":
            raise syntax_error(source, start, line, "unterminated string")
        char = source[at]
        if char == '"':
            return "".join(parts), at + 1
        if char == "\\" and at + 1 < len(source):
            if source[at + 1] == "\n":
                at += 2
                continue
            text, at = _escape(source, at + 1)
            parts.append(text)
        else:
            parts.append(char)
            at += 1


_ESCAPES = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "\\": "\\",
    '"': '"',
    "/": "/",
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "v": "\v",
}
#: Escapes without a meaning (the group is empty for the others).
_PLAIN = re.compile(r"""\\(?:[ntr\\"abfv0-7\n]|x[0-9a-fA-F]|(.))""")
_NUMERIC = re.compile(r"[0-7]{1,3}|x[0-9a-fA-F]{1,2}")


def _escape(source: str, at: int) -> tuple[str, int]:
    char = source[at]
    if char in _ESCAPES:
        return _ESCAPES[char], at + 1
    numeric = _NUMERIC.match(source, at)
    if numeric:
        text = numeric[0]
        code = (int(text[1:], 16) if text[0] == "x" else int(text, 8)) & 0xFF
        return chr(code if code < 128 else 0xDC00 + code), numeric.end()
    return char, at + 1


def unescape(text: str) -> str:
    """The value of a command-line assignment: escapes as in a string."""
    if "\\" not in text:
        return text
    parts: list[str] = []
    at = 0
    while at < len(text):
        if text[at] == "\\" and at + 1 < len(text):
            part, at = _escape(text, at + 1)
            parts.append(part)
        else:
            parts.append(text[at])
            at += 1
    return join_bytes("".join(parts))


def join_bytes(text: str) -> str:
    """Bytes given one by one that together are UTF-8 become characters."""
    if text.isascii():
        return text
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")


def _regex(source: str, start: int, line: int) -> tuple[str, int]:
    at = start + 1
    bracket = False
    parts: list[str] = []
    while True:
        if at >= len(source) or source[at] == "\n":
            raise syntax_error(source, start, line, "unterminated regexp")
        char = source[at]
        if char == "\\" and at + 1 < len(source):
            parts.append("/" if source[at + 1] == "/" else source[at : at + 2])
            at += 2
            continue
        if bracket:
            if char == "[" and source[at + 1 : at + 2] in (":", ".", "="):
                end = source.find(source[at + 1] + "]", at + 2)
                if end >= 0:
                    parts.append(source[at : end + 2])
                    at = end + 2
                    continue
            bracket = char != "]"
        elif char == "/":
            return "".join(parts), at + 1
        elif char == "[":
            bracket = True
            opening = re.compile(r"\[\^?\]?").match(source, at)
            if opening:
                parts.append(opening[0])
                at = opening.end()
                continue
        parts.append(char)
        at += 1
