"""Numbers of bc and dc: an integer of decimal digits and a scale (POSIX bc, "Numbers").

A number is `(digits, scale)` and means digits / 10**scale.
"""

from __future__ import annotations

import math

Number = tuple[int, int]

ZERO: Number = (0, 0)
ONE: Number = (1, 0)

_POWERS = [10**power for power in range(256)]


class NumberError(Exception):
    """An operation that has no result; the message is bc's."""


def power_of_ten(exponent: int) -> int:
    return _POWERS[exponent] if exponent < 256 else int(10**exponent)


def rescale(number: Number, scale: int) -> Number:
    """The number with so many decimals, cut towards zero."""
    digits, own = number
    if own == scale:
        return number
    if own < scale:
        return digits * power_of_ten(scale - own), scale
    return _quotient(digits, power_of_ten(own - scale)), scale


def _quotient(one: int, two: int) -> int:
    """Division towards zero."""
    result = abs(one) // abs(two)
    return result if (one < 0) == (two < 0) else -result


def add(one: Number, two: Number) -> Number:
    if one[1] == two[1]:
        return one[0] + two[0], one[1]
    scale = max(one[1], two[1])
    return rescale(one, scale)[0] + rescale(two, scale)[0], scale


def subtract(one: Number, two: Number) -> Number:
    return add(one, (-two[0], two[1]))


def multiply(one: Number, two: Number, scale: int) -> Number:
    full = one[1] + two[1]
    return rescale((one[0] * two[0], full), min(full, max(scale, one[1], two[1])))


def divide(one: Number, two: Number, scale: int) -> Number:
    if two[0] == 0:
        raise NumberError("Divide by zero")
    shift = scale + two[1] - one[1]
    if shift >= 0:
        return _quotient(one[0] * power_of_ten(shift), two[0]), scale
    return _quotient(one[0], two[0] * power_of_ten(-shift)), scale


def remainder(one: Number, two: Number, scale: int) -> Number:
    if two[0] == 0:
        raise NumberError("Modulo by zero")
    quotient = divide(one, two, scale)
    result_scale = max(one[1], two[1] + scale)
    product = (quotient[0] * two[0], quotient[1] + two[1])
    return rescale(subtract(one, product), result_scale)


def raise_to(base: Number, exponent: Number, scale: int) -> Number:
    times = rescale(exponent, 0)[0]
    if times == 0:
        return ONE
    size = abs(times)
    full = base[1] * size
    powered = base[0] ** size
    if times > 0:
        return rescale((powered, full), min(full, max(scale, base[1])))
    return divide(ONE, (powered, full), scale)


def square_root(number: Number, scale: int) -> Number:
    if number[0] < 0:
        raise NumberError("Square root of a negative number")
    wanted = max(scale, number[1])
    digits, _ = rescale(number, 2 * wanted)
    return math.isqrt(digits), wanted


def compare(one: Number, two: Number) -> int:
    if one[1] == two[1]:
        difference = one[0] - two[0]
    else:
        scale = max(one[1], two[1])
        difference = rescale(one, scale)[0] - rescale(two, scale)[0]
    return (difference > 0) - (difference < 0)


def length(number: Number) -> int:
    """Significant digits: those of the whole number, or all decimals when there is none."""
    digits, scale = number
    return max(len(str(abs(digits))) if digits else 1, scale)


def parse(text: str, base: int) -> Number:
    """A number as it is written in a base; a digit that the base has not counts as its largest."""
    whole, _, fraction = text.partition(".")
    if base == 10 and not any(digit.isalpha() for digit in text):
        return int(whole + fraction or "0"), len(fraction)
    single = len(whole) + len(fraction) == 1
    value = 0
    for digit in whole:
        value = value * base + _digit(digit, 16 if single else base)
    if not fraction:
        return value, 0
    numerator, denominator = 0, 1
    for digit in fraction:
        numerator = numerator * base + _digit(digit, base)
        denominator *= base
    scale = len(fraction)
    return value * power_of_ten(scale) + numerator * power_of_ten(scale) // denominator, scale


def _digit(character: str, base: int) -> int:
    return min(int(character, 36), base - 1)


def show(number: Number, base: int, *, leading_zero: bool = False) -> str:
    """A number as bc prints it in a base."""
    digits, scale = number
    if digits == 0:
        return "0"
    sign = "-" if digits < 0 else ""
    digits = abs(digits)
    if base == 10:
        text = str(digits).rjust(scale + 1, "0")
        if not scale:
            return sign + text
        whole = text[:-scale]
        return f"{sign}{'' if whole == '0' and not leading_zero else whole}.{text[-scale:]}"
    whole_part, fraction = divmod(digits, power_of_ten(scale))
    places = _in_base(whole_part, base)
    decimals = []
    limit = power_of_ten(scale)
    reached = 1
    while scale and reached < limit:
        fraction *= base
        place, fraction = divmod(fraction, limit)
        decimals.append(place)
        reached *= base
    if base <= 16:
        text = "".join("0123456789ABCDEF"[place] for place in places)
        return (
            sign + text + ("." + "".join("0123456789ABCDEF"[place] for place in decimals) if decimals else "")
        )
    width = len(str(base - 1))
    text = "".join(f" {place:0{width}d}" for place in places)
    if decimals:
        text += "." + " ".join(f"{place:0{width}d}" for place in decimals)
    return sign + text


def _in_base(number: int, base: int) -> list[int]:
    """The digits of a whole number; by halves, so that long numbers take no quadratic time."""
    if number == 0:
        return []
    powers = [base]
    while powers[-1] * powers[-1] <= number:
        powers.append(powers[-1] * powers[-1])

    def digits(value: int, level: int) -> list[int]:
        if level < 0:
            return [value]
        high, low = divmod(value, powers[level])
        return digits(high, level - 1) + digits(low, level - 1)

    found = digits(number, len(powers) - 1)
    start = next(place for place, digit in enumerate(found) if digit)
    return found[start:]
