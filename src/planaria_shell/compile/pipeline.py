"""Pipelines without threads or processes: every stage but the last is a generator that its reader runs.

The stages start from left to right, each until it has ended or its pipe is full, which is the order in which
effects show in a real shell; one that sleeps lets the next start meanwhile. Then the last stage runs; what it
reads runs the writers on. A writer that has more to write when its reader ends gets what SIGPIPE would do: it
stops with status 141.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Generator
from dataclasses import replace
from math import inf

from planaria_shell.compile.branches import nothing
from planaria_shell.compile.compiler import Compiler
from planaria_shell.compile.purity import is_pure
from planaria_shell.state.control import BROKEN_PIPE, LoopJump
from planaria_shell.state.interpreter import Code, Interpreter, StreamCode
from planaria_shell.state.pipes import Pipe, PipeInput, PipeOutput
from planaria_shell.state.streams import Stream
from planaria_shell.syntax.nodes import (
    ArithmeticCommand,
    ArithmeticFor,
    Case,
    Command,
    Condition,
    For,
    Group,
    If,
    Pipeline,
    Select,
    Sequence,
    Simple,
    Subshell,
    While,
    Word,
)

__all__ = [
    "Producer",
    "announce",
    "compile_run",
    "compile_stream",
    "run_pipeline",
    "stream_pipeline",
]


_HEAD = re.compile(r"(?:-n ?(?P<lines>\d+)|-c ?(?P<bytes>\d+)|-(?P<short>\d+)|)")
#: Commands that run no EXIT trap when they are a subshell of their own.
_WITHOUT_EXIT_TRAP = (ArithmeticCommand, ArithmeticFor, Case, Condition, For, If, Select, While)
#: What shows the jobs of the shell around a pipeline, also as a stage of it.
_ABOUT_JOBS = ("jobs", "command")


class Producer:
    """A stage that writes into a pipe, for `shell`."""

    __slots__ = ("generator", "output", "pipe", "running", "shell", "status")

    def __init__(self, shell: Interpreter, output: PipeOutput, generator: Generator[None, None, int]) -> None:
        self.shell = shell
        self.output = output
        self.pipe = pipe = output.pipe
        self.generator = generator
        self.running = False
        #: The status it ended with, once it has.
        self.status: int | None = None
        pipe.pull = self.advance

    def advance(self) -> bool:
        """Run until the pipe is full, the stage sleeps or ends; False when nothing more can come of it, or
        not by the reader's deadline."""
        if self.running:
            return False
        if self.status is not None:
            return self._left_behind()
        if self.pipe.sleeping and not self.wake():
            return False
        self.running = True
        try:
            next(self.generator)
        except StopIteration as stop:
            self.status = stop.value
            return self.output.owners > 0
        finally:
            self.running = False
        return True

    def _left_behind(self) -> bool:
        """The stage has ended: run the jobs that it has left, if any; whether they have written something."""
        pipe = self.pipe
        if self.output.owners:
            deadline = inf if pipe.deadline is None else pipe.deadline
            self.shell.run_writers(self.output, lambda: bool(pipe.pieces), deadline)
        return bool(pipe.pieces)

    def wake(self) -> bool:
        """Let time pass until a stage that sleeps goes on, at most to the reader's deadline."""
        pipe = self.pipe
        seconds = pipe.sleeping
        patience = pipe.patience(seconds)
        if patience > 0:
            self.shell.run_jobs(lambda: False, deadline=time.monotonic() + patience)
        return patience == seconds or not pipe.sleeping

    def finish(self) -> int:
        """The reader has gone: run the stage to its end, or until it has something to write; its status."""
        while self.goes_on():
            self.advance()
        return self.stop()

    def goes_on(self) -> bool:
        """Whether a stage without a reader has something left to do before it would write."""
        return self.status is None and not self.running and not self.output.full

    def stop(self) -> int:
        """End the stage as SIGPIPE does, if it has not ended; its status."""
        if self.status is None:
            self.generator.close()
            self.status = BROKEN_PIPE
        return self.status


class _Stage:
    """One stage, compiled in both flavours."""

    __slots__ = ("name", "node", "plain", "pure", "stream", "wanted")

    def __init__(self, compiler: Compiler, node: Command) -> None:
        self.node = node
        self.pure = is_pure(node)
        head = node.words[0] if isinstance(node, Simple) and node.words else None
        self.name = head.literal() or "" if isinstance(head, Word) else ""
        #: What it reads before it stops, where that can be seen; see `Pipe.wanted`.
        self.wanted = _wanted(node) if self.name == "head" else None
        self.plain: Code | None = None
        self.stream = compiler.stream(node)


def _wanted(node: Command) -> tuple[bytes | None, int] | None:
    """What `head` wants of its standard input."""
    assert isinstance(node, Simple)
    words = [word.literal() if isinstance(word, Word) else None for word in node.words[1:]]
    if None in words or node.redirects:
        return None
    match = _HEAD.fullmatch(" ".join(words))  # type: ignore[arg-type]
    if match is None:
        return None
    if match["bytes"]:
        return None, int(match["bytes"])
    return b"\n", int(match["lines"] or match["short"] or 10)


def _connect(
    shell: Interpreter, stages: list[_Stage], last: _Stage, compiler: Compiler
) -> tuple[list[Producer], Stream]:
    """Start all stages but the last; the producers, and what the last stage reads."""
    producers: list[Producer] = []
    source: Stream | None = None
    for stage, reader in zip(stages, [*stages[1:], last], strict=True):
        pipe = Pipe()
        pipe.wanted = reader.wanted
        output = PipeOutput(pipe)
        if (
            stage.pure
            and stage.name in ("echo", "printf")
            and stage.name not in shell.functions
            and not shell.debug_trap
        ):
            # What ends by itself and changes nothing needs neither a subshell nor a generator.
            if stage.plain is None:
                stage.plain = compiler.run(stage.node)
            status = shell.run_here(stage.plain, source, output)
            producer = Producer(shell, output, _ended(0))
            producer.status = status
            output.release()
        else:
            if shell.debug_trap:
                announce(shell, stage.node)
            child = shell.fork()
            child.gives_way = True
            child.alarm = pipe.alarm
            begin(child, stage.node)
            child.loops = shell.loops if isinstance(stage.node, Simple) else 0
            child.reports_deaths = not isinstance(stage.node, Simple)
            if stage.name in _ABOUT_JOBS:
                child.shown_jobs = shell.jobs or shell.shown_jobs
            if source is not None:
                child.set_stream(0, source)
            child.set_stream(1, output)
            output.release()
            producer = Producer(shell, output, child.stream_subshell(stage.stream))
            producer.advance()
        if source is not None:
            source.release()
        source = PipeInput(pipe, output)
        producers.append(producer)
    assert source is not None
    return producers, source


def begin(child: Interpreter, node: Command) -> None:
    """Tell a subshell what it is: `( )` needs no further one, loops and conditions run no EXIT trap, and what
    ends a simple command has its own status."""
    child.is_one_command = isinstance(node, Simple)
    child.becomes_subshell = isinstance(node, Subshell)
    child.runs_exit_trap = not isinstance(node, _WITHOUT_EXIT_TRAP)


def announce(shell: Interpreter, node: Command) -> None:
    """The DEBUG trap, for a simple command that runs in a subshell of its own, where there is none."""
    if isinstance(node, Simple) and not shell.functrace:
        shell.line = node.line
        shell.node = node
        shell.run_debug_trap()


def _ended(status: int) -> Generator[None, None, int]:
    return status
    yield


def _finish(
    shell: Interpreter, producers: list[Producer], status: int, tested: bool, *, in_place: bool = False
) -> int:
    """Statuses of all stages, and the pipeline's own. `in_place`: the last stage ran in the shell itself."""
    statuses = [status]
    for producer in reversed(producers):
        statuses.append(producer.finish())
    statuses.reverse()
    shell.pipe_statuses = statuses
    if shell.traps:
        shell.children_ended(len(statuses) - in_place)
    if shell.pending_signals:
        shell.take_signals()
    if shell.pipefail:
        for other in statuses:
            if other:
                status = other
    if status and shell.watching and not tested:
        shell.status = status
        return shell.failed(status)
    return status


def compile_run(compiler: Compiler, node: Pipeline, tested: bool) -> Callable[[Interpreter], int]:
    """The function that runs a pipeline to its end."""
    stages = [_Stage(compiler, stage) for stage in node.stages]
    last = stages.pop()
    final: Code | None = None
    line = node.line

    def run(sh: Interpreter) -> int:
        nonlocal final
        if line:
            sh.line = line
        if final is None:
            final = compiler.run(last.node)
        producers, source = _connect(sh, stages, last, compiler)
        in_place = bool(sh.lastpipe and not sh.monitor)
        try:
            if in_place:
                status = _in_place(sh, final, source)
            elif last.pure and sh.leaves_state_alone(last.name):
                status = sh.run_here(final, source, None)
            else:
                if sh.debug_trap:
                    announce(sh, last.node)
                child = sh.fork()
                begin(child, last.node)
                child.loops = sh.loops if isinstance(last.node, Simple) else 0
                child.reports_deaths = not isinstance(last.node, Simple)
                if last.name in _ABOUT_JOBS:
                    child.shown_jobs = sh.jobs or sh.shown_jobs
                child.set_stream(0, source)
                source.release()
                status = child.run_subshell(final)
        except BaseException:
            for producer in reversed(producers):
                producer.stop()
            raise
        finally:
            if source.owners:
                source.release()
        return _finish(sh, producers, status, tested, in_place=in_place)

    return run


def _in_place(shell: Interpreter, code: Code, source: Stream) -> int:
    """`shopt -s lastpipe`: the last stage runs in this shell."""
    before = shell.fds.get(0)
    shell.fds[0] = source.retain()
    try:
        return code(shell)
    finally:
        shell.fds[0].release()
        if before is not None:
            shell.fds[0] = before
        else:
            del shell.fds[0]


def compile_stream(compiler: Compiler, node: Pipeline, tested: bool) -> StreamCode:
    """The generator function of a pipeline that itself writes into a pipe."""
    stages = [_Stage(compiler, stage) for stage in node.stages]
    last = stages.pop()

    def stream(sh: Interpreter) -> Generator[None, None, int]:
        producers, source = _connect(sh, stages, last, compiler)
        try:
            if sh.debug_trap:
                announce(sh, last.node)
            child = sh.fork()
            begin(child, last.node)
            child.loops = sh.loops if isinstance(last.node, Simple) else 0
            if last.name in _ABOUT_JOBS:
                child.shown_jobs = sh.jobs or sh.shown_jobs
            child.set_stream(0, source)
            source.release()
            status = yield from child.stream_subshell(last.stream)
            for producer in reversed(producers):
                while producer.goes_on():
                    if producer.pipe.sleeping:
                        sh.alarm[0] = producer.pipe.alarm[0]
                        yield
                    producer.advance()
        except BaseException:
            for producer in reversed(producers):
                producer.stop()
            raise
        return _finish(sh, producers, status, tested)

    return stream


def run_pipeline(compiler: Compiler, node: Pipeline, tested: bool) -> Code:
    tested = tested or (node.negated and not _is_compound(node))
    node = _timed_within(node)
    code: Code
    if not node.stages:
        code = nothing
    elif len(node.stages) == 1:
        code = compiler.run(node.stages[0], tested)
    else:
        code = compile_run(compiler, node, tested)
    if node.timed:
        code = _timed(code, node.timed)
    if node.negated:
        inner = code
        keep = _keep_status if len(node.stages) == 1 and _has_status(node.stages[0]) else _as_it_is

        def negated(sh: Interpreter) -> int:
            if sh.errexit:
                sh.suppressed += 1
                try:
                    return 0 if keep(sh, inner(sh)) else 1
                except LoopJump as jump:
                    jump.status ^= 1
                    raise
                finally:
                    sh.suppressed -= 1
            try:
                return 0 if keep(sh, inner(sh)) else 1
            except LoopJump as jump:
                jump.status ^= 1
                raise

        return negated
    return code


def stream_pipeline(compiler: Compiler, node: Pipeline, tested: bool) -> StreamCode:
    tested = tested or (node.negated and not _is_compound(node))
    if node.timed or not node.stages:
        plain = run_pipeline(compiler, node, tested)

        def once(sh: Interpreter) -> Generator[None, None, int]:
            return plain(sh)
            yield

        return once
    if len(node.stages) == 1:
        code = compiler.stream(node.stages[0], tested)
    else:
        code = compile_stream(compiler, node, tested)
    if not node.negated:
        return code

    def negated(sh: Interpreter) -> Generator[None, None, int]:
        suppressed = sh.errexit
        sh.suppressed += suppressed
        try:
            status = yield from code(sh)
        except LoopJump as jump:
            jump.status ^= 1
            raise
        finally:
            sh.suppressed -= suppressed
        return 0 if status else 1

    return negated


def _timed_within(node: Pipeline) -> Pipeline:
    """`time ( )`: the subshell writes the times, so its redirections are theirs, too."""
    only = node.stages[0] if node.timed and len(node.stages) == 1 else None
    if not isinstance(only, Subshell) or not only.redirects:
        return node
    timed = Pipeline([replace(only, redirects=[])], timed=node.timed)
    group = Group(Sequence([(timed, False)], only.line), only.redirects, only.line)
    return replace(node, stages=[group], timed="")


def _has_status(command: Command) -> bool:
    """Whether a command has a status of its own in PIPESTATUS: the others have what `$?` becomes."""
    return isinstance(command, Simple | Subshell | Group)


def _keep_status(shell: Interpreter, status: int) -> int:
    if shell.pipe_statuses is None:
        shell.pipe_statuses = [status]
    return status


def _as_it_is(_shell: Interpreter, status: int) -> int:
    return status


def _is_compound(node: Pipeline) -> bool:
    """Whether the only stage is a compound command: a `!` before it does not keep ERR from its commands."""
    return len(node.stages) == 1 and isinstance(
        node.stages[0], Group | If | For | While | ArithmeticFor | Case | Select
    )


def _timed(code: Code, how: str) -> Code:
    def run(sh: Interpreter) -> int:
        began, used = time.perf_counter(), time.process_time()
        try:
            return code(sh)
        finally:
            sh.report_times(
                time.perf_counter() - began, time.process_time() - used, portable=how.endswith("-p")
            )

    return run
