"""Daemon threads on loan: blocking work beside an event loop, callbacks that may overrun, and the event loop
for the asynchronous callbacks of sessions that have none.

Unlike those of `concurrent.futures`, these threads never hold up the interpreter's exit: a callback
that hangs is abandoned with its thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import os
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

__all__ = ["callback_loop", "submit"]

Result = TypeVar("Result")

_Job = tuple[Future[Any], Callable[[], Any]]

_idle: list[queue.SimpleQueue[_Job]] = []
_KEEP_IDLE = 16

_loop: asyncio.AbstractEventLoop | None = None
_loop_lock = threading.Lock()


def _forget() -> None:
    """Threads do not survive a fork."""
    global _loop, _loop_lock
    _idle.clear()
    _loop = None
    _loop_lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def _work(jobs: queue.SimpleQueue[_Job]) -> None:
    while True:
        future, function = jobs.get()
        try:
            result = function()
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(result)
            del result
        del future, function
        if len(_idle) >= _KEEP_IDLE:
            return
        _idle.append(jobs)


def submit(function: Callable[[], Result]) -> Future[Result]:
    """Call `function()` on a thread of its own, in a copy of the present context."""
    context = contextvars.copy_context()
    future: Future[Result] = Future()
    future.set_running_or_notify_cancel()
    job = (future, lambda: context.run(function))
    try:
        jobs = _idle.pop()
    except IndexError:
        jobs = queue.SimpleQueue()
        jobs.put(job)
        threading.Thread(target=_work, args=(jobs,), name="planaria-worker", daemon=True).start()
    else:
        jobs.put(job)
    return future


def callback_loop() -> asyncio.AbstractEventLoop:
    """The event loop that runs on a thread of its own for as long as the process lives."""
    global _loop
    with _loop_lock:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_run, args=(_loop,), name="planaria-callbacks", daemon=True).start()
        return _loop


def _run(loop: asyncio.AbstractEventLoop) -> None:
    while True:
        # These leave a loop at once, beside being what came of their task: whoever waits for it has them.
        with contextlib.suppress(SystemExit, KeyboardInterrupt):
            loop.run_forever()
