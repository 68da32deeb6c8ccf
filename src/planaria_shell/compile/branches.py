"""Conditions, `if` and `case` to closures; see `compiler` for the two flavours."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING

from planaria_shell.compile import condition
from planaria_shell.expand.patterns import is_literal, matcher, unescape
from planaria_shell.expand.words import WordCompiler
from planaria_shell.run.variable import ShellError
from planaria_shell.syntax.nodes import ArithmeticCommand, Case, Command, Condition, If, Sequence, Word

if TYPE_CHECKING:
    from planaria_shell.run.shell import Shell

__all__ = ["BranchCompiler", "Code", "StreamCode", "nothing"]

Code = Callable[["Shell"], int]
StreamCode = Callable[["Shell"], Generator[None, None, int]]


class BranchCompiler:
    """The part of the compiler that knows conditions."""

    words: WordCompiler

    def run(self, node: Command, tested: bool = False) -> Code:
        """The function that runs `node`."""
        raise NotImplementedError

    def later(self, node: Command, tested: bool = False) -> Code:
        """The same for a command that may never run: it is compiled when it first does."""
        made: Code | None = None

        def run(sh: Shell) -> int:
            nonlocal made
            if made is None:
                made = self.run(node, tested)
            return made(sh)

        return run

    def stream(self, node: Command, tested: bool = False) -> StreamCode:
        """The generator function that runs `node`."""
        raise NotImplementedError

    # -- conditions ----------------------------------------------------------------------

    def truth(self, node: Command) -> Callable[[Shell], bool]:
        """Whether a command that is only looked at succeeds; `$?` is set as by running it."""
        if isinstance(node, Sequence) and len(node.items) == 1 and not node.items[0][1]:
            return self.truth(node.items[0][0])
        if isinstance(node, ArithmeticCommand) and not node.redirects:
            return self._arithmetic_truth(node)
        if isinstance(node, Condition) and not node.redirects:
            return self._condition_truth(node)
        run = self.run(node, True)

        def succeeds(sh: Shell) -> bool:
            status = sh.status = run(sh)
            return not status

        return succeeds

    def _condition_truth(self, node: Condition) -> Callable[[Shell], bool]:
        test = condition.compile_test(node.test, self.words)
        run = self.later(node, True)

        def holds(sh: Shell) -> bool:
            if not sh.tracing:
                sh.node = node
                sh.line = node.line
                try:
                    if test(sh):
                        sh.status = 0
                        return True
                    sh.status = 1
                    return False
                except condition.TestError as error:
                    if error.message:
                        sh.complain(error.message)
                    sh.status = error.status
                    return False
            status = sh.status = run(sh)
            return not status

        return holds

    def _arithmetic_truth(self, node: ArithmeticCommand) -> Callable[[Shell], bool]:
        calculate = self.words.arithmetic(node.expression)
        run = self.later(node, True)

        def nonzero(sh: Shell) -> bool:
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

    def _run_if(self, node: If, tested: bool) -> Code:
        branches = [(self.truth(test), self.later(body, tested)) for test, body in node.branches]
        otherwise = self.later(node.otherwise, tested) if node.otherwise is not None else None
        if len(branches) == 1:
            test, body = branches[0]

            def one(sh: Shell) -> int:
                if test(sh):
                    return body(sh)
                return otherwise(sh) if otherwise is not None else 0

            return one

        def run(sh: Shell) -> int:
            for test, body in branches:
                if test(sh):
                    return body(sh)
            return otherwise(sh) if otherwise is not None else 0

        return run

    def _stream_if(self, node: If, tested: bool) -> StreamCode:
        branches = [(self.stream(test, True), self.stream(body, tested)) for test, body in node.branches]
        otherwise = self.stream(node.otherwise, tested) if node.otherwise is not None else None

        def stream(sh: Shell) -> Generator[None, None, int]:
            for test, body in branches:
                if not (yield from test(sh)):
                    return (yield from body(sh))
            if otherwise is not None:
                return (yield from otherwise(sh))
            return 0

        return stream

    # -- case --------------------------------------------------------------------------------------

    def _case_items(self, node: Case) -> list[tuple[list[Callable[[Shell, str], bool]], str]]:
        return [([self._case_pattern(word) for word in item.patterns], item.end) for item in node.items]

    def _case_pattern(self, word: Word) -> Callable[[Shell, str], bool]:
        code = self.words.pattern(word)
        constant = getattr(code, "constant", None)
        if constant is not None and is_literal(constant, extglob=True):
            text = unescape(constant)

            def same(sh: Shell, subject: str) -> bool:
                if subject == text:
                    return True
                return "nocasematch" in sh.shopts and subject.lower() == text.lower()

            return same

        if constant is not None and "(" not in constant:
            exact = matcher(constant)

            def fits(sh: Shell, subject: str) -> bool:
                if "nocasematch" in sh.shopts:
                    return matcher(constant, False, True)(subject)
                return exact(subject)

            return fits

        def matches(sh: Shell, subject: str) -> bool:
            return matcher(code(sh), "extglob" in sh.shopts, "nocasematch" in sh.shopts)(subject)

        return matches

    def _run_case(self, node: Case, tested: bool) -> Code:
        subject = self.words.text(node.word)
        tests = self._case_items(node)
        bodies = [self.later(item.body, tested) if item.body.items else nothing for item in node.items]
        line = node.line
        items = [(patterns, body, end) for (patterns, end), body in zip(tests, bodies, strict=True)]

        def run(sh: Shell) -> int:
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

    def _stream_case(self, node: Case, tested: bool) -> StreamCode:
        subject = self.words.text(node.word)
        tests = self._case_items(node)
        bodies = [self.stream(item.body, tested) for item in node.items]

        def stream(sh: Shell) -> Generator[None, None, int]:
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


def nothing(sh: Shell) -> int:
    """A command that does nothing."""
    return 0
