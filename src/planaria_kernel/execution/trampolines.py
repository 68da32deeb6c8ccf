"""The trampolines through which the kernel calls user code, and whose code runs in a frame.

User code is a frame below a trampoline that belongs neither to the kernel nor to asyncio's own machinery, or
anything that such a frame called. The import system and the initialisation of native modules are not, and
neither is setting up and tearing down the loop of `asyncio.run`, though user code is what called them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, Literal

from planaria_kernel.event_loop.asyncio_run import DRIVE_CODE, OWN_CODE
from planaria_kernel.event_loop.loop import Loop, ParkingLoop
from planaria_kernel.execution.interrupted_imports import must_finish

__all__ = ["advance", "call", "execute", "place_of", "wait"]


def call(function: Callable[..., Any], *args: Any) -> Any:
    """The trampoline of plain calls."""
    return function(*args)


def execute(run: Callable[..., Any], code: CodeType, space: dict[str, Any]) -> None:
    """The trampoline of code that is executed in the context whose `run` is given."""
    run(exec, code, space)


def advance(loop: ParkingLoop, until: asyncio.Future[Any]) -> bool:
    """The trampoline of tasks."""
    return loop.advance(until)


def wait(loop: ParkingLoop, seconds: float | None) -> None:
    """Where a loop that has sockets and threads waits for them."""
    loop.wait(seconds)


_TRAMPOLINES = frozenset({call.__code__, execute.__code__, advance.__code__})
#: Not trampolines, but an interrupt is the loop's there too.
_LOOPS_OWN = frozenset({OWN_CODE, wait.__code__})
#: These run user code too. Raised in themselves, an interrupt would lose the task whose turn it is, or leave
#: a loop half open.
_TURNS = frozenset({ParkingLoop._run_once.__code__, DRIVE_CODE})
#: Where the loop of the sandbox sleeps; only an interrupt that is raised there ends that.
_SLEEP = Loop.wait.__code__


def place_of(frame: FrameType | None) -> Literal["user", "loop", "kernel"]:
    """Whose code runs in a frame: the user's, the machinery of a loop, or the kernel itself."""
    user = False
    innermost = frame
    while frame is not None:
        code = frame.f_code
        if code in _TRAMPOLINES:
            if user:
                return "user"
            return "loop" if code is advance.__code__ else "kernel"
        if code in _LOOPS_OWN or (code in _TURNS and not user):
            return "loop"
        if must_finish(frame, frame is innermost):
            return "kernel"
        if not user:
            module = frame.f_globals.get("__name__", "")
            user = code is _SLEEP or not module.startswith(("planaria_kernel.", "asyncio."))
        frame = frame.f_back
    return "kernel"
