"""Subshells and substitutions: running code apart from the shell, and collecting what it writes."""

from __future__ import annotations

from collections.abc import Callable, Generator

from planaria_shell.compile.redirection import Saved, restore
from planaria_shell.errors import ShellError, ShellSyntaxError
from planaria_shell.state.builtin import PURE_BUILTINS
from planaria_shell.state.control import BROKEN_PIPE, Exit, LimitReachedError, LoopJump, Return
from planaria_shell.state.interpreter import Interpreter
from planaria_shell.state.streams import CapturedOutput, DescriptorOutput, Stream

__all__ = [
    "Code",
    "StreamCode",
    "capture",
    "capture_here",
    "close_streams",
    "deeper",
    "leaves_state_alone",
    "let_go",
    "run_here",
    "run_subshell",
    "stream_subshell",
]


Code = Callable[["Interpreter"], int]
StreamCode = Callable[["Interpreter"], Generator[None, None, int]]


def run_subshell(shell: Interpreter, code: Code) -> int:
    """Run `code` as all that this subshell does; its descriptors close afterwards."""
    try:
        try:
            status = code(shell)
        except BaseException as error:
            status = _ended_by(shell, error)
        shell.status = status
        return _end_subshell(shell, status)
    finally:
        shell.let_go()


def stream_subshell(shell: Interpreter, code: StreamCode) -> Generator[None, None, int]:
    """The same, yielding when the output is full."""
    try:
        try:
            status = yield from code(shell)
        except GeneratorExit:
            raise
        except BaseException as error:
            status = _ended_by(shell, error)
        shell.status = status
        return _end_subshell(shell, status)
    finally:
        shell.let_go()


def _ended_by(shell: Interpreter, error: BaseException) -> int:
    """The status of a subshell that an exception ended; what must go further is raised again."""
    if isinstance(error, Exit):
        shell.ended_by = error.signal or shell.ended_by
        return error.status
    if isinstance(error, Return):
        return error.status
    if isinstance(error, LoopJump):
        return 0
    if isinstance(error, BrokenPipeError):
        return BROKEN_PIPE
    if isinstance(error, ShellError):
        shell.report_error(error)
        return _status_of(shell, error) if shell.is_one_command else 1
    if isinstance(error, ShellSyntaxError):
        shell.report_syntax_error(error)
        return 2
    if isinstance(error, RecursionError):
        # Each shell around it would go on, only to come as deep again: a fork bomb would not end.
        raise LimitReachedError("nesting", "maximum nesting level exceeded") from None
    if isinstance(error, OSError):
        return _write_failed(shell, error)
    raise error


def _status_of(shell: Interpreter, error: ShellError) -> int:
    """The status of a simple command in a process of its own: in `bash -c`, what ends the shell gives the
    status that this would have."""
    return error.status if error.fatal and not (shell.script or shell.reads_input) else 1


def _write_failed(shell: Interpreter, error: OSError) -> int:
    try:
        return shell.write_failed(error)
    except Exit as jump:
        return jump.status


def _end_subshell(shell: Interpreter, status: int) -> int:
    if shell.runs_exit_trap and shell.traps.get("EXIT"):
        try:
            shell.run_trap("EXIT")
        except Exit as jump:
            return jump.status
        except BrokenPipeError:
            return BROKEN_PIPE
    if shell.jobs:
        shell.settle_jobs()
    for stream in shell.fds.values():
        if stream.__class__ is DescriptorOutput and stream.owners == 1:
            try:
                stream.flush()
            except OSError as error:
                status = _write_failed(shell, error)
    return status


def let_go(shell: Interpreter) -> None:
    """The end of a subshell: leave its jobs behind, close its descriptors, and drop its variables."""
    shell.leave_jobs()
    shell.close_streams()
    # A shell and its variables know each other, so they stay until cycles are looked for: at least not
    # with copies of large arrays, of which a loop of substitutions would leave hundreds.
    shell.variables.table.clear()
    shell.variables.scopes.clear()


def close_streams(shell: Interpreter) -> None:
    """Let go of all descriptors, and have the limits of the shell around it hold again."""
    if shell.bounds is not shell.outer_bounds:
        shell.set_bounds(shell.outer_bounds)
    streams = list(shell.fds.values())
    shell.fds.clear()
    for stream in streams:
        try:
            stream.release()
        except OSError:
            pass


# -- captures ----------------------------------------------------------------------------------


def deeper(shell: Interpreter) -> None:
    """A subshell, a job or another bash is about to begin: raises `LimitReachedError` when it is in too
    many others."""
    limit = shell.limits.substitution_depth
    if limit is not None and shell.nesting >= limit:
        raise LimitReachedError("substitution_depth", f"limit reached: substitution_depth ({limit})")


def _collector(shell: Interpreter) -> CapturedOutput:
    limit = shell.limits.substitution_bytes

    def exceeded() -> None:
        raise LimitReachedError("substitution_bytes", f"limit reached: substitution_bytes ({limit})")

    return CapturedOutput(limit, exceeded)


def capture(shell: Interpreter, code: Code) -> bytes:
    """What `code` writes, run in a subshell."""
    child = shell.fork()
    child.substitution_level += 1
    child.shown_jobs = shell.jobs or shell.shown_jobs
    child.reports_deaths = False
    # Unlike in `( )`, a jump out of the loop around ends it.
    child.loops = shell.loops
    collected = _collector(shell)
    child.put_stream(1, collected)
    if child.errexit and "inherit_errexit" not in child.shopts and not child.posix:
        child.errexit = False
        child.update_watching()
    shell.status = shell.substitution_status = child.run_subshell(code)
    if collected.owners:
        shell.run_writers(collected)
    if shell.traps:
        shell.children_ended()
    if shell.pending_signals:
        shell.take_signals()
    return collected.getvalue()


def capture_here(shell: Interpreter, code: Code) -> bytes:
    """What `code` writes, run in this shell since it changes nothing in it."""
    collected = _collector(shell)
    status = shell.run_here(code, None, collected, captured=True)
    shell.status = shell.substitution_status = status
    if shell.traps:
        shell.children_ended()
        shell.take_signals()
    return collected.getvalue()


def run_here(
    shell: Interpreter,
    code: Code,
    source: Stream | None,
    output: Stream | None,
    *,
    captured: bool = False,
) -> int:
    """Run in this shell, with other streams, what needs no subshell because it changes nothing."""
    fds = shell.fds
    saved: Saved = []
    for number, stream in ((0, source), (1, output)):
        if stream is not None:
            saved.append((number, fds.get(number)))
            fds[number] = stream.retain()
    kept = (shell.watching, shell.status, shell.pipe_statuses, shell.last_argument, shell.substitution_level)
    traps = shell.traps
    if "CHLD" in traps:
        # As in the subshell that this stands for.
        shell.traps = {name: command for name, command in traps.items() if name != "CHLD"}
    shell.watching = False
    # What is found here would be remembered in the subshell that this stands for, which ends.
    hashes = shell.hashes
    shell.hashes = False
    node, reports_deaths, ended_by = shell.node, shell.reports_deaths, shell.ended_by
    if captured:
        shell.substitution_level += 1
        shell.subshell_level += 1
        shell.reports_deaths = False
    try:
        return code(shell)
    except BrokenPipeError:
        return BROKEN_PIPE
    except ShellError as error:
        shell.report_error(error)
        return 1 if captured else _status_of(shell, error)
    except Exit as jump:
        return jump.status
    finally:
        if captured:
            shell.subshell_level -= 1
            shell.node, shell.reports_deaths, shell.ended_by = node, reports_deaths, ended_by
        shell.traps = traps
        shell.hashes = hashes
        shell.watching, shell.status, shell.pipe_statuses, shell.last_argument, shell.substitution_level = (
            kept
        )
        restore(shell, saved)


def leaves_state_alone(shell: Interpreter, name: str) -> bool:
    """Whether running the command of this name changes nothing in this shell."""
    if name in shell.functions or shell.tracing or "command_not_found_handle" in shell.functions:
        return False
    return name in PURE_BUILTINS or name not in shell.builtins
