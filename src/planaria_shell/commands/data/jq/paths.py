"""Reading, writing and deleting at paths: the rules of `getpath`, `setpath` and `delpaths`."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from planaria_shell.commands.data.jq.json_writer import to_json
from planaria_shell.commands.data.jq.values import (
    JqError,
    as_integer,
    compare,
    equal,
    is_number,
    kind,
    sort_values,
)

Path = tuple[Any, ...]


def shown(value: Any, size: int = 15) -> str:
    """A value for a message, cut to fit the buffer of `size` bytes that jq has for it."""
    text = to_json(value).encode("utf-8", "replace")
    if len(text) > size - 1:
        return text[: size - 4].decode("utf-8", "ignore") + "..."
    return text.decode()


def cannot_index(value: Any, key: Any) -> JqError:
    if isinstance(key, str):
        return JqError(f'Cannot index {kind(value)} with string "{key}"')
    return JqError(f"Cannot index {kind(value)} with {kind(key)}")


def index(value: Any, key: Any) -> Any:
    """`value[key]`."""
    key_kind = type(key)
    if key_kind is str:
        if type(value) is dict:
            return value.get(key)
        if value is None:
            return None
    elif key_kind is dict:
        if value is None or isinstance(value, (list, str)):
            return slice_value(value, key.get("start"), key.get("end"))
        if isinstance(value, (int, float, bool)):
            raise JqError(f"Cannot index {kind(value)} with object")
    elif key_kind is list:
        if type(value) is list:
            return indices(value, key)
        if value is None:
            return None
    elif is_number(key):
        if type(value) is list:
            if key != key:
                return None
            position = math.floor(key) if not math.isinf(key) else len(value)
            if position < 0:
                position += len(value)
            return value[position] if 0 <= position < len(value) else None
        if value is None:
            return None
    elif value is None and key is None:
        return None
    raise cannot_index(value, key)


def indices(values: list[Any], wanted: list[Any]) -> list[int] | None:
    """Where `wanted` occurs within `values`."""
    if not wanted:
        return None
    size = len(wanted)
    first = wanted[0]
    return [
        position
        for position in range(len(values) - size + 1)
        if equal(values[position], first)
        and (size == 1 or all(equal(values[position + k], wanted[k]) for k in range(1, size)))
    ]


def bounds(length: int, start: Any, stop: Any) -> tuple[int, int]:
    """The positions that a slice's ends mean; start is rounded down and stop up."""
    if not ((start is None or is_number(start)) and (stop is None or is_number(stop))):
        raise JqError("Start and end indices of an array slice must be numbers")
    first = 0.0 if start is None else float(start)
    last = float(length) if stop is None else float(stop)
    first = first if first == first else 0.0
    last = last if last == last else float(length)
    if first < 0:
        first += length
    if last < 0:
        last += length
    first = min(max(first, 0.0), float(length))
    last = min(max(last, first), float(length))
    return math.floor(first), min(math.ceil(last), length)


def slice_value(value: Any, start: Any, stop: Any) -> Any:
    """`value[start:stop]`."""
    if value is None:
        return None
    if not isinstance(value, (list, str)):
        raise JqError(f"Cannot index {kind(value)} with object")
    first, last = bounds(len(value), start, stop)
    return value[first:last]


def get_path(value: Any, path: Iterable[Any]) -> Any:
    """The value at a path; null where there is nothing."""
    for key in path:
        if value is None:
            return None
        value = index(value, key)
    return value


#: How many containers an editor keeps track of; beyond that it starts again and copies each once more.
_REMEMBERED = 100_000


class Editor:
    """Writes at many paths of one value in place of copying it for each of them.

    A container is copied the first time something below it changes; the copy is ours (`_owned`) and is
    changed in place from then on. Nothing that existed before, nor a value put in, is ever changed.
    """

    __slots__ = ("_owned",)

    def __init__(self) -> None:
        self._owned: dict[int, Any] = {}

    def clear(self) -> None:
        """Forget which containers are ours: other code has seen the value."""
        self._owned.clear()

    def owns(self, value: Any) -> bool:
        """Whether a container is ours to change."""
        return id(value) in self._owned

    def own(self, value: Any) -> Any:
        """A container that may be changed in place: `value` itself or a copy."""
        if id(value) in self._owned:
            return value
        if len(self._owned) > _REMEMBERED:
            self._owned.clear()
        copy = value.copy()
        self._owned[id(copy)] = copy
        return copy

    def set(self, value: Any, path: Path, new: Any) -> Any:
        """`value` with `new` at `path`."""
        if not path:
            return new
        chain = []
        for key in path[:-1]:
            chain.append(value)
            value = None if value is None else index(value, key)
        value = self._put(value, path[-1], new)
        for container, key in zip(reversed(chain), reversed(path[:-1]), strict=True):
            value = self._put(container, key, value)
        return value

    def _put(self, container: Any, key: Any, new: Any) -> Any:
        if type(key) is str:
            if container is None:
                container = {}
                self._owned[id(container)] = container
            elif type(container) is not dict:
                raise cannot_index(container, key)
            else:
                container = self.own(container)
            container[key] = new
            return container
        if isinstance(key, dict):
            return self._put_slice(container, key, new)
        if is_number(key):
            if container is None:
                container = []
                self._owned[id(container)] = container
            elif type(container) is not list:
                raise cannot_index(container, key)
            else:
                container = self.own(container)
            position = as_integer(math.floor(key) if key == key and not math.isinf(key) else key)
            if position < 0:
                position += len(container)
                if position < 0:
                    raise JqError("Out of bounds negative array index")
            if position >= len(container):
                if position > 536870911:
                    raise JqError("Array index too large")
                container.extend([None] * (position - len(container)))
                container.append(new)
            else:
                container[position] = new
            return container
        if isinstance(key, list) and isinstance(container, list):
            raise JqError("Cannot update field at array index of array")
        raise (
            JqError(f"Invalid path component {kind(key)}")
            if container is None
            else cannot_index(container, key)
        )

    def _put_slice(self, container: Any, key: dict[str, Any], new: Any) -> Any:
        if container is None:
            container = []
        if type(container) is not list:
            raise JqError("Cannot update field at object index of " + kind(container))
        if type(new) is not list:
            raise JqError("A slice of an array can only be assigned another array")
        first, last = bounds(len(container), key.get("start"), key.get("end"))
        container = self.own(container)
        container[first:last] = new
        return container


def set_path(value: Any, path: Path, new: Any) -> Any:
    return Editor().set(value, path, new)


def delete_paths(value: Any, paths: list[Any]) -> Any:
    """`value` without what is at the paths."""
    for path in paths:
        if not isinstance(path, list):
            raise JqError("Path must be specified as an array")
    if not paths:
        return value
    plain = all(
        type(key) is str or (type(key) is int and key >= 0) for path in paths for key in path
    )  # fmt: skip
    if plain:
        tree: dict[Any, Any] = {}
        for path in paths:
            if not path:
                return None
            node = tree
            for key in path[:-1]:
                node = node.setdefault(key, {})
                if node is _WHOLE:
                    break
            else:
                node[path[-1]] = _WHOLE
        return _prune(value, tree)
    for path in reversed(sort_values(paths)):
        value = _delete(value, path)
    return value


_WHOLE: Any = type("_Whole", (dict,), {"setdefault": lambda self, key, default: self})()


def _prune(value: Any, tree: dict[Any, Any]) -> Any:
    """`value` without the branches of `tree`."""
    if value is None:
        return None
    for key in tree:
        wanted = list if isinstance(key, int) else dict
        if type(value) is not wanted:
            if tree[key] is not _WHOLE:
                raise cannot_index(value, key)
            raise _cannot_delete(value, key)
    if isinstance(value, dict):
        result = dict(value)
        for key, branch in tree.items():
            if branch is _WHOLE:
                result.pop(key, None)
            elif key in result:
                result[key] = _prune(result[key], branch)
        return result
    items = []
    for position, item in enumerate(value):
        branch = tree.get(position)
        if branch is None:
            items.append(item)
        elif branch is not _WHOLE:
            items.append(_prune(item, branch))
    return items


def _cannot_delete(value: Any, key: Any) -> JqError:
    what = {"string": "field", "number": "element"}.get(kind(key), "field")
    if isinstance(value, (dict, list)):
        place = "object" if isinstance(value, dict) else "array"
        return JqError(f"Cannot delete {what} at {'object' if what == 'field' else 'array'} index of {place}")
    return JqError(f"Cannot delete fields from {kind(value)}")


def _delete(value: Any, path: list[Any]) -> Any:
    if value is None or not path:
        return None
    key, rest = path[0], path[1:]
    if rest:
        inner = index(value, key)
        if inner is None:
            return value
        return set_path(value, (key,), _delete(inner, rest))
    if isinstance(value, dict) and isinstance(key, str):
        return {name: item for name, item in value.items() if name != key}
    if isinstance(value, list) and is_number(key):
        if not math.isfinite(key):
            return value
        position = math.floor(key)
        if position < 0:
            position += len(value)
        return value[:position] + value[position + 1 :] if 0 <= position < len(value) else value
    if isinstance(value, list) and isinstance(key, dict):
        first, last = bounds(len(value), key.get("start"), key.get("end"))
        return value[:first] + value[last:]
    raise _cannot_delete(value, key)


def contains(whole: Any, part: Any) -> bool:
    """`whole | contains(part)`."""
    if kind(whole) != kind(part):
        raise JqError(
            f"{kind(whole)} ({shown(whole)}) and {kind(part)} ({shown(part)}) "
            "cannot have their containment checked"
        )
    if isinstance(whole, dict):
        return all(key in whole and _contains_inner(whole[key], item) for key, item in part.items())
    if isinstance(whole, list):
        return all(any(_contains_inner(item, wanted) for item in whole) for wanted in part)
    if isinstance(whole, str):
        return part in whole
    return compare(whole, part) == 0


def _contains_inner(whole: Any, part: Any) -> bool:
    return contains(whole, part) if kind(whole) == kind(part) else False
