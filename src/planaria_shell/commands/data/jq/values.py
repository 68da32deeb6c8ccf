"""The values of jq as Python objects: kinds, order, equality and numbers.

null, booleans, strings, arrays and objects are None, bool, str, list and dict. Numbers are int and float;
a number as it was written (`1.0`, `1e1000`) is a `Literal`, which prints as it was written until
arithmetic touches it (jq 1.7 manual, "Number handling"). Values are never changed once made.
"""

from __future__ import annotations

import decimal
import math
from functools import cmp_to_key
from typing import Any

#: The largest integer up to which every integer is exactly a double.
EXACT = 1 << 53

LARGEST = 1.7976931348623157e308


class JqError(Exception):
    """An error that a filter raised; `value` is what `try … catch` sees."""

    def __init__(self, value: Any) -> None:
        super().__init__(value)
        self.value = value


class Break(Exception):
    """`break $label`: leaves the `label` that holds this very object."""


class Literal(float):
    """A number that remembers how it was written."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> Literal:
        self = super().__new__(cls, text)
        self.text = text
        return self


def kind(value: Any) -> str:
    """The name of a value's kind, as `type` gives it."""
    if value is None:
        return "null"
    if value is True or value is False:
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and value is not True and value is not False


def truthy(value: Any) -> bool:
    return value is not None and value is not False


def normalize(number: int | float) -> int | float:
    """The result of integer arithmetic as a double would have it."""
    if isinstance(number, int) and (number > EXACT or number < -EXACT):
        try:
            return float(number)
        except OverflowError:
            return math.inf if number > 0 else -math.inf
    return number


def as_double(number: int | float) -> float:
    """A number as the double that jq computes with."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def as_integer(number: int | float) -> int:
    """A number cut to a signed 64-bit integer, infinities and NaN included."""
    if number != number:
        return 0
    if isinstance(number, float):
        if math.isinf(number):
            return (1 << 63) - 1 if number > 0 else -(1 << 63)
        number = int(number)
    return max(-(1 << 63), min(number, (1 << 63) - 1))


def format_number(number: int | float) -> str:
    """A number as jq prints it."""
    if isinstance(number, Literal):
        return _format_literal(number)
    if isinstance(number, int):
        return str(number)
    if number != number:
        return "null"
    if math.isinf(number):
        number = LARGEST if number > 0 else -LARGEST
    return format_double(number)


def format_double(number: float) -> str:
    """The shortest decimal that reads back as the same double, laid out as jq does."""
    sign, digits, exponent = decimal.Decimal(repr(number)).as_tuple()
    text = "".join(map(str, digits)).rstrip("0") or "0"
    point = len(digits) + int(exponent)  # where the decimal point stands, from the left of the digits
    prefix = "-" if sign else ""
    if text == "0":
        return prefix + "0"
    if point <= -4 or point > len(text) + 15:
        power = point - 1
        mantissa = text[0] + ("." + text[1:] if len(text) > 1 else "")
        return f"{prefix}{mantissa}e{'-' if power < 0 else '+'}{abs(power):02d}"
    if point <= 0:
        return f"{prefix}0.{'0' * -point}{text}"
    if point >= len(text):
        return prefix + text + "0" * (point - len(text))
    return f"{prefix}{text[:point]}.{text[point:]}"


def _format_literal(number: Literal) -> str:
    if number != number:
        return "null"
    exact = decimal.Decimal(number.text)
    if abs(exact.adjusted()) > 999_999_999 and exact:
        return format_double(LARGEST if number > 0 else -LARGEST) if math.isinf(number) else "0"
    if not exact.is_finite():
        return format_double(LARGEST if number > 0 else -LARGEST)
    return str(exact)


def equal(left: Any, right: Any) -> bool:
    """Whether two values are the same value; `true` is not 1."""
    if left is right:
        return bool(left == left)
    if left != right:
        return False
    # Python takes True for 1, also deep inside.
    if isinstance(left, str):
        return True
    return compare(left, right) == 0


_RANK = {type(None): 0, int: 3, float: 3, Literal: 3, str: 4, list: 5, dict: 6}


def _rank(value: Any) -> int:
    if value is False:
        return 1
    if value is True:
        return 2
    return _RANK[type(value)]


def compare(left: Any, right: Any) -> int:
    """Negative, zero or positive as `left` stands before, with or after `right` in jq's order."""
    rank = _rank(left)
    other = _rank(right)
    if rank != other:
        return -1 if rank < other else 1
    if rank < 3:
        return 0
    if rank == 3:
        if left != left:  # NaN stands before every number, itself included
            return -1
        if right != right:
            return 1
        return -1 if left < right else int(left > right)
    if rank == 4:
        return -1 if left < right else int(left > right)
    if rank == 5:
        for one, two in zip(left, right, strict=False):
            order = compare(one, two)
            if order:
                return order
        return -1 if len(left) < len(right) else int(len(left) > len(right))
    keys, others = sorted(left), sorted(right)
    if keys != others:
        return -1 if keys < others else 1
    for key in keys:
        order = compare(left[key], right[key])
        if order:
            return order
    return 0


order_key = cmp_to_key(compare)


def sort_values(values: list[Any]) -> list[Any]:
    """The values in jq's order; a stable sort."""
    kinds = set(map(type, values))
    if kinds <= {str} or (kinds <= {int, float} and not any(value != value for value in values)):
        return sorted(values)
    return sorted(values, key=order_key)


def sort_pairs(pairs: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Pairs of a key and a value by their keys; a stable sort."""
    kinds = {type(key) for key, _ in pairs}
    if kinds <= {str} or (kinds <= {int, float} and not any(key != key for key, _ in pairs)):
        return sorted(pairs, key=lambda pair: pair[0])
    return sorted(pairs, key=lambda pair: order_key(pair[0]))
