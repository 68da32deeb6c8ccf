"""Expansions in source text: what begins with a dollar or a backquote."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Protocol, Self

from planaria_shell.errors import ShellSyntaxError
from planaria_shell.syntax.braced_parameter import PARAMETER, braced
from planaria_shell.syntax.cursor import Cursor, ansi_c
from planaria_shell.syntax.nodes import (
    Arithmetic,
    DoubleQuoted,
    Function,
    Literal,
    Parameter,
    Part,
    ProcessSubstitution,
    Quoted,
    Sequence,
    Substitution,
    Word,
)

__all__ = ["ExpansionLexer", "Grammar"]

#: What means nothing anywhere in an argument of `${…}` or in a subscript.
_ARGUMENT = re.compile(r"[A-Za-z0-9_.,=+@*%^ \t-]+")
_NEVER_SPECIAL = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.,=+@*%^ \t-")

_PLAIN_DOUBLE = re.compile(r"[^\\\"`$]+")
_PLAIN_HEREDOC = re.compile(r"[^\\`$]+")
#: What nests in an expression, by what ends it. Between the semicolons of `for (( ))` nothing does.
_BRACKETS = {"]": ("[", "]"), ")": ("(", ")"), "))": ("(", ")"), ";": (";", ";")}


class Grammar(Protocol):
    """How programs are parsed that stand inside words, and the bodies of functions."""

    def enclosed(self, lexer: Any) -> Sequence:
        """The program up to a closing parenthesis, which is stepped over."""

    def program(self, lexer: Any) -> Sequence:
        """All of the source as one program."""

    def function_body(self, lexer: Any, name: str, line: int) -> Function:
        """What follows a function's name."""


class ExpansionLexer(Cursor):
    """Reads what is quoted and what is expanded; programs inside are read by `grammar`."""

    def __init__(
        self,
        source: str,
        *,
        line: int = 1,
        extglob: bool = False,
        grammar: Grammar | None = None,
        aliases: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(source, line=line, extglob=extglob)
        self._grammar = grammar
        self.aliases = aliases
        #: Aliases being expanded: name and how many characters stand behind the text it gave.
        self.expanding_aliases: list[tuple[str, int]] = []
        #: Where an alias that ends in a blank ends, counted from the source's end: after it, the next word
        #: is tried too.
        self.alias_next = -1
        #: Whether an expansion in a here-document is read, in which `$'` begins no quotes.
        self.in_document = False
        #: What is odd but no error: a line's number and a message.
        self.warnings: list[tuple[int, str]] = []

    @property
    def grammar(self) -> Grammar:
        """What parses programs; there is none for words that cannot hold one."""
        assert self._grammar is not None
        return self._grammar

    def inner(self, source: str, line: int) -> Self:
        """A lexer of the same kind over other text (a here-document, backquotes)."""
        inner = type(self)(
            source.replace("\0", ""),
            line=line,
            extglob=self.extglob,
            grammar=self._grammar,
            aliases=self.aliases,
        )
        inner.posix = self.posix
        inner.warnings = self.warnings
        return inner

    # -- quotes ------------------------------------------------------------------------------------

    def backslash(self, parts: list[Part]) -> None:
        following = self.source[self.position + 1 : self.position + 2]
        self.position += 2
        if following == "\n":
            return
        if not following:
            self.position = len(self.source)
            parts.append(Quoted("\\"))
        else:
            parts.append(Quoted(following))

    def single_quoted(self) -> Quoted:
        end = self.source.find("'", self.position + 1)
        if end < 0:
            raise self.unmatched("'", self.position)
        text = self.source[self.position + 1 : end]
        self.position = end + 1
        return Quoted(text)

    def double_quoted(self, *, here_document: bool = False, nested: bool = False) -> list[Part]:
        """Parts up to the closing double quote (or the end of a here-document).

        `nested`: these quotes stand in an expansion that is itself quoted.
        """
        source = self.source
        start = self.position
        parts: list[Part] = []
        plain = _PLAIN_HEREDOC if here_document else _PLAIN_DOUBLE
        escapable = "$`\\" if here_document else '$`"\\'
        while True:
            match = plain.match(source, self.position)
            if match is not None:
                parts.append(Quoted(match.group()))
                self.position = match.end()
            char = source[self.position : self.position + 1]
            if char == '"':
                self.position += 1
                return parts
            if here_document and char and char in "`$":
                parts.append(self._within_document())
                source = self.source
            elif char == "\\":
                following = source[self.position + 1 : self.position + 2]
                self.position += 2
                if following == "\n":
                    continue
                escapes = following and (nested or following in escapable)
                parts.append(Quoted(following if escapes else "\\" + following))
            elif char == "`":
                parts.append(self.backquoted(in_double_quotes=True))
            elif char == "$":
                parts.append(self.dollar(in_double_quotes=True))
                source = self.source
            else:
                if here_document:
                    return parts
                raise self.unmatched('"', start)

    def _within_document(self) -> Part:
        """An expansion in a here-document: one that is not well formed is an error where it is expanded."""
        start = self.position
        self.in_document = True
        try:
            if self.source[start] == "`":
                return self.backquoted(in_double_quotes=False)
            return self.dollar(in_double_quotes=True)
        except ShellSyntaxError:
            self.position = len(self.source)
            return Parameter("", bad=self.source[start:])
        finally:
            self.in_document = False

    # -- what begins with a dollar or a backquote --------------------------------------------------

    def dollar(self, *, in_double_quotes: bool) -> Part:
        start = self.position
        if self.continued:
            self.unfold(start + 1)
        source = self.source
        following = source[start + 1 : start + 2]
        if following == "{":
            self.position = start + 2
            return braced(self, start, in_double_quotes=in_double_quotes)
        if following == "(":
            if self.continued:
                self.unfold(start + 2)
                source = self.source
            if not source.startswith("((", start + 1):
                self.position = start + 2
                return self._command_substitution()
            self.position = start + 3
            expression = self.arithmetic("))")
            if expression is not None:
                return Arithmetic(expression)
            self.position = start + 2
            line = self.line()
            try:
                return self._command_substitution()
            except ShellSyntaxError:
                # Neither an expression nor a program, which shows when it runs.
                self.position = start + 2
                text = self.arithmetic(")")
                assert text is not None
                return Substitution(Sequence([]), text.source, line, malformed=True)
        if following == "[":
            self.position = start + 2
            expression = self.arithmetic("]")
            if expression is None:
                raise self.unmatched("]", start)
            return Arithmetic(expression)
        if not in_double_quotes:
            if following == "'":
                return self._ansi_quoted()
            if following == '"':
                self.position = start + 2
                return DoubleQuoted(self.double_quoted())
        match = PARAMETER.match(source, start + 1)
        if match is None:
            self.position = start + 1
            return Quoted("$") if in_double_quotes else Literal("$")
        if self.continued and source.startswith("\\\n", match.end()):
            self.unfold(match.end())
            return self.dollar(in_double_quotes=in_double_quotes)
        name = match.group()
        if name.isdigit():
            name = name[0]
            self.position = start + 2
        else:
            self.position = match.end()
        return Parameter(name, bare=True)

    def _command_substitution(self) -> Substitution:
        """What follows `$(`. Aliases in it are those of the time when it runs, not when it is read."""
        start, line = self.position, self.line()
        aliases, self.aliases = self.aliases, None
        in_document, self.in_document = self.in_document, False
        try:
            body = self.grammar.enclosed(self)
        except ShellSyntaxError as error:
            error.in_substitution = not error.incomplete
            raise
        finally:
            self.aliases, self.in_document = aliases, in_document
        if aliases is None:
            return Substitution(body)
        return Substitution(body, self.source[start : self.position - 1], line)

    def _ansi_quoted(self) -> Quoted:
        position = self.position + 2
        source = self.source
        while True:
            end = source.find("'", position)
            if end < 0:
                raise self.unmatched("'", self.position)
            backslashes = end - 1
            while backslashes >= self.position + 2 and source[backslashes] == "\\":
                backslashes -= 1
            if (end - 1 - backslashes) % 2 == 0:
                break
            position = end + 1
        text = source[self.position + 2 : end]
        self.position = end + 1
        return Quoted(ansi_c(text))

    def backquoted(self, *, in_double_quotes: bool) -> Substitution:
        line = self.line()
        source = self.source
        position = self.position + 1
        text: list[str] = []
        escapable = '$`\\"' if in_double_quotes else "$`\\"
        while True:
            char = source[position : position + 1]
            if char == "":
                raise self.unmatched("`", self.position)
            if char == "`":
                break
            if char == "\\" and position + 1 < len(source):
                following = source[position + 1]
                # A newline goes, whatever quotes are around.
                if following != "\n":
                    text.append(following if following in escapable else "\\" + following)
                position += 2
            else:
                text.append(char)
                position += 1
        self.position = position + 1
        inner = self.inner("".join(text), line)
        inner.aliases = None
        try:
            program = self.grammar.program(inner)
        except ShellSyntaxError:
            return Substitution(Sequence([]), "".join(text), line, malformed=True)
        if self.aliases is None:
            return Substitution(program)
        return Substitution(program, "".join(text), line)

    def process_substitution(self, direction: str) -> ProcessSubstitution:
        self.position += 2
        program = self._command_substitution()
        return ProcessSubstitution(direction, program.body, program.source, program.line)

    def arithmetic(self, closer: str) -> Word | None:
        """The parts of an expression up to `closer` (`))`, `]` or `;`); None (and no sense of place) when it
        is not there."""
        source = self.source
        parts: list[Part] = []
        start = self.position
        depth = 0
        opening, closing = _BRACKETS[closer]
        plain_start = start
        position = start

        def flush() -> None:
            if position > plain_start:
                parts.append(Literal(source[plain_start:position]))

        while True:
            char = source[position : position + 1]
            if char == "":
                raise self.unmatched(closing, start)
            if char == opening != closing:
                depth += 1
            elif char == closing:
                if depth == 0:
                    if not source.startswith(closer, position):
                        return None
                    flush()
                    self.position = position + len(closer)
                    return Word(parts, source[start:position])
                depth -= 1
            elif char in '$`\\"':
                flush()
                self.position = position
                if char == "\\":
                    following = source[position + 1 : position + 2]
                    if following == "\n":
                        self.position = position + 2
                    elif following in '$`"\\':
                        self.backslash(parts)
                    else:
                        # It stays, as between double quotes, and is not an operator.
                        parts.append(Literal("\\"))
                        self.position = position + 1
                elif char == '"':
                    self.position += 1
                    parts.extend(self.double_quoted())
                elif char == "`":
                    parts.append(self.backquoted(in_double_quotes=True))
                else:
                    try:
                        parts.append(self.dollar(in_double_quotes=True))
                    except ShellSyntaxError:
                        if closer == "))":
                            return None
                        raise
                source = self.source
                position = plain_start = self.position
                continue
            position += 1

    # -- what stands between braces or brackets ----------------------------------------------------

    def subscript(self, closers: str = "]") -> Word:
        """What stands between `[` and one of `closers`, which is stepped over."""
        return self.argument(closers, quoted=False, brackets=True)

    def argument(
        self,
        closers: str,
        *,
        quoted: bool,
        in_double_quotes: bool = False,
        arithmetic: bool = False,
        brackets: bool = False,
        first: bool = False,
    ) -> Word:
        """Parts up to one of `closers` (stepped over). `quoted`: single quotes are not special."""
        source = self.source
        start = self.position
        parts: list[Part] = []
        plain: list[str] = []
        make: type[Quoted] | type[Literal] = Quoted if quoted and not arithmetic else Literal
        depth = 0
        questions = 0
        #: Where a single quote stands that is text, and after which no brace closes (`"${x:-'}'}"`); or -1.
        apostrophe = -1

        def flush() -> None:
            if plain:
                parts.append(make("".join(plain)))
                plain.clear()

        while True:
            char = source[self.position : self.position + 1]
            if char in _NEVER_SPECIAL:
                match = _ARGUMENT.match(source, self.position)
                assert match is not None
                plain.append(match.group())
                self.position = match.end()
                continue
            if char == "":
                if apostrophe >= 0:
                    raise self.unmatched("'", apostrophe)
                raise self.unmatched("]" if brackets else "}", start)
            if char == "'" and quoted and not arithmetic and not self.posix:
                apostrophe = self.position if apostrophe < 0 else -1
            if apostrophe >= 0 and char in '}"':
                if char == "}":
                    plain.append(char)
                self.position += 1
                continue
            if (
                char in closers
                and (depth == 0 or char == "}")
                and not (first and char == "/" and self.position == start)
            ):
                if char == ":" and questions > 0:
                    questions -= 1
                else:
                    break
            if char == "\\":
                flush()
                following = source[self.position + 1 : self.position + 2]
                if quoted and not arithmetic and following == "'" and not self.posix:
                    # It escapes the quote where that would begin a stretch, not where it ends one.
                    escaped = apostrophe < 0
                    plain.append("\\'" if escaped else "\\")
                    self.position += 2 if escaped else 1
                elif (
                    quoted
                    and following not in ("$", "`", '"', "\\", "\n", "")
                    and (arithmetic or following != "}")
                ):
                    plain.append("\\")
                    self.position += 1
                else:
                    self.backslash(parts)
                continue
            if char == '"':
                flush()
                self.position += 1
                # Between quotes within a quoted expansion, a backslash before any character goes.
                parts.append(DoubleQuoted(self.double_quoted(nested=quoted and not arithmetic)))
                source = self.source
                continue
            if char == "'" and not quoted:
                flush()
                parts.append(self.single_quoted())
                continue
            if char == "`":
                flush()
                parts.append(self.backquoted(in_double_quotes=in_double_quotes))
                continue
            if char == "$":
                flush()
                if not (arithmetic or (quoted and self.in_document)) and source.startswith(
                    "$'", self.position
                ):
                    parts.append(self._ansi_quoted())
                else:
                    parts.append(self.dollar(in_double_quotes=quoted))
                    source = self.source
                continue
            if char in "<>" and not quoted and source.startswith("(", self.position + 1):
                flush()
                parts.append(self.process_substitution(char))
                continue
            if arithmetic:
                if char == "(":
                    depth += 1
                elif char == ")":
                    depth -= 1
                elif char == "?" and depth == 0:
                    questions += 1
            elif brackets:
                if char == "[":
                    depth += 1
                elif char == "]":
                    depth -= 1
            plain.append(char)
            self.position += 1
        flush()
        text = source[start : self.position]
        self.position += 1
        return Word(parts, text)
