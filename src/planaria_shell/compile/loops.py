"""Loops and `select` to closures; see `compiler` for the two flavours."""

from __future__ import annotations

from collections.abc import Callable, Generator
from itertools import chain
from typing import Any

from planaria_shell.compile.branches import truth
from planaria_shell.compile.compiler import Compiler
from planaria_shell.errors import ShellError
from planaria_shell.expand.arithmetic import evaluate
from planaria_shell.state.control import LoopJump
from planaria_shell.state.interpreter import Code, Interpreter, StreamCode
from planaria_shell.state.streams import CLOSED
from planaria_shell.state.variable import NAMEREF, SLOW_WRITE, Variable
from planaria_shell.state.variables import is_reference
from planaria_shell.syntax.nodes import ArithmeticFor, For, Select, While, Word
from planaria_shell.translation.region import LoopRegion

__all__ = [
    "Calculation",
    "run_arithmetic_for",
    "run_for",
    "run_select",
    "run_while",
    "stream_arithmetic_for",
    "stream_for",
    "stream_while",
]

#: Gives None after an error that it has reported.
Calculation = Callable[["Interpreter"], "int | None"]


def run_while(compiler: Compiler, node: While, tested: bool) -> Code:
    condition = truth(compiler, node.condition)
    body = compiler.run(node.body, tested)
    until = node.until
    region = LoopRegion(node, tested)

    def run(sh: Interpreter) -> int:
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
                except LoopJump as jump:
                    if jump.is_for_outer_loop(sh.loops):
                        raise
                    status = jump.status
                    if jump.ends_loop:
                        break
        finally:
            region.left = max(left, 1)
            sh.loops -= 1
        return status

    return run


def stream_while(compiler: Compiler, node: While, tested: bool) -> StreamCode:
    condition = compiler.stream(node.condition, True)
    body = compiler.stream(node.body, tested)
    until = node.until

    def stream(sh: Interpreter) -> Generator[None, None, int]:
        status = 0
        sh.loops += 1
        try:
            while True:
                sh.counters.count_iteration()
                try:
                    if ((yield from condition(sh)) == 0) is until:
                        break
                    status = yield from body(sh)
                except LoopJump as jump:
                    if jump.is_for_outer_loop(sh.loops):
                        raise
                    status = jump.status
                    if jump.ends_loop:
                        break
                if sh.fds.get(1, CLOSED).full or sh.background:
                    yield
        finally:
            sh.loops -= 1
        return status

    return stream


def _loop_words(compiler: Compiler, node: For | Select) -> Callable[[Interpreter], Any]:
    if node.words is None:
        return lambda sh: sh.positional.copy()
    return compiler.words.lazy_arguments(node.words) or compiler.words.arguments(node.words)


def run_for(compiler: Compiler, node: For, tested: bool) -> Code:
    words = _loop_words(compiler, node)
    body = compiler.run(node.body, tested)
    name = node.name
    line = node.line
    valid = name.isidentifier() and name.isascii()
    region = LoopRegion(node, tested)

    def run(sh: Interpreter) -> int:
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
                    ended = None if region.hopeless else region.enter(sh, status, done, chain((word,), rest))
                    if ended is not None:
                        return ended
                    left = region.rounds
                done += 1
                counters.iterations += 1
                if counters.iterations > counters.next_iteration:
                    counters.check()
                if sh.tracing and sh.heading(node, line):
                    continue
                variable = sh.table.get(name)
                if variable is not None and not variable.flags & SLOW_WRITE:
                    variable.value = word
                elif not _set_loop_variable(sh, name, word):
                    return 1
                try:
                    status = body(sh)
                except LoopJump as jump:
                    if jump.is_for_outer_loop(sh.loops):
                        raise
                    status = jump.status
                    if jump.ends_loop:
                        break
        finally:
            region.left = max(left, 1)
            sh.loops -= 1
        return status

    return run


def stream_for(compiler: Compiler, node: For, tested: bool) -> StreamCode:
    words = _loop_words(compiler, node)
    body = compiler.stream(node.body, tested)
    name = node.name

    def stream(sh: Interpreter) -> Generator[None, None, int]:
        sh.line = node.line
        if not (name.isidentifier() and name.isascii()):
            sh.complain(f"`{name}': not a valid identifier")
            return 1
        status = 0
        sh.loops += 1
        try:
            for word in words(sh):
                sh.counters.count_iteration()
                if sh.tracing and sh.heading(node, node.line):
                    continue
                if not _set_loop_variable(sh, name, word):
                    return 1
                try:
                    status = yield from body(sh)
                except LoopJump as jump:
                    if jump.is_for_outer_loop(sh.loops):
                        raise
                    status = jump.status
                    if jump.ends_loop:
                        break
                if sh.fds.get(1, CLOSED).full or sh.background:
                    yield
        finally:
            sh.loops -= 1
        return status

    return stream


def _arithmetic_parts(
    compiler: Compiler, node: ArithmeticFor
) -> tuple[Calculation, Calculation, Calculation]:
    """Start, condition and step; a missing condition holds."""
    start, condition, step = (
        _reporting(compiler, word, node.line) for word in (node.start, node.condition, node.step)
    )
    return start, condition, step


def _reporting(compiler: Compiler, word: Word, line: int) -> Calculation:
    """An expression of `for (( ))`; None after an error, which ends the loop."""
    heading = f"(({word.source.lstrip() or '1'}))"
    calculate = compiler.words.arithmetic(word) if word.source.strip() else _one

    def code(sh: Interpreter) -> int | None:
        try:
            if sh.tracing:
                sh.heading(heading, line)
                if sh.xtrace:
                    text = compiler.words.arithmetic_text(word)(sh).lstrip() or "1"
                    sh.trace_line(f"(( {text} ))")
                    return evaluate(sh, text)
            return calculate(sh)
        except ShellError as error:
            sh.line = line
            sh.arithmetic_failed(error)
            return None

    return code


def run_arithmetic_for(compiler: Compiler, node: ArithmeticFor, tested: bool) -> Code:
    start, condition, step = _arithmetic_parts(compiler, node)
    body = compiler.run(node.body, tested)
    line = node.line
    region = LoopRegion(node, tested)

    def run(sh: Interpreter) -> int:
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
                except LoopJump as jump:
                    if jump.is_for_outer_loop(sh.loops):
                        raise
                    status = jump.status
                    if jump.ends_loop:
                        return status
                if step(sh) is None:
                    return 1
        finally:
            region.left = max(left, 1)
            sh.loops -= 1

    return run


def stream_arithmetic_for(compiler: Compiler, node: ArithmeticFor, tested: bool) -> StreamCode:
    start, condition, step = _arithmetic_parts(compiler, node)
    body = compiler.stream(node.body, tested)

    def stream(sh: Interpreter) -> Generator[None, None, int]:
        status = 0
        sh.line = node.line
        sh.loops += 1
        try:
            if start(sh) is None:
                return 1
            while holds := condition(sh):
                sh.counters.count_iteration()
                try:
                    status = yield from body(sh)
                except LoopJump as jump:
                    if jump.is_for_outer_loop(sh.loops):
                        raise
                    status = jump.status
                    if jump.ends_loop:
                        return status
                if step(sh) is None:
                    return 1
                if sh.fds.get(1, CLOSED).full or sh.background:
                    yield
            return 1 if holds is None else status
        finally:
            sh.loops -= 1

    return stream


def _answer(shell: Interpreter) -> bytes:
    """The line that answers a `select`."""
    stream = shell.fds.get(0)
    if stream is None:
        shell.complain("read error: 0: Bad file descriptor")
        return b""
    return stream.readline()


def run_select(compiler: Compiler, node: Select, tested: bool) -> Code:
    words = _loop_words(compiler, node)
    body = compiler.run(node.body, tested)
    name = node.name

    def run(sh: Interpreter) -> int:
        sh.line = node.line
        if sh.tracing and sh.heading(node, node.line):
            return 0
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
                    length = sh.variables.get("COLUMNS") or ""
                    sh.error_output(_menu(items, int(length) if length.isdecimal() else 80))
                prompt = sh.variables.get("PS3")
                sh.error_output("#? " if prompt is None else sh.prompt(prompt))
                line = _answer(sh)
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
                except LoopJump as jump:
                    if jump.is_for_outer_loop(sh.loops):
                        raise
                    status = jump.status
                    if jump.ends_loop:
                        break
        finally:
            sh.loops -= 1
        return status

    return run


def _one(sh: Interpreter) -> int:
    return 1


def _set_loop_variable(sh: Interpreter, name: str, word: str) -> bool:
    variable = sh.table.get(name)
    try:
        if variable is not None and variable.flags & NAMEREF:
            # A nameref as loop variable refers to each word in turn.
            if not is_reference(word):
                raise ShellError(f"`{word}': not a valid identifier")
            variable.value = word
        elif variable is None:
            sh.table[name] = Variable(word, sh.variables.new_flags)
        else:
            sh.variables.set(name, word)
    except ShellError as error:
        sh.report(error)
        return False
    return True


def _menu(items: list[str], line: int) -> str:
    """The numbered choices of `select`, in columns as bash lays them out on lines of this length."""
    digits = len(str(len(items)))
    cell = max(len(item) for item in items) + digits + 4
    rows = -(-len(items) // max(1, line // cell))
    columns = -(-len(items) // rows)
    if rows == 1:
        rows, columns = columns, 1
    lines: list[str] = []
    for row in range(rows):
        text = ""
        for column, place in enumerate(range(row, len(items), rows)):
            if column:
                text += _indented(len(text.expandtabs(8)), column * cell)
            text += f"{place + 1:{digits if column else len(str(rows))}}) {items[place]}"
        lines.append(text + "\n")
    return "".join(lines)


def _indented(start: int, end: int) -> str:
    """Tabs and spaces from one column of the screen to another."""
    text = ""
    while start < end:
        if end // 8 > start // 8:
            text += "\t"
            start += 8 - start % 8
        else:
            text += " "
            start += 1
    return text
