"""When a kernel outside of the sandbox has to be interrupted, and when that had no effect."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

from planaria.limits import Guard, StopReason

__all__ = ["Interrupts"]

Result = TypeVar("Result")


class Interrupts:
    """The interrupts of one entry after the other; the thread that entered asks `due` now and then.

    `look_up` is called, from any thread or a signal handler, when there is reason to ask at once.
    """

    def __init__(self, look_up: Callable[[], None]) -> None:
        self._look_up = look_up
        self._guard = Guard()
        self._outside = 0
        self._raised_at: float | None = None
        self._impatient = False
        #: Why the present entry was interrupted, if it was.
        self.reason: StopReason | None = None
        #: Whether the interrupt has reached code that can respond to it.
        self.delivered = False

    @contextmanager
    def watching(self, guard: Guard) -> Iterator[None]:
        """An entry; on the main thread Ctrl-C interrupts the kernel meanwhile, in place of the host."""
        self._guard = guard
        self._raised_at = self.reason = None
        self._impatient = self.delivered = False
        taken: Any = None
        if (
            threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        ):
            taken = signal.signal(signal.SIGINT, self._pressed)
        try:
            yield
        finally:
            if taken is not None:
                signal.signal(signal.SIGINT, taken)

    def _pressed(self, _number: int, _frame: FrameType | None) -> None:
        if self._outside:
            raise KeyboardInterrupt
        self._impatient = self.reason == "interrupt"  # pressed again
        self.ask("interrupt")

    def ask(self, reason: StopReason) -> None:
        """Interrupt the entry, from any thread or a signal handler."""
        self.reason = self.reason or reason
        self._look_up()

    def call_outside(self, function: Callable[[], Result]) -> Result:
        """Call a function of the user's that the kernel waits for: Ctrl-C interrupts that."""
        self._outside += 1
        try:
            if self.reason == "interrupt" and self._raised_at is None:
                # It was pressed just before, and the kernel is not to learn it before this returns.
                raise KeyboardInterrupt
            return function()
        except KeyboardInterrupt:
            self.reason = self.reason or "interrupt"
            self._raised_at = time.monotonic()
            self.delivered = True  # the kernel learns it from the answer
            raise
        finally:
            self._outside -= 1

    def due(self, cpu_is_used_up: bool = False) -> bool:
        """Whether an interrupt is to be raised in the kernel now."""
        guard = self._guard
        if self.reason is None:
            if guard.interrupted is not None and guard.interrupted():
                self.reason = "interrupt"
            elif guard.deadline is not None and time.monotonic() >= guard.deadline:
                self.reason = "timeout"
            elif cpu_is_used_up:
                self.reason = "cpu"
            else:
                return False
        if self._raised_at is None:
            self._raised_at = time.monotonic()
        return not self.delivered

    @property
    def is_hopeless(self) -> bool:
        """Whether the kernel has had its grace and did not come back."""
        return self._impatient or (
            self._raised_at is not None and time.monotonic() >= self._raised_at + self._guard.grace
        )
