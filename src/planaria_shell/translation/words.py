"""Words as Python source: texts, fields and patterns."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from planaria_shell.expand.braces import expand_braces, has_braces
from planaria_shell.expand.constant_words import regex_escape
from planaria_shell.expand.parameter_operators import literal_of, remover
from planaria_shell.expand.patterns import MAY_BE_MAGIC, compile_pattern, escape, is_literal, stars, unescape
from planaria_shell.syntax.nodes import Arithmetic, DoubleQuoted, Literal, Parameter, Part, Quoted, Word
from planaria_shell.translation.names import INTEGER, TEXT, Kinds, Names, UntranslatableError
from planaria_shell.translation.numbers import Number, Text, translate_number
from planaria_shell.translation.support import canonical

__all__ = ["Words"]

_SIMPLE = re.compile(r"\w+\Z")
#: What cannot stand in an f-string, at least not in every version of Python.
_UNQUOTABLE = re.compile(r"[\"'\\{}]|[^ -~]")
#: A pattern that is a text with stars around it.


def _constant(text: str) -> Text:
    return Text(repr(text), TEXT, constant=text)


def _of_number(number: Number) -> Text:
    text = Text(number.source, INTEGER)
    text.bits, text.natural = number.bits, number.natural
    return text


class Words:
    """Translates the words of one Python function."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self._temporaries = 0
        #: Positional parameters that are read, and those that are read as numbers.
        self.positions: set[int] = set()
        self.numbers: set[int] = set()
        #: Whether what was translated last can complain, and so has to know the line it is on.
        self.risky = False
        #: Whether `st` is what `$?` gives here.
        self.status_known = False

    def temporary(self) -> str:
        """A new name."""
        self._temporaries += 1
        return f"t{self._temporaries}"

    def risk(self) -> None:
        """What is being translated can fail or complain."""
        self.risky = True

    def number(self, word: Word) -> Number:
        """An expression."""
        return translate_number(word, self)

    def numbered(self, text: Text) -> str | None:
        """The name of a positional parameter's number, which is None when it is none."""
        if not text.position:
            return None
        self.numbers.add(text.position)
        return f"n{text.position}"

    # -- texts -------------------------------------------------------------------------------------

    def join(self, pieces: Sequence[Text | str]) -> Text:
        """The concatenation."""
        merged: list[Text] = []
        for piece in pieces:
            one = _constant(piece) if isinstance(piece, str) else piece
            if one.constant == "":
                continue
            if merged and one.constant is not None and merged[-1].constant is not None:
                merged[-1] = _constant(merged[-1].constant + one.constant)
            else:
                merged.append(one)
        if not merged:
            return _constant("")
        if len(merged) == 1:
            return merged[0]
        if any(_UNQUOTABLE.search(one.source if one.constant is None else one.constant) for one in merged):
            return Text("(" + " + ".join(one.text for one in merged) + ")", TEXT)
        inner = "".join(f"{{{one.source}}}" if one.constant is None else one.constant for one in merged)
        return Text(f'f"{inner}"', TEXT)

    def text(self, word: Word | None) -> Text:
        """The word as one text."""
        if word is None:
            return _constant("")
        if any(isinstance(part, Literal) and "~" in part.text for part in word.parts):
            raise UntranslatableError(word.source)
        return self.join([self.part(part) for part in word.parts])

    def value(self, word: Word | None) -> Text:
        """The word as what an assignment stores: an int when its text is that of a number."""
        text = self.text(word)
        if text.constant is not None:
            number = canonical(text.constant)
            if number is not None:
                return Text(str(number) if number >= 0 else f"({number})", INTEGER)
        return text

    def part(self, part: Part) -> Text:
        """One part of a word."""
        if isinstance(part, Literal | Quoted):
            return _constant(part.text)
        if isinstance(part, DoubleQuoted):
            return self.join([self.part(inner) for inner in part.parts])
        if isinstance(part, Arithmetic):
            return _of_number(self.number(part.expression))
        if isinstance(part, Parameter):
            return self._parameter(part)
        raise UntranslatableError("a substitution")

    # -- parameters --------------------------------------------------------------------------------

    def _parameter(self, part: Parameter) -> Text:
        if part.bad or part.indirect or part.keys or part.prefix:
            raise UntranslatableError(part.name)
        if part.length:
            return self._length(part)
        operator = part.operator
        if not operator:
            return self._present(*self._maybe(part))
        if operator in ("-", ":-", "+", ":+"):
            return self._alternative(part)
        maybe, text, name = self._maybe(part)
        if operator == ":":
            return self._changed(maybe, text, name, lambda subject: self._substring(part, subject))
        if operator[0] in "#%":
            return self._changed(maybe, text, name, lambda subject: self._removed(part, subject))
        if operator[0] == "/":
            return self._changed(maybe, text, name, lambda subject: self._replaced(part, subject))
        if operator[0] in "^,":
            return self._changed(maybe, text, name, lambda subject: self._cased(part, subject))
        raise UntranslatableError(operator)

    def _maybe(self, part: Parameter) -> tuple[bool, Text, str]:
        """Whether the plain parameter can be unset, its value (None then), and its name in errors."""
        name = part.name
        if part.subscript is not None:
            return self._element(part)
        if name.isdigit():
            number = int(name)
            if number == 0:
                return False, Text("sh.name", TEXT), name
            self.positions.add(number)
            return True, Text(f"p{number}", INTEGER | TEXT, position=number), f"${name}"
        if name == "#":
            text = Text("len(args)", INTEGER)
            text.bits, text.natural = 40, True
            return False, text, name
        if name == "?" and self.status_known:
            return False, Text("st", INTEGER), name
        if name in ("@", "*", "?", "$", "!", "-"):
            raise UntranslatableError(name)
        kinds = self.names.scalar(name)
        known = kinds - {"n"} or INTEGER | TEXT
        return "n" in kinds, Text(f"v_{name}", known), name

    def _element(self, part: Parameter) -> tuple[bool, Text, str]:
        name, subscript = part.name, part.subscript
        assert subscript is not None
        shown = f"{name}[{subscript.source}]"
        if subscript.source in ("@", "*"):
            raise UntranslatableError(shown)
        if self.names.array(name):
            return True, Text(f"keyed(a_{name}, {self.text(subscript).text})", TEXT), shown
        index = self.number(subscript)
        if index.natural:
            source = f"(None if a_{name}.array is None else a_{name}.array.get({index.source}))"
            return True, Text(source, TEXT), shown
        self.risk()
        return True, Text(f'element("{name}", a_{name}, {index.source}, sh)', TEXT), shown

    def _present(self, maybe: bool, text: Text, name: str) -> Text:
        """The parameter's text, empty when it is unset."""
        if not maybe:
            return text
        self.risk()
        value = text.source
        first = value
        if not text.simple:
            value = self.temporary()
            first = f"({value} := {text.source})"
        return Text(
            f"({value} if {first} is not None else unset(sh, {name!r}))",
            text.kinds | TEXT,
            position=text.position,
        )

    def _changed(self, maybe: bool, text: Text, name: str, change: Callable[[str], str]) -> Text:
        """The parameter with an operator applied, which is left alone when it is unset."""
        if not maybe:
            return Text(change(text.text), TEXT)
        self.risk()
        value = text.source
        first = value
        if not text.simple:
            value = self.temporary()
            first = f"({value} := {text.source})"
        subject = value if text.kinds == TEXT else f"str({value})"
        return Text(f"({change(subject)} if {first} is not None else unset(sh, {name!r}))", TEXT)

    def _length(self, part: Parameter) -> Text:
        if part.subscript is not None and part.subscript.source in ("@", "*"):
            self.names.array(part.name)
            source = f"count(a_{part.name})"
        elif part.name in ("@", "*", "#"):
            source = "len(args)"
        else:
            source = f"len({self._present(*self._maybe(Parameter(part.name, part.subscript))).text})"
        text = Text(source, INTEGER)
        text.bits, text.natural = 40, True
        return text

    def _alternative(self, part: Parameter) -> Text:
        _, text, _ = self._maybe(part)
        argument = self.text(part.argument)
        value = text.source
        first = value
        if not text.simple:
            value = self.temporary()
            first = f"({value} := {text.source})"
        empty = f"{first} is None"
        if part.operator[0] == ":":
            empty = f'({empty} or {value} == "")'
        if part.operator[-1] == "+":
            return Text(f'("" if {empty} else {argument.source})', argument.kinds | TEXT)
        return Text(f"({argument.source} if {empty} else {value})", argument.kinds | text.kinds)

    def _substring(self, part: Parameter, subject: str) -> str:
        assert part.argument is not None
        offset = self.number(part.argument)
        length = self.number(part.second) if part.second is not None else None
        if offset.constant is not None and offset.constant >= 0:
            start = offset.constant
            if length is None:
                return f"{subject}[{start}:]"
            if length.constant is not None and length.constant >= 0:
                return f"{subject}[{start}:{start + length.constant}]"
        self.risk()
        count = "None" if length is None else length.source
        return f"substring({subject}, {offset.source}, {count}, {part.name!r})"

    def _removed(self, part: Parameter, subject: str) -> str:
        pattern = self.pattern(part.argument)
        if pattern.constant is None:
            return f"remover({part.operator!r}, {pattern.text}, {self.names.extglob})({subject})"
        if part.operator in ("#", "%"):
            text = literal_of(pattern.constant, self.names.extglob)
            if text is not None:
                method = "removeprefix" if part.operator == "#" else "removesuffix"
                return f"{subject}.{method}({text!r})"
        function = remover(part.operator, pattern.constant, self.names.extglob)
        return f"{self.names.constant(function)}({subject})"

    def _replaced(self, part: Parameter, subject: str) -> str:
        pattern = self.pattern(part.argument)
        replacement = self.text(part.second)
        bare = part.second is not None and any(
            not isinstance(one, Quoted | DoubleQuoted)
            and not (isinstance(one, Literal) and "&" not in one.text)
            for one in part.second.parts
        )
        if bare and self.names.ampersands:
            # An ampersand in it may stand for what matched.
            raise UntranslatableError(part.name)
        if pattern.constant and part.operator in ("/", "//"):
            text = literal_of(pattern.constant, self.names.extglob)
            if text is not None:
                most = ", 1" if part.operator == "/" else ""
                return f"{subject}.replace({text!r}, {replacement.text}{most})"
        return f"replace({part.operator!r}, {subject}, {pattern.text}, {replacement.text}, None, sh)"

    def _cased(self, part: Parameter, subject: str) -> str:
        pattern = self.pattern(part.argument)
        if pattern.constant == "":
            if part.operator == "^^":
                return f"upper_case({subject})"
            if part.operator == ",,":
                return f"lower_case({subject})"
        return f"change_case({part.operator!r}, {subject}, {pattern.text}, {self.names.extglob})"

    # -- fields ------------------------------------------------------------------------------------

    def fields(self, words: Sequence[Word]) -> list[tuple[str, Kinds]]:
        """Items of a list display: one value each, or many with a star."""
        items: list[tuple[str, Kinds]] = []
        for word in words:
            if has_braces(word):
                for place, piece in enumerate(expand_braces(word)):
                    if place >= 64:
                        raise UntranslatableError(word.source)
                    items.append(self._field(piece))
            else:
                items.append(self._field(word))
        return items

    def _field(self, word: Word) -> tuple[str, Kinds]:
        parts = word.parts
        if len(parts) == 1:
            only = parts[0]
            inner = only.parts[0] if isinstance(only, DoubleQuoted) and len(only.parts) == 1 else None
            if isinstance(inner, Parameter) and (many := self._many(inner)) is not None:
                return many
            if isinstance(only, Parameter | Arithmetic):
                text = self.part(only)
                if text.kinds == INTEGER:
                    return text.source, INTEGER
                self.risk()
                return f"*fields(sh, {text.source})", text.kinds
        if not parts:
            raise UntranslatableError(word.source)
        for part in parts:
            if isinstance(part, Literal):
                if (MAY_BE_MAGIC.search(part.text) or part.text[-1] in "+@!") and len(parts) + len(
                    part.text
                ) > 2:
                    raise UntranslatableError(word.source)
            elif isinstance(part, Parameter | Arithmetic) and self.part(part).kinds != INTEGER:
                raise UntranslatableError(word.source)
        text = self.value(word)
        return text.source, text.kinds

    def _many(self, part: Parameter) -> tuple[str, Kinds] | None:
        """`"$@"` and `"${name[@]}"`."""
        if part.length or part.operator or part.indirect or part.keys or part.prefix or part.bad:
            return None
        if part.name == "@" and part.subscript is None:
            return "*args", INTEGER | TEXT
        if part.subscript is not None and part.subscript.source == "@":
            self.names.array(part.name)
            return f"*a_{part.name}.values()", TEXT
        return None

    # -- patterns ----------------------------------------------------------------------------------

    def pattern(self, word: Word | None) -> Text:
        """The word as a pattern: what is quoted is escaped."""
        if word is None:
            return _constant("")
        pieces: list[Text | str] = []
        for part in word.parts:
            if isinstance(part, Literal):
                if "~" in part.text:
                    raise UntranslatableError(word.source)
                pieces.append(part.text)
            elif isinstance(part, Quoted):
                pieces.append(escape(part.text))
            else:
                text = self.part(part)
                if text.constant is not None:
                    pieces.append(escape(text.constant))
                elif isinstance(part, DoubleQuoted):
                    pieces.append(Text(f"escape({text.text})", TEXT))
                else:
                    pieces.append(text)
        return self.join(pieces)

    def regex(self, word: Word) -> Text:
        """The word as a regular expression: what is quoted stands for itself."""
        pieces: list[Text | str] = []
        for part in word.parts:
            if isinstance(part, Literal):
                pieces.append(part.text)
                continue
            text = self.part(part)
            if text.constant is not None:
                pieces.append(regex_escape(text.constant))
            elif isinstance(part, DoubleQuoted):
                pieces.append(Text(f"regex_escape({text.text})", TEXT))
            else:
                pieces.append(text)
        return self.join(pieces)

    def match(self, subject: str, word: Word, *, extglob: bool, case: bool) -> str:
        """A condition: whether the text matches the pattern."""
        pattern = self.pattern(word)
        constant = pattern.constant
        if constant is None:
            function = "matches_case" if case else "matches"
            return f"{function}(sh, {subject}, {pattern.text})"
        if is_literal(constant, extglob=True):
            return f"{subject} == {unescape(constant)!r}"
        simple = stars(constant)
        if simple is not None:
            before, inner, after = simple
            if not inner:
                return "True"
            if before and after:
                return f"{inner!r} in {subject}"
            return f"{subject}.{'endswith' if before else 'startswith'}({inner!r})"
        expression = self.names.constant(compile_pattern(constant, extglob).fullmatch)
        return f"{expression}({subject}) is not None"
