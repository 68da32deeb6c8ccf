"""Commands to closures, in two flavours.

`Compiler.run(node)` gives a function that runs the command to its end and returns its status. `stream(node)`
gives a generator function that does the same but yields whenever its standard output is full: it is what
stands on the left of a pipe, and what runs in the background. Both are made once for a node and kept with it.

`tested` tells that the command's failure is looked at (in a condition, left of `&&`), so that neither
`set -e` nor the ERR trap heed it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, get_args

from planaria_shell.compile import condition, pipeline
from planaria_shell.compile.arithmetic import evaluate
from planaria_shell.compile.assignment import AssignmentCompiler
from planaria_shell.compile.functions import FunctionBody
from planaria_shell.compile.loops import Code, StreamCode, nothing
from planaria_shell.compile.substitutions import SubstitutionCompiler
from planaria_shell.expand.words import WordCompiler
from planaria_shell.run.control import Break, Continue
from planaria_shell.run.variable import ShellError
from planaria_shell.syntax.nodes import (
    AndOr,
    ArithmeticCommand,
    ArithmeticFor,
    Case,
    Command,
    Condition,
    Coprocess,
    For,
    Function,
    Group,
    If,
    Pipeline,
    Select,
    Sequence,
    Simple,
    Subshell,
    While,
)
from planaria_shell.syntax.word_contents import has_process

if TYPE_CHECKING:
    from planaria_shell.run.shell import Shell

__all__ = ["Code", "Compiler", "StreamCode"]


class Compiler(SubstitutionCompiler):
    """Compiles commands; one for a whole program, it holds no state of any shell."""

    def __init__(self) -> None:
        self.words = WordCompiler(self.substitution, self.process_substitution)
        self.assignments = AssignmentCompiler(self.words)

    # -- dispatch ----------------------------------------------------------------------------------

    def run(self, node: Command, tested: bool = False) -> Code:
        """The function that runs `node`."""
        kind = type(node)
        method: Callable[[Any, bool], Code] = getattr(self, _RUN[kind])
        code = method(node, tested)
        if kind is Simple or kind is Sequence:
            return code
        redirects = getattr(node, "redirects", None)
        if redirects and kind is not Function:
            code = self.redirected(code, self.redirects(redirects), has_process(redirects))
        return code

    def stream(self, node: Command, tested: bool = False) -> StreamCode:
        """The generator function that runs `node`; made when it is first called."""
        made: StreamCode | None = None

        def lazily(sh: Shell) -> Generator[None, None, int]:
            nonlocal made
            if made is None:
                made = self._make_stream(node, tested)
            return made(sh)

        return lazily

    def _make_stream(self, node: Command, tested: bool) -> StreamCode:
        method = getattr(self, "_stream_" + type(node).__name__.lower(), None)
        if method is None:
            plain = self.run(node, tested)

            def once(sh: Shell) -> Generator[None, None, int]:
                status = plain(sh)
                if sh.fds[1].full or sh.background:
                    yield
                return status

            return once
        code: StreamCode = method(node, tested)
        redirects = getattr(node, "redirects", None)
        if redirects and not isinstance(node, Simple | Function):
            code = self.redirected_stream(code, self.redirects(redirects))
        return code

    # -- lists -------------------------------------------------------------------------------------

    def _items(self, node: Sequence, tested: bool) -> list[Code]:
        return [
            self._background(command) if background else self.run(command, tested)
            for command, background in node.items
        ]

    def _run_sequence(self, node: Sequence, tested: bool) -> Code:
        codes = self._items(node, tested)
        if len(codes) == 1:
            only = codes[0]

            def one(sh: Shell) -> int:
                status = sh.status = only(sh)
                return status

            return one
        if len(codes) == 2:
            first, second = codes

            def two(sh: Shell) -> int:
                sh.status = first(sh)
                status = sh.status = second(sh)
                return status

            return two

        def run(sh: Shell) -> int:
            status = 0
            for code in codes:
                status = sh.status = code(sh)
            return status

        return run

    def _stream_sequence(self, node: Sequence, tested: bool) -> StreamCode:
        items = [
            (self._background(command), None) if background else (None, self.stream(command, tested))
            for command, background in node.items
        ]

        def stream(sh: Shell) -> Generator[None, None, int]:
            status = 0
            for plain, code in items:
                if code is not None:
                    status = yield from code(sh)
                else:
                    assert plain is not None
                    status = plain(sh)
                sh.status = status
            return status

        return stream

    def _background(self, command: Command) -> Code:
        stream = self.stream(command)
        from planaria_shell.syntax.printing import source_of

        text = source_of(command)
        line = getattr(command, "line", 0)

        def run(sh: Shell) -> int:
            if line:
                sh.line = line
            if sh.debug_trap:
                pipeline.announce(sh, command)
            sh.start_job(stream, text)
            return 0

        return run

    def _run_andor(self, node: AndOr, tested: bool) -> Code:
        commands = [node.first, *(command for _, command in node.rest)]
        last = len(commands) - 1
        codes = [self.run(command, tested or place < last) for place, command in enumerate(commands)]
        operators = [operator for operator, _ in node.rest]
        if len(codes) == 2:
            first, second = codes
            if operators[0] == "&&":
                if isinstance(node.first, ArithmeticCommand):
                    holds = self.truth(node.first)
                    return lambda sh: second(sh) if holds(sh) else 1

                def both(sh: Shell) -> int:
                    status = sh.status = first(sh)
                    return status if status else second(sh)

                return both

            def either(sh: Shell) -> int:
                status = sh.status = first(sh)
                return second(sh) if status else status

            return either
        rest = list(zip(operators, codes[1:], strict=True))
        head = codes[0]

        def run(sh: Shell) -> int:
            status = sh.status = head(sh)
            for operator, code in rest:
                if (status == 0) == (operator == "&&"):
                    status = sh.status = code(sh)
            return status

        return run

    def _stream_andor(self, node: AndOr, tested: bool) -> StreamCode:
        commands = [node.first, *(command for _, command in node.rest)]
        last = len(commands) - 1
        codes = [self.stream(command, tested or place < last) for place, command in enumerate(commands)]
        operators = [operator for operator, _ in node.rest]

        def stream(sh: Shell) -> Generator[None, None, int]:
            status = sh.status = yield from codes[0](sh)
            for operator, code in zip(operators, codes[1:], strict=True):
                if (status == 0) == (operator == "&&"):
                    status = sh.status = yield from code(sh)
            return status

        return stream

    # -- pipelines ---------------------------------------------------------------------------------

    def _run_pipeline(self, node: Pipeline, tested: bool) -> Code:
        tested = tested or (node.negated and not _is_compound(node))
        code: Code
        if not node.stages:
            code = nothing
        elif len(node.stages) == 1:
            code = self.run(node.stages[0], tested)
        else:
            code = pipeline.compile_run(self, node, tested)
        if node.timed:
            code = _timed(code, node.timed)
        if node.negated:
            inner = code

            def negated(sh: Shell) -> int:
                if sh.errexit:
                    sh.suppressed += 1
                    try:
                        return 0 if inner(sh) else 1
                    except (Break, Continue) as jump:
                        jump.status ^= 1
                        raise
                    finally:
                        sh.suppressed -= 1
                try:
                    return 0 if inner(sh) else 1
                except (Break, Continue) as jump:
                    jump.status ^= 1
                    raise

            return negated
        return code

    def _stream_pipeline(self, node: Pipeline, tested: bool) -> StreamCode:
        tested = tested or (node.negated and not _is_compound(node))
        if node.timed or not node.stages:
            plain = self._run_pipeline(node, tested)

            def once(sh: Shell) -> Generator[None, None, int]:
                return plain(sh)
                yield

            return once
        if len(node.stages) == 1:
            code = self.stream(node.stages[0], tested)
        else:
            code = pipeline.compile_stream(self, node, tested)
        if not node.negated:
            return code

        def negated(sh: Shell) -> Generator[None, None, int]:
            suppressed = sh.errexit
            sh.suppressed += suppressed
            try:
                status = yield from code(sh)
            except (Break, Continue) as jump:
                jump.status ^= 1
                raise
            finally:
                sh.suppressed -= suppressed
            return 0 if status else 1

        return negated

    # -- groups and subshells ----------------------------------------------------------------------

    def _run_group(self, node: Group, tested: bool) -> Code:
        return self.run(node.body, tested)

    def _stream_group(self, node: Group, tested: bool) -> StreamCode:
        return self.stream(node.body, tested)

    def _run_subshell(self, node: Subshell, tested: bool) -> Code:
        body = self.run(node.body, tested)
        plain = not any(redirect.operator.startswith("<") for redirect in node.redirects)

        def run(sh: Shell) -> int:
            if sh.becomes_subshell:
                sh.becomes_subshell = False
                return body(sh)
            child = sh.fork()
            child.plain_input = child.fds.get(0) if plain else None
            status = child.run_subshell(body)
            sh.pipe_statuses = None
            if sh.pending_signals:
                sh.take_signals()
            if status and sh.watching and not tested:
                sh.node = node
                sh.line = node.line or sh.line
                sh.status = status
                return sh.failed(status)
            return status

        return run

    def _stream_subshell(self, node: Subshell, tested: bool) -> StreamCode:
        body = self.stream(node.body, tested)
        plain = not any(redirect.operator.startswith("<") for redirect in node.redirects)

        def stream(sh: Shell) -> Generator[None, None, int]:
            if sh.becomes_subshell:
                sh.becomes_subshell = False
                return (yield from body(sh))
            child = sh.fork()
            child.plain_input = child.fds.get(0) if plain else None
            status = yield from child.stream_subshell(body)
            sh.pipe_statuses = None
            if status and sh.watching and not tested:
                sh.node = node
                sh.status = status
                return sh.failed(status)
            return status

        return stream

    # -- (( )) and [[ ]] ---------------------------------------------------------------------------

    def _run_arithmeticcommand(self, node: ArithmeticCommand, tested: bool) -> Code:
        calculate = self.words.arithmetic(node.expression)
        line = node.line

        def run(sh: Shell) -> int:
            sh.line = line
            sh.node = node
            try:
                if sh.tracing and sh.heading(node, line):
                    return 0
                if sh.xtrace:
                    text = self.words.arithmetic_text(node.expression)(sh)
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

    def _run_condition(self, node: Condition, tested: bool) -> Code:
        test = condition.compile_test(node.test, self.words)
        line = node.line

        def run(sh: Shell) -> int:
            sh.line = line
            sh.node = node
            holds = test
            if sh.tracing:
                if sh.heading(node, line):
                    return 0
                if sh.xtrace:
                    holds = condition.compile_test(node.test, self.words, shown=True)
            try:
                status = 0 if holds(sh) else 1
            except condition.TestError as error:
                if error.message:
                    sh.complain(error.message)
                status = error.status
            sh.pipe_statuses = None
            if status and sh.watching and not tested:
                sh.status = status
                return sh.failed(status)
            return status

        return run

    # -- functions and coprocesses -----------------------------------------------------------------

    def _run_function(self, node: Function, tested: bool) -> Code:
        body = FunctionBody(node, self)

        def run(sh: Shell) -> int:
            sh.line = node.line
            return sh.define_function(body)

        return run

    def _run_coprocess(self, node: Coprocess, tested: bool) -> Code:
        stream = self.stream(node.body)
        from planaria_shell.syntax.printing import source_of

        text = source_of(node.body)

        def run(sh: Shell) -> int:
            sh.line = node.line
            sh.start_coprocess(node.name, stream, text)
            return 0

        return run


#: The methods that compile commands to functions.
_RUN = {kind: f"_run_{kind.__name__.lower()}" for kind in get_args(Command)}


def _is_compound(node: Pipeline) -> bool:
    """Whether the only stage consists of commands of which a `!` before it says nothing: ERR heeds them."""
    return len(node.stages) == 1 and isinstance(
        node.stages[0], Group | If | For | While | ArithmeticFor | Case | Select
    )


def _timed(code: Code, how: str) -> Code:
    def run(sh: Shell) -> int:
        began, used = time.perf_counter(), time.process_time()
        try:
            return code(sh)
        finally:
            sh.report_times(
                time.perf_counter() - began, time.process_time() - used, portable=how.endswith("-p")
            )

    return run
