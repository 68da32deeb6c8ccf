"""What the names in a jq program mean: functions, parameters, variables, patterns, builtins."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

from planaria_shell.commands.data.jq.code import (
    Code,
    Environment,
    Function,
    Many,
    Paths,
    Scope,
    constant_many,
)
from planaria_shell.commands.data.jq.lexer import JqSyntaxError
from planaria_shell.commands.data.jq.paths import index
from planaria_shell.commands.data.jq.syntax import (
    ArrayPattern,
    Call,
    Definition,
    Node,
    Pattern,
    VariablePattern,
    pattern_variables,
)
from planaria_shell.commands.data.jq.values import JqError, kind

Native = Callable[..., Any]
#: Builtins that see their arguments' expressions: called with the compiler, the arguments and the scope.
SpecialCode = Callable[[Any, list[Node], Scope], Code]
SpecialPaths = Callable[[Any, list[Node], Scope], Paths]


class Closure:
    """An argument of a function, compiled in the scope of the call."""

    __slots__ = ("_paths", "code", "compiler", "node", "scope")

    def __init__(self, compiler: Names, node: Node, scope: Scope) -> None:
        self.compiler = compiler
        self.node = node
        self.scope = scope
        self.code = compiler.compile(node, scope)
        self._paths: Paths | None = None

    @property
    def paths(self) -> Paths:
        if self._paths is None:
            self._paths = self.compiler.paths(self.node, self.scope)
        return self._paths


class Names(ABC):
    """The tables of builtins, and what a program defines."""

    def __init__(
        self,
        natives: dict[tuple[str, int], Native],
        specials: dict[tuple[str, int], SpecialCode],
        special_paths: dict[tuple[str, int], SpecialPaths],
        predefined: dict[tuple[str, int], Definition],
        runtime: Any,
    ) -> None:
        self.natives = natives
        self.specials = specials
        self.special_paths = special_paths
        self.predefined = predefined
        self.runtime = runtime
        self.source = ""
        self._predefined_functions: dict[tuple[str, int], Function] = {}

    def failure(self, message: str) -> JqSyntaxError:
        return JqSyntaxError(f"{message} at <top-level>, line 1:\n{self.source}")

    @abstractmethod
    def compile(self, node: Node, scope: Scope, tail: bool = False) -> Code:
        """The code of an expression."""

    @abstractmethod
    def paths(self, node: Node, scope: Scope) -> Paths:
        """The function that yields the paths of an expression, and values that have none."""

    def define(self, definition: Definition, scope: Scope) -> tuple[Function, Scope]:
        """Make a function and the scope that knows it."""
        function = Function(definition, scope, scope.size)
        key = (definition.name, len(definition.parameters))
        inner = Scope(
            scope.variables, {**scope.functions, key: function}, scope.labels, scope.size, scope.function
        )
        self._compile_function(function, inner)
        return function, inner

    def _compile_function(self, function: Function, scope: Scope) -> None:
        parameters = function.definition.parameters
        size = scope.size
        functions = dict(scope.functions)
        variables = dict(scope.variables)
        for offset, parameter in enumerate(parameters):
            functions[parameter.removeprefix("$"), 0] = size + offset
        place = size + len(parameters)
        for offset, parameter in enumerate(parameters):
            if parameter.startswith("$"):
                variables[parameter[1:]] = place
                function.value_parameters.append(size + offset)
                place += 1
        body_scope = Scope(variables, functions, scope.labels, place, function)
        function.body_scope = body_scope
        # First in the belief that a call of it gives exactly one value; if the body then does not, again.
        function.compiling = True
        code = self.compile(function.definition.body, body_scope, True)
        if code.single is None and function.single:
            function.single = False
            code = self.compile(function.definition.body, body_scope, True)
        function.single = code.single is not None
        function.compiling = False
        function.code = code

    def lookup(self, name: str, count: int, scope: Scope) -> Function | int | None:
        """What a name stands for: a function, the place of a closure, None for a builtin."""
        found = scope.functions.get((name, count))
        if found is not None:
            return found
        key = (name, count)
        if key in self.specials or key in self.natives or key in self.special_paths:
            return None
        return self.predefined_function(key)

    def predefined_function(self, key: tuple[str, int]) -> Function:
        """A builtin that is written in jq, compiled when first used."""
        if key not in self._predefined_functions:
            definition = self.predefined.get(key)
            if definition is None:
                raise self.failure(f"{key[0]}/{key[1]} is not defined")
            root = Scope({}, {}, {}, 0)
            function = Function(definition, root, 0)
            self._predefined_functions[key] = function
            self._compile_function(function, root)
        return self._predefined_functions[key]

    def closures_of(self, arguments: list[Node], scope: Scope) -> Callable[[Environment], tuple[Any, ...]]:
        makers: list[Any] = []
        for argument in arguments:
            place = None
            if isinstance(argument, Call) and not argument.arguments:
                found = scope.functions.get((argument.name, 0))
                place = found if isinstance(found, int) else None
            makers.append(Closure(self, argument, scope) if place is None else place)
        if not makers:
            return lambda environment: ()
        return lambda environment: tuple(
            [environment[maker] if type(maker) is int else (maker, environment) for maker in makers]
        )

    def binder(self, patterns: list[Pattern], scope: Scope) -> tuple[Any, Scope]:
        """How patterns extend an environment, and the scope that results."""
        if len(patterns) == 1 and isinstance(patterns[0], VariablePattern):
            return None, scope.bind(patterns[0].name)
        names: dict[str, None] = {}
        for pattern in patterns:
            names.update(dict.fromkeys(pattern_variables(pattern)))
        order = list(names)
        # Keys of patterns see the variables that stand to their left: bind step by step.
        matchers = [_Matcher(self, pattern, scope, order) for pattern in patterns]
        return matchers, scope.bind(*order)

    def extended(self, matchers: Any) -> Callable[[Any, Any, Environment], Any]:
        """All environments that patterns make of a value; the first pattern that fits."""
        if matchers is None:
            return lambda value, item, environment: ((*environment, item),)

        def environments(value: Any, item: Any, environment: Environment) -> list[Environment]:
            for position, matcher in enumerate(matchers):
                try:
                    return list(matcher.environments(value, item, environment))
                except JqError:
                    if position == len(matchers) - 1:
                        raise
            return []

        return environments


class _Matcher:
    """A destructuring pattern: what environments it makes of a value."""

    def __init__(self, compiler: Names, pattern: Pattern, scope: Scope, names: list[str]) -> None:
        self._names = names
        self._size = scope.size
        self._steps: list[Any] = []
        self._scope = scope.bind(*names)
        self._match = self._compile(compiler, pattern)

    def environments(self, value: Any, item: Any, environment: Environment) -> Iterator[Environment]:
        """Every way to bind `item`; names that this pattern has not are null."""
        base = [*environment, *[None] * len(self._names)]
        return self._match(value, item, tuple(base))

    def _compile(self, compiler: Names, pattern: Pattern) -> Callable[..., Iterator[Environment]]:
        if isinstance(pattern, VariablePattern):
            place = self._size + self._names.index(pattern.name)
            return lambda value, item, environment: iter(
                ((*environment[:place], item, *environment[place + 1 :]),)
            )
        entries: list[tuple[int | None, Many, Any]] = []
        if isinstance(pattern, ArrayPattern):
            for position, inner in enumerate(pattern.items):
                entries.append((None, constant_many(position), self._compile(compiler, inner)))
        else:
            for variable, key, inner_pattern in pattern.entries:
                place_of = None if variable is None else self._size + self._names.index(variable)
                match = None if inner_pattern is None else self._compile(compiler, inner_pattern)
                entries.append((place_of, compiler.compile(key, self._scope).many, match))
        is_object = not isinstance(pattern, ArrayPattern)

        def bind(value: Any, item: Any, environment: Environment, position: int = 0) -> Iterator[Environment]:
            if position == len(entries):
                yield environment
                return
            place, keys, match = entries[position]
            for key in keys(value, environment):
                if is_object and not isinstance(key, str):
                    raise JqError(f"Cannot index {kind(item)} with {kind(key)}")
                part = index(item, key)
                extended = environment
                if place is not None:
                    extended = (*environment[:place], part, *environment[place + 1 :])
                if match is None:
                    yield from bind(value, item, extended, position + 1)
                else:
                    for inside in match(value, part, extended):
                        yield from bind(value, item, inside, position + 1)

        return bind
