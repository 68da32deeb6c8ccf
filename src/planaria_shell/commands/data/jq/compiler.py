"""From the tree of a jq program to Python functions, once, before anything runs.

An expression becomes a `Code`: a function from an input and an environment to one value where it
always has exactly one (`single`), and to an iterator of values (`many`). For paths (`path(f)`,
assignments, `del`) it becomes a second function, made when asked for, which yields pairs of a path and the
value there; the path is None once the value is not at a path of the input any more.

The environment is a tuple that grows inwards: a place in a program knows at which index each variable and
each closure stands, and the environment of a function's definition is a prefix of its caller's.

A call in tail position is not made by the function itself but handed to its caller's loop (`TailCall`), so
that recursion of that form has no depth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from planaria_shell.commands.data.jq import arithmetic
from planaria_shell.commands.data.jq.calling import CallCompiler
from planaria_shell.commands.data.jq.code import Code, Environment, Paths, Scope, nested
from planaria_shell.commands.data.jq.path_compiler import cannot_iterate
from planaria_shell.commands.data.jq.paths import Editor, get_path, index, shown
from planaria_shell.commands.data.jq.syntax import (
    Alternative,
    Array,
    Assign,
    Binary,
    Bind,
    Comma,
    Constant,
    Format,
    Identity,
    If,
    Index,
    Iterate,
    Logical,
    Negate,
    Node,
    Object,
    Pipe,
    RecurseDefault,
    Slice,
    Text,
    Try,
    Variable,
)
from planaria_shell.commands.data.jq.values import JqError, kind, truthy


class Compiler(CallCompiler):
    """Compiles expressions against tables of builtins."""

    # Values

    def compile(self, node: Node, scope: Scope, tail: bool = False) -> Code:
        """The code of an expression."""
        method: Callable[[Any, Scope, bool], Code] = getattr(self, "_" + type(node).__name__.lower())
        return method(node, scope, tail)

    def _identity(self, node: Identity, scope: Scope, tail: bool) -> Code:
        return Code(single=lambda value, environment: value)

    def _recursedefault(self, node: RecurseDefault, scope: Scope, tail: bool) -> Code:
        return Code(many=lambda value, environment: arithmetic.descend(value))

    def _constant(self, node: Constant, scope: Scope, tail: bool) -> Code:
        constant = node.value
        return Code(single=lambda value, environment: constant)

    def _text(self, node: Text, scope: Scope, tail: bool) -> Code:
        render = self.runtime.format(node.format)
        parts = [part if isinstance(part, str) else self.compile(part, scope) for part in node.parts]
        singles = [part if isinstance(part, str) else part.single for part in parts]
        if all(part is not None for part in singles):

            def text(value: Any, environment: Environment) -> str:
                return "".join(
                    [
                        part if type(part) is str else render(part(value, environment))  # type: ignore[operator, misc]
                        for part in singles
                    ]
                )

            return Code(single=text)
        expressions = [part.many for part in reversed(parts) if isinstance(part, Code)]

        def texts(value: Any, environment: Environment) -> Iterator[str]:
            for chosen in nested(expressions, value, environment):
                filled = iter(reversed(chosen))
                yield "".join([part if isinstance(part, str) else render(next(filled)) for part in parts])

        return Code(many=texts)

    def _format(self, node: Format, scope: Scope, tail: bool) -> Code:
        render = self.runtime.format(node.name)
        return Code(single=lambda value, environment: render(value))

    def _index(self, node: Index, scope: Scope, tail: bool) -> Code:
        target = self.compile(node.target, scope)
        if isinstance(node.key, Constant):
            name = node.key.value
            if isinstance(name, str):
                return self._field(target, name, isinstance(node.target, Identity))
        key = self.compile(node.key, scope)
        if target.single and key.single:
            target_of, key_of = target.single, key.single
            return Code(
                single=lambda value, environment: index(
                    target_of(value, environment), key_of(value, environment)
                )
            )
        keys, targets = key.many, target.many

        def values(value: Any, environment: Environment) -> Iterator[Any]:
            for chosen in keys(value, environment):
                for container in targets(value, environment):
                    yield index(container, chosen)

        return Code(many=values)

    @staticmethod
    def _field(target: Code, name: str, of_input: bool) -> Code:
        def field_of_input(value: Any, environment: Environment) -> Any:
            return value.get(name) if type(value) is dict else index(value, name)

        if of_input:
            return Code(single=field_of_input)
        if target.single:
            target_of = target.single

            def field_of(value: Any, environment: Environment) -> Any:
                value = target_of(value, environment)
                return value.get(name) if type(value) is dict else index(value, name)

            return Code(single=field_of)
        targets = target.many

        def fields(value: Any, environment: Environment) -> Iterator[Any]:
            for container in targets(value, environment):
                yield container.get(name) if type(container) is dict else index(container, name)

        return Code(many=fields)

    def _slice(self, node: Slice, scope: Scope, tail: bool) -> Code:
        key = Object(
            [
                (Constant("start"), node.start or Constant(None)),
                (Constant("end"), node.stop or Constant(None)),
            ]
        )
        return self._index(Index(node.target, key), scope, False)

    def _iterate(self, node: Iterate, scope: Scope, tail: bool) -> Code:
        target = self.compile(node.target, scope)
        if target.single:
            target_of = target.single

            def items(value: Any, environment: Environment) -> Any:
                value = target_of(value, environment)
                if type(value) is list:
                    return value
                if type(value) is dict:
                    return value.values()
                raise cannot_iterate(value)

            return Code(many=items)
        targets = target.many

        def all_items(value: Any, environment: Environment) -> Iterator[Any]:
            for container in targets(value, environment):
                if type(container) is list:
                    yield from container
                elif type(container) is dict:
                    yield from container.values()
                else:
                    raise cannot_iterate(container)

        return Code(many=all_items)

    def _array(self, node: Array, scope: Scope, tail: bool) -> Code:
        if node.body is None:
            return Code(single=lambda value, environment: [])
        body = self.compile(node.body, scope)
        if body.single:
            item = body.single
            return Code(single=lambda value, environment: [item(value, environment)])
        items = body.many
        return Code(single=lambda value, environment: list(items(value, environment)))

    def _object(self, node: Object, scope: Scope, tail: bool) -> Code:
        keys = [self.compile(key, scope) for key, _ in node.entries]
        values = [self.compile(value, scope) for _, value in node.entries]
        constant_keys = [key.value if isinstance(key, Constant) else None for key, _ in node.entries]
        if all(isinstance(key, str) for key in constant_keys) and all(value.single for value in values):
            pairs: list[Any] = [(key, value.single) for key, value in zip(constant_keys, values, strict=True)]
            return Code(
                single=lambda value, environment: {key: item(value, environment) for key, item in pairs}
            )
        parts = [code.many for pair in zip(keys, values, strict=True) for code in pair]

        def objects(value: Any, environment: Environment) -> Iterator[Any]:
            for chosen in nested(parts, value, environment):
                result = {}
                for key, item in zip(chosen[::2], chosen[1::2], strict=True):
                    if not isinstance(key, str):
                        raise JqError(f"Cannot use {kind(key)} ({shown(key)}) as object key")
                    result[key] = item
                yield result

        if all(code.single for code in keys) and all(code.single for code in values):
            return Code(single=lambda value, environment: next(objects(value, environment)))
        return Code(many=objects)

    def _negate(self, node: Negate, scope: Scope, tail: bool) -> Code:
        return self._apply(arithmetic.negate, [self.compile(node.body, scope)])

    def _pipe(self, node: Pipe, scope: Scope, tail: bool) -> Code:
        left = self.compile(node.left, scope)
        right = self.compile(node.right, scope, tail)
        if left.single:
            first = left.single
            if right.single:
                second = right.single
                return Code(single=lambda value, environment: second(first(value, environment), environment))
            then = right.many
            return Code(many=lambda value, environment: then(first(value, environment), environment))
        before = left.many
        if right.single:
            each = right.single
            return Code(
                many=lambda value, environment: (
                    each(item, environment) for item in before(value, environment)
                )
            )
        after = right.many

        def piped(value: Any, environment: Environment) -> Iterator[Any]:
            for item in before(value, environment):
                yield from after(item, environment)

        return Code(many=piped)

    def _comma(self, node: Comma, scope: Scope, tail: bool) -> Code:
        parts: list[Node] = [node.right]
        left = node.left
        while isinstance(left, Comma):
            parts.append(left.right)
            left = left.left
        parts.append(left)
        codes = [self.compile(part, scope, tail).many for part in reversed(parts)]

        def values(value: Any, environment: Environment) -> Iterator[Any]:
            for code in codes:
                yield from code(value, environment)

        return Code(many=values)

    def _binary(self, node: Binary, scope: Scope, tail: bool) -> Code:
        function = arithmetic.OPERATORS[node.operator]
        left, right = self.compile(node.left, scope), self.compile(node.right, scope)
        if isinstance(node.right, Constant) and type(node.right.value) is int and left.single:
            special = arithmetic.with_constant(node.operator, left.single, node.right.value)
            if special is not None:
                return Code(single=special)
        return self._apply(function, [left, right])

    def _logical(self, node: Logical, scope: Scope, tail: bool) -> Code:
        left, right = self.compile(node.left, scope), self.compile(node.right, scope)
        stops = node.operator == "or"
        if left.single and right.single:
            one, two = left.single, right.single
            if stops:
                return Code(
                    single=lambda value, environment: (
                        truthy(one(value, environment)) or truthy(two(value, environment))
                    )
                )
            return Code(
                single=lambda value, environment: (
                    truthy(one(value, environment)) and truthy(two(value, environment))
                )
            )
        lefts, rights = left.many, right.many

        def values(value: Any, environment: Environment) -> Iterator[bool]:
            for one in lefts(value, environment):
                if truthy(one) is stops:
                    yield stops
                else:
                    for two in rights(value, environment):
                        yield truthy(two)

        return Code(many=values)

    def _alternative(self, node: Alternative, scope: Scope, tail: bool) -> Code:
        left, right = self.compile(node.left, scope), self.compile(node.right, scope, tail)
        if left.single and right.single:
            one, two = left.single, right.single

            def alternative(value: Any, environment: Environment) -> Any:
                try:
                    chosen = one(value, environment)
                except JqError:
                    chosen = None
                return chosen if chosen is not None and chosen is not False else two(value, environment)

            return Code(single=alternative)
        lefts, rights = left.many, right.many

        def values(value: Any, environment: Environment) -> Iterator[Any]:
            found = False
            try:
                for item in lefts(value, environment):
                    if item is not None and item is not False:
                        found = True
                        yield item
            except JqError:
                pass  # errors on the left count as no result
            if not found:
                yield from rights(value, environment)

        return Code(many=values)

    def _if(self, node: If, scope: Scope, tail: bool) -> Code:
        condition = self.compile(node.condition, scope)
        then = self.compile(node.then, scope, tail)
        otherwise = self.compile(node.otherwise or Identity(), scope, tail)
        if condition.single:
            test = condition.single
            if then.single and otherwise.single:
                yes, no = then.single, otherwise.single

                def choose(value: Any, environment: Environment) -> Any:
                    chosen = test(value, environment)
                    if chosen is None or chosen is False:
                        return no(value, environment)
                    return yes(value, environment)

                return Code(single=choose)
            yes_many, no_many = then.many, otherwise.many

            def branch(value: Any, environment: Environment) -> Any:
                chosen = test(value, environment)
                if chosen is None or chosen is False:
                    return no_many(value, environment)
                return yes_many(value, environment)

            return Code(many=branch)
        tests, yes_many, no_many = condition.many, then.many, otherwise.many

        def branches(value: Any, environment: Environment) -> Iterator[Any]:
            for chosen in tests(value, environment):
                yield from (yes_many if truthy(chosen) else no_many)(value, environment)

        return Code(many=branches)

    def _try(self, node: Try, scope: Scope, tail: bool) -> Code:
        body = self.compile(node.body, scope).many
        handler = None if node.handler is None else self.compile(node.handler, scope).many

        def attempt(value: Any, environment: Environment) -> Iterator[Any]:
            try:
                yield from body(value, environment)
                return
            except JqError as error:
                caught = error.value
            if handler is not None:
                yield from handler(caught, environment)

        return Code(many=attempt)

    def _variable(self, node: Variable, scope: Scope, tail: bool) -> Code:
        place = scope.variables.get(node.name)
        if place is None:
            if node.name == "ENV":
                variables = self.runtime.environment
                return Code(single=lambda value, environment: variables)
            raise self.failure(f"${node.name} is not defined")
        return Code(single=lambda value, environment: environment[place])

    def _bind(self, node: Bind, scope: Scope, tail: bool) -> Code:
        source = self.compile(node.source, scope)
        matchers, inner = self.binder(node.patterns, scope)
        if matchers is None:
            body = self.compile(node.body, inner, tail)
            if source.single:
                one = source.single
                if body.single:
                    then = body.single
                    return Code(
                        single=lambda value, environment: then(value, (*environment, one(value, environment)))
                    )
                many = body.many
                return Code(
                    many=lambda value, environment: many(value, (*environment, one(value, environment)))
                )
            sources, many = source.many, body.many

            def each(value: Any, environment: Environment) -> Iterator[Any]:
                for item in sources(value, environment):
                    yield from many(value, (*environment, item))

            return Code(many=each)
        sources, many = source.many, self.compile(node.body, inner, tail and len(matchers) == 1).many

        def destructured(value: Any, environment: Environment) -> Iterator[Any]:
            for item in sources(value, environment):
                for position, matcher in enumerate(matchers):
                    try:
                        for extended in matcher.environments(value, item, environment):
                            yield from many(value, extended)
                        break
                    except JqError:
                        if position == len(matchers) - 1:
                            raise

        return Code(many=destructured)

    # Assignment

    def _assign(self, node: Assign, scope: Scope, tail: bool) -> Code:
        paths = self.compile_paths(node.left, scope)
        right = self.compile(node.right, scope)
        operator = node.operator
        if operator == "|=":
            update = right.many

            def modify(value: Any, environment: Environment) -> Any:
                return self.modify(value, paths, environment, lambda old: update(old, environment))

            return Code(single=modify)

        def change(value: Any, environment: Environment, new: Any) -> Any:
            if operator == "=":
                editor = Editor()
                result = value
                for path, _ in paths((), value, environment):
                    result = editor.set(result, path or (), new)
                return result
            if operator == "//=":
                return self.modify(value, paths, environment, lambda old: (old if truthy(old) else new,))
            compute = arithmetic.OPERATORS[operator[:-1]]
            return self.modify(value, paths, environment, lambda old: (compute(old, new),))

        if right.single:
            operand = right.single
            return Code(
                single=lambda value, environment: change(value, environment, operand(value, environment))
            )
        operands = right.many
        return Code(
            many=lambda value, environment: (
                change(value, environment, new) for new in operands(value, environment)
            )
        )

    @staticmethod
    def modify(value: Any, paths: Paths, environment: Environment, update: Callable[[Any], Any]) -> Any:
        """`paths |= update`: the first result of the update; without one, the path goes."""
        from planaria_shell.commands.data.jq.paths import delete_paths

        editor = Editor()
        result = value
        gone: list[Any] = []
        for path, _ in paths((), value, environment):
            assert path is not None
            for new in update(get_path(result, path)):
                result = editor.set(result, path, new)
                break
            else:
                gone.append(list(path))
        return delete_paths(result, gone) if gone else result
