"""Being outside a loop that runs: for what is run from within one, and makes a loop of its own."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator

__all__ = ["outside_loop"]


@contextlib.contextmanager
def outside_loop() -> Iterator[None]:
    """Let no loop be running, and no task, until the end of the block."""
    running = asyncio._get_running_loop()
    task = None if running is None else asyncio.current_task(running)
    if running is not None and task is not None:
        asyncio.tasks._leave_task(running, task)
    asyncio._set_running_loop(None)
    try:
        yield
    finally:
        asyncio._set_running_loop(running)
        if running is not None and task is not None:
            asyncio.tasks._enter_task(running, task)
