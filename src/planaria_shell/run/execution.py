"""Running commands: functions, builtins, commands of the registry and scripts."""

# mypy: disable-error-code="misc"
# The methods here are a part of `Shell` and are only ever called on one, which is what `self: Shell` says.

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING

from planaria_shell.builtins.input import read_timeout
from planaria_shell.builtins.registry import SPECIAL
from planaria_shell.compile.functions import Frame, FunctionBody
from planaria_shell.run.command import CommandFunction
from planaria_shell.run.control import BROKEN_PIPE, Exit, LimitReachedError, Return
from planaria_shell.run.deadline import Expired, until
from planaria_shell.run.pipes import NothingYetError, PipeInput, PipeOutput
from planaria_shell.run.process import RunningCommand
from planaria_shell.run.resources import FROM_THE_START
from planaria_shell.run.streams import FileOutput, Stream, flush_all
from planaria_shell.run.traps import SIGNALS, XFSZ
from planaria_shell.run.variable import Scope, ShellError
from planaria_shell.syntax.lexer import ShellSyntaxError
from planaria_shell.translation.region import FunctionRegion

if TYPE_CHECKING:
    from planaria_shell.builtins import Builtin
    from planaria_shell.run.shell import Shell

__all__ = ["Execution"]

#: What is said of a command that a signal has ended.
_DEATHS = {9: "Killed", 24: "CPU time limit exceeded", XFSZ: "File size limit exceeded"}


#: Commands that run others, which cannot begin again.
_AGENTS = frozenset(
    [
        "bash", "chroot", "dash", "env", "find", "flock", "nice", "nohup", "parallel", "python", "python3",
        "setsid", "sh", "stdbuf", "sudo", "time", "timeout", "watch", "xargs",
    ]
)  # fmt: skip


#: Commands whose status 1 is an answer ("no line", "they differ"): what goes wrong in them is 2.
_ANSWERING = frozenset(
    ["awk", "cmp", "diff", "diff3", "egrep", "expr", "fgrep", "gawk", "grep", "ls", "rg", "sdiff", "sort"]
)


def _trouble(process: RunningCommand) -> int:
    """The status of a command that could not go on."""
    return 2 if os.path.basename(process.argv[0]) in _ANSWERING else 1


def _written(output: Stream | None) -> int:
    """A number that changes when something is written."""
    if isinstance(output, PipeOutput):
        return output.pipe.size
    return output.buffered if isinstance(output, FileOutput) else 0


class Execution:
    """How a shell runs what a command line names."""

    # -- one command -------------------------------------------------------------------------------

    def execute(self: Shell, argv: list[str], tested: bool = False) -> int:
        """Run a command by its arguments."""
        name = argv[0]
        function = self.functions.get(name)
        if function is not None:
            return self.call_function(function, argv, tested)
        builtin = self.builtins.get(name)
        if builtin is not None:
            return self.call_tested(builtin, argv) if tested and self.watching else builtin(self, argv)
        return self.external(argv)

    def stream_execute(self: Shell, argv: list[str], tested: bool = False) -> Generator[None, None, int]:
        """Run a command, yielding when its output is full."""
        name = argv[0]
        function = self.functions.get(name)
        if function is not None:
            return (yield from self.stream_function(function, argv, tested))
        builtin = self.builtins.get(name)
        if builtin is None:
            return (yield from self.stream_external(argv))
        if name == "command" and len(argv) > 1 and not argv[1].startswith("-"):
            rest = argv[1:]
            if rest[0] in self.builtins:
                return self.builtins[rest[0]](self, rest)
            return (yield from self.stream_external(rest))
        if name == "eval":
            return (yield from self.stream_text(" ".join(argv[1:])))
        if (
            name in ("read", "mapfile", "readarray")
            and isinstance(stream := self.fds.get(0), PipeInput)
            and stream.position >= len(stream.buffer)
        ):
            timeout = read_timeout(self, argv)
            yield from self.wait_for_input(stream, None if timeout is None else time.monotonic() + timeout)
        return builtin(self, argv)

    def wait_for_input(
        self: Shell, stream: PipeInput, deadline: float | None = None
    ) -> Generator[None, None, None]:
        """Let others run until there is something to read, or the end, or the time is over."""
        pipe = stream.pipe
        while not stream.ready():
            if deadline is not None and time.monotonic() >= deadline:
                break
            if pipe.pull is None:
                self.blocked[0] = True
            elif pipe.sleeping:
                self.alarm[0] = pipe.alarm[0] if deadline is None else min(pipe.alarm[0], deadline)
            else:
                break
            yield
        self.blocked[0] = False

    def bind_temporary(self: Shell, assignments: list[Callable[[Shell, Scope], None]]) -> None:
        """Make the variables that a command has for as long as it runs."""
        scope = Scope(temporary=True)
        variables = self.variables
        variables.scopes.append(scope)
        try:
            for assign in assignments:
                assign(self, scope)
        except BaseException:
            variables.pop()
            raise

    def unbind_temporary(self: Shell, argv: list[str]) -> None:
        """The command `argv` has ended: its own variables go, unless they stay after it, by POSIX."""
        variables = self.variables
        if self.posix and argv[0] in SPECIAL and argv[0] not in self.functions:
            for name in list(variables.scopes[-1].saved):
                variables.adopt(name, local=False)
        variables.pop()

    def call_tested(self: Shell, builtin: Builtin, argv: list[str]) -> int:
        """Run a builtin whose failure is looked at, and so is that of what it runs (`eval`, `source`)."""
        self.suppressed += 1
        try:
            return builtin(self, argv)
        finally:
            self.suppressed -= 1

    # -- functions ---------------------------------------------------------------------------------

    def _enter(self: Shell, function: FunctionBody, argv: list[str], tested: bool) -> tuple[object, ...]:
        limit = self.deepest
        depth = len(self.frames)
        own = self.table.get("FUNCNEST")
        if own is not None and (own.value or "").isdecimal() and 0 < int(own.value or "0") <= depth:
            raise ShellError(f"{argv[0]}: maximum function nesting level exceeded ({own.value})")
        if depth >= limit:
            raise ShellError(f"{argv[0]}: maximum function nesting level exceeded ({limit})")
        saved = (self.positional, self.loops, self.debug_trap, self.traps.get("RETURN"), self.err_trap_depth)
        self.frames.append(Frame(argv[0], function.source, self.line, argv[1:]))
        self.positional = argv[1:]
        self.loops = 0
        self.function_depth += 1
        self.variables.scopes.append(Scope())
        if tested:
            self.suppressed += 1
        if self.debug_trap and not (self.functrace or function.traced):
            self.debug_trap = False
            self.tracing = self.xtrace
        if saved[3] is not None and not (self.functrace or function.traced):
            del self.traps["RETURN"]
        if self.debug_trap:
            self.line = function.node.line
            self.run_debug_trap()
        return saved

    def _leave(self: Shell, saved: tuple[object, ...], tested: bool) -> None:
        if "RETURN" in self.traps and "DEBUG" not in self.running_traps:
            self.run_trap("RETURN")
        positional, loops, debug, on_return, _err_depth = saved
        if on_return is not None and "RETURN" not in self.traps:
            self.traps["RETURN"] = on_return  # type: ignore[assignment]
        if tested:
            self.suppressed -= 1
        scope = self.variables.pop()
        if scope.options is not None:
            self.restore_options(scope.options)
        self.function_depth -= 1
        self.line = self.frames.pop().line
        self.loops = loops  # type: ignore[assignment]
        self.positional = positional  # type: ignore[assignment]
        if debug and not self.debug_trap:
            self.update_watching()

    def call_function(self: Shell, function: FunctionBody, argv: list[str], tested: bool) -> int:
        """Run a function with `argv[1:]` as its positional parameters."""
        function.left -= 1
        if function.left < 0:
            status = self._call_translated(function, argv, tested)
            if status is not None:
                return status
        saved = self._enter(function, argv, tested)
        try:
            return function.run(self)
        except Return as jump:
            self.status = jump.status
            return jump.status
        except Exit as jump:
            self.exit_within(jump)
            raise
        except ShellError as error:
            self.tell(error)
            raise
        except RecursionError:
            raise ShellError(
                f"{argv[0]}: maximum function nesting level exceeded", fatal=True, status=1
            ) from None
        finally:
            self._leave(saved, tested)

    def _call_translated(self: Shell, function: FunctionBody, argv: list[str], tested: bool) -> int | None:
        """Run a function that has been called often; None when the closures have to."""
        region = function.region
        if region is None:
            region = function.region = FunctionRegion(function)
        status = None if region.hopeless else region.enter(self, argv, tested)
        if status is None:
            function.left = function.calls
        else:
            self.status = status
        return status

    def stream_function(
        self: Shell, function: FunctionBody, argv: list[str], tested: bool
    ) -> Generator[None, None, int]:
        """The same, yielding when the output is full."""
        saved = self._enter(function, argv, tested)
        try:
            return (yield from function.stream(self))
        except Return as jump:
            self.status = jump.status
            return jump.status
        except Exit as jump:
            self.exit_within(jump)
            raise
        except ShellError as error:
            self.tell(error)
            raise
        finally:
            self._leave(saved, tested)

    def define_function(self: Shell, body: FunctionBody) -> int:
        """`name () …`"""
        existing = self.functions.get(body.name)
        if body.name in self.readonly_functions:
            self.complain(f"{body.name}: readonly function")
            return 1
        source = self.frames[-1].source if self.frames else (self.script or "environment")
        self.functions[body.name] = body.with_source(source)
        if existing is not None and existing.exported:
            self.functions[body.name].exported = True
        return 0

    # -- what stands outside the shell -------------------------------------------------------------

    def external(self: Shell, argv: list[str], shown: str | None = None) -> int:
        """Run a command that is no function and no builtin, to its end; `shown`: as what it is called."""
        generator = self.stream_external(argv, shown, alone=True)
        while True:
            try:
                next(generator)
            except StopIteration as stop:
                if self.pending_signals:
                    self.take_signals()
                return stop.value  # type: ignore[no-any-return]
            if self.alarm[0]:
                # Nobody else can be given a turn from here.
                self.pause(self.alarm[0] - time.monotonic())

    def stream_external(
        self: Shell, argv: list[str], shown: str | None = None, *, alone: bool = False
    ) -> Generator[None, None, int]:
        """The same, yielding when the output is full or, unless it is `alone`, others have to run."""
        flush_all()
        name = argv[0]
        found = self.find_command(name) if name else None
        if found is None:
            return self._not_found(argv)
        path, function = found
        if function is None:
            try:
                function, argv = self.interpreter(path, argv)
            except ShellError as error:
                self.complain(error.message)
                return error.status
        elif shown is not None:
            argv = [shown, *argv[1:]]
        self.heed_umask()
        if self.bounds is not FROM_THE_START:
            self.heed_limits()
            if self.processes is not None and not self.subshell_level:  # a subshell becomes its last command
                self.may_fork()
        if path.endswith(("/mkfifo", "/mknod")):
            self.expect_fifos()
        process = RunningCommand(self, argv)
        spooled = len(self.spooled_outputs)
        try:
            if self.counters.cpu is not None:
                return (yield from self._timed(function, process)) & 0xFF
            source = self.fds.get(0)
            if isinstance(source, PipeInput):
                result = yield from self._at_pipe(function, process, source, alone=alone)
            else:
                steps = function(process)
                result = steps if isinstance(steps, int) else (yield from steps) or 0
            output = self.fds.get(1)
            if isinstance(output, FileOutput) and output.owned:
                output.flush()
            return result & 0xFF
        except BrokenPipeError:
            return BROKEN_PIPE
        except (Exit, LimitReachedError, ShellSyntaxError, ShellError):
            raise
        except OSError as error:
            if error.errno == errno.EFBIG and self.traps.get("XFSZ") != "":
                return self._died(XFSZ, argv)
            where = f"{os.fsdecode(error.filename)}: " if error.filename else ""
            process.error(f"{where}{error.strerror or error}")
            return _trouble(process)
        except RecursionError:
            process.error("nested too deeply")
            return _trouble(process)
        except MemoryError:
            process.error("memory exhausted")
            return _trouble(process)
        except Exception as error:
            # A defect of the command must not take the session with it.
            process.error(f"internal error: {type(error).__name__}: {error}")
            return 70
        finally:
            process.close_opened()
            if len(self.spooled_outputs) > spooled:
                self.collect_outputs(spooled)

    def _timed(self: Shell, function: CommandFunction, process: RunningCommand) -> Generator[None, None, int]:
        """Run a command that may use only so much processor time: it has a clock of its own."""
        assert self.counters.cpu is not None
        seconds, status = self.counters.cpu
        left = float(seconds)
        try:
            with until(time.process_time() + left, time.process_time):
                result = function(process)
            if isinstance(result, int):
                return result
            steps = result
            while True:
                began = time.process_time()
                try:
                    with until(began + left, time.process_time):
                        next(steps)
                except StopIteration as stop:
                    return stop.value or 0
                left -= time.process_time() - began
                yield
        except Expired:
            return self._died(status - 128, process.argv)

    def _died(self: Shell, number: int, argv: list[str]) -> int:
        """A signal has ended a command: tell it as for a process that nobody waits for at a prompt."""
        what = _DEATHS.get(number, SIGNALS[number])
        self.complain(f"{self.new_process_id():5} {what:<24}{' '.join(argv)}")
        return 128 + number

    def _at_pipe(
        self: Shell, function: CommandFunction, process: RunningCommand, source: PipeInput, *, alone: bool
    ) -> Generator[None, None, int]:
        """Run a command whose standard input is a pipe. If that is empty when the command wants to read,
        others are let run, unless it is `alone`, and it begins again."""
        source.untouched = None
        if (
            not alone
            and process.argv[0].rpartition("/")[2] not in _AGENTS
            and (self.gives_way or self.background or source.pipe.pull is None)
        ):
            output = self.fds.get(1)
            before = _written(output)
            source.untouched = lambda: _written(output) == before
            try:
                result = function(process)
                if isinstance(result, int):
                    return result
                next(result)
                yield
                return (yield from result) or 0
            except StopIteration as stop:
                return stop.value or 0
            except NothingYetError:
                process.close_opened()
            finally:
                source.untouched = None
            yield from self.wait_for_input(source)
        result = function(process)
        return result if isinstance(result, int) else (yield from result) or 0

    def _not_found(self: Shell, argv: list[str]) -> int:
        name = argv[0]
        if "/" in name:
            self.complain(f"{name}: No such file or directory")
            return 127
        handler = self.functions.get("command_not_found_handle")
        if handler is not None:
            child = self.fork()
            return child.run_subshell(lambda sh: sh.call_function(handler, [handler.name, *argv], False))
        self.complain(f"{name}: command not found{self.hint(name)}")
        return 127
