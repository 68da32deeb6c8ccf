"""Executions that know nothing of each other: each starts from the image afresh."""

from __future__ import annotations

from typing import Any, NoReturn

from planaria.errors import SessionError
from planaria.limits import NOT_GIVEN, NotGiven
from planaria.session.async_session import AsyncSession
from planaria.session.callbacks import CallbackRegistry
from planaria.session.result import Result
from planaria.session.session import Session

__all__ = ["AsyncSandbox", "Sandbox"]


class _BaseSandbox:
    """Holds what its sessions are made with; there is nothing to close."""

    def __init__(self, **arguments: Any) -> None:
        """Takes what `Session` takes.

        A storage given as `vfs=` and `mounts` are shared by all executions; everything else, the session's
        own files included, begins afresh with each.
        """
        # An iterator could only be read once.
        self._arguments = {**arguments, "callbacks": CallbackRegistry.of(arguments.get("callbacks", ()))}
        self._count = 0

    @property
    def execution_count(self) -> int:
        """How many executions there have been."""
        return self._count

    def _counted(self, result: Result) -> Result:
        self._count += 1
        result.execution_count = self._count
        if result.suspended:
            _refuse_to_wait()
        return result


class Sandbox(_BaseSandbox):
    """Python in a sandbox that forgets: `execute` and `run` are those of `Session`, each in a fresh one.

    May be used from several threads at once; the executions run in parallel.
    """

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        Session(**self._arguments).close()  # what is wrong with the arguments is said now

    def run(self, code: str, timeout: float | NotGiven | None = NOT_GIVEN) -> Result:
        """Execute `code`; what it raises is in the result's `error`. See `Session.run`."""
        with Session(**self._arguments) as session:
            return self._counted(session.run(code, timeout))

    def execute(self, code: str, *, timeout: float | NotGiven | None = NOT_GIVEN) -> Result:
        """Execute `code` as `run` does, and raise its error."""
        result = self.run(code, timeout)
        if result.error is not None:
            raise result.error
        return result


class AsyncSandbox(_BaseSandbox):
    """`Sandbox` with `await`; several executions may be awaited together."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        AsyncSession(**self._arguments)._close()

    async def run(self, code: str, timeout: float | NotGiven | None = NOT_GIVEN) -> Result:
        """Execute `code`; what it raises is in the result's `error`. See `Session.run`."""
        async with AsyncSession(**self._arguments) as session:
            return self._counted(await session.run(code, timeout))

    async def execute(self, code: str, *, timeout: float | NotGiven | None = NOT_GIVEN) -> Result:
        """Execute `code` as `run` does, and raise its error."""
        result = await self.run(code, timeout)
        if result.error is not None:
            raise result.error
        return result


def _refuse_to_wait() -> NoReturn:
    raise SessionError(
        "a callback raised Suspend, but a sandbox keeps no execution that waits; use a Session"
    )
