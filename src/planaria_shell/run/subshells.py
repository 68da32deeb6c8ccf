"""Subshells and substitutions: running code apart from the shell, and collecting what it writes."""

# mypy: disable-error-code="misc"
# The methods here are a part of `Shell` and are only ever called on one, which is what `self: Shell` says.

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING

from planaria_shell.compile.pipeline import PURE_BUILTINS
from planaria_shell.compile.redirection import Saved, restore
from planaria_shell.run.control import BROKEN_PIPE, Break, Continue, Exit, LimitReachedError, Return
from planaria_shell.run.streams import CapturedOutput, FileOutput, Stream
from planaria_shell.run.variable import ShellError
from planaria_shell.syntax.lexer import ShellSyntaxError

if TYPE_CHECKING:
    from planaria_shell.run.shell import Shell

__all__ = ["Subshells"]

Code = Callable[["Shell"], int]
StreamCode = Callable[["Shell"], Generator[None, None, int]]


class Subshells:
    """How a shell runs a part of itself."""

    def run_subshell(self: Shell, code: Code) -> int:
        """Run `code` as all that this subshell does; its descriptors close afterwards."""
        try:
            try:
                status = code(self)
            except BaseException as error:
                status = self._ended_by(error)
            self.status = status
            return self._end_subshell(status)
        finally:
            self.let_go()

    def stream_subshell(self: Shell, code: StreamCode) -> Generator[None, None, int]:
        """The same, yielding when the output is full."""
        try:
            try:
                status = yield from code(self)
            except GeneratorExit:
                raise
            except BaseException as error:
                status = self._ended_by(error)
            self.status = status
            return self._end_subshell(status)
        finally:
            self.let_go()

    def _ended_by(self: Shell, error: BaseException) -> int:
        """The status of a subshell that an exception ended; what must go further is raised again."""
        if isinstance(error, Exit | Return):
            return error.status
        if isinstance(error, Break | Continue):
            return 0
        if isinstance(error, BrokenPipeError):
            return BROKEN_PIPE
        if isinstance(error, ShellError):
            self.tell(error)
            return 1
        if isinstance(error, ShellSyntaxError):
            self.report_syntax_error(error)
            return 2
        if isinstance(error, RecursionError):
            # Each shell around it would go on, only to come as deep again: a fork bomb would not end.
            raise LimitReachedError("nesting", "maximum nesting level exceeded") from None
        if isinstance(error, OSError):
            return self._write_failed(error)
        raise error

    def _write_failed(self: Shell, error: OSError) -> int:
        try:
            return self.write_failed(error)
        except Exit as jump:
            return jump.status

    def _end_subshell(self: Shell, status: int) -> int:
        if self.traps.get("EXIT"):
            try:
                self.run_trap("EXIT")
            except Exit as jump:
                return jump.status
            except BrokenPipeError:
                return BROKEN_PIPE
        if self.jobs:
            self.settle_jobs()
        for stream in self.fds.values():
            if stream.__class__ is FileOutput and stream.owners == 1:
                try:
                    stream.flush()
                except OSError as error:
                    status = self._write_failed(error)
        return status

    def let_go(self: Shell) -> None:
        """The end of a subshell: close its descriptors, and drop its variables."""
        self.close_streams()
        # A shell and its variables know each other, so they stay until cycles are looked for: at least not
        # with copies of large arrays, of which a loop of substitutions would leave hundreds.
        self.variables.table.clear()
        self.variables.scopes.clear()

    def close_streams(self: Shell) -> None:
        """Let go of all descriptors, and have the limits of the shell around it hold again."""
        if self.bounds is not self.outer_bounds:
            self.set_bounds(self.outer_bounds)
        streams = list(self.fds.values())
        self.fds.clear()
        for stream in streams:
            try:
                stream.release()
            except OSError:
                pass

    # -- captures ----------------------------------------------------------------------------------

    def deeper(self: Shell) -> None:
        """A subshell, a job or another bash is about to begin: raises `LimitReachedError` when it is in too
        many others."""
        limit = self.limits.substitution_depth
        if limit is not None and self.nesting >= limit:
            raise LimitReachedError("substitution_depth", f"limit reached: substitution_depth ({limit})")

    def _collector(self: Shell) -> CapturedOutput:
        limit = self.limits.substitution_bytes

        def exceeded() -> None:
            raise LimitReachedError("substitution_bytes", f"limit reached: substitution_bytes ({limit})")

        return CapturedOutput(limit, exceeded)

    def capture(self: Shell, code: Code) -> bytes:
        """What `code` writes, run in a subshell."""
        child = self.fork()
        child.substitution_level += 1
        child.shown_jobs = self.jobs or self.shown_jobs
        # Unlike in `( )`, a jump out of the loop around ends it.
        child.loops = self.loops
        collected = self._collector()
        child.put_stream(1, collected)
        if child.errexit and "inherit_errexit" not in child.shopts and not child.posix:
            child.errexit = False
            child.update_watching()
        self.status = self.substitution_status = child.run_subshell(code)
        if self.pending_signals:
            self.take_signals()
        return collected.getvalue()

    def capture_here(self: Shell, code: Code) -> bytes:
        """What `code` writes, run in this shell since it changes nothing in it."""
        collected = self._collector()
        status = self.run_here(code, None, collected, captured=True)
        self.status = self.substitution_status = status
        return collected.getvalue()

    def run_here(
        self: Shell,
        code: Code,
        source: Stream | None,
        output: Stream | None,
        *,
        merged: bool = False,
        captured: bool = False,
    ) -> int:
        """Run in this shell, with other streams, what needs no subshell because it changes nothing."""
        fds = self.fds
        saved: Saved = []
        for number, stream in ((0, source), (1, output), (2, output if merged else None)):
            if stream is not None:
                saved.append((number, fds.get(number)))
                fds[number] = stream.retain()
        kept = (self.watching, self.status, self.pipe_statuses, self.last_argument, self.substitution_level)
        self.watching = False
        if captured:
            self.substitution_level += 1
            self.subshell_level += 1
        try:
            return code(self)
        except BrokenPipeError:
            return BROKEN_PIPE
        except ShellError as error:
            self.tell(error)
            return 1
        except Exit as jump:
            return jump.status
        finally:
            if captured:
                self.subshell_level -= 1
            self.watching, self.status, self.pipe_statuses, self.last_argument, self.substitution_level = kept
            restore(self, saved)

    def leaves_state_alone(self: Shell, name: str) -> bool:
        """Whether running the command of this name changes nothing in this shell."""
        if name in self.functions or self.tracing or "command_not_found_handle" in self.functions:
            return False
        return name in PURE_BUILTINS or name not in self.builtins
