"""Assignments: to variables, elements and whole arrays, before commands and as arguments of `declare`."""

from __future__ import annotations

import re
from collections.abc import Callable

from planaria_shell.errors import BadSubscriptError, ReadonlyError, ShellError
from planaria_shell.expand.arrays import ArrayArgument, Element, store_array
from planaria_shell.expand.braces import has_braces
from planaria_shell.expand.subscripts import key_of
from planaria_shell.expand.words import ArgumentsCode, TextCode, WordCompiler
from planaria_shell.state.interpreter import Interpreter
from planaria_shell.state.variable import (
    ASSOCIATIVE,
    DYNAMIC,
    EXPORT,
    INDEXED,
    NAMEREF,
    READONLY,
    SHORT,
    SLOW_WRITE,
    Scope,
    Variable,
)
from planaria_shell.state.variables import Variables
from planaria_shell.syntax.nodes import Arithmetic, ArrayElement, Assignment, Literal, Word
from planaria_shell.syntax.quoting import single_quoted, value_quoted

__all__ = ["AssignmentCompiler"]


#: The option of `declare` that makes an associative array.
_ASSOCIATIVE = re.compile(r"-[a-zA-Z]*A")


class AssignmentCompiler:
    """Compiles assignments with the help of the compiler of words."""

    def __init__(self, words: WordCompiler) -> None:
        self.words = words

    def assign(self, node: Assignment) -> Callable[[Interpreter], None]:
        """The function that does an assignment that stands by itself."""
        name = node.name
        if node.elements is not None:
            return self._array(node)
        value = self.words.text(node.value, assignment=True)
        if node.subscript is not None:
            return self._element(node, value)
        append = node.append
        if name in Variables.setters or name in Variables.getters or name in Variables.array_getters:

            def special(sh: Interpreter) -> None:
                text = value(sh)
                if sh.xtrace:
                    sh.trace_assignment(name, text, append)
                sh.variables.set(name, text, append=append)

            return special
        if append:

            def add(sh: Interpreter) -> None:
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

            def store_number(sh: Interpreter) -> None:
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

        def store(sh: Interpreter) -> None:
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

    def _element(self, node: Assignment, value: TextCode) -> Callable[[Interpreter], None]:
        name, append = node.name, node.append
        assert node.subscript is not None
        key = self.words.text(node.subscript, tildes=False)
        index = self.words.values.index(node.subscript)
        source = node.subscript.source

        def store(sh: Interpreter) -> None:
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
                    raise BadSubscriptError(f"{name}[{source}]")
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
                raise BadSubscriptError(f"{name}[{source}]")
            text = value(sh)
            number = index(sh)
            if sh.xtrace:
                sh.trace_assignment(f"{name}[{source}]", text, append)
            variables.set_indexed(name, variable, number, text, append=append)

        return store

    def elements(self, elements: list[ArrayElement]) -> Callable[[Interpreter], list[Element]]:
        """What gives the elements of an indexed array."""
        plain: list[Word] = [element.value for element in elements if element.subscript is None]
        if len(plain) == len(elements):
            arguments = self.words.arguments(plain)
            return lambda sh: [(None, text, False) for text in arguments(sh)]
        codes: list[tuple[TextCode | None, TextCode | None, ArgumentsCode | None, bool]] = []
        for element in elements:
            if element.subscript is None:
                codes.append((None, None, self.words.arguments([element.value]), False))
            else:
                key = self.words.text(element.subscript, tildes=False)
                text = self.words.text(element.value, assignment=True)
                codes.append((key, text, None, element.append))

        def expand(sh: Interpreter) -> list[Element]:
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

    def keyed_elements(self, elements: list[ArrayElement]) -> Callable[[Interpreter], list[Element]]:
        """What gives the elements of an associative array, where words are neither split nor have tildes."""
        codes: list[tuple[TextCode | None, TextCode, bool]] = []
        for element in elements:
            key = self.words.text(element.subscript, tildes=False) if element.subscript is not None else None
            codes.append((key, self.words.text(element.value, tildes=False), element.append))
        return lambda sh: [(key(sh) if key is not None else None, text(sh), add) for key, text, add in codes]

    def _array(self, node: Assignment) -> Callable[[Interpreter], None]:
        assert node.elements is not None
        name, append = node.name, node.append
        expand = self.elements(node.elements)
        expand_keyed = self.keyed_elements(node.elements)
        subscripted = node.subscript is not None
        single = len(node.elements) == 1 and node.elements[0].subscript is None
        one = self.words.arguments([node.elements[0].value]) if single and append else None

        def store(sh: Interpreter) -> None:
            if subscripted:
                raise ShellError(f"{node.source.partition('=')[0]}: cannot assign list to array member")
            if sh.xtrace:
                sh.trace_line(node.source)
            variable = sh.table.get(name)
            if variable is not None and variable.flags & NAMEREF and "[" in (variable.value or ""):
                raise ShellError(f"`{variable.value}': not a valid identifier")
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
            found = sh.variables.find(name) if variable is not None else None
            keyed = found is not None and bool(found.flags & ASSOCIATIVE)
            elements = expand_keyed(sh) if keyed else expand(sh)
            target = sh.variables.target(name)
            store_array(sh.variables, name, target, elements, append=append)

        return store

    def temporary(self, node: Assignment) -> Callable[[Interpreter, Scope], None]:
        """The function that does an assignment before a command, for as long as it runs."""
        name = node.name
        value = self.words.text(node.value, assignment=True)
        if node.elements is not None and node.subscript is None:
            # Programs know no arrays: they get its text, expanded.
            elements = node.source.partition("=")[2]

            def value(sh: Interpreter) -> str:
                return key_of(sh, elements, declared=True)

        elif node.subscript is not None:
            source = node.source.partition("=")[0]
            return lambda sh, scope: sh.complain(f"`{source}': not a valid identifier")

        def bind(sh: Interpreter, scope: Scope) -> None:
            text = value(sh)
            if sh.xtrace:
                sh.trace_assignment(name, text, node.append)
            old = sh.table.get(name)
            if old is not None and old.flags & READONLY:
                failure = ReadonlyError(name)
                sh.report_error(failure)
                if failure.fatal:
                    raise failure
                return
            if node.append and old is not None:
                text = (old.scalar() or "") + text
            sh.variables.bind(scope, name, Variable(text, EXPORT))

        return bind

    def declaration_arguments(self, words: list[Word | Assignment]) -> ArgumentsCode:
        """Arguments of `declare` and its like: assignments among them are neither split nor globbed."""
        codes: list[Callable[[Interpreter], list[str]]] = []
        run: list[Word] = []

        def flush() -> None:
            if run:
                codes.append(self.words.arguments(run.copy()))
                run.clear()

        associative = False
        for word in words:
            if isinstance(word, Word):
                associative = associative or _ASSOCIATIVE.match(word.source) is not None
                run.append(word)
                continue
            flush()
            codes.append(self._argument(word, associative))
        flush()

        def arguments(sh: Interpreter) -> list[str]:
            result: list[str] = []
            for code in codes:
                result.extend(code(sh))
            return result

        return arguments

    def _argument(self, node: Assignment, associative: bool) -> Callable[[Interpreter], list[str]]:
        sign = "+=" if node.append else "="
        name = node.name
        if node.elements is not None and node.subscript is not None:
            member = node.source.partition("=")[0].removesuffix("+")

            def refuse(sh: Interpreter) -> list[str]:
                raise ShellError(f"{member}: cannot assign list to array member", fatal=True)

            return refuse
        if node.elements is not None:
            expand = self.elements(node.elements)
            expand_keyed = self.keyed_elements(node.elements)

            def array(sh: Interpreter) -> list[str]:
                found = sh.variables.find(name)
                keyed = associative or (found is not None and bool(found.flags & ASSOCIATIVE))
                elements = expand_keyed(sh) if keyed else expand(sh)
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
        if node.subscript is None and node.value is not None:
            word = Word([Literal(name + sign), *node.value.parts], node.source)
            if has_braces(word):
                # Brace expansion makes ordinary words of it.
                return self.words.arguments([word])
        value = self.words.text(node.value, assignment=True)
        if node.subscript is not None:
            subscript = self.words.text(node.subscript, tildes=False)
            return lambda sh: [f"{name}[{subscript(sh)}]{sign}{value(sh)}"]
        return lambda sh: [f"{name}{sign}{value(sh)}"]
