"""Conditions, loops, `case` and `select` to closures; see `compiler` for the two flavours."""

from __future__ import annotations

from collections.abc import Callable, Generator
from itertools import chain
from typing import TYPE_CHECKING, Any

from . import condition
from .control import Break, Continue
from .expansion import WordCompiler
from .patterns import compile_pattern, is_literal, unescape
from .syntax import (
    ArithmeticCommand,
    ArithmeticFor,
    Case,
    Command,
    Condition,
    For,
    If,
    Select,
    Sequence,
    While,
    Word,
)
from .translation.region import LoopRegion
from .variables import NAMEREF, SLOW_WRITE, ShellError, Variable

if TYPE_CHECKING:
    from .shell import Shell

__all__ = ["Code", "LoopCompiler", "StreamCode", "nothing"]

Code = Callable[["Shell"], int]
StreamCode = Callable[["Shell"], Generator[None, None, int]]
#: Gives None after an error that it has told.
Calculation = Callable[["Shell"], "int | None"]


class LoopCompiler:
    """The part of the compiler that knows conditions and loops."""

    words: WordCompiler

    def run(self, node: Command, tested: bool = False) -> Code:
        """The function that runs `node`."""
        raise NotImplementedError

    def stream(self, node: Command, tested: bool = False) -> StreamCode:
        """The generator function that runs `node`."""
        raise NotImplementedError

    # -- conditions and loops ----------------------------------------------------------------------

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
        run = self.run(node, True)

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
                    sh.complain(error.message)
                    sh.status = error.status
                    return False
                except ShellError as error:
                    if error.fatal or "division" not in error.message:
                        raise
                    error.message = "[[: " + error.message
                    sh.report(error)
                    sh.status = 1
                    return False
            status = sh.status = run(sh)
            return not status

        return holds

    def _arithmetic_truth(self, node: ArithmeticCommand) -> Callable[[Shell], bool]:
        calculate = self.words.arithmetic(node.expression)
        run = self.run(node, True)

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
                if error.fatal:
                    raise
                sh.line = node.line
                error.message = "((: " + error.message
                sh.report(error)
            sh.status = 1
            return False

        return nonzero

    def _run_if(self, node: If, tested: bool) -> Code:
        branches = [(self.truth(test), self.run(body, tested)) for test, body in node.branches]
        otherwise = self.run(node.otherwise, tested) if node.otherwise is not None else None
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

    def _run_while(self, node: While, tested: bool) -> Code:
        condition = self.truth(node.condition)
        body = self.run(node.body, tested)
        until = node.until
        region = LoopRegion(node, tested)

        def run(sh: Shell) -> int:
            status = 0
            counters = sh.counters
            sh.loops += 1
            left = 1 if region.ready else region.left
            try:
                while True:
                    left -= 1
                    if not left:
                        rest = None if region.hopeless else region.enter(sh, status)
                        if rest is not None:
                            return rest
                        left = region.rounds
                    counters.iterations += 1
                    if counters.iterations > counters.next_iteration:
                        counters.check()
                    try:
                        if condition(sh) is until:
                            break
                        status = body(sh)
                    except Continue as jump:
                        status = 0
                        if jump.count > 1 and sh.loops > 1:
                            jump.count -= 1
                            raise
                    except Break as jump:
                        status = 0
                        if jump.count > 1 and sh.loops > 1:
                            jump.count -= 1
                            raise
                        break
            finally:
                region.left = max(left, 1)
                sh.loops -= 1
            return status

        return run

    def _stream_while(self, node: While, tested: bool) -> StreamCode:
        condition = self.stream(node.condition, True)
        body = self.stream(node.body, tested)
        until = node.until

        def stream(sh: Shell) -> Generator[None, None, int]:
            status = 0
            sh.loops += 1
            try:
                while True:
                    sh.counters.count_iteration()
                    try:
                        if ((yield from condition(sh)) == 0) is until:
                            break
                        status = yield from body(sh)
                    except Continue as jump:
                        status = 0
                        if jump.count > 1 and sh.loops > 1:
                            jump.count -= 1
                            raise
                    except Break as jump:
                        status = 0
                        if jump.count > 1 and sh.loops > 1:
                            jump.count -= 1
                            raise
                        break
                    if sh.fds[1].full or sh.background:
                        yield
            finally:
                sh.loops -= 1
            return status

        return stream

    def _loop_words(self, node: For | Select) -> Callable[[Shell], Any]:
        if node.words is None:
            return lambda sh: sh.positional.copy()
        return self.words.lazy_arguments(node.words) or self.words.arguments(node.words)

    def _run_for(self, node: For, tested: bool) -> Code:
        words = self._loop_words(node)
        body = self.run(node.body, tested)
        name = node.name
        line = node.line
        valid = name.isidentifier() and name.isascii()
        region = LoopRegion(node, tested)

        def run(sh: Shell) -> int:
            sh.line = line
            if not valid:
                sh.complain(f"`{name}': not a valid identifier")
                return 1
            status = 0
            counters = sh.counters
            sh.loops += 1
            left = 1 if region.ready else region.left
            done = 0
            try:
                rest = iter(words(sh))
                for word in rest:
                    left -= 1
                    if not left:
                        ended = (
                            None if region.hopeless else region.enter(sh, status, done, chain((word,), rest))
                        )
                        if ended is not None:
                            return ended
                        left = region.rounds
                    done += 1
                    counters.iterations += 1
                    if counters.iterations > counters.next_iteration:
                        counters.check()
                    if sh.tracing:
                        sh.line = line
                        sh.trace_for(node, word)
                    variable = sh.table.get(name)
                    if variable is not None and not variable.flags & SLOW_WRITE:
                        variable.value = word
                    elif not _set_loop_variable(sh, name, word):
                        return 1
                    try:
                        status = body(sh)
                    except Continue as jump:
                        status = 0
                        if jump.count > 1 and sh.loops > 1:
                            jump.count -= 1
                            raise
                    except Break as jump:
                        status = 0
                        if jump.count > 1 and sh.loops > 1:
                            jump.count -= 1
                            raise
                        break
            finally:
                region.left = max(left, 1)
                sh.loops -= 1
            return status

        return run

    def _stream_for(self, node: For, tested: bool) -> StreamCode:
        words = self._loop_words(node)
        body = self.stream(node.body, tested)
        name = node.name

        def stream(sh: Shell) -> Generator[None, None, int]:
            status = 0
            sh.loops += 1
            try:
                for word in words(sh):
                    sh.counters.count_iteration()
                    if not _set_loop_variable(sh, name, word):
                        return 1
                    try:
                        status = yield from body(sh)
                    except Continue as jump:
                        status = 0
                        if jump.count > 1 and sh.loops > 1:
                            jump.count -= 1
                            raise
                    except Break as jump:
                        status = 0
                        if jump.count > 1 and sh.loops > 1:
                            jump.count -= 1
                            raise
                        break
                    if sh.fds[1].full or sh.background:
                        yield
            finally:
                sh.loops -= 1
            return status

        return stream

    def _arithmetic_parts(self, node: ArithmeticFor) -> tuple[Calculation, Calculation, Calculation]:
        """Start, condition and step; a missing condition holds."""
        start, condition, step = (
            self._reporting(self.words.arithmetic(word), node.line) if word.source.strip() else None
            for word in (node.start, node.condition, node.step)
        )
        return start or _one, condition or _one, step or _one

    def _reporting(self, calculate: Callable[[Shell], int], line: int) -> Calculation:
        """An expression of `for (( ))`; None after an error, which ends the loop."""

        def code(sh: Shell) -> int | None:
            try:
                return calculate(sh)
            except ShellError as error:
                if error.fatal:
                    raise
                sh.line = line
                error.message = "((: " + error.message
                sh.report(error)
                return None

        return code

    def _run_arithmeticfor(self, node: ArithmeticFor, tested: bool) -> Code:
        start, condition, step = self._arithmetic_parts(node)
        body = self.run(node.body, tested)
        line = node.line
        region = LoopRegion(node, tested)

        def run(sh: Shell) -> int:
            status = 0
            counters = sh.counters
            sh.line = line
            sh.loops += 1
            left = 1 if region.ready else region.left
            try:
                if start(sh) is None:
                    return 1
                while True:
                    left -= 1
                    if not left:
                        rest = None if region.hopeless else region.enter(sh, status)
                        if rest is not None:
                            return rest
                        left = region.rounds
                    holds = condition(sh)
                    if not holds:
                        return 1 if holds is None else status
                    counters.iterations += 1
                    if counters.iterations > counters.next_iteration:
                        counters.check()
                    try:
                        status = body(sh)
                    except Continue as jump:
                        status = 0
                        if jump.count > 1 and sh.loops > 1:
                            jump.count -= 1
                            raise
                    except Break as jump:
                        status = 0
                        if jump.count > 1 and sh.loops > 1:
                            jump.count -= 1
                            raise
                        return status
                    if step(sh) is None:
                        return 1
            finally:
                region.left = max(left, 1)
                sh.loops -= 1

        return run

    def _stream_arithmeticfor(self, node: ArithmeticFor, tested: bool) -> StreamCode:
        start, condition, step = self._arithmetic_parts(node)
        body = self.stream(node.body, tested)

        def stream(sh: Shell) -> Generator[None, None, int]:
            status = 0
            sh.loops += 1
            try:
                if start(sh) is None:
                    return 1
                while holds := condition(sh):
                    sh.counters.count_iteration()
                    try:
                        status = yield from body(sh)
                    except Continue as jump:
                        status = 0
                        if jump.count > 1 and sh.loops > 1:
                            jump.count -= 1
                            raise
                    except Break as jump:
                        status = 0
                        if jump.count > 1 and sh.loops > 1:
                            jump.count -= 1
                            raise
                        return status
                    if step(sh) is None:
                        return 1
                    if sh.fds[1].full or sh.background:
                        yield
                return 1 if holds is None else status
            finally:
                sh.loops -= 1

        return stream

    def _run_select(self, node: Select, tested: bool) -> Code:
        words = self._loop_words(node)
        body = self.run(node.body, tested)
        name = node.name

        def run(sh: Shell) -> int:
            items = list(words(sh))
            if not items:
                return 0
            status = 0
            sh.loops += 1
            show = True
            try:
                while True:
                    sh.counters.count_iteration()
                    if show:
                        sh.error_output(_menu(items))
                    prompt = sh.variables.get("PS3")
                    sh.error_output("#? " if prompt is None else sh.prompt(prompt))
                    line = sh.fds[0].readline()
                    if not line:
                        sh.output(b"\n")
                        return 1
                    reply = line.decode("utf-8", "surrogateescape").rstrip("\n")
                    sh.variables.set("REPLY", reply)
                    show = not reply.strip()
                    if show:
                        continue
                    choice = reply.strip()
                    number = int(choice) if choice.isdecimal() else 0
                    sh.variables.set(name, items[number - 1] if 1 <= number <= len(items) else "")
                    try:
                        status = body(sh)
                    except Continue as jump:
                        if jump.count > 1 and sh.loops > 1:
                            jump.count -= 1
                            raise
                    except Break as jump:
                        status = 0
                        if jump.count > 1 and sh.loops > 1:
                            jump.count -= 1
                            raise
                        break
            finally:
                sh.loops -= 1
            return status

        return run

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
            exact = compile_pattern(constant).fullmatch

            def fits(sh: Shell, subject: str) -> bool:
                if "nocasematch" in sh.shopts:
                    return compile_pattern(constant, False, True).fullmatch(subject) is not None
                return exact(subject) is not None

            return fits

        def matches(sh: Shell, subject: str) -> bool:
            pattern = compile_pattern(code(sh), "extglob" in sh.shopts, "nocasematch" in sh.shopts)
            return pattern.fullmatch(subject) is not None

        return matches

    def _run_case(self, node: Case, tested: bool) -> Code:
        subject = self.words.text(node.word)
        tests = self._case_items(node)
        bodies = [self.run(item.body, tested) if item.body.items else nothing for item in node.items]
        line = node.line
        items = [(patterns, body, end) for (patterns, end), body in zip(tests, bodies, strict=True)]

        def run(sh: Shell) -> int:
            sh.line = line
            sh.substitution_status = 0
            if sh.tracing:
                sh.trace_text(f"case {node.word.source} in")
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


def _one(sh: Shell) -> int:
    return 1


def nothing(sh: Shell) -> int:
    """A command that does nothing."""
    return 0


def _set_loop_variable(sh: Shell, name: str, word: str) -> bool:
    variable = sh.table.get(name)
    try:
        if variable is not None and variable.flags & NAMEREF:
            # A nameref as loop variable refers to each word in turn.
            variable.value = word
        elif variable is None:
            sh.table[name] = Variable(word, sh.variables.new_flags)
        else:
            sh.variables.set(name, word)
    except ShellError as error:
        sh.report(error)
        return False
    return True


def _menu(items: list[str]) -> str:
    """The numbered choices of `select`, in columns as bash lays them out."""
    width = max(len(item) for item in items)
    digits = len(str(len(items)))
    cell = width + digits + 4
    columns = max(1, 80 // cell) if cell < 80 else 1
    rows = -(-len(items) // columns)
    columns = -(-len(items) // rows)
    if rows == 1:
        rows, columns = len(items), 1
    lines: list[str] = []
    for row in range(rows):
        cells = [f"{place + 1:>{digits}}) {items[place]}" for place in range(row, len(items), rows)]
        lines.append("".join(f"{text:<{cell - 2}}" for text in cells[:-1]) + cells[-1] + "\n")
    return "".join(lines)
