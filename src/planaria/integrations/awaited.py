"""A command backend for code that awaits: commands and file operations on threads beside the event loop."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar, cast

import anyio
import anyio.lowlevel
from anyio import CapacityLimiter, to_thread

from planaria.integrations.command_backend import Cancellation, CommandBackend, Completed

__all__ = ["in_thread", "in_thread_until_cancelled", "on_loop", "run_command"]

T = TypeVar("T")


async def in_thread(function: Callable[..., T], *arguments: object) -> T:
    """Call a function that may block; a task that is cancelled meanwhile ends when it has returned."""
    # A limiter of its own: commands wait for each other on their threads, and nothing may wait for those.
    return await to_thread.run_sync(function, *arguments, limiter=CapacityLimiter(1))


async def run_command(
    backend: CommandBackend,
    command: str | Sequence[str],
    *,
    cwd: str | None = None,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    user: str | None = None,
    timeout: float | None = None,
    merge_streams: bool = False,
    on_output: Callable[[int, bytes], object] | None = None,
) -> Completed:
    """`CommandBackend.run`, awaited: cancelling the task stops the command and waits until it has stopped."""
    cancellation = Cancellation()
    run = partial(
        backend.run,
        command,
        cwd=cwd,
        env=env,
        stdin=stdin,
        user=user,
        timeout=timeout,
        merge_streams=merge_streams,
        on_output=on_output,
        cancellation=cancellation,
    )
    return await in_thread_until_cancelled(run, cancellation)


async def in_thread_until_cancelled(function: Callable[[], T], cancellation: Cancellation) -> T:
    """`in_thread`, for a function that `cancellation` stops: cancelling the task does, and waits for it."""
    outcome: list[T | Exception] = []
    #: Taken by what comes first: the beginning of the function, or the cancellation that prevents it.
    first = threading.Lock()

    def begin() -> T | None:
        return function() if first.acquire(blocking=False) else None

    async def cancel_with_this_task() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            if not first.acquire(blocking=False) and not cancellation.ended.is_set():
                with anyio.CancelScope(shield=True):
                    await in_thread(cancellation.cancel)

    async with anyio.create_task_group() as group:
        group.start_soon(cancel_with_this_task)
        try:
            outcome.append(cast(T, await in_thread(begin)))
        except Exception as error:
            # Not raised in here, where it would become a group of one.
            outcome.append(error)
        group.cancel_scope.cancel()
    await anyio.lowlevel.checkpoint_if_cancelled()
    [result] = outcome
    if isinstance(result, Exception):
        raise result
    return result


async def on_loop(
    loop: asyncio.AbstractEventLoop, context: contextvars.Context, coroutine: Coroutine[Any, Any, T]
) -> T:
    """Await a coroutine on another event loop, in a copy of a context."""
    run = context.copy().run
    return await asyncio.wrap_future(run(asyncio.run_coroutine_threadsafe, coroutine, loop))
