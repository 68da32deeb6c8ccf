"""The `bc` command (POSIX, with the extensions of GNU bc)."""

from __future__ import annotations

from collections.abc import Generator, Iterator

from planaria_shell.commands.numbers.bc.expression_parser import Incomplete
from planaria_shell.commands.numbers.bc.machine import BcRuntimeError, Machine, Stop
from planaria_shell.commands.numbers.bc.numbers import NumberError
from planaria_shell.commands.numbers.bc.parser import Parser
from planaria_shell.commands.numbers.bc.syntax import BcSyntaxError
from planaria_shell.run.command import Process, command
from planaria_shell.toolkit import usage
from planaria_shell.toolkit.recursion import deep_recursion

_LONG = {
    "mathlib": "l",
    "interactive": "i",
    "quiet": "q",
    "standard": "s",
    "warn": "w",
    "help": "h",
    "version": "v",
    "compile": "c",
}


class _Lines:
    """Lines of a source, one at a time, with their numbers."""

    def __init__(self, lines: Iterator[bytes]) -> None:
        self._lines = lines
        self.number = 0

    def next(self) -> str | None:
        line = next(self._lines, None)
        if line is None:
            return None
        self.number += 1
        return line.decode("utf-8", "surrogateescape")


@command("bc")
def bc(process: Process) -> Generator[None, None, int]:
    """bc [-hlwsqv] [FILE]...: files, then standard input, statement by statement."""
    try:
        arguments = usage.parse(process.argv[1:], "hilqsvwc", _LONG)
    except usage.UsageError as error:
        usage.complain(process, str(error))
        return 1
    if arguments.has("v"):
        process.stdout.write(b"bc 1.07.1\n")
        return 0
    if arguments.has("h"):
        process.stdout.write(b"usage: bc [options] [file ...]\n")
        return 0
    text = process.env.get("BC_LINE_LENGTH", "70")
    width = int(text) if text.isdigit() else 70
    machine = Machine(
        lambda piece: process.stdout.write(piece.encode("utf-8", "surrogateescape")),
        width if width != 1 else 70,
    )
    machine.warn = lambda message: process.stderr.write(
        f"Runtime warning (func=(main), adr=3): {message}\n".encode()
    )
    library = arguments.has("l")
    if library:
        machine.scale = 20
    standard = _Lines(iter(process.stdin))
    machine.read_line = lambda: standard.next() or ""
    with deep_recursion():
        try:
            for name in arguments.operands:
                try:
                    data = usage.read_file(process, name)
                except OSError:
                    process.stderr.write(f"File {name} is unavailable.\n".encode("utf-8", "surrogateescape"))
                    return 1
                lines = _Lines(iter(data.splitlines(keepends=True)))
                yield from _run(process, machine, lines, name, library)
            yield from _run(process, machine, standard, "(standard_in)", library)
        except Stop:
            pass
    return 0


def _run(
    process: Process, machine: Machine, lines: _Lines, name: str, library: bool
) -> Generator[None, None, None]:
    pending: list[str] = []
    start = 1
    depth = 0
    comment = string = False
    while True:
        line = lines.next()
        if line is None:
            if pending and "".join(pending).strip():
                process.stderr.write(
                    f"{name} {lines.number}: syntax error\n".encode("utf-8", "surrogateescape")
                )
            return
        if not pending:
            start = lines.number
            depth, comment, string = 0, False, False
        pending.append(line)
        depth, comment, string = _open(line, depth, comment, string)
        if depth > 0 or comment or string or line.endswith("\\\n"):
            continue
        source = "".join(pending)
        parser = Parser(machine, source, line=start, library=library)
        try:
            while True:
                parser.newlines()
                if parser.kind == "end":
                    break
                for statement in parser.unit():
                    for _ in statement():
                        if process.stdout.full:
                            yield
        except Incomplete:
            continue
        except BcSyntaxError as error:
            process.stderr.write(f"{name} {error.line}: {error}\n".encode("utf-8", "surrogateescape"))
        except (BcRuntimeError, NumberError) as error:
            message = f"Runtime error (func=(main), adr=3): {error}\n"
            process.stderr.write(message.encode("utf-8", "surrogateescape"))
        except RecursionError:
            process.stderr.write(b"Runtime error: functions call each other too deeply\n")
        pending = []


def _open(line: str, depth: int, comment: bool, string: bool) -> tuple[int, bool, bool]:
    """What is still open after a line: braces and parentheses, a comment, a string."""
    position = 0
    while position < len(line):
        if comment:
            end = line.find("*/", position)
            if end < 0:
                return depth, True, False
            comment, position = False, end + 2
        elif string:
            end = line.find('"', position)
            if end < 0:
                return depth, False, True
            string, position = False, end + 1
        elif line.startswith("/*", position):
            comment, position = True, position + 2
        else:
            character = line[position]
            if character == "#":
                break
            string = character == '"'
            depth += {"{": 1, "}": -1}.get(character, 0)
            position += 1
    return max(depth, 0), comment, string
