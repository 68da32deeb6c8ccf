"""The grammar of compound commands: conditions, loops, `case`, functions and coprocesses."""

from __future__ import annotations

import re
from typing import Protocol

from planaria_shell.syntax.conditions import parse_condition
from planaria_shell.syntax.lexer import RESERVED_WORD, WORD, Lexer
from planaria_shell.syntax.nodes import (
    ArithmeticFor,
    Case,
    CaseItem,
    Command,
    Condition,
    Coprocess,
    For,
    Function,
    Group,
    If,
    Select,
    Sequence,
    While,
    Word,
)
from planaria_shell.syntax.simple_commands import expand_next_alias, parse_redirects

__all__ = ["RESERVED_FIRST", "CommandParser", "parse_compound", "parse_function_body"]

#: What reserved words begin with.
RESERVED_FIRST = frozenset("{}![]icdefstuw")


_COPROCESS_NAME = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)[ \t]+")
#: What compound commands begin with.
_COMPOUND = frozenset(["{", "if", "for", "while", "until", "case", "select", "[["])
#: Words at which a list ends.
_DO = frozenset(["do"])
_DONE = frozenset(["done"])
_BRACE = frozenset(["}"])
_THEN = frozenset(["then"])
_BRANCH = frozenset(["elif", "else", "fi"])
_FI = frozenset(["fi"])
_ESAC = frozenset(["esac"])


class CommandParser(Protocol):
    """What parses the commands inside a compound command."""

    lexer: Lexer
    #: The reserved word at which the last list ended, which was stepped over; "" when it ended otherwise.
    closer: str

    def sequence(self, closers: frozenset[str]) -> Sequence:
        """Commands up to a reserved word of `closers`, a closing parenthesis, `;;`, or the end."""

    def command(self) -> Command:
        """One command with its redirections."""

    def parenthesis(self) -> Command:
        """A subshell or `(( … ))`."""


def reserved(parser: CommandParser, word: str) -> bool:
    """Step over the reserved word if it stands here."""
    lexer = parser.lexer
    match = RESERVED_WORD.match(lexer.source, lexer.position)
    if match is None or match.group() != word:
        return False
    lexer.position = match.end()
    return True


def body(parser: CommandParser, closers: frozenset[str]) -> Sequence:
    """A list that must not be empty and ends at one of the reserved words, which is stepped over."""
    lexer = parser.lexer
    sequence = parser.sequence(closers)
    if not parser.closer:
        raise lexer.unexpected()
    if not sequence.items:
        lexer.position -= len(parser.closer)
        raise lexer.unexpected()
    return sequence


def parse_compound(parser: CommandParser, word: str, end: int) -> Command | None:
    lexer = parser.lexer
    line = lexer.line()
    start = lexer.position
    lexer.position = end
    command: If | While | For | ArithmeticFor | Select | Case | Group | Condition
    if word == "if":
        command = _if(parser, line)
    elif word in ("while", "until"):
        condition = body(parser, _DO)
        command = While(condition, body(parser, _DONE), word == "until", [], line)
    elif word in ("for", "select"):
        command = _for(parser, word, line)
    elif word == "case":
        command = _case(parser, line)
    elif word == "{":
        command = Group(body(parser, _BRACE), [], line)
    elif word == "[[":
        command = parse_condition(lexer, line)
    elif word == "function":
        return _function(parser, line)
    elif word == "coproc":
        return _coprocess(parser, line)
    else:
        lexer.position = start
        return None
    command.redirects = parse_redirects(lexer)
    return command


def _if(parser: CommandParser, line: int) -> If:
    branches: list[tuple[Sequence, Sequence]] = []
    otherwise: Sequence | None = None
    while True:
        branches.append((body(parser, _THEN), body(parser, _BRANCH)))
        if parser.closer == "elif":
            continue
        if parser.closer == "else":
            otherwise = body(parser, _FI)
        return If(branches, otherwise, [], line)


def _for(parser: CommandParser, word: str, line: int) -> For | ArithmeticFor | Select:
    lexer = parser.lexer
    lexer.skip()
    if word == "for" and lexer.source.startswith("((", lexer.position):
        return _arithmetic_for(parser, line)
    expand_next_alias(lexer)
    match = WORD.match(lexer.source, lexer.position)
    if match is None:
        raise lexer.unexpected(on_line=True)
    name = match.group()
    lexer.position = match.end()
    words: list[Word] | None = None
    char = lexer.newlines()
    expand_next_alias(lexer)
    if re.compile(r"in(?=[\s;]|$)").match(lexer.source, lexer.position):
        lexer.position += 2
        words = []
        while True:
            expand_next_alias(lexer)
            char = lexer.skip()
            item = lexer.word()
            if item is None:
                break
            words.append(item)
        if char not in (";", "\n"):
            raise lexer.unexpected()
        if char == ";":
            lexer.position += 1
    elif char == ";":
        lexer.position += 1
    lexer.newlines()
    body = _loop_body(parser)
    if word == "for":
        return For(name, words, body, [], line)
    return Select(name, words, body, [], line)


def _loop_body(parser: CommandParser) -> Sequence:
    """`do … done`, or the braces that bash also takes."""
    lexer = parser.lexer
    if reserved(parser, "{"):
        return body(parser, _BRACE)
    if not reserved(parser, "do"):
        raise lexer.unexpected()
    return body(parser, _DONE)


def _arithmetic_for(parser: CommandParser, line: int) -> ArithmeticFor:
    lexer = parser.lexer
    start = lexer.position
    lexer.position += 2
    whole = lexer.arithmetic("))")
    if whole is None:
        raise lexer.unmatched(")", start)
    texts = _between_semicolons(parser, whole.source, line)
    if len(texts) != 3:
        shown = lexer.source[start : lexer.position]
        what = "`;' unexpected" if len(texts) > 3 else "arithmetic expression required"
        raise lexer.fail(f"syntax error: {what}\nsyntax error: `{shown}'", show=False)
    words = []
    for text in texts:
        inner = lexer.inner(text.lstrip() + "))", line)
        word = inner.arithmetic("))")
        assert word is not None
        words.append(word)
    if lexer.skip() == ";":
        lexer.position += 1
    lexer.newlines()
    return ArithmeticFor(words[0], words[1], words[2], _loop_body(parser), [], line)


def _between_semicolons(parser: CommandParser, text: str, line: int) -> list[str]:
    """The expressions of `for ((…))`."""
    lexer = parser.lexer
    inner = lexer.inner(text + ";", line)
    texts: list[str] = []
    while inner.position < len(inner.source):
        start = inner.position
        inner.arithmetic(";")
        texts.append(inner.source[start : inner.position - 1])
    return texts


def _case(parser: CommandParser, line: int) -> Case:
    lexer = parser.lexer
    lexer.skip()
    word = lexer.word()
    if word is None:
        raise lexer.unexpected(on_line=True)
    lexer.newlines()
    if not re.compile(r"in(?=[\s(]|$)").match(lexer.source, lexer.position):
        raise lexer.unexpected()
    lexer.position += 2
    items: list[CaseItem] = []
    while True:
        char = lexer.newlines()
        if reserved(parser, "esac"):
            return Case(word, items, [], line)
        opened = char == "("
        if opened:
            lexer.position += 1
            lexer.skip()
        patterns: list[Word] = []
        while True:
            pattern = lexer.word()
            if pattern is None:
                raise lexer.unexpected(on_line=opened or bool(patterns))
            patterns.append(pattern)
            char = lexer.skip()
            if char == "|":
                lexer.position += 1
                lexer.skip()
                continue
            if char == ")":
                lexer.position += 1
                break
            raise lexer.unexpected(on_line=True)
        body = parser.sequence(_ESAC)
        if parser.closer:
            items.append(CaseItem(patterns, body, ";;"))
            return Case(word, items, [], line)
        for operator in (";;&", ";&", ";;"):
            if lexer.source.startswith(operator, lexer.position):
                lexer.position += len(operator)
                break
        else:
            raise lexer.unexpected()
        items.append(CaseItem(patterns, body, operator))


def _function(parser: CommandParser, line: int) -> Function:
    lexer = parser.lexer
    lexer.skip()
    match = WORD.match(lexer.source, lexer.position)
    if match is None:
        raise lexer.unexpected(on_line=True)
    name = match.group()
    lexer.position = match.end()
    if lexer.skip() == "(" and lexer.source[lexer.position + 1 :].lstrip(" \t").startswith(")"):
        lexer.position = lexer.source.index(")", lexer.position) + 1
    lexer.newlines()
    return parse_function_body(parser, name, line)


def parse_function_body(parser: CommandParser, name: str, line: int) -> Function:
    lexer = parser.lexer
    lexer.newlines()
    char = lexer.source[lexer.position : lexer.position + 1]
    match = RESERVED_WORD.match(lexer.source, lexer.position)
    if char == "(":
        body = parser.parenthesis()
    elif match is not None and match.group() in _COMPOUND:
        compound = parse_compound(parser, match.group(), match.end())
        assert compound is not None
        body = compound
    else:
        raise lexer.unexpected()
    return Function(name, body, line)


def _coprocess(parser: CommandParser, line: int) -> Coprocess:
    lexer = parser.lexer
    if not lexer.skip():
        raise lexer.unexpected(on_line=True)
    match = _COPROCESS_NAME.match(lexer.source, lexer.position)
    if match is None or RESERVED_WORD.match(lexer.source, lexer.position):
        return Coprocess("COPROC", parser.command(), [], line)
    lexer.position = match.end()
    word = RESERVED_WORD.match(lexer.source, lexer.position)
    if word is None and not lexer.source.startswith("(", lexer.position):
        # What looks like a name is the command.
        lexer.position = match.start()
        return Coprocess("COPROC", parser.command(), [], line)
    if word is not None and word.group() not in _COMPOUND:
        raise lexer.unexpected()
    return Coprocess(match.group(1), parser.command(), [], line)
