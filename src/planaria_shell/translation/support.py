"""What the translated source calls: loading and saving variables, and the less common cases."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from planaria_shell.errors import ArithmeticSyntaxError, BadSubscriptError, ShellError
from planaria_shell.expand.arithmetic import COMMON, evaluate, literal
from planaria_shell.expand.arrays import Element, store_array
from planaria_shell.expand.condition_operators import TestError, failed_operand, search
from planaria_shell.expand.constant_words import regex_escape
from planaria_shell.expand.fields import split
from planaria_shell.expand.parameter_operators import change_case, remover, replace, substring
from planaria_shell.expand.pathnames import glob_fields
from planaria_shell.expand.patterns import MAGIC_EXTENDED, escape, matcher
from planaria_shell.state.characters import lower_case, upper_case
from planaria_shell.state.control import Return
from planaria_shell.state.interpreter import Interpreter
from planaria_shell.state.variable import ASSOCIATIVE, INDEXED, SHORT, SLOW_WRITE, Variable
from planaria_shell.syntax.arithmetic_parser import MAXIMUM, MINIMUM, MODULUS, wrap
from planaria_shell.translation.lines import Lines

__all__ = ["ASSIGNED_FIRST", "NAMESPACE", "canonical"]

#: What the kinds of a variable begin with that need not be loaded, since it is assigned first.
ASSIGNED_FIRST = "-"
#: The value of such a variable before that.
UNTOUCHED = object()

Value = Any
Plan = Sequence[tuple[str, str, int]]


def canonical(text: str) -> int | None:
    """The number whose text is just this, or None."""
    value = literal(text)
    if value is None and 18 < len(text) < 21 and text.lstrip("-").isdecimal():
        value = int(text)
    return value if value is not None and str(value) == text and MINIMUM <= value <= MAXIMUM else None


def held(variable: Variable | None) -> str | None:
    """What a variable gives when it is read as a scalar: an array gives its element 0."""
    return None if variable is None else variable.scalar()


def is_plain(variable: Variable | None) -> bool:
    """Whether reading and assigning the variable has no effects beyond its value."""
    return variable is None or not variable.flags & SLOW_WRITE & ~(INDEXED | ASSOCIATIVE)


def load(shell: Interpreter, plan: Plan) -> list[Value] | None:
    """The variables' values as the plan wants them; None when one of them is not what it should be."""
    table = shell.table
    values: list[Value] = []
    for name, kinds, flag in plan:
        variable = table.get(name)
        if flag:
            if variable is None or variable.flags & SLOW_WRITE != flag:
                return None
            values.append(variable)
            continue
        if not is_plain(variable):
            return None
        if kinds[0] == ASSIGNED_FIRST:
            values.append(UNTOUCHED)
            continue
        text = held(variable)
        if text is None:
            if "n" not in kinds:
                return None
            values.append(None)
            continue
        number = canonical(text) if "i" in kinds else None
        if number is None and "s" not in kinds:
            return None
        values.append(text if number is None else number)
    return values


def loaded_again(shell: Interpreter, plan: Plan) -> list[Value]:
    """The values of the scalars after an expression was evaluated: it can have assigned numbers to them."""
    values: list[Value] = []
    for name, kinds, flag in plan:
        if not flag:
            text = held(shell.table.get(name))
            number = canonical(text) if text is not None and "i" in kinds else None
            values.append(text if number is None else number)
    return values


def save(shell: Interpreter, names: Sequence[str], values: Iterable[Value]) -> None:
    """Give the shell's variables their values."""
    table = shell.table
    for name, value in zip(names, values, strict=False):
        if value is UNTOUCHED:
            continue
        variable = table.get(name)
        if variable is None:
            if value is None:
                continue
            variable = table[name] = Variable(None, shell.variables.new_flags)
        if variable.flags & (INDEXED | ASSOCIATIVE):
            _save_element(shell, name, variable, value)
        elif value is None:
            if variable.value is not None:
                del table[name]
        elif value.__class__ is not int:
            variable.value = value
        elif variable.number != value or variable.numbered is not variable.value:
            variable.value = variable.numbered = str(value)
            variable.number = value


def _save_element(shell: Interpreter, name: str, variable: Variable, value: Value) -> None:
    """Give an array its element 0."""
    if value is None:
        shell.variables.unset_element(name, "0")
    elif variable.scalar() != str(value):
        shell.variables.set_element(name, "0", str(value))


# -- numbers ---------------------------------------------------------------------------------------


def operand(value: Value) -> int | None:
    """The number that an expansion in an expression is; None when its text has to be parsed with the rest."""
    if value.__class__ is int:
        return value
    number = COMMON.get(value)
    return literal(value) if number is None else number


def divide(x: int, y: int, message: str) -> int:
    if y == 0:
        raise ArithmeticSyntaxError(message)
    quotient = abs(x) // abs(y)
    return wrap(quotient if (x < 0) == (y < 0) else -quotient)


def remainder(x: int, y: int, message: str) -> int:
    if y == 0:
        raise ArithmeticSyntaxError(message)
    rest = abs(x) % abs(y)
    return -rest if x < 0 else rest


def power(x: int, y: int, message: str) -> int:
    if y < 0:
        raise ArithmeticSyntaxError(message)
    return (pow(x, y, MODULUS) - MINIMUM) % MODULUS + MINIMUM


def arithmetic_error(shell: Interpreter, error: ShellError) -> int:
    """`(( ))` went wrong: the status, or the error again when it ends more."""
    shell.arithmetic_failed(error)
    return 1


def condition_error(shell: Interpreter, error: TestError) -> int:
    """`[[ ]]` went wrong: the status."""
    if error.message:
        shell.complain(error.message)
    return error.status


def condition_number(num: Callable[[Value], int], value: Value) -> int:
    """An operand of `[[ ]]`, whose number `num` computes."""
    try:
        return num(value)
    except ShellError as error:
        raise failed_operand(error) from None


def unset(shell: Interpreter, name: str) -> str:
    """What an unset parameter gives."""
    if shell.nounset:
        raise ShellError(f"{name}: unbound variable", fatal=True, status=127)
    return ""


def unset_number(shell: Interpreter, name: str) -> int:
    """What an unset variable counts as in an expression."""
    if shell.nounset:
        raise ShellError(f"{name}: unbound variable", fatal=True, status=127)
    return 0


# -- fields, tests, arrays -------------------------------------------------------------------------


def fields(shell: Interpreter, value: Value) -> list[Value]:
    """An unquoted expansion as fields."""
    if value.__class__ is int:
        return [value]
    if value.isalnum():
        return [value]
    found = split(value, " \t\n")
    if not shell.noglob and MAGIC_EXTENDED.search(value):
        return glob_fields(shell, found)
    return found


def test_status(shell: Interpreter, arguments: list[Value], spill: Callable[[], None]) -> int:
    """The status of `test arguments`; `spill` saves the variables, in case that it looks at them."""
    if "-v" in arguments:
        spill()
    return shell.builtins["test"](shell, ["test", *map(str, arguments)])


def bracket_status(shell: Interpreter, arguments: list[Value], spill: Callable[[], None]) -> int:
    """The status of `[ arguments ]`."""
    if "-v" in arguments:
        spill()
    return shell.builtins["["](shell, ["[", *map(str, arguments), "]"])


def matches(shell: Interpreter, subject: str, pattern: str) -> bool:
    """Whether a pattern that is only known now matches, as in `[[ ]]`."""
    return matcher(pattern, True)(subject)


def matches_case(shell: Interpreter, subject: str, pattern: str) -> bool:
    """The same as in `case`."""
    return matcher(pattern, "extglob" in shell.shopts)(subject)


def element(name: str, variable: Variable, place: int, shell: Interpreter) -> str | None:
    """An element of an indexed array by its number."""
    if place < 0:
        place += variable.next_index()
        if place < 0:
            shell.complain(f"{name}: bad array subscript")
            return None
    return None if variable.array is None else variable.array.get(place)  # type: ignore[call-overload]


def keyed(variable: Variable, key: str) -> str | None:
    """An element of an associative array."""
    return None if variable.array is None else variable.array.get(key)  # type: ignore[call-overload]


def store_keyed(shell: Interpreter, name: str, variable: Variable, key: str, text: str, source: str) -> None:
    """`name[key]=text`"""
    if not key:
        raise BadSubscriptError(f"{name}[{source}]")
    array: dict[str, str] | None = variable.array  # type: ignore[assignment]
    if array is None:
        array = variable.array = {}
    counters = shell.counters
    counters.growth -= len(text)
    if counters.growth < 0:
        shell.variables.measure(len(text))
    array[key] = text


def append_keyed(shell: Interpreter, name: str, variable: Variable, key: str, text: str, source: str) -> None:
    """`name[key]+=text`"""
    store_keyed(shell, name, variable, key, (keyed(variable, key) or "") + text if key else text, source)


def append_indexed(shell: Interpreter, name: str, variable: Variable, place: int, text: str) -> None:
    """`name[place]+=text`"""
    shell.variables.set_indexed(name, variable, place, text, append=True)


def push(shell: Interpreter, variable: Variable, text: str) -> None:
    """`name+=(text)`"""
    counters = shell.counters
    counters.growth -= len(text)
    if counters.growth < 0:
        shell.variables.measure(len(text))
    array: dict[int, str] = variable.array  # type: ignore[assignment]
    if not array or not variable.ordered:
        array = variable.indexed()
    array[next(reversed(array)) + 1 if array else 0] = text


def fill(shell: Interpreter, name: str, variable: Variable, texts: list[Value]) -> None:
    """`name=(texts)`"""
    elements: list[Element] = [(None, str(text), False) for text in texts]
    store_array(shell.variables, name, variable, elements, append=False)


def count(variable: Variable) -> int:
    """`${#name[@]}`"""
    return 0 if variable.array is None else len(variable.array)


# -- writing ---------------------------------------------------------------------------------------


def write_failed(shell: Interpreter, error: OSError) -> int:
    """`echo` could not write."""
    if isinstance(error, BrokenPipeError):
        raise error
    shell.complain(f"echo: write error: {error.strerror}")
    return 1


def too_deep(name: str, limit: int) -> ShellError:
    """The error of a function that is called in too many others."""
    return ShellError(f"{name}: maximum function nesting level exceeded ({limit})")


def grown(shell: Interpreter, value: str) -> None:
    """Account for a long text."""
    shell.variables.grow(value)


#: The names that every translated source may use.
NAMESPACE: dict[str, object] = {
    "MAXIMUM": MAXIMUM,
    "MINIMUM": MINIMUM,
    "Return": Return,
    "SHORT": SHORT,
    "Lines": Lines,
    "ShellError": ShellError,
    "TestError": TestError,
    "UNTOUCHED": UNTOUCHED,
    "common": COMMON.get,
    **{
        function.__name__: function
        for function in (
            append_indexed, append_keyed, arithmetic_error, bracket_status, change_case, condition_error,
            condition_number, count, divide, element, escape, evaluate, fields, fill, grown,
            keyed, literal, load, loaded_again, lower_case, matches, matches_case, operand, power, push,
            regex_escape, remainder, remover, replace, save, search, store_keyed, substring, test_status,
            too_deep, unset, unset_number, upper_case, wrap, write_failed,
        )
    },
}  # fmt: skip
