"""Shell arithmetic: 64-bit integers with all of C's operators, compiled to closures.

An expression's text is parsed once and kept (`compiled`). A closure takes the shell and the values of the
expansions that stood in the text (`$x`, `${a[1]}`, `$(cmd)`), which the text holds as NUL, number, NUL.
See the Bash Reference Manual, section 6.5.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache

from planaria_shell.errors import ArithmeticSyntaxError, ReadonlyError, ShellError, abandoning
from planaria_shell.expand.subscripts import key_of
from planaria_shell.state.interpreter import Interpreter
from planaria_shell.state.variable import ASSOCIATIVE, INTEGER, SLOW_READ, SLOW_WRITE
from planaria_shell.syntax.arithmetic_parser import MAXIMUM, MINIMUM, MODULUS, Parser, Target, wrap

__all__ = ["COMMON", "ArithmeticSyntaxError", "Code", "Expression", "compiled", "evaluate", "number"]

#: Called with the shell, and with the values of the expansions in the text when there are any.
Code = Callable[..., int]


#: What most numbers in scripts are: found faster in a dictionary than parsed.
COMMON = {str(value): value for value in range(-256, 4096)}
_DECIMAL = re.compile(r"-?(?:[1-9][0-9]*|0)\Z")

_DEPTH = 1024


class Expression:
    """A compiled expression; `operands` are the expansions that must be numbers for `code` to be right."""

    __slots__ = ("code", "operands", "text")

    def __init__(self, text: str, code: Code, operands: tuple[int, ...]) -> None:
        self.text = text
        self.code = code
        self.operands = operands


def literal(text: str) -> int | None:
    """The value of a plain decimal number, or None for any other text."""
    value = COMMON.get(text)
    if value is not None:
        return value
    if text.isdecimal():
        if text[0] != "0" and len(text) < 19:
            return int(text)
        return None
    if len(text) < 19 and _DECIMAL.match(text):
        return int(text)
    return None


def number(shell: Interpreter, text: str) -> int:
    """The value of a variable's text in an expression."""
    value = literal(text)
    return value if value is not None else evaluate(shell, text)


def value_of(shell: Interpreter, name: str) -> int:
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


def evaluate(shell: Interpreter, text: str) -> int:
    """The value of an expression given as text; raises `ArithmeticSyntaxError`."""
    value = COMMON.get(text)
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
        parser = Parser(text, _Closures())
        code = parser.expression()
        expression = _cache[text] = Expression(text, code, tuple(parser.operands))
    return expression


# -- reading and writing variables -----------------------------------------------------------------

_PLACE = re.compile(r"\0(\d+)\0")


def _substituted(text: str, values: Sequence[str]) -> str:
    return _PLACE.sub(lambda match: values[int(match.group(1))], text) if "\0" in text else text


def _read(target: Target) -> Code:
    name = target.name
    if target.subscript is not None:
        return _read_element(target)

    def read(sh: Interpreter, a: Sequence[str] = ()) -> int:
        variable = sh.table.get(name)
        if variable is not None and variable.numbered is variable.value:
            return variable.number
        return value_of(sh, name)

    read.variable = name  # type: ignore[attr-defined]
    return read


def _read_element(target: Target) -> Code:
    name, subscript = target.name, target.subscript
    assert subscript is not None
    index: Code | None = None

    def read(sh: Interpreter, a: Sequence[str] = ()) -> int:
        nonlocal index
        variable = sh.variables.find(name)
        if sh.nounset and (variable is None or (variable.array is None and variable.value is None)):
            raise ShellError(f"{name}: unbound variable", fatal=True, status=127)
        if variable is None:
            try:
                if index is None:
                    index = _subscript_code(subscript)
                place = index(sh, a)
            except ShellError as error:
                raise abandoning(error) from None
            if place < 0:
                sh.complain(f"{name}: bad array subscript")
            return 0
        if variable.flags & ASSOCIATIVE:
            text = (variable.array or {}).get(_key(sh, subscript, a))  # type: ignore[call-overload]
        else:
            if subscript in ("@", "*"):
                return number(sh, " ".join(variable.values()))
            try:
                if index is None:
                    index = _subscript_code(subscript)
                place = index(sh, a)
            except ShellError as error:
                raise abandoning(error) from None
            if place < 0:
                if variable.array is not None:
                    place += variable.next_index()
                if place < 0:
                    sh.complain(f"{name}: bad array subscript")
                    return 0
            if variable.array is None:
                text = variable.value if not place else None
            else:
                text = variable.array.get(place)  # type: ignore[call-overload]
        return 0 if text is None else number(sh, text)

    return read


def _key(sh: Interpreter, subscript: str, a: Sequence[str]) -> str:
    """The key that a subscript stands for: without its quotes, and if it stood in a text expanded now."""
    if "\0" not in subscript and ("$" in subscript or "`" in subscript):
        return key_of(sh, subscript)
    text = _substituted(subscript, a)
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    return text


def _subscript_code(text: str) -> Code:
    """The closure of a subscript. An expansion in it that stood in a text is done now."""
    if "\0" in text:
        return lambda sh, a=(): evaluate(sh, _substituted(text, a))
    if "$" in text or "`" in text:
        return lambda sh, a=(): sh.variables.index_of(text)
    return compiled(text).code


def _write(target: Target) -> Callable[[Interpreter, Sequence[str], int], None]:
    name, subscript = target.name, target.subscript
    simple = SLOW_WRITE & ~INTEGER
    if subscript is None:

        def write(sh: Interpreter, a: Sequence[str], value: int) -> None:
            variable = sh.table.get(name)
            if variable is not None and not variable.flags & simple:
                variable.value = variable.numbered = str(value)
                variable.number = value
            else:
                sh.variables.set(name, str(value))

        return write

    def write_element(sh: Interpreter, a: Sequence[str], value: int) -> None:
        try:
            sh.variables.set_element(name, _key(sh, subscript, a), str(value))
        except ReadonlyError:
            raise
        except ShellError as error:
            # The expression has its value all the same.
            if error.fatal:
                raise
            sh.complain(error.message)

    return write_element


def _assign(target: Target, operator: str, value: Code, message: str) -> Code:
    write = _write(target)
    if operator == "=":

        def assign(sh: Interpreter, a: Sequence[str] = ()) -> int:
            result = value(sh, a)
            write(sh, a, result)
            return result

        return assign
    read = _read(target)
    if operator == "/=":
        combined = _divide(read, value, message)
    elif operator == "%=":
        combined = _remainder(read, value, message)
    else:
        combined = _operation(operator[:-1], read, value)

    def update(sh: Interpreter, a: Sequence[str] = ()) -> int:
        result = combined(sh, a)
        write(sh, a, result)
        return result

    return update


def _step(target: Target, step: int, *, post: bool) -> Code:
    name = target.name
    read = _read(target)
    write = _write(target)
    if target.subscript is not None:

        def step_element(sh: Interpreter, a: Sequence[str] = ()) -> int:
            before = read(sh, a)
            after = wrap(before + step)
            write(sh, a, after)
            return before if post else after

        return step_element
    simple = SLOW_WRITE & ~INTEGER

    def step_variable(sh: Interpreter, a: Sequence[str] = ()) -> int:
        variable = sh.table.get(name)
        if variable is None or variable.flags & simple:
            before = read(sh, a)
            after = wrap(before + step)
            write(sh, a, after)
            return before if post else after
        before = variable.number if variable.numbered is variable.value else value_of(sh, name)
        after = before + step
        if not MINIMUM <= after <= MAXIMUM:
            after = wrap(after)
        variable.value = variable.numbered = str(after)
        variable.number = after
        return before if post else after

    return step_variable


# -- operators -------------------------------------------------------------------------------------


def _fixed(value: int) -> Code:
    def code(sh: Interpreter, a: Sequence[str] = ()) -> int:
        return value

    code.constant = value  # type: ignore[attr-defined]
    return code


def _then(first: Code, second: Code) -> Code:
    def code(sh: Interpreter, a: Sequence[str] = ()) -> int:
        first(sh, a)
        return second(sh, a)

    return code


def _divide(left: Code, right: Code, message: str) -> Code:
    def code(sh: Interpreter, a: Sequence[str] = ()) -> int:
        x, y = left(sh, a), right(sh, a)
        if y == 0:
            raise ArithmeticSyntaxError(_substituted(message, a))
        quotient = abs(x) // abs(y)
        return wrap(quotient if (x < 0) == (y < 0) else -quotient)

    return code


def _remainder(left: Code, right: Code, message: str) -> Code:
    def code(sh: Interpreter, a: Sequence[str] = ()) -> int:
        x, y = left(sh, a), right(sh, a)
        if y == 0:
            raise ArithmeticSyntaxError(_substituted(message, a))
        if x >= 0 and y > 0:
            return x % y
        rest = abs(x) % abs(y)
        return -rest if x < 0 else rest

    return code


def _power(left: Code, right: Code, message: str) -> Code:
    def code(sh: Interpreter, a: Sequence[str] = ()) -> int:
        x, y = left(sh, a), right(sh, a)
        if y < 0:
            raise ArithmeticSyntaxError(_substituted(message, a))
        return (pow(x, y, MODULUS) - MINIMUM) % MODULUS + MINIMUM

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
        "MINIMUM": MINIMUM, "MAXIMUM": MAXIMUM, "wrap": wrap, "value_of": value_of,
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


def _unary(operator: str, operand: Code) -> Code:
    if operator == "-":
        return lambda sh, a=(): wrap(-operand(sh, a))
    if operator == "!":
        return lambda sh, a=(): 0 if operand(sh, a) else 1
    return lambda sh, a=(): ~operand(sh, a)


class _Closures:
    """Makes closures of an expression's pieces."""

    def constant(self, value: int) -> Code:
        return _fixed(value)

    def operand(self, place: int) -> Code:
        return lambda sh, a=(): number(sh, a[place])

    def read(self, target: Target) -> Code:
        return _read(target)

    def assign(self, target: Target, operator: str, value: Code, message: str) -> Code:
        return _assign(target, operator, value, message)

    def step(self, target: Target, step: int, *, post: bool) -> Code:
        return _step(target, step, post=post)

    def unary(self, operator: str, operand: Code) -> Code:
        return _unary(operator, operand)

    def binary(self, operator: str, left: Code, right: Code, message: str) -> Code:
        if operator == "/":
            return _divide(left, right, message)
        if operator == "%":
            return _remainder(left, right, message)
        if operator == "**":
            return _power(left, right, message)
        return _operation(operator, left, right)

    def choose(self, condition: Code, yes: Code, no: Code) -> Code:
        return lambda sh, a=(): yes(sh, a) if condition(sh, a) else no(sh, a)

    def then(self, first: Code, second: Code) -> Code:
        return _then(first, second)
