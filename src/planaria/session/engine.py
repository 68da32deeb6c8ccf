"""The engine of a session: everything that a session does but waiting.

It has settings, an executor, the execution in flight, host calls, a history and a workspace. `Session` and
`AsyncSession` hold an engine, let one caller at a time use it, and wait on its behalf.
"""

from __future__ import annotations

import logging
import os
import time
import weakref
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
from planaria.executors.executor import Executor, SandboxSetup, Snapshots, TierNeeded
from planaria.executors.journal import Journal, Recorder
from planaria.executors.messages import (
    Done,
    Failed,
    HostCall,
    Query,
    Refused,
    Report,
    RunCode,
    RunScript,
    TierMissing,
    Waiting,
)
from planaria.executors.wasm import WasmExecutor
from planaria.files.view import Files
from planaria.limits import Guard, NotGiven, Stopped
from planaria.session.callbacks import not_serialisable, too_large
from planaria.session.error_mapping import answer_of, effect_of, error_of
from planaria.session.execution_state import ExecutionState, Stop, StopState
from planaria.session.forgotten_await import with_hint
from planaria.session.history import History, HistoryEntry, Point
from planaria.session.host_calls import HostCalls, calling_back, end_tool_calls
from planaria.session.kernel_settings import kernel_settings
from planaria.session.log import log, log_end
from planaria.session.phases import Phase, Step
from planaria.session.result import Result
from planaria.session.sandbox_setup import sandbox_setup
from planaria.session.settings import SessionSettings, checked_time
from planaria.session.weak_host import WeakHost
from planaria.snapshot.recording import Began, Ended, can_begin
from planaria.snapshot.state import SessionState
from planaria_kernel.errors import DecodeLimitError

if TYPE_CHECKING:
    from planaria.network.policy import NetworkRequest
    from planaria.session.collector import Listeners
    from planaria.session.network_link import NetworkLink
    from planaria.session.workspace_link import WorkspaceLink

__all__ = ["SessionEngine"]

_HOME: Final = "/home/user"
#: Seconds in which the kernel answers a query.
_PATIENCE: Final = 60.0


class SessionEngine:
    """One session. One caller at a time may use it; `interrupt` may come from any thread."""

    def __init__(self, settings: SessionSettings) -> None:
        self.settings = settings
        self.executor: Executor = settings.executor or WasmExecutor()
        self.recorder = Recorder(settings.bounds.recording) if settings.record else None
        self.host_calls = HostCalls(settings, self.executor)
        self.workspace: WorkspaceLink | None = None
        self.network: NetworkLink | None = None
        if settings.network is not None:
            try:
                from planaria.session.network_link import NetworkLink
                from planaria.session.proxied_network import ProxiedNetworkLink
            except ImportError as error:
                raise ImportError("network= needs h11 and idna: pip install 'planaria[network]'") from error

            if self.executor.network_proxy is None:
                self._connect(NetworkLink(settings.network))
            else:
                host_calls = weakref.proxy(self.host_calls)
                self._connect(ProxiedNetworkLink(settings.network, lambda: host_calls.loop))
        self.phase = Phase.NEW
        #: How many executions ran out of time, one after the other, the latest included.
        self._out_of_time = 0
        self._forget()
        self._setup: SandboxSetup | None = None
        if self.executor.is_sandbox:
            self._setup = sandbox_setup(settings, self.recorder)
        if settings.has_workspace:
            from planaria.session.workspace_link import open_workspace

            self._link(open_workspace(settings, self.executor, self))

    @property
    def _is_deterministic(self) -> bool:
        return self.settings.deterministic is not None

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

    def _open_network(self) -> None:
        if self.network is not None:
            self.network.open_for(self.executor)

    # -- phases --------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the kernel. May take long where an executor has to prepare a process first."""
        begun = time.monotonic()
        self._open_network()
        self.executor.start(WeakHost(self), self.settings.bounds, self._setup)
        self.configure()
        log.debug("session %#x started in %.1f ms", id(self), (time.monotonic() - begun) * 1e3)
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
                self.network.release()
            if self.workspace is not None:
                self.workspace.release()

    def lose_kernel(self) -> None:
        """In a forked child: the threads or processes of this session's kernel do not exist here."""
        self.executor.abandon()
        if self.network is not None:
            self.network.abandon()
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
        if self.recorder is not None:
            self.recorder.jump()
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
        given, usual = self.settings, self.executor.settings
        settings = kernel_settings(
            given,
            has_shell="shell" in self.executor.capabilities,
            workspace=self.workspace,
            network=self.network,
        )
        news = {name: value for name, value in settings.items() if name not in usual or usual[name] != value}
        seed: dict[str, object] = {"reseed": os.urandom(16)} if given.seed is None else {"seed": given.seed}
        if news:
            answer_of("configure", self.executor.configure({**news, **seed}))
        else:
            self.executor.configure_later(seed)

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
        answer = answer_of(name, entered)
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
        if seconds is not None and not (type(seconds) in (float, int) and seconds > 0):
            checked_time("timeout", seconds)
        if self.execution is not None:
            raise SessionBusy(
                "an execution waits in this session; "
                "resolve its pending calls or cancel it before the next one"
            )
        history, tier = self.history, self.executor.tier
        history.undone.clear()
        if history.has_changed:
            history.remember()
            if "rewind" in self.executor.capabilities:
                # Without a call, code reaches no import that cannot be seen in it (`_begin_again`).
                may_move_up = tier == "core" and (stdin is not None or "(" in source)
                # What is to be repeated takes every one: that clears old frames of its stack.
                is_repeated = self._is_deterministic or self.recorder is not None
                history.checkpoint(self.state, needed=may_move_up or is_repeated)
        self.count += 1
        if self.recorder is not None:
            self.recorder.drop_oldest(can_begin)
            self.recorder.mark(Began(self.count, source, name, stdin is not None), len(source))
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
            virtual_time=self._is_deterministic,
        )
        return execution

    def next_step(self, execution: ExecutionState, sleep: bool) -> Step:
        """What to do next for an execution; without `sleep` it pauses rather than wait for a timer."""
        if self.host_calls.answers:
            self.host_calls.collect(execution)
        if self._is_deterministic:
            self.host_calls.give_next(execution)
        if execution.outcome is not None:
            return Step.OVER
        self._look_at_clock(execution)
        if execution.can_step:
            return Step.ENTER
        if execution.outcome is not None:
            return Step.OVER
        if self._pauses(execution, sleep):
            return Step.PAUSE
        if (
            execution.virtual_time
            and execution.wake_at is not None
            and execution.stop.reason is None
            and not self.host_calls.any_expected(execution)
        ):
            self.executor.slept(execution.skip_wait())
            return Step.ENTER
        return Step.WAIT

    def enter(self, execution: ExecutionState) -> None:
        """Enter the kernel once, and begin the host calls that the code has made. Blocks."""
        executor = self.executor
        measured = None if execution.cpu_left is None else executor.cpu_seconds()
        self.history.has_changed = True
        if (waited := execution.due_timer) is not None:
            executor.slept(waited)
        try:
            entered = executor.enter(execution.command(), execution.guard())
        except Stopped as stopped:
            self._crashed(execution, stopped)
            return
        except TierNeeded as needed:
            self._begin_again(execution, needed)
            return
        except EncodeError:  # nothing was entered
            execution.refuse_answers(not_serialisable)
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
            execution.use_fuel(executor.fuel_used)
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
                self.snapshots_for("tier").move_up()
                execution.begin_again(self.executor.tier)
                return True
            case Refused():
                execution.refuse_answers(too_large)
                return False
        self._crashed(execution, Stopped(f"the kernel sent an unknown report: {str(report)[:200]}", None))
        return False

    def _begin_again(self, execution: ExecutionState, needed: TierNeeded) -> None:
        """Code on the core tier imported a module of the full tier in a way that could not be foreseen.

        Code cannot be swapped under a running call, so the execution is run again from its beginning on the
        full tier, unless something of it was seen outside.
        """
        point = self.history.before(self.count - 1)
        if point is None:
            self._crashed(execution, Stopped(f"an import of {needed} needs the full runtime", None))
            return
        snapshots = self.snapshots_for("tier")
        snapshots.restore(point.state.kernel)
        snapshots.move_up()
        self.host_calls.drop_answers()
        pending = {call.id: call for call in point.state.pending}
        if not execution.was_seen:
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
            result = execution.result_so_far(self._take_requests(), self.executor.memory_bytes)
            result.suspended = [
                call for call in execution.pending.values() if not self.host_calls.is_held(call)
            ]
            return result
        return self._finish(execution, execution.outcome)

    def _take_requests(self) -> list[NetworkRequest]:
        return [] if self.network is None else self.network.take_records()

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
        result = execution.result_so_far(self._take_requests(), self.executor.memory_bytes)
        if type(outcome) is Done and outcome.value is not None:
            try:
                result.value = execution.decoded(outcome.value)
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
        self.history.recent.append(entry)
        if self.recorder is not None:
            self.recorder.mark(Ended(entry.count, entry.code, entry.duration_ms, error))
        execution.result = result
        if stop.reason is not None or stop.crash is not None or log.isEnabledFor(logging.DEBUG):
            log_end(id(self), result, execution.stop)
        if stop.interruption is not None:
            # The cause says what was printed and where the code was stopped; there is none when the code has
            # handled the interrupt.
            stop.interruption.result = result  # type: ignore[attr-defined]
            raise stop.interruption from (stop.listener_error or result.error)
        if stop.listener_error is not None:
            raise stop.listener_error
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
        log.debug("session %#x was reset", id(self))

    def recover(self, most: int) -> Point | None:
        """After a hard stop: go back to the newest checkpoint with at most `most` executions, and its
        pending calls; restart when there is none.
        """
        self.host_calls.drop_answers()
        point = self.history.newest(most)
        if point is None:
            self._open_network()
            self.executor.reset()
            self.configure()
        else:
            self.snapshots_for("rewind").restore(point.state.kernel)
        self.pending = {} if point is None else {call.id: call for call in point.state.pending}
        return point

    def _recover_into(self, stop: Stop, most: int) -> dict[int, HostCall]:
        """Recover, and record what that left of the session; the pending calls."""
        point = self.recover(most)
        stop.state = StopState.LOST if point is None else StopState.REWOUND
        if point is not None and point.state.count != most:
            stop.rewound_to = point.state.count
        return dict(self.pending)

    def snapshots_for(self, capability: str) -> Snapshots:
        """The part of the executor that captures and restores. Raises CapabilityError."""
        snapshots = self.executor.snapshots
        if snapshots is None:
            raise self.executor.missing(capability)
        return snapshots

    def state(self, *, complete: bool = False, shared: bool = False) -> SessionState:
        """The present state; the kernel must be at rest. For the options see `WasmExecutor.capture`."""
        run = None if self.execution is None else self.execution.waiting_run()
        points = self.history.points
        known = points[-1].state.kernel if points else None
        kernel = self.snapshots_for("snapshot").capture(known, complete=complete, shared=shared)
        return SessionState(kernel, self.count, tuple(self.pending.values()), run)

    def adopt(self, state: SessionState) -> None:
        """The kernel has become `state`: so does the rest of the session."""
        self.host_calls.drop_answers()
        if self.network is not None:
            self.network.close()
        self.count = state.count
        self.pending = {call.id: call for call in state.pending}
        self.execution = None
        if state.run is not None:
            self.execution = ExecutionState.restored(
                state.run,
                self.executor.tier,
                self.settings.bounds,
                alarm=self.host_calls.alarm,
                listeners=self.settings.listeners,
                virtual_time=self._is_deterministic,
            )

    def copy(self, state: SessionState, *, reseed: bool, journal: Journal | None = None) -> SessionEngine:
        """An engine that continues from `state`, which is this one's present one.

        What comes from outside comes through `journal`, if one is given, or is recorded as it is here.
        """
        other = SessionEngine.__new__(SessionEngine)
        other.settings = self.settings
        other.workspace = other.network = None
        other.recorder = None if self.recorder is None else self.recorder.fork()
        other.phase = Phase.READY
        other._out_of_time = 0
        other._setup = self._setup
        files = self.executor.files
        assert files is not None
        other.executor = self.snapshots_for("fork").spawn(
            WeakHost(other), state.kernel, files.fork(), journal or other.recorder
        )
        other.host_calls = self.host_calls.copy_for(other.executor)
        other.history = self.history.fork()
        if self.workspace is not None:
            other._link(self.workspace.linked_to(other.executor, other))
        if self.network is not None:
            other._connect(self.network.copy())
        other.adopt(state)
        if reseed and self.settings.seed is None:
            other.executor.configure_later({"reseed": os.urandom(16)})
        return other
