"""One execution as one value, without any I/O.

An `ExecutionState` says with which command to enter the kernel next and takes the report of that entry. When
the code waits, it holds the host calls that it waits for; the session that drives it answers them. It also
knows what was printed, when the execution must end, why it was stopped, and its outcome.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Literal, Protocol

from planaria.errors import PlanariaError, ProtocolError, SessionError
from planaria.executors.messages import (
    CallAnswer,
    Cancel,
    Command,
    Done,
    Failed,
    HostCall,
    Ok,
    Raised,
    Resume,
    RunCode,
    RunScript,
    Waiting,
)
from planaria.limits import Guard, Limits, Stopped, StopReason
from planaria.session.alarm import Alarm
from planaria.session.collector import Collector, Listeners
from planaria.session.result import Result
from planaria.snapshot.state import WaitingRun
from planaria_kernel.errors import DecodeLimitError
from planaria_kernel.protocol import Budget, Repr, decode

if TYPE_CHECKING:
    from planaria.network.policy import NetworkRequest
    from planaria.workspace.tools.call import ToolCall

__all__ = ["Executing", "ExecutionState", "ExecutionStatus", "Stop", "StopState"]

ExecutionStatus = Literal["running", "waiting", "done", "failed"]

_NOTHING: Final[Mapping[int, HostCall]] = {}
_NO_REASONS: Final[Mapping[int, str]] = {}


class StopState(StrEnum):
    """What a stop left of the session."""

    KEPT = "kept"
    """It was stopped at a line, and the session has the state reached there."""
    REWOUND = "rewound"
    """The session went back to a checkpoint."""
    LOST = "lost"
    """There was no checkpoint: the session restarted."""


class Stop:
    """Why an execution was stopped, and what that left of the session; few are."""

    reason: StopReason | None = None
    patience: float | None = None
    """When code that does not respond to the interrupt is abandoned, a value of `time.monotonic()`."""
    crash: Stopped | None = None
    """How the kernel ended, if it did."""
    state: StopState = StopState.KEPT
    rewound_to: int | None = None
    """After how many executions the checkpoint was taken, when it is not the one before this execution."""
    failure: PlanariaError | None = None
    """The error that the execution ends with, whatever the kernel reports."""
    listener_error: BaseException | None = None
    """What a listener raised: it is raised on this side."""
    in_a_row: int = 1
    """How many executions, with this one, ran out of time one after the other."""
    closes: bool = False
    """Whether the session is being closed, so that nothing is left of it."""
    interruption: BaseException | None = None
    """Ctrl-C or a cancellation, which is raised on this side once the code has stopped."""


class ExecutionState:
    """The execution of one cell or script."""

    # What most executions leave as it is belongs to the class.
    fuel_used = 0
    callbacks = 0
    """Host callbacks so far."""
    is_noticed = False
    """Whether anything outside of the session may have noticed what it did."""
    wake_at: float | None = None
    """When to continue without an answer, a value of `time.monotonic()`."""
    timer = 0.0
    """How many seconds that was from the report that said so."""
    outcome: Done | Failed | None = None
    """The kernel's last report, once the execution is over."""
    result: Result | None = None
    inside = True
    """Whether it is being driven now."""
    asked = False
    """Whether it is to be interrupted."""
    _collector: Collector | None = None
    #: A value and what it was decoded to.
    _decoded: tuple[bytes, object] = b"", None
    #: The answers that the last command had.
    _sent: Sequence[tuple[HostCall, Ok | Raised]] = ()

    def __init__(
        self,
        command: RunCode | RunScript,
        count: int,
        limits: Limits,
        timeout: float | None,
        *,
        alarm: Alarm | None = None,
        listeners: Listeners | None = None,
        pending: Mapping[int, HostCall] = _NOTHING,
        suspended: Mapping[int, str] = _NO_REASONS,
        virtual_time: bool = False,
    ) -> None:
        #: Whether timers are not waited for: they fire once no host call is open (see `skip_wait`).
        self.virtual_time = virtual_time
        self.count = count
        self.limits = limits
        self.alarm = alarm or Alarm()
        self.started = time.monotonic()
        self.timeout = timeout
        self.deadline = None if timeout is None else self.started + timeout
        self._left = timeout
        self.cpu_left = limits.cpu_time
        self.fuel_left = limits.fuel
        #: The calls of tools, in order.
        self.tool_calls: list[ToolCall] = []
        self.stop = Stop()
        #: Calls that wait for an answer; those of tasks of earlier executions come first.
        self.pending: dict[int, HostCall] = dict(pending)
        #: Calls whose callback raised Suspend, with its reason: they are answered later.
        self.suspended: dict[int, str] = dict(suspended)
        self.source = command.source
        self._first = command
        self._command: Command | None = command
        #: The answers for the next command, with their calls.
        self._answers: list[tuple[HostCall, Ok | Raised]] = []
        self._listeners = listeners

    # -- commands and reports ------------------------------------------------------------------------------

    @property
    def cell(self) -> str | None:
        """What tracebacks call the code; None of a script."""
        return (self._first.name or f"<cell {self.count}>") if isinstance(self._first, RunCode) else None

    @property
    def status(self) -> ExecutionStatus:
        if self.outcome is not None:
            return "done" if isinstance(self.outcome, Done) else "failed"
        return "running" if self.inside or self._command is not None else "waiting"

    @property
    def can_step(self) -> bool:
        """Whether entering the kernel now would get the execution further."""
        return self.outcome is None and (
            self._command is not None
            or bool(self._answers)
            or (self.wake_at is not None and not self.virtual_time and time.monotonic() >= self.wake_at)
        )

    @property
    def has_answers(self) -> bool:
        """Whether the next command has answers to calls."""
        return bool(self._answers)

    @property
    def due_timer(self) -> float | None:
        """The seconds that the code has waited if the next entry is for a timer that is due; else None."""
        if self._command is not None or self._answers or self.wake_at is None:
            return None
        return self.timer

    @property
    def next_timer(self) -> float | None:
        """Seconds until a timer of the code fires; None when it waits for none."""
        return None if self.wake_at is None else max(0.0, self.wake_at - time.monotonic())

    def skip_wait(self) -> float:
        """The next timer is due now; how long the code would have waited, in seconds."""
        self._command = Resume()
        self.wake_at = None
        return self.timer

    def command(self) -> Command:
        """The command for the next entry; taking it forgets it."""
        command, self._command = self._command, None
        if self.wake_at is not None:
            self.wake_at = None
        self._sent = ()
        if command is None:
            self._sent, self._answers = self._answers, []
            return Resume(tuple(CallAnswer(call.id, answer) for call, answer in self._sent))
        return command

    def guard(self) -> Guard:
        """What limits the next entry."""
        if self.stop.reason is None:
            return Guard(self.deadline, self.cpu_left, self.limits.grace, self._is_asked, self.fuel_left)
        return Guard(None, None, self.limits.grace, self._is_asked, self.fuel_left)

    def use_fuel(self, used: int) -> None:
        """An entry took so many instructions."""
        if self.fuel_left is not None:
            self.fuel_used += used
            self.fuel_left = max(0, self.fuel_left - used)

    def _is_asked(self) -> bool:
        return self.asked

    def begin_again(self, tier: str, pending: Mapping[int, HostCall] | None = None) -> None:
        """Start over on another tier: nothing has been run yet.

        `pending` are the calls of earlier executions, if those changed.
        """
        if isinstance(self._first, RunCode):
            self._first = replace(self._first, tier=tier)
        self._command = self._first
        if pending is not None:
            self.forget_calls(pending)
            self._collector = None
            self.tool_calls.clear()

    def forget_calls(self, pending: Mapping[int, HostCall]) -> None:
        """The session went back to a state with these calls: answers to any others are void."""
        self._answers.clear()
        self.pending = dict(pending)
        self.suspended = {one: why for one, why in self.suspended.items() if one in pending}

    def take(self, report: Done | Failed | Waiting) -> None:
        """Take the report of an entry. Calls that no task awaits any more are no longer pending."""
        for identifier in report.abandoned:
            self.pending.pop(identifier, None)
        if type(report) is Waiting:
            self.waits(report.seconds)
            self.pending.update((call.id, call) for call in report.calls)
            if self.suspended:
                self.suspended = {one: why for one, why in self.suspended.items() if one in self.pending}
        else:
            assert not isinstance(report, Waiting)
            self.outcome = report
            self._command = self.wake_at = None

    def waits(self, seconds: float | None) -> None:
        """It waits, with `seconds` until its next timer."""
        self._command = None
        self.timer = seconds or 0.0
        self.wake_at = None if seconds is None else time.monotonic() + max(0.0, seconds)

    def fail(self, kind: str, message: str, exit_code: int | None = None) -> None:
        """It is over, with an error that the host reports."""
        self.take(Failed(kind, message, exit_code=exit_code, details={"type": kind, "message": message}))

    # -- answers -------------------------------------------------------------------------------------------

    def answer(self, identifier: int, answer: Ok | Raised) -> None:
        """Answer a pending call. Raises KeyError when no such call is pending."""
        self._answers.append((self.pending.pop(identifier), answer))

    def take_answer(self, identifier: int) -> Ok | Raised | None:
        """Take back the answer to a call, if there is one."""
        for place, (call, answer) in enumerate(self._answers):
            if call.id == identifier:
                del self._answers[place]
                return answer
        return None

    def refuse_answers(self, refuse: Callable[[object], Raised | None]) -> None:
        """The last command could not be sent: it will be sent again.

        Each value to which `refuse` objects is replaced by the exception that it returns.
        """
        if not self._sent:
            self.fail("MemoryError", "the source does not fit into the memory of this sandbox")
        for call, answer in self._sent:
            objection = refuse(answer.value) if isinstance(answer, Ok) else None
            self._answers.append((call, objection or answer))

    def take_back_answers(self) -> list[tuple[HostCall, Ok | Raised]]:
        """The answers that came too late for it: the tasks that await them outlive it, and their calls are
        pending again.
        """
        late, self._answers = self._answers, []
        self.pending.update((call.id, call) for call, _ in late)
        return late

    # -- being stopped -------------------------------------------------------------------------------------

    def ask_to_stop(self) -> None:
        """From any thread: the next entry is interrupted, and a wait ends."""
        self.asked = True
        self.alarm.ring()

    def interrupt(self, reason: StopReason) -> None:
        """Have KeyboardInterrupt raised where the code waits; an execution that has not begun is over."""
        self.stop.reason = reason
        self.stop.patience = time.monotonic() + self.limits.grace
        if self.outcome is None:
            if isinstance(self._command, (RunCode, RunScript)):
                self.fail("KeyboardInterrupt", "")
            else:
                self._command = Cancel("KeyboardInterrupt", "")

    def interrupted_by(self, error: BaseException) -> None:
        """Ctrl-C, or the task that awaits it was cancelled: interrupt the code, then raise `error` here."""
        self.stop.interruption = error
        if self.stop.reason is None:
            self.interrupt("interrupt")

    def stand_still(self, seconds: float) -> None:
        """So many seconds are not its own: the kernel waited for a processor, or for the compiler."""
        if self.deadline is not None:
            self.deadline += seconds

    def pause(self) -> None:
        """It is not driven any more: its time stands still."""
        self.inside = False
        self._left = None if self.deadline is None else self.deadline - time.monotonic()

    def go_on(self) -> None:
        """It is driven again."""
        self.inside = True
        self.deadline = None if self._left is None else time.monotonic() + self._left

    def seconds_left(self) -> float | None:
        """How long the code may wait, also for its own timers; None without a limit."""
        end = self.deadline if self.stop.reason is None else self.stop.patience
        wake_at = None if self.virtual_time else self.wake_at
        ends = [time_ for time_ in (wake_at, end) if time_ is not None]
        return max(0.0, min(ends) - time.monotonic()) if ends else None

    # -- output --------------------------------------------------------------------------------------------

    @property
    def collector(self) -> Collector:
        """What it prints and shows; created when there is something."""
        if self._collector is None:
            self._collector = Collector(self.limits.output, self._listeners or Listeners())
        return self._collector

    @property
    def output(self) -> Collector | None:
        """The collector, if there is one already."""
        return self._collector

    def restore_output(self, stdout: bytes, stderr: bytes) -> None:
        """What was printed before a snapshot stays part of the result; listeners have seen it."""
        self._collector = collector = Collector(self.limits.output, Listeners())
        collector.output(1, stdout)
        collector.output(2, stderr)
        collector.listen(self._listeners or Listeners())

    @property
    def was_seen(self) -> bool:
        """Whether something of it was seen outside: its host calls, or what it has printed."""
        is_heard = self._listeners is not None and self._listeners.any
        return self.is_noticed or (is_heard and self.output is not None and self.output.has_output)

    # -- results -------------------------------------------------------------------------------------------

    def decode_early(self, encoded: bytes) -> None:
        """Have `decoded` take no time for a value; one that is damaged is left to it."""
        with contextlib.suppress(ProtocolError):
            self._decoded = encoded, self.decoded(encoded)

    def decoded(self, encoded: bytes) -> object:
        """Its value; what cannot be decoded is replaced by a Repr that says why. Raises ProtocolError."""
        if self._decoded[0] is encoded:
            return self._decoded[1]
        deadline = None if self.deadline is None else self.deadline + self.limits.grace
        try:
            return decode(encoded, Budget(deadline, self.limits.decoded()), [])
        except DecodeLimitError as error:
            return Repr(f"a value of {len(encoded)} bytes that cannot be decoded: {error}", "undecodable")

    def final_result(self) -> Result:
        """Raises SessionError while the execution waits."""
        if self.result is None:
            calls = ", ".join(f"{call.name}() (id {call.id})" for call in self.pending.values()) or "a timer"
            raise SessionError(f"this execution still waits for {calls}: resolve, reject or cancel it first")
        return self.result

    def result_so_far(self, requests: list[NetworkRequest], peak_memory_bytes: int) -> Result:
        """What it has come to so far."""
        result = Result(
            execution_count=self.count,
            duration_ms=(time.monotonic() - self.started) * 1e3,
            callback_invocations=self.callbacks,
            tool_calls=list(self.tool_calls),
            requests=requests,
            peak_memory_bytes=peak_memory_bytes,
            fuel=None if self.fuel_left is None else self.fuel_used,
        )
        if (output := self.output) is not None:
            result.stdout_bytes, result.stderr_bytes = output.stdout, output.stderr
            result.outputs = list(output.outputs)
            result.stdout_truncated, result.stderr_truncated = output.truncated
            (
                (result.stdout_omitted_bytes, result.stdout_omitted_lines),
                (result.stderr_omitted_bytes, result.stderr_omitted_lines),
            ) = output.omitted
            result.outputs_truncated = output.outputs_truncated
        return result

    # -- waiting -------------------------------------------------------------------------------------------

    def waiting_run(self) -> WaitingRun:
        """What has to be kept of it while it waits, beside the kernel's memory."""
        output = self.output
        return WaitingRun(
            self.source,
            self.count,
            tuple(self.pending.values()),
            dict(self.suspended),
            None if self.wake_at is None else self.wake_at - time.monotonic(),
            b"" if output is None else output.stdout,
            b"" if output is None else output.stderr,
        )

    @classmethod
    def restored(
        cls,
        waiting: WaitingRun,
        tier: str,
        limits: Limits,
        *,
        alarm: Alarm,
        listeners: Listeners,
        virtual_time: bool = False,
    ) -> ExecutionState:
        """The execution that waited when `waiting` was taken."""
        execution = cls(
            RunCode(waiting.source, waiting.count, tier),
            waiting.count,
            limits,
            limits.timeout,
            alarm=alarm,
            listeners=listeners,
            pending={call.id: call for call in waiting.pending},
            virtual_time=virtual_time,
        )
        execution.waits(waiting.wake_in)
        execution.inside = False
        execution.suspended = dict(waiting.suspended)
        execution.restore_output(waiting.stdout, waiting.stderr)
        return execution


class Executing(Protocol):
    """What has an execution in flight: the engine of a session."""

    @property
    def execution(self) -> ExecutionState | None:
        """The execution in flight, or the one that waits."""
