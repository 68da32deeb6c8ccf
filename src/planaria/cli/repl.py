"""The interactive session that `planaria` opens."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from planaria import Session, __version__
from planaria.cli import program_files, prompt_syntax
from planaria.cli.figures import save, shows_picture
from planaria.cli.forks import Forks
from planaria.cli.options import SessionOptions
from planaria.cli.streams import StandardInput, StandardOutput
from planaria.errors import ExecutionError, Exited, Interrupted, PlanariaError
from planaria.session.result import Output, Result

if TYPE_CHECKING:
    from planaria.cli.directives import Parallel

__all__ = ["Repl", "interact"]

#: Output of a fork: a descriptor and bytes, or the name of a stream and a rich output.
_Held = tuple[int | str, bytes | Output]


def interact(options: SessionOptions) -> int:
    """Run cells from the terminal until the user leaves; returns the exit status.

    Without a terminal, all of standard input is one cell.
    """
    repl = Repl(options)
    with contextlib.closing(repl.forks):
        if sys.stdin is None or not sys.stdin.isatty():
            result = repl.execute("" if sys.stdin is None else sys.stdin.read())
            return 130 if result is None else result.exit_code
        return repl.converse()


class Repl:
    """A session and a terminal."""

    def __init__(self, options: SessionOptions) -> None:
        self._write = StandardOutput()
        self._directory = options.save or Path()
        self._colours = sys.stderr.isatty() and "NO_COLOR" not in os.environ
        #: What forks write, by the thread that runs them; it is shown when they have ended.
        self._held = threading.local()
        session = Session(
            limits=options.limits(output=0),  # it is shown as it comes and need not be kept
            mounts=options.mounts,
            image=options.image,
            network=options.network(),
            env=program_files.terminal_environment(),
            stdin=StandardInput(prompts=self._write),
            on_bytes=self._pass_on,
            on_output=self._display,
        )
        self.forks = Forks(session)

    @property
    def session(self) -> Session:
        """The session in which cells run now."""
        return self.forks.session

    def converse(self) -> int:
        """Read and run cells until Ctrl-D or `exit()`; returns the exit status."""
        program_files.describe_terminal(self.session)
        from planaria.cli.directives import PREFIX
        from planaria.cli.prompt import CellPrompt

        prompt = CellPrompt(self.forks)
        print(f"planaria {__version__}: Python in a sandbox. {PREFIX}help lists commands, Ctrl-D leaves.")
        while True:
            try:
                text = prompt.read()
                if text.startswith(PREFIX):
                    self._obey(text)
                elif text.startswith(prompt_syntax.SHELL):
                    self._run_command(text.removeprefix(prompt_syntax.SHELL))
                elif text.strip():
                    result = self.execute(text)
                    if result is not None and isinstance(result.error, Exited):
                        return result.exit_code
            except KeyboardInterrupt:
                continue  # it cleared the line
            except EOFError:
                return 0

    def execute(self, source: str) -> Result | None:
        """Run a cell and show what comes of it; None when it was interrupted."""
        try:
            result = self.session.run(source)
        except KeyboardInterrupt as interrupt:
            cause = interrupt.__cause__
            self._write.line_is_open = True  # the terminal shows ^C
            self._report(cause if isinstance(cause, Interrupted) else Interrupted("interrupted"))
            return None
        self._show(self.session, result)
        return result

    def _show(self, session: Session, result: Result) -> None:
        """Show what an execution gave beside its output."""
        if result.repr is not None:
            self._print(prompt_syntax.pretty(session, result.repr, shutil.get_terminal_size().columns))
            prompt_syntax.keep_value(session)
        if result.error is not None:
            self._report(result.error)
        self._write.end_line()

    def _run_parallel(self, cell: Parallel) -> None:
        """Run a cell in forks side by side, and show one after the other what came of it."""

        def run(number: int, fork: Session) -> tuple[Session, list[_Held], Result]:
            held: list[_Held] = []
            self._held.output = held
            fork.run(f"FORK = {number}")
            return fork, held, fork.run(cell.source)

        try:
            ended = self.forks.parallel(cell.count, run)
        except KeyboardInterrupt:
            self._write.line_is_open = True
            self._complain("interrupted")
            return
        for number, (fork, held, result) in enumerate(ended):
            self._print(f"--- fork {number} ---")
            for stream, output in held:
                if isinstance(output, bytes):
                    self._write(int(stream), output)
                else:
                    self._display(str(stream), output)
            self._show(fork, result)
        self._print("%choose K goes on from fork K; until then nothing has changed")

    def _pass_on(self, stream: int, data: bytes) -> None:
        held = getattr(self._held, "output", None)
        if held is None:
            self._write(stream, data)
        else:
            held.append((stream, data))

    def _run_command(self, script: str) -> None:
        try:
            result = self.session.bash(script)
        except KeyboardInterrupt:
            self._write.line_is_open = True
            self._complain("interrupted")
            return
        prompt_syntax.keep_exit_code(self.session, result.exit_code)
        if result.error is not None:
            self._report(result.error)
        elif result.exit_code:
            self._complain(f"exit status {result.exit_code}")
        self._write.end_line()

    def _display(self, _stream: str, output: str | Output) -> None:
        if not isinstance(output, Output):
            return
        held = getattr(self._held, "output", None)
        if held is not None:
            held.append((_stream, output))
        elif shows_picture(output):
            try:
                self._print(f"saved {save(output, self._directory)}")
            except OSError as error:
                self._complain(f"the figure cannot be saved: {error}")
        elif not output.is_value:
            self._print(str(output))

    def _obey(self, line: str) -> None:
        from planaria.cli.directives import Cell, DirectiveError, Parallel, obey

        try:
            shown = obey(line.strip(), self.forks)
            if isinstance(shown, Cell):
                self.execute(shown.source)
            elif isinstance(shown, Parallel):
                self._run_parallel(shown)
            elif shown:
                self._print(shown)
        except (DirectiveError, PlanariaError) as error:
            self._complain(str(error))

    # -- showing -------------------------------------------------------------------------------------

    def _print(self, text: str) -> None:
        self._write.end_line()
        self._write(1, f"{text}\n".encode("utf-8", "backslashreplace"))

    def _report(self, error: PlanariaError) -> None:
        """Show what went wrong: the traceback of an exception, otherwise a line."""
        if not isinstance(error, ExecutionError):
            line = error.lineno
            self._complain(f"{error}" + (f" (line {line})" if line is not None else ""))
        elif error.exit_code is None:
            self._write.end_line()
            self._write(2, self._highlighted(error.traceback).encode("utf-8", "backslashreplace"))

    def _complain(self, message: str) -> None:
        self._write.end_line()
        text = f"\x1b[31m{message}\x1b[0m" if self._colours else message
        self._write(2, f"{text}\n".encode("utf-8", "backslashreplace"))

    def _highlighted(self, traceback: str) -> str:
        if not self._colours:
            return traceback
        from pygments import highlight
        from pygments.formatters import TerminalFormatter
        from pygments.lexers.python import PythonTracebackLexer

        return str(highlight(traceback, PythonTracebackLexer(), TerminalFormatter()))
