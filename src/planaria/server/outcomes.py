"""Results, and calls that wait, as the native API has them."""

from __future__ import annotations

import base64
import json
import time
from typing import Any

from planaria.errors import EncodeError
from planaria.executors.host_endpoint import report_frame
from planaria.server.models import Execution, PendingCall, Stopped, WaitingExecution
from planaria.server.served_session import Outcome, ServedSession
from planaria.session.execution_state import ExecutionState
from planaria.session.report import as_json
from planaria_kernel.protocol import encode

__all__ = ["encoded", "execution_of", "pending_calls", "plain", "waiting_execution"]


def execution_of(named: ServedSession, outcome: Outcome, *, exact: bool = False) -> Execution:
    """What an execution has come to, as a response; with `exact` also in planaria's encoding."""
    execution, result = outcome.execution, outcome.result
    report: dict[str, Any] = {**as_json(result, result.exit_code)}
    if (written := _without_surrogates(report)) is not report:
        report = {**written, "value": None}  # which UTF-8 cannot say exactly
    waits, over = execution.outcome is None, execution.outcome
    return Execution(
        session=named.id,
        status="waiting" if waits else "done",
        value_base64=encoded(result.value) if exact else None,
        report_base64=None if over is None or not exact else encoded(report_frame(over)),
        calls=pending_calls(named) if waits else [],
        pending=list(execution.pending),
        next_timer=_next_timer(execution),
        stopped=_stopped(execution),
        **{name: value for name, value in report.items() if name in Execution.model_fields},
    )


def _next_timer(execution: ExecutionState) -> float | None:
    return None if execution.wake_at is None else max(0.0, execution.wake_at - time.monotonic())


def _stopped(execution: ExecutionState) -> Stopped | None:
    stop = execution.stop
    if execution.outcome is None or (stop.reason, stop.crash, stop.failure) == (None, None, None):
        return None
    crash = stop.crash
    return Stopped(
        reason=stop.reason,
        crash=None if crash is None else crash.message,
        exit_code=None if crash is None else crash.exit_code,
        state=stop.state.value,
        message=None if stop.failure is None else str(stop.failure),
    )


def waiting_execution(named: ServedSession) -> WaitingExecution | None:
    """The execution that waits in a session, if one does."""
    execution = named.session._engine.execution
    if execution is None:
        return None
    output = execution.output
    return WaitingExecution(
        code=execution.source,
        count=execution.count,
        next_timer=_next_timer(execution),
        stdout="" if output is None else output.stdout.decode("utf-8", "replace"),
        stderr="" if output is None else output.stderr.decode("utf-8", "replace"),
    )


def pending_calls(named: ServedSession) -> list[PendingCall]:
    """The calls that wait for an answer: those that block first."""
    calls = [
        PendingCall(
            id=number,
            name=call.name,
            args=[plain(one) for one in call.arguments],
            kwargs={name: plain(one) for name, one in call.keywords.items()},
            blocking=True,
            arguments_base64=encoded((call.arguments, call.keywords)),
        )
        for number, call in list(named.blocked.items())
    ]
    run = None if named.lock.locked() and calls else named.session.run_in_progress
    if run is None:
        return calls
    reasons = run.reasons
    return calls + [
        PendingCall(
            id=str(call.id),
            name=call.name,
            args=[plain(one) for one in call.args],
            kwargs={name: plain(one) for name, one in (call.kwargs or {}).items()},
            reason=reasons.get(call.id, ""),
            arguments_base64=encoded((call.args, call.kwargs or {})),
        )
        for call in run.pending
    ]


def encoded(value: object) -> str | None:
    """A value in planaria's encoding, as base64; None for one that has none."""
    try:
        return base64.b64encode(encode(value)).decode()
    except EncodeError:
        return None


def plain(value: object) -> Any:
    """A value as JSON has it, or its repr."""
    try:
        found = json.loads(json.dumps(value, allow_nan=False))
        return found if _without_surrogates(found) is found else ascii(value)
    except (TypeError, ValueError, RecursionError):
        return ascii(value)


def _without_surrogates(value: Any) -> Any:
    """A value of JSON, or one like it with "?" for the lone surrogates that UTF-8 cannot say."""
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.loads(text.encode("utf-8", "replace"))
    return value
