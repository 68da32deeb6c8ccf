"""JSON schemas as parameters of Python functions, and the values of such parameters as JSON."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Iterable, Mapping
from typing import Any, Final

from planaria.errors import ToolArgumentError
from planaria.workspace.tools.names import identifier, suggestion
from planaria.workspace.tools.tool import ToolCallable, ToolParameter

__all__ = [
    "Names",
    "annotation",
    "encodable",
    "json_value",
    "merged",
    "resolve",
    "schema_parameters",
    "with_wire_names",
]

_DEPTH: Final = 6
"""How deep an annotation describes; what is below is Any."""
_JSON_DEPTH: Final = 100
_LARGEST_INTEGER: Final = 10**1000
_LITERALS: Final = 20
_SIMPLE: Final = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


class Names:
    """Identifiers for any names, each only once: `get-it` and `get_it` are `get_it` and `get_it_2`."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def take(self, name: str) -> str:
        """A free identifier for that name; what no identifier has becomes `_`, and `2d` is `n2d`.

        None of them begins with an underscore: such names are not for everybody.
        """
        words = "".join(one if f"_{one}".isidentifier() else " " for one in name).split()
        cleaned = "_".join(words).strip("_")
        found = wanted = identifier(cleaned if cleaned[:1].isidentifier() else f"n{cleaned}")
        number = 1
        while found in self._taken:
            number += 1
            found = f"{wanted}_{number}"
        self._taken.add(found)
        return found


def resolve(schema: Any, document: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema that a local `$ref` leads to, or itself. Raises ValueError for one that leads nowhere."""
    seen: set[str] = set()
    found: Any
    while isinstance(schema, Mapping) and isinstance(reference := schema.get("$ref"), str):
        if not reference.startswith("#/") and reference != "#":
            raise ValueError(f"$ref {reference!r} leads out of the document, where nothing is read")
        if reference in seen:
            raise ValueError(f"$ref {reference!r} leads to itself")
        seen.add(reference)
        found = document
        for part in reference[2:].split("/") if len(reference) > 1 else ():
            part = part.replace("~1", "/").replace("~0", "~")
            if isinstance(found, list) and part.isdecimal() and int(part) < len(found):
                found = found[int(part)]
            elif isinstance(found, Mapping) and part in found:
                found = found[part]
            else:
                raise ValueError(f"$ref {reference!r} leads nowhere")
        schema = found
    # `true` and `{}` say the same: anything.
    return dict(schema) if isinstance(schema, Mapping) else {}


def merged(schema: Any, document: Mapping[str, Any], depth: int = _DEPTH) -> Mapping[str, Any]:
    """An object's schema with the properties of all that it is composed of by `allOf`."""
    whole = resolve(schema, document)
    parts = whole.get("allOf")
    if not isinstance(parts, list) or not depth:
        return whole
    properties: dict[str, Any] = {}
    required: list[Any] = []
    for part in (*(merged(one, document, depth - 1) for one in parts), whole):
        found = part.get("properties")
        properties.update(found if isinstance(found, Mapping) else {})
        found = part.get("required")
        required += found if isinstance(found, list) else []
    rest: dict[str, Any] = {key: value for key, value in whole.items() if key != "allOf"}
    return {**rest, "type": "object", "properties": properties, "required": required}


def annotation(schema: Any, document: Mapping[str, Any], depth: int = _DEPTH) -> str:
    """A schema as an annotation in Python: `str`, `list[int]`, `Literal['a', 'b'] | None`, else `Any`."""
    if not depth:
        return "Any"
    schema = resolve(schema, document)
    found = _annotation(schema, document, depth)
    if schema.get("nullable") is True and found != "Any" and "None" not in found.split(" | "):
        found += " | None"
    return found


def _annotation(schema: Mapping[str, Any], document: Mapping[str, Any], depth: int) -> str:
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if isinstance(values, list) and values:
        if len(values) <= _LITERALS and all(isinstance(value, (str, int, type(None))) for value in values):
            return f"Literal[{', '.join(map(repr, values))}]"
        return _union(_SIMPLE.get(_type_name(value), "Any") for value in values)
    for several in ("anyOf", "oneOf"):
        if isinstance(schema.get(several), list):
            return _union(annotation(one, document, depth - 1) for one in schema[several])
    whole = schema.get("allOf")
    if isinstance(whole, list) and "type" not in schema:
        return annotation(whole[0], document, depth - 1) if len(whole) == 1 else "dict[str, Any]"
    kind = schema.get("type")
    if isinstance(kind, list):
        return _union(_of_type(one, schema, document, depth) for one in kind)
    return _of_type(kind, schema, document, depth)


def _of_type(kind: Any, schema: Mapping[str, Any], document: Mapping[str, Any], depth: int) -> str:
    if kind == "array":
        return f"list[{annotation(schema.get('items', {}), document, depth - 1)}]"
    if kind == "object" or (kind is None and "properties" in schema):
        values = schema.get("additionalProperties")
        if isinstance(values, Mapping) and not schema.get("properties"):
            return f"dict[str, {annotation(values, document, depth - 1)}]"
        return "dict[str, Any]"
    is_raw = "contentMediaType" in schema and "contentEncoding" not in schema
    if kind == "string" and (is_raw or schema.get("format") == "binary"):
        return "bytes"
    return _SIMPLE.get(kind, "Any") if isinstance(kind, str) else "Any"


def _union(annotations: Iterable[str]) -> str:
    unique = list(dict.fromkeys(annotations))
    if "Any" in unique:
        return "Any"
    return " | ".join(sorted(unique, key=lambda one: one == "None"))


def _type_name(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    return {str: "string", int: "integer", float: "number", type(None): "null"}.get(type(value), "")


def schema_parameters(
    schema: Mapping[str, Any], document: Mapping[str, Any], names: Names
) -> list[tuple[str, ToolParameter]]:
    """The properties of an object's schema as parameters, each with its name there; required ones first."""
    properties = schema.get("properties")
    required = schema.get("required")
    found = []
    for name, each in properties.items() if isinstance(properties, Mapping) else ():
        one = resolve(each, document)
        found.append(
            (
                name,
                ToolParameter(
                    names.take(name),
                    type=annotation(each, document),
                    required=isinstance(required, list) and name in required,
                    default=one.get("default"),
                    description=str(one.get("description") or ""),
                ),
            )
        )
    return sorted(found, key=lambda pair: not pair[1].required)


def with_wire_names(
    tool: str,
    function: ToolCallable,
    wire_names: Mapping[str, str],
    arguments: Mapping[str, Any],
    *,
    takes_others: bool = False,
) -> dict[str, Any]:
    """The arguments by the names that the other side uses; None for an optional one means it is not given.

    Raises ToolArgumentError for a missing argument, and for an unknown one unless `takes_others`.
    """
    called = tool if function.name == tool else f"{tool}.{function.name}"
    known = {parameter.name: parameter for parameter in function.parameters}
    by_wire_name = {wire: name for name, wire in wire_names.items()}
    found: dict[str, Any] = {}
    given: set[str] = set()
    for name, value in arguments.items():
        own = name if name in known else by_wire_name.get(name)
        if own is None:
            if not takes_others:
                raise ToolArgumentError(
                    f"{called}() has no parameter {reprlib.repr(name)}{suggestion(name, known)}",
                    tool=tool,
                    callable=function.name,
                )
            found[name] = value
            continue
        if own in given:
            raise ToolArgumentError(f"{called}() got {own!r} twice", tool=tool, callable=function.name)
        given.add(own)
        if value is not None or known[own].required or "None" in known[own].type.split(" | "):
            found[wire_names[own]] = value
    missing = [name for name, parameter in known.items() if parameter.required and name not in given]
    if missing:
        raise ToolArgumentError(
            f"{called}() is missing {', '.join(map(repr, missing))}", tool=tool, callable=function.name
        )
    return found


def json_value(value: Any, where: str) -> Any:
    """A value as JSON has it, tuples as lists.

    Raises ToolArgumentError, with `where` it is, for what JSON lacks: bytes, NaN, keys that are not strings.
    """
    try:
        return _json(value, ())
    except _NotJson as error:
        raise ToolArgumentError(f"{where}{error.path} {error}") from None


def encodable(text: str, where: str) -> str:
    """The text, if it has a form in UTF-8. Raises ToolArgumentError for halves of surrogate pairs."""
    try:
        return _encodable(text)
    except _NotJson as error:
        raise ToolArgumentError(f"{where} {error}") from None


class _NotJson(Exception):
    """A value that has no form in JSON; `path` leads there, and is made on the way back."""

    path = ""

    def within(self, key: object) -> _NotJson:
        self.path = f"[{reprlib.repr(key)}]{self.path}"
        return self


def _json(value: Any, inside: tuple[int, ...]) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _encodable(value)
    if isinstance(value, int):
        # Python itself refuses to write down much longer ones.
        if not -_LARGEST_INTEGER < value < _LARGEST_INTEGER:
            raise _NotJson("is a number of more than 1,000 digits")
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise _NotJson(f"is {value}, which JSON cannot represent")
        return value
    if not isinstance(value, (list, tuple, Mapping)):
        raise _NotJson(f"is of type {type(value).__name__}, which JSON cannot represent")
    if len(inside) >= _JSON_DEPTH or id(value) in inside:
        raise _NotJson(f"is nested more than {_JSON_DEPTH} levels deep")
    within = (*inside, id(value))
    pairs = value.items() if isinstance(value, Mapping) else enumerate(value)
    found = []
    for key, one in pairs:
        try:
            found.append((key, _json(one, within)))
        except _NotJson as error:
            raise error.within(key) from None
    if not isinstance(value, Mapping):
        return [one for _, one in found]
    for key in value:
        if not isinstance(key, str):
            raise _NotJson(f"has the key {reprlib.repr(key)}; keys in JSON are strings")
        _encodable(key)
    return dict(found)


def _encodable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _NotJson("has half of a surrogate pair, which cannot be sent") from None
    return text
