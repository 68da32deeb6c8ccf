"""Arithmetic as Python source."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from planaria_shell.errors import ArithmeticSyntaxError
from planaria_shell.syntax.arithmetic_parser import Parser, Target
from planaria_shell.syntax.nodes import Literal, Part, Quoted, Word
from planaria_shell.translation.names import INTEGER, TEXT, Kinds, Names, UntranslatableError

__all__ = ["Number", "Text", "translate_number"]

_LARGEST = (1 << 63) - 1
_SMALLEST = -(1 << 63)
#: The largest number that the interpreter keeps in one digit.
_DIGIT = (1 << 30) - 1
_PLACE = re.compile(r"\0(\d+)\0")
_SIMPLE = re.compile(r"\w+\Z")


class Text:
    """An expansion: `source` gives an int or a str, as `kinds` says."""

    __slots__ = ("bits", "constant", "kinds", "natural", "position", "source")

    def __init__(self, source: str, kinds: Kinds, *, constant: str | None = None, position: int = 0) -> None:
        self.source = source
        self.kinds = kinds
        self.constant = constant
        #: Which positional parameter it is.
        self.position = position
        # As of a `Number`.
        self.bits = 63
        self.natural = False

    @property
    def simple(self) -> bool:
        """Whether the source is only a name."""
        return _SIMPLE.match(self.source) is not None

    @property
    def text(self) -> str:
        """The source of a str."""
        return self.source if self.kinds == TEXT else f"str({self.source})"


class Number:
    """An expression: its source, what is true of it as a condition, and what to write for its effect alone.

    Its absolute value is below 2 ** `bits`, where 63 means any number that 64 bits hold.
    """

    __slots__ = ("bits", "constant", "effect", "natural", "source", "truth")

    def __init__(
        self,
        source: str,
        bits: int = 63,
        *,
        truth: str = "",
        effect: str = "",
        natural: bool = False,
        constant: int | None = None,
    ) -> None:
        self.source = source
        self.bits = bits
        self.truth = truth or source
        self.effect = effect or source
        #: Never negative.
        self.natural = natural
        self.constant = constant


def _boolean(truth: str) -> Number:
    return Number(f"(1 if {truth} else 0)", 1, truth=f"({truth})", natural=True)


def _check_message(message: str) -> None:
    """A message that quotes expansions has to be made when they are known."""
    if "\0" in message:
        raise UntranslatableError(message)


class WordTranslator(Protocol):
    """What translates the expansions in an expression."""

    names: Names

    def temporary(self) -> str:
        """The name of a new Python variable."""

    def risk(self) -> None:
        """Note that the source may raise an error of the shell."""

    def numbered(self, text: Text) -> str | None:
        """The Python variable that holds a string as a number, if there is one."""

    def join(self, pieces: Sequence[Text | str]) -> Text:
        """Strings one after the other."""

    def part(self, part: Part) -> Text:
        """A part of a word as a string."""


class _Sources:
    """Makes source of an expression's pieces."""

    def __init__(self, words: WordTranslator, operands: list[Text]) -> None:
        self.words = words
        self.names = words.names
        self.operands = operands
        #: Conditions under which the source is right: the operands are numbers.
        self.conditions: dict[int, str] = {}

    # -- reading and writing -----------------------------------------------------------------------

    def constant(self, value: int) -> Number:
        source = str(value) if value >= 0 else f"({value})"
        return Number(source, value.bit_length(), natural=value >= 0, constant=value)

    def operand(self, place: int) -> Number:
        text = self.operands[place]
        if text.kinds == INTEGER:
            return Number(text.source, text.bits, natural=text.natural)
        name = self.words.numbered(text)
        if name is None:
            name = self.words.temporary()
            source = f"operand({text.source})"
            if text.simple and "i" in text.kinds:
                source = f"{text.source} if {text.source}.__class__ is int else {source}"
            self.conditions[place] = f"({name} := {source}) is not None"
        else:
            self.conditions[place] = f"{name} is not None"
        return Number(name)

    def read(self, target: Target) -> Number:
        name = target.name
        if target.subscript is not None:
            text = self._element(target)
            value = self.words.temporary()
            self.words.risk()
            return Number(f"(0 if ({value} := {text}) is None else num({value}))")
        kinds = self.names.scalar(name)
        source = f"v_{name}"
        if kinds == INTEGER:
            return Number(source)
        self.words.risk()
        value = self.words.temporary()
        parsed = f"({value} if ({value} := common({source})) is not None else num({source}))"
        if "n" in kinds:
            parsed = f'(unset_number(sh, "{name}") if {source} is None else {parsed})'
        if "i" in kinds:
            parsed = f"({source} if {source}.__class__ is int else {parsed})"
        return Number(parsed)

    def _element(self, target: Target) -> str:
        """The source of an element's text, or None."""
        name, subscript = target.name, target.subscript
        assert subscript is not None
        if self.names.array(name):
            return f"keyed(a_{name}, {self._key(subscript)})"
        index = self._index(subscript)
        if index.natural:
            return f"(None if a_{name}.array is None else a_{name}.array.get({index.source}))"
        return f'element("{name}", a_{name}, {index.source}, sh)'

    def _key(self, subscript: str) -> str:
        if not subscript or subscript[0] in "'\"" or subscript in ("@", "*"):
            raise UntranslatableError(subscript)
        if not _PLACE.search(subscript):
            return repr(subscript)
        pieces = _PLACE.split(subscript)
        return self.words.join(
            [self.operands[int(piece)] if place % 2 else piece for place, piece in enumerate(pieces)]
        ).text

    def _index(self, subscript: str) -> Number:
        if subscript.strip() in ("", "@", "*"):
            raise UntranslatableError(subscript)
        return _parsed(subscript, self)

    def _store(self, target: Target, value: Number) -> Number:
        """The value, stored on the way."""
        name = target.name
        if target.subscript is None:
            self.names.assigned(name, INTEGER)
            return Number(f"(v_{name} := {value.source})", value.bits, natural=value.natural)
        result = self.words.temporary()
        if self.names.array(name):
            key = self._key(target.subscript)
            store = f'store_keyed(sh, "{name}", a_{name}, {key}, str({result}), {target.subscript!r})'
        else:
            index = self._index(target.subscript)
            store = f'sh.variables.set_indexed("{name}", a_{name}, {index.source}, str({result}))'
        self.words.risk()
        return Number(f"(({result} := {value.source}), {store})[0]", value.bits, natural=value.natural)

    def assign(self, target: Target, operator: str, value: Number, message: str) -> Number:
        if operator != "=":
            value = self.binary(operator[:-1], self.read(target), value, message)
        return self._store(target, value)

    def step(self, target: Target, step: int, *, post: bool) -> Number:
        if post and target.subscript is not None:
            before = self.words.temporary()
            old = self.read(target)
            new = self._store(target, self._stepped(before, step))
            return Number(f"(({before} := {old.source}), {new.source})[0]")
        new = self._store(target, self._stepped(self.read(target).source, step))
        if not post:
            return new
        before = self.words.temporary()
        old = self.read(target)
        return Number(
            f"(({before} := {old.source}), (v_{target.name} := {self._stepped(before, step).source}))[0]",
            truth=f"({new.source} != {step})",
            effect=new.source,
        )

    def _stepped(self, source: str, step: int) -> Number:
        return self._checked(f"{source} + {step}", 64, above=step > 0, below=step < 0)

    # -- operators ---------------------------------------------------------------------------------

    def _checked(
        self, source: str, bits: int, *, natural: bool = False, above: bool = True, below: bool = True
    ) -> Number:
        """A result that 64 bits may not hold, being too large (`above`) or too small (`below`).

        Comparing with a number of one digit of the interpreter's is much faster than with a larger one.
        """
        if bits <= 62 or not (above or below):
            return Number(f"({source})", min(bits, 63), natural=natural)
        name = self.words.temporary()
        if not below:
            fits = f"({name} := {source}) <= {_DIGIT} or {name} <= {_LARGEST}"
        elif not above:
            fits = f"({name} := {source}) >= -{_DIGIT} or {name} >= {_SMALLEST}"
        else:
            fits = f"-{_DIGIT} <= ({name} := {source}) <= {_DIGIT} or {_SMALLEST} <= {name} <= {_LARGEST}"
        return Number(f"({name} if {fits} else wrap({name}))")

    def unary(self, operator: str, operand: Number) -> Number:
        if operator == "!":
            return _boolean(f"not {operand.truth}")
        if operator == "~":
            return Number(f"(~{operand.source})", operand.bits)
        if operand.constant is not None and operand.bits < 63:
            return self.constant(-operand.constant)
        return self._checked(f"-{operand.source}", operand.bits if operand.bits < 63 else 64, below=False)

    def binary(self, operator: str, left: Number, right: Number, message: str) -> Number:
        x, y = left.source, right.source
        natural = left.natural and right.natural
        bits = max(left.bits, right.bits) + 1
        if operator == "+":
            below = not (left.natural or right.natural)
            return self._checked(f"{x} + {y}", bits, natural=natural, below=below)
        if operator == "-":
            return self._checked(f"{x} - {y}", bits, above=not right.natural, below=not left.natural)
        if operator == "*":
            below = not natural and not (x == y and _SIMPLE.match(x))
            return self._checked(f"{x} * {y}", left.bits + right.bits, natural=natural, below=below)
        if operator in ("/", "%"):
            return self._divided(operator, left, right, message)
        if operator == "**":
            _check_message(message)
            self.words.risk()
            return Number(f"power({x}, {y}, {message!r})")
        if operator == "&&":
            return _boolean(f"{left.truth} and {right.truth}")
        if operator == "||":
            return _boolean(f"{left.truth} or {right.truth}")
        if operator == "<<":
            return Number(f"wrap({x} << ({y} & 63))")
        if operator == ">>":
            return Number(f"({x} >> ({y} & 63))", left.bits, natural=left.natural)
        if operator in ("&", "|", "^"):
            return Number(f"({x} {operator} {y})", max(left.bits, right.bits), natural=natural)
        return _boolean(f"{x} {operator} {y}")

    def _divided(self, operator: str, left: Number, right: Number, message: str) -> Number:
        divisor = right.constant
        if divisor is None or divisor <= 0:
            _check_message(message)
            self.words.risk()
            name = "divide" if operator == "/" else "remainder"
            return Number(f"{name}({left.source}, {right.source}, {message!r})")
        python = "//" if operator == "/" else "%"
        bits = left.bits if operator == "/" else right.bits
        if left.natural:
            return Number(f"({left.source} {python} {divisor})", bits, natural=True)
        name = left.source
        first = name
        if not _SIMPLE.match(name):
            name = self.words.temporary()
            first = f"({name} := {left.source})"
        return Number(f"({name} {python} {divisor} if {first} >= 0 else -(-{name} {python} {divisor}))", bits)

    def choose(self, condition: Number, yes: Number, no: Number) -> Number:
        return Number(
            f"({yes.source} if {condition.truth} else {no.source})",
            max(yes.bits, no.bits),
            natural=yes.natural and no.natural,
        )

    def then(self, first: Number, second: Number) -> Number:
        return Number(f"({first.effect}, {second.source})[1]", second.bits, natural=second.natural)


def _parsed(text: str, sources: _Sources) -> Number:
    parser: Parser[Number] = Parser(text, sources)
    try:
        number = parser.expression()
    except ArithmeticSyntaxError as error:
        raise UntranslatableError(text) from error
    if -1 in parser.operands:
        raise UntranslatableError(text)
    return number


def translate_number(word: Word, words: WordTranslator) -> Number:
    """The source of an expression in which expansions may stand."""
    pieces: list[str] = []
    operands: list[Text] = []
    for part in word.parts:
        if isinstance(part, Literal | Quoted):
            pieces.append(part.text)
            continue
        pieces.append(f"\0{len(operands)}\0")
        operands.append(words.part(part))
    text = "".join(pieces)
    sources = _Sources(words, operands)
    number = _parsed(text, sources)
    if not sources.conditions:
        return number
    # Where an operand is not a number, what it holds has to be parsed with all the rest.
    words.risk()
    spelled = _PLACE.split(text)
    whole = words.join([operands[int(piece)] if place % 2 else piece for place, piece in enumerate(spelled)])
    holds = " and ".join(sources.conditions.values())
    again = f"evaluated({whole.text})"
    return Number(
        f"({number.source} if {holds} else {again})",
        number.bits if number.bits == 63 else 63,
        truth=f"({number.truth} if {holds} else {again})",
        effect=f"({number.effect} if {holds} else {again})",
    )
