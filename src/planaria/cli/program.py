"""`planaria run`: a program from its first line to its exit status."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from importlib.util import decode_source
from pathlib import Path
from typing import Final, Self

import click

from planaria import Session
from planaria.cli.figures import save, shows_picture
from planaria.cli.options import SessionOptions
from planaria.cli.report import as_json as report
from planaria.cli.streams import StandardInput, StandardOutput
from planaria.errors import ExecutionError, Interrupted, PlanariaError
from planaria.errors import TimeoutError as ExecutionTimeout
from planaria.limits import Limits
from planaria.session.result import Output, Result

__all__ = ["INTERRUPTED", "Program", "run_program", "tell_end"]

INTERRUPTED: Final = 130  # 128 + SIGINT


@dataclass(frozen=True, slots=True)
class Program:
    """A source text, what tracebacks call it, and its `sys.argv`."""

    source: str
    name: str
    argv: tuple[str, ...]

    @classmethod
    def find(cls, code: str | None, arguments: list[str]) -> Self:
        """The program that the command line means. Raises click.UsageError when there is none."""
        if code is not None:
            return cls(code, "<string>", ("-c", *arguments))
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
        return cls(source, "<stdin>" if file == "-" else file, tuple(arguments) or ("",))


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
    lines: list[StandardInput] = []
    with Session(
        limits=limits,
        argv=program.argv,
        mounts=options.mounts,
        image=options.image,
        stdin=lambda prompt: lines[0](prompt),
        on_bytes=stdout,
        on_output=displays,
    ) as session:
        lines.append(StandardInput(options.timeout, prompts=stdout))
        try:
            result = session.run(program.source, name=program.name)
            status = result.exit_code
        except KeyboardInterrupt as interrupt:
            result, status = _interrupted(interrupt, session.execution_count), INTERRUPTED
    if as_json:
        print(json.dumps(report(result, status), default=str))
    elif result.error is not None:
        tell_end(result.error, options)
    if displays.unsaved and not as_json:
        figures = "1 figure was" if displays.unsaved == 1 else f"{displays.unsaved} figures were"
        print(f"planaria: {figures} not saved; --save DIR keeps them", file=sys.stderr)
    return status


def _interrupted(interrupt: KeyboardInterrupt, count: int) -> Result:
    """The result that a Ctrl-C took the place of."""
    error = interrupt.__cause__
    if not isinstance(error, Interrupted):
        error = Interrupted("interrupted")
    return Result(
        error=error,
        stdout_bytes=error.stdout.encode("utf-8", "surrogateescape"),
        stderr_bytes=error.stderr.encode("utf-8", "surrogateescape"),
        execution_count=count,
    )


def tell_end(error: PlanariaError, options: SessionOptions) -> None:
    """Say on standard error how the program ended: its traceback, or why it was stopped."""
    if isinstance(error, ExecutionError):
        if error.exit_code is None:
            sys.stderr.write(error.traceback)
        return
    line = getattr(error, "lineno", None)
    where = f" at line {line}" if line is not None else ""
    if isinstance(error, ExecutionTimeout):
        print(f"planaria: stopped after {options.timeout:g} s{where}", file=sys.stderr)
    elif isinstance(error, Interrupted):
        print(f"planaria: interrupted{where}", file=sys.stderr)
    else:
        print(f"planaria: {error}{where}", file=sys.stderr)
