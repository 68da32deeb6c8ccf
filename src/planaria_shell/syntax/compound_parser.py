"""The grammar of compound commands: conditions, loops, `case`, functions and coprocesses."""

from __future__ import annotations

import re

from planaria_shell.syntax.condition_parser import RESERVED_WORD, WORD
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
from planaria_shell.syntax.simple_parser import SimpleParser

__all__ = ["RESERVED_FIRST", "CompoundParser"]

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


class CompoundParser(SimpleParser):
    """The part of the parser that knows compound commands."""

    #: The reserved word at which the last list ended, which was stepped over; "" when it ended otherwise.
    closer: str

    def sequence(self, closers: frozenset[str]) -> Sequence:
        """Commands up to a reserved word of `closers`, a closing parenthesis, `;;`, or the end."""
        raise NotImplementedError

    def command(self) -> Command:
        """One command with its redirections."""
        raise NotImplementedError

    def parenthesis(self) -> Command:
        """A subshell or `(( … ))`."""
        raise NotImplementedError

    def reserved(self, word: str) -> bool:
        """Step over the reserved word if it stands here."""
        match = RESERVED_WORD.match(self.source, self.position)
        if match is None or match.group() != word:
            return False
        self.position = match.end()
        return True

    def body(self, closers: frozenset[str]) -> Sequence:
        """A list that must not be empty and ends at one of the reserved words, which is stepped over."""
        sequence = self.sequence(closers)
        if not self.closer:
            raise self.unexpected()
        if not sequence.items:
            self.position -= len(self.closer)
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
            command = While(condition, self.body(_DONE), word == "until", [], line)
        elif word in ("for", "select"):
            command = self._for(word, line)
        elif word == "case":
            command = self._case(line)
        elif word == "{":
            command = Group(self.body(_BRACE), [], line)
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
            branches.append((self.body(_THEN), self.body(_BRANCH)))
            if self.closer == "elif":
                continue
            if self.closer == "else":
                otherwise = self.body(_FI)
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
        if self.reserved("{"):
            return self.body(_BRACE)
        if not self.reserved("do"):
            raise self.unexpected()
        return self.body(_DONE)

    def _arithmetic_for(self, line: int) -> ArithmeticFor:
        start = self.position
        self.position += 2
        whole = self.arithmetic("))")
        if whole is None:
            raise self.unmatched(")", start)
        texts = self._between_semicolons(whole.source, line)
        if len(texts) != 3:
            shown = self.source[start : self.position]
            what = "`;' unexpected" if len(texts) > 3 else "arithmetic expression required"
            raise self.fail(f"syntax error: {what}\nsyntax error: `{shown}'", show=False)
        words = []
        for text in texts:
            inner = self.inner(text.lstrip() + "))", line)
            word = inner.arithmetic("))")
            assert word is not None
            words.append(word)
        if self.skip() == ";":
            self.position += 1
        self.newlines()
        return ArithmeticFor(words[0], words[1], words[2], self._loop_body(), [], line)

    def _between_semicolons(self, text: str, line: int) -> list[str]:
        """The expressions of `for ((…))`."""
        inner = self.inner(text + ";", line)
        texts: list[str] = []
        while inner.position < len(inner.source):
            start = inner.position
            inner.arithmetic(";")
            texts.append(inner.source[start : inner.position - 1])
        return texts

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
            if self.reserved("esac"):
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
            if self.closer:
                items.append(CaseItem(patterns, body, ";;"))
                return Case(word, items, [], line)
            for operator in (";;&", ";&", ";;"):
                if self.source.startswith(operator, self.position):
                    self.position += len(operator)
                    break
            else:
                raise self.unexpected()
            items.append(CaseItem(patterns, body, operator))

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
        elif match is not None and match.group() in _COMPOUND:
            compound = self.compound(match.group(), match.end())
            assert compound is not None
            body = compound
        else:
            raise self.unexpected()
        return Function(name, body, line)

    def _coprocess(self, line: int) -> Coprocess:
        self.skip()
        match = _COPROCESS_NAME.match(self.source, self.position)
        if match is None or RESERVED_WORD.match(self.source, self.position):
            return Coprocess("COPROC", self.command(), [], line)
        self.position = match.end()
        word = RESERVED_WORD.match(self.source, self.position)
        if word is None and not self.source.startswith("(", self.position):
            # What looks like a name is the command.
            self.position = match.start()
            return Coprocess("COPROC", self.command(), [], line)
        if word is not None and word.group() not in _COMPOUND:
            raise self.unexpected()
        return Coprocess(match.group(1), self.command(), [], line)
