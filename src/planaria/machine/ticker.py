"""Stopping a guest that runs: one ticker thread for all machines of an engine.

WebAssembly code checks the engine's epoch at loops and function entries; when it was incremented
the store's callback runs on the guest's own thread and may raise an interrupt in the guest, stop it,
or let it go on. So the ticker only looks, every 10 ms while a session executes, whether a machine has
a pending interrupt, or has to let others compute (`processors.py`), and increments the epoch then. It
sleeps while no session executes, and restarts in the child of a `fork()`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final, Protocol

from planaria.fork import in_forked_child
from planaria.machine.processors import Processors

__all__ = ["TICK_SECONDS", "Ticker", "Watched"]

TICK_SECONDS: Final = 0.01
#: Guests that want visits get one this often: so that Python can run its signal handlers on the main thread,
#: and what is printed is shown meanwhile.
_VISIT_TICKS: Final = 5
#: The thread falls asleep after so many ticks without an execution; waking it costs a few us.
_IDLE_TICKS: Final = 50


class Watched(Protocol):
    """A running guest, as the ticker sees it."""

    #: Whether it is to be visited now and then although it is not due.
    wants_visits: bool

    def due(self, now: float) -> bool:
        """Whether the guest must be visited; called from the ticker's thread with `time.monotonic()`."""


class Ticker:
    """Visits running guests by incrementing the epoch; `increment` must be thread-safe. It ends turns at
    `processors`.
    """

    def __init__(self, increment: Callable[[], None], processors: Processors) -> None:
        self._increment_engine = increment
        self._processors = processors
        #: How often the epoch was incremented.
        self.epoch = 0
        #: The guests that run; each puts itself here and takes itself away.
        self.running: dict[Watched, None] = {}
        self._start()
        in_forked_child("ticker")(self._start)

    def _start(self) -> None:
        # In the child of a fork no other thread exists: whatever ran there is not running here.
        self.running = {}
        self.is_asleep = True
        self._awake = threading.Event()
        self._thread: threading.Thread | None = None

    def wake(self) -> None:
        """Called after a guest was put into `running` while `is_asleep`."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._loop, name="planaria-ticker", daemon=True)
            self._thread.start()
        self._awake.set()

    def visit(self) -> None:
        """Visit every running guest now, from whichever thread."""
        self.epoch += 1
        self._increment_engine()

    def _loop(self) -> None:
        idle = tick = 0
        self.is_asleep = False
        while True:
            if self.running:
                idle = 0
                tick += 1
                if self._is_any_due(tick):
                    self.visit()
            else:
                idle += 1
                if idle > _IDLE_TICKS:
                    self.is_asleep = True
                    if (
                        not self.running
                    ):  # looked at after `is_asleep` is set: who begins to run looks the other way round
                        self._awake.wait()
                    self._awake.clear()
                    self.is_asleep = False
                    idle = 0
                    continue
            time.sleep(TICK_SECONDS)

    def _is_any_due(self, tick: int) -> bool:
        """In a frame of its own, so that the sleeping thread keeps no guest alive."""
        running = list(self.running)
        now = time.monotonic()
        due = [guest for guest in running if guest.due(now)]
        exceeds = self._processors.tick()
        return (
            exceeds
            or bool(due)
            or (tick % _VISIT_TICKS == 0 and any(guest.wants_visits for guest in running))
        )
