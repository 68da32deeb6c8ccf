"""A pool of daemon threads: blocking work beside an event loop, callbacks that may overrun, and the event
loop for the asynchronous callbacks of sessions that have none.

Unlike those of `concurrent.futures`, these threads never hold up the interpreter's exit: a callback
that hangs is abandoned with its thread.
"""

from __future__ import annotations

import contextlib
import contextvars
import os
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from typing import Any, Final, Generic, TypeVar

from planaria.errors import SessionError
from planaria.event_loops import EventLoop, asyncio_loop
from planaria.fork import in_forked_child
from planaria.loop_thread import LoopThread
from planaria.machine.exhaustion import host_resources

__all__ = ["BoundedThreads", "Job", "callback_loop", "start", "submit"]

Result = TypeVar("Result")

#: Calls a function and puts what comes of it into a future.
_Job = Callable[[], None]
_Failed = Callable[[BaseException], object]

_KEEP_IDLE: Final = 16

_callbacks: Final = LoopThread("planaria-callbacks")


class _Threads:
    """Threads for jobs, as many as there are jobs, and one more that waits for the next.

    Starting a thread waits until it runs, which on a busy machine takes long. So it is not done where a job
    is handed over, which may be an event loop: before a thread begins a job it sees to it that another one
    waits.
    """

    def __init__(self) -> None:
        self.forget()
        in_forked_child("threads")(self.forget)

    def forget(self) -> None:
        """Threads do not survive a fork."""
        self._lock = threading.Lock()
        #: With what to call when no thread can be had for them.
        self._jobs: deque[tuple[_Job, _Failed]] = deque()
        self._idle: list[threading.Lock] = []
        #: Whether a thread is about to begin, and to look for jobs.
        self._is_starting = False

    def hand_over(self, job: _Job, failed: _Failed) -> None:
        """Have a thread do a job. Raises SessionError when none waits, and the process can have no more;
        a job that relies on a thread that cannot be started gets it by `failed` as well.
        """
        with self._lock:
            self._jobs.append((job, failed))
            if self._idle:
                self._idle.pop().release()
                return
            if self._is_starting:
                return
            self._is_starting = True
        self._start()

    def _start(self) -> None:
        """Start a thread, which was announced. Jobs that rely on it fail when there can be none."""
        try:
            with host_resources("a thread for a callback"):
                threading.Thread(target=self._work, name="planaria-worker", daemon=True).start()
        except BaseException as error:
            with self._lock:
                self._is_starting = False
                jobs, self._jobs = self._jobs, deque()
            for _, failed in jobs:
                failed(error)
            raise

    def _work(self) -> None:
        bell = threading.Lock()
        bell.acquire()
        with self._lock:
            self._is_starting = False
        while True:
            with self._lock:
                job = self._jobs.popleft()[0] if self._jobs else None
                starts = job is not None and not self._idle and not self._is_starting
                if starts:
                    self._is_starting = True
                elif job is None:
                    if len(self._idle) >= _KEEP_IDLE:
                        return
                    self._idle.append(bell)
            if job is None:
                bell.acquire()
                continue
            if starts:
                with contextlib.suppress(SessionError):  # which those that relied on it are given
                    self._start()
            job()
            job = None  # which has what it refers to


_threads: Final = _Threads()


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

    _threads.hand_over(job, future.set_exception)
    return future


class Job(Generic[Result]):
    """A call on another thread: what a future is, without its cost."""

    __slots__ = ("_context", "_error", "_function", "_is_cancelled", "_is_over", "_result", "_returned")

    def __init__(self, function: Callable[[], Result]) -> None:
        self._function: Callable[[], Result] | None = function
        self._context = contextvars.copy_context()
        self._error: BaseException | None = None
        self._is_cancelled = self._is_over = False
        self._returned: Future[None] | None = None

    def run(self) -> None:
        """Call the function, unless the job is cancelled."""
        function = self._function
        if function is not None and not self._is_cancelled:
            process = os.getpid()
            try:
                self._result = self._context.run(function)
            except BaseException as error:
                self._error = error
            if os.getpid() != process:
                # The function forked. A child has this thread alone: no session waits for the result there.
                os._exit(0)
        self._function = None
        self._is_over = True
        returned = self._returned
        if returned is not None:
            with contextlib.suppress(InvalidStateError):
                returned.set_result(None)

    def fail(self, error: BaseException) -> None:
        """The function is not called, for lack of a thread."""
        self._error = error
        self._function = None
        self._is_over = True

    def returned(self) -> Future[None]:
        """A future that is done when the function has returned."""
        future: Future[None] = Future()
        self._returned = future
        if self._is_over:
            with contextlib.suppress(InvalidStateError):
                future.set_result(None)
        return future

    def cancel(self) -> None:
        """Discard the result; a function that has not begun is not called."""
        if not self._is_over:
            self._is_cancelled = True

    def cancelled(self) -> bool:
        """Whether the job was cancelled before the function returned."""
        return self._is_cancelled

    def done(self) -> bool:
        """Whether there is a result, or none will come."""
        return self._is_over or self._is_cancelled

    def result(self) -> Result:
        """What the function returned or raised; once the job is done and was not cancelled."""
        if self._error is not None:
            raise self._error
        return self._result


def start(job: Job[Any], then: Callable[[], object]) -> None:
    """Run a job on a thread of its own, and call `then()` when its function has returned."""

    def run() -> None:
        job.run()
        then()

    def fail(error: BaseException) -> None:
        job.fail(error)
        then()

    _threads.hand_over(run, fail)


class BoundedThreads:
    """Calls functions on threads, at most `most` at once; the others begin in order as threads get free.

    One thread makes all calls as long as none of them waits. A thread that finds more jobs than its own has
    another one look for them beside, which gets to run when the first waits: so a call costs one hand-over at
    most, and those that wait still overlap.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._waiting: deque[tuple[Job[Any], Callable[[], object]]] = deque()
        self._calling: set[Job[Any]] = set()
        #: The threads that make calls, or are about to.
        self._threads = 0
        #: Whether one of them has not begun yet.
        self._is_starting = False

    def submit(self, function: Callable[[], Result], then: Callable[[], object]) -> Job[Result]:
        """Call `function()` in a copy of the present context, and `then()` when it has returned."""
        job = Job(function)
        with self._lock:
            self._waiting.append((job, then))
            starts = self._takes_another()
        if starts:
            _threads.hand_over(self._begin, self._fail)
        return job

    def unfinished(self) -> list[Job[Any]]:
        """The jobs that have not returned, and will be called if they have not been."""
        with self._lock:
            return [
                job for job in (*self._calling, *(job for job, _ in self._waiting)) if not job.cancelled()
            ]

    def _takes_another(self) -> bool:
        """With the lock held: whether another thread has to be started, which then counts."""
        if self._is_starting or not self._waiting or self._threads >= self._most:
            return False
        self._is_starting = True
        self._threads += 1
        return True

    def _fail(self, error: BaseException) -> None:
        """A thread cannot be had: jobs fail, unless other threads will come to them."""
        with self._lock:
            self._is_starting = False
            self._threads -= 1
            lost = [] if self._threads else list(self._waiting)
            if lost:
                self._waiting.clear()
        for job, then in lost:
            job.fail(error)
            then()

    def _begin(self) -> None:
        self._is_starting = False
        while self._call_next():
            pass

    def _call_next(self) -> bool:
        with self._lock:
            if not self._waiting:
                self._threads -= 1
                return False
            job, then = self._waiting.popleft()
            self._calling.add(job)
            starts = self._takes_another()
        if starts:
            with contextlib.suppress(SessionError):  # this thread calls the others, too
                _threads.hand_over(self._begin, self._fail)
        job.run()
        with self._lock:
            self._calling.discard(job)
        then()
        return True


def callback_loop() -> EventLoop:
    """asyncio's loop on a thread of its own, for callbacks of sessions without `await`.

    It runs until the process ends. Raises SessionError when the process can have no more threads or files.
    """
    with host_resources("an event loop for callbacks"):
        return asyncio_loop(_callbacks.loop())
