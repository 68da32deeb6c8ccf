"""The errors that executions end with."""

from __future__ import annotations

import re
from typing import Final, TypeVar

from planaria.errors import (
    CrashError,
    ExecutionError,
    Exited,
    Interrupted,
    LimitError,
    PlanariaError,
    ProtocolError,
    SessionError,
    TimeoutError,
)
from planaria.executors.executor import Entered
from planaria.executors.messages import Answered, Done, Failed, Refused
from planaria.session.execution_state import ExecutionState, Stop, StopState
from planaria.session.result import Result

__all__ = ["answer_of", "effect_of", "error_of", "with_traceback"]

#: Added when the execution before ran out of time, too, and this one did elsewhere than in its own code: the
#: state may be one in which every execution does.
_NEVER_ENDS: Final = (
    "the execution before it ran out of time, too. Long work in compiled code (numpy's, say) can only be "
    "stopped hard: do less at a time, or give it more time. If even short code runs out of time, a thread or "
    "a __del__ method of the code never ends: go back with undo() or rewind(), or start again with reset()"
)
#: The name of code that a traceback leads to.
_FILE: Final = re.compile(r'^  File "(.+)", line \d+', re.MULTILINE)

_Stopped = TypeVar("_Stopped", TimeoutError, LimitError, Interrupted, CrashError)


def error_of(execution: ExecutionState, result: Result, outcome: Failed) -> PlanariaError:
    """The error of an execution that ended with `outcome`."""
    stop = execution.stop
    if isinstance(stop.failure, SessionError):
        return stop.failure
    if stop.crash is not None or outcome.type == "KeyboardInterrupt":
        error = _stopped_error(execution, outcome)
        if error is not None:
            error.stdout, error.stderr = result.stdout, result.stderr
            return error
    kind = ExecutionError if outcome.exit_code is None else Exited
    raised = kind(
        outcome.message,
        type=outcome.type,
        traceback=outcome.traceback,
        lineno=outcome.lineno,
        details=outcome.details,
        stdout=result.stdout,
        stderr=result.stderr,
    )
    raised.exit_code = outcome.exit_code
    return raised


def with_traceback(error: PlanariaError) -> PlanariaError:
    """The error with the traceback of the code as a note, which shows where the code failed."""
    if error.traceback and not getattr(error, "__notes__", None):
        error.add_note(error.traceback.rstrip("\n"))
    return error


def _stopped_error(
    execution: ExecutionState, outcome: Failed
) -> TimeoutError | LimitError | Interrupted | CrashError | Exited | None:
    """The error of an execution that was stopped or whose kernel is gone; None when the code raised."""
    stop = execution.stop
    if execution.cell is not None and _stopped_in(outcome) == execution.cell:
        stop.in_a_row = 1  # its own code did not end
    left = effect_of(stop)
    if isinstance(stop.failure, LimitError):
        error = LimitError(f"{stop.failure.message}; {left}", limit=stop.failure.limit)
        return _placed(error, execution, outcome)
    match stop.reason:
        case "timeout":
            line = "" if outcome.lineno is None else f" at line {outcome.lineno}"
            message = f"the execution timed out after {execution.timeout:g} s{line}; {left}"
            return _placed(TimeoutError(message), execution, outcome)
        case "cpu":
            message = f"the limit cpu_time of {execution.limits.cpu_time:g} s is used up; {left}"
            return _placed(LimitError(message, limit="cpu_time"), execution, outcome)
        case "fuel":
            message = f"the limit fuel={execution.limits.fuel} of WebAssembly instructions is used up; {left}"
            return _placed(LimitError(message, limit="fuel"), execution, outcome)
        case "interrupt":
            return _placed(Interrupted(f"interrupted; {left}"), execution, outcome)
    if stop.crash is None:
        return None
    if outcome.exit_code is not None:
        exited = Exited(f"{stop.crash.message}; {_place_of(stop)}", type="SystemExit")
        exited.exit_code = outcome.exit_code
        return exited
    crash = CrashError(f"the kernel crashed ({stop.crash.message}); {_place_of(stop)}")
    return _placed(crash, execution, outcome)


def _stopped_in(outcome: Failed) -> str | None:
    """The name of the code in which an execution was stopped, as its traceback has it."""
    found = _FILE.findall(outcome.traceback)
    return found[-1] if found else None


def effect_of(stop: Stop) -> str:
    """In words, what a stop left of the session."""
    if stop.crash is not None and stop.crash.goes_on:
        return (
            "the code ignored the interrupt and this executor cannot kill it: it keeps running in the "
            "background until it ends by itself, its output is dropped, and the session restarted"
        )
    if stop.closes:
        return "the session is closed"
    if stop.state is StopState.KEPT:
        left = "it was stopped at a line and the session has the state reached there"
    else:
        left = f"it had to be stopped hard and {_place_of(stop)}"
    return left if stop.in_a_row == 1 else f"{left}; {_NEVER_ENDS}"


def _place_of(stop: Stop) -> str:
    """In words, where a session is whose kernel did not return."""
    if stop.state is StopState.LOST:
        return "the session restarted"
    if stop.rewound_to is None:
        return "the session went back to the state before this execution"
    return f"the session was rewound to {stop.rewound_to}, its newest checkpoint"


def _placed(error: _Stopped, execution: ExecutionState, outcome: Failed) -> _Stopped:
    """With what the stop left, and the traceback and line at which the code was stopped."""
    error.state, error.rewound_to = execution.stop.state.value, execution.stop.rewound_to
    error.traceback, error.lineno = outcome.traceback, outcome.lineno
    stopped_by = "KeyboardInterrupt\n"
    if not isinstance(error, Interrupted) and error.traceback.endswith(f"\n{stopped_by}"):
        # That is how the code is stopped; the traceback is to say why.
        said = f"planaria.{error.type}: {error.message}\n"
        error.traceback = error.traceback.removesuffix(stopped_by) + said
    return error


def answer_of(name: str, entered: Entered) -> object:
    """What the kernel answered to the command `name`. Raises SessionError when it reported an error."""
    match entered.report:
        case Done():
            return None
        case Answered(value):
            return value
        case Failed(kind, message):
            raise SessionError(f"{name}: {kind}: {message}")
        case Refused():
            raise LimitError(
                "this does not fit into the memory that the sandbox has left: send a part of it, or write it "
                "to a file of the session",
                limit="memory",
            )
    raise ProtocolError(f"the kernel answered {name!r} with {type(entered.report).__name__}")
