"""Tests: `[[ … ]]` compiled, `test` and `[` interpreted, and the file and number tests behind both."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from typing import TYPE_CHECKING

from planaria_shell.compile.arithmetic import literal, number
from planaria_shell.compile.redirection import descriptor_of
from planaria_shell.expand.patterns import is_literal, matcher, unescape
from planaria_shell.expand.words import TextCode, WordCompiler
from planaria_shell.run.streams import flush_all
from planaria_shell.run.subscripts import key_of
from planaria_shell.run.variable import ASSOCIATIVE, NAMEREF, ReadonlyError, ShellError
from planaria_shell.syntax.nodes import Test, Word

if TYPE_CHECKING:
    from planaria_shell.run.shell import Shell

__all__ = ["TestError", "compile_test", "evaluate_test", "search"]

TestCode = Callable[["Shell"], bool]


class TestError(Exception):
    """The test cannot be evaluated."""

    def __init__(self, message: str, status: int = 2) -> None:
        super().__init__(message)
        self.message = message
        self.status = status


def _stat(shell: Shell, name: str, *, follow: bool = True) -> os.stat_result | None:
    flush_all()
    number = descriptor_of(name)
    try:
        if number is not None:
            stream = shell.fds.get(number)
            if stream is None:
                return None
            if stream.fileno() >= 0:
                return os.fstat(stream.fileno())
            return os.stat_result((stat.S_IFIFO | 0o600, 0, 0, 1, 0, 0, 0, 0, 0, 0))
        path = shell.path(name)
        return os.stat(path) if follow else os.lstat(path)
    except (OSError, ValueError):
        return None


def unary_test(shell: Shell, operator: str, operand: str) -> bool:
    """`-X operand`."""
    letter = operator[1]
    if letter == "z":
        return not operand
    if letter == "n":
        return bool(operand)
    if letter in "fdesrwxLhpSbcugkOGNa":
        if not operand:
            return False
        found = _stat(shell, operand, follow=letter not in "Lh")
        if found is None:
            return False
        return _file_test(shell, letter, operand, found)
    if letter == "v":
        return _is_set(shell, operand)
    if letter == "o":
        return shell.option_is_on(operand)
    if letter == "t":
        if not _INTEGER.match(operand):
            return False
        stream = shell.fds.get(int(operand))
        return stream is not None and stream.isatty()
    if letter == "R":
        variable = shell.table.get(operand)
        return variable is not None and bool(variable.flags & NAMEREF) and bool(variable.value)
    raise TestError(f"{operator}: unary operator expected")


def _file_test(shell: Shell, letter: str, name: str, found: os.stat_result) -> bool:
    mode = found.st_mode
    if letter in "ea":
        return True
    if letter == "f":
        return stat.S_ISREG(mode)
    if letter == "d":
        return stat.S_ISDIR(mode)
    if letter == "s":
        return found.st_size > 0
    if letter in "Lh":
        return stat.S_ISLNK(mode)
    if letter == "p":
        return stat.S_ISFIFO(mode)
    if letter == "S":
        return stat.S_ISSOCK(mode)
    if letter == "b":
        return stat.S_ISBLK(mode)
    if letter == "c":
        return stat.S_ISCHR(mode)
    if letter == "u":
        return bool(mode & stat.S_ISUID)
    if letter == "g":
        return bool(mode & stat.S_ISGID)
    if letter == "k":
        return bool(mode & stat.S_ISVTX)
    if letter in "OG":
        return True
    if letter == "N":
        return found.st_mtime_ns > found.st_atime_ns
    bit = {"r": 4, "w": 2, "x": 1}[letter]
    # The shell's user is the superuser: everything can be read and written, and run if anyone may.
    if letter == "x":
        return stat.S_ISDIR(mode) or bool(mode & 0o111)
    return bool(bit)


def _is_set(shell: Shell, name: str) -> bool:
    match = re.match(r"([A-Za-z_]\w*)(?:\[(.*)\])?\Z", name, re.DOTALL)
    if match is None:
        if name.isdecimal():
            return int(name) == 0 or int(name) <= len(shell.positional)
        return name in "@*#?$-!" and bool(name) and (name not in "@*" or bool(shell.positional))
    base, subscript = match.groups()
    if subscript is not None:
        if subscript in ("@", "*"):
            variable = shell.variables.find(base)
            return variable is not None and bool(variable.values())
        variable = shell.variables.find(base)
        if variable is not None and variable.flags & ASSOCIATIVE:
            return shell.variables.get_element(base, key_of(shell, subscript)) is not None
        return shell.variables.get_element(base, shell.expand_text(subscript)) is not None
    return shell.variables.get(base) is not None


def _files(shell: Shell, operator: str, left: str, right: str) -> bool:
    one, two = _stat(shell, left), _stat(shell, right)
    if operator == "-ef":
        return one is not None and two is not None and (one.st_dev, one.st_ino) == (two.st_dev, two.st_ino)
    if operator == "-nt":
        return one is not None and (two is None or one.st_mtime_ns > two.st_mtime_ns)
    return two is not None and (one is None or one.st_mtime_ns < two.st_mtime_ns)


_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "-eq": lambda a, b: a == b,
    "-ne": lambda a, b: a != b,
    "-lt": lambda a, b: a < b,
    "-le": lambda a, b: a <= b,
    "-gt": lambda a, b: a > b,
    "-ge": lambda a, b: a >= b,
}
_INTEGER = re.compile(r"[ \t\n]*[+-]?[0-9]+[ \t\n]*\Z")


# -- test and [ ------------------------------------------------------------------------------------


def _integer(text: str) -> int:
    value = literal(text)
    if value is not None:
        return value
    if _INTEGER.match(text):
        return int(text)
    raise TestError(f"{text}: integer expression expected")


def _binary(shell: Shell, left: str, operator: str, right: str) -> bool:
    compare = _COMPARISONS.get(operator)
    if compare is not None:
        return compare(_integer(left), _integer(right))
    if operator in ("=", "=="):
        return left == right
    if operator == "!=":
        return left != right
    if operator == "<":
        return left < right
    if operator == ">":
        return left > right
    return _files(shell, operator, left, right)


_BINARY = frozenset(["=", "==", "!=", "<", ">", "-nt", "-ot", "-ef", *_COMPARISONS])
_UNARY = frozenset(f"-{letter}" for letter in "abcdefghknoprstuvwxzGLNOSR")


def evaluate_test(shell: Shell, arguments: list[str]) -> bool:
    """The value of `test arguments`; by number of arguments, as POSIX has it, then by grammar."""
    count = len(arguments)
    if count == 3:
        operator = arguments[1]
        if operator in _BINARY:
            return _binary(shell, arguments[0], operator, arguments[2])
        if operator == "-a":
            return bool(arguments[0]) and bool(arguments[2])
        if operator == "-o":
            return bool(arguments[0]) or bool(arguments[2])
        if arguments[0] == "!":
            return not evaluate_test(shell, arguments[1:])
        if arguments[0] == "(" and arguments[2] == ")":
            return bool(arguments[1])
        raise TestError(f"{operator}: binary operator expected")
    if count == 2:
        if arguments[0] == "!":
            return not arguments[1]
        if arguments[0] in _UNARY:
            return unary_test(shell, arguments[0], arguments[1])
        raise TestError(f"{arguments[0]}: unary operator expected")
    if count == 1:
        return bool(arguments[0])
    if count == 0:
        return False
    if count == 4:
        if arguments[0] == "!":
            return not evaluate_test(shell, arguments[1:])
        if arguments[0] == "(" and arguments[3] == ")":
            return evaluate_test(shell, arguments[1:3])
    return _TestParser(shell, arguments).value()


class _TestParser:
    """`test` with many arguments: `-o` below `-a` below `!`."""

    def __init__(self, shell: Shell, arguments: list[str]) -> None:
        self.shell = shell
        self.arguments = arguments
        self.position = 0

    def value(self) -> bool:
        result = self.either()
        if self.position < len(self.arguments):
            word = self.arguments[self.position]
            raise TestError(f"syntax error: `{word}' unexpected" if word[:1] == "-" else "too many arguments")
        return result

    def peek(self) -> str | None:
        return self.arguments[self.position] if self.position < len(self.arguments) else None

    def either(self) -> bool:
        result = self.both()
        while self.peek() == "-o":
            self.position += 1
            right = self.both()
            result = result or right
        return result

    def both(self) -> bool:
        result = self.primary()
        while self.peek() == "-a":
            self.position += 1
            right = self.primary()
            result = result and right
        return result

    def primary(self) -> bool:
        arguments, position = self.arguments, self.position
        if position >= len(arguments):
            raise TestError("argument expected")
        first = arguments[position]
        if first == "!":
            self.position += 1
            return not self.primary()
        if position + 2 < len(arguments) and arguments[position + 1] in _BINARY:
            self.position += 3
            return _binary(self.shell, first, arguments[position + 1], arguments[position + 2])
        if first == "(":
            self.position += 1
            result = self.either()
            following = self.peek()
            if following != ")":
                raise TestError("`)' expected" if following is None else f"`)' expected, found {following}")
            self.position += 1
            return result
        if first in _UNARY and position + 1 < len(arguments):
            self.position += 2
            return unary_test(self.shell, first, arguments[position + 1])
        self.position += 1
        return bool(first)


# -- [[ ]] -----------------------------------------------------------------------------------------


def compile_test(test: Test, words: WordCompiler, *, shown: bool = False, negated: bool = False) -> TestCode:
    """The function that evaluates a conditional expression; `shown`: for `set -x`, which shows each of its
    parts when it is evaluated (`negated`: with a `!` before it)."""
    operator, left, right = test.operator, test.left, test.right
    if operator in ("!", "(", "&&", "||"):
        assert isinstance(left, Test)
        first = compile_test(left, words, shown=shown, negated=operator == "!" and not negated)
        if operator == "!":
            return lambda sh: not first(sh)
        if operator == "(":
            return first
        assert isinstance(right, Test)
        second = compile_test(right, words, shown=shown)
        if operator == "&&":
            return lambda sh: first(sh) and second(sh)
        return lambda sh: first(sh) or second(sh)
    assert isinstance(left, Word)
    text = words.text(left)
    if right is None:
        return _showing(operator, text, None, negated) if shown else _compile_unary(operator, text)
    assert isinstance(right, Word)
    if operator in ("==", "=", "!="):
        other = words.pattern(right)
    elif operator == "=~":
        other = words.regex(right)
    else:
        other = words.text(right)
    return _showing(operator, text, other, negated) if shown else _compile_binary(operator, text, other)


def _showing(operator: str, left: TextCode, right: TextCode | None, negated: bool) -> TestCode:
    """A part of a condition that shows itself as `set -x` does, with its operands expanded once."""
    mark = "! " if negated else ""

    def test(sh: Shell) -> bool:
        text = left(sh)
        if right is None:
            sh.trace_line(f"[[ {mark}{operator} {text or repr(text)} ]]")
            return _compile_unary(operator, lambda _: text)(sh)
        other = right(sh)
        sh.trace_line(f"[[ {mark}{text or repr(text)} {operator} {other or repr(other)} ]]")
        return _compile_binary(operator, lambda _: text, lambda _: other)(sh)

    return test


def _compile_unary(operator: str, text: TextCode) -> TestCode:
    if operator == "-n":
        return lambda sh: bool(text(sh))
    if operator == "-z":
        return lambda sh: not text(sh)
    return lambda sh: unary_test(sh, operator, text(sh))


def _compile_binary(operator: str, text: TextCode, other: TextCode) -> TestCode:
    if operator in ("==", "=", "!="):
        return _compile_match(text, other, negated=operator == "!=")
    if operator == "=~":
        return _compile_regex(text, other)
    if operator == "<":
        return lambda sh: text(sh) < other(sh)
    if operator == ">":
        return lambda sh: text(sh) > other(sh)
    compare = _COMPARISONS.get(operator)
    if compare is not None:
        return _compile_comparison(compare, text, other)
    return lambda sh: _files(sh, operator, text(sh), other(sh))


def _compile_comparison(compare: Callable[[int, int], bool], left: TextCode, right: TextCode) -> TestCode:
    def holds(sh: Shell) -> bool:
        first, second = left(sh), right(sh)
        try:
            return compare(number(sh, first), number(sh, second))
        except ShellError as error:
            raise failed_operand(error) from None

    return holds


def failed_operand(error: ShellError) -> Exception:
    """What to raise for the error of an operand of `-eq` and its like, which ends no more than `[[ ]]`."""
    if error.fatal:
        return error
    return TestError(error.message if isinstance(error, ReadonlyError) else f"[[: {error.message}", 1)


def _compile_match(text: TextCode, pattern: TextCode, *, negated: bool) -> TestCode:
    constant = getattr(pattern, "constant", None)
    if constant is not None and is_literal(constant, extglob=True):
        wanted = unescape(constant)

        def same(sh: Shell) -> bool:
            subject = text(sh)
            equal = subject == wanted
            if not equal and "nocasematch" in sh.shopts:
                equal = subject.lower() == wanted.lower()
            return equal is not negated

        return same

    def matches(sh: Shell) -> bool:
        subject = text(sh)
        return matcher(pattern(sh), True, "nocasematch" in sh.shopts)(subject) is not negated

    return matches


def _compile_regex(text: TextCode, regex: TextCode) -> TestCode:
    return lambda sh: search(sh, text(sh), regex(sh))


def search(shell: Shell, subject: str, source: str) -> bool:
    """`[[ subject =~ source ]]`, which sets BASH_REMATCH."""
    from planaria_shell.toolkit.regex.posix import RegexError, compile_extended

    try:
        expression = compile_extended(source, ignore_case="nocasematch" in shell.shopts)
    except RegexError:
        raise TestError("", 2) from None
    match = expression.search(subject)
    shell.set_matches([match.group(), *(group or "" for group in match.groups())] if match else [])
    return match is not None
