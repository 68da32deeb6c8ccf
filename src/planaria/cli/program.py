"""`planaria run`: a program from its first line to its exit status."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import decode_source
from pathlib import Path
from typing import Final, Self

import click

from planaria import Session
from planaria.cli import program_files
from planaria.cli.figures import save, shows_picture
from planaria.cli.options import SessionOptions
from planaria.cli.streams import StandardInput, StandardOutput
from planaria.errors import ExecutionError, Interrupted, PlanariaError
from planaria.errors import TimeoutError as ExecutionTimeout
from planaria.limits import Limits
from planaria.session.report import as_json as report
from planaria.session.result import Output, Result

__all__ = ["INTERRUPTED", "Program", "report_end", "run_program"]

INTERRUPTED: Final = 130  # 128 + SIGINT

#: The whole of the program that `-m` means, with the name of the module.
_RUN_MODULE: Final = "import runpy; runpy._run_module_as_main({0!r})"

#: Files that are named at the end, at most.
_MOST_NAMES: Final = 5


@dataclass(frozen=True, slots=True)
class Program:
    """A source text, what tracebacks call it, its `sys.argv`, and where it is on this computer."""

    source: str
    name: str
    argv: tuple[str, ...]
    file: Path | None = None
    """The file that it is."""
    module: str | None = None
    """The module that it is, found in the working directory or in the sandbox."""

    @classmethod
    def find(cls, code: str | None, module: str | None, arguments: list[str]) -> Self:
        """The program that the command line means. Raises click.UsageError when there is none."""
        if code is not None and module is not None:
            raise click.UsageError("-c and -m exclude each other")
        if code is not None:
            return cls(code, "<string>", ("-c", *arguments))
        if module is not None:
            return cls(_RUN_MODULE.format(module), "<string>", ("-m", *arguments), module=module)
        if not arguments and (sys.stdin is None or sys.stdin.isatty()):
            raise click.UsageError("say what to run: a FILE, - for standard input, or -c CODE")
        file = arguments[0] if arguments else "-"
        try:
            data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
            source = decode_source(data)
        except OSError as error:
            raise click.UsageError(f"cannot read {file}: {error.strerror}") from None
        except (SyntaxError, UnicodeDecodeError) as error:
            raise click.UsageError(f"{file} is not a Python program: {error}") from None
        if file == "-":
            return cls(source, "<stdin>", tuple(arguments) or ("",))
        return cls(source, file, tuple(arguments), Path(file))


class _Displays:
    """What becomes of rich outputs: pictures are saved or counted, others are printed as text."""

    def __init__(self, directory: Path | None, write: StandardOutput | None) -> None:
        self._directory = directory
        self._write = write
        self.unsaved = 0

    def __call__(self, stream: str, output: str | Output) -> None:
        if not isinstance(output, Output):
            return
        if shows_picture(output):
            if self._directory is None:
                self.unsaved += 1
            else:
                save(output, self._directory)
        elif self._write is not None and not output.is_value:
            self._write(1, f"{output}\n".encode("utf-8", "surrogateescape"))


def run_program(program: Program, options: SessionOptions, *, as_json: bool) -> int:
    """Run it, passing its output on or gathering it for one JSON object; returns the exit status."""
    stdout = None if as_json else StandardOutput()
    displays = _Displays(options.save, stdout)
    # What is passed on need not be kept.
    limits = options.limits(output=Limits().output if as_json else 0)
    # Lines are read once the session is there, so that making it takes nothing of their time.
    lines = StandardInput(prompts=stdout)
    with Session(
        limits=limits,
        argv=program.argv,
        mounts=options.mounts,
        image=options.image,
        network=options.network(),
        env=None if as_json else program_files.terminal_environment(),
        stdin=lines,
        on_bytes=stdout,
        on_output=displays,
    ) as session:
        _place(program, session, options)
        if not as_json:
            program_files.describe_terminal(session)
        given = program_files.home_files(session, options.mounts)
        lines.begin(options.timeout)
        try:
            result = session.run(program.source, name=program.name)
            status = result.exit_code
        except KeyboardInterrupt as interrupt:
            result = _interrupted(interrupt, session.execution_count)
            status = INTERRUPTED if isinstance(result.error, Interrupted) else result.exit_code
        written = [
            path for path in program_files.home_files(session, options.mounts) if path not in set(given)
        ]
        refused = [] if options.save is None else program_files.save_files(session, written, options.save)
    if as_json:
        print(json.dumps(report(result, status), default=str))
    elif result.error is not None:
        report_end(result.error, options)
    if not as_json:
        _report_lost(displays.unsaved, written if options.save is None else [], refused)
    return status


def _place(program: Program, session: Session, options: SessionOptions) -> None:
    """Have the program find itself and its modules: where a mount shows them, or as copies."""
    if program.module is not None:
        program_files.copy_modules(session, Path(), f"import {program.module}".encode())
    if program.file is None:
        return
    given, file = Path(os.path.abspath(program.file)), program.file.resolve()
    real = program_files.place_of(file, options.mounts)
    if real is None:
        data = file.read_bytes()
        path = real = f"{program_files.HOME}/{given.name}"
        session.files.write_bytes(path, data)
        program_files.copy_modules(session, file.parent, data)
    else:
        path = program_files.place_of(given, options.mounts) or real
    program_files.set_up(session, path, real)


def _report_lost(figures: int, written: Sequence[str], refused: Sequence[str]) -> None:
    """Say on standard error what the program has made that ends with the sandbox."""
    if written:
        names = [path.removeprefix(f"{program_files.HOME}/") for path in written]
        more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        print(
            f"planaria: {', '.join(names[:_MOST_NAMES])}{more}: written in the sandbox, and gone with it; "
            "--save DIR keeps files",
            file=sys.stderr,
        )
    elif figures:
        noun = "1 figure was" if figures == 1 else f"{figures} figures were"
        print(f"planaria: {noun} not saved; --save DIR keeps them", file=sys.stderr)
    if refused:
        print(f"planaria: not saved, since they exist: {', '.join(refused)}", file=sys.stderr)


def _interrupted(interrupt: KeyboardInterrupt, count: int) -> Result:
    """The result that a Ctrl-C took the place of: the program's own when it handled that."""
    result, error = getattr(interrupt, "result", None), interrupt.__cause__
    if isinstance(result, Result) and result.error is error and not isinstance(error, Interrupted):
        return result
    if not isinstance(error, Interrupted):
        error = Interrupted("interrupted")
    return Result(
        error=error,
        stdout_bytes=error.stdout.encode("utf-8", "surrogateescape"),
        stderr_bytes=error.stderr.encode("utf-8", "surrogateescape"),
        execution_count=count,
    )


def report_end(error: PlanariaError, options: SessionOptions) -> None:
    """Say on standard error how the program ended: its traceback, or why it was stopped."""
    if isinstance(error, ExecutionError):
        if error.exit_code is None:
            sys.stderr.write(error.traceback)
        return
    line = error.lineno
    where = f" at line {line}" if line is not None else ""
    if isinstance(error, ExecutionTimeout):
        print(f"planaria: stopped after {options.timeout:g} s{where}", file=sys.stderr)
    elif isinstance(error, Interrupted):
        print(f"planaria: interrupted{where}", file=sys.stderr)
    else:
        print(f"planaria: {error}{where}", file=sys.stderr)
