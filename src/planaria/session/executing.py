"""The steps of one execution of a session: begun, entered as often as it can go on, and finished.

`Session` and `AsyncSession` take these steps, and wait between them.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Final

from planaria import telemetry
from planaria.errors import (
    EncodeError,
    LimitError,
    PlanariaError,
    ProtocolError,
    SessionBusy,
    SessionClosed,
    SessionError,
)
from planaria.executors.executor import TierNeeded
from planaria.executors.messages import (
    Done,
    Failed,
    Refused,
    Report,
    RunCode,
    RunScript,
    TierMissing,
    Waiting,
)
from planaria.limits import NotGiven, Stopped
from planaria.session.callbacks import not_serialisable, too_large
from planaria.session.engine import SessionEngine
from planaria.session.error_mapping import error_of
from planaria.session.execution_state import ExecutionState
from planaria.session.forgotten_await import with_hint
from planaria.session.history import Past
from planaria.session.host_calls import end_tool_calls
from planaria.session.log import log, log_end
from planaria.session.phases import Phase, Step
from planaria.session.result import Result
from planaria.session.settings import checked_time
from planaria.snapshot.recording import Began, Ended, can_begin
from planaria_kernel.errors import DecodeLimitError

if TYPE_CHECKING:
    from planaria.network.policy import NetworkRequest
    from planaria.session.collector import Listeners

__all__ = ["abandon", "begin", "check_source", "enter", "next_step", "outcome_of"]

#: Reasons of a stop with which an execution is not ok, even if its code goes on to its end.
_LIMITS: Final = ("timeout", "cpu", "fuel")
#: Values of more bytes than this are decoded where the kernel was entered, beside an event loop.
_LARGE_VALUE: Final = 1 << 14


def check_source(source: object) -> None:
    """Raise TypeError for what is not code."""
    if not isinstance(source, str):
        raise TypeError(f"code must be a str, not {type(source).__name__}")


def _check_surrogates(source: str, is_script: bool, *, sends_text: bool) -> None:
    """Raise ValueError for a lone surrogate, unless it stands for a byte of a script (`os.fsdecode`)."""
    try:
        source.encode("utf-8", "surrogateescape" if is_script and not sends_text else "strict")
    except UnicodeEncodeError as error:
        line = source.count("\n", 0, error.start) + 1
        where = f"the {'script' if is_script else 'code'} has a lone surrogate, {source[error.start]!r}"
        reason = "which cannot be sent to a server" if sends_text else "which stands for no byte"
        raise ValueError(f"{where}, in line {line}, {reason}: replace it, for example by '\ufffd'") from None


def begin(
    engine: SessionEngine,
    source: str,
    timeout: float | NotGiven | None,
    name: str | None = None,
    stdin: bytes | None = None,
    program: Listeners | None = None,
) -> ExecutionState:
    """A new execution, which becomes the one in flight: of code, or with `stdin` of a script. With
    `program`, which gets its output, the script is a program of its own (see `RunScript`).
    """
    check_source(source)
    if not source.isascii() and (stdin is not None or engine.executor.sends_text):
        _check_surrogates(source, stdin is not None, sends_text=engine.executor.sends_text)
    bounds = engine.settings.bounds
    seconds = bounds.timeout if isinstance(timeout, NotGiven) else timeout
    if seconds is not None and not (type(seconds) in (float, int) and seconds > 0):
        checked_time("timeout", seconds)
    if engine.is_closing:
        raise SessionClosed("this session is being closed; create a new one")
    if engine.execution is not None:
        raise SessionBusy(
            "an execution waits in this session; resolve its pending calls or cancel it before the next one"
        )
    history, tier = engine.history, engine.executor.tier
    history.undone.clear()
    if history.has_changed:
        history.remember()
        if "rewind" in engine.executor.capabilities:
            if (logged := engine.logged_state()) is not None and history.budget.allows():
                history.add_logged(logged)
            else:
                # Without a call, code reaches no import that cannot be seen in it (`_repeat_on_full_tier`).
                may_move_up = tier == "core" and (stdin is not None or "(" in source)
                history.checkpoint(engine.state, needed=may_move_up or engine.is_repeatable)
    engine.count += 1
    if telemetry.is_on:
        engine.host_calls.functions.span = telemetry.begin(
            "execution",
            session=f"{id(engine):#x}",
            execution=engine.count,
            language="python" if stdin is None else "bash",
        )
    if engine.recorder is not None:
        engine.recorder.drop_oldest(can_begin)
        engine.recorder.mark(Began(engine.count, source, name, stdin is not None), len(source))
    engine.execution = execution = ExecutionState(
        RunCode(source, engine.count, tier, name)
        if stdin is None
        else RunScript(source, stdin, is_program=program is not None),
        engine.count,
        bounds,
        seconds,
        alarm=engine.host_calls.alarm,
        listeners=engine.settings.listeners if program is None else program,
        pending=engine.pending,
        suspended=engine.suspended,
        virtual_time=engine.settings.deterministic is not None,
    )
    return execution


def next_step(engine: SessionEngine, execution: ExecutionState, sleep: bool) -> Step:
    """What to do next for an execution; without `sleep` it pauses rather than wait for a timer."""
    if engine.host_calls.answers:
        engine.host_calls.collect(execution)
    if engine.settings.deterministic is not None:
        engine.host_calls.give_next(execution)
    if execution.outcome is not None:
        return Step.OVER
    if (engine.is_closing or engine.was_interrupted) and not execution.asked:
        execution.ask_to_stop()
    _look_at_clock(engine, execution)
    if execution.can_step:
        return Step.ENTER
    if execution.outcome is not None:
        return Step.OVER
    if _pauses(engine, execution, sleep):
        return Step.PAUSE
    if (
        execution.virtual_time
        and execution.wake_at is not None
        and execution.stop.reason is None
        and not engine.host_calls.any_expected(execution)
    ):
        engine.executor.slept(execution.skip_wait())
        return Step.ENTER
    return Step.WAIT


def enter(engine: SessionEngine, execution: ExecutionState) -> None:
    """Enter the kernel once, and begin the host calls that the code has made. Blocks."""
    executor = engine.executor
    measured = None if execution.cpu_left is None else executor.cpu_seconds()
    engine.history.has_changed = True
    if (waited := execution.due_timer) is not None:
        executor.slept(waited)
    try:
        entered = executor.enter(execution.command(), execution.guard())
    except Stopped as stopped:
        _crash(engine, execution, stopped)
        return
    except TierNeeded as needed:
        _repeat_on_full_tier(engine, execution, needed)
        return
    except EncodeError:  # nothing was entered
        execution.refuse_answers(not_serialisable)
        return
    except DecodeLimitError as error:
        if error.limit == "memory":
            message = f"what the code sent to the host cannot be decoded: {error}"
            execution.stop.failure = LimitError(message, limit="memory")
        _crash(engine, execution, Stopped(str(error), "timeout" if error.limit == "timeout" else None))
        return
    except ProtocolError as error:
        _crash(engine, execution, Stopped(str(error), None))
        return
    finally:
        if executor.fuel_used:
            execution.use_fuel(executor.fuel_used)
        if executor.waited:
            execution.stand_still(executor.waited)
        if measured is not None:
            used = max(0.0, executor.cpu_seconds() - measured)
            execution.cpu_left = max(0.0, (execution.cpu_left or 0.0) - used)
    report = entered.report
    if type(report) is Done or type(report) is Failed:
        execution.take(report)
        if type(report) is Done and report.value is not None and len(report.value) > _LARGE_VALUE:
            execution.decode_early(report.value)
    elif not _take_report(engine, execution, report):
        return
    if entered.reason is not None and execution.stop.reason is None:
        if entered.reason == "interrupt" and not execution.asked:
            execution.stop.interruption = KeyboardInterrupt()
        execution.interrupt(entered.reason)
    if type(report) is Waiting:
        for call in report.calls:
            engine.host_calls.start(execution, call)


def _take_report(engine: SessionEngine, execution: ExecutionState, report: Report) -> bool:
    """Take a report with which the execution is not over; whether it counts as a run of the code."""
    match report:
        case Waiting():
            execution.take(report)
            return True
        case TierMissing():
            # Nothing has been run: the source imports modules that only the full tier has.
            begun = time.monotonic()
            engine.snapshots_for("tier").move_up()
            execution.stand_still(time.monotonic() - begun)
            execution.begin_again(engine.executor.tier)
            return True
        case Refused():
            execution.refuse_answers(too_large)
            return False
    _crash(engine, execution, Stopped(f"the kernel sent an unknown report: {str(report)[:200]}", None))
    return False


def _repeat_on_full_tier(engine: SessionEngine, execution: ExecutionState, needed: TierNeeded) -> None:
    """Code on the core tier imported a module of the full tier in a way that could not be foreseen.

    Code cannot be swapped under a running call, so the execution is run again from its beginning on the
    full tier, unless something of it was seen outside.
    """
    point = engine.history.before(engine.count - 1)
    if point is None:
        _crash(engine, execution, Stopped(f"an import of {needed} needs the full runtime", None))
        return
    begun = time.monotonic()
    snapshots = engine.snapshots_for("tier")
    snapshots.restore(point.state.kernel)
    snapshots.move_up()
    execution.stand_still(time.monotonic() - begun)
    engine.host_calls.drop_answers()
    pending = {call.id: call for call in point.state.pending}
    if not execution.was_seen:
        execution.begin_again(engine.executor.tier, pending)
        return
    execution.forget_calls(pending)
    execution.stop.failure = SessionError(
        f"this execution reached an import of {needed}, for which the session had to go back to the "
        "state before it and move to the full runtime; it had called the host already, so it was not "
        "run again by itself. Run it again if that is safe."
    )
    execution.fail("SessionError", str(execution.stop.failure))


def _look_at_clock(engine: SessionEngine, execution: ExecutionState) -> None:
    """Between entries: stop code whose time is over, abandon code that does not respond to that."""
    stop = execution.stop
    if stop.reason is None:
        if execution.asked:
            execution.interrupt("interrupt")
        elif execution.deadline is not None and time.monotonic() >= execution.deadline:
            execution.interrupt("timeout")
    elif stop.patience is not None and time.monotonic() >= stop.patience and not execution.can_step:
        _crash(engine, execution, Stopped("it went on waiting after it was interrupted", stop.reason))


def _pauses(engine: SessionEngine, execution: ExecutionState, sleep: bool) -> bool:
    """Whether only another caller could get an execution that waits further."""
    if execution.stop.reason is not None or engine.host_calls.any_expected(execution):
        return False
    waits_for_calls = bool(execution.pending) and execution.wake_at is None
    return not sleep or bool(execution.suspended) or waits_for_calls


def _crash(engine: SessionEngine, execution: ExecutionState, stopped: Stopped) -> None:
    """The kernel is gone: recover the session and end the execution."""
    stop = execution.stop
    if stop.reason is None:
        stop.reason = stopped.reason
        if stopped.reason == "interrupt" and not execution.asked:
            stop.interruption = KeyboardInterrupt()
    stop.crash = stopped
    execution.forget_calls(engine.recover_into(stop, engine.count - 1))
    execution.fail("Stopped", stopped.message, stopped.exit_code)


def abandon(engine: SessionEngine, execution: ExecutionState, error: BaseException) -> None:
    """Driving it failed in an unforeseen way: the session goes back and stays usable."""
    try:
        if execution.outcome is None:
            _crash(engine, execution, Stopped(f"{type(error).__name__}: {error}", None))
    except PlanariaError:
        engine.phase = Phase.BROKEN  # the next caller tries again
    _end(engine, execution)
    engine.host_calls.functions.span.end(type(error).__name__)


def _measure(engine: SessionEngine, result: Result) -> None:
    """End the execution's span."""
    span, error = engine.host_calls.functions.span, result.error
    span.add(callbacks=result.callback_invocations, memory=result.peak_memory_bytes)
    span.end("ok" if error is None else error.type)
    engine.host_calls.functions.span = telemetry.NOTHING


def _end(engine: SessionEngine, execution: ExecutionState) -> None:
    engine.execution = None
    if execution.has_answers:
        engine.host_calls.keep(execution.take_back_answers())
    engine.pending, engine.suspended = execution.pending, execution.suspended
    execution.inside = False
    if engine.workspace is not None:
        engine.workspace.end_execution()


def outcome_of(engine: SessionEngine, execution: ExecutionState) -> Result:
    """The result of an execution that is over, or what there is of one that waits.

    Raises the error of a listener, KeyboardInterrupt and cancellations.
    """
    if execution.outcome is None:
        execution.pause()
        engine.history.has_changed = True
        result = execution.result_so_far(_take_requests(engine), engine.executor.memory_bytes)
        result.suspended = [
            call for call in execution.pending.values() if not engine.host_calls.is_held(call)
        ]
        return result
    return _finish(engine, execution, execution.outcome)


def _take_requests(engine: SessionEngine) -> list[NetworkRequest]:
    link = engine.network or engine.workspace
    return [] if link is None else link.take_records()


def _ended_well(execution: ExecutionState, result: Result, outcome: Done) -> Done | Failed:
    """Put what the code has come to into its result; its outcome, if that is another one after all."""
    if outcome.value is not None:
        try:
            result.value = execution.decoded(outcome.value)
        except ProtocolError as damage:
            return Failed("ProtocolError", f"the value is damaged: {damage}")
    result.repr, result.status = outcome.repr, outcome.exit_code
    if execution.stop.reason in _LIMITS:
        return Failed("KeyboardInterrupt", "")  # the code has handled it, but not what it asked for
    return outcome


def _finish(engine: SessionEngine, execution: ExecutionState, outcome: Done | Failed) -> Result:
    _end(engine, execution)
    stop = execution.stop
    if execution.output is not None:
        try:
            execution.output.finish()
        except BaseException as failure:  # a listener's
            stop.listener_error = stop.listener_error or failure
    if execution.tool_calls:
        end_tool_calls(execution, "cancelled" if stop.reason is None else "interrupted")
    result = execution.result_so_far(_take_requests(engine), engine.executor.memory_bytes)
    engine.out_of_time = engine.out_of_time + 1 if stop.reason in ("timeout", "cpu") else 0
    error = None
    if type(outcome) is Done:
        outcome = _ended_well(execution, result, outcome)
    if type(outcome) is Failed:
        stop.in_a_row = max(1, engine.out_of_time)
        stop.closes = engine.is_closing
        outcome = with_hint(outcome, execution.source, [one.name for one in engine.settings.registry])
        result.error = error_of(execution, result, outcome)
        error = f"{result.error}"
    past = Past(execution.count, execution.source, result.duration_ms, error)
    engine.history.recent.append(past)
    if engine.recorder is not None:
        engine.recorder.mark(Ended(past.count, past.code, past.duration_ms, error))
    execution.result = result
    if engine.host_calls.functions.span is not telemetry.NOTHING:
        _measure(engine, result)
    if stop.reason is not None or stop.crash is not None or log.isEnabledFor(logging.DEBUG):
        log_end(id(engine), result, execution.stop)
    if stop.interruption is not None:
        # The cause says what was printed and where the code was stopped; there is none when the code has
        # handled the interrupt.
        stop.interruption.result = result  # type: ignore[attr-defined]
        raise stop.interruption from (stop.listener_error or result.error)
    if stop.listener_error is not None:
        raise stop.listener_error
    return result
