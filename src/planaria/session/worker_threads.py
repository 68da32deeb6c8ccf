"""A pool of daemon threads: blocking work beside an event loop, callbacks that may overrun, and the event
loop for the asynchronous callbacks of sessions that have none.

Unlike those of `concurrent.futures`, these threads never hold up the interpreter's exit: a callback
that hangs is abandoned with its thread.
"""

from __future__ import annotations

import contextlib
import contextvars
import queue
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from typing import Final, TypeVar

from planaria.event_loops import EventLoop, asyncio_loop
from planaria.fork import in_forked_child
from planaria.loop_thread import LoopThread

__all__ = ["BoundedThreads", "callback_loop", "submit"]

Result = TypeVar("Result")

#: Calls a function and puts what comes of it into a future.
_Job = Callable[[], None]

_idle: list[queue.SimpleQueue[_Job]] = []
_KEEP_IDLE = 16

_callbacks: Final = LoopThread("planaria-callbacks")

in_forked_child("threads")(_idle.clear)  # threads do not survive a fork


def _work(jobs: queue.SimpleQueue[_Job]) -> None:
    while True:
        jobs.get()()
        if len(_idle) >= _KEEP_IDLE:
            return
        _idle.append(jobs)


def submit(function: Callable[[], Result]) -> Future[Result]:
    """Call `function()` on a thread of its own, in a copy of the present context."""
    context = contextvars.copy_context()
    future: Future[Result] = Future()
    future.set_running_or_notify_cancel()

    def job() -> None:
        try:
            result = context.run(function)
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(result)

    try:
        jobs = _idle.pop()
    except IndexError:
        jobs = queue.SimpleQueue()
        jobs.put(job)
        threading.Thread(target=_work, args=(jobs,), name="planaria-worker", daemon=True).start()
    else:
        jobs.put(job)
    return future


class BoundedThreads:
    """Calls functions on threads, at most `most` at once; the others begin in order as threads get free.

    A function whose future is cancelled before it begins is not called. One that runs goes on; what it
    returns is discarded.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._running = 0
        self._lock = threading.Lock()
        self._waiting: deque[tuple[Future[object], Callable[[], object]]] = deque()

    def submit(self, function: Callable[[], Result]) -> Future[Result]:
        """Call `function()` on a thread, in a copy of the present context."""
        future: Future[Result] = Future()
        context = contextvars.copy_context()

        def call() -> None:
            try:
                result = context.run(function)
            except BaseException as error:
                with contextlib.suppress(InvalidStateError):
                    future.set_exception(error)
            else:
                with contextlib.suppress(InvalidStateError):
                    future.set_result(result)

        with self._lock:
            if self._running >= self._most:
                self._waiting.append((future, call))  # type: ignore[arg-type]  # it is only cancelled
                return future
            self._running += 1
        submit(lambda: self._work(future, call))
        return future

    def _work(self, future: Future[Result], call: Callable[[], object]) -> None:
        """Call one function, and then those that wait."""
        job: tuple[Future[object], Callable[[], object]] | None = (future, call)  # type: ignore[assignment]
        while job is not None:
            if not job[0].cancelled():
                job[1]()
            with self._lock:
                job = self._waiting.popleft() if self._waiting else None
                if job is None:
                    self._running -= 1


def callback_loop() -> EventLoop:
    """asyncio's loop on a thread of its own, for callbacks of sessions without `await`.

    It runs until the process ends.
    """
    return asyncio_loop(_callbacks.loop())
