"""Parameters as closures: their values, and what the operators of `${…}` make of them."""

from __future__ import annotations

import re
from collections.abc import Callable

from planaria_shell.errors import NegativeLengthError, ShellError, abandoning
from planaria_shell.expand import parameter_operators
from planaria_shell.expand.constant_words import (
    MaybeCode,
    TextCode,
    Value,
    Words,
    bad,
    joined,
    template_escaped,
    with_tildes,
)
from planaria_shell.expand.parameter_descriptions import describe
from planaria_shell.state.characters import by_bytes, by_characters
from planaria_shell.state.interpreter import Interpreter
from planaria_shell.state.variable import ASSOCIATIVE, INDEXED, NAMEREF, SLOW_READ
from planaria_shell.syntax.nodes import (
    Arithmetic,
    DoubleQuoted,
    Literal,
    Parameter,
    Quoted,
    Substitution,
    Word,
)

__all__ = ["ParameterValues"]

_EXPANDED = re.compile(r"[$`\"\\]")
_DECIMAL = re.compile(r"-?(?:[1-9][0-9]{0,17}|0)\Z")


def _of_key(sh: Interpreter, name: str, array: object, key: str) -> str | None:
    """An element of an associative array, which none without a key can be."""
    if not key:
        sh.complain(f"{name}: bad array subscript")
    return array.get(key) if isinstance(array, dict) else None


class ParameterValues:
    """Compiles what parameters are worth; `words` compiles the words in them."""

    def __init__(self, words: Words) -> None:
        self._words = words

    def index(self, word: Word) -> Callable[[Interpreter], int]:
        """The value of an expression between brackets, where single quotes are part of it."""
        if "'" in word.source and not _EXPANDED.search(word.source):
            word = Word([Literal(word.source)], word.source)
        calculate = self._words.arithmetic(word)

        def index(sh: Interpreter) -> int:
            try:
                return calculate(sh)
            except ShellError as error:
                raise abandoning(error) from None

        return index

    def parameter(self, part: Parameter) -> Value | None:
        """The parameter with its operator applied; None when its kind is only known when it runs."""
        if part.indirect:
            return None
        if part.operator and part.operator.lstrip(":")[:1] in ("-", "+", "=", "?"):
            return None
        value = self._plain(part)
        if part.length:
            return self._length(part, value)
        if part.operator:
            return self._operated(part, value)
        return value

    def value_text(self, value: Value) -> TextCode:
        if value.many:
            values = value.values
            if value.star:
                return lambda sh: sh.ifs[:1].join(values(sh))
            return lambda sh: " ".join(values(sh))
        maybe = value.maybe
        name = value.name

        def text(sh: Interpreter) -> str:
            found = maybe(sh)
            if found is None:
                if sh.nounset:
                    raise ShellError(f"{name}: unbound variable", fatal=True, status=127)
                return ""
            return found

        return text

    def _plain(self, part: Parameter) -> Value:
        name = part.name
        value = Value(f"${name}" if part.bare and not name.isidentifier() else name)
        if part.prefix:
            value.many = True
            value.star = part.prefix == "*"
            starred = value.star

            def names(sh: Interpreter) -> list[str]:
                found = sh.variables.names(name)
                return ["".join(found)] if starred and found and not sh.ifs else found

            value.values = names
        elif part.keys:
            value.many = True
            value.star = part.subscript is not None and part.subscript.source == "*"
            value.values = lambda sh: keys(sh, name)
        elif part.subscript is not None:
            self._element(part, value)
        elif name in ("@", "*"):
            value.many = True
            value.star = name == "*"
            value.values = lambda sh: sh.positional.copy()
        elif name.isdigit():
            number = int(name)
            if number == 0:
                value.maybe = lambda sh: sh.name
            else:

                def positional(sh: Interpreter) -> str | None:
                    given = sh.positional
                    return given[number - 1] if len(given) >= number else None

                value.maybe = positional
        elif name in _SPECIAL:
            value.maybe = _SPECIAL[name]
        else:

            def read(sh: Interpreter) -> str | None:
                variable = sh.table.get(name)
                if variable is None:
                    return None
                if variable.flags & SLOW_READ:
                    return sh.variables.get(name)
                return variable.value

            value.maybe = read
        return value

    def _element(self, part: Parameter, value: Value) -> None:
        name = part.name
        subscript = part.subscript
        assert subscript is not None
        source = subscript.source
        value.name = f"{name}[{source}]"
        if source in ("@", "*"):
            value.many = True
            value.star = source == "*"

            def values(sh: Interpreter) -> list[str]:
                variable = sh.variables.find(name)
                if variable is not None and _names_element(sh, name):
                    return []
                return variable.values() if variable is not None else []

            value.values = values
            return
        if not source:
            value.maybe = bad(f"${{{name}[]}}")
            return
        key = self._words.text(subscript, tildes=False)
        constant = subscript.literal()
        index = None
        if constant is not None and _DECIMAL.match(constant):
            fixed = int(constant)
        else:
            fixed = None
            index = self.index(subscript)

        def element(sh: Interpreter) -> str | None:
            variable = sh.table.get(name)
            if variable is None:
                if (fixed if index is None else index(sh)) < 0 and not part.length:  # type: ignore[operator]
                    sh.complain(f"{name}: bad array subscript")
                return None
            if variable.flags & SLOW_READ & ~(INDEXED | ASSOCIATIVE):
                found = sh.variables.find(name)
                if found is None or _names_element(sh, name):
                    return None
                variable = found
            array = variable.array
            if variable.flags & ASSOCIATIVE:
                return _of_key(sh, name, array, key(sh))
            place = fixed if index is None else index(sh)
            assert place is not None
            if array is None:
                if variable.flags & INDEXED:
                    return None
                if place < -1 and part.length:
                    raise ShellError(f"{source}]: bad array subscript")
                return variable.value if place in (0, -1) else None
            if place < 0:
                place += variable.next_index()
                if place < 0 and part.length:
                    raise ShellError(f"{source}]: bad array subscript")
                if place < 0:
                    sh.complain(f"{name}: bad array subscript")
                    return None
            return array.get(place)  # type: ignore[call-overload]

        value.maybe = element

    def _length(self, part: Parameter, value: Value) -> Value:
        result = Value(value.name)
        if value.many:
            values = value.values
            result.maybe = lambda sh: str(len(values(sh)))
            if part.name in ("@", "*"):
                result.maybe = lambda sh: str(len(sh.positional))
            elif part.subscript is not None:
                name = part.name

                def count(sh: Interpreter) -> str:
                    variable = sh.variables.find(name)
                    if variable is not None and _names_element(sh, name):
                        return "0"
                    if variable is None or not variable.is_set():
                        if sh.nounset:
                            raise ShellError(f"{name}: unbound variable", fatal=True)
                        return "0"
                    if variable.array is not None:
                        return str(len(variable.array))
                    return str(len(variable.values()))

                result.maybe = count
            return result
        text = self.value_text(value)
        name = part.name if part.subscript is None else ""

        def length(sh: Interpreter) -> str:
            found = text(sh)
            if _names_element(sh, name):
                return "0"
            return str(len(by_bytes(found) if sh.bytewise else found))

        result.maybe = length
        return result

    def _operated(self, part: Parameter, value: Value) -> Value:
        operator = part.operator
        result = Value(value.name)
        result.many, result.star = value.many, value.star
        if operator == ":":
            self._substring(part, value, result)
            return result
        apply: Callable[[Interpreter], Callable[[str], str]]
        name = part.name
        if operator == "@":
            assert part.argument is not None
            letter = part.argument.source
            if letter in "aAKk":
                describe(part, letter, value, result)
                return result
            apply = lambda sh: lambda text: parameter_operators.transform(sh, letter, text, name)  # noqa: E731
        elif operator[0] in "#%":
            pattern = self._words.pattern(part.argument)

            def apply(sh: Interpreter) -> Callable[[str], str]:
                wanted = by_bytes(pattern(sh)) if sh.bytewise else pattern(sh)
                return parameter_operators.remover(operator, wanted, "extglob" in sh.shopts)

        elif operator[0] == "/":
            apply = self._replacing(part)
        else:
            pattern = self._words.pattern(part.argument)

            def apply(sh: Interpreter) -> Callable[[str], str]:
                wanted = by_bytes(pattern(sh)) if sh.bytewise else pattern(sh)
                extglob = "extglob" in sh.shopts
                return lambda text: parameter_operators.change_case(operator, text, wanted, extglob)

        if value.many:
            values = value.values

            def changed(sh: Interpreter) -> list[str]:
                function = _bytewise(apply(sh)) if sh.bytewise else apply(sh)
                return [function(text) for text in values(sh)]

            result.values = changed
            return result
        maybe = value.maybe

        def changed_text(sh: Interpreter) -> str | None:
            text = maybe(sh)
            if text is None:
                # Patterns are expanded all the same: they may have effects.
                return None
            return _bytewise(apply(sh))(text) if sh.bytewise else apply(sh)(text)

        result.maybe = changed_text
        return result

    def _replacing(self, part: Parameter) -> Callable[[Interpreter], Callable[[str], str]]:
        argument = part.argument
        assert argument is not None
        pattern = self._words.pattern(argument)
        plain = self._words.text(part.second)
        template: TextCode | None = None
        if part.second is not None and any(
            not isinstance(p, Quoted) and not (isinstance(p, Literal) and "&" not in p.text)
            for p in part.second.parts
        ):
            template = self.template(part.second)

        may_be_anchored = (
            part.operator == "/"
            and bool(argument.parts)
            and isinstance(argument.parts[0], Parameter | Substitution | Arithmetic)
        )

        def apply(sh: Interpreter) -> Callable[[str], str]:
            operator = part.operator
            wanted = by_bytes(pattern(sh)) if sh.bytewise else pattern(sh)
            if may_be_anchored and wanted[:1] in ("#", "%"):
                operator, wanted = operator + wanted[0], wanted[1:]
            if template is not None and "patsub_replacement" in sh.shopts:
                filled = template(sh)
                if "&" in filled or "\\" in filled:
                    return lambda text: parameter_operators.replace(operator, text, wanted, "", filled, sh)
            replacement = plain(sh)
            return lambda text: parameter_operators.replace(operator, text, wanted, replacement, None, sh)

        return apply

    def template(self, word: Word) -> TextCode:
        """A replacement in which only unquoted ampersands are left bare."""
        codes: list[str | TextCode] = []
        for part in with_tildes(word.parts, assignment=False):
            code = self._words.part_text(part, quoted=False)
            if isinstance(part, Quoted | DoubleQuoted):
                if isinstance(code, str):
                    codes.append(code.replace("\\", "\\\\").replace("&", "\\&"))
                else:
                    codes.append(template_escaped(code))
            else:
                codes.append(code)
        return joined(codes)

    def _of_slice(self, word: Word, name: str) -> Callable[[Interpreter], int]:
        """An offset or a length; errors in it are reported with the parameter's name."""
        calculate = self._words.arithmetic(word)

        def code(sh: Interpreter) -> int:
            try:
                return calculate(sh)
            except ShellError as error:
                if not (error.fatal or error.expanding):
                    error.message = f"{name}: {error.message}"
                    error.ends_posix = False
                raise

        return code

    def _substring(self, part: Parameter, value: Value, result: Value) -> None:
        assert part.argument is not None
        name = part.name
        offset = self._of_slice(part.argument, name)
        length = self._of_slice(part.second, name) if part.second is not None else None
        source = part.second.source if part.second is not None else ""
        if not value.many:
            maybe = value.maybe

            def cut(sh: Interpreter) -> str | None:
                text = maybe(sh)
                if text is None:
                    return None
                start = offset(sh)
                if sh.bytewise:
                    text = by_bytes(text)
                if abs(start) > len(text):
                    return ""  # the length does not matter
                count = None if length is None else length(sh)
                if sh.bytewise:
                    return by_characters(parameter_operators.substring(text, start, count, source))
                return parameter_operators.substring(text, start, count, source)

            result.maybe = cut
            return
        values = value.values
        positional = name in ("@", "*") and part.subscript is None

        def slice_list(sh: Interpreter) -> list[str]:
            start = offset(sh)
            associative = False
            if positional:
                items = [sh.name, *values(sh)]
                if start < 0:
                    start += len(items)
                    if start < 0:
                        return []
                if start > len(items):
                    return []
            else:
                variable = sh.variables.find(name)
                if variable is None or (variable.array is not None and not variable.array):
                    return []
                items = variable.values()
                if not variable.flags & (INDEXED | ASSOCIATIVE):
                    # A scalar is cut as a text.
                    text = variable.value
                    if text is None:
                        return []
                    if abs(start) > len(text):
                        return [""]
                    count = None if length is None else length(sh)
                    return [parameter_operators.substring(text, start, count, source)]
                associative = bool(variable.flags & ASSOCIATIVE)
                if variable.array is not None and not variable.flags & ASSOCIATIVE:
                    # Offsets count indices, not elements, in a sparse array.
                    keys = list(variable.indexed())
                    if start < 0:
                        start += variable.next_index()
                        if start < 0:
                            return []
                    elif start > variable.next_index():
                        return []
                    start = next((place for place, key in enumerate(keys) if key >= start), len(keys))
                elif start < 0:
                    # An associative array's elements count from one.
                    start += len(items) + (1 if variable.flags & ASSOCIATIVE else 0)
                    if start < 0:
                        return []
                if associative and start > len(items):
                    return []
                if associative and start > 0:
                    start -= 1
            count = None if length is None else length(sh)
            if associative and count == 0:
                count = 1  # bash gives the first all the same
            if count is not None and count < 0:
                raise NegativeLengthError(source)
            return items[start:] if count is None else items[start : start + count]

        result.values = slice_list


def _bytewise(function: Callable[[str], str]) -> Callable[[str], str]:
    """The function with a text of bytes, where each of them is a character."""
    return lambda text: by_characters(function(by_bytes(text)))


def keys(sh: Interpreter, name: str) -> list[str]:
    variable = sh.variables.find(name)
    return variable.keys() if variable is not None and not _names_element(sh, name) else []


def _names_element(sh: Interpreter, name: str) -> bool:
    """Whether a name refers to an element of an array: that has no elements and no length."""
    variable = sh.table.get(name)
    return variable is not None and bool(variable.flags & NAMEREF) and "[" in (variable.value or "")


_SPECIAL: dict[str, MaybeCode] = {
    "#": lambda sh: str(len(sh.positional)),
    "?": lambda sh: str(sh.status),
    "$": lambda sh: str(sh.process_id),
    "!": lambda sh: str(sh.last_background) if sh.last_background else None,
    "-": lambda sh: sh.option_letters(),
}
