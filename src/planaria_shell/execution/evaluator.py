"""Running source text: scripts, the lines of a prompt, the texts of eval, traps and sourced files."""

from __future__ import annotations

from collections.abc import Generator

from planaria_shell.compile.program import Program, TypedProgram, Unit
from planaria_shell.errors import AbandonError, ArithmeticSyntaxError, ShellError, ShellSyntaxError
from planaria_shell.state.control import BROKEN_PIPE, Exit, LimitReachedError, LoopJump, Return
from planaria_shell.state.int_limits import DigitsOfTheShell
from planaria_shell.state.interpreter import Interpreter
from planaria_shell.state.pipes import PipeInput
from planaria_shell.state.resources import FROM_THE_START
from planaria_shell.state.streams import CapturedOutput, DescriptorOutput, NullStream, flush_all

__all__ = [
    "exit_within",
    "finish",
    "run",
    "run_exit_trap",
    "run_text",
    "stream_line",
    "stream_program",
    "stream_text",
    "takes_turns",
]


def run(shell: Interpreter, source: str, *, where: str = "") -> int:
    """Run a script in this shell and return its status. Output goes to the shell's streams.

    State stays for the next call. What `exit` ends is only this call (after the EXIT trap). Errors of the
    script are reported on standard error, never raised; `KeyboardInterrupt` goes through.
    """
    with DigitsOfTheShell():
        return _run(shell, source, where)


def _run(shell: Interpreter, source: str, where: str) -> int:
    shell.counters.begin()
    shell.exited = False
    if shell.bounds is not FROM_THE_START:
        shell.apply_limits()
    try:
        kind = TypedProgram if shell.histexpand and shell.history_enabled else Program
        _run_program(shell, kind.of(source, shell), where)
    except Exit as jump:
        shell.status = jump.status
        shell.exited = jump.asked
        shell.run_exit_trap()
    except LimitReachedError as error:
        _stop(shell, error.message)
    finally:
        _unwind(shell)
    try:
        shell.settle_jobs()
        shell.run_consumers(close=True)
        shell.collect_outputs(0)
    except LimitReachedError as error:
        _stop(shell, error.message)
    except RecursionError:
        _stop(shell, "maximum nesting level exceeded")
    except MemoryError:
        _stop(shell, "cannot allocate memory")
    except OSError as error:
        _stop(shell, error.strerror or str(error))
    flush_all()
    for stream in shell.fds.values():
        if stream.__class__ is DescriptorOutput and stream.failure is not None:
            _report_failures(shell)
            break
    return shell.status


def _stop(shell: Interpreter, reason: str) -> None:
    """Something has ended the script, and its jobs with it: they would only run into the same again."""
    shell.complain(reason)
    shell.status = 1
    for job in (*shell.jobs, *shell.orphans):
        job.kill(9)


def _report_failures(shell: Interpreter) -> None:
    """Report now what could not be written to files that stay open."""
    for stream in list(shell.fds.values()):
        try:
            stream.flush()
        except OSError as error:
            try:
                shell.status = shell.write_failed(error)
            except Exit as jump:
                shell.status = jump.status


def _run_program(shell: Interpreter, program: Program, where: str) -> None:
    units = program.units(shell)
    while True:
        try:
            unit = next(units, None)
            if unit is None:
                return
            if shell.verbose:
                _show(shell, unit)
            if shell.noexec:
                continue
            if shell.history_enabled:
                for text in unit.texts():
                    shell.remember(text)
            shell.status = unit.run(shell)
        except ShellSyntaxError as error:
            shell.report_syntax_error(error, where)
            _end_for_substitution(shell, error, 2)
            if not error.ends_input:
                shell.status = 1 if error.discards_line else 2
            if not error.discards_line:
                raise Exit(shell.status) from None
        except ShellError as error:
            _fail(shell, error)
        except Exit as jump:
            if not shell.noexec:
                raise
            shell.status = jump.status
        except Return as jump:
            shell.status = jump.status
        except LoopJump:
            shell.status = 0
        except BrokenPipeError:
            raise Exit(BROKEN_PIPE) from None
        except OSError as error:
            _discard(shell)
            shell.status = shell.write_failed(error)
        except RecursionError:
            _discard(shell)
            shell.complain("maximum nesting level exceeded")
            shell.status = 1
        except MemoryError:
            _discard(shell)
            shell.complain("cannot allocate memory")
            raise Exit(1) from None


def _show(shell: Interpreter, unit: Unit) -> None:
    """With `set -v` lines are shown as they are read."""
    shell.error_output(unit.text if unit.text.endswith("\n") else unit.text + "\n")


def _end_for_substitution(shell: Interpreter, error: ShellSyntaxError, status: int) -> None:
    """End a shell for what is wrong within `$(…)`; `status` is that of a script or standard input."""
    if error.in_substitution and not shell.interactive:
        if shell.subshell_level:
            status = 1
        elif not (shell.script or shell.reads_input):
            status = 127
        raise Exit(status)


def _fail(shell: Interpreter, error: ShellError) -> None:
    """An error threw away the command, and with `set -e` ends the shell."""
    _discard(shell)
    shell.status = 1
    shell.report(error)
    if shell.errexit and not isinstance(error, ArithmeticSyntaxError | AbandonError):
        raise Exit(1) from None


def _discard(shell: Interpreter) -> None:
    """An error threw away the command: no function or loop is left running."""
    shell.loops = 0
    shell.suppressed = 0


def _unwind(shell: Interpreter) -> None:
    shell.loops = 0
    shell.suppressed = 0
    shell.substitution_level = 0


def run_exit_trap(shell: Interpreter) -> None:
    """Run the EXIT trap, once."""
    if shell.traps.get("EXIT"):
        try:
            shell.run_trap("EXIT")
        except Exit as jump:
            shell.status = jump.status
        except ShellError as error:
            shell.report_error(error)
        shell.traps.pop("EXIT", None)


def exit_within(shell: Interpreter, jump: Exit) -> None:
    """`exit` inside a function: the EXIT trap still sees what is local there."""
    if jump.asked and shell.traps.get("EXIT") and "EXIT" not in shell.running_traps:
        shell.status = jump.status
        shell.run_exit_trap()
        jump.status = shell.status


def finish(shell: Interpreter) -> int:
    """The shell ends: the EXIT trap, the last of its jobs; returns the status it ends with."""
    shell.run_exit_trap()
    shell.settle_jobs()
    shell.run_consumers(close=True)
    flush_all()
    return shell.status


def stream_program(
    shell: Interpreter, source: str, where: str = "", *, as_command: bool = False
) -> Generator[None, None, int]:
    """Run a script as a writer into a pipe: yields when the output is full, ends with the EXIT trap.

    `as_command`: the shell becomes the simple command that the script ends with, if it does.
    """
    yield from shell.stream_line(source, where, as_command=as_command)
    return shell.finish()


def stream_line(
    shell: Interpreter, source: str, where: str = "", line: int = 1, *, as_command: bool = False
) -> Generator[None, None, int]:
    """Run a chunk of a script, which begins in its line `line`; `exited` says whether it called `exit`."""
    try:
        kind = TypedProgram if shell.histexpand and shell.history_enabled else Program
        units = kind.of(source, shell, line).units(shell)
        while True:
            try:
                unit = next(units, None)
                if unit is None:
                    break
                if shell.verbose:
                    _show(shell, unit)
                if shell.noexec:
                    continue
                if shell.history_enabled:
                    for text in unit.texts():
                        shell.remember(text)
                if as_command:
                    shell.last_command = unit.last_command
                if shell.takes_turns():
                    shell.status = yield from unit.stream(shell)
                else:
                    shell.status = unit.run(shell)
            except ShellSyntaxError as error:
                shell.report_syntax_error(error, where)
                _end_for_substitution(shell, error, 2)
                if not error.discards_line:
                    status = shell.status if error.ends_input else 2
                    raise Exit(status, discards=shell.interactive) from None
                shell.status = 1
            except ShellError as error:
                _fail(shell, error)
            except Exit as jump:
                if not shell.noexec:
                    raise
                shell.status = jump.status
            except Return as jump:
                shell.status = jump.status
    except Exit as jump:
        shell.status = jump.status
        shell.ended_by = jump.signal or shell.ended_by
        shell.exited = not jump.discards
    return shell.status


def takes_turns(shell: Interpreter) -> bool:
    """Whether others must run in between: in the background, or at a pipe that may be full or empty."""
    source, output = shell.fds.get(0), shell.fds.get(1)
    return (
        shell.background
        or (isinstance(source, PipeInput) and source.pipe.pull is None)
        or not isinstance(output, DescriptorOutput | CapturedOutput | NullStream)
    )


# -- texts -------------------------------------------------------------------------------------


def run_text(shell: Interpreter, text: str, *, line: int = 1, where: str = "") -> int:
    """Run source text here (eval, traps, sourced files); a syntax error gives status 2."""
    shell.substitution_level += 1
    try:
        return _run_lines(shell, Program.of(text, shell, line), where)
    finally:
        shell.substitution_level -= 1


def _run_lines(shell: Interpreter, program: Program, where: str) -> int:
    status = 0
    units = program.units(shell)
    while True:
        try:
            for unit in units:
                loops, suppressed = shell.loops, shell.suppressed
                if shell.verbose:
                    _show(shell, unit)
                try:
                    status = shell.status = unit.run(shell)
                except ShellError as error:
                    shell.report_error(error)
                    if error.fatal or shell.subshell_level:
                        raise
                    # Only what stands on this line is thrown away.
                    shell.loops, shell.suppressed = loops, suppressed
                    status = shell.status = 1
                    shell.report(error)
            return status
        except ShellSyntaxError as error:
            shell.report_syntax_error(error, where)
            _end_for_substitution(shell, error, 1)
            if shell.posix and not shell.interactive and not shell.running_traps:
                raise Exit(2) from None
            if not error.discards_line:
                return 2
            status = shell.status = 1


def stream_text(shell: Interpreter, text: str, *, line: int = 1) -> Generator[None, None, int]:
    """The same, yielding when the output is full."""
    status = 0
    units = Program.of(text, shell, line).units(shell)
    while True:
        try:
            for unit in units:
                status = shell.status = yield from unit.stream(shell)
            return status
        except ShellSyntaxError as error:
            shell.report_syntax_error(error)
            _end_for_substitution(shell, error, 1)
            if not error.discards_line:
                return 2
            status = shell.status = 1
