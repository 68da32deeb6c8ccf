"""`asyncio.run` and `run_until_complete` at the top level of a cell, made to park.

Calls of them are rewritten into awaits of `Runs.run_equivalent` (see `cell.py`). The cell is then a
coroutine that is not a task: it yields a `Park`, and the kernel runs that loop, returning to the host when it
has to wait.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Generator
from typing import Any, Final

from planaria_kernel.event_loop.leaving import outside_loop
from planaria_kernel.event_loop.loop import ParkingLoop

__all__ = ["DRIVE_CODE", "OWN_CODE", "Execution", "Park", "Runs"]


class Park:
    """What a cell that is not a task awaits: `loop` has to run until `future` is done.

    With `sends_calls` the host is first sent the calls that are open.
    """

    __slots__ = ("future", "loop", "sends_calls")

    def __init__(self, loop: ParkingLoop, future: asyncio.Future[Any], sends_calls: bool = False) -> None:
        self.loop = loop
        self.future = future
        self.sends_calls = sends_calls

    def __await__(self) -> Generator[Park, None, None]:
        yield self


class Execution:
    """A cell that is under way and has parked, or may."""

    __slots__ = ("cancelled", "coroutine", "future", "loop", "silent")

    def __init__(self, coroutine: Coroutine[Any, Any, Any] | None, silent: bool) -> None:
        #: The cell itself, when it is driven by hand because only `asyncio.run` made it a coroutine.
        self.coroutine = coroutine
        self.silent = silent
        self.loop: ParkingLoop
        self.future: asyncio.Future[Any]
        #: The exception that takes the place of CancelledError.
        self.cancelled: BaseException | None = None


class Runs:
    """Does what those functions do; `loop` is the kernel's own, the current one of the interpreter."""

    def __init__(self, loop: ParkingLoop, new_loop: Callable[[], ParkingLoop]) -> None:
        self._loop = loop
        self._new_loop = new_loop

    async def run_equivalent(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Do what `function(*args, **kwargs)` does, parking when it is one of asyncio's two."""
        if function is asyncio.run:
            if len(args) == 1 and inspect.iscoroutine(args[0]) and kwargs.keys() <= {"debug"}:
                return await self._asyncio_run(args[0], kwargs.get("debug"))
        elif len(args) == 1 and not kwargs:
            loop = getattr(function, "__self__", None)
            if isinstance(loop, ParkingLoop) and function == loop.run_until_complete:
                if asyncio._get_running_loop() is None:
                    return await self._run_until_complete(loop, args[0])
                if loop is self._loop:
                    return await args[0]
        return function(*args, **kwargs)

    def drive(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Take a coroutine to its end on a loop of its own, blocking, also where a loop runs already."""
        try:
            with outside_loop(), asyncio.Runner(loop_factory=self._new_loop) as runner:
                return runner.run(coroutine)
        finally:
            self._loop.raise_interrupt()  # one that came too late for the loop

    async def _run_until_complete(self, loop: ParkingLoop, awaitable: Any) -> Any:
        loop._check_closed()  # type: ignore[attr-defined]
        future = asyncio.ensure_future(awaitable, loop=loop)
        await Park(loop, future)
        return future.result()

    async def _asyncio_run(self, main: Coroutine[Any, Any, Any], debug: bool | None) -> Any:
        running = asyncio._get_running_loop()
        if running is not None:
            return await self._run_as_task(running, main)
        loop = self._new_loop()
        if debug is not None:
            loop.set_debug(debug)
        asyncio.set_event_loop(loop)
        try:
            task = loop.create_task(main)
            await Park(loop, task)
            return task.result()
        finally:
            if loop.has_new_calls():
                # The host makes the calls before their tasks are cancelled.
                await Park(loop, _done(loop), sends_calls=True)
            left = asyncio.all_tasks(loop)
            for other in left:
                other.cancel()
            if left:
                await Park(loop, asyncio.gather(*left, return_exceptions=True))
            await Park(loop, loop.create_task(_shut_down(loop)))
            asyncio.set_event_loop(self._loop)
            loop.close()

    async def _run_as_task(self, running: asyncio.AbstractEventLoop, main: Coroutine[Any, Any, Any]) -> Any:
        """The cell awaits something else too, so it is a task already; `main` becomes another one."""
        before = asyncio.all_tasks(running)
        try:
            return await running.create_task(main)
        finally:
            left = asyncio.all_tasks(running) - before
            for other in left:
                other.cancel()
            await asyncio.gather(*left, return_exceptions=True)


def _done(loop: ParkingLoop) -> asyncio.Future[Any]:
    """A future of which there is nothing to wait for."""
    future = loop.create_future()
    future.set_result(None)
    return future


async def _shut_down(loop: ParkingLoop) -> None:
    """Close what a loop has open, as `asyncio.Runner.close` does."""
    await loop.shutdown_asyncgens()
    await loop.shutdown_default_executor()
    # A generator that was collected as garbage is closed by a task, which begins one iteration later.
    await asyncio.sleep(0)
    await asyncio.gather(*asyncio.all_tasks(loop) - {asyncio.current_task(loop)}, return_exceptions=True)


#: The code that sets up and tears down loops: an interrupt there would leave them half open.
OWN_CODE: Final = Runs._asyncio_run.__code__
DRIVE_CODE: Final = Runs.drive.__code__
