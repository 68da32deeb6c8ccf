"""Turns at an engine, for tasks of asyncio and Trio."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Final, TypeVar

import anyio

from planaria.errors import SessionBusy
from planaria.event_loops import EventLoop, running_loop, until_done
from planaria.fork import in_forked_child
from planaria.session import executing
from planaria.session.engine import SessionEngine
from planaria.session.execution_state import ExecutionState
from planaria.session.function_calls import calling_back
from planaria.session.phases import Phase, Step
from planaria.session.worker_threads import submit

__all__ = ["AsyncTurns", "interruption"]

T = TypeVar("T")

#: Those that exist, for a child of a fork to recover.
_all: Final[weakref.WeakSet[AsyncTurns]] = weakref.WeakSet()


def interruption() -> type[BaseException]:
    """What is raised in the task that executes to interrupt the code."""
    return anyio.get_cancelled_exc_class()


class AsyncTurns:
    """One task at a time uses an engine; blocking work is done on threads beside the event loop.

    `Turns` has the same methods; these two classes are where sessions with and without `await` differ.
    """

    def __init__(self, engine: SessionEngine) -> None:
        self._engine = engine
        self._lock: anyio.Lock | None = None
        #: The event loop under which the session was used last, and which its lock belongs to.
        self._loop: EventLoop | None = None
        _all.add(self)

    def prepare(self) -> None:
        """Do what the constructor of a session waits for: start the kernel, if that takes no time."""
        if self._engine.starts_at_once:
            self._engine.start()

    @contextlib.asynccontextmanager
    async def held(self, *, ready: bool = True) -> AsyncIterator[None]:
        """Hold the session: another task waits for it, its own callback and other event loops are refused."""
        engine = self._engine
        # Looked at here, since it holds nearly always.
        if engine.phase is Phase.CLOSED or id(engine.host_calls) in calling_back.get():
            engine.check_usable()
        async with self._lock_here():
            engine.host_calls.loop = self._loop
            engine.was_interrupted = False
            if ready and engine.phase is not Phase.READY:
                await self.call(engine.ensure_started)
            yield

    def _lock_here(self) -> anyio.Lock:
        """The lock under the present event loop. Raises SessionBusy when another holds it."""
        loop, lock = running_loop(), self._lock
        if lock is None or loop != self._loop:
            # A lock belongs to one event loop. Also, the other one may be in a callback that waits for this.
            if lock is not None and lock.locked():
                raise SessionBusy(
                    "this session is in use under another event loop; await it there "
                    "(asyncio.run_coroutine_threadsafe), and not in a callback that it waits for"
                )
            self._lock = lock = anyio.Lock(fast_acquire=True)
            self._loop = loop
        return lock

    @contextlib.asynccontextmanager
    async def closing(self) -> AsyncIterator[None]:
        """Hold the session to close it, also in a task that was cancelled; the execution of another task is
        interrupted.
        """
        self._lock_here()  # before anything is interrupted
        with anyio.CancelScope(shield=True), self._engine.ending():
            async with self.held(ready=False):
                yield

    async def call(self, function: Callable[[], T], *, shield: bool = False) -> T:
        """Call a function that uses the engine and may block, on a thread.

        When this task is cancelled, the code is interrupted and waited for; with `shield` it was before.
        """
        future = submit(function)
        cancelled: BaseException | None = None
        while not future.done():
            try:
                with anyio.CancelScope(shield=shield or cancelled is not None):
                    await until_done(future)
            except interruption() as error:
                cancelled = error
                self._engine.interrupt()
        result = future.result()
        if cancelled is not None:
            raise cancelled
        return result

    async def elsewhere(self, function: Callable[[], T]) -> T:
        """Call a function that may block and does not use the engine, on a thread.

        When this task is cancelled, it is not waited for.
        """
        future = submit(function)
        await until_done(future)
        return future.result()

    async def begin(self, begun: Callable[[], ExecutionState]) -> ExecutionState:
        """Begin an execution, for which the state before it is kept, and enter the kernel for it."""
        engine = self._engine

        def first() -> ExecutionState:
            execution = begun()
            try:
                if executing.next_step(engine, execution, sleep=False) is Step.ENTER:
                    executing.enter(engine, execution)
            except BaseException as error:
                executing.abandon(engine, execution, error)
                raise
            return execution

        try:
            return await self.call(first)
        except interruption() as error:
            execution = engine.execution
            if execution is None:
                raise
            execution.interrupted_by(error)
            return execution

    async def enter(self, execution: ExecutionState) -> None:
        """Enter the kernel."""
        was_cancelled = execution.stop.interruption is not None
        await self.call(partial(executing.enter, self._engine, execution), shield=was_cancelled)

    async def wait(self, execution: ExecutionState) -> None:
        """Wait for an answer, a timer of the code's, or the end of the time."""
        was_cancelled = execution.stop.interruption is not None
        with (
            execution.alarm.armed() as alarm,
            anyio.move_on_after(execution.seconds_left(), shield=was_cancelled),
        ):
            await until_done(alarm)

    def after_fork(self) -> None:
        """In a child of a fork, where only the forking thread exists."""
        is_held = self._lock is not None and self._lock.locked()
        if is_held or not self._engine.executor.is_copied_by_fork:
            self._engine.lose_kernel()
        self._lock = self._loop = None
        self._engine.host_calls.after_fork()


@in_forked_child("sessions")
def _after_fork() -> None:
    for turns in list(_all):
        turns.after_fork()
