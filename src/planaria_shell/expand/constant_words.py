"""Texts as closures: what a shell gives for constants and for pieces joined together."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Protocol

from planaria_shell.errors import BadSubstitutionError, ShellError
from planaria_shell.expand.fields import Fields
from planaria_shell.state.interpreter import Interpreter
from planaria_shell.syntax.nodes import DoubleQuoted, Literal, Part, Word

__all__ = [
    "EmitCode",
    "ListCode",
    "MaybeCode",
    "TextCode",
    "Tilde",
    "Value",
    "Words",
    "argument_parts",
    "bad",
    "constant_text",
    "escaped",
    "expanded_text",
    "joined",
    "quoted_text",
    "regex_escape",
    "regex_escaped",
    "template_escaped",
    "with_tildes",
]

TextCode = Callable[["Interpreter"], str]
ListCode = Callable[["Interpreter"], "list[str]"]
MaybeCode = Callable[["Interpreter"], "str | None"]
EmitCode = Callable[["Interpreter", "Fields"], None]


class Value:
    """A compiled parameter: either one value that may be unset, or many."""

    __slots__ = ("many", "maybe", "name", "star", "values")

    def __init__(self, name: str) -> None:
        self.name = name
        self.many = False
        self.star = False
        self.maybe: MaybeCode = lambda sh: None
        self.values: ListCode = lambda sh: []


class Tilde:
    """`~` or `~name` at the start of a word."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


#: What ends the name behind a tilde, and the rest.
_TILDE_PREFIX = re.compile(r"([^/:]*)([/:]?)(.*)\Z", re.DOTALL)


class Words(Protocol):
    """The compiler of words, as the compilers of parameters know it."""

    def text(self, word: Word | None, *, assignment: bool = False, tildes: bool = True) -> TextCode:
        """The word as one string."""

    def pattern(self, word: Word | None) -> TextCode:
        """The word as a pattern."""

    def arithmetic(self, word: Word) -> Callable[[Interpreter], int]:
        """The value of an expression."""

    def part_text(self, part: Part | Tilde, *, quoted: bool) -> str | TextCode:
        """The part as a string, or its text itself when that is known."""

    def part_emit(self, part: Part | Tilde) -> EmitCode:
        """The part as fields."""

    def quoted_emit(self, part: DoubleQuoted) -> EmitCode:
        """What stands between double quotes as fields."""


def with_tildes(parts: list[Part], *, assignment: bool) -> list[Part | Tilde]:
    """The parts with leading tildes (and those after colons in assignments) made parts of their own."""
    first = parts[0] if parts else None
    leading = isinstance(first, Literal) and "~" in first.text
    if not leading and not (assignment and any(isinstance(p, Literal) and ":~" in p.text for p in parts)):
        return list(parts)
    result: list[Part | Tilde] = []
    for place, part in enumerate(parts):
        if not isinstance(part, Literal) or "~" not in part.text:
            result.append(part)
            continue
        pieces = re.split(r"(:)", part.text) if assignment else [part.text]
        for number, piece in enumerate(pieces):
            leads = (place == 0 and number == 0) or (assignment and number > 0 and pieces[number - 1] == ":")
            name, slash, rest = _TILDE_PREFIX.match(piece).groups()  # type: ignore[union-attr]
            ends_here = slash or number < len(pieces) - 1 or place == len(parts) - 1
            if leads and name.startswith("~") and ends_here:
                result.append(Tilde(name[1:]))
                piece = slash + rest
            if piece:
                result.append(Literal(piece))
    return result


_ASSIGNING = re.compile(r"[A-Za-z_]\w*\+?=", re.ASCII)


def argument_parts(parts: list[Part]) -> list[Part | Tilde]:
    """The parts of an argument. In one that looks like an assignment tildes count as in assignments."""
    first = parts[0] if parts else None
    if isinstance(first, Literal) and "=" in first.text:
        match = _ASSIGNING.match(first.text)
        if match is not None:
            rest = first.text[match.end() :]
            value: list[Part] = [Literal(rest), *parts[1:]] if rest else parts[1:]
            return [Literal(match.group()), *with_tildes(value, assignment=True)]
    return with_tildes(parts, assignment=False)


def constant_text(text: str) -> TextCode:
    """Code that gives always the same text, which it has as `constant`."""

    def code(sh: Interpreter) -> str:
        return text

    code.constant = text  # type: ignore[attr-defined]
    return code


def joined(codes: list[str | TextCode]) -> TextCode:
    """The concatenation; neighbouring constants are joined at once."""
    merged: list[str | TextCode] = []
    for code in codes:
        if isinstance(code, str) and merged and isinstance(merged[-1], str):
            merged[-1] += code
        elif code != "":
            merged.append(code)
    if not merged:
        return constant_text("")
    if len(merged) == 1:
        only = merged[0]
        return constant_text(only) if isinstance(only, str) else only
    if len(merged) == 2:
        return _pair(merged[0], merged[1])
    if len(merged) == 3:
        first, second, third = merged
        if isinstance(first, str) and isinstance(third, str) and not isinstance(second, str):
            return lambda sh: f"{first}{second(sh)}{third}"
        if not isinstance(first, str) and isinstance(second, str) and not isinstance(third, str):
            return lambda sh: f"{first(sh)}{second}{third(sh)}"
    pieces = [constant_text(code) if isinstance(code, str) else code for code in merged]
    return lambda sh: "".join([piece(sh) for piece in pieces])


def _pair(first: str | TextCode, second: str | TextCode) -> TextCode:
    """The concatenation of two pieces."""
    if isinstance(first, str):
        text = first
        code = constant_text(second) if isinstance(second, str) else second
        return lambda sh: text + code(sh)
    head = first
    if isinstance(second, str):
        end = second
        return lambda sh: head(sh) + end
    tail = second
    return lambda sh: head(sh) + tail(sh)


#: `${name@…}`: with a letter that is none, it ends the shell.
_TRANSFORMATION = re.compile(r"\$\{!?(\w+|[@*])(\[.*\])?@", re.DOTALL)


def bad(text: str) -> TextCode:
    """Code for an invalid expansion, which bash reports only when it gets there."""

    transformation = _TRANSFORMATION.match(text)

    def code(sh: Interpreter) -> str:
        if transformation is None:
            raise BadSubstitutionError(text)
        name, subscript = transformation.groups()
        if name.isidentifier() and not subscript and sh.variables.get(name) is None:
            return ""  # there is nothing to transform
        raise ShellError(f"{text}: bad substitution", fatal=True, status=127)

    return code


def escaped(code: TextCode, escape: Callable[[str], str]) -> TextCode:
    """The text as a pattern that matches just itself."""
    return lambda sh: escape(code(sh))


def template_escaped(code: TextCode) -> TextCode:
    """The text as a replacement in which an ampersand stands for itself."""
    return lambda sh: code(sh).replace("\\", "\\\\").replace("&", "\\&")


_REGEX_SPECIAL = re.compile(r"([\\.\[\]{}()*+?^$|])")


def regex_escape(text: str) -> str:
    """`text` as a regular expression that matches just itself."""
    return _REGEX_SPECIAL.sub(r"\\\1", text)


def regex_escaped(code: TextCode) -> TextCode:
    """The text as a regular expression that matches just itself."""
    return lambda sh: regex_escape(code(sh))


def quoted_text(code: str | TextCode) -> EmitCode:
    """The text as a field that is neither split nor globbed."""
    if isinstance(code, str):
        return lambda sh, fields: fields.quoted(code)
    return lambda sh, fields: fields.quoted(code(sh))


def expanded_text(text: str) -> EmitCode:
    """The text as fields, split and globbed."""
    return lambda sh, fields: fields.expanded(text)
