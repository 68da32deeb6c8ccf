"""The syntax tree of a jq program."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Node:
    """An expression."""


@dataclass(slots=True)
class Identity(Node):
    """`.`"""


@dataclass(slots=True)
class RecurseDefault(Node):
    """`..`"""


@dataclass(slots=True)
class Constant(Node):
    value: Any


@dataclass(slots=True)
class Text(Node):
    """A string with interpolations: text and expressions in turn, formatted by `format`."""

    format: str
    parts: list[str | Node]


@dataclass(slots=True)
class Format(Node):
    """`@name` alone."""

    name: str


@dataclass(slots=True)
class Index(Node):
    """`target[key]`, `target.key`"""

    target: Node
    key: Node


@dataclass(slots=True)
class Slice(Node):
    """`target[start:stop]`"""

    target: Node
    start: Node | None
    stop: Node | None


@dataclass(slots=True)
class Iterate(Node):
    """`target[]`"""

    target: Node


@dataclass(slots=True)
class Array(Node):
    body: Node | None


@dataclass(slots=True)
class Object(Node):
    entries: list[tuple[Node, Node]]


@dataclass(slots=True)
class Negate(Node):
    body: Node


@dataclass(slots=True)
class Pipe(Node):
    left: Node
    right: Node


@dataclass(slots=True)
class Comma(Node):
    left: Node
    right: Node


@dataclass(slots=True)
class Binary(Node):
    """Arithmetic and comparison."""

    operator: str
    left: Node
    right: Node


@dataclass(slots=True)
class Logical(Node):
    """`and`, `or`"""

    operator: str
    left: Node
    right: Node


@dataclass(slots=True)
class Alternative(Node):
    """`left // right`"""

    left: Node
    right: Node


@dataclass(slots=True)
class Assign(Node):
    """`=`, `|=`, `+=` …"""

    operator: str
    left: Node
    right: Node


@dataclass(slots=True)
class If(Node):
    condition: Node
    then: Node
    otherwise: Node | None


@dataclass(slots=True)
class Try(Node):
    body: Node
    handler: Node | None


@dataclass(slots=True)
class VariablePattern:
    name: str


@dataclass(slots=True)
class ArrayPattern:
    items: list[Pattern]


@dataclass(slots=True)
class ObjectPattern:
    """Entries: a variable that also binds the value, the key, the pattern for the value."""

    entries: list[tuple[str | None, Node, Pattern | None]]


Pattern = VariablePattern | ArrayPattern | ObjectPattern


@dataclass(slots=True)
class Bind(Node):
    """`source as pattern ?// pattern | body`"""

    source: Node
    patterns: list[Pattern]
    body: Node


@dataclass(slots=True)
class Reduce(Node):
    source: Node
    patterns: list[Pattern]
    start: Node
    update: Node


@dataclass(slots=True)
class Foreach(Node):
    source: Node
    patterns: list[Pattern]
    start: Node
    update: Node
    extract: Node | None


@dataclass(slots=True)
class Label(Node):
    name: str
    body: Node


@dataclass(slots=True)
class BreakTo(Node):
    name: str


@dataclass(slots=True)
class Variable(Node):
    name: str


@dataclass(slots=True)
class Call(Node):
    name: str
    arguments: list[Node]


@dataclass(slots=True)
class Definition:
    """`def name(parameters): body;` where a parameter that starts with `$` is a value."""

    name: str
    parameters: list[str]
    body: Node


@dataclass(slots=True)
class Define(Node):
    definition: Definition
    rest: Node


@dataclass(slots=True)
class Import:
    """`import "path" as name;`, `import "path" as $name;` (data), `include "path";`"""

    path: str
    name: str | None
    data: bool
    metadata: Any = None


@dataclass(slots=True)
class Program:
    imports: list[Import]
    definitions: list[Definition]
    body: Node | None
    metadata: Any = field(default=None)


def pattern_variables(pattern: Pattern) -> list[str]:
    """The names that a pattern binds, in order, each once."""
    names: dict[str, None] = {}
    if isinstance(pattern, VariablePattern):
        names[pattern.name] = None
    elif isinstance(pattern, ArrayPattern):
        for item in pattern.items:
            names.update(dict.fromkeys(pattern_variables(item)))
    else:
        for variable, _, inner in pattern.entries:
            if variable is not None:
                names[variable] = None
            if inner is not None:
                names.update(dict.fromkeys(pattern_variables(inner)))
    return list(names)


def optional(node: Node) -> Node:
    """`node?`: of a postfix, only the last step is forgiven, not what it applies to."""
    target = getattr(node, "target", None)
    if target is None or isinstance(target, Identity):
        return Try(node, None)
    if isinstance(node, Iterate):
        return Pipe(target, Try(Iterate(Identity()), None))
    if isinstance(node, Index) and isinstance(node.key, Constant):
        return Pipe(target, Try(Index(Identity(), node.key), None))
    return Try(node, None)


def constant_value(node: Node) -> Any:
    """The value of a tree that is only constants, arrays and objects; None when it is not."""
    if isinstance(node, Constant):
        return node.value
    if isinstance(node, Object):
        return {constant_value(key): constant_value(value) for key, value in node.entries}
    if isinstance(node, Array):
        items: list[Any] = []
        body = node.body
        while isinstance(body, Comma):
            items.insert(0, constant_value(body.right))
            body = body.left
        return [constant_value(body), *items] if body is not None else []
    if isinstance(node, Call) and not node.arguments:
        return {"true": True, "false": False}.get(node.name)
    return None
