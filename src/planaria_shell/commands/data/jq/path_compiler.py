"""Paths of jq expressions: functions for `path(f)`, assignments and `del` that yield where a value is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from planaria_shell.commands.data.jq.code import Environment, PathPair, Paths, Scope, value_environments
from planaria_shell.commands.data.jq.names import Names
from planaria_shell.commands.data.jq.paths import Path, index, shown
from planaria_shell.commands.data.jq.syntax import (
    Alternative,
    Bind,
    Call,
    Comma,
    Constant,
    Define,
    Foreach,
    Identity,
    If,
    Index,
    Iterate,
    Label,
    Node,
    Object,
    Pipe,
    RecurseDefault,
    Reduce,
    Slice,
    Try,
)
from planaria_shell.commands.data.jq.values import Break, JqError, kind, truthy


class PathCompiler(Names):
    """Compiles expressions to the paths that they name."""

    def compile_paths(self, node: Node, scope: Scope) -> Paths:
        """The function that yields the paths of an expression; a path that ends is checked by the caller."""
        inner = self.paths(node, scope)

        def checked(path: Path | None, value: Any, environment: Environment) -> Iterator[PathPair]:
            for found, item in inner(path, value, environment):
                if found is None:
                    raise JqError(f"Invalid path expression with result {shown(item, 30)}")
                yield found, item

        return checked

    def paths(self, node: Node, scope: Scope) -> Paths:
        """As `compile_paths`, without the check."""
        method: Callable[[Any, Scope], Paths] | None = getattr(
            self, "_paths_" + type(node).__name__.lower(), None
        )
        if method is not None:
            return method(node, scope)
        code = self.compile(node, scope).many

        def no_path(path: Path | None, value: Any, environment: Environment) -> Iterator[PathPair]:
            for item in code(value, environment):
                # jq compares the result with the value at the path: the same null still is at it.
                yield (path if item is None and value is None else None), item

        return no_path

    def _paths_identity(self, node: Identity, scope: Scope) -> Paths:
        return lambda path, value, environment: iter(((path, value),))

    def _paths_recursedefault(self, node: RecurseDefault, scope: Scope) -> Paths:
        return lambda path, value, environment: descend_paths(path, value)

    def _paths_index(self, node: Index, scope: Scope) -> Paths:
        targets = self.paths(node.target, scope)
        keys = self.compile(node.key, scope).many

        def found(path: Path | None, value: Any, environment: Environment) -> Iterator[PathPair]:
            for key in keys(value, environment):
                for start, container in targets(path, value, environment):
                    if start is None:
                        raise JqError(
                            "Invalid path expression near attempt to access element "
                            f"{shown(key, 30)} of {shown(container, 30)}"
                        )
                    yield (*start, key), index(container, key)

        return found

    def _paths_slice(self, node: Slice, scope: Scope) -> Paths:
        key = Object(
            [
                (Constant("start"), node.start or Constant(None)),
                (Constant("end"), node.stop or Constant(None)),
            ]
        )
        return self._paths_index(Index(node.target, key), scope)

    def _paths_iterate(self, node: Iterate, scope: Scope) -> Paths:
        targets = self.paths(node.target, scope)

        def found(path: Path | None, value: Any, environment: Environment) -> Iterator[PathPair]:
            for start, container in targets(path, value, environment):
                if start is None:
                    raise JqError(
                        f"Invalid path expression near attempt to iterate through {shown(container, 30)}"
                    )
                yield from children(start, container)

        return found

    def _paths_pipe(self, node: Pipe, scope: Scope) -> Paths:
        left, right = self.paths(node.left, scope), self.paths(node.right, scope)

        def found(path: Path | None, value: Any, environment: Environment) -> Iterator[PathPair]:
            for start, item in left(path, value, environment):
                yield from right(start, item, environment)

        return found

    def _paths_comma(self, node: Comma, scope: Scope) -> Paths:
        left, right = self.paths(node.left, scope), self.paths(node.right, scope)

        def found(path: Path | None, value: Any, environment: Environment) -> Iterator[PathPair]:
            yield from left(path, value, environment)
            yield from right(path, value, environment)

        return found

    def _paths_alternative(self, node: Alternative, scope: Scope) -> Paths:
        left, right = self.paths(node.left, scope), self.paths(node.right, scope)

        def found(path: Path | None, value: Any, environment: Environment) -> Iterator[PathPair]:
            some = False
            try:
                for pair in left(path, value, environment):
                    if truthy(pair[1]):
                        some = True
                        yield pair
            except JqError:
                pass
            if not some:
                yield from right(path, value, environment)

        return found

    def _paths_if(self, node: If, scope: Scope) -> Paths:
        tests = self.compile(node.condition, scope).many
        then, otherwise = self.paths(node.then, scope), self.paths(node.otherwise or Identity(), scope)

        def found(path: Path | None, value: Any, environment: Environment) -> Iterator[PathPair]:
            for chosen in tests(value, environment):
                yield from (then if truthy(chosen) else otherwise)(path, value, environment)

        return found

    def _paths_try(self, node: Try, scope: Scope) -> Paths:
        body = self.paths(node.body, scope)
        handler = None if node.handler is None else self.paths(node.handler, scope)

        def found(path: Path | None, value: Any, environment: Environment) -> Iterator[PathPair]:
            try:
                yield from body(path, value, environment)
                return
            except JqError as error:
                caught = error.value
            if handler is not None:
                yield from handler(None, caught, environment)

        return found

    def _paths_bind(self, node: Bind, scope: Scope) -> Paths:
        sources = self.compile(node.source, scope).many
        matchers, inner = self.binder(node.patterns, scope)
        extend = self.extended(matchers)
        body = self.paths(node.body, inner)

        def found(path: Path | None, value: Any, environment: Environment) -> Iterator[PathPair]:
            for item in sources(value, environment):
                for extended in extend(value, item, environment):
                    yield from body(path, value, extended)

        return found

    def _paths_reduce(self, node: Reduce, scope: Scope) -> Paths:
        source, start = self.compile(node.source, scope).many, self.paths(node.start, scope)
        matchers, inner = self.binder(node.patterns, scope)
        extend = self.extended(matchers)
        update = self.paths(node.update, inner)

        def found(path: Path | None, value: Any, environment: Environment) -> Iterator[PathPair]:
            for state in start(path, value, environment):
                for item in source(value, environment):
                    for extended in extend(value, item, environment):
                        last: PathPair = (None, None)
                        for last in update(*state, extended):  # noqa: B007
                            pass
                        state = last
                yield state

        return found

    def _paths_foreach(self, node: Foreach, scope: Scope) -> Paths:
        source, start = self.compile(node.source, scope).many, self.paths(node.start, scope)
        matchers, inner = self.binder(node.patterns, scope)
        extend = self.extended(matchers)
        update = self.paths(node.update, inner)
        extract = self.paths(node.extract or Identity(), inner)

        def found(path: Path | None, value: Any, environment: Environment) -> Iterator[PathPair]:
            for state in start(path, value, environment):
                for item in source(value, environment):
                    for extended in extend(value, item, environment):
                        for state in update(*state, extended):  # noqa: B020
                            yield from extract(*state, extended)

        return found

    def _paths_label(self, node: Label, scope: Scope) -> Paths:
        inner = Scope(
            scope.variables,
            scope.functions,
            {**scope.labels, node.name: scope.size},
            scope.size + 1,
            scope.function,
        )
        body = self.paths(node.body, inner)

        def found(path: Path | None, value: Any, environment: Environment) -> Iterator[PathPair]:
            leave = Break()
            try:
                yield from body(path, value, (*environment, leave))
            except Break as reached:
                if reached is not leave:
                    raise

        return found

    def _paths_define(self, node: Define, scope: Scope) -> Paths:
        _, inner = self.define(node.definition, scope)
        return self.paths(node.rest, inner)

    def _paths_call(self, node: Call, scope: Scope) -> Paths:
        name, count = node.name, len(node.arguments)
        found = self.lookup(name, count, scope)
        if isinstance(found, int):
            place = found

            def closure(path: Path | None, value: Any, environment: Environment) -> Iterator[PathPair]:
                code, captured = environment[place]
                yield from code.paths(path, value, captured)

            return closure
        if found is None:
            special = self.special_paths.get((name, count))
            if special is not None:
                return special(self, node.arguments, scope)
            if (name, count) in self.predefined:
                found = self.predefined_function((name, count))
        if found is None:
            code = self.compile(node, scope).many

            def no_path(path: Path | None, value: Any, environment: Environment) -> Iterator[PathPair]:
                for item in code(value, environment):
                    yield (path if item is None and value is None else None), item

            return no_path
        function = found
        size = function.size
        closures = self.closures_of(node.arguments, scope)

        def call(path: Path | None, value: Any, environment: Environment) -> Iterator[PathPair]:
            if function._paths is None:
                assert function.body_scope is not None
                function._paths = self.paths(function.definition.body, function.body_scope)
            base = (*environment[:size], *closures(environment))
            parts = [base[place] for place in function.value_parameters]
            for extended in value_environments(base, parts, value):
                yield from function._paths(path, value, extended)

        return call


def cannot_iterate(value: Any) -> JqError:
    return JqError(f"Cannot iterate over {kind(value)} ({shown(value)})")


def children(path: Path, value: Any) -> Iterator[PathPair]:
    """The paths and values of `.[]`."""
    if type(value) is list:
        for position, item in enumerate(value):
            yield (*path, position), item
    elif type(value) is dict:
        for key, item in value.items():
            yield (*path, key), item
    else:
        raise cannot_iterate(value)


def descend_paths(path: Path | None, value: Any) -> Iterator[PathPair]:
    """The paths and values of `..`."""
    stack: list[Iterator[PathPair]] = [iter(((path, value),))]
    while stack:
        for pair in stack[-1]:
            yield pair
            if isinstance(pair[1], (list, dict)) and pair[1]:
                if pair[0] is None:
                    raise JqError(
                        f"Invalid path expression near attempt to iterate through {shown(pair[1], 30)}"
                    )
                stack.append(children(pair[0], pair[1]))
                break
        else:
            stack.pop()
