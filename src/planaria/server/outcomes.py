"""Results, and calls that wait, as the native API has them."""

from __future__ import annotations

import base64
import json
from typing import Any

from planaria.errors import EncodeError
from planaria.server.models import Execution, PendingCall
from planaria.server.sessions import ServedSession
from planaria.session.report import as_json
from planaria.session.result import Result
from planaria_kernel.protocol import encode

__all__ = ["encoded", "execution_of", "pending_calls"]


def execution_of(named: ServedSession, result: Result, *, exact: bool = False) -> Execution:
    """A result as a response; with `exact` also in planaria's encoding."""
    report = as_json(result, result.exit_code)
    return Execution(
        session=named.id,
        status="waiting" if result.suspended else "done",
        value_base64=encoded(result.value) if exact else None,
        calls=pending_calls(named) if result.suspended else [],
        **{name: value for name, value in report.items() if name in Execution.model_fields},
    )


def pending_calls(named: ServedSession) -> list[PendingCall]:
    """The calls that wait for an answer: those that block first."""
    calls = [
        PendingCall(
            id=number,
            name=call.name,
            args=[_plain(one) for one in call.arguments],
            kwargs={name: _plain(one) for name, one in call.keywords.items()},
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
            args=[_plain(one) for one in call.args],
            kwargs={name: _plain(one) for name, one in (call.kwargs or {}).items()},
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


def _plain(value: object) -> Any:
    """A value as JSON has it, or its repr."""
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        return repr(value)
