"""The event loops of callers, asyncio's and Trio's, behind one interface that any thread may use."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, InvalidStateError
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import trio

__all__ = ["EventLoop", "asyncio_loop", "is_running_here", "running_loop", "until_done"]

T = TypeVar("T")


class EventLoop(ABC):
    """A running event loop. Its methods may be called from any thread."""

    @abstractmethod
    def call_soon(self, function: Callable[[], object]) -> bool:
        """Have the loop call a function. False when the loop has ended: then nothing happens."""

    @abstractmethod
    def spawn(self, coroutine: Coroutine[object, object, T]) -> Future[T]:
        """Run a coroutine as a task of the loop, in a copy of the present context.

        Cancelling the future cancels the task, which runs to its first wait even so; a task that is cancelled
        with its loop cancels the future, and so does a loop that has ended.
        """


class _Spawned(Future[T]):
    """The future of a task."""

    def __init__(self, loop: EventLoop) -> None:
        super().__init__()
        self._loop = loop
        #: Cancels the task, once that has begun.
        self.cancel_task: Callable[[], object] | None = None

    def cancel(self) -> bool:
        cancelled = super().cancel()
        if cancelled:
            self._loop.call_soon(self._cancel_task)
        return cancelled

    def _cancel_task(self) -> None:
        if self.cancel_task is not None:
            self.cancel_task()

    def finish(self, result: T) -> None:
        """The task has returned; the future may have been cancelled just now."""
        with contextlib.suppress(InvalidStateError):
            self.set_result(result)

    def fail(self, error: BaseException) -> None:
        """The task has raised."""
        with contextlib.suppress(InvalidStateError):
            self.set_exception(error)


class _AsyncioLoop(EventLoop):
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _AsyncioLoop) and self._loop is other._loop

    def __hash__(self) -> int:
        return hash(self._loop)

    def call_soon(self, function: Callable[[], object]) -> bool:
        try:
            here = asyncio.get_running_loop() is self._loop
        except RuntimeError:
            here = False
        if here:
            function()
            return True
        try:
            self._loop.call_soon_threadsafe(function)
        except RuntimeError:  # it is closed
            if not self._loop.is_closed():
                raise
            return False
        return True

    def spawn(self, coroutine: Coroutine[object, object, T]) -> Future[T]:
        future: _Spawned[T] = _Spawned(self)
        context = _context_for_asyncio()

        def start() -> None:
            task = self._loop.create_task(coroutine, context=context)
            # Not at once: a task that is cancelled before its first step never begins.
            future.cancel_task = lambda: self._loop.call_soon(task.cancel)
            task.add_done_callback(finish)

        def finish(task: asyncio.Task[T]) -> None:
            future.cancel_task = None
            if task.cancelled():
                future.cancel()
            elif (error := task.exception()) is not None:
                future.fail(error)
            else:
                future.finish(task.result())

        if not self.call_soon(start):
            coroutine.close()
            future.cancel()
        return future


def _context_for_asyncio() -> contextvars.Context:
    """A copy of the present context, for a task of asyncio.

    `anyio.run()` stores the name of its event loop's library in the context, where sniffio finds it.
    """
    context = contextvars.copy_context()
    sniffio = sys.modules.get("sniffio")
    if sniffio is not None:
        context.run(sniffio.current_async_library_cvar.set, "asyncio")
    return context


class _TrioLoop(EventLoop):
    def __init__(self, token: trio.lowlevel.TrioToken) -> None:
        self._token = token

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _TrioLoop) and self._token is other._token

    def __hash__(self) -> int:
        return hash(self._token)

    def call_soon(self, function: Callable[[], object]) -> bool:
        import trio

        try:
            here = trio.lowlevel.current_trio_token() is self._token
        except RuntimeError:
            here = False
        if here:
            function()
            return True
        try:
            self._token.run_sync_soon(function)
        except trio.RunFinishedError:
            return False
        return True

    def spawn(self, coroutine: Coroutine[object, object, T]) -> Future[T]:
        import trio

        future: _Spawned[T] = _Spawned(self)
        scope = trio.CancelScope()
        context = contextvars.copy_context()

        async def run() -> None:
            try:
                with scope:
                    future.finish(await coroutine)
            except Exception as error:
                future.fail(error)
            finally:
                future.cancel_task = None
                future.cancel()  # unless it is done

        def start() -> None:
            future.cancel_task = scope.cancel
            trio.lowlevel.spawn_system_task(run, context=context)

        if not self.call_soon(start):
            coroutine.close()
            future.cancel()
        return future


def running_loop() -> EventLoop:
    """The event loop that runs on this thread. Raises RuntimeError when there is none."""
    try:
        return _AsyncioLoop(asyncio.get_running_loop())
    except RuntimeError:
        if "trio" not in sys.modules:
            raise
    import trio

    return _TrioLoop(trio.lowlevel.current_trio_token())


def is_running_here(loop: EventLoop) -> bool:
    """Whether an event loop runs on this thread."""
    try:
        return running_loop() == loop
    except RuntimeError:
        return False


def asyncio_loop(loop: asyncio.AbstractEventLoop) -> EventLoop:
    """An event loop of asyncio that may run on another thread."""
    return _AsyncioLoop(loop)


async def until_done(future: Future[T]) -> None:
    """Wait on the running event loop until a future of another thread is done."""
    import anyio  # few sessions need it

    loop, event = running_loop(), anyio.Event()
    future.add_done_callback(lambda _: loop.call_soon(event.set))
    await event.wait()
