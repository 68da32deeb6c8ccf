"""Running commands: functions, builtins, commands of the registry, scripts; subshells and captures."""

# mypy: disable-error-code="misc"
# The methods here are a part of `Shell` and are only ever called on one, which is what `self: Shell` says.

from __future__ import annotations

import difflib
import os
import shlex
import stat
from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING

from .command import COMMANDS, CommandFunction
from .control import Break, Continue, Exit, LimitReachedError, Return
from .functions import Frame, FunctionBody
from .lexer import ShellSyntaxError
from .process import RunningCommand
from .program import Program
from .redirection import Saved, restore
from .streams import CapturedOutput, PipeInput, Stream, flush_all
from .translation.region import FunctionRegion
from .variables import Scope, ShellError

if TYPE_CHECKING:
    from .builtins import Builtin
    from .shell import Shell

__all__ = ["Execution"]

Code = Callable[["Shell"], int]
StreamCode = Callable[["Shell"], Generator[None, None, int]]

#: Directories that hold the commands of the registry.
SYSTEM_DIRECTORIES = frozenset(
    ["/usr/bin", "/bin", "/usr/local/bin", "/usr/sbin", "/sbin", "/usr/local/sbin"]
)
#: Builtins that a real system also has as programs, so that `xargs`, `env` and `find -exec` find them.
PROGRAMS_TOO = frozenset(["echo", "printf", "test", "[", "true", "false", "pwd", "kill"])
BROKEN_PIPE = 141
#: What POSIX calls special builtins.
SPECIAL = frozenset(
    [
        ".", ":", "break", "continue", "eval", "exec", "exit", "export", "readonly", "return", "set", "shift",
        "source", "times", "trap", "unset",
    ]
)  # fmt: skip
_PURE = frozenset(["echo", "printf", "pwd", "test", "[", "true", "false", ":", "type", "dirs"])


class Execution:
    """How a shell runs what a command line names."""

    # -- one command -------------------------------------------------------------------------------

    def execute(self: Shell, argv: list[str]) -> int:
        """Run a command by its arguments."""
        name = argv[0]
        function = self.functions.get(name)
        if function is not None:
            return self.call_function(function, argv, False)
        builtin = self.builtins.get(name)
        if builtin is not None:
            return builtin(self, argv)
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
        if name in ("read", "mapfile", "readarray"):
            while self.would_wait():
                yield
        return builtin(self, argv)

    def would_wait(self: Shell) -> bool:
        """Whether standard input is a pipe into which somebody else may still write."""
        stream = self.fds.get(0)
        if not isinstance(stream, PipeInput) or stream.pipe.pull is not None:
            self.blocked[0] = False
            return False
        self.blocked[0] = not stream.ready()
        return self.blocked[0]

    def with_temporary(
        self: Shell, assignments: list[Callable[[Shell, Scope], None]], argv: list[str], tested: bool
    ) -> int:
        """Run a command with variables that last as long as it does."""
        if not assignments:
            if self.tracing:
                self.trace(argv)
            return self._dispatch(argv, tested)
        scope = Scope(temporary=True)
        variables = self.variables
        variables.scopes.append(scope)
        try:
            for assign in assignments:
                assign(self, scope)
            if self.tracing:
                self.trace(argv)
            return self._dispatch(argv, tested)
        finally:
            if self.posix and argv[0] in SPECIAL and argv[0] not in self.functions:
                for name in list(scope.saved):
                    variables.adopt(name, local=False)
            variables.pop()

    def stream_with_temporary(
        self: Shell, assignments: list[Callable[[Shell, Scope], None]], argv: list[str], tested: bool
    ) -> Generator[None, None, int]:
        """The same, yielding when the output is full."""
        scope = Scope(temporary=True)
        variables = self.variables
        if assignments:
            variables.scopes.append(scope)
        try:
            for assign in assignments:
                assign(self, scope)
            if self.tracing:
                self.trace(argv)
            return (yield from self.stream_execute(argv, tested))
        finally:
            if assignments:
                variables.pop()

    def _dispatch(self: Shell, argv: list[str], tested: bool) -> int:
        function = self.functions.get(argv[0])
        if function is not None:
            return self.call_function(function, argv, tested)
        builtin = self.builtins.get(argv[0])
        if builtin is not None:
            return self.call_tested(builtin, argv) if tested and self.watching else builtin(self, argv)
        return self.external(argv)

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

    def find_command(
        self: Shell, name: str, *, remember: bool = True
    ) -> tuple[str, CommandFunction | None] | None:
        """Where a command is: its path, and its function when the registry has it."""
        if "/" in name:
            path = self.path(name)
            directory, _, base = path.rpartition("/")
            function = self.registered(base)
            if directory in SYSTEM_DIRECTORIES and function is not None:
                return name, function
            return (name, None) if os.path.exists(path) else None
        found = self.hashed.get(name)
        if found is not None:
            return found
        found = next(self.find_commands(name), None)
        if found is not None and remember:
            self.hashed[name] = found
        return found

    def find_commands(self: Shell, name: str) -> Iterator[tuple[str, CommandFunction | None]]:
        """All places on PATH where a command of this name is."""
        search = self.variables.get("PATH")
        for directory in (search or "").split(":"):
            if directory in SYSTEM_DIRECTORIES:
                function = self.registered(name) if directory in ("/usr/bin", "/bin") else None
                if function is not None:
                    yield f"{directory}/{name}", function
                continue
            if not directory:
                directory = "."
            path = os.path.join(self.cwd, directory, name)
            try:
                mode = os.stat(path).st_mode
            except OSError:
                continue
            if stat.S_ISREG(mode) and mode & 0o111:
                yield (path if directory.startswith("/") else f"{directory}/{name}"), None

    def registered(self: Shell, name: str) -> CommandFunction | None:
        """The function behind a command's name, from the host's commands or the registry."""
        function = self.commands.get(name)
        if function is not None:
            return function
        function = COMMANDS.get(name)
        if function is None and not self.commands_loaded:
            self.load_commands()
            function = COMMANDS.get(name)
        if function is None and name in PROGRAMS_TOO:
            return _builtin_as_program
        return function

    def external(self: Shell, argv: list[str], shown: str | None = None) -> int:
        """Run a command that is no function and no builtin, to its end; `shown`: as what it is called."""
        generator = self.stream_external(argv, shown)
        while True:
            try:
                next(generator)
            except StopIteration as stop:
                if self.pending_signals:
                    self.take_signals()
                return stop.value  # type: ignore[no-any-return]

    def stream_external(self: Shell, argv: list[str], shown: str | None = None) -> Generator[None, None, int]:
        """The same, yielding when the output is full."""
        flush_all()
        name = argv[0]
        found = self.find_command(name) if name else None
        if found is None:
            return self._not_found(argv)
        path, function = found
        if function is None:
            try:
                function, argv = self._script(path, argv)
            except ShellError as error:
                self.complain(error.message)
                return error.status
        elif shown is not None:
            argv = [shown, *argv[1:]]
        self.heed_umask()
        if path.endswith(("/mkfifo", "/mknod")):
            self.expect_fifos()
        process = RunningCommand(self, argv)
        spooled = len(self.spooled_outputs)
        try:
            result = function(process)
            if not isinstance(result, int):
                result = yield from self._drive(result)
            return result & 0xFF
        except BrokenPipeError:
            return BROKEN_PIPE
        except (Exit, LimitReachedError, ShellSyntaxError, ShellError):
            raise
        except OSError as error:
            where = f"{os.fsdecode(error.filename)}: " if error.filename else ""
            process.error(f"{where}{error.strerror or error}")
            return 1
        except RecursionError:
            process.error("nested too deeply")
            return 1
        except MemoryError:
            process.error("memory exhausted")
            return 1
        except Exception as error:
            # A defect of the command must not take the session with it.
            process.error(f"internal error: {type(error).__name__}: {error}")
            return 70
        finally:
            process.close_opened()
            if len(self.spooled_outputs) > spooled:
                self.collect_outputs(spooled)

    def heed_umask(self: Shell) -> None:
        """Make the system heed the shell's umask, where the system has one."""
        if self.system_umask[0] != self.umask:
            self.system_umask[0] = self.umask
            if hasattr(os, "umask"):
                os.umask(self.umask)

    def _drive(self: Shell, generator: Generator[None, None, int]) -> Generator[None, None, int]:
        """Run a command's generator; where it would read from an empty pipe, wait first."""
        stream = self.fds.get(0)
        if isinstance(stream, PipeInput) and stream.pipe.pull is None:
            while self.would_wait():
                yield
        return (yield from generator) or 0

    def _not_found(self: Shell, argv: list[str]) -> int:
        name = argv[0]
        if "/" in name:
            self.complain(f"{name}: No such file or directory")
            return 127
        handler = self.functions.get("command_not_found_handle")
        if handler is not None:
            child = self.fork()
            return child.run_subshell(lambda sh: sh.call_function(handler, [handler.name, *argv], False))
        self.complain(f"{name}: command not found{self.suggestion(name)}")
        return 127

    def _script(self: Shell, path: str, argv: list[str]) -> tuple[CommandFunction, list[str]]:
        """The interpreter of a script, and its arguments."""
        full = self.path(path)
        try:
            if os.path.isdir(full):
                raise ShellError(f"{argv[0]}: Is a directory", status=126)
            if not os.stat(full).st_mode & 0o111:
                raise ShellError(f"{argv[0]}: Permission denied", status=126)
            with open(full, "rb") as file:
                first = file.readline(512)
        except OSError as error:
            raise ShellError(f"{argv[0]}: {error.strerror}", status=126) from None
        if first.startswith(b"#!"):
            words = shlex.split(first[2:].decode("utf-8", "surrogateescape").strip())
            if not words:
                words = ["/bin/sh"]
            base = os.path.basename(words[0])
            if base == "env" and len(words) > 1:
                words = words[1:]
                if words[0] == "-S":
                    words = words[1:]
                base = os.path.basename(words[0])
            function = self.registered(base)
            if function is None:
                raise ShellError(
                    f"{argv[0]}: {words[0]}: bad interpreter: No such file or directory", status=126
                )
            return function, [base, *words[1:], path, *argv[1:]]
        if b"\0" in first:
            raise ShellError(f"{argv[0]}: cannot execute binary file: Exec format error", status=126)
        shell = self.registered("bash")
        assert shell is not None
        return shell, ["bash", path, *argv[1:]]

    def suggestion(self: Shell, name: str) -> str:
        """A command with nearly the same name, as a hint."""
        if not 2 < len(name) < 30:
            return ""
        known = {*self.builtins, *COMMANDS, *self.commands, *self.functions}
        near = difflib.get_close_matches(name, known, 1, 0.75)
        return f" (did you mean {near[0]}?)" if near else ""

    # -- subshells ---------------------------------------------------------------------------------

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
            self.close_streams()

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
            self.close_streams()

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
            self.complain("maximum nesting level exceeded")
            return 1
        raise error

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
        return status

    def close_streams(self: Shell) -> None:
        """Let go of all descriptors."""
        streams = list(self.fds.values())
        self.fds.clear()
        for stream in streams:
            try:
                stream.release()
            except OSError:
                pass

    # -- captures ----------------------------------------------------------------------------------

    def deeper(self: Shell) -> None:
        """A subshell is about to begin: raises `LimitReachedError` when it is in too many others."""
        limit = self.limits.substitution_depth
        if limit is not None and self.subshell_level >= limit:
            raise LimitReachedError("substitution_depth", f"limit reached: substitution_depth ({limit})")

    def _collector(self: Shell) -> CapturedOutput:
        limit = self.limits.substitution_bytes

        def exceeded() -> None:
            raise LimitReachedError("substitution_bytes", f"limit reached: substitution_bytes ({limit})")

        return CapturedOutput(limit, exceeded)

    def capture(self: Shell, code: Code) -> bytes:
        """What `code` writes, run in a subshell."""
        self.deeper()
        child = self.fork()
        child.substitution_level += 1
        collected = self._collector()
        child.put_stream(1, collected)
        if child.errexit and "inherit_errexit" not in child.shopts and not child.posix:
            child.errexit = False
            child.update_watching()
        self.substitution_status = child.run_subshell(code)
        if self.pending_signals:
            self.take_signals()
        return collected.getvalue()

    def capture_here(self: Shell, code: Code) -> bytes:
        """What `code` writes, run in this shell since it changes nothing in it."""
        collected = self._collector()
        status = self.run_here(code, None, collected, captured=True)
        self.substitution_status = status
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
            self.complain(error.message)
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
        return name in _PURE or name not in self.builtins

    # -- texts -------------------------------------------------------------------------------------

    def run_text(self: Shell, text: str, *, line: int = 1, where: str = "") -> int:
        """Run source text here (eval, traps, sourced files); a syntax error gives status 2."""
        status = 0
        ran = False
        self.substitution_level += 1
        try:
            for unit in Program.of(text, self, line).units(self):
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
                ran = True
        except ShellSyntaxError as error:
            self.report_syntax_error(error, where)
            return 2
        finally:
            self.substitution_level -= 1
        return status if ran else 0

    def stream_text(self: Shell, text: str, *, line: int = 1) -> Generator[None, None, int]:
        """The same, yielding when the output is full."""
        status = 0
        try:
            for unit in Program.of(text, self, line).units(self):
                status = self.status = yield from unit.stream(self)
        except ShellSyntaxError as error:
            self.report_syntax_error(error)
            return 2
        return status


def _builtin_as_program(process: object) -> int:
    """`/usr/bin/echo` and its like: the builtin, run as a program."""
    assert isinstance(process, RunningCommand)
    child = process.shell.fork()
    name = os.path.basename(process.argv[0])
    return child.run_subshell(lambda sh: sh.builtins[name](sh, [name, *process.argv[1:]]))
