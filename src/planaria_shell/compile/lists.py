"""Lists of commands: sequences, `&&` and `||`, and commands in the background."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace

from planaria_shell.compile import pipeline
from planaria_shell.compile.branches import truth
from planaria_shell.compile.compiler import Compiler
from planaria_shell.compile.groups import run_functions
from planaria_shell.state.interpreter import Code, Interpreter, StreamCode
from planaria_shell.syntax.nodes import (
    AndOr,
    ArithmeticCommand,
    Command,
    Function,
    Pipeline,
    Sequence,
)
from planaria_shell.syntax.printing import source_of

__all__ = ["run_and_or", "run_sequence", "stream_and_or", "stream_sequence"]


def _items(compiler: Compiler, node: Sequence, tested: bool) -> list[Code]:
    return [
        _background(compiler, command) if background else compiler.run(command, tested)
        for command, background in node.items
    ]


def run_sequence(compiler: Compiler, node: Sequence, tested: bool) -> Code:
    if len(node.items) > 2:
        functions = [one for one, background in node.items if type(one) is Function and not background]
        if len(functions) == len(node.items):
            return run_functions(compiler, functions)
    codes = _items(compiler, node, tested)
    if len(codes) == 1:
        only = codes[0]

        def one(sh: Interpreter) -> int:
            status = sh.status = only(sh)
            return status

        return one
    if len(codes) == 2:
        first, second = codes

        def two(sh: Interpreter) -> int:
            sh.status = first(sh)
            status = sh.status = second(sh)
            return status

        return two

    def run(sh: Interpreter) -> int:
        status = 0
        for code in codes:
            status = sh.status = code(sh)
        return status

    return run


def stream_sequence(compiler: Compiler, node: Sequence, tested: bool) -> StreamCode:
    items = [
        (_background(compiler, command), None) if background else (None, compiler.stream(command, tested))
        for command, background in node.items
    ]

    def stream(sh: Interpreter) -> Generator[None, None, int]:
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


def _background(compiler: Compiler, command: Command) -> Code:
    # The status of a job is what the pipeline gave, also behind a `!`.
    if isinstance(command, Pipeline) and command.negated:
        stream = compiler.stream(replace(command, negated=False))
    else:
        stream = compiler.stream(command)
    text = source_of(command)
    line = getattr(command, "line", 0)

    def run(sh: Interpreter) -> int:
        if line:
            sh.line = line
        if sh.debug_trap:
            pipeline.announce(sh, command)
        sh.start_job(stream, text, command)
        return 0

    return run


def run_and_or(compiler: Compiler, node: AndOr, tested: bool) -> Code:
    commands = [node.first, *(command for _, command in node.rest)]
    last = len(commands) - 1
    codes = [compiler.run(command, tested or place < last) for place, command in enumerate(commands)]
    operators = [operator for operator, _ in node.rest]
    if len(codes) == 2:
        first, second = codes
        if operators[0] == "&&":
            if isinstance(node.first, ArithmeticCommand):
                holds = truth(compiler, node.first)
                return lambda sh: second(sh) if holds(sh) else 1

            def both(sh: Interpreter) -> int:
                status = sh.status = first(sh)
                return status if status else second(sh)

            return both

        def either(sh: Interpreter) -> int:
            status = sh.status = first(sh)
            return second(sh) if status else status

        return either
    rest = list(zip(operators, codes[1:], strict=True))
    head = codes[0]

    def run(sh: Interpreter) -> int:
        status = sh.status = head(sh)
        for operator, code in rest:
            if (status == 0) == (operator == "&&"):
                status = sh.status = code(sh)
        return status

    return run


def stream_and_or(compiler: Compiler, node: AndOr, tested: bool) -> StreamCode:
    commands = [node.first, *(command for _, command in node.rest)]
    last = len(commands) - 1
    codes = [compiler.stream(command, tested or place < last) for place, command in enumerate(commands)]
    operators = [operator for operator, _ in node.rest]

    def stream(sh: Interpreter) -> Generator[None, None, int]:
        status = sh.status = yield from codes[0](sh)
        for operator, code in zip(operators, codes[1:], strict=True):
            if (status == 0) == (operator == "&&"):
                status = sh.status = yield from code(sh)
        return status

    return stream
