"""The grammar of commands: a recursive descent parser on top of `lexer`.

A script is read one line at a time (`unit`), as bash does: what stands before a syntax error on earlier
lines runs, and an alias or an option that changes parsing takes effect from the next line on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial

from planaria_shell.syntax.compound_parser import RESERVED_FIRST, CompoundParser
from planaria_shell.syntax.condition_parser import RESERVED_WORD, TOKEN, WORD
from planaria_shell.syntax.lexer import ShellSyntaxError
from planaria_shell.syntax.nodes import (
    AndOr,
    ArithmeticCommand,
    Command,
    Function,
    Pipeline,
    Sequence,
    Subshell,
)
from planaria_shell.syntax.outline import definitions
from planaria_shell.syntax.simple_parser import PLAIN_COMMAND

__all__ = ["Parser", "ShellSyntaxError", "parse"]

RESERVED = frozenset(
    [
        "if",
        "then",
        "elif",
        "else",
        "fi",
        "case",
        "esac",
        "for",
        "select",
        "while",
        "until",
        "do",
        "done",
        "in",
        "function",
        "time",
        "coproc",
        "{",
        "}",
        "!",
        "[[",
        "]]",
    ]
)
#: In a script that defines so many functions, most of them may never be called.
_MANY_FUNCTIONS = 10
_TIME = re.compile(r"time(?=[ \t\n;&|()<>]|\Z)")
_EMPTY: frozenset[str] = frozenset()


class Parser(CompoundParser):
    """Parses `source`; `aliases` are expanded when given."""

    def __init__(
        self, source: str, *, line: int = 1, extglob: bool = False, aliases: Mapping[str, str] | None = None
    ) -> None:
        # A shell has no NUL in its texts: bash drops them from what it reads.
        super().__init__(source.replace("\0", ""), line=line, extglob=extglob)
        self.aliases = aliases
        #: Aliases being expanded: name and how many characters stand behind the text it gave.
        self._expanding: list[tuple[str, int]] = []
        #: Where an alias that ends in a blank ends, counted from the source's end: after it, the next word
        #: is tried too.
        self._alias_next = -1
        self.closer = ""
        #: Where definitions of functions begin whose bodies need not be parsed now.
        self._definitions: dict[int, tuple[str, int, int]] | None = None

    def inner(self, source: str, line: int) -> Parser:
        inner = Parser(source, line=line, extglob=self.extglob, aliases=self.aliases)
        inner.posix = self.posix
        inner.warnings = self.warnings
        return inner

    # -- entry points ------------------------------------------------------------------------------

    def unit(self) -> Sequence | None:
        """The next line's commands (with everything that belongs to them), or None at the end."""
        if self.newlines() == "":
            return None
        if not self.aliases:
            if self._definitions is None:
                many = self.source.count("() {") >= _MANY_FUNCTIONS
                self._definitions = definitions(self.source) if many else {}
            if self.position in self._definitions:
                return self._known_definition(*self._definitions[self.position])
        sequence = Sequence([], self.line())
        while True:
            char = self.skip()
            if char in ("\n", ""):
                break
            command = self.and_or()
            char = self.source[self.position : self.position + 1]
            background = False
            if char == "&" or char == ";":
                if self.source.startswith((";;", ";&"), self.position):
                    raise self.unexpected()
                background = char == "&"
                self.position += 1
            elif char not in ("\n", ""):
                raise self.unexpected()
            sequence.items.append((command, background))
        if char == "\n":
            self.newline()
        elif self.pending:
            self._unfinished_documents()
        return sequence

    def next_line(self) -> None:
        """Go to the next line, whatever stands on this one."""
        self.pending.clear()
        end = self.source.find("\n", self.position)
        self.position = end + 1 if end >= 0 else len(self.source)

    def _known_definition(self, name: str, start: int, end: int) -> Sequence:
        """A definition that is known to be well formed: the body is parsed when it is used."""
        line = self.line()
        parse = partial(_parse_body, self.source[start:end], name, line, self.extglob, self.posix)
        self.position = end
        if self.skip() == "\n":
            self.newline()
        return Sequence([(Function(name, parse, line), False)], line)

    def program(self) -> Sequence:
        sequence = self.sequence(_EMPTY)
        if self.position < len(self.source):
            raise self.unexpected()
        if self.pending:
            self._unfinished_documents()
        return sequence

    def _unfinished_documents(self) -> None:
        """Here-documents announced on the last line: they end with the source."""
        self.source += "\n"
        self.position = len(self.source) - 1
        self.newline()

    def enclosed(self) -> Sequence:
        outer, self.pending = self.pending, []
        self.enclosing += 1
        sequence = self.sequence(_EMPTY)
        self.enclosing -= 1
        if not self.source.startswith(")", self.position):
            if self.position >= len(self.source):
                raise self.unmatched(")")
            raise self.unexpected()
        self.position += 1
        self.pending = outer + self.pending
        return sequence

    # -- errors ------------------------------------------------------------------------------------

    def unexpected(self) -> ShellSyntaxError:
        """The error for the token at the current position."""
        char = self.skip()
        if char == "":
            error = self.fail("syntax error: unexpected end of file", incomplete=True)
            if not self.source.endswith("\n"):
                error.line += 1
            return error
        if char == "\n":
            token = "newline"
        else:
            match = TOKEN.match(self.source, self.position) or WORD.match(self.source, self.position)
            token = match.group() if match is not None else char
        return self.fail(f"syntax error near unexpected token `{token}'")

    # -- lists -------------------------------------------------------------------------------------
    def sequence(self, closers: frozenset[str]) -> Sequence:
        """Commands up to a reserved word of `closers`, a closing parenthesis, `;;`, or the end."""
        char = self.newlines()
        items: list[tuple[Command, bool]] = []
        sequence = Sequence(items, self.line())
        closer = ""
        while char and char != ")":
            if char in RESERVED_FIRST and closers:
                closer = self._closing_word(closers)
                if closer:
                    break
            elif char == ";" and self.source.startswith((";;", ";&"), self.position):
                break
            command = self.and_or()
            source, position = self.source, self.position
            char = source[position : position + 1]
            if char == "&":
                items.append((command, True))
                self.position = position + 1
            else:
                items.append((command, False))
                if char == ";":
                    if source.startswith((";;", ";&"), position):
                        break
                    self.position = position + 1
                elif char != "\n":
                    # Behind a compound command, a reserved word needs no semicolon before it.
                    closer = self._closing_word(closers)
                    break
            char = self.newlines()
        self.closer = closer
        return sequence

    def _closing_word(self, closers: frozenset[str]) -> str:
        """Step over a reserved word of `closers`; "" when none stands here."""
        match = RESERVED_WORD.match(self.source, self.position)
        if match is None or match.group() not in closers:
            return ""
        self.position = match.end()
        return match.group()

    def and_or(self) -> Command:
        """Pipelines joined by `&&` and `||`. No blank stands behind it that is not stepped over."""
        plain = None if self.aliases else PLAIN_COMMAND.match(self.source, self.position)
        first = self.simple(plain) if plain is not None else self.pipeline()
        char = self.source[self.position : self.position + 1]
        if char != "&" and char != "|":
            return first
        if char == "|" and plain is not None:
            first = self._piped(first)
        rest: list[tuple[str, Command]] = []
        while self.skip() in ("&", "|") and self.source.startswith(("&&", "||"), self.position):
            source = self.source
            operator = source[self.position : self.position + 2]
            self.position += 2
            self.newlines()
            rest.append((operator, self.pipeline()))
        return AndOr(first, rest) if rest else first

    def pipeline(self) -> Command:
        line = 0
        negated = False
        timed = ""
        marked = False
        while True:
            if self.aliases:
                self.expand_alias()
            char = self.source[self.position : self.position + 1]
            if char != "!" and char != "t":
                break
            match = RESERVED_WORD.match(self.source, self.position)
            word = match.group() if match is not None else ""
            if word == "!":
                negated = not negated
            elif word == "time":
                timed = "time"
            else:
                break
            assert match is not None
            marked = True
            self.position = match.end()
            self.skip()
            if word == "time":
                option = re.compile(r"-p(?=\s|$)").match(self.source, self.position)
                if option is not None:
                    timed = "time -p"
                    self.position = option.end()
                    self.skip()
                option = re.compile(r"--(?=\s|$)").match(self.source, self.position)
                if option is not None:
                    self.position = option.end()
                    self.skip()
        if marked and self.skip() in ("\n", ";", ""):
            line = self.line()
            return Pipeline([], [], negated, timed, line)
        first = self._piped(self.command())
        if not marked:
            return first
        if not isinstance(first, Pipeline):
            return Pipeline([first], [], negated, timed, self.line())
        first.negated = negated
        first.timed = timed
        return first

    def _piped(self, first: Command) -> Command:
        """The command, or the pipeline that it begins."""
        if not self.source.startswith("|", self.position) or self.source.startswith("||", self.position):
            return first
        line = self.line()
        stages = [first]
        merged: list[bool] = []
        while self.skip() == "|" and not self.source.startswith("||", self.position):
            self.position += 1
            both = self.source.startswith("&", self.position)
            if both:
                self.position += 1
            merged.append(both)
            self.newlines()
            # Here `time` is no reserved word.
            stages.append(self.simple(None) if _TIME.match(self.source, self.position) else self.command())
        return Pipeline(stages, merged, line=line)

    # -- commands ----------------------------------------------------------------------------------

    def command(self) -> Command:
        """One command with its redirections, and the blanks behind it."""
        source = self.source
        char = source[self.position : self.position + 1]
        if not char or char in " \t\\#":
            char = self.skip()
        if self.aliases:
            self.expand_alias()
            source = self.source
            char = source[self.position : self.position + 1]
        if char == "(":
            return self.parenthesis()
        if char not in RESERVED_FIRST:
            return self.simple(None if self.aliases else PLAIN_COMMAND.match(source, self.position))
        match = RESERVED_WORD.match(source, self.position)
        if match is None:
            return self.simple(None if self.aliases else PLAIN_COMMAND.match(source, self.position))
        word = match.group()
        compound = self.compound(word, match.end())
        if compound is None:
            raise self.unexpected()
        return compound

    def parenthesis(self) -> Command:
        line = self.line()
        start = self.position
        if self.source.startswith("((", start):
            self.position = start + 2
            expression = self.arithmetic("))")
            if expression is not None:
                command = ArithmeticCommand(expression, [], line)
                command.redirects = self.redirects()
                return command
            self.position = start
        self.position = start + 1
        body = self.sequence(_EMPTY)
        if not self.source.startswith(")", self.position) or not body.items:
            raise self.unexpected()
        self.position += 1
        subshell = Subshell(body, [], line)
        subshell.redirects = self.redirects()
        return subshell


def _parse_body(text: str, name: str, line: int, extglob: bool, posix: bool) -> Command:
    parser = Parser(text, line=line, extglob=extglob)
    parser.posix = posix
    return parser.function_body(name, line).body


def parse(source: str, *, extglob: bool = False) -> list[Sequence]:
    """All lines of a script; raises `ShellSyntaxError`."""
    parser = Parser(source, extglob=extglob)
    units: list[Sequence] = []
    while (unit := parser.unit()) is not None:
        units.append(unit)
    return units
