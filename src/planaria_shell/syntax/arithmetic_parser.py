"""The grammar of shell arithmetic: C's expressions, as the Bash Reference Manual has them in section 6.5.

A `Parser` reads an expression and reports to a `Builder` what it finds. One builder makes closures
(`arithmetic`), another Python source (`translation.numbers`).
"""

from __future__ import annotations

import re
from typing import Generic, Protocol, TypeVar

from planaria_shell.errors import ArithmeticSyntaxError

__all__ = ["ArithmeticSyntaxError", "Builder", "Parser", "Target", "wrap"]

Made = TypeVar("Made")

MINIMUM = -(1 << 63)
MAXIMUM = (1 << 63) - 1
MODULUS = 1 << 64

_TOKEN = re.compile(
    r"[ \t\r\n]*(?:(\d[\w#@]*)|([A-Za-z_]\w*)|\0(\d+)\0"
    r"|(<<=|>>=|\*\*|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&^|]=|[-+*/%<>=&^|!~?:,()\[\]])|(.)|$)",
    re.DOTALL | re.ASCII,
)
_NAME_FOLLOWS = re.compile(r"[ \t\r\n]*[A-Za-z_]")
_BINARY = {
    "||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, ">": 7, "<=": 7, ">=": 7,
    "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10, "**": 11,
}  # fmt: skip
_ASSIGNING = frozenset(["=", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "^=", "|="])


def wrap(value: int) -> int:
    """`value` as 64 bits hold it."""
    if MINIMUM <= value <= MAXIMUM:
        return value
    return (value - MINIMUM) % MODULUS + MINIMUM


def constant(token: str) -> int:
    """The value of a number as C and `base#digits` write it; raises ValueError with what is wrong."""
    if "#" in token:
        base_text, _, digits = token.partition("#")
        if base_text[0] == "0":
            raise ValueError("invalid number")
        base = int(base_text) if base_text.isdecimal() else 0
        if not 2 <= base <= 64:
            raise ValueError("invalid arithmetic base")
        if not digits:
            raise ValueError("invalid integer constant")
        if "#" in digits:
            raise ValueError("invalid number")
    elif token[:2] in ("0x", "0X"):
        base, digits = 16, token[2:]
    elif token[0] == "0" and len(token) > 1:
        base, digits = 8, token[1:]
    else:
        base, digits = 10, token
    value = 0
    for char in digits:
        if char <= "9" and char.isdecimal():
            digit = ord(char) - 48
        elif "a" <= char <= "z":
            digit = ord(char) - 87
        elif "A" <= char <= "Z":
            digit = ord(char) - 55 if base <= 36 else ord(char) - 29
        elif char in "@_":
            digit = 62 if char == "@" else 63
        else:
            digit = 99
        if digit >= base:
            raise ValueError("value too great for base")
        value = value * base + digit
    return wrap(value)


class Target:
    """Something that can be assigned to."""

    __slots__ = ("name", "subscript")

    def __init__(self, name: str, subscript: str | None) -> None:
        self.name = name
        self.subscript = subscript


class Builder(Protocol[Made]):
    """What is made of the pieces of an expression."""

    def constant(self, value: int) -> Made: ...

    def operand(self, place: int) -> Made:
        """The expansion that stood at this place."""

    def read(self, target: Target) -> Made: ...

    def assign(self, target: Target, operator: str, value: Made, message: str) -> Made:
        """`=` and its like; `message` is the error of a division by zero."""

    def step(self, target: Target, step: int, *, post: bool) -> Made:
        """`++` and `--`."""

    def unary(self, operator: str, operand: Made) -> Made: ...

    def binary(self, operator: str, left: Made, right: Made, message: str) -> Made:
        """`message` is the error of the operators that have one."""

    def choose(self, condition: Made, yes: Made, no: Made) -> Made: ...

    def then(self, first: Made, second: Made) -> Made: ...


class Parser(Generic[Made]):
    """Parses `text`; `operands` are the places of the expansions whose values must be numbers (-1: whose text
    has to be parsed with the rest)."""

    def __init__(self, text: str, builder: Builder[Made]) -> None:
        self.text = text
        self.builder = builder
        self.position = 0
        self.operands: list[int] = []
        self.kind = 0
        self.token = ""
        self.start = 0
        self.previous = 0
        self.advance()

    def advance(self) -> None:
        before = self.kind
        match = _TOKEN.match(self.text, self.position)
        assert match is not None
        self.kind = match.lastindex or 0
        self.token = match.group(self.kind) if self.kind else ""
        self.previous = self.start
        # An expansion begins at its NUL.
        self.start = match.start(self.kind) - (self.kind == 3) if self.kind else len(self.text)
        self.position = match.end()
        if self.kind == 4:
            if self.token in ("++", "--"):
                if before != 2 and not _NAME_FOLLOWS.match(self.text, self.position):
                    # Neither after a variable nor before one: two signs.
                    self.token = self.token[0]
                    self.position -= 1
            elif self.token == "]" or (self.token == "[" and before not in (2, 3)):
                self.kind = 5
        if self.kind == 5:
            wrong = "operand expected" if before in (0, 4) else "invalid arithmetic operator"
            raise self.fail(f"syntax error: {wrong}")

    def fail(self, message: str, at: int | None = None) -> ArithmeticSyntaxError:
        start = self.start if at is None else at
        shown = self.text.lstrip(" \t\n")
        rest = self.text[start:]
        if not rest.strip():
            rest = self.text[self.previous :]
        return ArithmeticSyntaxError(f'{shown}: {message} (error token is "{rest}")')

    def expression(self) -> Made:
        """All of the text; nothing at all counts as 0."""
        if self.kind == 0:
            return self.builder.constant(0)
        code = self.comma()
        if self.kind != 0:
            raise self.fail("syntax error in expression")
        return code

    def comma(self) -> Made:
        code = self.assignment()
        while self.kind == 4 and self.token == ",":
            self.advance()
            code = self.builder.then(code, self.assignment())
        return code

    def assignment(self) -> Made:
        start_position, start_kind, start_token, start = self.position, self.kind, self.token, self.start
        if start_kind == 2:
            self.advance()
            subscript = self.subscript()
            if self.kind == 4 and self.token in _ASSIGNING:
                operator = self.token
                self.advance()
                value = self.assignment()
                message = self.fail("division by 0").message
                return self.builder.assign(Target(start_token, subscript), operator, value, message)
            self.position, self.kind, self.token, self.start = start_position, start_kind, start_token, start
        code = self.conditional()
        if self.kind == 4 and self.token in _ASSIGNING:
            raise self.fail("attempted assignment to non-variable")
        return code

    def conditional(self) -> Made:
        condition = self.binary(1)
        if self.kind == 4 and self.token == "?":
            self.advance()
            if self.kind == 0 or self.token == ":":
                raise self.fail("expression expected")
            yes = self.comma()
            if self.token != ":":
                raise self.fail("`:' expected for conditional expression")
            self.advance()
            if self.kind == 0:
                raise self.fail("expression expected")
            no = self.conditional()
            return self.builder.choose(condition, yes, no)
        return condition

    def binary(self, level: int) -> Made:
        left = self.unary()
        while self.kind == 4:
            operator = self.token
            precedence = _BINARY.get(operator, 0)
            if precedence < level or not precedence:
                return left
            self.advance()
            at = self.start
            right = self.binary(precedence if operator == "**" else precedence + 1)
            left = self.combine(operator, left, right, at)
        return left

    def combine(self, operator: str, left: Made, right: Made, at: int) -> Made:
        message = ""
        if operator in ("/", "%"):
            message = self.fail("division by 0", at).message
        elif operator == "**":
            message = self.fail("exponent less than 0").message
        return self.builder.binary(operator, left, right, message)

    def unary(self) -> Made:
        if self.kind == 4:
            token = self.token
            if token in ("++", "--"):
                self.advance()
                name = self.token
                self.advance()
                target = Target(name, self.subscript())
                return self.builder.step(target, 1 if token == "++" else -1, post=False)
            if token in ("-", "+", "!", "~"):
                self.advance()
                operand = self.unary()
                return operand if token == "+" else self.builder.unary(token, operand)
        return self.primary()

    def primary(self) -> Made:
        kind, token = self.kind, self.token
        if kind == 1:
            try:
                value = constant(token)
            except ValueError as error:
                end = self.start + len(token)
                shown = self.text[:end].lstrip(" \t\n")
                raise ArithmeticSyntaxError(f'{shown}: {error} (error token is "{token}")') from None
            self.advance()
            return self.builder.constant(value)
        if kind == 2:
            self.advance()
            target = Target(token, self.subscript())
            if self.kind == 4 and self.token in ("++", "--"):
                step = 1 if self.token == "++" else -1
                self.advance()
                return self.builder.step(target, step, post=True)
            return self.builder.read(target)
        if kind == 3:
            place = int(token)
            self.operands.append(place)
            self.advance()
            if self.kind in (1, 2, 3) or self.token == "[" or (self.kind == 4 and self.token in ("++", "--")):
                # The expansion is only a piece of a token: the text as a whole must be parsed again.
                self.operands.append(-1)
            return self.builder.operand(place)
        if kind == 4 and token == "(":
            self.advance()
            code = self.comma()
            if self.token != ")":
                raise self.fail("missing `)'")
            self.advance()
            return code
        raise self.fail("syntax error: operand expected")

    def subscript(self) -> str | None:
        """The text between brackets after a name, whatever it is."""
        if self.kind != 4 or self.token != "[":
            return None
        depth = 1
        position = self.start + 1
        while position < len(self.text):
            char = self.text[position]
            if char == "[":
                depth += 1
            elif char == "]":
                depth -= 1
                if depth == 0:
                    text = self.text[self.start + 1 : position]
                    self.position = position + 1
                    self.kind = 2
                    self.advance()
                    return text
            position += 1
        raise self.fail("bad array subscript", self.previous)
