"""Calls of functions in jq: of closures, of builtins, of definitions, and those in tail position; `break`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from planaria_shell.commands.data.jq.code import (
    Code,
    Environment,
    Function,
    Scope,
    Single,
    TailCall,
    nested,
    run_many,
    value_environments,
)
from planaria_shell.commands.data.jq.folding import FoldCompiler
from planaria_shell.commands.data.jq.syntax import BreakTo, Call, Define, Label, Node
from planaria_shell.commands.data.jq.values import Break


class CallCompiler(FoldCompiler):
    """Compiles definitions and calls."""

    def _apply(self, function: Callable[..., Any], arguments: list[Code], *, given: bool = False) -> Code:
        """A native function of its arguments (after the input if `given`); the last outermost."""
        singles = [argument.single for argument in arguments]
        if all(single is not None for single in singles):
            ones: list[Any] = singles
            if given:
                if not ones:
                    return Code(single=lambda value, environment: function(value))
                if len(ones) == 1:
                    only = ones[0]
                    return Code(single=lambda value, environment: function(value, only(value, environment)))
                return Code(
                    single=lambda value, environment: function(
                        value, *[one(value, environment) for one in ones]
                    )
                )
            if len(ones) == 2:
                one, two = ones
                return Code(
                    single=lambda value, environment: function(
                        one(value, environment), two(value, environment)
                    )
                )
            return Code(
                single=lambda value, environment: function(*[one(value, environment) for one in ones])
            )
        outermost_first = [argument.many for argument in reversed(arguments)]

        def values(value: Any, environment: Environment) -> Iterator[Any]:
            for chosen in nested(outermost_first, value, environment):
                yield function(value, *chosen[::-1]) if given else function(*chosen[::-1])

        return Code(many=values)

    def _define(self, node: Define, scope: Scope, tail: bool) -> Code:
        _, inner = self.define(node.definition, scope)
        return self.compile(node.rest, inner, tail)

    def _call(self, node: Call, scope: Scope, tail: bool) -> Code:
        name, count = node.name, len(node.arguments)
        found = self.lookup(name, count, scope)
        if isinstance(found, int):
            place = found

            def closure(value: Any, environment: Environment) -> Any:
                code, captured = environment[place]
                return code.code.many(value, captured)

            return Code(many=closure)
        if found is None:
            key = (name, count)
            special = self.specials.get(key)
            if special is not None:
                return special(self, node.arguments, scope)
            native = self.natives.get(key)
            if native is None:
                raise self.failure(f"{name}/{count} is not defined")
            codes = [self.compile(argument, scope) for argument in node.arguments]
            return self._apply(native, codes, given=True)
        return self._call_function(found, node.arguments, scope, tail)

    def _call_function(self, function: Function, arguments: list[Node], scope: Scope, tail: bool) -> Code:
        size = function.size
        closures = self.closures_of(arguments, scope)
        values = function.value_parameters

        def environments(environment: Environment) -> Any:
            return (*environment[:size], *closures(environment))

        if not values and tail and function.compiling and scope.function is not None:
            scope.function.tail_called = True
            if function.single:
                return Code(
                    single=lambda value, environment: TailCall(function, value, environments(environment))
                )
            return Code(
                many=lambda value, environment: (TailCall(function, value, environments(environment)),)
            )

        def each(value: Any, environment: Environment) -> Iterator[Environment]:
            base = environments(environment)
            parts = [base[place] for place in values]
            yield from value_environments(base, parts, value)

        if values:
            if tail and function.compiling and scope.function is not None:
                scope.function.tail_called = True

                def tail_calls(value: Any, environment: Environment) -> Iterator[Any]:
                    for extended in each(value, environment):
                        yield TailCall(function, value, extended)

                return Code(many=tail_calls)

            def call_values(value: Any, environment: Environment) -> Iterator[Any]:
                for extended in each(value, environment):
                    yield from run_many(function, value, extended)

            return Code(many=call_values)
        if function.single:

            def call_single(value: Any, environment: Environment) -> Any:
                result = _body(function)(value, environments(environment))
                while type(result) is TailCall:
                    result = _body(result.function)(result.value, result.environment)
                return result

            return Code(single=call_single)
        return Code(many=lambda value, environment: run_many(function, value, environments(environment)))

    def _label(self, node: Label, scope: Scope, tail: bool) -> Code:
        inner = Scope(
            scope.variables,
            scope.functions,
            {**scope.labels, node.name: scope.size},
            scope.size + 1,
            scope.function,
        )
        body = self.compile(node.body, inner).many

        def labelled(value: Any, environment: Environment) -> Iterator[Any]:
            leave = Break()
            try:
                yield from body(value, (*environment, leave))
            except Break as reached:
                if reached is not leave:
                    raise

        return Code(many=labelled)

    def _breakto(self, node: BreakTo, scope: Scope, tail: bool) -> Code:
        place = scope.labels.get(node.name)
        if place is None:
            raise self.failure(f"$*label-{node.name} is not defined")

        def leave(value: Any, environment: Environment) -> Any:
            raise environment[place]

        return Code(single=leave)


def _body(function: Function) -> Single:
    code = function.code
    assert code is not None
    assert code.single is not None
    return code.single
