"""What sessions with and without `await` share: one execution, but for the waiting.

A session enters its executor, hands out the host calls that the code makes, and turns reports into results.
`Session` and `AsyncSession` differ only in how they wait.
"""

from __future__ import annotations

import time
from typing import Any, Final

from planaria.errors import EncodeError, PlanariaError, ProtocolError, SessionBusy, SessionError
from planaria.executors.wasm import TierNeeded
from planaria.limits import NotGiven, Stopped
from planaria.session.core import Answer
from planaria.session.cutting import Cutting
from planaria.session.flight import Flight
from planaria.session.host_calls import end_tool_calls
from planaria.session.outcome import error_of
from planaria.session.result import Result
from planaria.session.run import HostCall, Run
from planaria.session.timeline import HistoryEntry
from planaria_kernel.protocol import decode, encode

__all__ = ["Answer", "BaseSession"]

#: Answers of fewer bytes are sent again when others did not fit the sandbox's memory.
_SMALL_ANSWER: Final = 65536


class BaseSession(Cutting):
    """See `Session`; this class has everything but the waiting."""

    def _begin(
        self,
        code: str,
        timeout: float | NotGiven | None,
        name: str | None = None,
        stdin: bytes | None = None,
    ) -> Flight:
        if not isinstance(code, str):
            raise TypeError(f"code is a str, not {type(code).__name__}")
        bound = self._limits.timeout if isinstance(timeout, NotGiven) else timeout
        if bound is not None and (
            isinstance(bound, bool) or not isinstance(bound, (int, float)) or not bound > 0
        ):
            raise ValueError(f"timeout={timeout!r}: seconds greater than 0, or None for no bound")
        if self._flight is not None:
            raise SessionBusy(
                "an execution waits in this session; "
                "resolve its pending calls or cancel it before the next one"
            )
        self._timeline.undone.clear()
        self._checkpoint()
        self._count += 1
        run = Run(code, self._count, self._executor.tier, self._pending, name, stdin)
        flight = Flight(run, self._new_collector(), bound, self._limits)
        flight.inside = True
        self._flight = flight
        return flight

    def _enter(self, flight: Flight) -> list[HostCall]:
        """Enter the kernel once; returns the host calls that are new. Blocks."""
        run = flight.run
        began = self._executor.cpu_seconds() if flight.cpu_left is not None else 0.0
        self._changed = True
        try:
            entered = self._executor.enter(run.command(), flight.guard())
        except Stopped as stopped:
            self._crashed(flight, stopped)
            return []
        except TierNeeded as needed:
            self._begin_again(flight, needed)
            return []
        except EncodeError:  # nothing was entered
            run.refuse_answers(_cannot_cross)
            return []
        except ProtocolError as error:
            self._crashed(flight, Stopped(str(error), None))
            return []
        finally:
            if flight.cpu_left is not None:
                used = max(0.0, self._executor.cpu_seconds() - began)
                flight.cpu_left = max(0.0, flight.cpu_left - used)
        if entered.reason is not None and flight.reason is None:
            flight.by_keyboard = entered.reason == "interrupt" and not flight.asked
            interrupted = entered.reason
        else:
            interrupted = None
        if entered.report[0] == "refused":
            run.refuse_answers(_does_not_fit)
            return []
        if entered.report[0] == "tier":
            # Nothing has been run: the source imports modules that only the full tier has.
            self._executor.move_up()
            run.begin_again(self._executor.tier)
            if interrupted is not None:
                flight.stop(interrupted)
            return []
        try:
            new = run.report(entered.report)
        except ProtocolError as error:
            self._crashed(flight, Stopped(str(error), entered.reason))
            return []
        if flight.suspended:
            flight.suspended = {one: why for one, why in flight.suspended.items() if one in run.pending}
        if interrupted is not None:
            flight.stop(interrupted)
        return new

    def _begin_again(self, flight: Flight, needed: TierNeeded) -> None:
        """Code on the core tier imported a module of the full tier by a way that nobody could foresee.

        Code cannot be swapped under a running call, so the execution is made again from its beginning on the
        full tier, unless somebody outside has seen something of it.
        """
        point = self._timeline.before(self._count - 1)
        assert point is not None, "on the core tier there is a point before every execution"
        self._executor.restore(point.state.kernel)
        self._executor.move_up()
        self._drop_answers()
        pending = {call.id: call for call in point.state.pending}
        if not flight.noticed and not (self._listeners.any and flight.collector.has_output):
            flight.collector = self._new_collector()
            flight.tool_calls.clear()
            flight.run.begin_again(self._executor.tier, pending)
            return
        flight.run.pending = pending
        flight.failure = SessionError(
            f"this execution reached an import of {needed}, for which the session had to go back to the "
            "state before it and move to the full runtime; it had called the host already, so it was not "
            "run again by itself. Run it again if that is safe."
        )
        flight.run.report(("error", {"type": "SessionError", "message": str(flight.failure)}))

    def _look_at_clock(self, flight: Flight) -> None:
        """Between entries: stop code whose time is over, give up code that does not heed it."""
        now = time.monotonic()
        if flight.reason is None:
            if flight.asked:
                flight.stop("interrupt")
            elif flight.deadline is not None and now >= flight.deadline:
                flight.stop("timeout")
        elif flight.patience is not None and now >= flight.patience and not flight.run.can_step:
            self._crashed(flight, Stopped("it went on waiting after it was interrupted", flight.reason))

    def _crashed(self, flight: Flight, stopped: Stopped) -> None:
        """The kernel is gone: bring the session back to life and end the execution."""
        if flight.reason is None:
            flight.reason = stopped.reason
            flight.by_keyboard = stopped.reason == "interrupt" and not flight.asked
        flight.crash, flight.goes_on = stopped.message, stopped.goes_on
        flight.state, flight.run.pending = self._recover(self._count - 1)
        details = {"type": "Stopped", "message": stopped.message, "exit_code": stopped.exit_code}
        flight.run.report(("error", details))

    def _abandon(self, flight: Flight, error: BaseException) -> None:
        """Driving it failed in a way that nobody foresaw: the session goes back and stays usable."""
        try:
            if not flight.run.is_over:
                self._crashed(flight, Stopped(f"{type(error).__name__}: {error}", None))
        except PlanariaError:
            self._is_broken = (
                True  # it cannot be brought back to life just now: whoever uses it next tries again
            )
        self._flight = None
        self._pending = flight.run.pending
        flight.inside = False
        if self._workspace is not None:
            self._workspace.end_execution()

    def _parks(self, flight: Flight, sleep: bool) -> bool:
        """Whether to leave a run that waits to itself, because only somebody else could get it further."""
        if flight.reason is not None or self._on_their_way(flight):
            return False
        return (
            not sleep or bool(flight.suspended) or (bool(flight.run.pending) and flight.run.wake_at is None)
        )

    def _suspended_result(self, flight: Flight) -> Result:
        """What there is of an execution that waits."""
        flight.pause()
        self._changed = True
        result = self._result(flight)
        result.suspended = list(flight.run.pending.values())
        return result

    def _result(self, flight: Flight) -> Result:
        """What an execution has come to so far."""
        collector = flight.collector
        stdout_truncated, stderr_truncated = collector.truncated
        return Result(
            stdout_bytes=collector.stdout,
            stderr_bytes=collector.stderr,
            outputs=list(collector.outputs),
            execution_count=flight.run.count,
            duration_ms=(time.monotonic() - flight.started) * 1e3,
            callback_invocations=flight.callbacks,
            tool_calls=list(flight.tool_calls),
            peak_memory_bytes=self._executor.memory_bytes,
            stdout_truncated=stdout_truncated,
            stderr_truncated=stderr_truncated,
            outputs_truncated=collector.outputs_truncated,
        )

    def _finish(self, flight: Flight) -> Result:
        """Turn a run that is over into a result."""
        self._flight = None
        flight.inside = False
        self._pending = flight.run.pending
        if self._workspace is not None:
            self._workspace.end_execution()
        try:
            flight.collector.finish()
        except BaseException as failure:  # a listener's
            flight.raises = flight.raises or failure
        end_tool_calls(flight, "cancelled" if flight.reason is None else "interrupted")
        outcome = flight.run.outcome
        assert outcome is not None
        details: dict[str, Any] = outcome[1]
        try:
            value = None if details.get("value") is None else decode(details["value"])
        except (ProtocolError, TypeError) as damage:
            outcome = ("error", {"type": "ProtocolError", "message": f"the value is damaged: {damage}"})
            details, value = outcome[1], None
        result = self._result(flight)
        result.value, result.repr = value, details.get("repr")
        result.status = details.get("exit_code") if outcome[0] == "done" else None
        if outcome[0] == "error":
            result.value = result.repr = None
            result.error = error_of(flight, result, details)
        error = None if result.error is None else f"{result.error}"
        self._timeline.record(
            HistoryEntry(flight.run.count, flight.run.source, result.duration_ms, error, None)
        )
        flight.result = result
        if flight.raises is not None:
            raise flight.raises
        if flight.by_keyboard:
            # Its cause tells what was printed and where the code was stopped.
            raise KeyboardInterrupt from result.error
        return result


def _cannot_cross(value: Any) -> tuple[str, str] | None:
    """The exception that takes the place of a callback's result, if that cannot be sent."""
    try:
        encode(value)
    except EncodeError as error:
        return "TypeError", f"the callback returned what cannot cross: {error}"
    return None


def _does_not_fit(value: Any) -> tuple[str, str] | None:
    """As `_cannot_cross`, when the sandbox had no memory for the answers together."""
    size = len(encode(value))
    if size < _SMALL_ANSWER:
        return None
    return "MemoryError", f"the callback's result of {size} bytes does not fit the memory of this sandbox"
