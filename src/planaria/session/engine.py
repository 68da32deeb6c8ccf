"""The engine of a session: its parts, and what a session does between executions (see `executing`).

It has settings, an executor, the execution in flight, host calls, a history and a workspace. `Session` and
`AsyncSession` hold an engine, let one caller at a time use it, and wait on its behalf.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from planaria import telemetry
from planaria.errors import (
    CrashError,
    EncodeError,
    ProtocolError,
    SessionBusy,
    SessionClosed,
    SessionError,
)
from planaria.executors.executor import Executor, SandboxSetup, Snapshots, Unreachable
from planaria.executors.journal import Journal, Recorder
from planaria.executors.messages import (
    HostCall,
    Query,
)
from planaria.executors.wasm import WasmExecutor
from planaria.files.view import Files
from planaria.limits import Guard, Stopped
from planaria.machine.image import is_loaded
from planaria.machine.recipe import Recipe
from planaria.session.error_mapping import answer_of, effect_of
from planaria.session.execution_state import ExecutionState, Stop, StopState
from planaria.session.function_calls import calling_back
from planaria.session.history import History, Point
from planaria.session.host_calls import HostCalls
from planaria.session.kernel_settings import kernel_settings
from planaria.session.log import log
from planaria.session.phases import Phase
from planaria.session.sandbox_setup import sandbox_setup
from planaria.session.settings import SessionSettings
from planaria.session.weak_host import WeakHost
from planaria.snapshot.state import SessionState

if TYPE_CHECKING:
    from planaria.network.budget import Budget
    from planaria.session.network_link import NetworkLink
    from planaria.session.workspace_link import WorkspaceLink

__all__ = ["SessionEngine"]

_HOME: Final = "/home/user"
#: Seconds in which the kernel answers a query.
_PATIENCE: Final = 60.0


class SessionEngine:
    """One session. One caller at a time may use it; `interrupt` and `ending` may come from any thread."""

    #: Whether a caller waits for its turn to close it: there are no more executions then.
    is_closing = False
    #: Whether `interrupt` was called since a caller has had the session: its execution is interrupted also
    #: when it had not begun, or not gone on, at that moment.
    was_interrupted = False

    def __init__(self, settings: SessionSettings) -> None:
        self.settings = settings
        self.executor: Executor = settings.executor or WasmExecutor()
        self._record(Recorder(settings.bounds.recording) if settings.record else None)
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
        self.out_of_time = 0
        """How many executions ran out of time, one after the other, the latest included."""
        self._forget()
        self._setup: SandboxSetup | None = None
        self._starting = threading.RLock()
        if self.executor.is_sandbox and (settings.image is not None or is_loaded(Recipe())):
            self._setup = sandbox_setup(settings, self.recorder)
        if settings.has_workspace:
            from planaria.session.workspace_link import open_workspace

            self._link(open_workspace(settings, self.executor, self, self._budget))

    def _forget(self) -> None:
        """Nothing has been executed yet."""
        self.count = 0
        self.execution: ExecutionState | None = None
        #: Calls that tasks which outlived their execution still wait for.
        self.pending: dict[int, HostCall] = {}
        #: Those of them that wait for a decision, with the reason.
        self.suspended: dict[int, str] = {}
        self.history = History.of(self.settings.bounds)
        self.host_calls.admission.missing = {}

    def _record(self, recorder: Recorder | None) -> None:
        self.recorder = recorder
        self.is_repeatable = self.settings.deterministic is not None or recorder is not None
        """Whether the session may be done again as a whole."""

    def _link(self, link: WorkspaceLink) -> None:
        self.workspace = self.host_calls.admission.workspace = link

    def _connect(self, link: NetworkLink) -> None:
        self.network = self.host_calls.admission.network = link

    @property
    def _budget(self) -> Budget | None:
        """What requests come to, where the session has a network."""
        return None if self.network is None else self.network.budget

    def _open_network(self) -> None:
        if self.network is not None:
            self.network.open_for(self.executor)

    # -- phases --------------------------------------------------------------------------------------------

    @property
    def starts_at_once(self) -> bool:
        """Whether `start` would take no more than a few milliseconds, and the kernel not be entered."""
        is_there = (
            self._setup is not None and self.settings.bounds.fuel is None and self.executor.starts_at_once
        )
        return is_there and not self._own_settings()

    def start(self) -> None:
        """Start the kernel, if it was not started. May take long where a process has to be prepared first, or
        the runtime to be compiled.
        """
        with self._starting:
            if self.phase is Phase.NEW:
                self._start()

    def _start(self) -> None:
        begun = time.monotonic()
        if self._setup is None and self.executor.is_sandbox:
            self._setup = sandbox_setup(self.settings, self.recorder)
        telemetry.count(self)
        with telemetry.span("session", session=f"{id(self):#x}", executor=self.executor.name):
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
            raise SessionError(
                "this execution is over, or the session went back to a state without it; what waits now is "
                "session.run_in_progress"
            )

    def close(self) -> None:
        """Release everything; closing twice is harmless."""
        if self.phase is not Phase.CLOSED:
            self.phase = Phase.CLOSED
            telemetry.count_no_more(self)
            self.host_calls.functions.span.end("closed")
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
        if self.executor.is_sandbox:
            self.start()
        files = self.executor.files
        if files is None:
            raise self.executor.missing("files")
        self.history.has_changed = True
        if self.recorder is not None:
            self.recorder.jump()
        return Files(files, _HOME)

    def interrupt(self) -> None:
        """Stop the execution that runs now, or is about to; from any thread, or a signal handler."""
        self.was_interrupted = True  # first: an execution that begins meanwhile sees it or is seen here
        execution = self.execution
        if execution is not None and execution.inside:
            execution.ask_to_stop()
            self.executor.interrupt()

    @contextlib.contextmanager
    def ending(self) -> Iterator[None]:
        """While a caller waits for its turn to close the session: the execution that runs is interrupted, and
        none begins. Raises what `check_usable` does.
        """
        self.check_usable()
        self.is_closing = True
        self.interrupt()
        try:
            yield
        finally:
            self.is_closing = False

    # -- configuring and asking the kernel -----------------------------------------------------------------

    def configure(self) -> None:
        """Configure a fresh kernel for this session."""
        given, news = self.settings, self._own_settings()
        seed: dict[str, object] = {"reseed": os.urandom(16)} if given.seed is None else {"seed": given.seed}
        if news:
            answer_of("configure", self.executor.configure({**news, **seed}))
        else:
            self.executor.configure_later(seed)

    def _own_settings(self) -> dict[str, object]:
        """The settings of this session's kernel that others do not have from the beginning."""
        usual = self.executor.settings
        settings = kernel_settings(
            self.settings,
            has_shell="shell" in self.executor.capabilities,
            workspace=self.workspace,
            network=self.network,
        )
        return {name: value for name, value in settings.items() if name not in usual or usual[name] != value}

    def refresh_packages(self) -> None:
        """Have the kernel look for packages that were installed or removed meanwhile."""
        assert self.workspace is not None
        self.ask("configure", {"paths": self.workspace.dependencies.paths})
        self.history.has_changed = True

    def ask(self, name: str, *arguments: object) -> object:
        """Give the kernel a command that runs no code of the user's; its answer.

        Raises SessionError when it reports an error, CrashError when it does not answer, and EncodeError.
        """
        guard = Guard(deadline=time.monotonic() + _PATIENCE, grace=self.settings.bounds.grace)
        try:
            entered = self.executor.enter(Query(name, arguments), guard)
        except EncodeError:  # nothing was entered
            raise
        except (Stopped, ProtocolError) as stopped:
            stop = Stop()
            self.recover_into(stop, self.count)
            error = CrashError(
                f"{name}: the sandbox did not answer ({stopped}); {effect_of(stop)}", state=stop.state.value
            )
            raise error from None
        answer = answer_of(name, entered)
        if entered.reason == "interrupt":
            raise KeyboardInterrupt
        return answer

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
        pending calls; when there is none, to what the executor itself has of the state.
        """
        self.host_calls.drop_answers()
        point = self._back_to(most)
        if point is None:
            self._open_network()
            self.executor.recover()
            self.configure()
        self.pending = {} if point is None else {call.id: call for call in point.state.pending}
        self.suspended = {one: why for one, why in self.suspended.items() if one in self.pending}
        return point

    def _back_to(self, most: int) -> Point | None:
        """Become the newest checkpoint with at most `most` executions that can be reached, if one can."""
        while (point := self.history.newest(most)) is not None:
            try:
                self.snapshots_for("rewind").restore(point.state.kernel)
            except Unreachable:
                most = point.state.count - 1
            else:
                break
        return point

    def recover_into(self, stop: Stop, most: int) -> dict[int, HostCall]:
        """Recover, and record what that left of the session; the pending calls."""
        point = self.recover(most)
        stop.state = StopState(self.executor.left) if point is None else StopState.REWOUND
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

    def logged_state(self) -> SessionState | None:
        """The present state by the commands that lead to it from an earlier one, for a checkpoint that few go
        back to; None where `state` has to be taken. No execution may wait.
        """
        # What may be done again reads the memory for every checkpoint: that clears old frames of its stack.
        if self.is_repeatable or (snapshots := self.executor.snapshots) is None:
            return None
        kernel = snapshots.logged()
        return None if kernel is None else SessionState(kernel, self.count, tuple(self.pending.values()))

    def adopt(self, state: SessionState) -> None:
        """The kernel has become `state`: so does the rest of the session."""
        self.host_calls.drop_answers()
        if self.network is not None:
            self.network.close()
        self.count = state.count
        self.pending = {call.id: call for call in state.pending}
        self.suspended = {one: why for one, why in self.suspended.items() if one in self.pending}
        self.execution = None
        if state.run is not None:
            self.execution = ExecutionState.restored(
                state.run,
                self.executor.tier,
                self.settings.bounds,
                alarm=self.host_calls.alarm,
                listeners=self.settings.listeners,
                virtual_time=self.settings.deterministic is not None,
            )

    def copy(self, state: SessionState, *, reseed: bool, journal: Journal | None = None) -> SessionEngine:
        """An engine that continues from `state`, which is this one's present one.

        What comes from outside comes through `journal`, if one is given, or is recorded as it is here.
        """
        other = SessionEngine.__new__(SessionEngine)
        other.settings = self.settings
        other.workspace = other.network = None
        other._record(None if self.recorder is None else self.recorder.fork())
        other.phase = Phase.READY
        telemetry.count(other)
        other.out_of_time = 0
        other._starting = threading.RLock()
        other._setup = self._setup
        files = self.executor.files
        assert files is not None
        other.executor = self.snapshots_for("fork").spawn(
            WeakHost(other), state.kernel, files.fork(), journal or other.recorder
        )
        other.host_calls = self.host_calls.copy_for(other.executor)
        other.history = self.history.fork()
        other.suspended = self.suspended
        if self.network is not None:
            other._connect(self.network.copy())
        if self.workspace is not None:
            other._link(self.workspace.linked_to(other.executor, other, other._budget))
        other.adopt(state)
        if reseed and self.settings.seed is None:
            other.executor.configure_later({"reseed": os.urandom(16)})
        return other
