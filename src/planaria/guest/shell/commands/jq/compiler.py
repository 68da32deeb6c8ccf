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
from dataclasses import dataclass, field
from typing import Any

from planaria.guest.shell.commands.jq import arithmetic
from planaria.guest.shell.commands.jq.lexer import JqSyntaxError
from planaria.guest.shell.commands.jq.paths import Editor, Path, get_path, index, shown
from planaria.guest.shell.commands.jq.syntax import (
    Alternative,
    Array,
    ArrayPattern,
    Assign,
    Binary,
    Bind,
    BreakTo,
    Call,
    Comma,
    Constant,
    Define,
    Definition,
    Foreach,
    Format,
    Identity,
    If,
    Index,
    Iterate,
    Label,
    Logical,
    Negate,
    Node,
    Object,
    Pattern,
    Pipe,
    RecurseDefault,
    Reduce,
    Slice,
    Text,
    Try,
    Variable,
    VariablePattern,
    pattern_variables,
)
from planaria.guest.shell.commands.jq.values import Break, JqError, kind, truthy

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


class Closure:
    """An argument of a function, compiled in the scope of the call."""

    __slots__ = ("_paths", "code", "compiler", "node", "scope")

    def __init__(self, compiler: Compiler, node: Node, scope: Scope) -> None:
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


@dataclass(eq=False)
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


Native = Callable[..., Any]
SpecialCode = Callable[["Compiler", list[Node], Scope], Code]
SpecialPaths = Callable[["Compiler", list[Node], Scope], Paths]


class Compiler:
    """Compiles expressions against tables of builtins."""

    def __init__(
        self,
        natives: dict[tuple[str, int], Native],
        specials: dict[tuple[str, int], SpecialCode],
        special_paths: dict[tuple[str, int], SpecialPaths],
        library: dict[tuple[str, int], Definition],
        runtime: Any,
    ) -> None:
        self.natives = natives
        self.specials = specials
        self.special_paths = special_paths
        self.library = library
        self.runtime = runtime
        self.source = ""
        self._library_functions: dict[tuple[str, int], Function] = {}

    def failure(self, message: str) -> JqSyntaxError:
        return JqSyntaxError(f"{message} at <top-level>, line 1:\n{self.source}")

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

    # Binding

    def _binder(self, patterns: list[Pattern], scope: Scope) -> tuple[Any, Scope]:
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

    def _bind(self, node: Bind, scope: Scope, tail: bool) -> Code:
        source = self.compile(node.source, scope)
        matchers, inner = self._binder(node.patterns, scope)
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

    def _reduce(self, node: Reduce, scope: Scope, tail: bool) -> Code:
        source, start = self.compile(node.source, scope).many, self.compile(node.start, scope)
        matchers, inner = self._binder(node.patterns, scope)
        extend = self.extended(matchers)
        owning = self._owned(node.update, inner)
        update = self.compile(node.update, inner)
        step, steps = update.single, update.many

        def reduced(value: Any, environment: Environment, state: Any) -> Any:
            if owning is not None:
                editor = Editor()
                for item in source(value, environment):
                    for extended in extend(value, item, environment):
                        state = owning(state, extended, editor)
                return state
            if step is not None:
                if matchers is None:
                    for item in source(value, environment):
                        state = step(state, (*environment, item))
                    return state
                for item in source(value, environment):
                    for extended in extend(value, item, environment):
                        state = step(state, extended)
                return state
            for item in source(value, environment):
                for extended in extend(value, item, environment):
                    last = None
                    for last in steps(state, extended):  # noqa: B007 (the last one is the new state)
                        pass
                    state = last
            return state

        if start.single:
            begin = start.single
            return Code(
                single=lambda value, environment: reduced(value, environment, begin(value, environment))
            )
        begins = start.many
        return Code(
            many=lambda value, environment: (
                reduced(value, environment, state) for state in begins(value, environment)
            )
        )

    def _owned(self, node: Node, scope: Scope) -> Callable[[Any, Environment, Editor], Any] | None:
        """An update that changes its state in place, for `reduce`; None where that is not safe."""
        if isinstance(node, Pipe):
            left, right = self._owned(node.left, scope), self._owned(node.right, scope)
            if left is None or right is None:
                return None
            return lambda state, environment, editor: right(
                left(state, environment, editor), environment, editor
            )
        if isinstance(node, If):
            test = self.compile(node.condition, scope).single
            then = self._owned(node.then, scope)
            otherwise = self._owned(node.otherwise or Identity(), scope)
            if test is None or then is None or otherwise is None:
                return None
            return lambda state, environment, editor: (
                then if truthy(test(state, environment)) else otherwise
            )(state, environment, editor)
        if isinstance(node, Identity):
            return lambda state, environment, editor: state
        if isinstance(node, Binary) and node.operator == "+" and isinstance(node.left, Identity):
            addend = self.compile(node.right, scope).single
            if addend is None:
                return None
            return lambda state, environment, editor: _grow(state, addend(state, environment), editor)
        if isinstance(node, Assign) and node.operator != "//=":
            paths = self.compile_paths(node.left, scope)
            if node.operator == "|=":
                inner = self._owned(node.right, scope)
                if inner is not None:
                    within = inner
                    return lambda state, environment, editor: _modify_owned(
                        state,
                        paths,
                        environment,
                        editor,
                        lambda old: within(old, environment, editor),
                        plain=False,
                    )
                change = self.compile(node.right, scope).single
                if change is None:
                    return None
                return lambda state, environment, editor: _modify_owned(
                    state, paths, environment, editor, lambda old: change(old, environment)
                )
            operand = self.compile(node.right, scope).single
            if operand is None:
                return None
            if node.operator == "=":

                def assign(state: Any, environment: Environment, editor: Editor) -> Any:
                    new = operand(state, environment)
                    return _modify_owned(state, paths, environment, editor, lambda old: new)

                return assign
            operator = arithmetic.OPERATORS[node.operator[:-1]]
            plus = node.operator == "+="

            def compute(state: Any, environment: Environment, editor: Editor) -> Any:
                new = operand(state, environment)
                if plus:
                    if isinstance(new, (list, dict)) and _reaches(new, editor):
                        editor.clear()
                    return _modify_owned(
                        state, paths, environment, editor, lambda old: _grow(old, new, editor), plain=False
                    )
                return _modify_owned(state, paths, environment, editor, lambda old: operator(old, new))

            return compute
        return None

    def _foreach(self, node: Foreach, scope: Scope, tail: bool) -> Code:
        source, start = self.compile(node.source, scope).many, self.compile(node.start, scope).many
        matchers, inner = self._binder(node.patterns, scope)
        extend = self.extended(matchers)
        update = self.compile(node.update, inner).many
        extract = None if node.extract is None else self.compile(node.extract, inner).many

        def states(value: Any, environment: Environment) -> Iterator[Any]:
            for state in start(value, environment):
                for item in source(value, environment):
                    for extended in extend(value, item, environment):
                        previous, state = state, None  # an empty update leaves null
                        for state in update(previous, extended):
                            if extract is None:
                                yield state
                            else:
                                yield from extract(state, extended)

        return Code(many=states)

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

    # Functions

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

    def _define(self, node: Define, scope: Scope, tail: bool) -> Code:
        _, inner = self.define(node.definition, scope)
        return self.compile(node.rest, inner, tail)

    def lookup(self, name: str, count: int, scope: Scope) -> Function | int | None:
        """What a name stands for: a function, the place of a closure, None for a builtin."""
        found = scope.functions.get((name, count))
        if found is not None:
            return found
        key = (name, count)
        if key in self.specials or key in self.natives or key in self.special_paths:
            return None
        return self.library_function(key)

    def library_function(self, key: tuple[str, int]) -> Function:
        """A builtin that is written in jq, compiled when first used."""
        if key not in self._library_functions:
            definition = self.library.get(key)
            if definition is None:
                raise self.failure(f"{key[0]}/{key[1]} is not defined")
            root = Scope({}, {}, {}, 0)
            function = Function(definition, root, 0)
            self._library_functions[key] = function
            self._compile_function(function, root)
        return self._library_functions[key]

    def _closures(self, arguments: list[Node], scope: Scope) -> Callable[[Environment], tuple[Any, ...]]:
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
        closures = self._closures(arguments, scope)
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
            yield from _value_environments(base, parts, value)

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
        from planaria.guest.shell.commands.jq.paths import delete_paths

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

    # Paths

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
        matchers, inner = self._binder(node.patterns, scope)
        extend = self.extended(matchers)
        body = self.paths(node.body, inner)

        def found(path: Path | None, value: Any, environment: Environment) -> Iterator[PathPair]:
            for item in sources(value, environment):
                for extended in extend(value, item, environment):
                    yield from body(path, value, extended)

        return found

    def _paths_reduce(self, node: Reduce, scope: Scope) -> Paths:
        source, start = self.compile(node.source, scope).many, self.paths(node.start, scope)
        matchers, inner = self._binder(node.patterns, scope)
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
        matchers, inner = self._binder(node.patterns, scope)
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
            if (name, count) in self.library:
                found = self.library_function((name, count))
        if found is None:
            code = self._call(node, scope, False).many

            def no_path(path: Path | None, value: Any, environment: Environment) -> Iterator[PathPair]:
                for item in code(value, environment):
                    yield (path if item is None and value is None else None), item

            return no_path
        function = found
        size = function.size
        closures = self._closures(node.arguments, scope)

        def call(path: Path | None, value: Any, environment: Environment) -> Iterator[PathPair]:
            if function._paths is None:
                assert function.body_scope is not None
                function._paths = self.paths(function.definition.body, function.body_scope)
            base = (*environment[:size], *closures(environment))
            parts = [base[place] for place in function.value_parameters]
            for extended in _value_environments(base, parts, value):
                yield from function._paths(path, value, extended)

        return call


class _Matcher:
    """A destructuring pattern: what environments it makes of a value."""

    def __init__(self, compiler: Compiler, pattern: Pattern, scope: Scope, names: list[str]) -> None:
        self._names = names
        self._size = scope.size
        self._steps: list[Any] = []
        self._scope = scope.bind(*names)
        self._match = self._compile(compiler, pattern)

    def environments(self, value: Any, item: Any, environment: Environment) -> Iterator[Environment]:
        """Every way to bind `item`; names that this pattern has not are null."""
        base = [*environment, *[None] * len(self._names)]
        return self._match(value, item, tuple(base))

    def _compile(self, compiler: Compiler, pattern: Pattern) -> Callable[..., Iterator[Environment]]:
        if isinstance(pattern, VariablePattern):
            place = self._size + self._names.index(pattern.name)
            return lambda value, item, environment: iter(
                ((*environment[:place], item, *environment[place + 1 :]),)
            )
        entries: list[tuple[int | None, Many, Any]] = []
        if isinstance(pattern, ArrayPattern):
            for position, inner in enumerate(pattern.items):
                entries.append((None, _constant_many(position), self._compile(compiler, inner)))
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


def _constant_many(constant: Any) -> Many:
    return lambda value, environment: (constant,)


def _body(function: Function) -> Single:
    code = function.code
    assert code is not None
    assert code.single is not None
    return code.single


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


def _value_environments(base: Environment, parts: list[Any], value: Any) -> Iterator[Environment]:
    """Environments with the values of `$` parameters; the first parameter is outermost."""
    if not parts:
        yield base
        return
    code, captured = parts[0]
    for item in code.code.many(value, captured):
        if len(parts) == 1:
            yield (*base, item)
        else:
            yield from _value_environments((*base, item), parts[1:], value)


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


def _reaches(value: Any, editor: Editor) -> bool:
    """Whether a value is, or holds, something that the editor changes in place."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, (list, dict)):
            if editor.owns(item):
                return True
            stack.extend(item if isinstance(item, list) else item.values())
    return False


def _grow(state: Any, addend: Any, editor: Editor) -> Any:
    """`state + addend`, in place where the state is ours."""
    if type(state) is list and type(addend) is list:
        if _reaches(addend, editor):
            editor.clear()
        state = editor.own(state)
        state.extend(addend)
        return state
    if type(state) is dict and type(addend) is dict:
        if _reaches(addend, editor):
            editor.clear()
        state = editor.own(state)
        state.update(addend)
        return state
    if isinstance(addend, (list, dict)) and _reaches(addend, editor):
        editor.clear()
    return arithmetic.add(state, addend)


def _modify_owned(
    state: Any,
    paths: Paths,
    environment: Environment,
    editor: Editor,
    update: Callable[[Any], Any],
    *,
    plain: bool = True,
) -> Any:
    for path, _ in list(paths((), state, environment)):
        assert path is not None
        new = update(get_path(state, path))
        if plain and isinstance(new, (list, dict)) and _reaches(new, editor):
            editor.clear()
        state = editor.set(state, path, new)
    return state
