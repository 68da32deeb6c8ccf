"""The grammar of `[[ … ]]`."""

from __future__ import annotations

import re

from planaria_shell.errors import ShellSyntaxError
from planaria_shell.syntax.lexer import PLAIN_WORD, TOKEN, WORDS, Lexer
from planaria_shell.syntax.nodes import Condition, Literal, Part, Test, Word

__all__ = ["parse_condition"]


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
#: What an operator can be made of.
_OPERATOR = re.compile(r"[-=!<>~a-zA-Z]+")
_REGEX_PLAIN = re.compile(r"[^\s\\'\"`$()|&;<>]+")


def parse_condition(lexer: Lexer, line: int) -> Condition:
    extglob, lexer.extglob = lexer.extglob, True
    try:
        test = _test_or(lexer)
        lexer.newlines()
        if lexer.continued:
            lexer.unfold(lexer.position + 1)
        if not _END.match(lexer.source, lexer.position):
            raise _test_error(lexer)
    finally:
        lexer.extglob = extglob
    lexer.position += 2
    if lexer.continued:
        lexer.unfold(lexer.position)
    return Condition(test, [], line)


def _test_error(lexer: Lexer) -> ShellSyntaxError:
    if lexer.skip() == "":
        return lexer.fail("unexpected EOF while looking for `]]'", incomplete=True)
    token = _token(lexer)
    if token is None:
        return _wrong(lexer, "syntax error in conditional expression")
    return _wrong(lexer, f"syntax error in conditional expression: unexpected token `{token}'")


def _token(lexer: Lexer) -> str | None:
    """The operator at the current position; None when a word is there."""
    char = lexer.skip()
    if char in ("", "\n"):
        return "newline"
    match = TOKEN.match(lexer.source, lexer.position) or _END.match(lexer.source, lexer.position)
    return match.group() if match is not None else None


def _wrong(lexer: Lexer, message: str) -> ShellSyntaxError:
    """An error after which bash reads no more of its input."""
    error = lexer.fail(message, incomplete=not lexer.source[lexer.position :].strip())
    error.ends_input = not error.incomplete
    return error


def _joined_by(lexer: Lexer, operator: str) -> bool:
    """Whether the operator stands here."""
    if lexer.newlines() != operator[0]:
        return False
    if lexer.continued:
        lexer.unfold(lexer.position + 1)
    return lexer.source.startswith(operator, lexer.position)


def _test_or(lexer: Lexer) -> Test:
    left = _test_and(lexer)
    while _joined_by(lexer, "||"):
        lexer.position += 2
        left = Test("||", left, _test_and(lexer))
    return left


def _test_and(lexer: Lexer) -> Test:
    left = _test_primary(lexer)
    while _joined_by(lexer, "&&"):
        lexer.position += 2
        left = Test("&&", left, _test_primary(lexer))
    return left


def _test_primary(lexer: Lexer) -> Test:
    char = lexer.newlines()
    lexer.unfold_around(_OPERATOR)
    source = lexer.source
    plain = _PLAIN_TEST.match(source, lexer.position)
    if plain is not None:
        test = _plain_test(lexer, plain)
        if test is not None:
            return test
    if char == "":
        error = lexer.fail("unexpected token `EOF' in conditional command", incomplete=True)
        error.line += 1
        raise error
    if char == "(":
        lexer.position += 1
        try:
            inner = _test_or(lexer)
        except ShellSyntaxError as error:
            error.message += "\nexpected `)'"
            raise
        if lexer.newlines() != ")":
            token = _token(lexer)
            raise _wrong(lexer, f"unexpected token `{token}', expected `)'" if token else "expected `)'")
        lexer.position += 1
        return Test("(", inner)
    if char == "!" and source[lexer.position + 1 : lexer.position + 2] in (" ", "\t", "\n", "("):
        lexer.position += 1
        return Test("!", _test_primary(lexer))
    if _END.match(source, lexer.position):
        # bash says nothing here.
        raise _wrong(lexer, "")
    unary = _UNARY.match(source, lexer.position)
    if unary is not None:
        lexer.position = unary.end()
        return Test(unary.group(), _test_operand(lexer, "unary"))
    left = lexer.word()
    if left is None:
        raise _wrong(lexer, f"unexpected token `{_token(lexer)}' in conditional command")
    char = lexer.skip()
    lexer.unfold_around(_OPERATOR)
    source = lexer.source
    binary = _BINARY.match(source, lexer.position)
    if binary is None:
        if (
            _END.match(source, lexer.position)
            or char == ")"
            or source.startswith(("&&", "||"), lexer.position)
        ):
            return Test("-n", left)
        token = _token(lexer)
        what = f"unexpected token `{token}', " if token else ""
        raise _wrong(lexer, f"{what}conditional binary operator expected")
    operator = binary.group()
    lexer.position = binary.end()
    return Test(operator, left, _test_operand(lexer, "binary", regex=operator == "=~"))


def _plain_test(lexer: Lexer, plain: re.Match[str]) -> Test | None:
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
    lexer.position = plain.end()
    return test


def _test_operand(lexer: Lexer, kind: str, *, regex: bool = False) -> Word:
    char = lexer.skip()
    word = None
    if char and char != "\n" and not _END.match(lexer.source, lexer.position):
        word = _regex_word(lexer) if regex else lexer.word()
    if word is None:
        raise _wrong(lexer, f"unexpected argument `{_token(lexer)}' to conditional {kind} operator")
    return word


def _regex_word(lexer: Lexer) -> Word | None:
    """The right side of `=~`, where parentheses and bars belong to the expression."""
    source = lexer.source
    start = lexer.position
    collected: list[Part] = []
    depth = 0
    while True:
        match = _REGEX_PLAIN.match(source, lexer.position)
        if match is not None:
            collected.append(Literal(match.group()))
            lexer.position = match.end()
        char = source[lexer.position : lexer.position + 1]
        if char == "(":
            depth += 1
        elif char == ")":
            if depth == 0:
                break
            depth -= 1
        elif char == "|":
            if depth == 0 and source.startswith("||", lexer.position):
                break
        elif char in (" ", "\t", "\n") or char in ("<", ">", ";") or char == "&":
            if depth == 0:
                break
        elif char == "":
            break
        elif char == "\\":
            lexer.backslash(collected)
            continue
        else:
            collected.append(lexer._quote_or_dollar(char))
            continue
        collected.append(Literal(char))
        lexer.position += 1
    if lexer.position == start:
        return None
    return Word(collected, source[start : lexer.position])
