"""Calling functions of the user that a policy has: those of secrets, and the one that decides on requests."""

from __future__ import annotations

import contextvars
import inspect
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial

from planaria.event_loops import running_loop

__all__ = ["called"]


async def called(function: Callable[..., object], *arguments: object) -> object:
    """What a function gives. An asynchronous one runs on this event loop, a plain one on a thread beside it:
    it may take its time, and the loop is others' too.
    """
    if inspect.iscoroutinefunction(function):
        return await function(*arguments)
    result = await _called_on_thread(partial(function, *arguments))
    return await result if inspect.isawaitable(result) else result


async def _called_on_thread(function: Callable[[], object]) -> object:
    """What a function gives on a thread, which a cancellation does not stop, nor the process wait for."""
    import anyio  # which a policy is written without

    loop, done = running_loop(), anyio.Event()
    outcome: Future[object] = Future()
    context = contextvars.copy_context()

    def call() -> None:
        try:
            outcome.set_result(context.run(function))
        except BaseException as error:
            outcome.set_exception(error)
        loop.call_soon(done.set)

    threading.Thread(target=call, name="planaria-network", daemon=True).start()
    await done.wait()
    return outcome.result()
