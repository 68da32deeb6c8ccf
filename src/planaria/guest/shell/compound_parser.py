"""The grammar of compound commands: conditions, loops, `case`, functions and coprocesses."""

from __future__ import annotations

import re

from .condition_parser import WORD
from .simple_parser import SimpleParser
from .syntax import (
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

__all__ = ["RESERVED_FIRST", "RESERVED_WORD", "CompoundParser"]

RESERVED_WORD = re.compile(
    r"(?:if|then|elif|else|fi|case|esac|for|select|while|until|do|done|function|time|coproc|\{|\}|!|\[\[)"
    r"(?=[\s;&|()<>]|$)"
)
#: What reserved words begin with.
RESERVED_FIRST = frozenset("{}![icdefstuw")

#: Words at which a list ends.
_DO = frozenset(["do"])
_DONE = frozenset(["done"])
_BRACE = frozenset(["}"])
_THEN = frozenset(["then"])
_BRANCH = frozenset(["elif", "else", "fi"])
_FI = frozenset(["fi"])
_ELIF = frozenset(["elif"])
_ELSE = frozenset(["else"])
_ESAC = frozenset(["esac"])
_OPEN = frozenset(["{"])


class CompoundParser(SimpleParser):
    """The part of the parser that knows compound commands."""

    def sequence(self, closers: frozenset[str]) -> Sequence:
        """Commands up to a reserved word of `closers`, a closing parenthesis, `;;`, or the end."""
        raise NotImplementedError

    def command(self) -> Command:
        """One command with its redirections."""
        raise NotImplementedError

    def parenthesis(self) -> Command:
        """A subshell or `(( … ))`."""
        raise NotImplementedError

    def at_reserved(self, words: frozenset[str]) -> bool:
        """Whether one of `words` stands here as a word of its own."""
        source, position = self.source, self.position
        if source[position : position + 1] not in RESERVED_FIRST:
            return False
        match = RESERVED_WORD.match(source, position)
        return match is not None and match.group() in words

    def expect(self, word: str) -> None:
        """Step over the reserved word."""
        if self.source[self.position : self.position + 1] not in RESERVED_FIRST:
            self.skip()
        match = RESERVED_WORD.match(self.source, self.position)
        if match is None or match.group() != word:
            raise self.unexpected()
        self.position = match.end()

    def body(self, closers: frozenset[str]) -> Sequence:
        """A list that must not be empty."""
        sequence = self.sequence(closers)
        if not sequence.items:
            raise self.unexpected()
        return sequence

    def compound(self, word: str, end: int) -> Command | None:
        line = self.line()
        start = self.position
        self.position = end
        command: If | While | For | ArithmeticFor | Select | Case | Group | Condition
        if word == "if":
            command = self._if(line)
        elif word in ("while", "until"):
            condition = self.body(_DO)
            self.expect("do")
            body = self.body(_DONE)
            self.expect("done")
            command = While(condition, body, word == "until", [], line)
        elif word in ("for", "select"):
            command = self._for(word, line)
        elif word == "case":
            command = self._case(line)
        elif word == "{":
            group = self.body(_BRACE)
            self.expect("}")
            command = Group(group, [], line)
        elif word == "[[":
            command = self.condition(line)
        elif word == "function":
            return self._function(line)
        elif word == "coproc":
            return self._coprocess(line)
        else:
            self.position = start
            return None
        command.redirects = self.redirects()
        return command

    def _if(self, line: int) -> If:
        branches: list[tuple[Sequence, Sequence]] = []
        otherwise: Sequence | None = None
        while True:
            condition = self.body(_THEN)
            self.expect("then")
            branches.append((condition, self.body(_BRANCH)))
            if self.at_reserved(_ELIF):
                self.position += 4
                continue
            if self.at_reserved(_ELSE):
                self.position += 4
                otherwise = self.body(_FI)
            self.expect("fi")
            return If(branches, otherwise, [], line)

    def _for(self, word: str, line: int) -> For | ArithmeticFor | Select:
        self.skip()
        if word == "for" and self.source.startswith("((", self.position):
            return self._arithmetic_for(line)
        match = WORD.match(self.source, self.position)
        if match is None:
            raise self.unexpected()
        name = match.group()
        self.position = match.end()
        words: list[Word] | None = None
        char = self.newlines()
        if re.compile(r"in(?=[\s;]|$)").match(self.source, self.position):
            self.position += 2
            words = []
            while True:
                char = self.skip()
                item = self.word()
                if item is None:
                    break
                words.append(item)
            if char not in (";", "\n"):
                raise self.unexpected()
            if char == ";":
                self.position += 1
        elif char == ";":
            self.position += 1
        self.newlines()
        body = self._loop_body()
        if word == "for":
            return For(name, words, body, [], line)
        return Select(name, words, body, [], line)

    def _loop_body(self) -> Sequence:
        """`do … done`, or the braces that bash also takes."""
        if self.at_reserved(_OPEN):
            self.position += 1
            body = self.body(_BRACE)
            self.expect("}")
        else:
            self.expect("do")
            body = self.body(_DONE)
            self.expect("done")
        return body

    def _arithmetic_for(self, line: int) -> ArithmeticFor:
        self.position += 2
        words: list[Word] = []
        for closer in (";", ";", "))"):
            self.skip()
            word = self._arithmetic_until(closer)
            if word is None:
                raise self.fail("syntax error: arithmetic expression required", incomplete=False)
            words.append(word)
        if self.skip() == ";":
            self.position += 1
        self.newlines()
        return ArithmeticFor(words[0], words[1], words[2], self._loop_body(), [], line)

    def _arithmetic_until(self, closer: str) -> Word | None:
        if closer == "))":
            return self.arithmetic("))")
        start = self.position
        depth = 0
        position = start
        while position < len(self.source):
            char = self.source[position]
            if char == "(":
                depth += 1
            elif char == ")":
                depth -= 1
            elif char == ";" and depth <= 0:
                inner = type(self)(self.source[start:position] + "))", extglob=self.extglob)
                word = inner.arithmetic("))")
                self.position = position + 1
                return word
            position += 1
        return None

    def _case(self, line: int) -> Case:
        self.skip()
        word = self.word()
        if word is None:
            raise self.unexpected()
        self.newlines()
        if not re.compile(r"in(?=\s|$)").match(self.source, self.position):
            raise self.unexpected()
        self.position += 2
        items: list[CaseItem] = []
        while True:
            char = self.newlines()
            if self.at_reserved(_ESAC):
                self.position += 4
                return Case(word, items, [], line)
            if char == "(":
                self.position += 1
                self.skip()
            patterns: list[Word] = []
            while True:
                pattern = self.word()
                if pattern is None:
                    raise self.unexpected()
                patterns.append(pattern)
                char = self.skip()
                if char == "|":
                    self.position += 1
                    self.skip()
                    continue
                if char == ")":
                    self.position += 1
                    break
                raise self.unexpected()
            body = self.sequence(_ESAC)
            end = ";;"
            self.skip()
            for operator in (";;&", ";&", ";;"):
                if self.source.startswith(operator, self.position):
                    end = operator
                    self.position += len(operator)
                    break
            else:
                if not self.at_reserved(_ESAC):
                    raise self.unexpected()
            items.append(CaseItem(patterns, body, end))

    def _function(self, line: int) -> Function:
        self.skip()
        match = WORD.match(self.source, self.position)
        if match is None:
            raise self.unexpected()
        name = match.group()
        self.position = match.end()
        if self.skip() == "(" and self.source[self.position + 1 :].lstrip(" \t").startswith(")"):
            self.position = self.source.index(")", self.position) + 1
        self.newlines()
        return self.function_body(name, line)

    def function_body(self, name: str, line: int) -> Function:
        self.newlines()
        char = self.source[self.position : self.position + 1]
        match = RESERVED_WORD.match(self.source, self.position)
        if char == "(":
            body = self.parenthesis()
        elif match is not None and match.group() in (
            "{",
            "if",
            "for",
            "while",
            "until",
            "case",
            "select",
            "[[",
        ):
            compound = self.compound(match.group(), match.end())
            assert compound is not None
            body = compound
        else:
            raise self.unexpected()
        return Function(name, body, line)

    def _coprocess(self, line: int) -> Coprocess:
        self.skip()
        match = re.compile(
            r"([A-Za-z_][A-Za-z0-9_]*)[ \t]+(?=[({]|(?:while|until|for|if|case|select)\s)"
        ).match(self.source, self.position)
        name = "COPROC"
        if match is not None and not RESERVED_WORD.match(self.source, self.position):
            name = match.group(1)
            self.position = match.end()
        return Coprocess(name, self.command(), [], line)
