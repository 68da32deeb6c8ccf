"""Conditions, `if` and `case` to closures; see `compiler` for the two flavours."""

from __future__ import annotations

from collections.abc import Callable, Generator

from planaria_shell.compile import condition
from planaria_shell.compile.compiler import Compiler
from planaria_shell.errors import ShellError
from planaria_shell.expand.arithmetic import evaluate
from planaria_shell.expand.condition_operators import TestError
from planaria_shell.expand.patterns import is_literal, matcher, unescape
from planaria_shell.state.characters import by_bytes
from planaria_shell.state.interpreter import Code, Interpreter, StreamCode
from planaria_shell.syntax.nodes import ArithmeticCommand, Case, Command, Condition, If, Sequence, Word

__all__ = [
    "nothing",
    "run_arithmetic_command",
    "run_case",
    "run_condition",
    "run_if",
    "stream_case",
    "stream_if",
    "truth",
]


def truth(compiler: Compiler, node: Command) -> Callable[[Interpreter], bool]:
    """Whether a command that is only looked at succeeds; `$?` is set as by running it."""
    if isinstance(node, Sequence) and len(node.items) == 1 and not node.items[0][1]:
        return truth(compiler, node.items[0][0])
    if isinstance(node, ArithmeticCommand) and not node.redirects:
        return _arithmetic_truth(compiler, node)
    if isinstance(node, Condition) and not node.redirects:
        return _condition_truth(compiler, node)
    run = compiler.run(node, True)

    def succeeds(sh: Interpreter) -> bool:
        status = sh.status = run(sh)
        return not status

    return succeeds


def _condition_truth(compiler: Compiler, node: Condition) -> Callable[[Interpreter], bool]:
    test = condition.compile_test(node.test, compiler.words)
    run = compiler.later(node, True)

    def holds(sh: Interpreter) -> bool:
        if not sh.tracing:
            sh.node = node
            sh.line = node.line
            try:
                if test(sh):
                    sh.status = 0
                    return True
                sh.status = 1
                return False
            except TestError as error:
                if error.message:
                    sh.complain(error.message)
                sh.status = error.status
                return False
        status = sh.status = run(sh)
        return not status

    return holds


def _arithmetic_truth(compiler: Compiler, node: ArithmeticCommand) -> Callable[[Interpreter], bool]:
    calculate = compiler.words.arithmetic(node.expression)
    run = compiler.later(node, True)

    def nonzero(sh: Interpreter) -> bool:
        if sh.tracing:
            status = sh.status = run(sh)
            return not status
        sh.node = node
        try:
            if calculate(sh):
                sh.status = 0
                return True
        except ShellError as error:
            sh.line = node.line
            sh.arithmetic_failed(error)
        sh.status = 1
        return False

    return nonzero


def run_if(compiler: Compiler, node: If, tested: bool) -> Code:
    branches = [(truth(compiler, test), compiler.later(body, tested)) for test, body in node.branches]
    otherwise = compiler.later(node.otherwise, tested) if node.otherwise is not None else None
    if len(branches) == 1:
        test, body = branches[0]

        def one(sh: Interpreter) -> int:
            if test(sh):
                return body(sh)
            return otherwise(sh) if otherwise is not None else 0

        return one

    def run(sh: Interpreter) -> int:
        for test, body in branches:
            if test(sh):
                return body(sh)
        return otherwise(sh) if otherwise is not None else 0

    return run


def stream_if(compiler: Compiler, node: If, tested: bool) -> StreamCode:
    branches = [(compiler.stream(test, True), compiler.stream(body, tested)) for test, body in node.branches]
    otherwise = compiler.stream(node.otherwise, tested) if node.otherwise is not None else None

    def stream(sh: Interpreter) -> Generator[None, None, int]:
        for test, body in branches:
            if not (yield from test(sh)):
                return (yield from body(sh))
        if otherwise is not None:
            return (yield from otherwise(sh))
        return 0

    return stream


def _case_items(compiler: Compiler, node: Case) -> list[tuple[list[Callable[[Interpreter, str], bool]], str]]:
    return [([_case_pattern(compiler, word) for word in item.patterns], item.end) for item in node.items]


def _case_pattern(compiler: Compiler, word: Word) -> Callable[[Interpreter, str], bool]:
    code = compiler.words.pattern(word)
    constant = getattr(code, "constant", None)
    if constant is not None and is_literal(constant, extglob=True):
        text = unescape(constant)

        def same(sh: Interpreter, subject: str) -> bool:
            if subject == text:
                return True
            return "nocasematch" in sh.shopts and subject.lower() == text.lower()

        return same

    def matches(sh: Interpreter, subject: str) -> bool:
        wanted = code(sh)
        if sh.bytewise:
            subject, wanted = by_bytes(subject), by_bytes(wanted)
        return matcher(wanted, "extglob" in sh.shopts, "nocasematch" in sh.shopts)(subject)

    if constant is not None and "(" not in constant:
        exact = matcher(constant)

        def fits(sh: Interpreter, subject: str) -> bool:
            if sh.bytewise or "nocasematch" in sh.shopts:
                return matches(sh, subject)
            return exact(subject)

        return fits
    return matches


def run_case(compiler: Compiler, node: Case, tested: bool) -> Code:
    subject = compiler.words.text(node.word)
    tests = _case_items(compiler, node)
    bodies = [compiler.later(item.body, tested) if item.body.items else nothing for item in node.items]
    line = node.line
    items = [(patterns, body, end) for (patterns, end), body in zip(tests, bodies, strict=True)]

    def run(sh: Interpreter) -> int:
        sh.line = line
        sh.substitution_status = 0
        if sh.tracing and sh.heading(node, line):
            return 0
        text = subject(sh)
        status = 0
        falls = False
        for patterns, body, end in items:
            if not falls:
                for matches in patterns:
                    if matches(sh, text):
                        break
                else:
                    continue
            status = body(sh)
            if end == ";;":
                break
            falls = end == ";&"
        return status

    return run


def stream_case(compiler: Compiler, node: Case, tested: bool) -> StreamCode:
    subject = compiler.words.text(node.word)
    tests = _case_items(compiler, node)
    bodies = [compiler.stream(item.body, tested) for item in node.items]

    def stream(sh: Interpreter) -> Generator[None, None, int]:
        sh.line = node.line
        if sh.tracing and sh.heading(node, node.line):
            return 0
        text = subject(sh)
        status = 0
        falls = False
        for (patterns, end), body in zip(tests, bodies, strict=True):
            if not falls and not any(matches(sh, text) for matches in patterns):
                continue
            status = yield from body(sh)
            if end == ";;":
                break
            falls = end == ";&"
        return status

    return stream


def run_arithmetic_command(compiler: Compiler, node: ArithmeticCommand, tested: bool) -> Code:
    calculate = compiler.words.arithmetic(node.expression)
    line = node.line

    def run(sh: Interpreter) -> int:
        sh.line = line
        sh.node = node
        try:
            if sh.tracing and sh.heading(node, line):
                return 0
            if sh.xtrace:
                text = compiler.words.arithmetic_text(node.expression)(sh)
                sh.trace_line(f"(( {text} ))")
                value = evaluate(sh, text)
            else:
                value = calculate(sh)
            if value:
                sh.pipe_statuses = None
                return 0
        except ShellError as error:
            sh.arithmetic_failed(error)
        sh.pipe_statuses = None
        if sh.watching and not tested:
            sh.status = 1
            return sh.failed(1)
        return 1

    return run


def run_condition(compiler: Compiler, node: Condition, tested: bool) -> Code:
    test = condition.compile_test(node.test, compiler.words)
    line = node.line

    def run(sh: Interpreter) -> int:
        sh.line = line
        sh.node = node
        holds = test
        if sh.tracing:
            if sh.heading(node, line):
                return 0
            if sh.xtrace:
                holds = condition.compile_test(node.test, compiler.words, shown=True)
        try:
            status = 0 if holds(sh) else 1
        except TestError as error:
            if error.message:
                sh.complain(error.message)
            status = error.status
        sh.pipe_statuses = None
        if status and sh.watching and not tested:
            sh.status = status
            return sh.failed(status)
        return status

    return run


def nothing(sh: Interpreter) -> int:
    """A command that does nothing."""
    return 0
