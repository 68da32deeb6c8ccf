"""Words to closures: every expansion in its order, splitting and globbing.

A word is compiled once for each way it can be used: as arguments (`arguments`), as one text without
splitting (`text`), as a pattern (`pattern`) or a regular expression (`regex`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from . import parameters
from .arithmetic import COMMON, compiled, evaluate
from .braces import expand_braces, has_braces, plain_range
from .fields import MAGIC_EXTENDED, Fields, split
from .patterns import escape
from .quoting import double_quoted, single_quoted
from .syntax import (
    Arithmetic,
    DoubleQuoted,
    Literal,
    Parameter,
    Part,
    ProcessSubstitution,
    Quoted,
    Substitution,
    Word,
)
from .variables import (
    ASSOCIATIVE,
    INDEXED,
    NAMEREF,
    SLOW_READ,
    ShellError,
    Variable,
)

if TYPE_CHECKING:
    from .shell import Shell

__all__ = ["ArgumentsCode", "TextCode", "WordCompiler", "regex_escape"]

TextCode = Callable[["Shell"], str]
ListCode = Callable[["Shell"], "list[str]"]
MaybeCode = Callable[["Shell"], "str | None"]
EmitCode = Callable[["Shell", "Fields"], None]
ArgumentsCode = Callable[["Shell"], "list[str]"]

_DECIMAL = re.compile(r"-?(?:[1-9][0-9]{0,17}|0)\Z")
_REFERENCE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-])(?:\[(.*)\])?\Z", re.DOTALL)
#: A brace expansion of up to this many words is done when the command is compiled.
_EAGER_BRACES = 256


# -- compiling -------------------------------------------------------------------------------------


class _Value:
    """A compiled parameter: either one value that may be unset, or many."""

    __slots__ = ("many", "maybe", "name", "star", "values")

    def __init__(self, name: str) -> None:
        self.name = name
        self.many = False
        self.star = False
        self.maybe: MaybeCode = lambda sh: None
        self.values: ListCode = lambda sh: []


class WordCompiler:
    """Compiles words; `program` compiles the body of a command substitution."""

    def __init__(
        self,
        substitution: Callable[[Substitution], TextCode],
        process: Callable[[ProcessSubstitution], TextCode],
    ) -> None:
        self._substitution = substitution
        self._process = process

    # -- whole words -------------------------------------------------------------------------------

    def text(self, word: Word | None, *, assignment: bool = False) -> TextCode:
        """The word as one text: no splitting, no globbing."""
        if word is None:
            return lambda sh: ""
        parts = self._with_tilde(word.parts, assignment=assignment)
        return self._joined([self._part_text(part, quoted=False) for part in parts])

    def constant(self, word: Word) -> str | None:
        """The text of a word in which nothing is expanded (as `text` would give it)."""
        text = word.constant()
        if text is None or "~" in word.source or "~" in text:
            return None
        return text

    def pattern(self, word: Word | None) -> TextCode:
        """The word as a pattern: what is quoted is escaped."""
        if word is None:
            return lambda sh: ""
        codes: list[str | TextCode] = []
        for part in self._with_tilde(word.parts, assignment=False):
            if isinstance(part, Literal):
                codes.append(part.text)
            elif isinstance(part, Quoted):
                codes.append(escape(part.text))
            else:
                code = self._part_text(part, quoted=False)
                if isinstance(code, str):
                    codes.append(escape(code))
                elif isinstance(part, DoubleQuoted | _Tilde):
                    codes.append(_escaped(code))
                else:
                    codes.append(code)
        return self._joined(codes)

    def regex(self, word: Word) -> TextCode:
        """The word as an extended regular expression: what is quoted stands for itself."""
        codes: list[str | TextCode] = []
        for part in word.parts:
            if isinstance(part, Literal):
                codes.append(part.text)
            elif isinstance(part, Quoted):
                codes.append(regex_escape(part.text))
            else:
                code = self._part_text(part, quoted=False)
                if isinstance(code, str):
                    codes.append(regex_escape(code))
                elif isinstance(part, DoubleQuoted):
                    codes.append(_regex_escaped(code))
                else:
                    codes.append(code)
        return self._joined(codes)

    def arguments(self, words: list[Word]) -> ArgumentsCode:
        """All fields that the words expand to."""
        items: list[tuple[bool, str | Callable[[Shell], object]]] = []
        for word in words:
            if has_braces(word):
                items.extend(self._braces(word))
            else:
                items.append(self._argument(word))
        return _gather(items)

    def lazy_arguments(self, words: list[Word]) -> Callable[[Shell], object] | None:
        """For `for`: an iterable that does not hold all words, when brace expansion makes very many."""
        if not any(has_braces(word) and self._many(word) for word in words):
            return None

        def generate(sh: Shell) -> object:
            for word in words:
                texts = plain_range(word)
                if texts is not None:
                    yield from texts
                    continue
                for piece in expand_braces(word) if has_braces(word) else (word,):
                    constant = piece.literal()
                    if constant is not None and not MAGIC_EXTENDED.search(constant):
                        yield constant
                        continue
                    single, code = self._argument(piece)
                    if isinstance(code, str):
                        yield code
                    elif single:
                        yield code(sh)
                    else:
                        yield from code(sh)  # type: ignore[misc]

        return generate

    def _many(self, word: Word) -> bool:
        return any(count >= _EAGER_BRACES for count, _ in enumerate(expand_braces(word)))

    def _braces(self, word: Word) -> list[tuple[bool, str | Callable[[Shell], object]]]:
        if not self._many(word):
            return [self._argument(piece) for piece in expand_braces(word)]

        def expand(sh: Shell) -> list[str]:
            generate = self.lazy_arguments([word])
            if not sh.braceexpand or generate is None:
                return [word.source]
            return list(generate(sh))  # type: ignore[call-overload,no-any-return]

        return [(False, expand)]

    def _argument(self, word: Word) -> tuple[bool, str | Callable[[Shell], object]]:
        """(whether it is always exactly one field, its text or the code for its field or fields)."""
        parts = self._with_tilde(word.parts, assignment=False)
        if len(parts) == 1:
            quick = self._one_part(parts[0])
            if quick is not None:
                return quick
        if all(self._is_single(part, len(parts) == 1) for part in parts):
            if not parts:
                return False, lambda sh: []
            code = self._joined([self._part_text(part, quoted=False) for part in parts])
            constant = getattr(code, "constant", None)
            return True, constant if constant is not None else code
        emits = [self._part_emit(part) for part in parts]

        def fields(sh: Shell) -> list[str]:
            collected = Fields(sh)
            for emit in emits:
                emit(sh, collected)
            if collected.started:
                collected.finish()
            return collected.done

        return False, fields

    def _one_part(self, part: Part | _Tilde) -> tuple[bool, Callable[[Shell], object]] | None:
        """Quicker code for a word that is one expansion."""
        if isinstance(part, Parameter) and not part.bad:
            value = self._parameter(part)
            if value is None or value.many:
                return None
            get = self._value_text(value)
        elif isinstance(part, Substitution):
            get = self._substitution(part)
        elif isinstance(part, DoubleQuoted) and len(part.parts) == 1:
            inner = part.parts[0]
            if isinstance(inner, Parameter) and not inner.bad:
                value = self._parameter(inner)
                if value is not None and value.many and not value.star:
                    return False, value.values
            return None
        else:
            return None

        def fields(sh: Shell) -> list[str]:
            text = get(sh)
            if sh.ifs == " \t\n" and text.isalnum():
                return [text]
            found = split(text, sh.ifs)
            if not sh.noglob and MAGIC_EXTENDED.search(text):
                return sh.glob_fields(found)
            return found

        return False, fields

    def _is_single(self, part: Part | _Tilde, alone: bool = False) -> bool:
        """Whether the part neither splits nor globs."""
        if isinstance(part, Literal):
            if alone and part.text in ("[", "]", "!", "+", "@"):
                return True
            return not MAGIC_EXTENDED.search(part.text) and not part.text.endswith(("+", "@", "!"))
        if isinstance(part, Quoted | _Tilde | ProcessSubstitution):
            return True
        if isinstance(part, DoubleQuoted):
            return not any(self._may_be_many(inner) for inner in part.parts)
        return False

    def _may_be_many(self, part: Part) -> bool:
        """Whether the part can be several fields between double quotes."""
        if not isinstance(part, Parameter):
            return isinstance(part, DoubleQuoted) and any(self._may_be_many(inner) for inner in part.parts)
        if part.length or part.bad:
            return False
        if part.name == "@" or part.indirect or part.prefix == "@":
            return True
        if part.subscript is not None and part.subscript.source == "@":
            return True
        argument = part.argument
        if argument is not None and part.operator.lstrip(":")[:1] in ("-", "+", "="):
            return any(self._may_be_many(inner) for inner in argument.parts)
        return False

    def _joined(self, codes: list[str | TextCode]) -> TextCode:
        """The concatenation; neighbouring constants are joined at once."""
        merged: list[str | TextCode] = []
        for code in codes:
            if isinstance(code, str) and merged and isinstance(merged[-1], str):
                merged[-1] += code
            elif code != "":
                merged.append(code)
        if not merged:
            return _constant("")
        if len(merged) == 1:
            only = merged[0]
            return _constant(only) if isinstance(only, str) else only
        if len(merged) == 2:
            return _pair(merged[0], merged[1])
        if len(merged) == 3:
            first, second, third = merged
            if isinstance(first, str) and isinstance(third, str) and not isinstance(second, str):
                return lambda sh: f"{first}{second(sh)}{third}"
            if not isinstance(first, str) and isinstance(second, str) and not isinstance(third, str):
                return lambda sh: f"{first(sh)}{second}{third(sh)}"
        pieces = [_constant(code) if isinstance(code, str) else code for code in merged]
        return lambda sh: "".join([piece(sh) for piece in pieces])

    # -- tildes ------------------------------------------------------------------------------------

    def _with_tilde(self, parts: list[Part], *, assignment: bool) -> list[Part | _Tilde]:
        """The parts with leading tildes (and those after colons in assignments) made parts of their own."""
        first = parts[0] if parts else None
        leading = isinstance(first, Literal) and "~" in first.text
        if not leading and not (assignment and any(isinstance(p, Literal) and ":~" in p.text for p in parts)):
            return list(parts)
        result: list[Part | _Tilde] = []
        for place, part in enumerate(parts):
            if not isinstance(part, Literal) or "~" not in part.text:
                result.append(part)
                continue
            pieces = re.split(r"(:)", part.text) if assignment else [part.text]
            for number, piece in enumerate(pieces):
                leads = (place == 0 and number == 0) or (
                    assignment and number > 0 and pieces[number - 1] == ":"
                )
                name, slash, rest = piece.partition("/")
                ends_here = slash or number < len(pieces) - 1 or place == len(parts) - 1
                if leads and name.startswith("~") and ends_here:
                    result.append(_Tilde(name[1:]))
                    piece = slash + rest
                if piece:
                    result.append(Literal(piece))
        return result

    # -- parts -------------------------------------------------------------------------------------

    def _part_text(self, part: Part | _Tilde, *, quoted: bool) -> str | TextCode:
        """The part as text, or its text itself when that is known."""
        if isinstance(part, Literal | Quoted):
            return part.text
        if isinstance(part, DoubleQuoted):
            code = self._joined([self._part_text(inner, quoted=True) for inner in part.parts])
            constant = getattr(code, "constant", None)
            return constant if constant is not None else code
        if isinstance(part, Parameter):
            return self._parameter_text(part, quoted=quoted)
        if isinstance(part, Substitution):
            return self._substitution(part)
        if isinstance(part, Arithmetic):
            calculate = self.arithmetic(part.expression)
            return lambda sh: str(calculate(sh))
        if isinstance(part, ProcessSubstitution):
            return self._process(part)
        name = part.name
        return lambda sh: sh.home_of(name)

    def _part_emit(self, part: Part | _Tilde) -> EmitCode:
        """The part as fields."""
        if isinstance(part, Literal):
            text = part.text
            return lambda sh, fields: fields.unquoted(text)
        if isinstance(part, DoubleQuoted):
            return self._quoted_emit(part)
        if isinstance(part, Parameter):
            return self._parameter_emit(part, quoted=False)
        code = self._part_text(part, quoted=False)
        if isinstance(code, str):
            return lambda sh, fields: fields.quoted(code)
        if isinstance(part, _Tilde | ProcessSubstitution):
            return lambda sh, fields: fields.quoted(code(sh))
        return lambda sh, fields: fields.expanded(code(sh))

    def _quoted_emit(self, part: DoubleQuoted) -> EmitCode:
        if not any(self._may_be_many(inner) for inner in part.parts):
            code = self._part_text(part, quoted=True)
            if isinstance(code, str):
                return lambda sh, fields: fields.quoted(code)
            return lambda sh, fields: fields.quoted(code(sh))
        emits: list[EmitCode] = []
        for inner in part.parts:
            if isinstance(inner, Parameter) and self._may_be_many(inner):
                emits.append(self._parameter_emit(inner, quoted=True))
            elif isinstance(inner, DoubleQuoted):
                emits.append(self._quoted_emit(inner))
            else:
                emits.append(_quoted_text(self._part_text(inner, quoted=True)))

        def emit(sh: Shell, fields: Fields) -> None:
            for one in emits:
                one(sh, fields)

        return emit

    # -- parameters --------------------------------------------------------------------------------

    def _parameter_text(self, part: Parameter, *, quoted: bool) -> TextCode:
        if part.bad:
            return _bad(part.bad)
        if part.operator.lstrip(":")[:1] in ("-", "+", "=", "?") and part.operator:
            return self._alternative_text(part, quoted=quoted)
        if part.indirect:
            return self._indirect(part, lambda target: self._parameter_text(target, quoted=quoted))
        value = self._parameter(part)
        assert value is not None
        return self._value_text(value)

    def _parameter_emit(self, part: Parameter, *, quoted: bool) -> EmitCode:
        if part.bad:
            fail = _bad(part.bad)
            return lambda sh, fields: fields.quoted(fail(sh))
        if part.operator.lstrip(":")[:1] in ("-", "+", "=", "?") and part.operator:
            return self._alternative_emit(part, quoted=quoted)
        if part.indirect:
            cache: dict[str, EmitCode] = {}

            def emit_indirect(sh: Shell, fields: Fields) -> None:
                own = _referred(sh, part)
                if own is not None:
                    fields.quoted(own)
                    return
                reference = self._reference(sh, part)
                code = cache.get(reference)
                if code is None:
                    code = self._parameter_emit(self._retargeted(part, reference), quoted=quoted)
                    cache[reference] = code
                code(sh, fields)

            return emit_indirect
        value = self._parameter(part)
        assert value is not None
        if not value.many or (quoted and value.star):
            text = self._value_text(value)
            if quoted:
                return lambda sh, fields: fields.quoted(text(sh))
            return lambda sh, fields: fields.expanded(text(sh))
        values = value.values
        if quoted:
            return lambda sh, fields: fields.quoted_list(values(sh))
        return lambda sh, fields: fields.expanded_list(values(sh))

    def _value_text(self, value: _Value) -> TextCode:
        if value.many:
            values = value.values
            if value.star:
                return lambda sh: sh.ifs[:1].join(values(sh))
            return lambda sh: " ".join(values(sh))
        maybe = value.maybe
        name = f"${value.name}" if value.name.isdecimal() else value.name

        def text(sh: Shell) -> str:
            found = maybe(sh)
            if found is None:
                if sh.nounset:
                    raise ShellError(f"{name}: unbound variable", fatal=True, status=127)
                return ""
            return found

        return text

    # -- ${name-word} and its like -----------------------------------------------------------------

    def _is_set(self, part: Parameter) -> tuple[Callable[[Shell], bool], _Value]:
        """Whether the parameter counts as set (with a colon: and not empty)."""
        plain = Parameter(part.name, part.subscript, indirect=part.indirect)
        if part.indirect:
            value = _Value("!" + part.name)
            code = self._indirect(plain, self._maybe_of)
            value.maybe = code
        else:
            found = self._parameter(plain)
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
        value = self._parameter(part)
        assert value is not None
        if value.many:
            text = self._value_text(value)
            values = value.values
            return lambda sh: text(sh) if values(sh) else None  # type: ignore[return-value]
        return value.maybe  # type: ignore[return-value]

    def _alternative_text(self, part: Parameter, *, quoted: bool) -> TextCode:
        is_set, value = self._is_set(part)
        kind = part.operator[-1]
        present = self._value_text(value)
        assert part.argument is not None
        argument = self._joined(
            [
                self._part_text(p, quoted=quoted)
                for p in self._with_tilde(part.argument.parts, assignment=False)
            ]
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
            text = self._value_text(value)
            if quoted:
                present = lambda sh, fields: fields.quoted(text(sh))  # noqa: E731
            else:
                present = lambda sh, fields: fields.expanded(text(sh))  # noqa: E731
        emits: list[EmitCode] = []
        if quoted:
            emits.append(self._quoted_emit(DoubleQuoted(part.argument.parts)))
        else:
            for inner in self._with_tilde(part.argument.parts, assignment=False):
                if isinstance(inner, Literal):
                    literal = inner.text
                    emits.append(_expanded_text(literal))
                else:
                    emits.append(self._part_emit(inner))

        def other(sh: Shell, fields: Fields) -> None:
            for emit in emits:
                emit(sh, fields)

        if kind == "-":
            return lambda sh, fields: present(sh, fields) if is_set(sh) else other(sh, fields)
        if kind == "+":
            if quoted:
                return lambda sh, fields: other(sh, fields) if is_set(sh) else fields.quoted("")
            return lambda sh, fields: other(sh, fields) if is_set(sh) else None
        argument = self._joined(
            [
                self._part_text(p, quoted=quoted)
                for p in self._with_tilde(part.argument.parts, assignment=False)
            ]
        )
        final = self._assigner(part, argument) if kind == "=" else self._failing(part, argument)

        def emit_or_act(sh: Shell, fields: Fields) -> None:
            if is_set(sh):
                present(sh, fields)
            elif quoted:
                fields.quoted(final(sh))
            else:
                fields.expanded(final(sh))

        return emit_or_act

    def _assigner(self, part: Parameter, argument: TextCode) -> TextCode:
        name = part.name
        subscript = self.text(part.subscript) if part.subscript is not None else None
        indirect = part.indirect

        def assign(sh: Shell) -> str:
            text = argument(sh)
            target = self._reference(sh, part) if indirect else name
            if not (target[:1].isalpha() or target[:1] == "_"):
                raise ShellError(f"${target}: cannot assign in this way", fatal=True)
            if subscript is not None and not indirect:
                sh.variables.set_element(name, subscript(sh), text)
                return sh.variables.get_element(name, subscript(sh)) or ""
            sh.assign(target, text)
            return sh.variables.get(target) or ""

        return assign

    def _failing(self, part: Parameter, argument: TextCode) -> TextCode:
        name = part.name if part.subscript is None else f"{part.name}[{part.subscript.source}]"
        colon = part.operator.startswith(":")

        def fail(sh: Shell) -> str:
            message = argument(sh)
            if not message:
                message = "parameter null or not set" if colon else "parameter not set"
            raise ShellError(f"{name}: {message}", fatal=True, status=127)

        return fail

    # -- ${!name} ----------------------------------------------------------------------------------

    def _reference(self, sh: Shell, part: Parameter) -> str:
        """The name that `${!name}` stands for."""
        value = self._parameter(Parameter(part.name, part.subscript))
        assert value is not None
        found = value.maybe(sh) if not value.many else self._value_text(value)(sh)
        if not found:
            if found is None and part.operator.lstrip(":")[:1] not in ("-", "+", "="):
                raise ShellError(f"{part.name}: invalid indirect expansion")
            return ""
        return found

    def _retargeted(self, part: Parameter, reference: str) -> Parameter:
        from .parser import Parser

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
            word = Parser(subscript + "]").subscript()
        return Parameter(name, word, part.operator, part.argument, part.second, part.length)

    def _indirect(self, part: Parameter, build: Callable[[Parameter], TextCode]) -> TextCode:
        cache: dict[str, Callable[[Shell], str]] = {}

        def code(sh: Shell) -> str:
            own = _referred(sh, part)
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

    # -- values ------------------------------------------------------------------------------------

    def _parameter(self, part: Parameter) -> _Value | None:
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

    def _plain(self, part: Parameter) -> _Value:
        name = part.name
        value = _Value(name)
        if part.prefix:
            value.many = True
            value.star = part.prefix == "*"
            value.values = lambda sh: sh.variables.names(name)
        elif part.keys:
            value.many = True
            value.star = part.subscript is not None and part.subscript.source == "*"
            value.values = lambda sh: _keys(sh, name)
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

                def positional(sh: Shell) -> str | None:
                    given = sh.positional
                    return given[number - 1] if len(given) >= number else None

                value.maybe = positional
        elif name in _SPECIAL:
            value.maybe = _SPECIAL[name]
        else:

            def read(sh: Shell) -> str | None:
                variable = sh.table.get(name)
                if variable is None:
                    return None
                if variable.flags & SLOW_READ:
                    return sh.variables.get(name)
                return variable.value

            value.maybe = read
        return value

    def _element(self, part: Parameter, value: _Value) -> None:
        name = part.name
        subscript = part.subscript
        assert subscript is not None
        source = subscript.source
        value.name = f"{name}[{source}]"
        if source in ("@", "*"):
            value.many = True
            value.star = source == "*"

            def values(sh: Shell) -> list[str]:
                variable = sh.variables.find(name)
                return variable.values() if variable is not None else []

            value.values = values
            return
        key = self.text(subscript)
        constant = subscript.literal()
        index = None
        if constant is not None and _DECIMAL.match(constant):
            fixed = int(constant)
        else:
            fixed = None
            index = self.arithmetic(subscript)

        def element(sh: Shell) -> str | None:
            variable = sh.table.get(name)
            if variable is None:
                if index is not None:
                    index(sh)
                return None
            if variable.flags & SLOW_READ & ~(INDEXED | ASSOCIATIVE):
                found = sh.variables.find(name)
                if found is None:
                    return None
                variable = found
            array = variable.array
            if variable.flags & ASSOCIATIVE:
                return array.get(key(sh)) if array is not None else None  # type: ignore[call-overload]
            place = fixed if index is None else index(sh)
            assert place is not None
            if array is None:
                if variable.flags & INDEXED:
                    return None
                return variable.value if place in (0, -1) else None
            if place < 0:
                place += variable.next_index()
                if place < 0:
                    sh.complain(f"{name}: bad array subscript")
                    return None
            return array.get(place)  # type: ignore[call-overload]

        value.maybe = element

    def _length(self, part: Parameter, value: _Value) -> _Value:
        result = _Value(value.name)
        if value.many:
            values = value.values
            result.maybe = lambda sh: str(len(values(sh)))
            if part.name in ("@", "*"):
                result.maybe = lambda sh: str(len(sh.positional))
            elif part.subscript is not None:
                name = part.name

                def count(sh: Shell) -> str:
                    variable = sh.variables.find(name)
                    if variable is None:
                        return "0"
                    if variable.array is not None:
                        return str(len(variable.array))
                    return str(len(variable.values()))

                result.maybe = count
            return result
        text = self._value_text(value)
        result.maybe = lambda sh: str(_characters(text(sh)))
        return result

    def _operated(self, part: Parameter, value: _Value) -> _Value:
        operator = part.operator
        result = _Value(value.name)
        result.many, result.star = value.many, value.star
        if operator == ":":
            self._substring(part, value, result)
            return result
        apply: Callable[[Shell], Callable[[str], str]]
        name = part.name
        if operator == "@":
            assert part.argument is not None
            letter = part.argument.source
            if letter in "aAKk":
                self._described(part, letter, value, result)
                return result
            apply = lambda sh: lambda text: parameters.transform(sh, letter, text, name)  # noqa: E731
        elif operator[0] in "#%":
            pattern = self.pattern(part.argument)

            def apply(sh: Shell) -> Callable[[str], str]:
                return parameters.remover(operator, pattern(sh), "extglob" in sh.shopts)

        elif operator[0] == "/":
            apply = self._replacing(part)
        else:
            pattern = self.pattern(part.argument)

            def apply(sh: Shell) -> Callable[[str], str]:
                wanted = pattern(sh)
                extglob = "extglob" in sh.shopts
                return lambda text: parameters.change_case(operator, text, wanted, extglob)

        if value.many:
            values = value.values

            def changed(sh: Shell) -> list[str]:
                function = apply(sh)
                return [function(text) for text in values(sh)]

            result.values = changed
            return result
        maybe = value.maybe

        def changed_text(sh: Shell) -> str | None:
            text = maybe(sh)
            if text is None:
                # Patterns are expanded all the same: they may have effects.
                return None
            return apply(sh)(text)

        result.maybe = changed_text
        return result

    def _replacing(self, part: Parameter) -> Callable[[Shell], Callable[[str], str]]:
        operator = part.operator
        argument = part.argument
        assert argument is not None
        pattern = self.pattern(argument)
        plain = self.text(part.second)
        template: TextCode | None = None
        if part.second is not None and any(
            not isinstance(p, Quoted) and not (isinstance(p, Literal) and "&" not in p.text)
            for p in part.second.parts
        ):
            template = self._template(part.second)

        def apply(sh: Shell) -> Callable[[str], str]:
            wanted = pattern(sh)
            if template is not None and "patsub_replacement" in sh.shopts:
                filled = template(sh)
                if "&" in filled:
                    return lambda text: parameters.replace(operator, text, wanted, "", filled, sh)
            replacement = plain(sh)
            return lambda text: parameters.replace(operator, text, wanted, replacement, None, sh)

        return apply

    def _template(self, word: Word) -> TextCode:
        """A replacement in which only unquoted ampersands are left bare."""
        codes: list[str | TextCode] = []
        for part in self._with_tilde(word.parts, assignment=False):
            code = self._part_text(part, quoted=False)
            if isinstance(part, Quoted | DoubleQuoted):
                if isinstance(code, str):
                    codes.append(code.replace("\\", "\\\\").replace("&", "\\&"))
                else:
                    codes.append(_template_escaped(code))
            else:
                codes.append(code)
        return self._joined(codes)

    def _substring(self, part: Parameter, value: _Value, result: _Value) -> None:
        assert part.argument is not None
        offset = self.arithmetic(part.argument)
        length = self.arithmetic(part.second) if part.second is not None else None
        name = part.name
        if not value.many:
            maybe = value.maybe

            def cut(sh: Shell) -> str | None:
                text = maybe(sh)
                if text is None:
                    return None
                return parameters.substring(text, offset(sh), None if length is None else length(sh), name)

            result.maybe = cut
            return
        values = value.values
        positional = name in ("@", "*") and part.subscript is None

        def slice_list(sh: Shell) -> list[str]:
            start = offset(sh)
            count = None if length is None else length(sh)
            if positional:
                items = [sh.name, *values(sh)]
                if start < 0:
                    start += len(items)
                    if start < 0:
                        return []
            else:
                variable = sh.variables.find(name)
                if variable is None:
                    return []
                items = variable.values()
                if variable.array is not None and not variable.flags & ASSOCIATIVE:
                    # Offsets count indices, not elements, in a sparse array.
                    keys = list(variable.indexed())
                    if start < 0:
                        start += variable.next_index()
                        if start < 0:
                            return []
                    start = next((place for place, key in enumerate(keys) if key >= start), len(keys))
                elif start < 0:
                    # An associative array's elements count from one.
                    start += len(items) + (1 if variable.flags & ASSOCIATIVE else 0)
                    if start < 0:
                        return []
                if variable.flags & ASSOCIATIVE and start > 0:
                    start -= 1
            if count is not None and count < 0:
                raise ShellError(f"{count}: substring expression < 0")
            return items[start:] if count is None else items[start : start + count]

        result.values = slice_list

    def _described(self, part: Parameter, letter: str, value: _Value, result: _Value) -> None:
        name = part.name

        def variable_of(sh: Shell) -> Variable | None:
            return sh.variables.find(name)

        if letter == "a":
            if value.many:

                def letters(sh: Shell) -> list[str]:
                    variable = variable_of(sh)
                    return [parameters.attributes(variable)] * len(value.values(sh)) if variable else []

                result.values = letters
            else:

                def letters_of(sh: Shell) -> str | None:
                    variable = variable_of(sh)
                    return parameters.attributes(variable) if variable is not None else None

                result.maybe = letters_of
            return
        if letter == "A":
            result.many = False

            def declared(sh: Shell) -> str | None:
                variable = variable_of(sh)
                if name in ("@", "*"):
                    return "set -- " + " ".join(single_quoted(text) for text in sh.positional)
                if variable is None:
                    return None
                if not parameters.attributes(variable):
                    return f"{name}={single_quoted(variable.value or '')}"
                if not variable.flags & (INDEXED | ASSOCIATIVE):
                    return (
                        f"declare -{parameters.attributes(variable)} "
                        f"{name}={single_quoted(variable.value or '')}"
                    )
                if not value.many:
                    first = variable.scalar()
                    if first is None:
                        return None
                    return f"declare -{parameters.attributes(variable)} {name}={single_quoted(first)}"
                return parameters.declaration(name, variable)

            result.maybe = declared
            return
        if not value.many:
            maybe = value.maybe

            def quoted_one(sh: Shell) -> str | None:
                text = maybe(sh)
                return None if text is None else single_quoted(text)

            result.maybe = quoted_one
            return

        def pairs(sh: Shell) -> list[str]:
            variable = variable_of(sh)
            if variable is None:
                return [single_quoted(text) for text in value.values(sh)]
            found: list[str] = []
            for key, text in zip(variable.keys(), variable.values(), strict=True):
                if letter == "k":
                    found.extend((key, text))
                else:
                    found.extend((parameters.key_quoted(key), double_quoted(text)))
            if letter == "K":
                tail = " " if variable.flags & ASSOCIATIVE else ""
                return [" ".join(found) + tail] if found else []
            return found

        result.values = pairs

    # -- arithmetic --------------------------------------------------------------------------------

    def arithmetic(self, word: Word) -> Callable[[Shell], int]:
        """The value of an expression in which expansions may stand."""
        pieces: list[str] = []
        codes: list[TextCode] = []
        for part in word.parts:
            if isinstance(part, Literal | Quoted):
                pieces.append(part.text)
                continue
            code = self._part_text(part, quoted=True)
            if isinstance(code, str):
                pieces.append(code)
                continue
            pieces.append(f"\0{len(codes)}\0")
            codes.append(code)
        text = "".join(pieces)
        if not codes:
            return _calculation(text)

        def spelled(values: list[str]) -> str:
            return re.sub(r"\0(\d+)\0", lambda match: values[int(match.group(1))], text)

        def reparse(sh: Shell) -> int:
            return evaluate(sh, spelled([code(sh) for code in codes]))

        try:
            expression = compiled(text)
        except ShellError:
            return reparse
        if -1 in expression.operands:
            return reparse
        run = expression.code
        operands = expression.operands
        common = COMMON

        def calculate(sh: Shell) -> int:
            values = [code(sh) for code in codes]
            for place in operands:
                value = values[place]
                if value not in common and not _DECIMAL.match(value):
                    return evaluate(sh, spelled(values))
            return run(sh, values)

        return calculate


def _calculation(text: str) -> Callable[[Shell], int]:
    """An expression without expansions; one that is not well formed fails when it runs."""
    try:
        expression = compiled(text)
    except ShellError:
        return lambda sh: evaluate(sh, text)
    return expression.code


class _Tilde:
    """`~` or `~name` at the start of a word."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


def _referred(sh: Shell, part: Parameter) -> str | None:
    """What `${!ref}` gives for a nameref: the name it refers to."""
    variable = sh.table.get(part.name)
    if variable is not None and variable.flags & NAMEREF and part.subscript is None:
        return variable.value or ""
    return None


def _pair(first: str | TextCode, second: str | TextCode) -> TextCode:
    """The concatenation of two pieces."""
    if isinstance(first, str):
        text = first
        code = _constant(second) if isinstance(second, str) else second
        return lambda sh: text + code(sh)
    head = first
    if isinstance(second, str):
        end = second
        return lambda sh: head(sh) + end
    tail = second
    return lambda sh: head(sh) + tail(sh)


def _characters(text: str) -> int:
    return len(text)


def _keys(sh: Shell, name: str) -> list[str]:
    variable = sh.variables.find(name)
    return variable.keys() if variable is not None else []


def _constant(text: str) -> TextCode:
    def code(sh: Shell) -> str:
        return text

    code.constant = text  # type: ignore[attr-defined]
    return code


def _bad(text: str) -> TextCode:
    def code(sh: Shell) -> str:
        raise ShellError(f"{text}: bad substitution", fatal=True)

    return code


def _escaped(code: TextCode) -> TextCode:
    return lambda sh: escape(code(sh))


def _template_escaped(code: TextCode) -> TextCode:
    return lambda sh: code(sh).replace("\\", "\\\\").replace("&", "\\&")


_REGEX_SPECIAL = re.compile(r"([\\.\[\]{}()*+?^$|])")


def regex_escape(text: str) -> str:
    """`text` as a regular expression that matches just itself."""
    return _REGEX_SPECIAL.sub(r"\\\1", text)


def _regex_escaped(code: TextCode) -> TextCode:
    return lambda sh: regex_escape(code(sh))


def _quoted_text(code: str | TextCode) -> EmitCode:
    if isinstance(code, str):
        return lambda sh, fields: fields.quoted(code)
    return lambda sh, fields: fields.quoted(code(sh))


def _expanded_text(text: str) -> EmitCode:
    return lambda sh, fields: fields.expanded(text)


_SPECIAL: dict[str, MaybeCode] = {
    "#": lambda sh: str(len(sh.positional)),
    "?": lambda sh: str(sh.status),
    "$": lambda sh: str(sh.process_id),
    "!": lambda sh: str(sh.last_background) if sh.last_background else None,
    "-": lambda sh: sh.option_letters(),
}


def _gather(items: list[tuple[bool, str | Callable[[Shell], object]]]) -> ArgumentsCode:
    """Code for a list of arguments, as direct as the kinds of its words allow."""
    if all(isinstance(code, str) for _, code in items):
        constants: list[str] = [code for _, code in items if isinstance(code, str)]
        return lambda sh: constants.copy()
    if all(single for single, _ in items):
        codes = [_constant(code) if isinstance(code, str) else code for _, code in items]
        first = items[0][1]
        if isinstance(first, str):
            if len(codes) == 2:
                second = codes[1]
                return lambda sh: [first, second(sh)]  # type: ignore[list-item]
            if len(codes) == 3:
                second, third = codes[1:]
                return lambda sh: [first, second(sh), third(sh)]  # type: ignore[list-item]
        return lambda sh: [code(sh) for code in codes]  # type: ignore[misc]
    if len(items) == 1:
        return items[0][1]  # type: ignore[return-value]

    def gather(sh: Shell) -> list[str]:
        result: list[str] = []
        for single, code in items:
            if isinstance(code, str):
                result.append(code)
            elif single:
                result.append(code(sh))  # type: ignore[arg-type]
            else:
                result.extend(code(sh))  # type: ignore[arg-type]
        return result

    return gather
