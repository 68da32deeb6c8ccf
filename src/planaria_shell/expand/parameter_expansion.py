"""Parameters as closures: as one text or as fields, with alternatives and indirection."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeGuard

from planaria_shell.errors import ShellError
from planaria_shell.expand.constant_words import (
    EmitCode,
    ListCode,
    TextCode,
    Value,
    Words,
    bad,
    expanded_text,
    joined,
    with_tildes,
)
from planaria_shell.expand.fields import Fields
from planaria_shell.expand.parameter_values import ParameterValues
from planaria_shell.state.interpreter import Interpreter
from planaria_shell.state.variable import NAMEREF
from planaria_shell.syntax.nodes import DoubleQuoted, Literal, Parameter
from planaria_shell.syntax.parser import lexer_of

__all__ = ["ParameterExpansions"]

_REFERENCE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-])(?:\[(.*)\])?\Z", re.DOTALL)


class ParameterExpansions:
    """Compiles the expansions of parameters, by their values."""

    def __init__(self, words: Words, values: ParameterValues) -> None:
        self._words = words
        self._values = values

    def text(self, part: Parameter, *, quoted: bool) -> TextCode:
        if part.bad:
            return bad(part.bad)
        if part.operator.lstrip(":")[:1] in ("-", "+", "=", "?") and part.operator:
            return self._alternative_text(part, quoted=quoted)
        if part.indirect:
            code = self._indirect(part, lambda target: self.text(target, quoted=quoted))
            return lambda sh: code(sh) or ""
        value = self._values.parameter(part)
        assert value is not None
        if (
            value.many
            and not part.blanks
            and (value.star or part.prefix or (part.keys and quoted) or _joins_by_separator(part, quoted))
        ):
            # All of these are joined as "$*" is; only an empty IFS leaves blanks between the others.
            values = value.values
            empty = "" if value.star else " "
            return lambda sh: (sh.ifs[:1] or empty).join(values(sh))
        return self._values.value_text(value)

    def emit(self, part: Parameter, *, quoted: bool) -> EmitCode:
        if part.bad:
            fail = bad(part.bad)
            return lambda sh, fields: fields.quoted(fail(sh))
        if part.operator.lstrip(":")[:1] in ("-", "+", "=", "?") and part.operator:
            return self._alternative_emit(part, quoted=quoted)
        if part.indirect:
            cache: dict[str, EmitCode] = {}

            def emit_indirect(sh: Interpreter, fields: Fields) -> None:
                own = referred(sh, part)
                if own is not None:
                    fields.quoted(own)
                    return
                reference = self._reference(sh, part)
                code = cache.get(reference)
                if code is None:
                    code = self.emit(self._retargeted(part, reference), quoted=quoted)
                    cache[reference] = code
                code(sh, fields)

            return emit_indirect
        value = self._values.parameter(part)
        assert value is not None
        if not value.many or (quoted and value.star):
            text = self._values.value_text(value)
            if quoted:
                return lambda sh, fields: fields.quoted(text(sh))
            return lambda sh, fields: fields.expanded(text(sh))
        values = value.values
        if quoted:
            return lambda sh, fields: fields.quoted_list(values(sh))
        if part.keys and value.star:
            return lambda sh, fields: fields.expanded_list(values(sh) if sh.ifs else [" ".join(values(sh))])
        return lambda sh, fields: fields.expanded_list(values(sh))

    def _values_of(self, part: Parameter) -> ListCode:
        value = self._values.parameter(part)
        assert value is not None
        return value.values

    # -- ${name-word} and its like -----------------------------------------------------------------

    def _is_set(self, part: Parameter) -> tuple[Callable[[Interpreter], bool], Value]:
        """Whether the parameter counts as set (with a colon: and not empty)."""
        plain = Parameter(part.name, part.subscript, indirect=part.indirect)
        if part.indirect:
            value = Value("!" + part.name)
            code = self._indirect(plain, self._maybe_of)
            value.maybe = code
        else:
            found = self._values.parameter(plain)
            assert found is not None
            value = found
        colon = part.operator.startswith(":")
        if value.many:
            values = value.values
            if colon:
                star = value.star
                return (lambda sh: bool((sh.ifs[:1] if star else " ").join(values(sh)))), value
            return (lambda sh: bool(values(sh))), value
        maybe = value.maybe
        if colon:
            return (lambda sh: bool(maybe(sh))), value
        return (lambda sh: maybe(sh) is not None), value

    def _maybe_of(self, part: Parameter) -> TextCode:
        value = self._values.parameter(part)
        assert value is not None
        if value.many:
            text = self._values.value_text(value)
            values = value.values
            return lambda sh: text(sh) if values(sh) else None  # type: ignore[return-value]
        return value.maybe  # type: ignore[return-value]

    def _alternative_text(self, part: Parameter, *, quoted: bool) -> TextCode:
        is_set, value = self._is_set(part)
        kind = part.operator[-1]
        present = self._values.value_text(value)
        assert part.argument is not None
        parts = with_tildes(part.argument.parts, assignment=False)
        argument = joined([self._words.part_text(p, quoted=quoted) for p in parts])
        if not quoted and kind in "-+" and any(_is_star(p) for p in parts):
            argument = joined(
                [_spaced if _is_star(p) else self._words.part_text(p, quoted=False) for p in parts]
            )
        if kind == "-":
            return lambda sh: present(sh) if is_set(sh) else argument(sh)
        if kind == "+":
            return lambda sh: argument(sh) if is_set(sh) else ""
        if kind == "=":
            assign = self._assigner(part, argument)
            return lambda sh: present(sh) if is_set(sh) else assign(sh)
        fail = self._failing(part, argument)
        return lambda sh: present(sh) if is_set(sh) else fail(sh)

    def _alternative_emit(self, part: Parameter, *, quoted: bool) -> EmitCode:
        is_set, value = self._is_set(part)
        kind = part.operator[-1]
        assert part.argument is not None
        present: EmitCode
        if value.many and not (quoted and value.star):
            values = value.values
            if quoted:
                present = lambda sh, fields: fields.quoted_list(values(sh))  # noqa: E731
            else:
                present = lambda sh, fields: fields.expanded_list(values(sh))  # noqa: E731
        else:
            text = self._values.value_text(value)
            if quoted:
                present = lambda sh, fields: fields.quoted(text(sh))  # noqa: E731
            else:
                present = lambda sh, fields: fields.expanded(text(sh))  # noqa: E731
        emits: list[EmitCode] = []
        if quoted:
            emits.append(self._words.quoted_emit(DoubleQuoted(part.argument.parts)))
        else:
            for inner in with_tildes(part.argument.parts, assignment=False):
                if isinstance(inner, Literal):
                    literal = inner.text
                    emits.append(expanded_text(literal))
                elif _is_list(inner):
                    emits.append(_list_as_alternative(self._values_of(inner), self._words.part_emit(inner)))
                else:
                    emits.append(self._words.part_emit(inner))

        def other(sh: Interpreter, fields: Fields) -> None:
            if quoted:
                fields.quoted("")  # a field, also where the words are none
            for emit in emits:
                emit(sh, fields)

        if kind == "-":
            return lambda sh, fields: present(sh, fields) if is_set(sh) else other(sh, fields)
        if kind == "+":
            if quoted and not (value.many and not value.star):
                return lambda sh, fields: other(sh, fields) if is_set(sh) else fields.quoted("")
            return lambda sh, fields: other(sh, fields) if is_set(sh) else None
        argument = joined(
            [
                self._words.part_text(p, quoted=quoted)
                for p in with_tildes(part.argument.parts, assignment=False)
            ]
        )
        final = self._assigner(part, argument) if kind == "=" else self._failing(part, argument)

        def emit_or_act(sh: Interpreter, fields: Fields) -> None:
            if is_set(sh):
                present(sh, fields)
            elif quoted:
                fields.quoted(final(sh))
            else:
                fields.expanded(final(sh))

        return emit_or_act

    def _assigner(self, part: Parameter, argument: TextCode) -> TextCode:
        name = part.name
        subscript = self._words.text(part.subscript) if part.subscript is not None else None
        indirect = part.indirect

        def assign(sh: Interpreter) -> str:
            text = argument(sh)
            target = self._reference(sh, part) if indirect else name
            if not (target[:1].isalpha() or target[:1] == "_"):
                raise ShellError(f"${target}: cannot assign in this way")
            if subscript is not None and not indirect:
                sh.variables.set_element(name, subscript(sh), text)
                return sh.variables.get_element(name, subscript(sh)) or ""
            sh.assign(target, text)
            return sh.variables.get(target) or ""

        return assign

    def _failing(self, part: Parameter, argument: TextCode) -> TextCode:
        name = part.name if part.subscript is None else f"{part.name}[{part.subscript.source}]"
        colon = part.operator.startswith(":")

        def fail(sh: Interpreter) -> str:
            message = argument(sh)
            if not message:
                message = "parameter null or not set" if colon else "parameter not set"
            raise ShellError(f"{name}: {message}", fatal=True, status=127)

        return fail

    # -- ${!name} ----------------------------------------------------------------------------------

    def _reference(self, sh: Interpreter, part: Parameter) -> str:
        """The name that `${!name}` stands for."""
        value = self._values.parameter(Parameter(part.name, part.subscript))
        assert value is not None
        found = value.maybe(sh) if not value.many else self._values.value_text(value)(sh)
        if not found:
            subscript = part.subscript
            of_array = subscript is not None and sh.variables.find(part.name) is not None
            if found is None and not part.name.isdecimal() and not of_array:
                name = part.name if subscript is None else f"{part.name}[{subscript.source}]"
                raise ShellError(f"{name}: invalid indirect expansion")
            if found is not None and not (value.many and not value.values(sh)):
                raise ShellError(": invalid variable name")
            return ""
        return found

    def _retargeted(self, part: Parameter, reference: str) -> Parameter:

        if not reference:
            return (
                Parameter("", bad="")
                if part.operator == ""
                else Parameter("_unset_", operator=part.operator, argument=part.argument, second=part.second)
            )
        match = _REFERENCE.match(reference)
        if match is None:
            raise ShellError(f"{reference}: invalid variable name")
        name, subscript = match.groups()
        word = None
        if subscript is not None:
            word = lexer_of(subscript + "]").subscript()
        return Parameter(name, word, part.operator, part.argument, part.second, part.length)

    def _indirect(self, part: Parameter, build: Callable[[Parameter], TextCode]) -> TextCode:
        cache: dict[str, Callable[[Interpreter], str]] = {}

        def code(sh: Interpreter) -> str:
            own = referred(sh, part)
            if own is not None:
                return own
            reference = self._reference(sh, part)
            if not reference:
                return None  # type: ignore[return-value]
            target = cache.get(reference)
            if target is None:
                target = cache[reference] = build(self._retargeted(part, reference))
            return target(sh)

        return code


def _joins_by_separator(part: Parameter, quoted: bool) -> bool:
    """Whether `${a[@]…}` becomes one string as `${a[*]…}` does: where a pattern cuts the elements or they are
    transformed, and in quotes also where they are replaced, change their case, or are a slice.
    """
    return bool(part.operator) and part.operator[0] in ("#%@/^,:" if quoted else "#%@")


def _is_list(part: object) -> TypeGuard[Parameter]:
    """Whether a part is an unquoted `$@` or `${a[@]}`."""
    if not isinstance(part, Parameter) or part.operator or part.length or part.keys or part.indirect:
        return False
    return part.name == "@" or (part.subscript is not None and part.subscript.source == "@")


def _list_as_alternative(values: ListCode, otherwise: EmitCode) -> EmitCode:
    """`${u-$@}`: blanks that separate no fields join the values to one that is not split."""

    def emit(sh: Interpreter, fields: Fields) -> None:
        if not sh.ifs or " " in sh.ifs:
            otherwise(sh, fields)
        elif found := values(sh):
            fields.quoted(" ".join(found))

    return emit


def _is_star(part: object) -> bool:
    """Whether a part is an unquoted `$*`."""
    return isinstance(part, Parameter) and part.name == "*" and part == Parameter("*", bare=part.bare)


def _spaced(sh: Interpreter) -> str:
    """`$*` as the alternative of a parameter where words are not split: an empty IFS parts by blanks here."""
    return (sh.ifs[:1] or " ").join(sh.positional)


def referred(sh: Interpreter, part: Parameter) -> str | None:
    """What `${!ref}` gives for a nameref: the name that the last one of a chain refers to."""
    variable = sh.table.get(part.name)
    if variable is None or not variable.flags & NAMEREF or part.subscript is not None:
        return None
    seen = {part.name}
    while True:
        name = variable.value or ""
        following = sh.table.get(name)
        if following is None or not following.flags & NAMEREF or name in seen:
            return name
        seen.add(name)
        variable = following
