"""What `${name@a}`, `@A`, `@K` and `@k` give of parameters: attributes, declarations, keys and values."""

from __future__ import annotations

from planaria_shell.expand.constant_words import Value
from planaria_shell.expand.parameter_operators import attributes, declaration, key_quoted
from planaria_shell.state.interpreter import Interpreter
from planaria_shell.state.variable import ASSOCIATIVE, INDEXED, Variable
from planaria_shell.syntax.nodes import Parameter
from planaria_shell.syntax.quoting import double_quoted, single_quoted

__all__ = ["describe"]


def describe(part: Parameter, letter: str, value: Value, result: Value) -> None:
    """Make `result` what the operator `@` with this letter (`a`, `A`, `K`, `k`) gives of a value."""
    name = part.name

    def variable_of(sh: Interpreter) -> Variable | None:
        return sh.variables.find(name)

    if letter == "a":
        if value.many:

            def letters(sh: Interpreter) -> list[str]:
                if name in ("@", "*"):
                    return [""] * len(sh.positional)
                variable = variable_of(sh)
                count = len(value.values(sh))
                if variable is None or variable.array is None:
                    count = max(1, count)
                elif not count:
                    return [""]
                return [attributes(variable)] * count if variable else []

            result.values = letters
        else:

            def letters_of(sh: Interpreter) -> str | None:
                variable = variable_of(sh)
                return attributes(variable) if variable is not None else None

            result.maybe = letters_of
        return
    if letter == "A":

        def declared(sh: Interpreter) -> str | None:
            variable = variable_of(sh)
            name, subscript = sh.variables.resolve(part.name)
            if subscript is not None:
                return None
            if name in ("@", "*"):
                return "set -- " + " ".join(single_quoted(text) for text in sh.positional)
            if variable is None:
                return None
            if not variable.is_set():
                letters = attributes(variable)
                return f"declare -{letters} {name}" if letters else None
            if not attributes(variable):
                return f"{name}={single_quoted(variable.value or '')}"
            if not variable.flags & (INDEXED | ASSOCIATIVE):
                return f"declare -{attributes(variable)} {name}={single_quoted(variable.value or '')}"
            if not value.many:
                first = value.maybe(sh)
                if first is None:
                    return f"declare -{attributes(variable)} {name}"
                return f"declare -{attributes(variable)} {name}={single_quoted(first)}"
            return declaration(name, variable)

        def declared_words(sh: Interpreter) -> list[str]:
            if name == "@":
                quoted = [single_quoted(text) for text in sh.positional]
                return ["set", "--", *quoted] if quoted else []
            text = declared(sh)
            return text.split(" ", 2) if text is not None else []

        result.many = value.many and not value.star
        result.values = declared_words
        result.maybe = declared
        return
    if not value.many:
        maybe = value.maybe

        def quoted_one(sh: Interpreter) -> str | None:
            text = maybe(sh)
            return None if text is None else single_quoted(text)

        result.maybe = quoted_one
        return

    def pairs(sh: Interpreter) -> list[str]:
        variable = variable_of(sh)
        if variable is None:
            return [single_quoted(text) for text in value.values(sh)]
        found: list[str] = []
        for key, text in zip(variable.keys(), variable.values(), strict=True):
            if letter == "k":
                found.extend((key, text))
            else:
                found.extend((key_quoted(key), double_quoted(text)))
        if letter == "K":
            tail = " " if variable.flags & ASSOCIATIVE else ""
            return [" ".join(found) + tail] if found else []
        return found

    result.values = pairs
