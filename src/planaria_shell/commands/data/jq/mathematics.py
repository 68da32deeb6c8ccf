"""The mathematics of jq: functions of the C library over its numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from planaria_shell.commands.data.jq.paths import shown
from planaria_shell.commands.data.jq.tables import NATIVES, native
from planaria_shell.commands.data.jq.values import JqError, as_double, is_number, kind


def _number(value: Any) -> float:
    if not is_number(value):
        raise JqError(f"{kind(value)} ({shown(value)}) number required")
    return as_double(value)


def _guarded(function: Callable[..., float]) -> Callable[..., Any]:
    """A function of the C library: domain errors are NaN, overflow is infinite."""

    def computed(*numbers: Any) -> Any:
        arguments = [_number(number) for number in numbers]
        try:
            return function(*arguments)
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    return computed


def _rounded(function: Callable[[float], float]) -> Callable[[Any], Any]:
    def computed(value: Any) -> Any:
        number = _number(value)
        if type(value) is int:
            return value
        return function(number) if math.isfinite(number) else number

    return computed


def _half_away(number: float) -> float:
    whole = math.floor(abs(number) + 0.5) if abs(number) < 2**52 else abs(number)
    return math.copysign(float(whole), number)


def _log(function: Callable[[float], float]) -> Callable[[float], float]:
    return lambda number: -math.inf if number == 0 else function(number)


def _exponent(number: float) -> float:
    if number == 0:
        return -math.inf
    return float(math.frexp(number)[1] - 1) if math.isfinite(number) else abs(number)


def _significand(number: float) -> float:
    if number == 0 or not math.isfinite(number):
        return number
    return math.frexp(number)[0] * 2


def _power(base: float, exponent: float) -> float:
    try:
        return math.pow(base, exponent)
    except ValueError:
        return math.inf if base == 0 else math.nan
    except OverflowError:
        return -math.inf if base < 0 and exponent % 2 == 1 else math.inf


def _cube_root(number: float) -> float:
    root = math.copysign(abs(number) ** (1 / 3), number)
    near = float(round(root)) if math.isfinite(root) else root
    return near if near**3 == number else root


_ONE: dict[str, Callable[[float], float]] = {
    "sqrt": math.sqrt,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "asin": math.asin,
    "acos": math.acos,
    "atan": math.atan,
    "sinh": math.sinh,
    "cosh": math.cosh,
    "tanh": math.tanh,
    "asinh": math.asinh,
    "acosh": math.acosh,
    "atanh": math.atanh,
    "exp": math.exp,
    "exp2": lambda number: math.pow(2.0, number),
    "exp10": lambda number: math.pow(10.0, number),
    "pow10": lambda number: math.pow(10.0, number),
    "expm1": math.expm1,
    "log": _log(math.log),
    "log2": _log(math.log2),
    "log10": _log(math.log10),
    "log1p": math.log1p,
    "cbrt": _cube_root,
    "fabs": abs,
    "significand": _significand,
    "logb": _exponent,
    "gamma": math.lgamma,
    "lgamma": math.lgamma,
    "tgamma": math.gamma,
}
_TWO: dict[str, Callable[[float, float], float]] = {
    "pow": _power,
    "atan2": math.atan2,
    "fmod": math.fmod,
    "hypot": math.hypot,
    "copysign": math.copysign,
    "drem": math.remainder,
    "nextafter": math.nextafter,
    "nexttoward": math.nextafter,
    "fmin": lambda one, two: one if two != two or one < two else two,
    "fmax": lambda one, two: one if two != two or one > two else two,
    "fdim": lambda one, two: max(one - two, 0.0),
    "ldexp": lambda number, exponent: math.ldexp(number, int(exponent)),
    "scalb": lambda number, exponent: math.ldexp(number, int(exponent)),
    "scalbln": lambda number, exponent: math.ldexp(number, int(exponent)),
}
for _name, _one in _ONE.items():
    NATIVES[_name, 0] = _guarded(_one)
for _name, _two in _TWO.items():
    NATIVES[_name, 2] = (lambda function: lambda value, one, two: function(one, two))(_guarded(_two))
NATIVES["fma", 3] = lambda value, one, two, three: _number(one) * _number(two) + _number(three)
NATIVES["floor", 0] = _rounded(lambda number: float(math.floor(number)))
NATIVES["ceil", 0] = _rounded(lambda number: float(math.ceil(number)))
NATIVES["trunc", 0] = _rounded(lambda number: float(math.trunc(number)))
NATIVES["round", 0] = _rounded(_half_away)
NATIVES["nearbyint", 0] = _rounded(lambda number: float(round(number)))
NATIVES["rint", 0] = NATIVES["nearbyint", 0]
NATIVES["infinite", 0] = lambda value: math.inf
NATIVES["nan", 0] = lambda value: math.nan


@native("frexp")
def _frexp(value: Any) -> list[Any]:
    mantissa, exponent = math.frexp(_number(value))
    return [mantissa, exponent]


@native("modf")
def _modf(value: Any) -> list[float]:
    return list(math.modf(_number(value)))


@native("lgamma_r")
def _lgamma_r(value: Any) -> list[float]:
    number = _number(value)
    sign = -1.0 if number < 0 and math.floor(number) % 2 else 1.0
    return [_guarded(math.lgamma)(number), sign]


@native("abs")
def _abs(value: Any) -> Any:
    if not is_number(value):
        raise JqError(f"{kind(value)} ({shown(value)}) has no absolute value")
    return -value if value < 0 else value


@native("isnan")
def _isnan(value: Any) -> bool:
    return math.isnan(_number(value))


@native("isinfinite")
def _isinfinite(value: Any) -> bool:
    return math.isinf(_number(value))


@native("isnormal")
def _isnormal(value: Any) -> bool:
    number = abs(_number(value))
    return math.isfinite(number) and number >= 2.2250738585072014e-308
