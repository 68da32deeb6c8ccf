"""An execution in flight: what the session that drives it has to know beside its Run."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from concurrent.futures import Future, InvalidStateError
from typing import TYPE_CHECKING

from planaria.errors import PlanariaError
from planaria.limits import Guard, Limits, StopReason
from planaria.session.collector import Collector
from planaria.session.result import Result
from planaria.session.run import Run

if TYPE_CHECKING:
    from planaria.workspace.tools.call import ToolCall

__all__ = ["Flight"]


class Flight:
    """An execution together with what it printed so far, when it must end, and why it was stopped."""

    def __init__(self, run: Run, collector: Collector, timeout: float | None, limits: Limits) -> None:
        self.run = run
        self.collector = collector
        self.limits = limits
        self.started = time.monotonic()
        self.timeout = timeout
        self.deadline = None if timeout is None else self.started + timeout
        self.cpu_left = limits.cpu_time
        self.callbacks = 0
        #: Whether somebody outside may have noticed what it did.
        self.noticed = False
        #: The calls of tools, in order.
        self.tool_calls: list[ToolCall] = []
        self.reason: StopReason | None = None
        #: The error that the execution ends with, whatever the kernel says it ended with.
        self.failure: PlanariaError | None = None
        #: What a function of the user's raised that the code cannot be told: it is raised on this side.
        self.raises: BaseException | None = None
        #: What the stop left of the session; see `errors._Stopped`. After "rewound" to which execution, if an
        #: older one.
        self.state = "kept"
        self.crash: str | None = None
        #: Whether the code runs still, because nothing could stop it.
        self.goes_on = False
        #: After a stop: when patience with code that does not come back ends.
        self.patience: float | None = None
        #: Stopped by Ctrl-C: KeyboardInterrupt is raised here once the guest has stopped.
        self.by_keyboard = False
        #: Calls whose callback raised Suspend, with its reason: somebody answers them later.
        self.suspended: dict[int, str] = {}
        #: Whether somebody is driving it just now.
        self.inside = False
        #: What came of it, once it is over.
        self.result: Result | None = None
        #: Whether somebody wants it stopped, and what wakes whoever waits for it then.
        self.asked = False
        self.alarm: Future[None] | None = None
        self._left = timeout

    def guard(self) -> Guard:
        """The bounds of the next entry."""
        return Guard(
            deadline=self.deadline if self.reason is None else None,
            cpu=self.cpu_left if self.reason is None else None,
            grace=self.limits.grace,
            interrupted=self._is_asked,
        )

    def _is_asked(self) -> bool:
        return self.asked

    def ask_to_stop(self) -> None:
        """From any thread: the next entry is interrupted, and a wait ends."""
        self.asked = True
        if self.alarm is not None:
            with contextlib.suppress(InvalidStateError):
                self.alarm.set_result(None)

    @contextlib.contextmanager
    def waking(self) -> Iterator[Future[None]]:
        """A future that is done when the wait shall end, from now on."""
        alarm: Future[None] = Future()
        self.alarm = alarm
        if self.asked:
            alarm.set_result(None)
        try:
            yield alarm
        finally:
            self.alarm = None

    def pause(self) -> None:
        """Nobody drives it any more: its time stands still."""
        self.inside = False
        self._left = None if self.deadline is None else self.deadline - time.monotonic()

    def go_on(self) -> None:
        """Somebody drives it again."""
        self.inside = True
        self.deadline = None if self._left is None else time.monotonic() + self._left

    def stop(self, reason: StopReason) -> None:
        """Have the code interrupted where it waits."""
        self.reason = reason
        self.patience = time.monotonic() + self.limits.grace
        if not self.run.is_over:
            self.run.cancel("KeyboardInterrupt", "")

    def seconds_left(self) -> float | None:
        """How long the code may go on waiting, also for its own timers; None without a bound."""
        ends = [
            moment
            for moment in (
                self.run.wake_at,
                self.deadline if self.reason is None else self.patience,
            )
            if moment is not None
        ]
        return max(0.0, min(ends) - time.monotonic()) if ends else None
