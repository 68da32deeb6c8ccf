"""The operators of `test`, `[` and `[[` (bash(1), CONDITIONAL EXPRESSIONS)."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable

from planaria_shell.errors import ReadonlyError, ShellError
from planaria_shell.expand.arithmetic import literal
from planaria_shell.expand.subscripts import key_of
from planaria_shell.state.interpreter import Interpreter
from planaria_shell.state.process_files import descriptor_in, is_descriptors, process_exists
from planaria_shell.state.streams import flush_all
from planaria_shell.state.variable import ASSOCIATIVE, NAMEREF
from planaria_shell.toolkit.regex.posix import RegexError, compile_extended

__all__ = [
    "COMPARISONS",
    "TestError",
    "compare_files",
    "evaluate_test",
    "failed_operand",
    "search",
    "unary_test",
]

COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "-eq": lambda a, b: a == b,
    "-ne": lambda a, b: a != b,
    "-lt": lambda a, b: a < b,
    "-le": lambda a, b: a <= b,
    "-gt": lambda a, b: a > b,
    "-ge": lambda a, b: a >= b,
}

_UNARY = frozenset(f"-{letter}" for letter in "abcdefghknoprstuvwxzGLNOSR")
_BINARY = frozenset(["=", "==", "!=", "<", ">", "-nt", "-ot", "-ef", *COMPARISONS])
_INTEGER = re.compile(r"[ \t\n]*[+-]?[0-9]+[ \t\n]*\Z")


class TestError(Exception):
    """The test cannot be evaluated."""

    def __init__(self, message: str, status: int = 2) -> None:
        super().__init__(message)
        self.message = message
        self.status = status


def _stat(shell: Interpreter, name: str, *, follow: bool = True) -> os.stat_result | None:
    flush_all()
    try:
        if name.startswith(("/dev/", "/proc/")) and (found := _special(shell, name, follow)) is not None:
            return found[0]
        path = shell.path(name)
        return os.stat(path) if follow else os.lstat(path)
    except (OSError, ValueError):
        return None


def _special(shell: Interpreter, name: str, follow: bool) -> tuple[os.stat_result | None] | None:
    """What is behind the name of a descriptor or of a process, which may be nothing; None of other names."""
    number = descriptor_in(shell, name)
    if name.startswith("/proc/"):
        if is_descriptors(shell, name):
            return (os.stat("/"),)
        if not follow and number in shell.fds:
            return (os.stat_result((stat.S_IFLNK | 0o700, 0, 0, 1, 0, 0, 0, 0, 0, 0)),)
        exists = process_exists(shell, name)
        if exists is not None:
            return (os.stat("/") if exists else None,)
    if number is None:
        return None
    stream = shell.fds.get(number)
    if stream is None:
        return (None,)
    if stream.fileno() >= 0:
        return (os.fstat(stream.fileno()),)
    return (os.stat_result((stat.S_IFIFO | 0o600, 0, 0, 1, 0, 0, 0, 0, 0, 0)),)


def unary_test(shell: Interpreter, operator: str, operand: str) -> bool:
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


def _file_test(shell: Interpreter, letter: str, name: str, found: os.stat_result) -> bool:
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


def _is_set(shell: Interpreter, name: str) -> bool:
    match = re.match(r"([A-Za-z_]\w*)(?:\[(.*)\])?\Z", name, re.DOTALL)
    if match is None:
        if name.isdecimal():
            return int(name) == 0 or int(name) <= len(shell.positional)
        return False
    base, subscript = match.groups()
    if subscript is not None:
        if subscript in ("@", "*"):
            variable = shell.variables.find(base)
            return variable is not None and bool(variable.values())
        variable = shell.variables.find(base)
        if variable is not None and variable.flags & ASSOCIATIVE:
            return shell.variables.get_element(base, key_of(shell, subscript)) is not None
        return shell.variables.get_element(base, shell.expand_text(subscript)) is not None
    variable = shell.table.get(base)
    if variable is not None and variable.flags & NAMEREF and "[" in (variable.value or ""):
        # A reference to an element is followed to variables only.
        return False
    return shell.variables.get(base) is not None


def compare_files(shell: Interpreter, operator: str, left: str, right: str) -> bool:
    one, two = _stat(shell, left), _stat(shell, right)
    if operator == "-ef":
        return one is not None and two is not None and (one.st_dev, one.st_ino) == (two.st_dev, two.st_ino)
    if operator == "-nt":
        return one is not None and (two is None or one.st_mtime_ns > two.st_mtime_ns)
    return two is not None and (one is None or one.st_mtime_ns < two.st_mtime_ns)


def _integer(text: str) -> int:
    value = literal(text)
    if value is not None:
        return value
    if _INTEGER.match(text) and -(1 << 63) <= int(text) < 1 << 63:
        return int(text)
    raise TestError(f"{text}: integer expression expected")


def _binary(shell: Interpreter, left: str, operator: str, right: str) -> bool:
    compare = COMPARISONS.get(operator)
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
    return compare_files(shell, operator, left, right)


def evaluate_test(shell: Interpreter, arguments: list[str]) -> bool:
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

    def __init__(self, shell: Interpreter, arguments: list[str]) -> None:
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


def failed_operand(error: ShellError) -> Exception:
    """What to raise for the error of an operand of `-eq` and its like, which ends no more than `[[ ]]`."""
    if error.fatal:
        return error
    return TestError(error.message if isinstance(error, ReadonlyError) else f"[[: {error.message}", 1)


def _latin(text: str) -> str:
    return text.encode("utf-8", "surrogateescape").decode("latin-1")


def search(shell: Interpreter, subject: str, source: str) -> bool:
    """`[[ subject =~ source ]]`, which sets BASH_REMATCH."""
    if shell.bytewise:
        # An invalid byte matches nothing: here each is a character of Latin-1.
        subject, source = _latin(subject), _latin(source)
    try:
        expression = compile_extended(source, ignore_case="nocasematch" in shell.shopts, tool="bash")
    except RegexError:
        raise TestError("", 2) from None
    match = expression.search(subject)
    groups = [match.group(), *(group or "" for group in match.groups())] if match else []
    if shell.bytewise:
        groups = [group.encode("latin-1").decode("utf-8", "surrogateescape") for group in groups]
    shell.set_matches(groups)
    return match is not None
