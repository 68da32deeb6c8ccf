"""The errors that executions end with."""

from __future__ import annotations

from typing import Any, TypeVar

from planaria.errors import (
    CrashError,
    ExecutionError,
    Exited,
    Interrupted,
    LimitError,
    PlanariaError,
    SessionError,
    TimeoutError,
)
from planaria.session.flight import Flight
from planaria.session.result import Result

__all__ = ["error_of", "what_is_left"]

_Placed = TypeVar("_Placed", TimeoutError, LimitError, Interrupted)


def error_of(flight: Flight, result: Result, details: dict[str, Any]) -> PlanariaError:
    """The error of an execution that ended with an error report, whose `details` these are."""
    printed: dict[str, Any] = {"stdout": result.stdout, "stderr": result.stderr}
    if isinstance(flight.failure, SessionError):
        return flight.failure
    if flight.crash is not None or details.get("type") == "KeyboardInterrupt":
        left = what_is_left(flight.state, flight.goes_on)
        state = flight.state.partition(" ")[0]
        if isinstance(flight.failure, LimitError):
            limit = flight.failure
            return _placed(
                LimitError(f"{limit.message}; {left}", limit=limit.limit, state=state, **printed), details
            )
        if flight.reason == "timeout":
            return _placed(
                TimeoutError(f"no end after {flight.timeout:g} s; {left}", state=state, **printed),
                details,
            )
        if flight.reason == "cpu":
            message = f"the limit cpu_time of {flight.limits.cpu_time:g} s is used up; {left}"
            return _placed(LimitError(message, limit="cpu_time", state=state, **printed), details)
        if flight.reason == "interrupt":
            return _placed(Interrupted(f"interrupted; {left}", state=state, **printed), details)
        if flight.crash is not None and details.get("exit_code") is not None:
            exited = Exited(f"{flight.crash}; {_where_it_is(flight.state)}", type="SystemExit", **printed)
            exited.exit_code = details["exit_code"]
            return exited
        if flight.crash is not None:
            message = f"the kernel crashed ({flight.crash}); {_where_it_is(flight.state)}"
            return CrashError(message, state=state, **printed)
    kind = Exited if details.get("exit_code") is not None else ExecutionError
    error = kind(
        details.get("message", ""),
        type=details.get("type", "Exception"),
        traceback=details.get("traceback", ""),
        lineno=details.get("lineno"),
        details=details,
        **printed,
    )
    error.exit_code = details.get("exit_code")
    return error


def what_is_left(state: str, goes_on: bool = False) -> str:
    """In words, what a stop left of the session."""
    if goes_on:
        return (
            "the code heeds no interrupt and this executor cannot stop it: it goes on in the background "
            "until it ends by itself, its output is dropped, and the session began afresh"
        )
    if state == "kept":
        return "it was stopped at a line and the session has the state reached there"
    return f"it had to be stopped hard and {_where_it_is(state)}"


def _where_it_is(state: str) -> str:
    """In words, where a session is whose kernel did not come back."""
    if state == "rewound":
        return "the session went back to the state before this execution"
    if state == "lost":
        return "the session began afresh"
    return f"the session was {state}, its newest checkpoint"


def _placed(error: _Placed, details: dict[str, Any]) -> _Placed:
    """With the traceback and line at which the code was stopped."""
    error.traceback = details.get("traceback", "")
    error.lineno = details.get("lineno")
    return error
