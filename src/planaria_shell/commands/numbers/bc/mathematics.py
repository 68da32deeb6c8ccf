"""The functions of `bc -l`, computed with guard digits and cut to the scale."""

from __future__ import annotations

import math
from functools import lru_cache

from planaria_shell.commands.numbers.bc.numbers import Number, rescale


def _fixed(number: Number, scale: int) -> int:
    return rescale(number, scale)[0]


def exponential(number: Number, scale: int) -> Number:
    """e(x)"""
    whole_digits = abs(number[0]) // 10 ** number[1]
    guard = scale + 12 + int(whole_digits * 0.4343)
    one = 10**guard
    value = _fixed(number, guard)
    halvings = 0
    limit = one >> 4
    while abs(value) > limit << halvings:
        halvings += 1
    extra = halvings // 3 + 4
    guard += extra
    one *= 10**extra
    value = _fixed(number, guard) >> halvings
    total = term = one
    step = 1
    while term:
        term = term * value // (one * step)
        if term == -1:
            break
        total += term
        step += 1
    for _ in range(halvings):
        total = total * total // one
    return rescale((total, guard), scale)


@lru_cache(maxsize=8)
def _log_of_two(guard: int) -> int:
    # 2 * atanh(1/3)
    one = 10 ** (guard + 5)
    return 2 * _atanh(one // 3, one) // 10**5


def _atanh(value: int, one: int) -> int:
    if value < 0:  # the loop ends at zero, which division towards minus infinity never reaches
        return -_atanh(-value, one)
    square = value * value // one
    total, term, step = value, value, 1
    while term:
        term = term * square // one
        step += 2
        total += term // step
    return total


def logarithm(number: Number, scale: int) -> Number:
    """l(x); of what is not positive, the largest negative number, as bc gives it."""
    if number[0] <= 0:
        return (1 - 10**scale) * 10**scale, scale
    guard = scale + 15
    one = 10**guard
    value = _fixed(number, guard + len(str(number[0])))
    place = 10 ** len(str(number[0]))
    doublings = 0
    scaled = one * place
    # Into [3/4, 3/2) by powers of two.
    shift = value.bit_length() - scaled.bit_length()
    if shift > 0:
        scaled <<= shift
    else:
        value <<= -shift
    doublings = shift
    ratio = value * one // scaled
    if ratio * 2 > one * 3:
        ratio //= 2
        doublings += 1
    total = 2 * _atanh((ratio - one) * one // (ratio + one), one)
    total += doublings * _log_of_two(guard + 5) // 10**5
    return rescale((total, guard), scale)


def _arctangent(value: int, one: int) -> int:
    """atan of value / one, by halving the angle until the series is quick."""
    halvings = 0
    while abs(value) * 16 > one and halvings < 8:
        value = value * one // (one + math.isqrt(one * one + value * value))
        halvings += 1
    square = value * value // one
    total, term, step = value, value, 1
    while term not in (0, -1):
        term = -(term * square // one)
        step += 2
        total += term // step
    return total << halvings


@lru_cache(maxsize=8)
def _pi(guard: int) -> int:
    one = 10 ** (guard + 8)

    def inverse(number: int) -> int:
        total = term = one // number
        step, sign = 1, 1
        while term:
            term //= number * number
            step += 2
            sign = -sign
            total += sign * (term // step)
        return int(total)

    return 4 * (4 * inverse(5) - inverse(239)) // 10**8


def arctangent(number: Number, scale: int) -> Number:
    """a(x)"""
    guard = scale + 15
    one = 10**guard
    sign = -1 if number[0] < 0 else 1
    value = _fixed((abs(number[0]), number[1]), guard)
    if value > one:
        inverse = one * one // value
        return rescale((sign * (_pi(guard) // 2 - _arctangent(inverse, one)), guard), scale)
    return rescale((sign * _arctangent(value, one), guard), scale)


def _reduced(number: Number, guard: int) -> tuple[int, int]:
    """The angle within a quarter turn, and how many quarter turns were taken away."""
    whole = len(str(abs(number[0]))) - number[1]
    extra = max(whole, 0) + 5
    value = _fixed(number, guard + extra)
    quarter = _pi(guard + extra) // 2
    turns = (2 * value + quarter) // (2 * quarter)
    return (value - turns * quarter) // 10**extra, turns


def _series(value: int, one: int, *, start: int) -> int:
    square = value * value // one
    term = value if start else one
    total, step = term, start
    while term not in (0, -1):
        term = -(term * square // one) // ((step + 1) * (step + 2))
        step += 2
        total += term
    return total


def sine(number: Number, scale: int) -> Number:
    """s(x)"""
    return _circular(number, scale, 0)


def cosine(number: Number, scale: int) -> Number:
    """c(x)"""
    return _circular(number, scale, 1)


def _circular(number: Number, scale: int, quarter: int) -> Number:
    guard = scale + 15
    one = 10**guard
    if number[0] == 0:
        return rescale(((one if quarter else 0), guard), scale)
    value, turns = _reduced(number, guard)
    turns = (turns + quarter) % 4
    total = _series(value, one, start=1 - turns % 2)
    return rescale((-total if turns >= 2 else total, guard), scale)


def bessel(order: Number, number: Number, scale: int) -> Number:
    """j(n,x): the Bessel function of the first kind of whole order."""
    times = rescale(order, 0)[0]
    sign = -1 if times < 0 and times % 2 else 1
    times = abs(times)
    guard = scale + 20 + int(1.5 * abs(number[0]) / 10 ** number[1])
    one = 10**guard
    half = _fixed(number, guard) // 2
    term = one
    for step in range(1, times + 1):
        term = term * half // (one * step)
    square = half * half // one
    total, step = term, 0
    while term not in (0, -1):
        step += 1
        term = -(term * square // one) // (step * (times + step))
        total += term
    return rescale((sign * total, guard), scale)
