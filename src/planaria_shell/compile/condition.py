"""`[[ … ]]` to closures."""

from __future__ import annotations

from collections.abc import Callable

from planaria_shell.errors import ShellError
from planaria_shell.expand.arithmetic import number
from planaria_shell.expand.condition_operators import (
    COMPARISONS,
    compare_files,
    failed_operand,
    search,
    unary_test,
)
from planaria_shell.expand.patterns import is_literal, matcher, unescape
from planaria_shell.expand.words import TextCode, WordCompiler
from planaria_shell.state.characters import by_bytes
from planaria_shell.state.interpreter import Interpreter
from planaria_shell.syntax.nodes import Test, Word

__all__ = ["TestCode", "compile_test"]

TestCode = Callable[["Interpreter"], bool]


# -- test and [ ------------------------------------------------------------------------------------


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
        other = words.shown_pattern(right) if shown else words.pattern(right)
    elif operator == "=~":
        other = words.regex(right)
    else:
        other = words.text(right)
    return _showing(operator, text, other, negated) if shown else _compile_binary(operator, text, other)


def _showing(operator: str, left: TextCode, right: TextCode | None, negated: bool) -> TestCode:
    """A part of a condition that shows itself as `set -x` does, with its operands expanded once."""
    mark = "! " if negated else ""

    def test(sh: Interpreter) -> bool:
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
    compare = COMPARISONS.get(operator)
    if compare is not None:
        return _compile_comparison(compare, text, other)
    return lambda sh: compare_files(sh, operator, text(sh), other(sh))


def _compile_comparison(compare: Callable[[int, int], bool], left: TextCode, right: TextCode) -> TestCode:
    def holds(sh: Interpreter) -> bool:
        first, second = left(sh), right(sh)
        try:
            return compare(number(sh, first), number(sh, second))
        except ShellError as error:
            raise failed_operand(error) from None

    return holds


def _compile_match(text: TextCode, pattern: TextCode, *, negated: bool) -> TestCode:
    constant = getattr(pattern, "constant", None)
    if constant is not None and is_literal(constant, extglob=True):
        wanted = unescape(constant)

        def same(sh: Interpreter) -> bool:
            subject = text(sh)
            equal = subject == wanted
            if not equal and "nocasematch" in sh.shopts:
                equal = subject.lower() == wanted.lower()
            return equal is not negated

        return same

    def matches(sh: Interpreter) -> bool:
        subject, wanted = text(sh), pattern(sh)
        if sh.bytewise:
            subject, wanted = by_bytes(subject), by_bytes(wanted)
        return matcher(wanted, True, "nocasematch" in sh.shopts)(subject) is not negated

    return matches


def _compile_regex(text: TextCode, regex: TextCode) -> TestCode:
    return lambda sh: search(sh, text(sh), regex(sh))
