"""Shell arithmetic: 64-bit integers with all of C's operators, compiled to closures.

An expression's text is parsed once and kept (`compiled`). A closure takes the shell and the values of the
expansions that stood in the text (`$x`, `${a[1]}`, `$(cmd)`), which the text holds as NUL, number, NUL.
See the Bash Reference Manual, section 6.5.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from .variables import ASSOCIATIVE, INTEGER, SLOW_READ, SLOW_WRITE, ShellError

if TYPE_CHECKING:
    from .shell import Shell

__all__ = ["ArithmeticSyntaxError", "Code", "Expression", "compiled", "evaluate", "number"]

#: Called with the shell, and with the values of the expansions in the text when there are any.
Code = Callable[..., int]

_MINIMUM = -(1 << 63)
_MAXIMUM = (1 << 63) - 1
_MODULUS = 1 << 64

_TOKEN = re.compile(
    r"[ \t\r\n]*(?:(\d[\w#@]*)|([A-Za-z_]\w*)|\0(\d+)\0"
    r"|(<<=|>>=|\*\*|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&^|]=|[-+*/%<>=&^|!~?:,()\[\]])|(.)|$)",
    re.DOTALL | re.ASCII,
)
#: What most numbers in scripts are: found faster in a dictionary than parsed.
_COMMON = {str(value): value for value in range(-256, 4096)}
_DECIMAL = re.compile(r"-?(?:[1-9][0-9]*|0)\Z")

_BINARY = {
    "||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, ">": 7, "<=": 7, ">=": 7,
    "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10, "**": 11,
}  # fmt: skip
_ASSIGNING = frozenset(["=", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "^=", "|="])
_DEPTH = 1024


class ArithmeticSyntaxError(ShellError):
    """The expression is not well formed or has no value."""


def _wrap(value: int) -> int:
    if _MINIMUM <= value <= _MAXIMUM:
        return value
    return (value - _MINIMUM) % _MODULUS + _MINIMUM


class Expression:
    """A compiled expression; `operands` are the expansions that must be numbers for `code` to be right."""

    __slots__ = ("code", "operands", "text")

    def __init__(self, text: str, code: Code, operands: tuple[int, ...]) -> None:
        self.text = text
        self.code = code
        self.operands = operands


def literal(text: str) -> int | None:
    """The value of a plain decimal number, or None for any other text."""
    value = _COMMON.get(text)
    if value is not None:
        return value
    if text.isdecimal():
        if text[0] != "0" and len(text) < 19:
            return int(text)
        return None
    if len(text) < 19 and _DECIMAL.match(text):
        return int(text)
    return None


def number(shell: Shell, text: str) -> int:
    """The value of a variable's text in an expression."""
    value = literal(text)
    return value if value is not None else evaluate(shell, text)


def value_of(shell: Shell, name: str) -> int:
    """The value of a variable in an expression; a plain number is remembered with the variable."""
    variable = shell.table.get(name)
    if variable is None:
        text = None
    elif variable.flags & SLOW_READ:
        text = shell.variables.get(name)
    else:
        text = variable.value
        if text is not None:
            value = literal(text)
            if value is not None:
                variable.number = value
                variable.numbered = text
                return value
    if text is None:
        if shell.nounset:
            raise ShellError(f"{name}: unbound variable", fatal=True, status=127)
        return 0
    return number(shell, text)


def evaluate(shell: Shell, text: str) -> int:
    """The value of an expression given as text; raises `ArithmeticSyntaxError`."""
    value = _COMMON.get(text)
    if value is not None:
        return value
    if not text.strip():
        return 0
    shell.arithmetic_depth += 1
    try:
        if shell.arithmetic_depth > _DEPTH:
            raise ArithmeticSyntaxError(
                f'{text}: expression recursion level exceeded (error token is "{text}")'
            )
        return compiled(text).code(shell, [])
    finally:
        shell.arithmetic_depth -= 1


_cache: dict[str, Expression] = {}


def compiled(text: str) -> Expression:
    """The compiled form of `text`."""
    expression = _cache.get(text)
    if expression is None:
        if len(_cache) > 4096:
            _cache.clear()
        expression = _cache[text] = _Parser(text).expression()
    return expression


def _constant(text: str, token: str) -> int:
    """The value of a number as C and `base#digits` write it."""
    if "#" in token:
        base_text, digits = token.split("#", 1)
        if base_text[0] == "0":
            raise ArithmeticSyntaxError(
                f'{text.strip()}: value too great for base (error token is "{token}")'
            )
        base = int(base_text) if base_text.isdecimal() else 0
        if not 2 <= base <= 64:
            raise ArithmeticSyntaxError(f'{text}: invalid arithmetic base (error token is "{token}")')
        if not digits:
            raise ArithmeticSyntaxError(f'{text}: invalid integer constant (error token is "{token}")')
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
            raise ArithmeticSyntaxError(
                f'{text.strip()}: value too great for base (error token is "{token}")'
            )
        value = value * base + digit
    return _wrap(value)


class _Target:
    """Something that can be assigned to."""

    __slots__ = ("name", "subscript")

    def __init__(self, name: str, subscript: str | None) -> None:
        self.name = name
        self.subscript = subscript


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.operands: list[int] = []
        self.kind = 0
        self.token = ""
        self.start = 0
        self.previous = 0
        self.advance()

    def advance(self) -> None:
        match = _TOKEN.match(self.text, self.position)
        assert match is not None
        self.kind = match.lastindex or 0
        self.token = match.group(self.kind) if self.kind else ""
        self.previous = self.start
        self.start = match.start(self.kind) if self.kind else len(self.text)
        self.position = match.end()

    def fail(self, message: str, at: int | None = None) -> ArithmeticSyntaxError:
        start = self.start if at is None else at
        shown = self.text.lstrip(" \t\n")
        rest = self.text[start:]
        if not rest.strip():
            rest = self.text[self.previous :]
        return ArithmeticSyntaxError(f'{shown}: {message} (error token is "{rest.rstrip()}")')

    def expression(self) -> Expression:
        if self.kind == 0:
            return Expression(self.text, lambda sh, a=(): 0, ())
        code = self.comma()
        if self.kind != 0:
            if self.token in _ASSIGNING:
                raise self.fail("attempted assignment to non-variable")
            if self.kind == 5:
                raise self.fail("syntax error: invalid arithmetic operator")
            raise self.fail("syntax error in expression")
        return Expression(self.text, code, tuple(self.operands))

    def comma(self) -> Code:
        code = self.assignment()
        while self.kind == 4 and self.token == ",":
            self.advance()
            code = _then(code, self.assignment())
        return code

    def assignment(self) -> Code:
        start_position, start_kind, start_token, start = self.position, self.kind, self.token, self.start
        if start_kind == 2:
            self.advance()
            subscript = self.subscript()
            if self.kind == 4 and self.token in _ASSIGNING:
                operator = self.token
                self.advance()
                if self.kind == 0:
                    raise self.fail("syntax error: operand expected", start)
                value = self.assignment()
                return _assign(_Target(start_token, subscript), operator, value, self.text)
            self.position, self.kind, self.token, self.start = start_position, start_kind, start_token, start
        return self.conditional()

    def conditional(self) -> Code:
        condition = self.binary(1)
        if self.kind == 4 and self.token == "?":
            self.advance()
            if self.token == ":":
                raise self.fail("expression expected")
            yes = self.comma()
            if self.token != ":":
                raise self.fail("`:' expected for conditional expression")
            self.advance()
            if self.kind == 0:
                raise self.fail("expression expected")
            no = self.conditional()
            return lambda sh, a=(): yes(sh, a) if condition(sh, a) else no(sh, a)
        return condition

    def binary(self, level: int) -> Code:
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

    def combine(self, operator: str, left: Code, right: Code, at: int) -> Code:
        if operator in ("/", "%"):
            error = self.fail("division by 0", at)
            return _divide(left, right, error) if operator == "/" else _remainder(left, right, error)
        if operator == "**":
            return _power(left, right, self.fail("exponent less than 0", at))
        return _operation(operator, left, right)

    def unary(self) -> Code:
        if self.kind == 4:
            token = self.token
            if token in ("++", "--"):
                self.advance()
                if self.kind == 2:
                    name = self.token
                    self.advance()
                    target = _Target(name, self.subscript())
                    return _step(target, 1 if token == "++" else -1, post=False)
                operand = self.unary()
                return operand
            if token in ("-", "+", "!", "~"):
                self.advance()
                operand = self.unary()
                if token == "-":
                    return lambda sh, a=(): _wrap(-operand(sh, a))
                if token == "!":
                    return lambda sh, a=(): 0 if operand(sh, a) else 1
                if token == "~":
                    return lambda sh, a=(): ~operand(sh, a)
                return operand
        return self.primary()

    def primary(self) -> Code:
        kind, token = self.kind, self.token
        if kind == 1:
            value = _constant(self.text, token)
            self.advance()
            return _fixed(value)
        if kind == 2:
            self.advance()
            target = _Target(token, self.subscript())
            if self.kind == 4 and self.token in ("++", "--"):
                step = 1 if self.token == "++" else -1
                self.advance()
                return _step(target, step, post=True)
            return _read(target)
        if kind == 3:
            place = int(token)
            self.operands.append(place)
            self.advance()
            if self.kind in (1, 2, 3) or self.token == "[" or (self.kind == 4 and self.token in ("++", "--")):
                # The expansion is only a piece of a token: the text as a whole must be parsed again.
                self.operands.append(-1)
            return lambda sh, a=(): number(sh, a[place])
        if kind == 4 and token == "(":
            self.advance()
            code = self.comma()
            if self.token != ")":
                raise self.fail("missing `)'")
            self.advance()
            return code
        if kind == 5:
            raise self.fail(
                "syntax error: invalid arithmetic operator"
                if self.previous != self.start
                else "syntax error: operand expected"
            )
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
                    self.advance()
                    return text
            position += 1
        raise self.fail("bad array subscript")


# -- reading and writing variables -----------------------------------------------------------------

_PLACE = re.compile(r"\0(\d+)\0")


def _substituted(text: str, values: Sequence[str]) -> str:
    return _PLACE.sub(lambda match: values[int(match.group(1))], text) if "\0" in text else text


def _read(target: _Target) -> Code:
    name = target.name
    if target.subscript is not None:
        return _read_element(target)

    def read(sh: Shell, a: Sequence[str] = ()) -> int:
        variable = sh.table.get(name)
        if variable is not None and variable.numbered is variable.value:
            return variable.number
        return value_of(sh, name)

    read.variable = name  # type: ignore[attr-defined]
    return read


def _read_element(target: _Target) -> Code:
    name, subscript = target.name, target.subscript
    assert subscript is not None
    index: Code | None = None

    def read(sh: Shell, a: Sequence[str] = ()) -> int:
        nonlocal index
        variable = sh.variables.find(name)
        if variable is None:
            if index is None:
                index = _subscript_code(subscript)
            index(sh, a)
            return 0
        if variable.flags & ASSOCIATIVE:
            text = (variable.array or {}).get(_key(_substituted(subscript, a)))  # type: ignore[call-overload]
        else:
            if subscript in ("@", "*"):
                return number(sh, " ".join(variable.values()))
            if index is None:
                index = _subscript_code(subscript)
            place = index(sh, a)
            if variable.array is None:
                text = variable.value if place in (0, -1) else None
            else:
                if place < 0:
                    place = variable.index(place, name)
                text = variable.array.get(place)  # type: ignore[call-overload]
        return 0 if text is None else number(sh, text)

    return read


def _key(text: str) -> str:
    """An associative key with its quotes taken off."""
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    return text


def _subscript_code(text: str) -> Code:
    expression = compiled(text)
    if not expression.operands:
        return expression.code

    def code(sh: Shell, a: Sequence[str] = ()) -> int:
        return evaluate(sh, _substituted(text, a))

    return code


def _write(target: _Target) -> Callable[[Shell, Sequence[str], int], None]:
    name, subscript = target.name, target.subscript
    simple = SLOW_WRITE & ~INTEGER
    if subscript is None:

        def write(sh: Shell, a: Sequence[str], value: int) -> None:
            variable = sh.table.get(name)
            if variable is not None and not variable.flags & simple:
                variable.value = variable.numbered = str(value)
                variable.number = value
            else:
                sh.variables.set(name, str(value))

        return write

    def write_element(sh: Shell, a: Sequence[str], value: int) -> None:
        sh.variables.set_element(name, _key(_substituted(subscript, a)), str(value))

    return write_element


def _assign(target: _Target, operator: str, value: Code, text: str) -> Code:
    write = _write(target)
    if operator == "=":

        def assign(sh: Shell, a: Sequence[str] = ()) -> int:
            result = value(sh, a)
            write(sh, a, result)
            return result

        return assign
    read = _read(target)
    error = ArithmeticSyntaxError(f'{text.strip()}: division by 0 (error token is "0")')
    if operator == "/=":
        combined = _divide(read, value, error)
    elif operator == "%=":
        combined = _remainder(read, value, error)
    else:
        combined = _operation(operator[:-1], read, value)

    def update(sh: Shell, a: Sequence[str] = ()) -> int:
        result = combined(sh, a)
        write(sh, a, result)
        return result

    return update


def _step(target: _Target, step: int, *, post: bool) -> Code:
    name = target.name
    read = _read(target)
    write = _write(target)
    if target.subscript is not None:

        def step_element(sh: Shell, a: Sequence[str] = ()) -> int:
            before = read(sh, a)
            after = _wrap(before + step)
            write(sh, a, after)
            return before if post else after

        return step_element
    simple = SLOW_WRITE & ~INTEGER

    def step_variable(sh: Shell, a: Sequence[str] = ()) -> int:
        variable = sh.table.get(name)
        if variable is None or variable.flags & simple:
            before = read(sh, a)
            after = _wrap(before + step)
            write(sh, a, after)
            return before if post else after
        before = variable.number if variable.numbered is variable.value else value_of(sh, name)
        after = before + step
        if not _MINIMUM <= after <= _MAXIMUM:
            after = _wrap(after)
        variable.value = variable.numbered = str(after)
        variable.number = after
        return before if post else after

    return step_variable


# -- operators -------------------------------------------------------------------------------------


def _fixed(value: int) -> Code:
    def code(sh: Shell, a: Sequence[str] = ()) -> int:
        return value

    code.constant = value  # type: ignore[attr-defined]
    return code


def _then(first: Code, second: Code) -> Code:
    def code(sh: Shell, a: Sequence[str] = ()) -> int:
        first(sh, a)
        return second(sh, a)

    return code


def _divide(left: Code, right: Code, error: ArithmeticSyntaxError) -> Code:
    def code(sh: Shell, a: Sequence[str] = ()) -> int:
        x, y = left(sh, a), right(sh, a)
        if y == 0:
            raise ArithmeticSyntaxError(error.message)
        quotient = abs(x) // abs(y)
        return _wrap(quotient if (x < 0) == (y < 0) else -quotient)

    return code


def _remainder(left: Code, right: Code, error: ArithmeticSyntaxError) -> Code:
    def code(sh: Shell, a: Sequence[str] = ()) -> int:
        x, y = left(sh, a), right(sh, a)
        if y == 0:
            raise ArithmeticSyntaxError(error.message)
        if x >= 0 and y > 0:
            return x % y
        rest = abs(x) % abs(y)
        return -rest if x < 0 else rest

    return code


def _power(left: Code, right: Code, error: ArithmeticSyntaxError) -> Code:
    def code(sh: Shell, a: Sequence[str] = ()) -> int:
        x, y = left(sh, a), right(sh, a)
        if y < 0:
            raise ArithmeticSyntaxError(error.message)
        return (pow(x, y, _MODULUS) - _MINIMUM) % _MODULUS + _MINIMUM

    return code


#: How each operator computes: a statement that returns, from `x` and `y`.
_FORMS = {
    "+": "z = x + y\n        return z if MINIMUM <= z <= MAXIMUM else wrap(z)",
    "-": "z = x - y\n        return z if MINIMUM <= z <= MAXIMUM else wrap(z)",
    "*": "z = x * y\n        return z if MINIMUM <= z <= MAXIMUM else wrap(z)",
    "<<": "return wrap(x << (y & 63))",
    ">>": "return x >> (y & 63)",
    "&": "return x & y",
    "^": "return x ^ y",
    "|": "return x | y",
    "<": "return 1 if x < y else 0",
    ">": "return 1 if x > y else 0",
    "<=": "return 1 if x <= y else 0",
    ">=": "return 1 if x >= y else 0",
    "==": "return 1 if x == y else 0",
    "!=": "return 1 if x != y else 0",
}
_LOADS = {
    # A variable whose number is known, else the long way.
    "variable": (
        "v = sh.table.get({side}_name)\n"
        "        known = v is not None and v.numbered is v.value\n"
        "        {target} = v.number if known else value_of(sh, {side}_name)"
    ),
    "constant": "{target} = {side}_constant",
    "code": "{target} = {side}(sh, a)",
}
_TEMPLATE = """
def make(left, left_name, left_constant, right, right_name, right_constant):
    def code(sh, a=()):
        {left}
        {right}
        {form}
    return code
"""


def _kind(code: Code) -> str:
    if hasattr(code, "variable"):
        return "variable"
    return "constant" if hasattr(code, "constant") else "code"


@cache
def _maker(operator: str, left: str, right: str) -> Callable[..., Code]:
    """The function that makes closures for an operator over operands of these kinds: reading a variable or
    a constant is written into the closure instead of being a call."""
    source = _TEMPLATE.format(
        left=_LOADS[left].format(side="left", target="x"),
        right=_LOADS[right].format(side="right", target="y"),
        form=_FORMS[operator],
    )
    names: dict[str, object] = {
        "MINIMUM": _MINIMUM, "MAXIMUM": _MAXIMUM, "wrap": _wrap, "value_of": value_of,
    }  # fmt: skip
    exec(source, names)
    return names["make"]  # type: ignore[return-value]


def _operation(operator: str, left: Code, right: Code) -> Code:
    """The closure for `left operator right`."""
    if operator == "&&":
        return lambda sh, a=(): 1 if left(sh, a) and right(sh, a) else 0
    if operator == "||":
        return lambda sh, a=(): 1 if left(sh, a) or right(sh, a) else 0
    return _maker(operator, _kind(left), _kind(right))(
        left,
        getattr(left, "variable", None),
        getattr(left, "constant", None),
        right,
        getattr(right, "variable", None),
        getattr(right, "constant", None),
    )
