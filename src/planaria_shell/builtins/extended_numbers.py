"""Numbers of 80 bits, with which bash's `printf` computes, and how C writes them.

They have 64 bits of precision, more than Python's floats: `printf %.20f 0.1` shows it.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

__all__ = ["ExtendedNumber", "extended", "formatted"]

_BITS = 64
_DECIMAL = re.compile(r"([+-]?)(\d*)\.?(\d*)(?:[eE]([+-]?\d+))?\Z")
#: The decimal exponents of the smallest and the greatest number.
_SMALLEST, _GREATEST = -4951, 4933


class ExtendedNumber(NamedTuple):
    """`mantissa * 2 ** exponent`, or what `special` says."""

    negative: bool
    mantissa: int = 0
    exponent: int = 0
    special: str = ""


def extended(text: str) -> ExtendedNumber:
    """The number that a text means: a decimal one, one of C's hexadecimal ones, `inf` or `nan`."""
    match = _DECIMAL.match(text)
    if match is None:
        value = float(text) if "n" in text.lower() else float.fromhex(text)
        negative = math.copysign(1, value) < 0
        if not math.isfinite(value):
            return ExtendedNumber(negative, special="nan" if math.isnan(value) else "inf")
        return ExtendedNumber(negative, *_nearest(*abs(value).as_integer_ratio()))
    sign, whole, part, power = match.groups()
    digits = int((whole + part) or "0")
    places = int(power or 0) - len(part)
    magnitude = len(str(digits)) + places
    if not digits or magnitude < _SMALLEST:
        return ExtendedNumber(sign == "-")
    if magnitude > _GREATEST:
        return ExtendedNumber(sign == "-", special="inf")
    ratio = (digits * 10**places, 1) if places >= 0 else (digits, 10**-places)
    return ExtendedNumber(sign == "-", *_nearest(*ratio))


def _divided(numerator: int, denominator: int) -> int:
    """The quotient as a whole number, the even one of two that are as near."""
    quotient, rest = divmod(numerator, denominator)
    return quotient + (2 * rest > denominator or (2 * rest == denominator and quotient & 1))


def _nearest(numerator: int, denominator: int) -> tuple[int, int]:
    """The number of 64 bits that is nearest to a quotient: its bits, and the power of two they count."""
    if not numerator:
        return 0, 0
    exponent = numerator.bit_length() - denominator.bit_length() - _BITS
    while True:
        mantissa = _divided(numerator << max(-exponent, 0), denominator << max(exponent, 0))
        if mantissa.bit_length() <= _BITS:
            return mantissa, exponent
        exponent += 1


def _scaled(number: ExtendedNumber, places: int) -> int:
    """The number times a power of ten, as a whole number."""
    numerator = number.mantissa << max(number.exponent, 0)
    denominator = 1 << max(-number.exponent, 0)
    return _divided(numerator * 10 ** max(places, 0), denominator * 10 ** max(-places, 0))


def _fixed(number: ExtendedNumber, precision: int, *, point: bool) -> str:
    digits = str(_scaled(number, precision)).rjust(precision + 1, "0")
    if not precision:
        return digits + "." * point
    return f"{digits[:-precision]}.{digits[-precision:]}"


def _scientific(number: ExtendedNumber, precision: int) -> tuple[str, int]:
    """So many digits behind the first one, and the power of ten."""
    if not number.mantissa:
        return "0" * (precision + 1), 0
    power = math.floor((number.mantissa.bit_length() + number.exponent - 1) * math.log10(2))
    while True:
        digits = str(_scaled(number, precision - power))
        if len(digits) == precision + 1:
            return digits, power
        power += len(digits) - precision - 1


def _with_power(digits: str, power: int, *, point: bool) -> str:
    dot = "." if len(digits) > 1 or point else ""
    return f"{digits[0]}{dot}{digits[1:]}e{'-' if power < 0 else '+'}{abs(power):02d}"


def _shortest(number: ExtendedNumber, precision: int, *, point: bool) -> str:
    """Like `%g`: the form that is shorter, without zeros at the end."""
    precision = precision or 1
    digits, power = _scientific(number, precision - 1)
    if -4 <= power < precision:
        text = _fixed(number, precision - 1 - power, point=point)
        return text.rstrip("0").rstrip(".") if "." in text and not point else text
    return _with_power(digits if point else digits[0] + digits[1:].rstrip("0"), power, point=point)


def _hexadecimal(number: ExtendedNumber, precision: int | None, *, point: bool) -> str:
    """Like `%a`, with a digit from 8 to f before the point."""
    missing = _BITS - number.mantissa.bit_length() if number.mantissa else 0
    digits = f"{number.mantissa << missing:016x}"
    power = number.exponent - missing + _BITS - 4 if number.mantissa else 0
    if precision is None:
        digits = digits.rstrip("0") or "0"
    elif precision + 1 >= len(digits):
        digits = digits.ljust(precision + 1, "0")
    else:
        digits = f"{_divided(int(digits, 16), 1 << 4 * (len(digits) - precision - 1)):0{precision + 1}x}"
    dot = "." if len(digits) > 1 or point else ""
    return f"0x{digits[0]}{dot}{digits[1:]}p{power:+d}"


def formatted(number: ExtendedNumber, conversion: str, precision: int | None, *, point: bool) -> str:
    """What C writes for `%e`, `%f`, `%g` or `%a`, without a sign; with `point` (the flag `#`) always with a
    point."""
    kind = conversion.lower()
    if number.special:
        text = number.special
    elif kind == "a":
        text = _hexadecimal(number, precision, point=point)
    else:
        places = 6 if precision is None else precision
        if kind == "f":
            text = _fixed(number, places, point=point)
        elif kind == "e":
            text = _with_power(*_scientific(number, places), point=point)
        else:
            text = _shortest(number, places, point=point)
    return text.upper() if conversion.isupper() else text
