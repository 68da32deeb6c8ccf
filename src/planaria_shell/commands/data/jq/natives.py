"""The builtins of jq that are plain functions of their input and the values of their arguments."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from planaria_shell.commands.data.jq import dates, formats, json_reader
from planaria_shell.commands.data.jq.arithmetic import add as plus
from planaria_shell.commands.data.jq.json_reader import stream_events
from planaria_shell.commands.data.jq.json_writer import to_json
from planaria_shell.commands.data.jq.paths import (
    contains,
    delete_paths,
    get_path,
    index,
    indices,
    set_path,
    shown,
)
from planaria_shell.commands.data.jq.tables import NATIVES, generator, native
from planaria_shell.commands.data.jq.values import (
    JqError,
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


@native("error")
def _error(value: Any) -> Any:
    raise JqError(value)


@native("not")
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


@native("length")
def _length(value: Any) -> Any:
    if value is None:
        return 0
    if isinstance(value, (str, list, dict)):
        return len(value)
    if is_number(value):
        return value if value >= 0 and type(value) in (int, float) else normalize(abs(value + 0))
    raise JqError(f"{kind(value)} ({shown(value)}) has no length")


@native("utf8bytelength")
def _utf8bytelength(value: Any) -> int:
    if not isinstance(value, str):
        raise JqError(f"{kind(value)} ({shown(value)}) only strings have UTF-8 byte length")
    return len(value.encode("utf-8", "replace"))


@native("keys")
def _keys(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return sorted(value)
    return list(_keys_unsorted(value))


@native("keys_unsorted")
def _keys_unsorted(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value)
    if isinstance(value, list):
        return list(range(len(value)))
    raise JqError(f"{kind(value)} ({shown(value)}) has no keys")


@native("has", 1)
def _has(value: Any, key: Any) -> bool:
    if isinstance(value, dict) and isinstance(key, str):
        return key in value
    if isinstance(value, list) and is_number(key):
        return bool(0 <= key < len(value))
    raise JqError(f"Cannot check whether {kind(value)} has a {kind(key)} key")


@native("to_entries")
def _to_entries(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [{"key": key, "value": item} for key, item in value.items()]
    return [{"key": key, "value": index(value, key)} for key in _keys_unsorted(value)]


@native("from_entries")
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


@native("getpath", 1)
def _getpath(value: Any, path: Any) -> Any:
    if not isinstance(path, list):
        raise JqError("Path must be specified as an array")
    return get_path(value, path)


@native("setpath", 2)
def _setpath(value: Any, path: Any, new: Any) -> Any:
    if not isinstance(path, list):
        raise JqError("Path must be specified as an array")
    return set_path(value, tuple(path), new)


@native("delpaths", 1)
def _delpaths(value: Any, paths: Any) -> Any:
    if not isinstance(paths, list):
        raise JqError("Paths must be specified as an array")
    return delete_paths(value, paths)


@native("fromjson")
def _fromjson(value: Any) -> Any:
    if not isinstance(value, str):
        raise JqError(f"{kind(value)} ({shown(value)}) only strings can be parsed")
    try:
        return json_reader.parse(value)
    except json_reader.JsonError as error:
        raise JqError(f"{error} (while parsing '{value}')") from None


@native("tonumber")
def _tonumber(value: Any) -> Any:
    if is_number(value):
        return value
    if isinstance(value, str):
        number = _fromjson(value)
        if is_number(number):
            return number
    raise JqError(f"{kind(value)} ({shown(value)}) cannot be parsed as a number")


@generator("tostream", 0)
def _tostream(value: Any) -> Iterator[Any]:
    return stream_events(value)


# Arrays


@native("add")
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


@native("any")
def _any(value: Any) -> bool:
    return any(map(truthy, items_of(value)))


@native("all")
def _all(value: Any) -> bool:
    return all(map(truthy, items_of(value)))


@native("sort")
def _sort(value: Any) -> list[Any]:
    return sort_values(_array(value, "sorted"))


@native("unique")
def _unique(value: Any) -> list[Any]:
    result: list[Any] = []
    for item in sort_values(list(items_of(value))):
        if not result or not equal(result[-1], item):
            result.append(item)
    return result


@native("reverse")
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


@native("flatten")
def _flatten(value: Any) -> list[Any]:
    return list(_flatten_to(value, math.inf))


@native("flatten", 1)
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


@native("transpose")
def _transpose(value: Any) -> list[Any]:
    rows = list(items_of(value))
    width = max((_length(row) for row in rows), default=0)
    return [[index(row, column) for row in rows] for column in range(int(width))]


@native("indices", 1)
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


@native("index", 1)
def _index(value: Any, wanted: Any) -> Any:
    found = _indices(value, wanted)
    return found[0] if found else None


@native("rindex", 1)
def _rindex(value: Any, wanted: Any) -> Any:
    found = _indices(value, wanted)
    return found[-1] if found else None


@native("bsearch", 1)
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


@native("join", 1)
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


# Dates

NATIVES["now", 0] = lambda value: dates.now()
NATIVES["mktime", 0] = dates.seconds_of
NATIVES["strptime", 1] = dates.parse_time
