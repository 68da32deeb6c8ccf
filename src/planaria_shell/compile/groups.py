"""Groups, subshells, functions and coprocesses."""

from __future__ import annotations

from collections.abc import Generator, Iterable

from planaria_shell.compile.compiler import Compiler
from planaria_shell.state.functions import FunctionBody
from planaria_shell.state.interpreter import Code, Interpreter, StreamCode
from planaria_shell.syntax.nodes import (
    Coprocess,
    Function,
    Group,
    Sequence,
    Simple,
    Subshell,
    last_command,
)
from planaria_shell.syntax.printing import source_of

__all__ = [
    "run_coprocess",
    "run_function",
    "run_functions",
    "run_group",
    "run_subshell",
    "stream_group",
    "stream_subshell",
]


def run_group(compiler: Compiler, node: Group, tested: bool) -> Code:
    return compiler.run(node.body, tested)


def stream_group(compiler: Compiler, node: Group, tested: bool) -> StreamCode:
    return compiler.stream(node.body, tested)


def _becomes_command(body: Sequence) -> bool:
    """Whether a subshell is nothing but one command, which takes its place."""
    return len(body.items) == 1 and isinstance(body.items[0][0], Simple) and not body.items[0][1]


def run_subshell(compiler: Compiler, node: Subshell, tested: bool) -> Code:
    body = compiler.run(node.body, tested)
    plain = not any(redirect.operator.startswith("<") for redirect in node.redirects)
    becomes = _becomes_command(node.body)
    last = last_command(node.body)

    def run(sh: Interpreter) -> int:
        if sh.becomes_subshell:
            sh.becomes_subshell = False
            return body(sh)
        child = sh.fork()
        child.plain_input = child.fds.get(0) if plain else None
        child.reports_deaths = sh.reports_deaths and not becomes
        child.last_command = last
        status = child.run_subshell(body)
        if child.ended_by and sh.reports_deaths:
            sh.line = node.line or sh.line
            sh.report_death(child.ended_by, node, [])
        sh.pipe_statuses = None
        if sh.traps:
            sh.children_ended()
        if sh.pending_signals:
            sh.take_signals()
        if status and sh.watching and not tested:
            sh.node = node
            sh.line = node.line or sh.line
            sh.status = status
            return sh.failed(status)
        return status

    return run


def stream_subshell(compiler: Compiler, node: Subshell, tested: bool) -> StreamCode:
    body = compiler.stream(node.body, tested)
    plain = not any(redirect.operator.startswith("<") for redirect in node.redirects)
    becomes = _becomes_command(node.body)
    last = last_command(node.body)

    def stream(sh: Interpreter) -> Generator[None, None, int]:
        if sh.becomes_subshell:
            sh.becomes_subshell = False
            return (yield from body(sh))
        child = sh.fork()
        child.plain_input = child.fds.get(0) if plain else None
        child.reports_deaths = sh.reports_deaths and not becomes
        child.last_command = last
        status = yield from child.stream_subshell(body)
        if child.ended_by and sh.reports_deaths:
            sh.line = node.line or sh.line
            sh.report_death(child.ended_by, node, [])
        sh.pipe_statuses = None
        if sh.traps:
            sh.children_ended()
            sh.take_signals()
        if status and sh.watching and not tested:
            sh.node = node
            sh.status = status
            return sh.failed(status)
        return status

    return stream


def run_function(compiler: Compiler, node: Function, tested: bool) -> Code:
    body = FunctionBody(node, compiler)

    def run(sh: Interpreter) -> int:
        sh.line = node.line
        status = sh.define_function(body)
        if status and sh.watching and not tested:
            sh.node = node
            sh.status = status
            return sh.failed(status)
        return status

    return run


def run_functions(compiler: Compiler, nodes: Iterable[Function]) -> Code:
    """Several definitions in a row."""
    bodies = [FunctionBody(node, compiler) for node in nodes]
    table = {body.name: body for body in bodies}
    last = bodies[-1].node.line

    def run(sh: Interpreter) -> int:
        if sh.define_functions(table):
            sh.line = last
            sh.status = 0
            return 0
        status = 0
        for body in bodies:
            sh.line = body.node.line
            status = sh.status = sh.define_function(body)
        return status

    return run


def run_coprocess(compiler: Compiler, node: Coprocess, tested: bool) -> Code:
    stream = compiler.stream(node.body)

    text = source_of(node.body)

    def run(sh: Interpreter) -> int:
        sh.line = node.line
        sh.start_coprocess(node.name, stream, text)
        return 0

    return run
