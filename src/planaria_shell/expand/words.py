"""Words to closures: every expansion in its order, splitting and globbing.

A word is compiled once for each way it can be used: as arguments (`arguments`), as one text without
splitting (`text`), as a pattern (`pattern`) or a regular expression (`regex`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from planaria_shell.errors import ShellError
from planaria_shell.expand.argument_lists import UNSPLIT, ArgumentsCode, Item, gather, plain_fields
from planaria_shell.expand.arithmetic import COMMON, compiled, evaluate
from planaria_shell.expand.braces import expand_braces, has_braces, plain_range
from planaria_shell.expand.constant_words import (
    EmitCode,
    TextCode,
    Tilde,
    argument_parts,
    constant_text,
    escaped,
    joined,
    quoted_text,
    regex_escape,
    regex_escaped,
    with_tildes,
)
from planaria_shell.expand.fields import Fields, split
from planaria_shell.expand.parameter_expansion import ParameterExpansions
from planaria_shell.expand.parameter_values import ParameterValues
from planaria_shell.expand.pathnames import glob_fields, home_of
from planaria_shell.expand.patterns import MAGIC_EXTENDED, MAY_BE_MAGIC, escape, escape_each
from planaria_shell.state.interpreter import Interpreter
from planaria_shell.syntax.nodes import (
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

__all__ = ["ArgumentsCode", "TextCode", "WordCompiler"]

Made = TypeVar("Made")

_DECIMAL = re.compile(r"-?(?:[1-9][0-9]{0,17}|0)\Z")
#: A brace expansion of up to this many words is done when the command is compiled.
_EAGER_BRACES = 256


def _kept(word: Word, use: str, made: Made) -> Made:
    """Keep with a word what was made of it: words that stand in many places are compiled once."""
    if word.codes is None:
        word.codes = {use: made}
    else:
        word.codes[use] = made
    return made


class WordCompiler:
    """Compiles words; substitutions are compiled by the functions that it is given."""

    def __init__(
        self,
        substitution: Callable[[Substitution], TextCode],
        process: Callable[[ProcessSubstitution], TextCode],
    ) -> None:
        self._substitution = substitution
        self._process = process
        self.values = ParameterValues(self)
        self._parameters = ParameterExpansions(self, self.values)

    # -- whole words -------------------------------------------------------------------------------

    def text(self, word: Word | None, *, assignment: bool = False, tildes: bool = True) -> TextCode:
        """The word as one text: no splitting, no globbing."""
        if word is None:
            return constant_text("")
        use = "untilded" if not tildes else "value" if assignment else "text"
        code: TextCode | None = word.codes.get(use) if word.codes is not None else None
        if code is None:
            parts = with_tildes(word.parts, assignment=assignment) if tildes else word.parts
            code = _kept(word, use, joined([self.part_text(part, quoted=False) for part in parts]))
        return code

    def constant(self, word: Word) -> str | None:
        """The text of a word in which nothing is expanded (as `text` would give it)."""
        text = word.constant()
        if text is None or "~" in word.source or "~" in text:
            return None
        return text

    def pattern(self, word: Word | None) -> TextCode:
        """The word as a pattern: what is quoted is escaped."""
        if word is None:
            return constant_text("")
        code: TextCode | None = word.codes.get("pattern") if word.codes is not None else None
        return code if code is not None else _kept(word, "pattern", self._pattern(word, escape))

    def shown_pattern(self, word: Word) -> TextCode:
        """The same as `set -x` shows it, with a backslash before each character that is quoted."""
        return self._pattern(word, escape_each)

    def _pattern(self, word: Word, quote: Callable[[str], str]) -> TextCode:
        codes: list[str | TextCode] = []
        for part in with_tildes(word.parts, assignment=False):
            if isinstance(part, Literal):
                codes.append(part.text)
            elif isinstance(part, Quoted):
                codes.append(quote(part.text))
            else:
                code = self.part_text(part, quoted=False)
                if isinstance(code, str):
                    codes.append(quote(code))
                elif isinstance(part, DoubleQuoted | Tilde):
                    codes.append(escaped(code, quote))
                else:
                    codes.append(code)
        return joined(codes)

    def regex(self, word: Word) -> TextCode:
        """The word as an extended regular expression: what is quoted stands for itself."""
        codes: list[str | TextCode] = []
        inside = False
        for part in with_tildes(word.parts, assignment=False):
            if isinstance(part, Literal):
                codes.append(part.text)
                inside = part.text.rfind("[") > part.text.rfind("]", 1) if "[" in part.text else inside
                inside = inside and "]" not in part.text.rpartition("[")[2][1:]
            elif isinstance(part, Quoted):
                # Between brackets everything stands for itself.
                codes.append(part.text if inside else regex_escape(part.text))
            else:
                code = self.part_text(part, quoted=False)
                if isinstance(code, str):
                    codes.append(code if inside else regex_escape(code))
                elif isinstance(part, DoubleQuoted | Tilde) and not inside:
                    codes.append(regex_escaped(code))
                else:
                    codes.append(code)
        return joined(codes)

    def arguments(self, words: list[Word]) -> ArgumentsCode:
        """All fields that the words expand to."""
        items: list[Item] = []
        braces = False
        for word in words:
            codes = word.codes
            found: list[Item] | None = codes.get("arguments") if codes is not None else None
            if found is None:
                made = self._braces(word) if has_braces(word) else [self._argument(word)]
                found = _kept(word, "arguments", made)
            items += found
            braces = braces or "{" in word.source
        every = gather(items)
        if not braces or not any(has_braces(word) for word in words):
            return every
        plain: ArgumentsCode | None = None

        def arguments(sh: Interpreter) -> list[str]:
            nonlocal plain
            if sh.braceexpand:
                return every(sh)
            if plain is None:
                plain = gather([self._argument(word) for word in words])
            return plain(sh)

        return arguments

    def lazy_arguments(self, words: list[Word]) -> Callable[[Interpreter], object] | None:
        """For `for`: an iterable that does not hold all words, when brace expansion makes very many."""
        if not any(has_braces(word) and self._many(word) for word in words):
            return None

        def generate(sh: Interpreter) -> object:
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

    def _braces(self, word: Word) -> list[Item]:
        if not self._many(word):
            return [self._argument(piece) for piece in expand_braces(word)]

        def expand(sh: Interpreter) -> list[str]:
            generate = self.lazy_arguments([word])
            if not sh.braceexpand or generate is None:
                return [word.source]
            return list(generate(sh))  # type: ignore[call-overload,no-any-return]

        return [(False, expand)]

    def _argument(self, word: Word) -> Item:
        parts = argument_parts(word.parts)
        usual = self._of_parts(parts)
        if not any(isinstance(part, Tilde) for part in parts[1:]):
            return usual
        # What looks like an assignment has tildes everywhere, but not in POSIX mode.
        strict = self._of_parts(with_tildes(word.parts, assignment=False))
        if not (usual[0] and strict[0]):
            return usual
        first, second = (code if callable(code) else constant_text(code) for code in (usual[1], strict[1]))
        return True, lambda sh: second(sh) if sh.posix else first(sh)

    def _of_parts(self, parts: list[Part | Tilde]) -> Item:
        if len(parts) == 1:
            quick = self._one_part(parts[0])
            if quick is not None:
                return quick
        if all(self._is_single(part, len(parts) == 1) for part in parts):
            if not parts:
                return False, lambda sh: []
            code = joined([self.part_text(part, quoted=False) for part in parts])
            constant = getattr(code, "constant", None)
            return True, constant if constant is not None else code
        if all(isinstance(part, Literal | Parameter) for part in parts):
            plain = self._plain_parts(parts)
            if plain is not None:
                return False, plain
        emits = [self.part_emit(part) for part in parts]

        def fields(sh: Interpreter) -> list[str]:
            collected = Fields(sh)
            for emit in emits:
                emit(sh, collected)
            if collected.started:
                collected.finish()
            return collected.done

        return False, fields

    def _plain_parts(self, parts: list[Part | Tilde]) -> ArgumentsCode | None:
        """Quicker code for a word of texts and plain parameters without quotes, such as `dir/$name.txt`."""
        texts: list[str] = []
        codes: list[tuple[int, TextCode]] = []
        for place, part in enumerate(parts):
            if isinstance(part, Literal) and self._is_single(part):
                texts.append(part.text)
            elif isinstance(part, Parameter) and part == Parameter(part.name, bare=part.bare):
                value = self.values.parameter(part)
                if value is None or value.many:
                    return None
                texts.append("")
                codes.append((place, self.values.value_text(value)))
            else:
                return None

        return plain_fields(texts, codes)

    def _one_part(self, part: Part | Tilde) -> tuple[bool, Callable[[Interpreter], object]] | None:
        """Quicker code for a word that is one expansion."""
        if isinstance(part, Parameter) and not part.bad:
            value = self.values.parameter(part)
            if value is None or value.many:
                return None
            get = self.values.value_text(value)
        elif isinstance(part, Substitution):
            get = self._substitution(part)
        elif isinstance(part, DoubleQuoted) and len(part.parts) == 1:
            inner = part.parts[0]
            if isinstance(inner, Parameter) and not inner.bad:
                value = self.values.parameter(inner)
                if value is not None and value.many and not value.star:
                    return False, value.values
            return None
        else:
            return None

        def fields(sh: Interpreter) -> list[str]:
            text = get(sh)
            if sh.ifs == " \t\n" and (text.isalnum() or UNSPLIT.fullmatch(text)):
                return [text]
            found = split(text, sh.ifs)
            if not sh.noglob and MAGIC_EXTENDED.search(text):
                return glob_fields(sh, found)
            return found

        return False, fields

    def _is_single(self, part: Part | Tilde, alone: bool = False) -> bool:
        """Whether the part neither splits nor globs."""
        if isinstance(part, Literal):
            if alone and part.text in ("[", "]", "!", "+", "@"):
                return True
            return not MAY_BE_MAGIC.search(part.text) and not part.text.endswith(("+", "@", "!"))
        if isinstance(part, Quoted | Tilde | ProcessSubstitution):
            return True
        if isinstance(part, DoubleQuoted):
            return not any(self._may_be_many(inner) for inner in part.parts)
        return False

    def is_one_field(self, word: Word) -> bool:
        """Whether the word is a text between double quotes: it is one field, which its text is."""
        return (
            len(word.parts) == 1
            and isinstance(word.parts[0], DoubleQuoted)
            and self._is_single(word.parts[0])
        )

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

    # -- parts -------------------------------------------------------------------------------------

    def part_text(self, part: Part | Tilde, *, quoted: bool) -> str | TextCode:
        """The part as text, or its text itself when that is known."""
        if isinstance(part, Literal | Quoted):
            return part.text
        if isinstance(part, DoubleQuoted):
            code = joined([self.part_text(inner, quoted=True) for inner in part.parts])
            constant = getattr(code, "constant", None)
            return constant if constant is not None else code
        if isinstance(part, Parameter):
            return self._parameters.text(part, quoted=quoted)
        if isinstance(part, Substitution):
            return self._substitution(part)
        if isinstance(part, Arithmetic):
            calculate = self.arithmetic(part.expression)
            return lambda sh: str(calculate(sh))
        if isinstance(part, ProcessSubstitution):
            return self._process(part)
        name = part.name
        return lambda sh: home_of(sh, name)

    def part_emit(self, part: Part | Tilde) -> EmitCode:
        """The part as fields."""
        if isinstance(part, Literal):
            text = part.text
            return lambda sh, fields: fields.unquoted(text)
        if isinstance(part, DoubleQuoted):
            return self.quoted_emit(part)
        if isinstance(part, Parameter):
            return self._parameters.emit(part, quoted=False)
        code = self.part_text(part, quoted=False)
        if isinstance(code, str):
            return lambda sh, fields: fields.quoted(code)
        if isinstance(part, Tilde | ProcessSubstitution):
            return lambda sh, fields: fields.quoted(code(sh))
        return lambda sh, fields: fields.expanded(code(sh))

    def quoted_emit(self, part: DoubleQuoted) -> EmitCode:
        if not any(self._may_be_many(inner) for inner in part.parts):
            code = self.part_text(part, quoted=True)
            if isinstance(code, str):
                return lambda sh, fields: fields.quoted(code)
            return lambda sh, fields: fields.quoted(code(sh))
        emits: list[EmitCode] = []
        for inner in part.parts:
            if isinstance(inner, Parameter) and self._may_be_many(inner):
                emits.append(self._parameters.emit(inner, quoted=True))
            elif isinstance(inner, DoubleQuoted):
                emits.append(self.quoted_emit(inner))
            else:
                emits.append(quoted_text(self.part_text(inner, quoted=True)))

        def emit(sh: Interpreter, fields: Fields) -> None:
            for one in emits:
                one(sh, fields)

        return emit

    # -- arithmetic --------------------------------------------------------------------------------

    def _arithmetic_pieces(self, word: Word) -> tuple[str, list[TextCode]]:
        """The text of an expression, with NUL, number, NUL for the expansions in it, and what gives these."""
        pieces: list[str] = []
        codes: list[TextCode] = []
        for part in word.parts:
            if isinstance(part, Literal | Quoted):
                pieces.append(part.text)
                continue
            code = self.part_text(part, quoted=True)
            if isinstance(code, str):
                pieces.append(code)
                continue
            pieces.append(f"\0{len(codes)}\0")
            codes.append(code)
        return "".join(pieces), codes

    def arithmetic_text(self, word: Word) -> TextCode:
        """An expression with its expansions done, as `set -x` shows it."""
        text, codes = self._arithmetic_pieces(word)
        return lambda sh: _spelled(text, _expanded(sh, codes))

    def arithmetic(self, word: Word) -> Callable[[Interpreter], int]:
        """The value of an expression in which expansions may stand."""
        code: Callable[[Interpreter], int] | None = (
            word.codes.get("number") if word.codes is not None else None
        )
        return code if code is not None else _kept(word, "number", self._arithmetic(word))

    def _arithmetic(self, word: Word) -> Callable[[Interpreter], int]:
        text, codes = self._arithmetic_pieces(word)
        if not codes:
            return _calculation(text)

        def reparse(sh: Interpreter) -> int:
            return evaluate(sh, _spelled(text, _expanded(sh, codes)))

        try:
            expression = compiled(text)
        except ShellError:
            return reparse
        if -1 in expression.operands:
            return reparse
        run = expression.code
        operands = expression.operands
        common = COMMON

        def calculate(sh: Interpreter) -> int:
            try:
                values = [code(sh) for code in codes]
            except ShellError as error:
                error.expanding = True
                raise
            for place in operands:
                value = values[place]
                if value not in common and not _DECIMAL.match(value):
                    return evaluate(sh, _spelled(text, values))
            return run(sh, values)

        return calculate


def _expanded(sh: Interpreter, codes: list[TextCode]) -> list[str]:
    """The values of an expression's expansions."""
    try:
        return [code(sh) for code in codes]
    except ShellError as error:
        error.expanding = True
        raise


def _spelled(text: str, values: list[str]) -> str:
    """An expression with the values of its expansions."""
    return re.sub(r"\0(\d+)\0", lambda match: values[int(match.group(1))], text)


def _calculation(text: str) -> Callable[[Interpreter], int]:
    """An expression without expansions; one that is not well formed fails when it runs."""
    try:
        expression = compiled(text)
    except ShellError:
        return lambda sh: evaluate(sh, text)
    return expression.code
