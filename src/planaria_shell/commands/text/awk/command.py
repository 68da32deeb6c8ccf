"""awk, gawk, mawk: the POSIX language with gawk's common additions (compared with GNU awk 5.2)."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Generator
from typing import Any

from planaria_shell.commands.text.awk.compiler import compile_program
from planaria_shell.commands.text.awk.functions import Functions
from planaria_shell.commands.text.awk.lexer import BUILTINS
from planaria_shell.commands.text.awk.runtime import Exit, Runtime
from planaria_shell.commands.text.awk.syntax import AwkError, fatal, line_of
from planaria_shell.state.command import Process, Status
from planaria_shell.toolkit.invocation import Invocation, command
from planaria_shell.toolkit.streams import decode, open_input, reason

_USAGE = """Usage: awk [POSIX or GNU style options] -f progfile [--] file ...
Usage: awk [POSIX or GNU style options] [--] 'program' file ...
	-f progfile		--file=progfile
	-F fs			--field-separator=fs
	-v var=val		--assign=var=val
	-e 'program-text'	--source='program-text'
"""
#: Operands of `-i` that name built-in extensions rather than files.
_EXTENSIONS = ("inplace", "inplace.awk")
_INCLUDE = re.compile(r'^[ \t]*@include[ \t]+"([^"\n]*)"[ \t]*;?(?=\n|\Z)', re.MULTILINE)
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.ASCII | re.DOTALL)


@command(
    "awk",
    "gawk",
    "mawk",
    "nawk",
    short="F:v:f:e:bcCd::D::E:ghIi:l:L::MNno::Op::PrsStV",
    long="field-separator=F: assign=v: file=f: source=e: version=V help=h posix=P traditional=c "
    "re-interval=r lint=L:: sandbox=S non-decimal-data=n characters-as-bytes=b exec=E: optimize=O "
    "include=i: load=l: no-optimize=s use-lc-numeric=N csv=k",
    help=_USAGE,
    version="GNU Awk 5.2.1, API 3.2\n",
    order="options first",
    hint=_USAGE.rstrip(),
)
def awk(call: Invocation) -> Generator[None, None, Status]:
    """Run an awk program over files; its exit status, 1 for a bad program, 2 for a fatal error."""
    process, options = call.process, call.arguments
    operands = options.operands
    runtime: Runtime | None = None
    try:
        sources = _sources(process, options.options)
        if not any(name in "efE" for name, _ in options.options):
            if not operands:
                process.stderr.write(_USAGE.encode())
                return 1
            sources += [_with_included(process, operands.pop(0), set())]
        assignments = _assignments(options.options)
        external = {name for name, _ in assignments}
        external |= {found[1] for operand in operands if (found := _ASSIGNMENT.fullmatch(operand))}
        program, warnings = compile_program("\n".join(sources), frozenset(external))
        for warning in warnings:
            process.error(f"cmd. line:1: warning: {warning}")
        runtime = Runtime(process, [process.argv[0], *operands])
        call.files.callback(runtime.release)
        runtime.in_place = ("i", "inplace") in options.options
        return (yield from _run(runtime, program, assignments))
    except AwkError as problem:
        if runtime is not None:
            runtime.flush_all()
        _report(process, _located(runtime, problem.line, str(problem)))
        return problem.status


def _located(runtime: Runtime | None, line: int | None, message: str) -> str:
    """A message with the place in the program and in its input."""
    if line is None:
        return message
    return f"cmd. line:{line}: {runtime.place() if runtime is not None else ''}{message}"


def _report(process: Process, message: str) -> None:
    """An error whose lines may each begin with the place in the program."""
    lines = message.split("\n")
    process.error(lines[0])
    for line in lines[1:]:
        if line.startswith("cmd. line:"):
            process.error(line)
        else:
            process.stderr.write((line + "\n").encode("utf-8", "surrogateescape"))


def _run(
    runtime: Runtime, program: Callable[..., Any], assignments: list[tuple[str, str]]
) -> Generator[None, None, Status]:
    functions = Functions(runtime)
    begin, main, end, assign, user = program(runtime, functions)
    functions.user = {name: _plain(function) for name, function in user.items()}
    functions.ready_made = lambda name, count: _ready_made(runtime, functions, name, count)
    runtime.assign_variable = assign
    for name, text in assignments:
        runtime.command_line_assignment(name, text)
    ending = False
    try:
        try:
            if begin is not None:
                yield from begin()
            if main is not None:
                yield from main()
        except Exit:
            pass
        runtime.close_current()
        if end is not None:
            ending = True
            try:
                yield from end()
            except Exit:
                pass
    except ZeroDivisionError as problem:
        raise AwkError("fatal: division by zero attempted", 2, line_of(problem.__traceback__)) from None
    except RecursionError:
        raise fatal(f"functions call each other too deeply{' in END' if ending else ''}") from None
    yield from runtime.pass_on()
    runtime.close_all()
    return runtime.exit_status


def _ready_made(runtime: Runtime, functions: Functions, name: str, count: int) -> Callable[..., Any] | None:
    """A ready-made function as one of a program's: it is called from a program that has no more to it."""
    if name not in BUILTINS:
        return None
    parameters = ", ".join(f"p{index}" for index in range(count))
    program, _ = compile_program(
        f"function call({parameters}) {{ return {name}({parameters}) }}", frozenset()
    )
    *_, user = program(runtime, functions)
    return user["call"]  # type: ignore[no-any-return]


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """A user function as one that returns its value, also when it prints."""
    if not inspect.isgeneratorfunction(function):
        return function

    @functools.wraps(function)
    def run(*arguments: Any) -> Any:
        running = function(*arguments)
        while True:
            try:
                next(running)
            except StopIteration as stop:
                return stop.value

    return run


def _sources(process: Process, given: list[tuple[str, str | None]]) -> list[str]:
    sources: list[str] = []
    for name, value in given:
        if name == "e":
            sources.append(value or "")
        elif name == "i" and value not in _EXTENSIONS:
            sources.append(f'@include "{value}"')
        elif name in ("f", "E"):
            try:
                source = open_input(process, value or "")
            except OSError as problem:
                raise fatal(f"cannot open source file `{value}' for reading: {reason(problem)}") from None
            sources.append(decode(source.read()))
            source.close()
    read: set[str] = set()
    return [_with_included(process, source, read) for source in sources]


def _with_included(process: Process, source: str, read: set[str]) -> str:
    """A program with the files that its `@include` lines name in their place, each once."""

    def contents(found: re.Match[str]) -> str:
        name = found[1]
        for path in (name, f"{name}.awk"):
            if path in read:
                return ""
            try:
                file = open_input(process, path)
            except OSError:
                continue
            read.add(path)
            text = decode(file.read())
            file.close()
            return _with_included(process, text, read)
        problem = f"error: cannot open source file `{name}' for reading: No such file or directory"
        raise AwkError(f"cmd. line:1: {problem}")

    return _INCLUDE.sub(contents, source)


def _assignments(given: list[tuple[str, str | None]]) -> list[tuple[str, str]]:
    assignments: list[tuple[str, str]] = []
    for name, value in given:
        if name == "F":
            assignments.append(("FS", value or ""))
        elif name == "v":
            found = _ASSIGNMENT.fullmatch(value or "")
            if not found:
                variable, equals, _ = (value or "").partition("=")
                if equals:
                    raise fatal(f"`{variable}' is not a legal variable name")
                raise fatal(f"`{value}' argument for `-v' not in `var=value' form")
            assignments.append((found[1], found[2]))
    return assignments
