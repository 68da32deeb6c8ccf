"""What a jq program becomes: functions over environments, the program's own functions, and its scopes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from planaria_shell.commands.data.jq.paths import Path
from planaria_shell.commands.data.jq.syntax import Definition

Environment = tuple[Any, ...]
Single = Callable[[Any, Environment], Any]
Many = Callable[[Any, Environment], Any]
PathPair = tuple[Path | None, Any]
Paths = Callable[[Path | None, Any, Environment], Iterator[PathPair]]


class Code:
    """A compiled expression."""

    __slots__ = ("_many", "single")

    def __init__(self, *, single: Single | None = None, many: Many | None = None) -> None:
        self.single = single
        self._many = many

    @property
    def many(self) -> Many:
        if self._many is None:
            single = self.single
            assert single is not None
            self._many = lambda value, environment: (single(value, environment),)
        return self._many


class TailCall:
    """A call that the loop of the calling function makes."""

    __slots__ = ("environment", "function", "value")

    def __init__(self, function: Function, value: Any, environment: Environment) -> None:
        self.function = function
        self.value = value
        self.environment = environment


@dataclass(eq=False, slots=True)
class Function:
    """A function of the program."""

    definition: Definition
    scope: Scope
    size: int
    single: bool = True
    code: Code | None = None
    body_scope: Scope | None = None
    tail_called: bool = False
    compiling: bool = False
    _paths: Paths | None = None
    value_parameters: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Scope:
    """What names mean at a place of the program."""

    variables: dict[str, int]
    functions: dict[tuple[str, int], Function | int]
    labels: dict[str, int]
    size: int
    #: The function whose body this is, for tail calls.
    function: Function | None = None

    def bind(self, *names: str) -> Scope:
        places = {name: self.size + offset for offset, name in enumerate(names)}
        return Scope(
            {**self.variables, **places}, self.functions, self.labels, self.size + len(names), self.function
        )


def run_many(function: Function, value: Any, environment: Environment) -> Iterator[Any]:
    """All results of a function's body; tail calls are made here."""
    code = function.code
    assert code is not None
    results = code.many(value, environment)
    return _trampoline(results) if function.tail_called else results


def _trampoline(results: Any) -> Iterator[Any]:
    stack = [iter(results)]
    while stack:
        for result in stack[-1]:
            if type(result) is TailCall:
                code = result.function.code
                assert code is not None
                stack.append(iter(code.many(result.value, result.environment)))
                break
            yield result
        else:
            stack.pop()


def value_environments(base: Environment, parts: list[Any], value: Any) -> Iterator[Environment]:
    """Environments with the values of `$` parameters; the first parameter is outermost."""
    if not parts:
        yield base
        return
    code, captured = parts[0]
    for item in code.code.many(value, captured):
        if len(parts) == 1:
            yield (*base, item)
        else:
            yield from value_environments((*base, item), parts[1:], value)


def nested(codes: list[Many], value: Any, environment: Environment) -> Iterator[tuple[Any, ...]]:
    """Every choice of one result each; the first code is the outermost loop."""
    if not codes:
        yield ()
        return
    if len(codes) == 1:
        for item in codes[0](value, environment):
            yield (item,)
        return
    # Results of inner codes do not depend on outer ones, but errors must come in order: evaluate each time.
    for item in codes[0](value, environment):
        for rest in nested(codes[1:], value, environment):
            yield (item, *rest)


def constant_many(constant: Any) -> Many:
    """The code of a constant."""
    return lambda value, environment: (constant,)
