"""The grammar of commands: a recursive descent parser that has a lexer.

A script is read one line at a time (`unit`), as bash does: what stands before a syntax error on earlier
lines runs, and an alias or an option that changes parsing takes effect from the next line on.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import abc
from collections.abc import Mapping
from itertools import accumulate, repeat

from planaria_shell.syntax.compound_commands import RESERVED_FIRST, parse_compound, parse_function_body
from planaria_shell.syntax.lexer import RESERVED_WORD, Lexer
from planaria_shell.syntax.nodes import (
    AndOr,
    ArithmeticCommand,
    Command,
    Function,
    Literal,
    Pipeline,
    Redirect,
    Sequence,
    Subshell,
    Word,
)
from planaria_shell.syntax.outline import Definitions, definitions
from planaria_shell.syntax.simple_commands import PLAIN_COMMAND, expand_alias, parse_redirects, parse_simple

__all__ = ["RESERVED", "Parser", "lexer_of", "parse", "parser_of"]

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
#: What reserved words are made of.
_LETTERS = re.compile(r"[a-z{}!\[\]]+")
_EMPTY: frozenset[str] = frozenset()
_NO_DEFINITIONS = Definitions({}, [], [], [], [])
#: Lines without commands.
_EMPTY_LINES = re.compile(r"(?:[ \t]*+(?:#[^\n]*+)?\n)++")


class Parser:
    """Parses the commands that a lexer stands before."""

    __slots__ = ("_definitions", "by_line", "closer", "ends", "lexer")

    def __init__(self, lexer: Lexer) -> None:
        self.lexer = lexer
        #: The reserved word at which the last list ended, which was stepped over; "" when it ended otherwise.
        self.closer = ""
        #: Definitions of functions that follow each other are not read together.
        self.by_line = False
        #: Where each definition ends that `unit` has read together with others.
        self.ends: list[int] = []
        #: Where definitions of functions begin whose bodies need not be parsed now.
        self._definitions: Definitions | None = None

    def unit(self) -> Sequence | None:
        """The next line's commands (with everything that belongs to them), or None at the end.

        Definitions of functions that follow each other are one unit: nothing runs between them.
        """
        lexer = self.lexer
        self.ends = []
        if lexer.newlines() == "":
            return None
        if not lexer.aliases:
            if self._definitions is None:
                many = lexer.source.count("() {") >= _MANY_FUNCTIONS
                self._definitions = definitions(lexer.source) if many else _NO_DEFINITIONS
            if lexer.position in self._definitions.places:
                return self._known_definitions(self._definitions)
        sequence = Sequence([], lexer.line())
        while True:
            char = lexer.skip()
            if lexer.aliases:
                # What stands here may become a comment.
                expand_alias(lexer)
                char = lexer.skip()
            if char in ("\n", ""):
                break
            command = self.and_or()
            char = lexer.source[lexer.position : lexer.position + 1]
            background = False
            if char == "&" or char == ";":
                if lexer.source.startswith((";;", ";&"), lexer.position):
                    raise lexer.unexpected()
                background = char == "&"
                lexer.position += 1
            elif char not in ("\n", ""):
                raise lexer.unexpected()
            sequence.items.append((command, background))
        if char == "\n":
            lexer.newline()
        elif lexer.pending:
            self._unfinished_documents()
        return sequence

    def next_line(self) -> None:
        """Go to the next line, whatever stands on this one."""
        lexer = self.lexer
        lexer.pending.clear()
        end = lexer.source.find("\n", lexer.position)
        lexer.position = end + 1 if end >= 0 else len(lexer.source)

    def _known_definitions(self, known: Definitions) -> Sequence:
        """Definitions that are known to be well formed: the bodies are parsed when they are used."""
        lexer = self.lexer
        source, extglob, posix = lexer.source, lexer.extglob, lexer.posix
        line, place = lexer.line(), known.places[lexer.position]
        items: list[tuple[Command, bool]] = []
        sequence = Sequence(items, line)
        while True:
            last = place + 1 if self.by_line else known.run_from(place)
            names, bodies, ends = known.names[place:last], known.bodies[place:last], known.ends[place:last]
            lines: abc.Sequence[int] = range(line, line + len(names))
            if source.count("\n", bodies[0], ends[-1]) >= len(names):
                spans = zip(bodies[:-1], ends[:-1], strict=True)
                lines = list(accumulate([source.count("\n", *span) + 1 for span in spans], initial=line))
            parse = _Bodies(source, lines, bodies, ends, extglob, posix)
            items += zip(map(Function, names, repeat(parse), lines), repeat(False))
            self.ends += [end + 1 for end in ends[:-1]]
            lexer.position = ends[-1]
            if lexer.skip() != "\n":
                break
            following = lexer.position + 1
            self.ends.append(following)
            if following not in known.places and not lexer.continued:
                gap = _EMPTY_LINES.match(source, following)
                following = gap.end() if gap is not None else following
            if following not in known.places or self.by_line:
                lexer.newline()
                break
            line += source.count("\n", known.starts[place], following)
            place = known.places[following]
        return sequence

    def program(self) -> Sequence:
        lexer = self.lexer
        sequence = self.sequence(_EMPTY)
        if lexer.position < len(lexer.source):
            raise lexer.unexpected()
        if lexer.pending:
            self._unfinished_documents()
        return sequence

    def _unfinished_documents(self) -> None:
        """Here-documents announced on the last line: they end with the source."""
        lexer = self.lexer
        lexer.source += "\n"
        lexer.position = len(lexer.source) - 1
        lexer.newline()

    def enclosed(self) -> Sequence:
        lexer = self.lexer
        outer, lexer.pending = lexer.pending, []
        lexer.enclosing += 1
        sequence = self.sequence(_EMPTY)
        lexer.enclosing -= 1
        if not lexer.source.startswith(")", lexer.position):
            if lexer.position >= len(lexer.source):
                raise lexer.unmatched(")")
            raise lexer.unexpected()
        lexer.position += 1
        lexer.pending = outer + lexer.pending
        return sequence

    def sequence(self, closers: frozenset[str]) -> Sequence:
        """Commands up to a reserved word of `closers`, a closing parenthesis, `;;`, or the end."""
        lexer = self.lexer
        char = lexer.newlines()
        items: list[tuple[Command, bool]] = []
        sequence = Sequence(items, lexer.line())
        closer = ""
        while char and char != ")":
            if lexer.aliases:
                # What ends the list may be an alias.
                expand_alias(lexer)
                char = lexer.newlines()
                if not char or char == ")":
                    break
            if lexer.continued:
                lexer.unfold_around(_LETTERS)
            if char in RESERVED_FIRST and closers:
                closer = _closing_word(lexer, closers)
                if closer:
                    break
            elif char == ";" and lexer.source.startswith((";;", ";&"), lexer.position):
                break
            command = self.and_or()
            source, position = lexer.source, lexer.position
            char = source[position : position + 1]
            if char == "&":
                items.append((command, True))
                lexer.position = position + 1
            else:
                items.append((command, False))
                if char == ";":
                    if source.startswith((";;", ";&"), position):
                        break
                    lexer.position = position + 1
                elif char != "\n":
                    # Behind a compound command, a reserved word needs no semicolon before it.
                    closer = _closing_word(lexer, closers)
                    break
            char = lexer.newlines()
        self.closer = closer
        return sequence

    def and_or(self) -> Command:
        """Pipelines joined by `&&` and `||`. No blank stands behind it that is not stepped over."""
        lexer = self.lexer
        plain = None if lexer.aliases else PLAIN_COMMAND.match(lexer.source, lexer.position)
        first = parse_simple(lexer, plain) if plain is not None else self.pipeline()
        position = lexer.position
        char = lexer.source[position : position + 1]
        if char != "&" and char != "|":
            return first
        if char == "|" and plain is not None:
            first = self._piped(first)
        rest: list[tuple[str, Command]] = []
        while lexer.skip() in ("&", "|") and lexer.source.startswith(("&&", "||"), lexer.position):
            source = lexer.source
            operator = source[lexer.position : lexer.position + 2]
            lexer.position += 2
            lexer.newlines()
            rest.append((operator, self.pipeline()))
        return AndOr(first, rest) if rest else first

    def pipeline(self) -> Command:
        lexer = self.lexer
        line = 0
        negated = False
        timed = ""
        marked = False
        while True:
            if lexer.aliases:
                expand_alias(lexer)
            if lexer.continued:
                lexer.unfold_around(_LETTERS)
            char = lexer.source[lexer.position : lexer.position + 1]
            if char != "!" and char != "t":
                break
            match = RESERVED_WORD.match(lexer.source, lexer.position)
            word = match.group() if match is not None else ""
            if word == "!":
                negated = not negated
            elif word == "time":
                timed = "time"
            else:
                break
            assert match is not None
            marked = True
            lexer.position = match.end()
            lexer.skip()
            if word == "time":
                option = re.compile(r"-p(?=[\s;&|()<>]|$)").match(lexer.source, lexer.position)
                if option is not None:
                    timed = "time -p"
                    lexer.position = option.end()
                    lexer.skip()
                option = re.compile(r"--(?=[\s;&|()<>]|$)").match(lexer.source, lexer.position)
                if option is not None:
                    lexer.position = option.end()
                    lexer.skip()
        if marked and lexer.skip() in ("\n", ";", ""):
            line = lexer.line()
            return Pipeline([], negated, timed, line)
        first = self.command()
        if lexer.source.startswith("|", lexer.position):
            first = self._piped(first)
        if not marked:
            return first
        if not isinstance(first, Pipeline):
            return Pipeline([first], negated, timed, lexer.line())
        first.negated = negated
        first.timed = timed
        return first

    def _piped(self, first: Command) -> Command:
        """The command, or the pipeline that it begins."""
        lexer = self.lexer
        if lexer.source.startswith("||", lexer.position):
            return first
        line = lexer.line()
        stages = [first]
        while lexer.skip() == "|" and not lexer.source.startswith("||", lexer.position):
            lexer.position += 1
            if lexer.source.startswith("&", lexer.position):
                lexer.position += 1
                _merge_outputs(stages[-1])
            lexer.newlines()
            # Here `time` is not a reserved word.
            stages.append(
                parse_simple(lexer, None) if _TIME.match(lexer.source, lexer.position) else self.command()
            )
        return Pipeline(stages, line=line)

    def command(self) -> Command:
        """One command with its redirections, and the blanks behind it."""
        lexer = self.lexer
        source, position = lexer.source, lexer.position
        char = source[position : position + 1]
        if not char or char in " \t\\#":
            char = lexer.skip()
        if lexer.aliases:
            expand_alias(lexer)
            source = lexer.source
            char = source[lexer.position : lexer.position + 1]
        if char == "(":
            return self.parenthesis()
        if char not in RESERVED_FIRST:
            return parse_simple(lexer, None if lexer.aliases else PLAIN_COMMAND.match(source, lexer.position))
        match = RESERVED_WORD.match(source, lexer.position)
        if match is None:
            return parse_simple(lexer, None if lexer.aliases else PLAIN_COMMAND.match(source, lexer.position))
        word = match.group()
        compound = parse_compound(self, word, match.end())
        if compound is None:
            raise lexer.unexpected()
        return compound

    def parenthesis(self) -> Command:
        lexer = self.lexer
        line = lexer.line()
        start = lexer.position
        if lexer.source.startswith("((", start):
            lexer.position = start + 2
            expression = lexer.arithmetic("))")
            if expression is not None:
                command = ArithmeticCommand(expression, [], line)
                command.redirects = parse_redirects(lexer)
                return command
            lexer.position = start
        lexer.position = start + 1
        body = self.sequence(_EMPTY)
        if not lexer.source.startswith(")", lexer.position) or not body.items:
            raise lexer.unexpected()
        lexer.position += 1
        subshell = Subshell(body, [], line)
        subshell.redirects = parse_redirects(lexer)
        return subshell


def _merge_outputs(command: Command) -> None:
    """`|&` behind a command: the last of its redirections sends its errors into the pipe, too."""
    if not isinstance(command, Pipeline | AndOr | Sequence | Function):
        merging = Redirect(">&", Word([Literal("1")], "1"), 2)
        command.redirects = [*command.redirects, merging]


def _closing_word(lexer: Lexer, closers: frozenset[str]) -> str:
    """Step over a reserved word of `closers`; "" when none stands here."""
    match = RESERVED_WORD.match(lexer.source, lexer.position)
    if match is None or match.group() not in closers:
        return ""
    lexer.position = match.end()
    return match.group()


class _Grammar:
    """The grammar of commands, for what stands inside words."""

    def enclosed(self, lexer: Lexer) -> Sequence:
        return Parser(lexer).enclosed()

    def program(self, lexer: Lexer) -> Sequence:
        return Parser(lexer).program()

    def function_body(self, lexer: Lexer, name: str, line: int) -> Function:
        return parse_function_body(Parser(lexer), name, line)


_GRAMMAR = _Grammar()


def lexer_of(
    source: str, *, line: int = 1, extglob: bool = False, aliases: Mapping[str, str] | None = None
) -> Lexer:
    """A lexer over source text, in whose words programs may stand; `aliases` are expanded when given."""
    # A shell has no NUL in its strings: bash drops them from what it reads.
    return Lexer(source.replace("\0", ""), line=line, extglob=extglob, grammar=_GRAMMAR, aliases=aliases)


def parser_of(source: str, *, line: int = 1, extglob: bool = False) -> Parser:
    """A parser of source text."""
    return Parser(lexer_of(source, line=line, extglob=extglob))


class _Bodies:
    """The bodies of definitions in a script, by the lines where these begin; parses one when it is called."""

    __slots__ = ("bodies", "ends", "extglob", "lines", "posix", "source")

    def __init__(
        self,
        source: str,
        lines: abc.Sequence[int],
        bodies: list[int],
        ends: list[int],
        extglob: bool,
        posix: bool,
    ) -> None:
        self.source = source
        self.lines = lines
        self.bodies = bodies
        self.ends = ends
        self.extglob = extglob
        self.posix = posix

    def __call__(self, definition: Function) -> Command:
        place = bisect_left(self.lines, definition.line)
        text = self.source[self.bodies[place] : self.ends[place]]
        parser = parser_of(text, line=definition.line, extglob=self.extglob)
        parser.lexer.posix = self.posix
        return parse_function_body(parser, definition.name, definition.line).body


def parse(source: str, *, extglob: bool = False) -> list[Sequence]:
    """All lines of a script; raises `ShellSyntaxError`."""
    parser = parser_of(source, extglob=extglob)
    units: list[Sequence] = []
    while (unit := parser.unit()) is not None:
        units.append(unit)
    return units
