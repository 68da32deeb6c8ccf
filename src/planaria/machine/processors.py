"""Guests take turns at the processors: at most as many compute at once as there are.

Without that, a hundred sessions that compute are a hundred threads that compete with the program's own
thread for the processors and for Python's lock, whose holder may not be running at all. A guest computes for
a while; then, if others wait, it goes behind them. It has no turn while the host works for it: while it
sleeps, and while a function of the user's runs. What it loses by waiting is not counted as its time.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import Final

from planaria.fork import in_forked_child
from planaria.once import once

__all__ = ["Processors", "Turn", "processors"]

#: After so many ticks a guest lets others take their turn.
_SLICE_TICKS: Final = 3
#: In seconds. A signal that arrives just before the system waits does not end that wait, so none is long.
_LONGEST_WAIT: Final = 0.1


class Turn:
    """The turns of one guest at `processors`. Its methods are for the guest's thread, but for `hurry`.

    Each call of the guest is between `begin` and `end`.
    """

    __slots__ = ("_bell", "_processors", "_waits_since", "seconds_lost")

    def __init__(self, processors: Processors) -> None:
        self._processors = processors
        # A queue, as a signal handler must be able to wake the thread that it interrupts.
        self._bell: SimpleQueue[None] = SimpleQueue()
        self._waits_since: float | None = None
        self.seconds_lost = 0.0
        """How long this call, or the last one, has waited, without the present wait."""

    def lost(self, now: float) -> float:
        """The seconds of waiting since `begin`; from any thread, with `time.monotonic()`."""
        since = self._waits_since
        return self.seconds_lost if since is None else self.seconds_lost + max(0.0, now - since)

    def begin(self, is_urgent: Callable[[], bool]) -> None:
        """Before the guest computes: wait for a processor, or until it `is_urgent`."""
        self.seconds_lost = 0.0
        if not self._processors.take(self):
            self.wait(is_urgent)

    def end(self) -> None:
        """The guest does not compute any more."""
        self._processors.give_back(self)

    def go_on(self, is_urgent: Callable[[], bool]) -> None:
        """In the middle of computing: let others have their turn if this guest's is over."""
        if self._processors.is_beyond(self) and not is_urgent() and not self._processors.take(self):
            self.wait(is_urgent)

    @contextmanager
    def given_up(self) -> Iterator[None]:
        """Around what the host does for the guest, and may take long; then the guest goes on at once."""
        self.end()
        try:
            yield
        finally:
            self.go_on_at_once()

    def go_on_at_once(self) -> None:
        """The guest computes again after `end`, also without a processor; it has to wait when it computes for
        more than a moment.
        """
        self._processors.take_or_exceed(self)

    def hurry(self) -> None:
        """Have a guest that waits look whether it is urgent; from any thread, or a signal handler."""
        if self._waits_since is not None:
            self._bell.put(None)

    def ring(self) -> None:
        """Tell a guest that waits that its turn has come."""
        self._bell.put(None)

    def wait(self, is_urgent: Callable[[], bool]) -> None:
        """After `Processors.take` had none: wait for a processor, or until the guest `is_urgent`."""
        self._waits_since = began = time.monotonic()
        try:
            while not self._processors.has_turn(self):
                if is_urgent():
                    self._processors.exceed(self)
                    return
                try:
                    self._bell.get(timeout=_LONGEST_WAIT)
                except Empty:
                    continue
        except BaseException:
            self._processors.exceed(self)
            raise
        finally:
            self._waits_since = None
            self.seconds_lost += time.monotonic() - began
            while not self._bell.empty():
                self._bell.get()


class Processors:
    """Who computes, who waits, and who computes although all processors are taken."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.forget()

    def forget(self) -> None:
        """None computes or waits: in the child of a fork no other thread exists."""
        # One that a signal handler may take on the thread that has it.
        self._lock = threading.RLock()
        #: Since which tick each computes.
        self._computing: dict[Turn, int] = {}
        self._waiting: deque[Turn] = deque()
        self._beyond: dict[Turn, None] = {}
        self._tick = 0

    def take(self, turn: Turn) -> bool:
        """Whether there is a processor left, which `turn` has now; else it waits."""
        with self._lock:
            self._beyond.pop(turn, None)
            if len(self._computing) < self.count:
                self._computing[turn] = self._tick
                return True
            self._waiting.append(turn)
            return False

    def take_or_exceed(self, turn: Turn) -> None:
        """Take a processor if there is one left, and else go on without one."""
        with self._lock:
            if len(self._computing) < self.count:
                self._computing[turn] = self._tick
            else:
                self._beyond[turn] = None

    def exceed(self, turn: Turn) -> None:
        """One that waits goes on without a processor, unless it has got one just now."""
        with self._lock:
            if turn in self._waiting:
                self._waiting.remove(turn)
                self._beyond[turn] = None

    def give_back(self, turn: Turn) -> None:
        """One that does not compute any more, nor waits."""
        with self._lock:
            if self._computing.pop(turn, None) is not None:
                if self._waiting:
                    self._pass_on()
            else:
                self._beyond.pop(turn, None)

    def has_turn(self, turn: Turn) -> bool:
        """Whether one that waited need not wait any more. Its turn may be over before its thread runs."""
        return turn in self._computing or turn in self._beyond

    def is_beyond(self, turn: Turn) -> bool:
        """Whether one computes although all processors are taken, or were."""
        return turn in self._beyond

    def tick(self) -> bool:
        """Every 10 ms while guests compute: end the turns of those that have computed long enough, as many as
        wait. Whether some compute beyond the number of processors, and must be visited for `Turn.go_on`.
        """
        self._tick += 1
        if not self._waiting and not self._beyond:
            return False
        with self._lock:
            over = [turn for turn, since in self._computing.items() if self._tick - since >= _SLICE_TICKS]
            for turn in over[: len(self._waiting)]:
                del self._computing[turn]
                self._beyond[turn] = None
                self._pass_on()
            return bool(self._beyond)

    def _pass_on(self) -> None:
        """With the lock held, while some wait: the next one gets the processor that has become free."""
        turn = self._waiting.popleft()
        self._computing[turn] = self._tick
        turn.ring()


@once
def processors() -> Processors:
    """Those that this process may use."""
    try:
        count = len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        count = os.cpu_count() or 1
    made = Processors(count)
    in_forked_child("ticker")(made.forget)
    return made
