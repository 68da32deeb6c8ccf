"""Running commands: functions, builtins, commands of the registry and scripts."""

from __future__ import annotations

import errno
import os
import re
import time
from collections.abc import Callable, Generator

from planaria_shell.errors import ReadonlyError, ShellError, ShellSyntaxError
from planaria_shell.execution.command_lookup import interpreter
from planaria_shell.execution.process import RunningCommand
from planaria_shell.state.builtin import SPECIAL, STREAMING, Builtin
from planaria_shell.state.command import CommandFunction
from planaria_shell.state.control import BROKEN_PIPE, Exit, LimitReachedError, Return
from planaria_shell.state.deadline import Expired, until
from planaria_shell.state.functions import Frame, FunctionBody
from planaria_shell.state.interpreter import Interpreter
from planaria_shell.state.pipes import NothingYetError, PipeInput, PipeOutput
from planaria_shell.state.resources import FROM_THE_START
from planaria_shell.state.signals import XFSZ
from planaria_shell.state.streams import DescriptorOutput, Stream, flush_all, pause
from planaria_shell.state.variable import Scope, is_name
from planaria_shell.syntax.nodes import Simple
from planaria_shell.translation.region import FunctionRegion

__all__ = [
    "bind_temporary",
    "call_function",
    "call_tested",
    "define_function",
    "define_functions",
    "execute",
    "external",
    "stream_execute",
    "stream_external",
    "stream_function",
    "unbind_temporary",
    "wait_for_input",
]


#: What no name of a function can have in it.
_EXPANDED_OR_QUOTED = re.compile(r"""[$'"\\]""")

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
    return output.buffered if isinstance(output, DescriptorOutput) else 0


# -- one command -------------------------------------------------------------------------------


def execute(shell: Interpreter, argv: list[str], tested: bool = False) -> int:
    """Run a command by its arguments."""
    name = argv[0]
    function = shell.functions.get(name)
    if function is not None:
        return shell.call_function(function, argv, tested)
    builtin = shell.builtins.get(name)
    if builtin is not None:
        return shell.call_tested(builtin, argv) if tested and shell.watching else builtin(shell, argv)
    return shell.external(argv)


def stream_execute(shell: Interpreter, argv: list[str], tested: bool = False) -> Generator[None, None, int]:
    """Run a command, yielding when its output is full."""
    name = argv[0]
    function = shell.functions.get(name)
    if function is not None:
        return (yield from shell.stream_function(function, argv, tested))
    builtin = shell.builtins.get(name)
    if builtin is None:
        return (yield from shell.stream_external(argv))
    if name == "command" and len(argv) > 1 and not argv[1].startswith("-"):
        rest = argv[1:]
        if rest[0] in shell.builtins:
            return shell.builtins[rest[0]](shell, rest)
        return (yield from shell.stream_external(rest))
    if name == "eval" and argv[1:2] and argv[1][:1] != "-":
        return (yield from shell.stream_text(" ".join(argv[1:])))
    streaming = STREAMING.get(name)
    if streaming is not None:
        return (yield from streaming(shell, argv))
    return builtin(shell, argv)


def wait_for_input(
    shell: Interpreter, stream: PipeInput, deadline: float | None = None
) -> Generator[None, None, None]:
    """Let others run until there is something to read, or the end, or the time is over."""
    pipe = stream.pipe
    while not stream.ready():
        if deadline is not None and time.monotonic() >= deadline:
            break
        if pipe.pull is None:
            shell.blocked[0] = True
        elif pipe.sleeping:
            shell.alarm[0] = pipe.alarm[0] if deadline is None else min(pipe.alarm[0], deadline)
        else:
            break
        yield
    shell.blocked[0] = False


def _is_special(shell: Interpreter, name: str) -> bool:
    return name in SPECIAL and name not in shell.functions


def bind_temporary(
    shell: Interpreter, assignments: list[Callable[[Interpreter, Scope], None]], argv: list[str]
) -> None:
    """Make the variables that the command `argv` has for as long as it runs. In POSIX mode one that is
    read-only ends the shell where the command is a special builtin, and else what stands on its line."""
    scope = Scope(temporary=True)
    variables = shell.variables
    variables.scopes.append(scope)
    try:
        for assign in assignments:
            assign(shell, scope)
    except BaseException as error:
        variables.pop()
        if isinstance(error, ReadonlyError) and not _is_special(shell, argv[0]):
            error.fatal = False
        raise


def unbind_temporary(shell: Interpreter, argv: list[str]) -> None:
    """The command `argv` has ended: its own variables go, unless they stay after it, by POSIX."""
    variables = shell.variables
    if shell.posix and _is_special(shell, argv[0]):
        for name in list(variables.scopes[-1].saved):
            variables.adopt(name, local=False)
    variables.pop()


def call_tested(shell: Interpreter, builtin: Builtin, argv: list[str]) -> int:
    """Run a builtin whose failure is looked at, and so is that of what it runs (`eval`, `source`)."""
    shell.suppressed += 1
    try:
        return builtin(shell, argv)
    finally:
        shell.suppressed -= 1


# -- functions ---------------------------------------------------------------------------------


def _enter(shell: Interpreter, function: FunctionBody, argv: list[str], tested: bool) -> tuple[object, ...]:
    limit = shell.deepest
    depth = len(shell.frames)
    own = shell.table.get("FUNCNEST")
    if own is not None and (own.value or "").isdecimal() and 0 < int(own.value or "0") <= depth:
        raise ShellError(f"{argv[0]}: maximum function nesting level exceeded ({own.value})")
    if depth >= limit:
        raise ShellError(f"{argv[0]}: maximum function nesting level exceeded ({limit})")
    saved = (shell.positional, shell.loops, shell.debug_trap, shell.traps.get("RETURN"), shell.err_trap_depth)
    shell.frames.append(Frame(argv[0], function.source, shell.line, argv[1:]))
    shell.positional = argv[1:]
    shell.loops = 0
    shell.function_depth += 1
    shell.variables.scopes.append(Scope())
    if tested:
        shell.suppressed += 1
    if shell.debug_trap and not (shell.functrace or function.traced):
        shell.debug_trap = False
        shell.tracing = shell.xtrace
    if saved[3] is not None and not (shell.functrace or function.traced):
        del shell.traps["RETURN"]
    if shell.debug_trap:
        shell.line = function.node.line
        shell.run_debug_trap()
    return saved


def _leave(shell: Interpreter, saved: tuple[object, ...], tested: bool, *, returns: bool) -> None:
    if returns and "RETURN" in shell.traps and "DEBUG" not in shell.running_traps:
        shell.run_trap("RETURN")
    positional, loops, debug, on_return, _err_depth = saved
    if on_return is not None and "RETURN" not in shell.traps:
        shell.traps["RETURN"] = on_return  # type: ignore[assignment]
    if tested:
        shell.suppressed -= 1
    scope = shell.variables.pop()
    if scope.options is not None:
        shell.restore_options(scope.options)
    shell.function_depth -= 1
    shell.line = shell.frames.pop().line
    shell.loops = loops  # type: ignore[assignment]
    shell.positional = positional  # type: ignore[assignment]
    if debug and not shell.debug_trap:
        shell.update_watching()


def call_function(shell: Interpreter, function: FunctionBody, argv: list[str], tested: bool) -> int:
    """Run a function with `argv[1:]` as its positional parameters."""
    function.left -= 1
    if function.left < 0:
        status = _call_translated(shell, function, argv, tested)
        if status is not None:
            return status
    saved = _enter(shell, function, argv, tested)
    returns = False
    try:
        status = function.run(shell)
        returns = True
        if not status and shell.err_trap_nesting:
            shell.err_trap_nesting = min(shell.err_trap_nesting, len(shell.frames) - 1)
        return status
    except Return as jump:
        returns = True
        return jump.status
    except Exit as jump:
        shell.exit_within(jump)
        raise
    except ShellError as error:
        shell.report_error(error)
        raise
    except RecursionError:
        raise ShellError(
            f"{argv[0]}: maximum function nesting level exceeded", fatal=True, status=1
        ) from None
    finally:
        _leave(shell, saved, tested, returns=returns)


def _call_translated(shell: Interpreter, function: FunctionBody, argv: list[str], tested: bool) -> int | None:
    """Run a function that has been called often; None when the closures have to."""
    region = function.region
    if region is None:
        region = function.region = FunctionRegion(function)
    status = None if region.hopeless else region.enter(shell, argv, tested)
    if status is None:
        function.left = function.calls
    else:
        shell.status = status
    return status


def stream_function(
    shell: Interpreter, function: FunctionBody, argv: list[str], tested: bool
) -> Generator[None, None, int]:
    """The same, yielding when the output is full."""
    saved = _enter(shell, function, argv, tested)
    returns = False
    try:
        status = yield from function.stream(shell)
        returns = True
        return status
    except Return as jump:
        returns = True
        return jump.status
    except Exit as jump:
        shell.exit_within(jump)
        raise
    except ShellError as error:
        shell.report_error(error)
        raise
    finally:
        _leave(shell, saved, tested, returns=returns)


def _source_of_definitions(shell: Interpreter) -> str:
    """Where a function that is defined now is from."""
    if shell.frames:
        return shell.frames[-1].source
    return shell.script or ("main" if shell.reads_input else "environment")


def define_function(shell: Interpreter, body: FunctionBody) -> int:
    """`name () …`"""
    if _EXPANDED_OR_QUOTED.search(body.name):
        shell.complain(f"`{body.name}': not a valid identifier")
        return 1
    existing = shell.functions.get(body.name)
    if shell.posix:
        wrong = "is a special builtin" if body.name in SPECIAL else "not a valid identifier"
        if body.name in SPECIAL or not is_name(body.name):
            shell.complain(f"`{body.name}': {wrong}")
            raise Exit(2, discards=shell.interactive)
    if body.name in shell.readonly_functions:
        shell.complain(f"{body.name}: readonly function")
        return 1
    shell.functions[body.name] = body.with_source(_source_of_definitions(shell))
    if existing is not None and existing.exported:
        shell.functions[body.name].exported = True
    return 0


def define_functions(shell: Interpreter, table: dict[str, FunctionBody]) -> bool:
    """Define them all, by their names, if nothing stands against any of them and none is exported."""
    functions = shell.functions
    if shell.posix or shell.readonly_functions:
        return False
    if _EXPANDED_OR_QUOTED.search("\n".join(table)):
        return False
    if any(functions[name].exported for name in table.keys() & functions.keys()):
        return False
    source = _source_of_definitions(shell)
    if any(body.source != source for body in table.values()):
        table = {name: body.with_source(source) for name, body in table.items()}
    functions.update(table)
    return True


# -- what stands outside the shell -------------------------------------------------------------


def external(shell: Interpreter, argv: list[str], shown: str | None = None) -> int:
    """Run a command that is neither a function nor a builtin, to its end, under the name `shown`."""
    generator = shell.stream_external(argv, shown, alone=True)
    while True:
        try:
            next(generator)
        except StopIteration as stop:
            if shell.pending_signals:
                shell.take_signals()
            return stop.value  # type: ignore[no-any-return]
        if shell.alarm[0]:
            # Nothing else can be given a turn from here.
            pause(shell.alarm[0] - time.monotonic())


def stream_external(
    shell: Interpreter, argv: list[str], shown: str | None = None, *, alone: bool = False
) -> Generator[None, None, int]:
    """The same, yielding when the output is full or, unless it is `alone`, others have to run."""
    flush_all()
    name = argv[0]
    if shell.restricted and "/" in name:
        shell.complain(f"{name}: restricted: cannot specify `/' in command names")
        return 1
    found = shell.find_command(name) if name else None
    if found is None:
        if shell.traps:
            shell.children_ended()
        return _not_found(shell, argv)
    if name in shell.hashed and shell.hashes:
        shell.hash_hits[name] += 1
    path, function = found
    if function is None:
        try:
            function, argv = interpreter(shell, path, argv)
        except ShellError as error:
            shell.complain(error.message)
            return error.status
    elif shown is not None:
        argv = [shown, *argv[1:]]
    shell.apply_umask()
    if shell.bounds is not FROM_THE_START:
        shell.apply_limits()
        if shell.processes is not None and not shell.subshell_level:  # a subshell becomes its last command
            shell.may_fork()
    if path.endswith(("/mkfifo", "/mknod")):
        shell.expect_fifos()
    process = RunningCommand(shell, argv)
    spooled = len(shell.spooled_outputs)
    try:
        if shell.counters.cpu is not None:
            return (yield from _timed(shell, function, process)) & 0xFF
        source = shell.fds.get(0)
        if isinstance(source, PipeInput):
            result = yield from _at_pipe(shell, function, process, source, alone=alone)
        else:
            steps = function(process)
            result = steps if isinstance(steps, int) else (yield from steps) or 0
        output = shell.fds.get(1)
        if isinstance(output, DescriptorOutput) and output.owned:
            output.flush()
        if process.ended_by:
            _ended_by_signal(shell, process.ended_by, argv)
        return result & 0xFF
    except BrokenPipeError as error:
        if shell.traps.get("PIPE") != "":
            return BROKEN_PIPE
        process.error(f"write error: {error.strerror}")
        return _trouble(process)
    except (Exit, LimitReachedError, ShellSyntaxError, ShellError):
        raise
    except OSError as error:
        if error.errno == errno.EFBIG and shell.traps.get("XFSZ") != "":
            return _died(shell, XFSZ, argv)
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
        if len(shell.spooled_outputs) > spooled:
            shell.collect_outputs(spooled)
        if shell.traps:
            shell.children_ended()


def _ended_by_signal(shell: Interpreter, number: int, argv: list[str]) -> None:
    """A command has been ended by a signal, and with it a subshell that has become this command."""
    if not shell.reports_deaths or shell.becomes_command():
        shell.ended_by = number
    elif isinstance(shell.node, Simple) and shell.node.redirects:
        shell.untold_death = number
    else:
        shell.report_death(number, shell.node, argv)


def _timed(
    shell: Interpreter, function: CommandFunction, process: RunningCommand
) -> Generator[None, None, int]:
    """Run a command that may use only so much processor time: it has a clock of its own."""
    assert shell.counters.cpu is not None
    seconds, status = shell.counters.cpu
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
        return _died(shell, status - 128, process.argv)


def _died(shell: Interpreter, number: int, argv: list[str]) -> int:
    """A signal that a limit sends has ended a command."""
    shell.report_death(number, None, argv)
    return 128 + number


def _at_pipe(
    shell: Interpreter, function: CommandFunction, process: RunningCommand, source: PipeInput, *, alone: bool
) -> Generator[None, None, int]:
    """Run a command whose standard input is a pipe. If that is empty when the command wants to read,
    others are let run, unless it is `alone`, and it begins again."""
    source.untouched = None
    if (
        not alone
        and process.argv[0].rpartition("/")[2] not in _AGENTS
        and (shell.gives_way or shell.background or source.pipe.pull is None)
    ):
        output = shell.fds.get(1)
        before = _written(output)
        rest = source.buffer[source.position :]  # of what another command has read
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
            source.buffer, source.position = rest, 0
        finally:
            source.untouched = None
        yield from shell.wait_for_input(source)
    result = function(process)
    return result if isinstance(result, int) else (yield from result) or 0


def _not_found(shell: Interpreter, argv: list[str]) -> int:
    name = argv[0]
    if "/" in name:
        shell.complain(f"{name}: No such file or directory")
        return 127
    handler = shell.functions.get("command_not_found_handle")
    if handler is not None:
        child = shell.fork()
        return child.run_subshell(lambda sh: sh.call_function(handler, [handler.name, *argv], False))
    shell.complain(f"{name}: command not found{shell.hint(name)}")
    return 127
