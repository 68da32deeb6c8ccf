"""An end for work that cannot be stopped from outside: there are no threads, and signals may be missing.

While `until` is in force, loops and calls look at the clock now and then, whatever code they belong to; what
is running when the time is over gets an `Expired`.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, Final

__all__ = ["Expired", "expires", "until"]

#: Loops and calls between two looks at the clock.
_INTERVAL: Final = 200
#: Seconds after which code that did not stop is interrupted again.
_AGAIN: Final = 0.5


class Expired(BaseException):
    """The time is over. Not an Exception: commands that report those must not catch it."""

    #: The signals that what was running ignores.
    ignored: frozenset[str] = frozenset()


class _Watch:
    """Counts what happens, and looks at the clock."""

    def __init__(self, deadline: float, clock: Callable[[], float]) -> None:
        self.deadline = deadline
        self.clock = clock
        self.left = _INTERVAL

    def tick(self, *_: object) -> None:
        self.left -= 1
        if self.left <= 0:
            self.left = _INTERVAL
            for watch in _watches:
                if watch.clock() >= watch.deadline:
                    watch.expire(sys._getframe(1))

    def expire(self, frame: FrameType | None) -> None:
        """Raise `Expired`, unless a context is being entered or left, which must not be done by halves."""
        while frame is not None:
            if frame.f_code in _CHANGING:
                return
            frame = frame.f_back
        self.deadline = self.clock() + _AGAIN
        raise Expired


#: What runs while a context is entered or left.
_CHANGING: Final = frozenset(
    function.__code__
    for kind in (contextlib._GeneratorContextManager, contextlib.ExitStack)
    for function in (kind.__enter__, kind.__exit__)
)


@contextlib.contextmanager
def until(deadline: float | None, clock: Callable[[], float] = time.monotonic) -> Iterator[None]:
    """Raise `Expired` in the body when `clock()` reaches `deadline`; None means never.

    Nested, the earliest counts. Code below that never loops and never calls Python (one long call of a
    function in C) is not interrupted.
    """
    outer = _watches[-1] if _watches else None
    if deadline is None or (outer is not None and outer.clock is clock and outer.deadline <= deadline):
        yield
        return
    watch = _Watch(deadline, clock)
    sleep = time.sleep

    def bounded_sleep(seconds: float, /) -> None:
        left = deadline - time.monotonic()
        if seconds >= left:
            sleep(max(0.0, left))
            raise Expired
        sleep(seconds)

    _watches.append(watch)
    if clock is time.monotonic:
        time.sleep = bounded_sleep  # type: ignore[assignment]
    undo = _observe(watch)
    try:
        yield
    finally:
        undo()
        time.sleep = sleep
        _watches.remove(watch)
        if _watches:
            _observe(_watches[-1])


_watches: list[_Watch] = []


def expires() -> bool:
    """Whether an end is in force."""
    return bool(_watches)


def _observe(watch: _Watch) -> Callable[[], None]:
    """Have `watch` called; the function that ends this."""
    monitoring: Any = getattr(sys, "monitoring", None)
    if monitoring is None:
        return _alarm(watch)
    tool = 4
    events = monitoring.events
    if monitoring.get_tool(tool) is None:
        monitoring.use_tool_id(tool, "planaria deadline")
    for event in (events.PY_START, events.JUMP):
        monitoring.register_callback(tool, event, watch.tick)
    monitoring.set_events(tool, events.PY_START | events.JUMP)

    def undo() -> None:
        monitoring.set_events(tool, 0)
        monitoring.free_tool_id(tool)

    return undo


def _alarm(watch: _Watch) -> Callable[[], None]:
    """Before Python 3.12, which reports loops and calls, timers are used (so never in the sandbox)."""

    def expire(number: int, frame: FrameType | None) -> None:
        watch.expire(frame)

    timer = signal.ITIMER_REAL if watch.clock is time.monotonic else signal.ITIMER_PROF
    number = signal.SIGALRM if timer == signal.ITIMER_REAL else signal.SIGPROF
    before = signal.signal(number, expire)
    signal.setitimer(timer, max(1e-6, watch.deadline - watch.clock()), _AGAIN)

    def undo() -> None:
        signal.setitimer(timer, 0)
        signal.signal(number, before)

    return undo
