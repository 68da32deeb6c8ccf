"""Callbacks that are awaited, on whichever event loop runs them."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future

import anyio
import anyio.lowlevel

from planaria.errors import Suspend
from planaria.event_loops import running_loop
from planaria.executors.messages import Ok, Raised, Suspended
from planaria.session.callbacks import Callback, raised

__all__ = ["await_callback", "awaited", "result_of", "turn"]


async def await_callback(
    callback: Callback, begin: Callable[[], Awaitable[object]], timeout: float | None
) -> Ok | Raised | Suspended:
    """What a callback answers that is begun by `begin`; raises nothing but a cancellation."""
    try:
        if timeout is None:
            return Ok(await awaited(begin()))
        with anyio.move_on_after(timeout) as scope:
            return Ok(await awaited(begin()))
        assert scope.cancelled_caught
        return Raised("TimeoutError", f"callback {callback.name}() took longer than {timeout:g} s")
    except Suspend as suspend:
        return Suspended(suspend.reason)
    except (Exception, SystemExit) as error:
        return raised(error)


async def awaited(waiting: Awaitable[object]) -> object:
    """What an awaitable gives, and what that gives if it can be awaited too."""
    value = await waiting
    return await value if inspect.isawaitable(value) else value


async def turn() -> None:
    """Be over when all tasks that were spawned before have run as far as they could at once."""
    await anyio.lowlevel.checkpoint()


def result_of(future: Future[object]) -> Coroutine[object, object, object]:
    """Wait on an event loop for a future of another thread; that thread is not stopped by a cancellation."""
    loop = running_loop()
    event = anyio.Event()
    future.add_done_callback(lambda _: loop.call_soon(event.set))

    async def wait() -> object:
        await event.wait()
        return future.result()

    return wait()
