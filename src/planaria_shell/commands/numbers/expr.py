"""expr: evaluate an expression given as arguments (POSIX expr with GNU's additions)."""

from __future__ import annotations

import re

from planaria_shell.run.command import Status
from planaria_shell.toolkit.invocation import CommandError, Invocation, utility
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import quote
from planaria_shell.toolkit.regex.posix import RegexError, compile_basic

__all__: list[str] = []

_INTEGER = re.compile(r"-?[0-9]+")
_COMPARISONS = ("<", "<=", "=", "==", "!=", ">=", ">")

_Value = str | int


class _Parser:
    """Evaluates while it parses; the parts that are skipped (`|`, `&`) are parsed but not evaluated."""

    def __init__(self, words: list[str]) -> None:
        self.words = words
        self.at = 0

    def accept(self, *words: str) -> str | None:
        if self.at < len(self.words) and self.words[self.at] in words:
            self.at += 1
            return self.words[self.at - 1]
        return None

    def require(self) -> None:
        if self.at >= len(self.words):
            raise UsageError(
                f"syntax error: missing argument after {quote(self.words[self.at - 1])}", hint=False
            )

    def either(self, live: bool) -> _Value:
        left = self.both(live)
        while self.accept("|"):
            right = self.both(live and not _truth(left))
            if not _truth(left):
                left = right if _truth(right) else 0
        return left

    def both(self, live: bool) -> _Value:
        left = self.comparison(live)
        while self.accept("&"):
            right = self.comparison(live and _truth(left))
            if not (_truth(left) and _truth(right)):
                left = 0
        return left

    def comparison(self, live: bool) -> _Value:
        left = self.sum(live)
        while operator := self.accept(*_COMPARISONS):
            right = self.sum(live)
            if live:
                left = int(_compare(left, operator, right))
        return left

    def sum(self, live: bool) -> _Value:
        left = self.product(live)
        while operator := self.accept("+", "-"):
            right = self.product(live)
            if live:
                a, b = _number(left), _number(right)
                left = a + b if operator == "+" else a - b
        return left

    def product(self, live: bool) -> _Value:
        left = self.match(live)
        while operator := self.accept("*", "/", "%"):
            right = self.match(live)
            if not live:
                continue
            a, b = _number(left), _number(right)
            if operator == "*":
                left = a * b
                continue
            if not b:
                raise CommandError("division by zero", 2)
            quotient = abs(a) // abs(b)
            if (a < 0) != (b < 0):
                quotient = -quotient
            left = quotient if operator == "/" else a - b * quotient
        return left

    def match(self, live: bool) -> _Value:
        left = self.word(live)
        while self.accept(":"):
            right = self.word(live)
            if live:
                left = _matched(str(left), str(right))
        return left

    def word(self, live: bool) -> _Value:
        self.require_first()
        if self.accept("+"):
            self.require()
            self.at += 1
            return self.words[self.at - 1]
        if self.accept("("):
            value = self.either(live)
            if self.at >= len(self.words):
                raise UsageError(
                    f"syntax error: expecting ')' after {quote(self.words[self.at - 1])}", hint=False
                )
            if not self.accept(")"):
                raise UsageError(
                    f"syntax error: expecting ')' instead of {quote(self.words[self.at])}", hint=False
                )
            return value
        if self.accept(")"):
            raise UsageError("syntax error: unexpected ')'", hint=False)
        if self.accept("match"):
            text, pattern = self.word(live), self.word(live)
            return _matched(str(text), str(pattern)) if live else 0
        if self.accept("length"):
            return len(str(self.word(live)))
        if self.accept("index"):
            text, letters = str(self.word(live)), str(self.word(live))
            return next((position for position, c in enumerate(text, 1) if c in letters), 0)
        if self.accept("substr"):
            text, start, length = str(self.word(live)), self.word(live), self.word(live)
            return _slice(text, start, length)
        self.at += 1
        return self.words[self.at - 1]

    def require_first(self) -> None:
        if self.at >= len(self.words):
            self.require()


def _truth(value: _Value) -> bool:
    if isinstance(value, int):
        return value != 0
    return bool(value) and not re.fullmatch(r"-?0+", value)


def _number(value: _Value) -> int:
    if isinstance(value, int):
        return value
    if not _INTEGER.fullmatch(value):
        raise CommandError("non-integer argument", 2)
    return int(value)


def _compare(left: _Value, operator: str, right: _Value) -> bool:
    numbers = all(isinstance(value, int) or _INTEGER.fullmatch(value) for value in (left, right))
    a: bytes | int
    b: bytes | int
    if numbers:
        a, b = int(left), int(right)
        order = (a > b) - (a < b)
    else:
        a, b = (str(value).encode("utf-8", "surrogateescape") for value in (left, right))
        order = (a > b) - (a < b)
    return {
        "<": order < 0,
        "<=": order <= 0,
        "=": order == 0,
        "==": order == 0,
        "!=": order != 0,
        ">=": order >= 0,
        ">": order > 0,
    }[operator]


def _matched(text: str, pattern: str) -> _Value:
    """The first group of the match at the start of the text, or the number of characters matched."""
    try:
        compiled = compile_basic(pattern)
    except RegexError as error:
        raise CommandError(str(error), 2) from None
    match = compiled.match(text)
    if compiled.groups:
        return "" if match is None else match[1] or ""
    return 0 if match is None else match.end()


def _slice(text: str, start: _Value, length: _Value) -> str:
    if not all(isinstance(value, int) or _INTEGER.fullmatch(value) for value in (start, length)):
        return ""
    first, count = int(start), int(length)
    if first <= 0 or count <= 0:
        return ""
    return text[first - 1 : first - 1 + count]


@utility("expr", usage="EXPRESSION", parse=False, failure=2)
def expr(call: Invocation) -> Status:
    """Print the value of EXPRESSION; the status is 1 when it is null or 0."""
    words = call.operands
    if words == ["--help"]:
        call.print("Usage: expr EXPRESSION")
        return 0
    if words[:1] == ["--"]:
        words = words[1:]
    if not words:
        raise UsageError("missing operand")
    parser = _Parser(words)
    value = parser.either(True)
    if parser.at < len(words):
        raise UsageError(f"syntax error: unexpected argument {quote(words[parser.at])}", hint=False)
    call.print(str(value))
    return 0 if _truth(value) else 1
