"""The clocks that a guest can read: the host's, a frozen one, a virtual one, one set ahead or back.

All times are whole nanoseconds. Realtime counts from 1970-01-01 UTC. Monotonic and CPU time count from
the beginning of the session and go on from where they were when its state is taken elsewhere, so that a
timer that was set before a snapshot is due at the right moment after it. A clock belongs to one session: a
fork gets its own (`copy.copy`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from copy import copy
from typing import Protocol

from planaria.fork import in_forked_child

__all__ = ["Clock", "FrozenClock", "JournaledClock", "OffsetClock", "SystemClock", "VirtualClock"]


#: The processor time that this process's ancestors had used when they forked it, in nanoseconds.
_inherited = 0
_at_fork = 0


def _processor_time() -> int:
    """As `time.process_time_ns`, which begins anew in the child of a fork; this goes on."""
    return _inherited + time.process_time_ns()


def _before_fork() -> None:
    global _at_fork
    _at_fork = _processor_time()


@in_forked_child("clock")
def _after_fork() -> None:
    global _inherited
    _inherited = _at_fork


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork)


class Clock(Protocol):
    """What a session takes its time from."""

    def realtime(self) -> int:
        """Nanoseconds since the epoch."""

    def monotonic(self) -> int:
        """Nanoseconds since the session began; never goes back."""

    def cpu(self) -> int:
        """Nanoseconds of processor time; never goes back."""

    def slept(self, nanoseconds: int) -> None:
        """The guest slept for so long: a clock that does not run by itself moves on."""

    def state(self) -> dict[str, int]:
        """What `restore` needs so that the clock goes on from here."""

    def restore(self, state: Mapping[str, int]) -> None: ...


class SystemClock:
    """The time of the host."""

    __slots__ = ("_cpu_base", "_monotonic_base")

    def __init__(self) -> None:
        self._monotonic_base = time.monotonic_ns()
        self._cpu_base = _processor_time()

    def realtime(self) -> int:
        return time.time_ns()

    def monotonic(self) -> int:
        return time.monotonic_ns() - self._monotonic_base

    def cpu(self) -> int:
        return _processor_time() - self._cpu_base

    def slept(self, nanoseconds: int) -> None:
        pass  # it went by on its own

    def state(self) -> dict[str, int]:
        return {"monotonic": self.monotonic(), "realtime": time.time_ns(), "cpu": self.cpu()}

    def restore(self, state: Mapping[str, int]) -> None:
        # Time went by since the capture, also on the monotonic clock: timers that are due by now fire. A
        # frozen clock does not tell the moment of the capture.
        now = time.time_ns()
        elapsed = max(0, now - state.get("realtime", now))
        self._monotonic_base = time.monotonic_ns() - state["monotonic"] - elapsed
        self._cpu_base = _processor_time() - state["cpu"]


class FrozenClock:
    """A clock that stands at `nanoseconds` since the epoch and moves only while the guest sleeps."""

    __slots__ = ("_elapsed", "_start")

    def __init__(self, nanoseconds: int) -> None:
        self._start = nanoseconds
        self._elapsed = 0

    def realtime(self) -> int:
        return self._start + self._elapsed

    def monotonic(self) -> int:
        return self._elapsed

    def cpu(self) -> int:
        return 0

    def slept(self, nanoseconds: int) -> None:
        self._elapsed += nanoseconds

    def state(self) -> dict[str, int]:
        # Frozen at another moment elsewhere is still this session's time: the moment is not state.
        return {"monotonic": self._elapsed, "cpu": 0}

    def restore(self, state: Mapping[str, int]) -> None:
        self._elapsed = state["monotonic"]


class VirtualClock:
    """A clock that the guest itself moves: by `step` nanoseconds with each reading, and by its sleeps.

    What it shows follows from what was read and slept before, so it is the same on every machine, and
    sleeps are over at once. The date begins at `start` nanoseconds since the epoch; sleeps move it only if
    `sleeps_count`, but the monotonic clock always, so that timers fire. Processor time is that of readings.
    """

    __slots__ = ("_read", "_sleeps_count", "_slept", "_start", "_step")

    def __init__(self, start: int, step: int, *, sleeps_count: bool) -> None:
        self._start = start
        self._step = step
        self._sleeps_count = sleeps_count
        #: Nanoseconds that passed by readings, and by sleeps.
        self._read = 0
        self._slept = 0

    def realtime(self) -> int:
        self._read += self._step
        return self._start + self._read + (self._slept if self._sleeps_count else 0)

    def monotonic(self) -> int:
        self._read += self._step
        return self._read + self._slept

    def cpu(self) -> int:
        self._read += self._step
        return self._read

    def slept(self, nanoseconds: int) -> None:
        self._slept += nanoseconds

    def state(self) -> dict[str, int]:
        return {"monotonic": self._read + self._slept, "cpu": self._read}

    def restore(self, state: Mapping[str, int]) -> None:
        # Of another clock, processor time may be ahead of the monotonic one: several threads use it.
        self._read = state["cpu"]
        self._slept = max(0, state["monotonic"] - state["cpu"])


class OffsetClock(SystemClock):
    """The time of the host, with the date moved by `nanoseconds` (negative: into the past)."""

    __slots__ = ("_offset",)

    def __init__(self, nanoseconds: int) -> None:
        super().__init__()
        self._offset = nanoseconds

    def realtime(self) -> int:
        return time.time_ns() + self._offset


class JournaledClock:
    """A clock whose readings go through `outcome(kind, read)`; see `planaria.executors.journal`.

    A copy, which is that of another session, has a copy of the clock behind it.
    """

    __slots__ = ("_inner", "_outcome")

    def __init__(self, inner: Clock, outcome: Callable[[str, Callable[[], int]], int]) -> None:
        self._inner = inner
        self._outcome = outcome

    def __copy__(self) -> JournaledClock:
        return JournaledClock(copy(self._inner), self._outcome)

    def realtime(self) -> int:
        return self._outcome("realtime", self._inner.realtime)

    def monotonic(self) -> int:
        return self._outcome("monotonic", self._inner.monotonic)

    def cpu(self) -> int:
        return self._outcome("cpu", self._inner.cpu)

    def slept(self, nanoseconds: int) -> None:
        self._inner.slept(nanoseconds)

    def state(self) -> dict[str, int]:
        state = self._inner.state()
        return {"realtime": 0, **state}  # with it, the time is not counted as state (`snapshot.digest`)

    def restore(self, state: Mapping[str, int]) -> None:
        self._inner.restore({name: state[name] for name in state if name != "realtime" or state[name]})
