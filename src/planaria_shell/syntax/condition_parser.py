"""The grammar of `[[ … ]]`."""

from __future__ import annotations

import re

from planaria_shell.syntax.lexer import PLAIN_WORD, WORDS, Lexer, ShellSyntaxError
from planaria_shell.syntax.nodes import Condition, Literal, Part, Test, Word

__all__ = ["RESERVED_WORD", "TOKEN", "WORD", "ConditionParser"]

RESERVED_WORD = re.compile(
    r"(?:if|then|elif|else|fi|case|esac|for|select|while|until|do|done|in|function|time|coproc|\{|\}|!|\[\[|\]\])"
    r"(?=[\s;&|()<>]|$)"
)

#: Operators and words, to show what was not expected.
TOKEN = re.compile(r";;&|;;|;&|;|&&|&>>|&>|&|\|\||\|&|\||<<<|<<-|<<|<&|<>|<|>>|>&|>\||>|\(|\)")
WORD = re.compile(r"[^\s;&|()<>]+")
_BINARY = re.compile(
    r"(?:==|=~|=|!=|-(?:eq|ne|lt|le|gt|ge|nt|ot|ef))(?=[ \t\n;&|()<>]|\Z)|<(?![<(&])|>(?![>(&|])"
)
_UNARY = re.compile(r"-[abcdefghkprstuwxGLNOSzRvno](?=[ \t\n;&|()<>]|\Z)")
_END = re.compile(r"\]\](?=[ \t\n;&|()<>]|\Z)")
#: A test of plain words, up to what ends it.
_PLAIN_TEST = re.compile(
    rf"(?:(-[a-zA-Z])[ \t]++({PLAIN_WORD})"
    rf"|({PLAIN_WORD})[ \t]++(==|=|!=|-eq|-ne|-lt|-le|-gt|-ge|<|>)[ \t]++({PLAIN_WORD}))"
    r"[ \t]*+(?=\]\]|&&|\|\|)"
)
_REGEX_PLAIN = re.compile(r"[^\s\\'\"`$()|&;<>]+")


class ConditionParser(Lexer):
    """The part of the parser that knows conditional expressions."""

    def condition(self, line: int) -> Condition:
        extglob, self.extglob = self.extglob, True
        try:
            test = self._test_or()
            self.newlines()
            if not _END.match(self.source, self.position):
                raise self._test_error()
        finally:
            self.extglob = extglob
        self.position += 2
        return Condition(test, [], line)

    def _test_error(self) -> ShellSyntaxError:
        if self.skip() == "":
            return self.fail("unexpected EOF while looking for `]]'", incomplete=True)
        token = self._token()
        if token is None:
            return self._wrong("syntax error in conditional expression")
        return self._wrong(f"syntax error in conditional expression: unexpected token `{token}'")

    def _token(self) -> str | None:
        """The operator at the current position; None when a word is there."""
        char = self.skip()
        if char in ("", "\n"):
            return "newline"
        match = TOKEN.match(self.source, self.position) or _END.match(self.source, self.position)
        return match.group() if match is not None else None

    def _wrong(self, message: str) -> ShellSyntaxError:
        """An error after which bash reads no more of its input."""
        error = self.fail(message, incomplete=self.position >= len(self.source))
        error.ends_input = not error.incomplete
        return error

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
        plain = _PLAIN_TEST.match(source, self.position)
        if plain is not None:
            test = self._plain_test(plain)
            if test is not None:
                return test
        if char == "":
            error = self.fail("unexpected token `EOF' in conditional command", incomplete=True)
            error.line += 1
            raise error
        if char == "(":
            self.position += 1
            try:
                inner = self._test_or()
            except ShellSyntaxError as error:
                error.message += "\nexpected `)'"
                raise
            if self.newlines() != ")":
                token = self._token()
                raise self._wrong(f"unexpected token `{token}', expected `)'" if token else "expected `)'")
            self.position += 1
            return Test("(", inner)
        if char == "!" and source[self.position + 1 : self.position + 2] in (" ", "\t", "\n", "("):
            self.position += 1
            return Test("!", self._test_primary())
        if _END.match(source, self.position):
            # bash says nothing here.
            raise self._wrong("")
        unary = _UNARY.match(source, self.position)
        if unary is not None:
            self.position = unary.end()
            return Test(unary.group(), self._test_operand("unary"))
        left = self.word()
        if left is None:
            raise self._wrong(f"unexpected token `{self._token()}' in conditional command")
        char = self.skip()
        binary = _BINARY.match(source, self.position)
        if binary is None:
            if (
                _END.match(source, self.position)
                or char == ")"
                or source.startswith(("&&", "||"), self.position)
            ):
                return Test("-n", left)
            token = self._token()
            what = f"unexpected token `{token}', " if token else ""
            raise self._wrong(f"{what}conditional binary operator expected")
        operator = binary.group()
        self.position = binary.end()
        return Test(operator, left, self._test_operand("binary", regex=operator == "=~"))

    def _plain_test(self, plain: re.Match[str]) -> Test | None:
        """A test all of whose words are plain; None when it has to be looked at more closely."""
        unary, operand, left, operator, right = plain.groups()
        try:
            if unary is not None:
                if not _UNARY.fullmatch(unary):
                    return None
                test = Test(unary, WORDS[operand])
            elif left == "!" or _UNARY.fullmatch(left):
                return None
            else:
                test = Test(operator, WORDS[left], WORDS[right])
        except KeyError:
            return None
        self.position = plain.end()
        return test

    def _test_operand(self, kind: str, *, regex: bool = False) -> Word:
        char = self.skip()
        word = None
        if char and char != "\n" and not _END.match(self.source, self.position):
            word = self._regex_word() if regex else self.word()
        if word is None:
            raise self._wrong(f"unexpected argument `{self._token()}' to conditional {kind} operator")
        return word

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
