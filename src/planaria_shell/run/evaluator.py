"""Running source text: scripts, the lines of a prompt, the texts of eval, traps and sourced files."""

# mypy: disable-error-code="misc"
# The methods here are a part of `Shell` and are only ever called on one, which is what `self: Shell` says.

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

from planaria_shell.compile.program import Program, TypedProgram
from planaria_shell.run.control import BROKEN_PIPE, Break, Continue, Exit, LimitReachedError, Return
from planaria_shell.run.int_limits import DigitsOfTheShell
from planaria_shell.run.pipes import PipeInput
from planaria_shell.run.resources import FROM_THE_START
from planaria_shell.run.streams import CapturedOutput, FileOutput, NullStream, flush_all
from planaria_shell.run.variable import AbandonError, ShellError
from planaria_shell.syntax.arithmetic_parser import ArithmeticSyntaxError
from planaria_shell.syntax.lexer import ShellSyntaxError

if TYPE_CHECKING:
    from planaria_shell.run.shell import Shell

__all__ = ["Sources"]


class Sources:
    """How a shell runs text, and what it does with errors that nothing in the text has handled."""

    def run(self: Shell, source: str, *, where: str = "") -> int:
        """Run a script in this shell and return its status. Output goes to the shell's streams.

        State stays for the next call. What `exit` ends is only this call (after the EXIT trap). Errors of the
        script are told on standard error, never raised; `KeyboardInterrupt` goes through.
        """
        with DigitsOfTheShell():
            return self._run(source, where)

    def _run(self: Shell, source: str, where: str) -> int:
        self.counters.begin()
        self.exited = False
        if self.bounds is not FROM_THE_START:
            self.heed_limits()
        try:
            kind = TypedProgram if self.histexpand and self.history_enabled else Program
            self._run_program(kind.of(source, self), where)
        except Exit as jump:
            self.status = jump.status
            self.exited = jump.asked
            self.run_exit_trap()
        except LimitReachedError as error:
            self._stop(error.message)
        finally:
            self._unwind()
        try:
            self.settle_jobs()
            self.run_consumers(close=True)
            self.collect_outputs(0)
        except LimitReachedError as error:
            self._stop(error.message)
        except RecursionError:
            self._stop("maximum nesting level exceeded")
        except MemoryError:
            self._stop("cannot allocate memory")
        except OSError as error:
            self._stop(error.strerror or str(error))
        flush_all()
        for stream in self.fds.values():
            if stream.__class__ is FileOutput and stream.failure is not None:
                self._tell_failures()
                break
        return self.status

    def _stop(self: Shell, reason: str) -> None:
        """Something has ended the script, and its jobs with it: they would only run into the same again."""
        self.complain(reason)
        self.status = 1
        for job in self.jobs:
            job.kill(9)

    def _tell_failures(self: Shell) -> None:
        """What could not be written into files that stay open is told now."""
        for stream in list(self.fds.values()):
            try:
                stream.flush()
            except OSError as error:
                try:
                    self.status = self.write_failed(error)
                except Exit as jump:
                    self.status = jump.status

    def remember(self: Shell, source: str) -> None:
        """Put what is about to be run into the history, as HISTCONTROL and HISTSIZE have it."""
        text = source.strip("\n")
        self.history_replaced = False
        control = (self.variables.get("HISTCONTROL") or "").split(":")
        spaces = "ignorespace" in control or "ignoreboth" in control
        if not text.strip() or (spaces and text[0] == " "):
            return
        if "erasedups" in control:
            self.history = [one for one in self.history if one != text]
        elif self.history and self.history[-1] == text and {"ignoredups", "ignoreboth"} & set(control):
            return
        self.history.append(text)
        size = self.variables.get("HISTSIZE") or "500"
        if size.isdecimal() and len(self.history) > int(size):
            del self.history[: len(self.history) - int(size)]

    def _run_program(self: Shell, program: Program, where: str) -> None:
        units = program.units(self)
        while True:
            try:
                unit = next(units, None)
                if unit is None:
                    return
                if self.verbose:
                    self.error_output(unit.text if unit.text.endswith("\n") else unit.text + "\n")
                if self.noexec:
                    continue
                if self.history_enabled:
                    self.remember(unit.text)
                self.status = unit.run(self)
            except ShellSyntaxError as error:
                self.report_syntax_error(error, where)
                if not error.ends_input:
                    self.status = 1 if error.discards_line else 2
                if not error.discards_line:
                    raise Exit(self.status) from None
            except ShellError as error:
                self._discard()
                self.status = 1
                self.report(error)
                if self.errexit and not isinstance(error, ArithmeticSyntaxError | AbandonError):
                    raise Exit(1) from None
            except Return as jump:
                self.status = jump.status
            except (Break, Continue):
                self.status = 0
            except BrokenPipeError:
                raise Exit(BROKEN_PIPE) from None
            except OSError as error:
                self._discard()
                self.status = self.write_failed(error)
            except RecursionError:
                self._discard()
                self.complain("maximum nesting level exceeded")
                self.status = 1
            except MemoryError:
                self._discard()
                self.complain("cannot allocate memory")
                raise Exit(1) from None

    def _discard(self: Shell) -> None:
        """An error threw away the command: no function or loop is left running."""
        self.loops = 0
        self.suppressed = 0

    def _unwind(self: Shell) -> None:
        self.loops = 0
        self.suppressed = 0
        self.substitution_level = 0

    def run_exit_trap(self: Shell) -> None:
        """Run the EXIT trap, once."""
        if self.traps.get("EXIT"):
            try:
                self.run_trap("EXIT")
            except Exit as jump:
                self.status = jump.status
            except ShellError as error:
                self.complain(error.message)
            self.traps.pop("EXIT", None)

    def exit_within(self: Shell, jump: Exit) -> None:
        """`exit` inside a function: the EXIT trap still sees what is local there."""
        if jump.asked and self.traps.get("EXIT") and "EXIT" not in self.running_traps:
            self.status = jump.status
            self.run_exit_trap()
            jump.status = self.status

    def finish(self: Shell) -> int:
        """The shell ends: the EXIT trap, the last of its jobs; returns the status it ends with."""
        self.run_exit_trap()
        self.settle_jobs()
        self.run_consumers(close=True)
        flush_all()
        return self.status

    def stream_program(self: Shell, source: str, where: str = "") -> Generator[None, None, int]:
        """Run a script as a writer into a pipe: yields when the output is full, ends with the EXIT trap."""
        yield from self.stream_line(source, where)
        return self.finish()

    def stream_line(self: Shell, source: str, where: str = "") -> Generator[None, None, int]:
        """Run a piece of a script; `exited` tells whether it called `exit`."""
        try:
            units = Program.of(source, self).units(self)
            while True:
                try:
                    unit = next(units, None)
                    if unit is None:
                        break
                    if self.noexec:
                        continue
                    if self.history_enabled:
                        self.remember(unit.text)
                    if self.takes_turns():
                        self.status = yield from unit.stream(self)
                    else:
                        self.status = unit.run(self)
                except ShellSyntaxError as error:
                    self.report_syntax_error(error, where)
                    if not error.discards_line:
                        raise Exit(self.status if error.ends_input else 2) from None
                    self.status = 1
                except ShellError as error:
                    self._discard()
                    self.status = 1
                    self.report(error)
                    if self.errexit and not isinstance(error, ArithmeticSyntaxError | AbandonError):
                        raise Exit(1) from None
                except Return as jump:
                    self.status = jump.status
        except Exit as jump:
            self.status = jump.status
            self.exited = True
        return self.status

    def takes_turns(self: Shell) -> bool:
        """Whether others must run in between: in the background, or at a pipe that may be full or empty."""
        source, output = self.fds.get(0), self.fds.get(1)
        return (
            self.background
            or (isinstance(source, PipeInput) and source.pipe.pull is None)
            or not isinstance(output, FileOutput | CapturedOutput | NullStream)
        )

    # -- texts -------------------------------------------------------------------------------------

    def run_text(self: Shell, text: str, *, line: int = 1, where: str = "") -> int:
        """Run source text here (eval, traps, sourced files); a syntax error gives status 2."""
        self.substitution_level += 1
        try:
            return self._run_lines(Program.of(text, self, line), where)
        finally:
            self.substitution_level -= 1

    def _run_lines(self: Shell, program: Program, where: str) -> int:
        status = 0
        units = program.units(self)
        while True:
            try:
                for unit in units:
                    loops, suppressed = self.loops, self.suppressed
                    try:
                        status = self.status = unit.run(self)
                    except ShellError as error:
                        self.tell(error)
                        if error.fatal or self.subshell_level:
                            raise
                        # Only what stands on this line is thrown away.
                        self.loops, self.suppressed = loops, suppressed
                        status = self.status = 1
                        self.report(error)
                return status
            except ShellSyntaxError as error:
                self.report_syntax_error(error, where)
                if not error.discards_line:
                    return 2
                status = self.status = 1

    def stream_text(self: Shell, text: str, *, line: int = 1) -> Generator[None, None, int]:
        """The same, yielding when the output is full."""
        status = 0
        units = Program.of(text, self, line).units(self)
        while True:
            try:
                for unit in units:
                    status = self.status = yield from unit.stream(self)
                return status
            except ShellSyntaxError as error:
                self.report_syntax_error(error)
                if not error.discards_line:
                    return 2
                status = self.status = 1
