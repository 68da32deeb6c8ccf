# Generated from ../_async/execution.py by tools/generate_sync.py; change that one.
"""An execution as an object: for code that waits for the world."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from planaria.errors import SessionError
from planaria.executors.messages import HostCall, Ok, Raised
from planaria.session.callbacks import raised
from planaria.session.execution_state import ExecutionState, ExecutionStatus
from planaria.session.result import Result

if TYPE_CHECKING:
    from planaria.session._sync.session import Session

__all__ = ["Execution"]


class Execution:
    """An execution of an `Session`; see `Session.start`."""

    def __init__(self, session: Session, state: ExecutionState) -> None:
        self.session = session
        self._state = state

    @property
    def code(self) -> str:
        return self._state.source

    @property
    def status(self) -> ExecutionStatus:
        """ "running" while it is being driven, "waiting", "done", or "failed" when it raised."""
        return self._state.status

    @property
    def pending(self) -> list[HostCall]:
        """The host calls that wait for an answer, in the order in which they were made."""
        return list(self._state.pending.values())

    @property
    def reasons(self) -> dict[int, str]:
        """Why calls were suspended, by their ids: what `Suspend` was raised with."""
        return dict(self._state.suspended)

    @property
    def next_timer(self) -> float | None:
        """Seconds until the code goes on by itself; None when only an answer helps."""
        wake_at = self._state.wake_at
        return None if wake_at is None else max(0.0, wake_at - time.monotonic())

    def __repr__(self) -> str:
        waits_for = f" for {self.pending}" if self.pending else ""
        return f"<{type(self).__name__} {self.status}{waits_for}>"

    def resolve(self, identifier: int, value: object = None) -> None:
        """Answer a pending call with a value, and go on as far as that leads.

        Raises KeyError when no such call is pending (it was answered already, or no task awaits it any more).
        """
        self._answer(identifier, Ok(value))

    def reject(self, identifier: int, error: BaseException | str) -> None:
        """Answer a pending call with an exception (a str is the message of a RuntimeError), and go on.

        Raises KeyError as `resolve` does.
        """
        answer = raised(error) if isinstance(error, BaseException) else Raised("RuntimeError", error)
        self._answer(identifier, answer)

    def _answer(self, identifier: int, answer: Ok | Raised) -> None:
        state = self._state
        self.session._resume(
            state,
            lambda engine: engine.host_calls.answer_from_outside(state, identifier, answer),
            sleep=False,
        )

    def step(self) -> ExecutionStatus:
        """Go on as far as possible without waiting: timers that are due fire."""
        self.session._resume(self._state, lambda _: None, sleep=False)
        return self.status

    def cancel(self) -> Result:
        """Raise KeyboardInterrupt where the code waits, and return what comes of it."""
        return self.session._resume(self._state, lambda _: self._state.interrupt("interrupt"), sleep=True)

    def result(self) -> Result:
        """Go on, sleeping for timers, until the execution is over.

        Raises SessionError when it waits for calls that only `resolve` or `reject` can answer.
        """
        if self._state.result is None:
            self.session._resume(self._state, lambda _: None, sleep=True)
        if self._state.result is None:
            calls = ", ".join(f"{call.name}() (id {call.id})" for call in self.pending) or "a timer"
            raise SessionError(f"this execution still waits for {calls}: resolve, reject or cancel it first")
        return self._state.result
