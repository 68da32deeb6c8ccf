"""Assignments: to variables, elements and whole arrays, before commands and as arguments of `declare`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from planaria_shell.expand.words import ArgumentsCode, TextCode, WordCompiler
from planaria_shell.run.subscripts import key_of
from planaria_shell.run.variable import (
    ASSOCIATIVE,
    DYNAMIC,
    EXPORT,
    INDEXED,
    NAMEREF,
    READONLY,
    SHORT,
    SLOW_WRITE,
    ReadonlyError,
    Scope,
    ShellError,
    Variable,
)
from planaria_shell.run.variables import Variables
from planaria_shell.syntax.nodes import Arithmetic, ArrayElement, Assignment, Word
from planaria_shell.syntax.quoting import single_quoted, value_quoted

if TYPE_CHECKING:
    from planaria_shell.run.shell import Shell

__all__ = ["ArrayArgument", "AssignmentCompiler", "Element", "store_array"]

#: One element to assign: subscript (None: the next one), value, whether it is appended to the old value.
Element = tuple["str | None", str, bool]


class ArrayArgument(str):
    """An argument of `declare` and its like that assigns an array: the text before it is `name=`."""

    __slots__ = ("append", "elements", "name")

    name: str
    elements: list[Element]
    append: bool


def store_array(
    variables: Variables, name: str, variable: Variable, elements: list[Element], *, append: bool
) -> None:
    """Assign a list of elements to an array variable."""
    if variable.flags & READONLY:
        raise ReadonlyError(name)
    if variable.flags & ASSOCIATIVE:
        _store_associative(variables, name, variable, elements, append=append)
        return
    if not variable.flags & INDEXED:
        variables.make_array(variable)
        if not append:
            variable.array = None
    simple = not variable.flags & SLOW_WRITE & ~INDEXED
    index = variable.next_index() if append else 0
    target: dict[int, str] = variable.indexed() if append else {}
    variable.array = target
    variable.ordered = True
    for subscript, value, added in elements:
        variables.grow(value)
        if subscript is not None:
            if subscript in ("", "@", "*"):
                wrong = "cannot assign to non-numeric index" if subscript else "bad array subscript"
                variables.warn(f"[{subscript}]={value}: {wrong}")
                continue
            found = variables.index_of(subscript)
            if found < 0:
                found += variable.next_index()
                target = variable.indexed()
                if found < 0:
                    variables.warn(f"[{subscript}]={value}: bad array subscript")
                    continue
            index = found
        if added or not simple:
            value = variables.converted(variable, value, target.get(index), added)
        if index not in target and target and index < next(reversed(target)):
            variable.ordered = False
        target[index] = value
        index += 1
    if not variable.ordered:
        variable.indexed()


def _store_associative(
    variables: Variables, name: str, variable: Variable, elements: list[Element], *, append: bool
) -> None:
    array: dict[str, str] = {}
    if append and variable.array is not None:
        array = variable.array  # type: ignore[assignment]
    pending: str | None = None
    keyed = bool(elements) and elements[0][0] is not None
    for subscript, value, added in elements:
        if subscript is None:
            if keyed:
                variables.warn(f"{name}: {value}: must use subscript when assigning associative array")
                continue
            # `name=(key value key value …)`
            if pending is None:
                pending = value
                continue
            variables.grow(value)
            array[pending] = variables.converted(variable, value, None, False)
            pending = None
            continue
        variables.grow(value)
        array[subscript] = variables.converted(variable, value, array.get(subscript), added)
    if pending is not None:
        array[pending] = ""
    variable.array = array


class AssignmentCompiler:
    """Compiles assignments with the help of the compiler of words."""

    def __init__(self, words: WordCompiler) -> None:
        self.words = words

    def assign(self, node: Assignment) -> Callable[[Shell], None]:
        """The function that does an assignment that stands by itself."""
        name = node.name
        if node.elements is not None:
            return self._array(node)
        value = self.words.text(node.value, assignment=True)
        if node.subscript is not None:
            return self._element(node, value)
        append = node.append
        if name in Variables.setters or name in Variables.getters or name in Variables.array_getters:

            def special(sh: Shell) -> None:
                text = value(sh)
                if sh.xtrace:
                    sh.trace_assignment(name, text, append)
                sh.variables.set(name, text, append=append)

            return special
        if append:

            def add(sh: Shell) -> None:
                text = value(sh)
                if sh.xtrace:
                    sh.trace_assignment(name, text, append)
                counters = sh.counters
                counters.growth -= len(text)
                if counters.growth < 0:
                    sh.variables.measure(len(text))
                variable = sh.table.get(name)
                if variable is not None and not variable.flags & SLOW_WRITE and variable.value is not None:
                    # With no other reference to the old text, it grows in its place.
                    old = variable.value
                    variable.value = None
                    old += text
                    variable.value = old
                else:
                    sh.variables.set(name, text, append=True)

            return add

        parts = node.value.parts if node.value is not None else []
        if len(parts) == 1 and isinstance(parts[0], Arithmetic):
            calculate = self.words.arithmetic(parts[0].expression)

            def store_number(sh: Shell) -> None:
                number = calculate(sh)
                variable = sh.table.get(name)
                if variable is None or variable.flags & SLOW_WRITE or sh.xtrace:
                    text = str(number)
                    if sh.xtrace:
                        sh.trace_assignment(name, text, append)
                    sh.variables.set(name, text)
                else:
                    # The number is kept beside its text: the next expression need not read it again.
                    variable.value = variable.numbered = str(number)
                    variable.number = number

            return store_number

        def store(sh: Shell) -> None:
            text = value(sh)
            if sh.xtrace:
                sh.trace_assignment(name, text, append)
            variable = sh.table.get(name)
            if variable is None or len(text) > SHORT:
                sh.variables.grow(text)
            if variable is None:
                sh.table[name] = Variable(text, sh.variables.new_flags)
            elif variable.flags & SLOW_WRITE:
                sh.variables.set(name, text)
            else:
                variable.value = text

        return store

    def _element(self, node: Assignment, value: TextCode) -> Callable[[Shell], None]:
        name, append = node.name, node.append
        assert node.subscript is not None
        key = self.words.text(node.subscript)
        index = self.words.index(node.subscript)
        source = node.subscript.source

        def store(sh: Shell) -> None:
            variables = sh.variables
            variable = variables.table.get(name)
            if variable is None or variable.flags & SLOW_WRITE & ~(INDEXED | ASSOCIATIVE):
                if variable is not None and variable.flags & NAMEREF and not variable.value:
                    raise ShellError(f"`{name}': not a valid identifier")
                variable = variables.target(name)
            if variable.flags & ASSOCIATIVE:
                # The value is expanded before the subscript.
                text = value(sh)
                subscript = key(sh)
                if not subscript:
                    raise ShellError(f"{name}[{source}]: bad array subscript")
                if sh.xtrace:
                    sh.trace_assignment(f"{name}[{source}]", text, append)
                if variable.array is None:
                    variable.array = {}
                array: dict[str, str] = variable.array  # type: ignore[assignment]
                if append or variable.flags & SLOW_WRITE & ~ASSOCIATIVE:
                    text = variables.converted(variable, text, array.get(subscript), append)
                variables.grow(text)
                array[subscript] = text
                if variable.flags & DYNAMIC:
                    variables.stored(name, variable)
                return
            if not source or source in ("@", "*"):
                raise ShellError(f"{name}[{source}]: bad array subscript")
            text = value(sh)
            number = index(sh)
            if sh.xtrace:
                sh.trace_assignment(f"{name}[{source}]", text, append)
            variables.set_indexed(name, variable, number, text, append=append)

        return store

    def _elements(self, elements: list[ArrayElement]) -> Callable[[Shell], list[Element]]:
        plain: list[Word] = [element.value for element in elements if element.subscript is None]
        if len(plain) == len(elements):
            arguments = self.words.arguments(plain)
            return lambda sh: [(None, text, False) for text in arguments(sh)]
        codes: list[tuple[TextCode | None, TextCode | None, ArgumentsCode | None, bool]] = []
        for element in elements:
            if element.subscript is None:
                codes.append((None, None, self.words.arguments([element.value]), False))
            else:
                key = self.words.text(element.subscript)
                text = self.words.text(element.value, assignment=True)
                codes.append((key, text, None, element.append))

        def expand(sh: Shell) -> list[Element]:
            result: list[Element] = []
            for key, text, arguments, append in codes:
                if arguments is not None:
                    result.extend((None, value, False) for value in arguments(sh))
                else:
                    assert key is not None
                    assert text is not None
                    result.append((key(sh), text(sh), append))
            return result

        return expand

    def _array(self, node: Assignment) -> Callable[[Shell], None]:
        assert node.elements is not None
        name, append = node.name, node.append
        expand = self._elements(node.elements)
        subscripted = node.subscript is not None
        single = len(node.elements) == 1 and node.elements[0].subscript is None
        one = self.words.arguments([node.elements[0].value]) if single and append else None

        def store(sh: Shell) -> None:
            if subscripted:
                raise ShellError(f"{node.source.partition('=')[0]}: cannot assign list to array member")
            if sh.xtrace:
                sh.trace_line(node.source)
            variable = sh.table.get(name)
            if (
                one is not None
                and variable is not None
                and variable.flags & (SLOW_WRITE | INDEXED) == INDEXED
            ):
                # The common `array+=(x)`.
                for text in one(sh):
                    sh.variables.grow(text)
                    variable.store(variable.next_index(), text)
                return
            elements = expand(sh)
            target = sh.variables.target(name)
            store_array(sh.variables, name, target, elements, append=append)

        return store

    def temporary(self, node: Assignment) -> Callable[[Shell, Scope], None]:
        """The function that does an assignment before a command, for as long as it runs."""
        name = node.name
        value = self.words.text(node.value, assignment=True)
        if node.elements is not None and node.subscript is None:
            # Programs know no arrays: they get its text, expanded.
            elements = node.source.partition("=")[2]

            def value(sh: Shell) -> str:
                return key_of(sh, elements, declared=True)

        elif node.subscript is not None:
            source = node.source.partition("=")[0]
            return lambda sh, scope: sh.complain(f"`{source}': not a valid identifier")

        def bind(sh: Shell, scope: Scope) -> None:
            text = value(sh)
            if sh.xtrace:
                sh.trace_assignment(name, text, node.append)
            old = sh.table.get(name)
            if old is not None and old.flags & READONLY:
                sh.report(ReadonlyError(name))
                return
            if node.append and old is not None:
                text = (old.scalar() or "") + text
            sh.variables.bind(scope, name, Variable(text, EXPORT))

        return bind

    def declaration_arguments(self, words: list[Word | Assignment]) -> ArgumentsCode:
        """Arguments of `declare` and its like: assignments among them are neither split nor globbed."""
        codes: list[Callable[[Shell], list[str]]] = []
        run: list[Word] = []

        def flush() -> None:
            if run:
                codes.append(self.words.arguments(run.copy()))
                run.clear()

        for word in words:
            if isinstance(word, Word):
                run.append(word)
                continue
            flush()
            codes.append(self._argument(word))
        flush()

        def arguments(sh: Shell) -> list[str]:
            result: list[str] = []
            for code in codes:
                result.extend(code(sh))
            return result

        return arguments

    def _argument(self, node: Assignment) -> Callable[[Shell], list[str]]:
        sign = "+=" if node.append else "="
        name = node.name
        if node.elements is not None:
            expand = self._elements(node.elements)

            def array(sh: Shell) -> list[str]:
                elements = expand(sh)
                shown = " ".join(
                    f"[{key}]={value_quoted(value)}" if key is not None else value_quoted(value)
                    for key, value, _ in elements
                )
                if sh.xtrace:
                    items = " ".join(
                        f"{'' if key is None else f'[{single_quoted(key)}]='}{single_quoted(value)}"
                        for key, value, _ in elements
                    )
                    sh.trace_line(f"{name}{sign}({items})")
                argument = ArrayArgument(f"{name}{sign}({shown})")
                argument.name = name
                argument.elements = elements
                argument.append = node.append
                return [argument]

            return array
        value = self.words.text(node.value, assignment=True)
        if node.subscript is not None:
            subscript = self.words.text(node.subscript)
            return lambda sh: [f"{name}[{subscript(sh)}]{sign}{value(sh)}"]
        return lambda sh: [f"{name}{sign}{value(sh)}"]
