"""The builtins of jq that are plain functions of their input and the values of their arguments."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any

from planaria.guest.shell.commands.jq import dates, formats, json_reader, regex
from planaria.guest.shell.commands.jq.arithmetic import add as plus
from planaria.guest.shell.commands.jq.arithmetic import split
from planaria.guest.shell.commands.jq.json_reader import stream_events
from planaria.guest.shell.commands.jq.json_writer import to_json
from planaria.guest.shell.commands.jq.paths import (
    contains,
    delete_paths,
    get_path,
    index,
    indices,
    set_path,
    shown,
)
from planaria.guest.shell.commands.jq.values import (
    JqError,
    as_double,
    compare,
    equal,
    is_number,
    kind,
    normalize,
    order_key,
    sort_pairs,
    sort_values,
    truthy,
)

NATIVES: dict[tuple[str, int], Callable[..., Any]] = {}
#: Those that give any number of results.
GENERATORS: dict[tuple[str, int], Callable[..., Iterator[Any]]] = {}


def _native(name: str, count: int = 0) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        NATIVES[name, count] = function
        return function

    return register


def _generator(name: str, count: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        GENERATORS[name, count] = function
        return function

    return register


def items_of(value: Any) -> Any:
    """What `.[]` goes over."""
    if isinstance(value, list):
        return value
    if isinstance(value, dict):
        return value.values()
    raise JqError(f"Cannot iterate over {kind(value)} ({shown(value)})")


def _array(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise JqError(f"{kind(value)} ({shown(value)}) cannot be {what}, as it is not an array")
    return value


# Values in general


@_native("error")
def _error(value: Any) -> Any:
    raise JqError(value)


@_native("not")
def _not(value: Any) -> bool:
    return not truthy(value)


NATIVES["true", 0] = lambda value: True
NATIVES["false", 0] = lambda value: False
NATIVES["null", 0] = lambda value: None
NATIVES["type", 0] = kind
NATIVES["tojson", 0] = to_json
NATIVES["tostring", 0] = formats.text
NATIVES["have_literal_numbers", 0] = lambda value: True
NATIVES["have_decnum", 0] = lambda value: True
NATIVES["get_search_list", 0] = lambda value: []
NATIVES["toarray", 0] = lambda value: value if isinstance(value, list) else [value]
NATIVES["contains", 1] = contains


@_native("length")
def _length(value: Any) -> Any:
    if value is None:
        return 0
    if isinstance(value, (str, list, dict)):
        return len(value)
    if is_number(value):
        return value if value >= 0 and type(value) in (int, float) else normalize(abs(value + 0))
    raise JqError(f"{kind(value)} ({shown(value)}) has no length")


@_native("utf8bytelength")
def _utf8bytelength(value: Any) -> int:
    if not isinstance(value, str):
        raise JqError(f"{kind(value)} ({shown(value)}) only strings have UTF-8 byte length")
    return len(value.encode("utf-8", "replace"))


@_native("keys")
def _keys(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return sorted(value)
    return list(_keys_unsorted(value))


@_native("keys_unsorted")
def _keys_unsorted(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value)
    if isinstance(value, list):
        return list(range(len(value)))
    raise JqError(f"{kind(value)} ({shown(value)}) has no keys")


@_native("has", 1)
def _has(value: Any, key: Any) -> bool:
    if isinstance(value, dict) and isinstance(key, str):
        return key in value
    if isinstance(value, list) and is_number(key):
        return bool(0 <= key < len(value))
    raise JqError(f"Cannot check whether {kind(value)} has a {kind(key)} key")


@_native("to_entries")
def _to_entries(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [{"key": key, "value": item} for key, item in value.items()]
    return [{"key": key, "value": index(value, key)} for key in _keys_unsorted(value)]


@_native("from_entries")
def from_entries(value: Any) -> dict[str, Any]:
    """`from_entries`: keys may be called key, k, name, Name, K or Key; values value, v or Value."""
    result = {}
    for entry in items_of(value):
        key = index(entry, "key")
        if key is None:
            for name in ("k", "name", "Name", "K", "Key"):
                key = index(entry, name)
                if truthy(key):
                    break
        if isinstance(key, (int, float)):
            key = to_json(key)
        if not isinstance(key, str):
            raise JqError(f"Cannot use {kind(key)} ({shown(key)}) as object key")
        if "value" in entry:
            result[key] = entry["value"]
        else:
            result[key] = entry["v"] if "v" in entry else index(entry, "Value")
    return result


@_native("getpath", 1)
def _getpath(value: Any, path: Any) -> Any:
    if not isinstance(path, list):
        raise JqError("Path must be specified as an array")
    return get_path(value, path)


@_native("setpath", 2)
def _setpath(value: Any, path: Any, new: Any) -> Any:
    if not isinstance(path, list):
        raise JqError("Path must be specified as an array")
    return set_path(value, tuple(path), new)


@_native("delpaths", 1)
def _delpaths(value: Any, paths: Any) -> Any:
    if not isinstance(paths, list):
        raise JqError("Paths must be specified as an array")
    return delete_paths(value, paths)


@_native("fromjson")
def _fromjson(value: Any) -> Any:
    if not isinstance(value, str):
        raise JqError(f"{kind(value)} ({shown(value)}) only strings can be parsed")
    try:
        return json_reader.parse(value)
    except json_reader.JsonError as error:
        raise JqError(f"{error} (while parsing '{value}')") from None


@_native("tonumber")
def _tonumber(value: Any) -> Any:
    if is_number(value):
        return value
    if isinstance(value, str):
        number = _fromjson(value)
        if is_number(number):
            return number
    raise JqError(f"{kind(value)} ({shown(value)}) cannot be parsed as a number")


@_generator("tostream", 0)
def _tostream(value: Any) -> Iterator[Any]:
    return stream_events(value)


# Arrays


@_native("add")
def _add(value: Any) -> Any:
    items = list(items_of(value))
    kinds = set(map(type, items))
    if kinds == {str}:
        return "".join(items)
    if kinds == {list}:
        return [inner for item in items for inner in item]
    if kinds == {dict}:
        merged: dict[str, Any] = {}
        for item in items:
            merged.update(item)
        return merged
    total = None
    for item in items:
        total = plus(total, item)
    return total


@_native("any")
def _any(value: Any) -> bool:
    return any(map(truthy, items_of(value)))


@_native("all")
def _all(value: Any) -> bool:
    return all(map(truthy, items_of(value)))


@_native("sort")
def _sort(value: Any) -> list[Any]:
    return sort_values(_array(value, "sorted"))


@_native("unique")
def _unique(value: Any) -> list[Any]:
    result: list[Any] = []
    for item in sort_values(list(items_of(value))):
        if not result or not equal(result[-1], item):
            result.append(item)
    return result


@_native("reverse")
def _reverse(value: Any) -> Any:
    if value is None or value == {}:
        return []
    if isinstance(value, (list, str)):
        return value[::-1]
    raise JqError(f"Cannot index {kind(value)} with number")


def _extreme(value: Any, largest: bool) -> Any:
    if not isinstance(value, list):
        raise JqError(
            f"{kind(value)} ({shown(value)}) and {kind(value)} ({shown(value)}) cannot be iterated over"
        )
    return extreme([(item, item) for item in value], largest)


def extreme(pairs: list[tuple[Any, Any]], largest: bool) -> Any:
    """The item whose key is the least (the first of them) or the largest (the last of them)."""
    if not pairs:
        return None
    best_key, best = pairs[0]
    for key, item in pairs[1:]:
        if (compare(key, best_key) < 0) is not largest:
            best_key, best = key, item
    return best


NATIVES["min", 0] = lambda value: _extreme(value, False)
NATIVES["max", 0] = lambda value: _extreme(value, True)


def grouped(pairs: list[tuple[Any, Any]]) -> list[list[Any]]:
    """Items with the same key together, in the order of the keys."""
    return [
        [item for _, item in group]
        for _, group in groupby(sort_pairs(pairs), key=lambda pair: order_key(pair[0]))
    ]


@_native("flatten")
def _flatten(value: Any) -> list[Any]:
    return list(_flatten_to(value, math.inf))


@_native("flatten", 1)
def _flatten_to(value: Any, depth: Any) -> list[Any]:
    if not is_number(depth) or depth < 0:
        raise JqError("flatten depth must not be negative")
    result: list[Any] = []
    stack = [(iter(items_of(value)), depth)]
    while stack:
        items, left = stack[-1]
        for item in items:
            if isinstance(item, list) and left > 0:
                stack.append((iter(item), left - 1))
                break
            result.append(item)
        else:
            stack.pop()
    return result


@_native("transpose")
def _transpose(value: Any) -> list[Any]:
    rows = list(items_of(value))
    width = max((_length(row) for row in rows), default=0)
    return [[index(row, column) for row in rows] for column in range(int(width))]


@_native("indices", 1)
def _indices(value: Any, wanted: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, list):
        return indices(value, wanted if isinstance(wanted, list) else [wanted])
    if isinstance(value, str) and isinstance(wanted, str):
        if not wanted:
            return []
        found = []
        position = value.find(wanted)
        while position >= 0:
            found.append(position)
            position = value.find(wanted, position + 1)
        return found
    raise JqError(f"Cannot index {kind(value)} with {kind(wanted)}")


@_native("index", 1)
def _index(value: Any, wanted: Any) -> Any:
    found = _indices(value, wanted)
    return found[0] if found else None


@_native("rindex", 1)
def _rindex(value: Any, wanted: Any) -> Any:
    found = _indices(value, wanted)
    return found[-1] if found else None


@_native("bsearch", 1)
def _bsearch(value: Any, wanted: Any) -> int:
    if not isinstance(value, list):
        raise JqError(f"{kind(value)} ({shown(value)}) cannot be searched from")
    low, high = 0, len(value)
    while low < high:
        middle = (low + high) // 2
        if compare(value[middle], wanted) < 0:
            low = middle + 1
        else:
            high = middle
    return low if low < len(value) and compare(value[low], wanted) == 0 else -1 - low


@_native("join", 1)
def _join(value: Any, separator: Any) -> Any:
    items = list(items_of(value))
    if not items:
        return ""
    pieces = []
    for item in items:
        if isinstance(item, (bool, int, float)):
            pieces.append(to_json(item))
        elif item is None or isinstance(item, str):
            pieces.append(item or "")
        else:
            so_far = separator.join([*pieces, ""]) if isinstance(separator, str) else ""
            plus(so_far, item)
    if not isinstance(separator, str):
        plus(plus("", separator) if len(items) > 1 else "", "")
        return "" if separator is None and not pieces else "".join(pieces)
    return separator.join(pieces)


# Strings


@_native("startswith", 1)
def _startswith(value: Any, prefix: Any) -> bool:
    if not isinstance(value, str) or not isinstance(prefix, str):
        raise JqError("startswith() requires string inputs")
    return value.startswith(prefix)


@_native("endswith", 1)
def _endswith(value: Any, suffix: Any) -> bool:
    if not isinstance(value, str) or not isinstance(suffix, str):
        raise JqError("endswith() requires string inputs")
    return value.endswith(suffix)


def _both_strings(value: Any, other: Any) -> bool:
    return isinstance(value, str) and isinstance(other, str)


NATIVES["ltrimstr", 1] = lambda value, prefix: (
    value.removeprefix(prefix) if _both_strings(value, prefix) else value
)
NATIVES["rtrimstr", 1] = lambda value, suffix: (
    value.removesuffix(suffix) if _both_strings(value, suffix) else value
)
NATIVES["trimstr", 1] = lambda value, both: (
    value.removeprefix(both).removesuffix(both) if _both_strings(value, both) else value
)


def _trimmer(trim: Callable[[str, str], str]) -> Callable[[Any], str]:
    def trimmed(value: Any) -> str:
        if not isinstance(value, str):
            raise JqError(f"{kind(value)} ({shown(value)}) cannot be trimmed")
        return trim(value, " \t\n\v\f\r")

    return trimmed


NATIVES["trim", 0] = _trimmer(str.strip)
NATIVES["ltrim", 0] = _trimmer(str.lstrip)
NATIVES["rtrim", 0] = _trimmer(str.rstrip)

_LOWER = {code: code + 32 for code in range(65, 91)}
_UPPER = {code: code - 32 for code in range(97, 123)}


@_native("ascii_downcase")
def _ascii_downcase(value: Any) -> str:
    if not isinstance(value, str):
        raise JqError("ascii_downcase input must be a string")
    return value.translate(_LOWER)


@_native("ascii_upcase")
def _ascii_upcase(value: Any) -> str:
    if not isinstance(value, str):
        raise JqError("ascii_upcase input must be a string")
    return value.translate(_UPPER)


@_native("explode")
def _explode(value: Any) -> list[int]:
    if not isinstance(value, str):
        raise JqError("explode input must be a string")
    return list(map(ord, value))


@_native("implode")
def _implode(value: Any) -> str:
    if not isinstance(value, list):
        raise JqError("implode input must be an array")
    characters = []
    for code in value:
        if not is_number(code) or code != code:
            raise JqError(
                f"{kind(code)} ({shown(code)}) can't be imploded, unicode codepoint needs to be numeric"
            )
        valid = 0 <= code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF
        characters.append(chr(int(code)) if valid else "\ufffd")
    return "".join(characters)


@_native("split", 1)
def _split(value: Any, separator: Any) -> list[str]:
    if not _both_strings(value, separator):
        raise JqError("split input and separator must be strings")
    return split(value, separator)


# Regular expressions


@_generator("match", 1)
def _match(value: Any, pattern: Any, flags: Any = None) -> Iterator[Any]:
    return map(regex.describe, regex.matches(value, pattern, flags))


GENERATORS["match", 2] = _match


@_native("test", 1)
def _test(value: Any, pattern: Any, flags: Any = None) -> bool:
    return next(regex.matches(value, pattern, flags), None) is not None


NATIVES["test", 2] = _test


@_generator("capture", 1)
def _capture(value: Any, pattern: Any, flags: Any = None) -> Iterator[Any]:
    return map(regex.captured, regex.matches(value, pattern, flags))


GENERATORS["capture", 2] = _capture


@_generator("scan", 1)
def _scan(value: Any, pattern: Any, flags: Any = None) -> Iterator[Any]:
    for match in regex.matches(value, pattern, flags, all_of_them=True):
        yield list(match.groups()) if match.re.groups else match.group()


GENERATORS["scan", 2] = _scan


@_native("split", 2)
def _split_pattern(value: Any, pattern: Any, flags: Any) -> list[str]:
    pieces = []
    position = 0
    for match in regex.matches(value, pattern, flags, all_of_them=True):
        pieces.append(value[position : match.start()])
        position = match.end()
    return [*pieces, value[position:]]


@_generator("splits", 1)
def _splits(value: Any, pattern: Any, flags: Any = None) -> Iterator[Any]:
    return iter(_split_pattern(value, pattern, flags))


GENERATORS["splits", 2] = _splits


def substitute(
    value: Any, pattern: Any, flags: Any, everywhere: bool, replacements: Callable[[Any], Any]
) -> Iterator[Any]:
    """`sub` and `gsub`: one result for each replacement that the first match has."""
    pieces: list[list[str]] = []
    position = 0
    for match in regex.matches(value, pattern, flags, all_of_them=everywhere):
        gap = value[position : match.start()]
        for number, insert in enumerate(replacements(regex.captured(match))):
            if not isinstance(insert, str):
                plus(gap, insert)
            if number == len(pieces):
                pieces.append([])
            pieces[number].append(gap + (insert or ""))
        position = match.end()
    if not pieces:
        yield value
    for piece in pieces:
        yield "".join(piece) + value[position:]


# Dates

NATIVES["now", 0] = lambda value: dates.now()
NATIVES["mktime", 0] = dates.seconds_of
NATIVES["strptime", 1] = dates.parse_time


# Mathematics


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


@_native("frexp")
def _frexp(value: Any) -> list[Any]:
    mantissa, exponent = math.frexp(_number(value))
    return [mantissa, exponent]


@_native("modf")
def _modf(value: Any) -> list[float]:
    return list(math.modf(_number(value)))


@_native("lgamma_r")
def _lgamma_r(value: Any) -> list[float]:
    number = _number(value)
    sign = -1.0 if number < 0 and math.floor(number) % 2 else 1.0
    return [_guarded(math.lgamma)(number), sign]


@_native("abs")
def _abs(value: Any) -> Any:
    if not is_number(value):
        raise JqError(f"{kind(value)} ({shown(value)}) has no absolute value")
    return -value if value < 0 else value


@_native("isnan")
def _isnan(value: Any) -> bool:
    return math.isnan(_number(value))


@_native("isinfinite")
def _isinfinite(value: Any) -> bool:
    return math.isinf(_number(value))


@_native("isnormal")
def _isnormal(value: Any) -> bool:
    number = abs(_number(value))
    return math.isfinite(number) and number >= 2.2250738585072014e-308
