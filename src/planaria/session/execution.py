"""An execution as an object: for code that waits for the world."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Literal

from planaria.errors import SessionError
from planaria.session.callbacks import describe_exception
from planaria.session.result import Result
from planaria.session.run import HostCall

if TYPE_CHECKING:
    from planaria.session.async_session import AsyncSession
    from planaria.session.flight import Flight
    from planaria.session.session import Session

__all__ = ["AsyncExecution", "Execution", "ExecutionStatus"]

ExecutionStatus = Literal["running", "waiting", "done", "failed"]


class _BaseExecution:
    """What can be seen of an execution without going on with it."""

    _flight: Flight

    @property
    def code(self) -> str:
        return self._flight.run.source

    @property
    def status(self) -> ExecutionStatus:
        """ "running" while somebody is inside, "waiting", "done", or "failed" when it raised."""
        status = self._flight.run.status
        return "running" if status == "ready" or self._flight.inside else status

    @property
    def pending(self) -> list[HostCall]:
        """The host calls that wait for an answer, in the order in which they were made."""
        return list(self._flight.run.pending.values())

    @property
    def reasons(self) -> dict[int, str]:
        """Why calls were suspended, by their ids: what `Suspend` was raised with."""
        return dict(self._flight.suspended)

    @property
    def next_timer(self) -> float | None:
        """Seconds until the code goes on by itself; None when only an answer helps."""
        wake_at = self._flight.run.wake_at
        return None if wake_at is None else max(0.0, wake_at - time.monotonic())

    def __repr__(self) -> str:
        waits_for = f" for {self.pending}" if self.pending else ""
        return f"<{type(self).__name__} {self.status}{waits_for}>"

    def _over(self) -> Result:
        """The result of an execution that is over."""
        if self._flight.result is None:
            calls = ", ".join(f"{call.name}() (id {call.id})" for call in self.pending) or "a timer"
            raise SessionError(f"this execution still waits for {calls}: resolve, reject or cancel it first")
        return self._flight.result


class Execution(_BaseExecution):
    """An execution of a `Session`; see `Session.start`."""

    def __init__(self, session: Session, flight: Flight) -> None:
        self.session = session
        self._flight = flight

    def resolve(self, identifier: int, value: Any = None) -> None:
        """Answer a pending call with a value, and go on as far as that leads.

        Raises KeyError when no such call is pending (it was answered already, or nobody awaits it any more).
        """
        self.session._answer(self._flight, identifier, ("ok", value))

    def reject(self, identifier: int, error: BaseException | str) -> None:
        """Answer a pending call with an exception (a str is the message of a RuntimeError), and go on."""
        self.session._answer(self._flight, identifier, rejection(error))

    def step(self) -> ExecutionStatus:
        """Go on as far as possible without waiting: timers that are due fire."""
        self.session._go_on(self._flight, sleep=False)
        return self.status

    def cancel(self) -> Result:
        """Raise KeyboardInterrupt where the code waits, and return what comes of it."""
        return self.session._cancel(self._flight)

    def result(self) -> Result:
        """Go on, sleeping for timers, until the execution is over.

        Raises SessionError when it waits for calls that only `resolve` or `reject` can answer.
        """
        if self._flight.result is None:
            self.session._go_on(self._flight, sleep=True)
        return self._over()


class AsyncExecution(_BaseExecution):
    """An execution of an `AsyncSession`; the methods are those of `Execution`."""

    def __init__(self, session: AsyncSession, flight: Flight) -> None:
        self.session = session
        self._flight = flight

    async def resolve(self, identifier: int, value: Any = None) -> None:
        """Answer a pending call with a value, and go on as far as that leads."""
        await self.session._answer(self._flight, identifier, ("ok", value))

    async def reject(self, identifier: int, error: BaseException | str) -> None:
        """Answer a pending call with an exception (a str is the message of a RuntimeError), and go on."""
        await self.session._answer(self._flight, identifier, rejection(error))

    async def step(self) -> ExecutionStatus:
        """Go on as far as possible without waiting: timers that are due fire."""
        await self.session._go_on(self._flight, sleep=False)
        return self.status

    async def cancel(self) -> Result:
        """Raise KeyboardInterrupt where the code waits, and return what comes of it."""
        return await self.session._cancel(self._flight)

    async def result(self) -> Result:
        """Go on, sleeping for timers, until the execution is over."""
        if self._flight.result is None:
            await self.session._go_on(self._flight, sleep=True)
        return self._over()


def rejection(error: BaseException | str) -> tuple[str, str, str]:
    """An answer that is an exception."""
    if isinstance(error, BaseException):
        return ("error", *describe_exception(error))
    return ("error", "RuntimeError", error)
