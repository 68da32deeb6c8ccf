"""reduce and foreach of jq: a state that goes from value to value, changed in place where that is safe."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from planaria_shell.commands.data.jq import arithmetic
from planaria_shell.commands.data.jq.code import Code, Environment, Paths, Scope
from planaria_shell.commands.data.jq.path_compiler import PathCompiler
from planaria_shell.commands.data.jq.paths import Editor, get_path
from planaria_shell.commands.data.jq.syntax import Assign, Binary, Foreach, Identity, If, Node, Pipe, Reduce
from planaria_shell.commands.data.jq.values import truthy


class FoldCompiler(PathCompiler):
    """Compiles `reduce` and `foreach`."""

    def _reduce(self, node: Reduce, scope: Scope, tail: bool) -> Code:
        source, start = self.compile(node.source, scope).many, self.compile(node.start, scope)
        matchers, inner = self.binder(node.patterns, scope)
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
        matchers, inner = self.binder(node.patterns, scope)
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
