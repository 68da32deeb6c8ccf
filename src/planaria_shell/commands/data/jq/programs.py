"""jq programs with the definitions that they import, compiled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from planaria_shell.commands.data.jq.code import Code, Scope
from planaria_shell.commands.data.jq.compiler import Compiler
from planaria_shell.commands.data.jq.definitions import definitions
from planaria_shell.commands.data.jq.json_reader import Reader
from planaria_shell.commands.data.jq.lexer import JqSyntaxError
from planaria_shell.commands.data.jq.parser import parse_program
from planaria_shell.commands.data.jq.runtime import Runtime
from planaria_shell.commands.data.jq.runtime_specials import SPECIALS
from planaria_shell.commands.data.jq.specials import SPECIAL_PATHS
from planaria_shell.commands.data.jq.syntax import Call, Define, Definition, Identity, Import, Node, Program
from planaria_shell.commands.data.jq.tables import NATIVES

__all__ = ["compile_program"]


def compile_program(runtime: Runtime, source: str, variables: dict[str, Any]) -> Callable[[Any], Any]:
    """A program with its global variables, as a function from an input to its results."""
    program = parse_program(source)
    compiler = Compiler(NATIVES, SPECIALS, SPECIAL_PATHS, definitions(), runtime)
    compiler.source = source
    data: dict[str, Any] = dict(variables)
    body = _link(runtime, program, data)
    scope = Scope({}, {}, {}, 0).bind(*data)
    environment = tuple(data.values())
    code: Code = compiler.compile(body, scope)
    many = code.many
    return lambda value: many(value, environment)


def _link(runtime: Runtime, program: Program, data: dict[str, Any]) -> Node:
    """The program's body under the definitions that it has and imports."""
    body: Node = program.body or Identity()
    for definition in reversed(_definitions(runtime, program, data, ())):
        body = Define(definition, body)
    return body


def _definitions(
    runtime: Runtime, program: Program, data: dict[str, Any], above: tuple[str, ...]
) -> list[Definition]:
    found: list[Definition] = []
    for item in program.imports:
        if item.data:
            values = list(_data(runtime, item))
            data[str(item.name)] = values
            data[f"{item.name}::{item.name}"] = values
            continue
        if item.path in above:
            raise JqSyntaxError(f"module {item.path} imports itself")
        module = parse_program(runtime.read_module(item.path, ".jq", item.metadata))
        for definition in _definitions(runtime, module, data, (*above, item.path)):
            found.append(definition)
            if item.name is not None:
                found.append(_forward(definition, item.name))
    return [*found, *program.definitions]


def _data(runtime: Runtime, item: Import) -> Iterator[Any]:
    text = runtime.read_module(item.path, ".json", item.metadata)
    yield from Reader().values(iter((text.encode("utf-8", "surrogateescape"),)))


def _forward(definition: Definition, prefix: str) -> Definition:
    """`prefix::name`, which calls `name` with its own parameters."""
    names = [parameter.removeprefix("$") for parameter in definition.parameters]
    return Definition(
        f"{prefix}::{definition.name}", names, Call(definition.name, [Call(name, []) for name in names])
    )
