"""The event loop that MCP servers and HTTP connections run on, until the process ends.

They outlast the sessions that use them, and those sessions' loops: a caller on any loop waits there for
what is done here. It is a loop of its own, since users' callbacks may block theirs.
"""

from __future__ import annotations

import asyncio
import atexit
import weakref
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final, TypeVar

from planaria.event_loops import asyncio_loop, until_done
from planaria.fork import in_forked_child
from planaria.loop_thread import LoopThread

__all__ = ["background_loop", "close_at_exit", "close_when_collected", "in_background", "run_in_background"]

Result = TypeVar("Result")

#: What closing everything may take when the interpreter exits, in seconds.
_EXIT_TIMEOUT = 10.0

_tools: Final = LoopThread("planaria-tools")
_closers: set[Callable[[], Awaitable[None]]] = set()

in_forked_child("tools")(_closers.clear)  # what they would close is not a forked child's


def background_loop() -> asyncio.AbstractEventLoop:
    """The loop; its thread is started at the first call."""
    return _tools.loop()


async def in_background(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Await a coroutine that runs on the background loop, under asyncio or Trio.

    Cancelling this cancels it there.
    """
    future = asyncio_loop(background_loop()).spawn(coroutine)
    try:
        await until_done(future)
    except BaseException:
        future.cancel()
        raise
    return future.result()


def run_in_background(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine on the background loop and block until it is done.

    Raises RuntimeError when called on the background loop itself, which would wait for itself forever.
    """
    loop = background_loop()
    try:
        running = asyncio.get_running_loop()
    except RuntimeError:
        running = None
    if running is loop:
        coroutine.close()
        raise RuntimeError("run_in_background() was called on the background loop")
    future = asyncio_loop(loop).spawn(coroutine)
    try:
        return future.result()
    except BaseException:
        # No one waits for it any more when it was Ctrl-C that ended the waiting.
        future.cancel()
        raise


def close_at_exit(closer: Callable[[], Awaitable[None]]) -> Callable[[], None]:
    """Await `closer()` on the background loop when the interpreter exits; returns what takes that back."""
    _closers.add(closer)
    return lambda: _closers.discard(closer)


def close_when_collected(owner: object, closer: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run `closer()` on the background loop once `owner`, to which it must not refer, is collected."""
    loop = background_loop()

    def close() -> None:
        # In a forked child, or after the end of the interpreter's threads, there is nothing to close.
        if loop is _tools.running and not loop.is_closed():
            asyncio_loop(loop).spawn(closer())

    weakref.finalize(owner, close).atexit = False


async def _close_all(closers: list[Callable[[], Awaitable[None]]]) -> None:
    await asyncio.gather(*(closer() for closer in closers), return_exceptions=True)


@atexit.register
def _at_exit() -> None:
    if _tools.running is None or not _closers:
        return
    future = asyncio_loop(_tools.running).spawn(_close_all(list(_closers)))
    try:
        future.result(_EXIT_TIMEOUT)
    except TimeoutError:
        # The interpreter exits all the same; guardians see to the processes that are left.
        future.cancel()
