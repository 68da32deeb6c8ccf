"""Parameters between braces in source text: `${name}`, `${name:-word}` and so on."""

from __future__ import annotations

import re
from typing import Final, Protocol

from planaria_shell.errors import ShellSyntaxError
from planaria_shell.syntax.nodes import Parameter, Word

__all__ = ["PARAMETER", "Lexer", "braced"]

PARAMETER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-]")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LENGTH = re.compile(r"([A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-])(?=[}\[])")
_INDIRECT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+|#|[@*?]|[$!](?=[^}])")
_PREFIX = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)([*@])\}")
_OPERATOR = re.compile(r":[-=+?]|[-=+?]|##?|%%?|/[/#%]?|\^\^?|,,?|~~?|@|:")


class Lexer(Protocol):
    """What reads the words in them."""

    source: str
    position: int

    def unfold_around(self, pattern: re.Pattern[str]) -> None:
        """Remove the line continuations around what matches at the current position."""

    def unmatched(self, opening: str, position: int) -> ShellSyntaxError:
        """The error of what is not closed."""

    def subscript(self, closers: str = "]") -> Word:
        """What stands between `[` and one of `closers`, which is stepped over."""

    def argument(
        self,
        closers: str,
        *,
        quoted: bool,
        in_double_quotes: bool = False,
        arithmetic: bool = False,
        first: bool = False,
    ) -> Word:
        """Parts up to one of `closers` (stepped over). `quoted`: single quotes are not special."""


def braced(lexer: Lexer, start: int, *, in_double_quotes: bool) -> Parameter:
    """The expansion whose `${` stands at `start` and was stepped over."""
    lexer.unfold_around(PARAMETER)
    source = lexer.source
    position = lexer.position
    parameter = Parameter("")
    if source.startswith("#", position) and _LENGTH.match(source, position + 1):
        parameter.length = True
        position += 1
    elif source.startswith("!", position):
        prefix = _PREFIX.match(source, position + 1)
        if prefix is not None:
            lexer.position = prefix.end()
            return Parameter(prefix.group(1), prefix=prefix.group(2))
        if _INDIRECT.match(source, position + 1):
            parameter.indirect = True
            position += 1
    match = PARAMETER.match(source, position)
    if match is None:
        return _bad(lexer, start)
    parameter.name = match.group()
    lexer.position = match.end()
    if source.startswith("[", lexer.position) and _NAME.match(parameter.name):
        lexer.position += 1
        parameter.subscript = lexer.subscript("]}")
        if lexer.source[lexer.position - 1] == "}":
            # The expansion ends at its first brace, also within a subscript.
            return Parameter("", bad=lexer.source[start : lexer.position])
        if (
            parameter.indirect
            and source.startswith("}", lexer.position)
            and parameter.subscript.source in ("@", "*")
        ):
            parameter.indirect = False
            parameter.keys = True
    if source.startswith("}", lexer.position):
        lexer.position += 1
        return parameter
    if parameter.length:
        return _bad(lexer, start)
    operator = _OPERATOR.match(source, lexer.position)
    if operator is None:
        if lexer.position >= len(source):
            raise lexer.unmatched("}", start)
        return _bad(lexer, start)
    parameter.operator = operator.group()
    lexer.position = operator.end()
    if parameter.name in "?-" and parameter.operator[0] in "^,~":
        return _bad(lexer, start)
    if parameter.name == "#" and not parameter.indirect:
        closes = source.startswith("}", lexer.position)
        if closes and parameter.operator in ("##", "%%"):
            parameter.operator = parameter.operator[0]  # the number of parameters without it
            lexer.position -= 1
        elif parameter.operator[0] in "^,~" or (closes and len(parameter.operator) == 1):
            return _bad(lexer, start)  # neither that number nor the length of anything
    _operand(lexer, parameter, start, in_double_quotes)
    if parameter.operator == "@" and parameter.argument is not None:
        letter = parameter.argument.source
        if len(letter) != 1 or letter not in "QEPAaKkUuL":
            parameter.bad = source[start : lexer.position]
    return parameter


def _operand(lexer: Lexer, parameter: Parameter, start: int, in_double_quotes: bool) -> None:
    operator = parameter.operator
    if operator == ":":
        parameter.argument = lexer.argument(":}", quoted=True, arithmetic=True)
        if lexer.source[lexer.position - 1] == ":":
            parameter.second = lexer.argument("}", quoted=True, arithmetic=True)
        elif not parameter.argument.source:
            parameter.bad = lexer.source[start : lexer.position]
    elif operator[0] == "/":
        # A slash right after the operator belongs to the pattern, except in ${x//y/z} itself.
        parameter.argument = lexer.argument(
            "/}",
            quoted=False,
            in_double_quotes=in_double_quotes,
            first=operator in ("/", "//"),
        )
        if lexer.source[lexer.position - 1] == "/":
            parameter.second = lexer.argument("}", quoted=False, in_double_quotes=in_double_quotes)
    elif operator[0] in "#%^,~":
        parameter.argument = lexer.argument("}", quoted=False, in_double_quotes=in_double_quotes)
    else:
        parameter.argument = lexer.argument("}", quoted=in_double_quotes, in_double_quotes=in_double_quotes)


def _bad(lexer: Lexer, start: int) -> Parameter:
    """An invalid parameter, which bash reports only when it is expanded."""
    lexer.position = start + 2
    lexer.argument("}", quoted=False)
    return Parameter("", bad=lexer.source[start : lexer.position])
