"""The operators of jq."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from planaria_shell.commands.data.jq.paths import shown
from planaria_shell.commands.data.jq.values import (
    EXACT,
    JqError,
    as_double,
    as_integer,
    compare,
    equal,
    is_number,
    kind,
    normalize,
)


def _mismatch(left: Any, right: Any, what: str) -> JqError:
    return JqError(f"{kind(left)} ({shown(left)}) and {kind(right)} ({shown(right)}) cannot be {what}")


def _exact(number: Any) -> Any:
    """A number as a double has it."""
    if type(number) is int:
        return number if -EXACT <= number <= EXACT else as_double(number)
    return float(number)


def add(left: Any, right: Any) -> Any:
    """`left + right`"""
    if type(left) is int and type(right) is int:
        return normalize(_exact(left) + _exact(right))
    if left is None:
        return right
    if right is None:
        return left
    if isinstance(left, str) and isinstance(right, str):
        return left + right
    if is_number(left) and is_number(right):
        return _exact(left) + _exact(right)
    if isinstance(left, list) and isinstance(right, list):
        return left + right
    if isinstance(left, dict) and isinstance(right, dict):
        return {**left, **right}
    raise _mismatch(left, right, "added")


def subtract(left: Any, right: Any) -> Any:
    """`left - right`"""
    if is_number(left) and is_number(right):
        return normalize(_exact(left) - _exact(right))
    if isinstance(left, list) and isinstance(right, list):
        if all(type(item) is str for item in right):
            gone = set(right)
            return [item for item in left if type(item) is not str or item not in gone]
        return [item for item in left if not any(equal(item, other) for other in right)]
    raise _mismatch(left, right, "subtracted")


def multiply(left: Any, right: Any) -> Any:
    """`left * right`"""
    if is_number(left) and is_number(right):
        return normalize(_exact(left) * _exact(right))
    if isinstance(left, str) and is_number(right):
        return _repeat(left, right)
    if isinstance(right, str) and is_number(left):
        return _repeat(right, left)
    if isinstance(left, dict) and isinstance(right, dict):
        return merge(left, right)
    raise _mismatch(left, right, "multiplied")


def _repeat(text: str, count: Any) -> str | None:
    if count != count or count <= 0:
        return None
    times = 1 if count < 1 else int(min(count, 1 << 40))
    if len(text) * times > 0x7FFFFFFF:
        raise JqError("Repeat string result too long")
    return text * times


def merge(left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
    """Objects merged, those inside as well."""
    result = dict(left)
    for key, item in right.items():
        old = result.get(key)
        result[key] = merge(old, item) if isinstance(old, dict) and isinstance(item, dict) else item
    return result


def divide(left: Any, right: Any) -> Any:
    """`left / right`"""
    if is_number(left) and is_number(right):
        if right == 0:
            raise _mismatch(left, right, "divided because the divisor is zero")
        return as_double(left) / as_double(right)
    if isinstance(left, str) and isinstance(right, str):
        return split(left, right)
    raise _mismatch(left, right, "divided")


def split(text: str, separator: str) -> list[str]:
    """`text / separator`; an empty separator gives the characters."""
    if not text:
        return []
    return list(text) if separator == "" else text.split(separator)


def modulo(left: Any, right: Any) -> Any:
    """`left % right`: of integers, with the sign of the left."""
    if is_number(left) and is_number(right):
        if left != left or right != right:
            return math.nan
        one, two = as_integer(left), as_integer(right)
        if two == 0:
            raise _mismatch(left, right, "divided (remainder) because the divisor is zero")
        result = abs(one) % abs(two)
        return normalize(-result if one < 0 else result)
    raise _mismatch(left, right, "divided (remainder)")


def negate(value: Any) -> Any:
    """`-value`"""
    if not is_number(value):
        raise JqError(f"{kind(value)} ({shown(value)}) cannot be negated")
    return normalize(-value) if value else -float(value)


def less(left: Any, right: Any) -> bool:
    return compare(left, right) < 0


def at_most(left: Any, right: Any) -> bool:
    return compare(left, right) <= 0


OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": add,
    "-": subtract,
    "*": multiply,
    "/": divide,
    "%": modulo,
    "==": equal,
    "!=": lambda left, right: not equal(left, right),
    "<": less,
    "<=": at_most,
    ">": lambda left, right: compare(left, right) > 0,
    ">=": lambda left, right: compare(left, right) >= 0,
}


def with_constant(operator: str, left: Callable[..., Any], right: int) -> Callable[..., Any] | None:
    """The operator with an integer on its right, quick for integers on its left."""
    if operator == "+":
        return lambda value, environment: (
            number + right
            if type(number := left(value, environment)) is int and -EXACT < number + right < EXACT
            else add(number, right)
        )
    if operator == "-":
        return lambda value, environment: (
            number - right
            if type(number := left(value, environment)) is int and -EXACT < number - right < EXACT
            else subtract(number, right)
        )
    if operator == "==":
        return lambda value, environment: (
            number == right if type(number := left(value, environment)) is int else equal(number, right)
        )
    if operator == "<":
        return lambda value, environment: (
            number < right if type(number := left(value, environment)) is int else less(number, right)
        )
    if operator == ">":
        return lambda value, environment: (
            number > right
            if type(number := left(value, environment)) is int
            else less(right, number)
            if number == number
            else False
        )
    return None


def descend(value: Any) -> Iterator[Any]:
    """`..`: the value and everything inside it, from the outside in."""
    stack: list[Iterator[Any]] = [iter((value,))]
    while stack:
        for item in stack[-1]:
            yield item
            if type(item) is list and item:
                stack.append(iter(item))
                break
            if type(item) is dict and item:
                stack.append(iter(item.values()))
                break
        else:
            stack.pop()
