"""The builtins of jq that take expressions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from planaria_shell.commands.data.jq import mathematics as mathematics  # registers its builtins
from planaria_shell.commands.data.jq import texts as texts
from planaria_shell.commands.data.jq.code import Code, Environment, Many, PathPair, Paths, Scope, nested
from planaria_shell.commands.data.jq.compiler import Compiler
from planaria_shell.commands.data.jq.natives import extreme, from_entries, grouped, items_of
from planaria_shell.commands.data.jq.paths import Path, get_path, shown
from planaria_shell.commands.data.jq.syntax import Node
from planaria_shell.commands.data.jq.tables import GENERATORS
from planaria_shell.commands.data.jq.values import JqError, is_number, kind, sort_pairs, truthy

Special = Callable[[Compiler, list[Node], Scope], Code]
SPECIALS: dict[tuple[str, int], Special] = {}
SPECIAL_PATHS: dict[tuple[str, int], Callable[[Compiler, list[Node], Scope], Paths]] = {}


def special(name: str, count: int) -> Callable[[Special], Special]:
    def register(function: Special) -> Special:
        SPECIALS[name, count] = function
        return function

    return register


def _of_generator(function: Callable[..., Iterator[Any]]) -> Special:
    def compile_call(compiler: Compiler, arguments: list[Node], scope: Scope) -> Code:
        codes: list[Many] = [compiler.compile(argument, scope).many for argument in reversed(arguments)]

        def values(value: Any, environment: Environment) -> Iterator[Any]:
            for chosen in nested(codes, value, environment):
                yield from function(value, *chosen[::-1])

        return Code(many=values)

    return compile_call


for _key, _function in GENERATORS.items():
    SPECIALS[_key] = _of_generator(_function)


@special("empty", 0)
def _empty(compiler: Compiler, arguments: list[Node], scope: Scope) -> Code:
    return Code(many=lambda value, environment: ())


@special("select", 1)
def _select(compiler: Compiler, arguments: list[Node], scope: Scope) -> Code:
    condition = compiler.compile(arguments[0], scope)
    if condition.single:
        test = condition.single

        def chosen(value: Any, environment: Environment) -> Any:
            result = test(value, environment)
            return () if result is None or result is False else (value,)

        return Code(many=chosen)
    tests = condition.many
    return Code(
        many=lambda value, environment: [value for result in tests(value, environment) if truthy(result)]
    )


@special("map", 1)
def _map(compiler: Compiler, arguments: list[Node], scope: Scope) -> Code:
    code = compiler.compile(arguments[0], scope)
    if code.single:
        one = code.single
        return Code(single=lambda value, environment: [one(item, environment) for item in items_of(value)])
    many = code.many
    return Code(
        single=lambda value, environment: [
            result for item in items_of(value) for result in many(item, environment)
        ]
    )


@special("map_values", 1)
def _map_values(compiler: Compiler, arguments: list[Node], scope: Scope) -> Code:
    many = compiler.compile(arguments[0], scope).many

    def mapped(value: Any, environment: Environment) -> Any:
        if isinstance(value, dict):
            result = {}
            for key, item in value.items():
                for new in many(item, environment):
                    result[key] = new
                    break
            return result
        kept = []
        for item in items_of(value):
            for new in many(item, environment):
                kept.append(new)
                break
        return kept

    return Code(single=mapped)


@special("with_entries", 1)
def _with_entries(compiler: Compiler, arguments: list[Node], scope: Scope) -> Code:
    many = compiler.compile(arguments[0], scope).many
    to_entries = compiler.natives["to_entries", 0]
    return Code(
        single=lambda value, environment: from_entries(
            [entry for item in to_entries(value) for entry in many(item, environment)]
        )
    )


@special("walk", 1)
def _walk(compiler: Compiler, arguments: list[Node], scope: Scope) -> Code:
    many = compiler.compile(arguments[0], scope).many

    def walk(value: Any, environment: Environment) -> Any:
        if isinstance(value, dict):
            result = {}
            for key, item in value.items():
                for new in walk(item, environment):
                    result[key] = new
                    break
            value = result
        elif isinstance(value, list):
            value = [new for item in value for new in walk(item, environment)]
        return many(value, environment)

    return Code(many=walk)


@special("recurse", 1)
def _recurse(compiler: Compiler, arguments: list[Node], scope: Scope) -> Code:
    many = compiler.compile(arguments[0], scope).many

    def values(value: Any, environment: Environment) -> Iterator[Any]:
        yield value
        stack = [iter(many(value, environment))]
        while stack:
            for item in stack[-1]:
                yield item
                stack.append(iter(many(item, environment)))
                break
            else:
                stack.pop()

    return Code(many=values)


def _recurse_paths(compiler: Compiler, arguments: list[Node], scope: Scope) -> Paths:
    paths = compiler.paths(arguments[0], scope)

    def found(path: Path | None, value: Any, environment: Environment) -> Iterator[PathPair]:
        yield path, value
        stack = [iter(paths(path, value, environment))]
        while stack:
            for pair in stack[-1]:
                yield pair
                stack.append(iter(paths(*pair, environment)))
                break
            else:
                stack.pop()

    return found


SPECIAL_PATHS["recurse", 1] = _recurse_paths


@special("range", 1)
def _range_to(compiler: Compiler, arguments: list[Node], scope: Scope) -> Code:
    return _ranges(compiler, [None, arguments[0], None], scope)


@special("range", 2)
def _range_between(compiler: Compiler, arguments: list[Node], scope: Scope) -> Code:
    return _ranges(compiler, [*arguments, None], scope)


@special("range", 3)
def _range_step(compiler: Compiler, arguments: list[Node], scope: Scope) -> Code:
    return _ranges(compiler, list(arguments), scope)


def _ranges(compiler: Compiler, arguments: list[Node | None], scope: Scope) -> Code:
    def of(argument: Node | None, default: int) -> Many:
        if argument is None:
            return lambda value, environment: (default,)
        return compiler.compile(argument, scope).many

    codes = [of(arguments[0], 0), of(arguments[1], 0), of(arguments[2], 1)]

    def values(value: Any, environment: Environment) -> Iterator[Any]:
        for start, stop, step in nested(codes, value, environment):
            if not (is_number(start) and is_number(stop) and is_number(step)):
                raise JqError("Range bounds must be numeric")
            if type(start) is int and type(stop) is int and type(step) is int and step:
                yield from range(start, stop, step)
                continue
            number = start
            if step > 0:
                while number < stop:
                    yield number
                    number += step
            elif step < 0:
                while number > stop:
                    yield number
                    number += step
            else:
                while number < stop:
                    yield number

    return Code(many=values)


@special("first", 1)
def _first(compiler: Compiler, arguments: list[Node], scope: Scope) -> Code:
    many = compiler.compile(arguments[0], scope).many

    def values(value: Any, environment: Environment) -> Any:
        for item in many(value, environment):
            return (item,)
        return ()

    return Code(many=values)


@special("last", 1)
def _last(compiler: Compiler, arguments: list[Node], scope: Scope) -> Code:
    many = compiler.compile(arguments[0], scope).many

    def values(value: Any, environment: Environment) -> Any:
        last: Any = ()
        for item in many(value, environment):
            last = (item,)
        return last or (None,)

    return Code(many=values)


@special("isempty", 1)
def _isempty(compiler: Compiler, arguments: list[Node], scope: Scope) -> Code:
    many = compiler.compile(arguments[0], scope).many

    def test(value: Any, environment: Environment) -> bool:
        for _ in many(value, environment):
            return False
        return True

    return Code(single=test)


@special("limit", 2)
def _limit(compiler: Compiler, arguments: list[Node], scope: Scope) -> Code:
    counts, many = (compiler.compile(argument, scope).many for argument in arguments)

    def values(value: Any, environment: Environment) -> Iterator[Any]:
        for count in counts(value, environment):
            if not is_number(count):
                raise JqError(f"{kind(count)} ({shown(count)}) and number (1) cannot be subtracted")
            if count < 0:
                yield from many(value, environment)
            elif count > 0:
                for number, item in enumerate(many(value, environment), 1):
                    yield item
                    if number >= count:
                        break

    return Code(many=values)


def _limit_paths(compiler: Compiler, arguments: list[Node], scope: Scope) -> Paths:
    counts = compiler.compile(arguments[0], scope).many
    paths = compiler.paths(arguments[1], scope)

    def found(path: Path | None, value: Any, environment: Environment) -> Iterator[PathPair]:
        for count in counts(value, environment):
            if count < 0:
                yield from paths(path, value, environment)
            elif count > 0:
                for number, pair in enumerate(paths(path, value, environment), 1):
                    yield pair
                    if number >= count:
                        break

    return found


SPECIAL_PATHS["limit", 2] = _limit_paths


@special("until", 2)
def _until(compiler: Compiler, arguments: list[Node], scope: Scope) -> Code:
    condition, update = (compiler.compile(argument, scope) for argument in arguments)
    if condition.single and update.single:
        test, step = condition.single, update.single

        def last(value: Any, environment: Environment) -> Any:
            while not truthy(test(value, environment)):
                value = step(value, environment)
            return value

        return Code(single=last)
    tests, steps = condition.many, update.many

    def values(value: Any, environment: Environment) -> Iterator[Any]:
        def next_of(state: Any) -> Iterator[tuple[bool, Any]]:
            for done in tests(state, environment):
                if truthy(done):
                    yield True, state
                else:
                    for item in steps(state, environment):
                        yield False, item

        stack = [next_of(value)]
        while stack:
            for done, state in stack[-1]:
                if done:
                    yield state
                else:
                    stack.append(next_of(state))
                    break
            else:
                stack.pop()

    return Code(many=values)


@special("while", 2)
def _while(compiler: Compiler, arguments: list[Node], scope: Scope) -> Code:
    tests, steps = (compiler.compile(argument, scope).many for argument in arguments)

    def values(value: Any, environment: Environment) -> Iterator[Any]:
        stack: list[Iterator[Any]] = [iter((value,))]
        while stack:
            for state in stack[-1]:
                for going in tests(state, environment):
                    if truthy(going):
                        yield state
                        stack.append(iter(steps(state, environment)))
                break
            else:
                stack.pop()

    return Code(many=values)


@special("repeat", 1)
def _repeat(compiler: Compiler, arguments: list[Node], scope: Scope) -> Code:
    return _recurse(compiler, arguments, scope)


def _quantifier(stops: bool) -> Special:
    def compile_call(compiler: Compiler, arguments: list[Node], scope: Scope) -> Code:
        if len(arguments) == 2:
            source = compiler.compile(arguments[0], scope).many
        else:
            source = lambda value, environment: items_of(value)  # noqa: E731
        tests = compiler.compile(arguments[-1], scope).many

        def decide(value: Any, environment: Environment) -> bool:
            for item in source(value, environment):
                for result in tests(item, environment):
                    if truthy(result) is stops:
                        return stops
            return not stops

        return Code(single=decide)

    return compile_call


SPECIALS["any", 1] = SPECIALS["any", 2] = _quantifier(True)
SPECIALS["all", 1] = SPECIALS["all", 2] = _quantifier(False)


def _by_key(name: str, finish: Callable[[list[tuple[Any, Any]]], Any], *, whole: str = "") -> None:
    def compile_call(compiler: Compiler, arguments: list[Node], scope: Scope) -> Code:
        code = compiler.compile(arguments[0], scope)

        def computed(value: Any, environment: Environment) -> Any:
            if code.single:
                one = code.single
                pairs = [(one(item, environment), item) for item in items_of(value)]
            else:
                pairs = [(list(code.many(item, environment)), item) for item in items_of(value)]
            if not isinstance(value, list):
                raise JqError(f"{kind(value)} ({shown(value)}) cannot be {whole}, as it is not an array")
            return finish(pairs)

        return Code(single=computed)

    SPECIALS[name, 1] = compile_call


_by_key("sort_by", lambda pairs: [item for _, item in sort_pairs(pairs)], whole="sorted")
_by_key("group_by", grouped, whole="grouped")
_by_key("unique_by", lambda pairs: [group[0] for group in grouped(pairs)], whole="grouped")
_by_key("min_by", lambda pairs: extreme(pairs, False), whole="iterated over")
_by_key("max_by", lambda pairs: extreme(pairs, True), whole="iterated over")


@special("path", 1)
def _path(compiler: Compiler, arguments: list[Node], scope: Scope) -> Code:
    paths = compiler.compile_paths(arguments[0], scope)
    return Code(
        many=lambda value, environment: (list(path or ()) for path, _ in paths((), value, environment))
    )


def _getpath_paths(compiler: Compiler, arguments: list[Node], scope: Scope) -> Paths:
    keys = compiler.compile(arguments[0], scope).many

    def found(path: Path | None, value: Any, environment: Environment) -> Iterator[PathPair]:
        for key in keys(value, environment):
            if not isinstance(key, list):
                raise JqError("Path must be specified as an array")
            if path is None:
                raise JqError(
                    "Invalid path expression near attempt to access element "
                    f"{shown(key, 30)} of {shown(value, 30)}"
                )
            try:
                item = get_path(value, key)
            except JqError:
                item = None
                if value is not None:
                    raise
            yield (*path, *key), item

    return found


SPECIAL_PATHS["getpath", 1] = _getpath_paths
