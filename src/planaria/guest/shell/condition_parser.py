"""The grammar of `[[ … ]]`."""

from __future__ import annotations

import re

from .lexer import Lexer, ShellSyntaxError
from .syntax import (
    Condition,
    Literal,
    Part,
    Test,
    Word,
)

__all__ = ["RESERVED_WORD", "TOKEN", "WORD", "ConditionParser"]

RESERVED_WORD = re.compile(
    r"(?:if|then|elif|else|fi|case|esac|for|select|while|until|do|done|function|time|coproc|\{|\}|!|\[\[)"
    r"(?=[\s;&|()<>]|$)"
)

#: Operators and words, to show what was not expected.
TOKEN = re.compile(r";;&|;;|;&|;|&&|&>>|&>|&|\|\||\|&|\||<<<|<<-|<<|<&|<>|<|>>|>&|>\||>|\(|\)")
WORD = re.compile(r"[^\s;&|()<>]+")
_TEST_BINARY = re.compile(r"(==|=~|=|!=|<|>|-eq|-ne|-lt|-le|-gt|-ge|-nt|-ot|-ef)(?=[\s()]|$|[^\s=])")
_TEST_UNARY = re.compile(r"-[abcdefghkprstuwxGLNOSzRvno](?=\s)")
_REGEX_PLAIN = re.compile(r"[^\s\\'\"`$()|&;<>]+")


class ConditionParser(Lexer):
    """The part of the parser that knows conditional expressions."""

    def condition(self, line: int) -> Condition:
        extglob, self.extglob = self.extglob, True
        try:
            test = self._test_or()
            self.newlines()
            if not re.compile(r"\]\](?=[\s;&|()<>]|$)").match(self.source, self.position):
                raise self._test_error()
        finally:
            self.extglob = extglob
        self.position += 2
        return Condition(test, [], line)

    def _test_error(self) -> ShellSyntaxError:
        if self.skip() == "":
            return self.fail("unexpected EOF while looking for `]]'", incomplete=True)
        match = TOKEN.match(self.source, self.position) or WORD.match(self.source, self.position)
        token = match.group() if match is not None else "newline"
        return self.fail(f"syntax error in conditional expression: unexpected token `{token}'")

    def _test_or(self) -> Test:
        left = self._test_and()
        while self.newlines() == "|" and self.source.startswith("||", self.position):
            self.position += 2
            left = Test("||", left, self._test_and())
        return left

    def _test_and(self) -> Test:
        left = self._test_primary()
        while self.newlines() == "&" and self.source.startswith("&&", self.position):
            self.position += 2
            left = Test("&&", left, self._test_primary())
        return left

    def _test_primary(self) -> Test:
        char = self.newlines()
        source = self.source
        if char == "(":
            self.position += 1
            inner = self._test_or()
            if self.newlines() != ")":
                raise self._test_error()
            self.position += 1
            return Test("(", inner)
        if char == "!" and source[self.position + 1 : self.position + 2] in (" ", "\t", "\n", "("):
            self.position += 1
            return Test("!", self._test_primary())
        unary = _TEST_UNARY.match(source, self.position)
        if unary is not None:
            start = self.position
            self.position = unary.end()
            self.newlines()
            binary = _TEST_BINARY.match(source, self.position)
            closes = source.startswith("]]", self.position)
            if not closes and (binary is None or not source[binary.end() : binary.end() + 1].isspace()):
                operand = self.word()
                if operand is not None:
                    return Test(unary.group(), operand)
            self.position = start
        if source.startswith("]]", self.position):
            raise self._test_error()
        left = self.word()
        if left is None:
            raise self._test_error()
        char = self.skip()
        binary = _TEST_BINARY.match(source, self.position)
        if binary is None:
            if char not in ("]", "&", "|", ")", "\n", ""):
                raise self.fail("syntax error in conditional expression")
            return Test("-n", left)
        operator = binary.group(1)
        self.position = binary.end()
        self.skip()
        right = self._regex_word() if operator == "=~" else self._test_word()
        if right is None:
            raise self._test_error()
        return Test(operator, left, right)

    def _test_word(self) -> Word | None:
        return self.word()

    def _regex_word(self) -> Word | None:
        """The right side of `=~`, where parentheses and bars belong to the expression."""
        source = self.source
        start = self.position
        collected: list[Part] = []
        depth = 0
        while True:
            match = _REGEX_PLAIN.match(source, self.position)
            if match is not None:
                collected.append(Literal(match.group()))
                self.position = match.end()
            char = source[self.position : self.position + 1]
            if char == "(":
                depth += 1
            elif char == ")":
                if depth == 0:
                    break
                depth -= 1
            elif char == "|":
                if depth == 0 and source.startswith("||", self.position):
                    break
            elif char in (" ", "\t", "\n") or char in ("<", ">", ";") or char == "&":
                if depth == 0:
                    break
            elif char == "":
                break
            elif char == "\\":
                self.backslash(collected)
                continue
            else:
                collected.append(self._quote_or_dollar(char))
                continue
            collected.append(Literal(char))
            self.position += 1
        if self.position == start:
            return None
        return Word(collected, source[start : self.position])
