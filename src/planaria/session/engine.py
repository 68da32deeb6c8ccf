"""The engine of a session: everything that a session does but waiting.

It has settings, an executor, the execution in flight, host calls, a history and a workspace. `Session` and
`AsyncSession` hold an engine, let one caller at a time use it, and wait on its behalf.
"""

from __future__ import annotations

import logging
import os
import time
from dataclasses import asdict
from enum import Enum, auto
from functools import cache
from typing import TYPE_CHECKING, Final

from planaria.errors import (
    CrashError,
    EncodeError,
    LimitError,
    PlanariaError,
    ProtocolError,
    SessionBusy,
    SessionClosed,
    SessionError,
)
from planaria.executors.executor import Entered, Executor, SandboxSetup, Snapshots, TierNeeded
from planaria.executors.messages import (
    Answered,
    Done,
    Failed,
    HostCall,
    Query,
    Raised,
    Refused,
    Report,
    RunCode,
    RunScript,
    TierMissing,
    Waiting,
)
from planaria.executors.wasm import WasmExecutor
from planaria.files.view import Files
from planaria.limits import Guard, NotGiven, ShellLimits, Stopped
from planaria.session.error_mapping import effect_of, error_of
from planaria.session.execution_state import ExecutionState, Stop, StopState
from planaria.session.forgotten_await import with_hint
from planaria.session.history import History, HistoryEntry, Past, Point
from planaria.session.host_calls import HostCalls, calling_back, end_tool_calls
from planaria.session.result import Result
from planaria.session.sandbox_setup import sandbox_setup
from planaria.session.settings import SessionSettings
from planaria.session.weak_host import WeakHost
from planaria.snapshot.state import SessionState, WaitingRun
from planaria_kernel.errors import DecodeLimitError
from planaria_kernel.protocol import MAX_BYTES, Budget, Repr, decode, encode

if TYPE_CHECKING:
    from planaria.session.collector import Listeners
    from planaria.session.network_link import NetworkLink
    from planaria.session.workspace_link import WorkspaceLink

__all__ = ["Phase", "SessionEngine", "Step"]

_log: Final = logging.getLogger("planaria.session")
_log.addHandler(logging.NullHandler())

_HOME: Final = "/home/user"
#: Seconds in which the kernel answers a query.
_PATIENCE: Final = 60.0
#: Answers of fewer bytes are sent again when others did not fit into the sandbox's memory.
_SMALL_ANSWER: Final = 65536


class Phase(Enum):
    """How far a session is from being usable."""

    NEW = auto()
    """The kernel does not run yet."""
    STARTED = auto()
    """The kernel runs; the dependencies have to be installed before anything is executed."""
    READY = auto()
    BROKEN = auto()
    """The kernel is gone, and is brought back from a checkpoint before the session is used again."""
    CLOSED = auto()


class Step(Enum):
    """What an execution needs next from the session that drives it."""

    ENTER = auto()
    """Call `SessionEngine.enter`, which blocks."""
    WAIT = auto()
    """Wait for the alarm of its host calls, at most `ExecutionState.seconds_left`."""
    PAUSE = auto()
    """Leave it alone: only `Execution.resolve` and the like could get it further."""
    OVER = auto()


class SessionEngine:
    """One session. One caller at a time may use it; `interrupt` may come from any thread."""

    def __init__(self, settings: SessionSettings) -> None:
        self.settings = settings
        self.executor: Executor = settings.executor or WasmExecutor()
        self.host_calls = HostCalls(settings, self.executor)
        self.workspace: WorkspaceLink | None = None
        self.network: NetworkLink | None = None
        if settings.network is not None:
            try:
                from planaria.session.network_link import NetworkLink
            except ImportError as error:
                raise ImportError("network= needs h11 and idna: pip install 'planaria[network]'") from error

            self._connect(NetworkLink(settings.network))
        self.phase = Phase.NEW
        #: How many executions ran out of time, one after the other, the latest included.
        self._out_of_time = 0
        self._forget()
        self._setup: SandboxSetup | None = None
        if self.executor.is_sandbox:
            self._setup = sandbox_setup(settings)
        if settings.has_workspace:
            from planaria.session.workspace_link import open_workspace

            self._link(open_workspace(self))

    def _forget(self) -> None:
        """Nothing has been executed yet."""
        self.count = 0
        self.execution: ExecutionState | None = None
        #: Calls that tasks which outlived their execution still wait for.
        self.pending: dict[int, HostCall] = {}
        self.history = History.of(self.settings.bounds)
        self.host_calls.missing = {}

    def _link(self, link: WorkspaceLink) -> None:
        self.workspace = self.host_calls.workspace = link

    def _connect(self, link: NetworkLink) -> None:
        self.network = self.host_calls.network = link

    # -- phases --------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the kernel. May take long where an executor has to prepare a process first."""
        begun = time.monotonic()
        self.executor.start(WeakHost(self), self.settings.bounds, self._setup)
        self.configure()
        _log.debug("session %#x started in %.1f ms", id(self), (time.monotonic() - begun) * 1e3)
        self.phase = Phase.STARTED if self.settings.sync_deps_on_start else Phase.READY

    def ensure_started(self) -> None:
        """With the session held: have it ready for an execution. May take long. Raises SessionClosed."""
        if self.phase is Phase.NEW:
            self.start()
        if self.phase is Phase.STARTED:
            self.phase = Phase.READY
            assert self.workspace is not None
            self.workspace.sync()
            self.refresh_packages()
        elif self.phase is Phase.BROKEN:
            self.recover(self.count)
            self.phase = Phase.READY
            self.history.has_changed = True
        elif self.phase is Phase.CLOSED:
            self.check_open()

    def check_open(self) -> None:
        """Raises SessionClosed."""
        if self.phase is Phase.CLOSED:
            raise SessionClosed("this session is closed; create a new one")

    def check_usable(self) -> None:
        """Raises SessionClosed, and SessionBusy in a callback of this session."""
        if self.phase is Phase.CLOSED:
            self.check_open()
        if id(self.host_calls) in calling_back.get():
            raise SessionBusy(
                "this session is waiting for the callback that is trying to use it; "
                "return from the callback first, or use another session"
            )

    def check_at_rest(self) -> None:
        """Raises SessionBusy when an execution waits."""
        if self.execution is not None:
            raise SessionBusy(
                "an execution waits in this session; resolve its pending calls or cancel it first"
            )

    def check_in_flight(self, execution: ExecutionState) -> None:
        """Raises SessionError unless `execution` is the one that waits."""
        if execution is not self.execution:
            raise SessionError("this execution is over, or the session went back to a state without it")

    def close(self) -> None:
        """Release everything; closing twice is harmless."""
        if self.phase is not Phase.CLOSED:
            self.phase = Phase.CLOSED
            self.host_calls.drop_answers()
            self.execution = None
            self.executor.close()
            if self.network is not None:
                self.network.close(self.host_calls.awaiting_loop())
            if self.workspace is not None:
                self.workspace.release()

    def lose_kernel(self) -> None:
        """In a forked child: the threads or processes of this session's kernel do not exist here."""
        self.executor.abandon()
        self.execution = None
        if self.phase is not Phase.CLOSED:
            self.phase = Phase.BROKEN

    @property
    def files(self) -> Files:
        """The session's files, from the host."""
        self.check_open()
        files = self.executor.files
        if files is None:
            raise self.executor.missing("files")
        self.history.has_changed = True
        return Files(files, _HOME)

    def interrupt(self) -> None:
        """Stop the execution that runs now; from any thread, or a signal handler."""
        execution = self.execution
        if execution is not None and execution.inside:
            execution.ask_to_stop()
            self.executor.interrupt()

    # -- configuring and asking the kernel -----------------------------------------------------------------

    def configure(self) -> None:
        """Configure a fresh kernel for this session."""
        given, bounds = self.settings, self.settings.bounds
        settings: dict[str, object] = {
            "callbacks": [callback.declaration() for callback in given.registry],
            "recursion_limit": bounds.recursion,
            "value_limit": MAX_BYTES if bounds.value is None else bounds.value,
            "argv": list(given.argv),
        }
        if "shell" in self.executor.capabilities:
            settings |= self.shell_settings()
        if self.workspace is not None:
            settings |= self.workspace.settings()
        if given.env:
            settings["environ"] = dict(given.env)
        if self.network is not None:
            settings |= self.network.settings(settings.get("environ"))
        usual = self.executor.settings
        news = {name: value for name, value in settings.items() if name not in usual or usual[name] != value}
        seed: dict[str, object] = {"reseed": os.urandom(16)} if given.seed is None else {"seed": given.seed}
        if news:
            _checked_answer("configure", self.executor.configure({**news, **seed}))
        else:
            self.executor.configure_later(seed)

    def shell_settings(self) -> dict[str, object]:
        """The settings of the kernel's shell."""
        return {
            "commands": list(self.settings.shell_commands),
            "shell_limits": _as_settings(self.settings.shell_bounds),
        }

    def refresh_packages(self) -> None:
        """Have the kernel look for packages that were installed or removed meanwhile."""
        assert self.workspace is not None
        self.ask("configure", {"paths": self.workspace.dependencies.paths})
        self.history.has_changed = True

    def ask(self, name: str, *arguments: object) -> object:
        """Give the kernel a command that runs no code of the user's; its answer.

        Raises SessionError when it reports an error, and CrashError when it does not answer.
        """
        guard = Guard(deadline=time.monotonic() + _PATIENCE, grace=self.settings.bounds.grace)
        try:
            entered = self.executor.enter(Query(name, arguments), guard)
        except (Stopped, ProtocolError) as stopped:
            stop = Stop()
            self._recover_into(stop, self.count)
            error = CrashError(
                f"{name}: the sandbox did not answer ({stopped}); {effect_of(stop)}", state=stop.state.value
            )
            raise error from None
        answer = _checked_answer(name, entered)
        if entered.reason == "interrupt":
            raise KeyboardInterrupt
        return answer

    # -- executing -----------------------------------------------------------------------------------------

    def begin(
        self,
        source: str,
        timeout: float | NotGiven | None,
        name: str | None = None,
        stdin: bytes | None = None,
        program: Listeners | None = None,
    ) -> ExecutionState:
        """A new execution, which becomes the one in flight: of code, or with `stdin` of a script. With
        `program`, which gets its output, the script is a program of its own (see `RunScript`).
        """
        if not isinstance(source, str):
            raise TypeError(f"code must be a str, not {type(source).__name__}")
        bounds = self.settings.bounds
        seconds = bounds.timeout if isinstance(timeout, NotGiven) else timeout
        if seconds is not None and (
            isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not seconds > 0
        ):
            raise ValueError(f"timeout={timeout!r}: must be greater than 0; use None for no limit")
        if self.execution is not None:
            raise SessionBusy(
                "an execution waits in this session; "
                "resolve its pending calls or cancel it before the next one"
            )
        history, tier = self.history, self.executor.tier
        history.undone.clear()
        if history.has_changed and "rewind" in self.executor.capabilities:
            history.checkpoint(self.state)
        self.count += 1
        self.execution = execution = ExecutionState(
            RunCode(source, self.count, tier, name)
            if stdin is None
            else RunScript(source, stdin, is_program=program is not None),
            self.count,
            bounds,
            seconds,
            alarm=self.host_calls.alarm,
            listeners=self.settings.listeners if program is None else program,
            pending=self.pending,
        )
        return execution

    def next_step(self, execution: ExecutionState, sleep: bool) -> Step:
        """What to do next for an execution; without `sleep` it pauses rather than wait for a timer."""
        if self.host_calls.answers:
            self.host_calls.collect(execution)
        if execution.outcome is not None:
            return Step.OVER
        self._look_at_clock(execution)
        if execution.can_step:
            return Step.ENTER
        if execution.outcome is not None:
            return Step.OVER
        return Step.PAUSE if self._pauses(execution, sleep) else Step.WAIT

    def enter(self, execution: ExecutionState) -> None:
        """Enter the kernel once, and begin the host calls that the code has made. Blocks."""
        executor = self.executor
        measured = None if execution.cpu_left is None else executor.cpu_seconds()
        self.history.has_changed = True
        try:
            entered = executor.enter(execution.command(), execution.guard())
        except Stopped as stopped:
            self._crashed(execution, stopped)
            return
        except TierNeeded as needed:
            self._begin_again(execution, needed)
            return
        except EncodeError:  # nothing was entered
            execution.refuse_answers(_not_serialisable)
            return
        except DecodeLimitError as error:
            if error.limit == "memory":
                message = f"what the code sent to the host cannot be decoded: {error}"
                execution.stop.failure = LimitError(message, limit="memory")
            self._crashed(execution, Stopped(str(error), "timeout" if error.limit == "timeout" else None))
            return
        except ProtocolError as error:
            self._crashed(execution, Stopped(str(error), None))
            return
        finally:
            if measured is not None:
                used = max(0.0, executor.cpu_seconds() - measured)
                execution.cpu_left = max(0.0, (execution.cpu_left or 0.0) - used)
        report = entered.report
        if type(report) is Done or type(report) is Failed:
            execution.take(report)
        elif not self._take(execution, report):
            return
        if entered.reason is not None and execution.stop.reason is None:
            if entered.reason == "interrupt" and not execution.asked:
                execution.stop.interruption = KeyboardInterrupt()
            execution.interrupt(entered.reason)
        if type(report) is Waiting:
            for call in report.calls:
                self.host_calls.start(execution, call)

    def _take(self, execution: ExecutionState, report: Report) -> bool:
        """Take a report with which the execution is not over; whether it counts as a run of the code."""
        match report:
            case Waiting():
                execution.take(report)
                return True
            case TierMissing():
                # Nothing has been run: the source imports modules that only the full tier has.
                self._snapshots("tier").move_up()
                execution.begin_again(self.executor.tier)
                return True
            case Refused():
                execution.refuse_answers(_too_large)
                return False
        self._crashed(execution, Stopped(f"the kernel sent an unknown report: {str(report)[:200]}", None))
        return False

    def _begin_again(self, execution: ExecutionState, needed: TierNeeded) -> None:
        """Code on the core tier imported a module of the full tier in a way that could not be foreseen.

        Code cannot be swapped under a running call, so the execution is run again from its beginning on the
        full tier, unless something of it was seen outside.
        """
        point = self.history.before(self.count - 1)
        assert point is not None, "on the core tier there is a point before every execution"
        snapshots = self._snapshots("tier")
        snapshots.restore(point.state.kernel)
        snapshots.move_up()
        self.host_calls.drop_answers()
        pending = {call.id: call for call in point.state.pending}
        output = execution.output
        was_heard = execution.has_listeners and output is not None and output.has_output
        if not execution.is_noticed and not was_heard:
            execution.begin_again(self.executor.tier, pending)
            return
        execution.pending = pending
        execution.stop.failure = SessionError(
            f"this execution reached an import of {needed}, for which the session had to go back to the "
            "state before it and move to the full runtime; it had called the host already, so it was not "
            "run again by itself. Run it again if that is safe."
        )
        execution.fail("SessionError", str(execution.stop.failure))

    def _look_at_clock(self, execution: ExecutionState) -> None:
        """Between entries: stop code whose time is over, abandon code that does not respond to that."""
        stop = execution.stop
        if stop.reason is None:
            if execution.asked:
                execution.interrupt("interrupt")
            elif execution.deadline is not None and time.monotonic() >= execution.deadline:
                execution.interrupt("timeout")
        elif stop.patience is not None and time.monotonic() >= stop.patience and not execution.can_step:
            self._crashed(execution, Stopped("it went on waiting after it was interrupted", stop.reason))

    def _pauses(self, execution: ExecutionState, sleep: bool) -> bool:
        """Whether only another caller could get an execution that waits further."""
        if execution.stop.reason is not None or self.host_calls.any_expected(execution):
            return False
        waits_for_calls = bool(execution.pending) and execution.wake_at is None
        return not sleep or bool(execution.suspended) or waits_for_calls

    def _crashed(self, execution: ExecutionState, stopped: Stopped) -> None:
        """The kernel is gone: recover the session and end the execution."""
        stop = execution.stop
        if stop.reason is None:
            stop.reason = stopped.reason
            if stopped.reason == "interrupt" and not execution.asked:
                stop.interruption = KeyboardInterrupt()
        stop.crash = stopped
        execution.pending = self._recover_into(stop, self.count - 1)
        execution.fail("Stopped", stopped.message, stopped.exit_code)

    def abandon(self, execution: ExecutionState, error: BaseException) -> None:
        """Driving it failed in an unforeseen way: the session goes back and stays usable."""
        try:
            if execution.outcome is None:
                self._crashed(execution, Stopped(f"{type(error).__name__}: {error}", None))
        except PlanariaError:
            self.phase = Phase.BROKEN  # the next caller tries again
        self._end(execution)

    def _end(self, execution: ExecutionState) -> None:
        self.execution = None
        self.pending = execution.pending
        execution.inside = False
        if self.workspace is not None:
            self.workspace.end_execution()

    def outcome(self, execution: ExecutionState) -> Result:
        """The result of an execution that is over, or what there is of one that waits.

        Raises the error of a listener, KeyboardInterrupt and cancellations.
        """
        if execution.outcome is None:
            execution.pause()
            self.history.has_changed = True
            result = self._result(execution)
            result.suspended = [
                call for call in execution.pending.values() if not self.host_calls.is_held(call)
            ]
            return result
        return self._finish(execution, execution.outcome)

    def _finish(self, execution: ExecutionState, outcome: Done | Failed) -> Result:
        self._end(execution)
        stop = execution.stop
        if execution.output is not None:
            try:
                execution.output.finish()
            except BaseException as failure:  # a listener's
                stop.listener_error = stop.listener_error or failure
        if execution.tool_calls:
            end_tool_calls(execution, "cancelled" if stop.reason is None else "interrupted")
        result = self._result(execution)
        if type(outcome) is Done and outcome.value is not None:
            try:
                result.value = self._value(execution, outcome.value)
            except ProtocolError as damage:
                outcome = Failed("ProtocolError", f"the value is damaged: {damage}")
        if type(outcome) is Done:
            result.repr, result.status = outcome.repr, outcome.exit_code
        self._out_of_time = self._out_of_time + 1 if stop.reason in ("timeout", "cpu") else 0
        if type(outcome) is Failed:
            stop.in_a_row = max(1, self._out_of_time)
            outcome = with_hint(outcome, execution.source, [one.name for one in self.settings.registry])
            result.error = error_of(execution, result, outcome)
        error = None if result.error is None else f"{result.error}"
        entry = HistoryEntry(execution.count, execution.source, result.duration_ms, error, None)
        self.history.past = Past(entry, self.history.past)
        execution.result = result
        if _log.isEnabledFor(logging.WARNING):
            self._log_end(execution, result)
        if stop.interruption is not None:
            # The cause says what was printed and where the code was stopped.
            raise stop.interruption from (stop.listener_error or result.error)
        if stop.listener_error is not None:
            raise stop.listener_error
        return result

    @staticmethod
    def _value(execution: ExecutionState, encoded: bytes) -> object:
        """The value of an execution; what cannot be decoded is replaced by a Repr that says why."""
        limits = execution.limits
        deadline = None if execution.deadline is None else execution.deadline + limits.grace
        try:
            return decode(encoded, Budget(deadline, limits.decoded()), [])
        except DecodeLimitError as error:
            return Repr(f"a value of {len(encoded)} bytes that cannot be decoded: {error}", "undecodable")

    def _log_end(self, execution: ExecutionState, result: Result) -> None:
        """Log how an execution ended: a stop or crash as a warning, other ends for debugging."""
        stop, error = execution.stop, result.error
        is_stopped = stop.reason is not None or stop.crash is not None
        if is_stopped or _log.isEnabledFor(logging.DEBUG):
            _log.log(
                logging.WARNING if is_stopped else logging.DEBUG,
                "session %#x execution %d: %s in %.1f ms, %d callbacks, %d MiB",
                *(id(self), result.execution_count),
                # The text of an exception is the code's, and stays out of the log.
                str(error) if is_stopped else "ok" if error is None else getattr(error, "type", "error"),
                *(result.duration_ms, result.callback_invocations, result.peak_memory_bytes >> 20),
            )

    def _result(self, execution: ExecutionState) -> Result:
        """What an execution has come to so far."""
        result = Result(
            execution_count=execution.count,
            duration_ms=(time.monotonic() - execution.started) * 1e3,
            callback_invocations=execution.callbacks,
            tool_calls=list(execution.tool_calls),
            requests=[] if self.network is None else self.network.take_records(),
            peak_memory_bytes=self.executor.memory_bytes,
        )
        if (output := execution.output) is not None:
            result.stdout_bytes, result.stderr_bytes = output.stdout, output.stderr
            result.outputs = list(output.outputs)
            result.stdout_truncated, result.stderr_truncated = output.truncated
            (
                (result.stdout_omitted_bytes, result.stdout_omitted_lines),
                (result.stderr_omitted_bytes, result.stderr_omitted_lines),
            ) = output.omitted
            result.outputs_truncated = output.outputs_truncated
        return result

    # -- state ---------------------------------------------------------------------------------------------

    def clear(self) -> None:
        """Forget the user's variables."""
        self.check_at_rest()
        self.ask("clear")
        self.history.has_changed = True

    def reset(self) -> None:
        """Start again with a fresh kernel; files stay."""
        self.host_calls.drop_answers()
        self.executor.reset()
        self._forget()
        self.configure()
        _log.debug("session %#x was reset", id(self))

    def recover(self, most: int) -> Point | None:
        """After a hard stop: go back to the newest checkpoint with at most `most` executions, and its
        pending calls; restart when there is none.
        """
        self.host_calls.drop_answers()
        point = self.history.newest(most)
        if point is None:
            self.executor.reset()
            self.configure()
        else:
            self._snapshots("rewind").restore(point.state.kernel)
        self.pending = {} if point is None else {call.id: call for call in point.state.pending}
        return point

    def _recover_into(self, stop: Stop, most: int) -> dict[int, HostCall]:
        """Recover, and record what that left of the session; the pending calls."""
        point = self.recover(most)
        stop.state = StopState.LOST if point is None else StopState.REWOUND
        if point is not None and point.state.count != most:
            stop.rewound_to = point.state.count
        return dict(self.pending)

    def _snapshots(self, capability: str) -> Snapshots:
        """The part of the executor that captures and restores. Raises CapabilityError."""
        snapshots = self.executor.snapshots
        if snapshots is None:
            raise self.executor.missing(capability)
        return snapshots

    def state(self, *, complete: bool = False, shared: bool = False) -> SessionState:
        """The present state; the kernel must be at rest. For the options see `WasmExecutor.capture`."""
        execution = self.execution
        run = None
        if execution is not None:
            wake_at, output = execution.wake_at, execution.output
            run = WaitingRun(
                execution.source,
                execution.count,
                tuple(execution.pending.values()),
                dict(execution.suspended),
                None if wake_at is None else wake_at - time.monotonic(),
                b"" if output is None else output.stdout,
                b"" if output is None else output.stderr,
            )
        points = self.history.points
        known = points[-1].state.kernel if points else None
        kernel = self._snapshots("snapshot").capture(known, complete=complete, shared=shared)
        return SessionState(kernel, self.count, tuple(self.pending.values()), run)

    def adopt(self, state: SessionState) -> None:
        """The kernel has become `state`: so does the rest of the session."""
        self.host_calls.drop_answers()
        if self.network is not None:
            self.network.close(self.host_calls.awaiting_loop())
        self.count = state.count
        self.pending = {call.id: call for call in state.pending}
        self.execution = None if state.run is None else self._waiting(state.run)

    def _waiting(self, waiting: WaitingRun) -> ExecutionState:
        bounds = self.settings.bounds
        execution = ExecutionState(
            RunCode(waiting.source, waiting.count, self.executor.tier),
            waiting.count,
            bounds,
            bounds.timeout,
            alarm=self.host_calls.alarm,
            listeners=self.settings.listeners,
            pending={call.id: call for call in waiting.pending},
        )
        execution.waits(waiting.wake_in)
        execution.inside = False
        execution.suspended = dict(waiting.suspended)
        execution.restore_output(waiting.stdout, waiting.stderr)
        return execution

    def fork(self, n: int, reseed: bool) -> list[SessionEngine]:
        """`n` engines that continue from the present state."""
        if isinstance(n, bool) or not isinstance(n, int) or n < 0:
            raise ValueError(f"fork(n={n!r}): n must be a non-negative integer")
        snapshots = self._snapshots("fork")
        state = self.state(shared=True)
        return [self._copy(snapshots, state, reseed) for _ in range(n)]

    def _copy(self, snapshots: Snapshots, state: SessionState, reseed: bool) -> SessionEngine:
        other = SessionEngine.__new__(SessionEngine)
        other.settings = self.settings
        other.workspace = other.network = None
        other.phase = Phase.READY
        other._out_of_time = 0
        other._setup = self._setup
        files = self.executor.files
        assert files is not None
        other.executor = snapshots.spawn(WeakHost(other), state.kernel, files.fork())
        other.host_calls = self.host_calls.copy_for(other.executor)
        other.history = self.history.fork()
        if self.workspace is not None:
            other._link(self.workspace.linked_to(other))
        if self.network is not None:
            other._connect(self.network.copy())
        other.adopt(state)
        if reseed and self.settings.seed is None:
            other.executor.configure_later({"reseed": os.urandom(16)})
        return other

    # -- going back ----------------------------------------------------------------------------------------

    def checkpoint(self, label: str) -> None:
        """Keep the present state under a label."""
        if not isinstance(label, str) or not label:
            raise TypeError("the label of a checkpoint must be a non-empty str")
        self.executor.require("rewind")
        self.history.add(self.state(), label)

    def _go_to(self, point: Point) -> None:
        _log.debug("session %#x goes to the state after execution %d", id(self), point.state.count)
        self._snapshots("rewind").restore(point.state.kernel)
        self.adopt(point.state)

    def rewind(self, place: str | int) -> None:
        """Go back to a checkpoint by its label, or to the state after so many executions."""
        self.executor.require("rewind")
        point = self.history.find(place)
        self._go_to(point)
        self.history.go_to(point)
        self.history.undone.clear()

    def undo(self, n: int) -> None:
        """Take back the last `n` executions."""
        if isinstance(n, bool) or not isinstance(n, int) or n < 1:
            raise ValueError(f"undo(n={n!r}): n must be a positive integer")
        self.executor.require("rewind")
        history = self.history
        point = history.to_undo(n, self.count)
        left = [
            *history.between(point.state.count, self.count),
            Point(self.state(), None, history.past),
        ]
        self._go_to(point)
        history.go_to(point)
        history.undone.extend(reversed(left))

    def redo(self) -> None:
        """Take back an undo."""
        history = self.history
        if not history.undone:
            raise SessionError("there is nothing to redo")
        history.add(self.state())
        point = history.undone.pop()
        self._go_to(point)
        history.past = point.past
        history.has_changed = True


def _checked_answer(name: str, entered: Entered) -> object:
    match entered.report:
        case Done():
            return None
        case Answered(value):
            return value
        case Failed(kind, message):
            raise SessionError(f"{name}: {kind}: {message}")
    raise ProtocolError(f"the kernel answered {name!r} with {type(entered.report).__name__}")


def _not_serialisable(value: object) -> Raised | None:
    """The exception in place of a callback's result, if that cannot be sent."""
    try:
        encode(value)
    except EncodeError as error:
        return Raised("TypeError", f"the callback returned a value that cannot be serialised: {error}")
    return None


def _too_large(value: object) -> Raised | None:
    """As `_not_serialisable`, when the sandbox had no memory for the answers together."""
    size = len(encode(value))
    if size < _SMALL_ANSWER:
        return None
    return Raised(
        "MemoryError", f"the callback's result of {size} bytes does not fit into the memory of this sandbox"
    )


@cache
def _as_settings(limits: ShellLimits) -> dict[str, object]:
    """As the kernel takes them; not to be changed."""
    return asdict(limits)
