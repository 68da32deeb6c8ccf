"""`Deterministic`: what a session takes in place of time and chance, so that it can be repeated anywhere."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, Literal

from planaria.machine.wasi.clock import VirtualClock
from planaria.parameters import suggest_field_names

__all__ = ["Deterministic"]

_SECOND: Final = 10**9
#: 9999-12-31, the last day that `datetime` has, in seconds since the epoch.
_LAST: Final = 253_402_214_400


@suggest_field_names
@dataclass(frozen=True, kw_only=True, slots=True)
class Deterministic:
    """Time and chance of a session that gives the same state for the same code and answers, anywhere.

    Args:
        clock: the date at which it begins: a `datetime` with a time zone, or seconds since 1970-01-01 UTC.
        tick: seconds by which every reading of a clock moves all of its clocks, so that code which waits for
            a time comes to an end.
        sleep: what sleeping does, which is over at once: "virtual" moves the date by as much, "zero" leaves
            the date alone and moves the monotonic clock only, by which timers fire.
        seed: determines every random number.

    Raises TypeError or ValueError for a value that is not usable.
    """

    clock: datetime | float = datetime(2026, 1, 1, tzinfo=UTC)
    tick: float = 1e-6
    sleep: Literal["virtual", "zero"] = "virtual"
    seed: int = 0
    start: int = field(init=False, repr=False)
    """The beginning, in nanoseconds since the epoch."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "start", _nanoseconds_of(self.clock))
        if self.sleep not in ("virtual", "zero"):
            raise ValueError(f"Deterministic(sleep={self.sleep!r}): must be 'virtual' or 'zero'")
        tick: object = self.tick
        if isinstance(tick, bool) or not isinstance(tick, (int, float)):
            raise TypeError(f"Deterministic(tick={tick!r}): must be a number of seconds")
        if not 0 <= tick <= 3600:
            raise ValueError(f"Deterministic(tick={tick!r}): must be between 0 and 3600 seconds")
        seed: object = self.seed
        if isinstance(seed, bool) or not isinstance(seed, int):
            raise TypeError(f"Deterministic(seed={seed!r}): must be an integer")

    def new_clock(self) -> VirtualClock:
        """The clock of one session."""
        step = round(self.tick * _SECOND)
        return VirtualClock(self.start, step, sleeps_count=self.sleep == "virtual")


def _nanoseconds_of(clock: object) -> int:
    if isinstance(clock, datetime):
        if clock.tzinfo is None:
            raise ValueError(f"Deterministic(clock={clock!r}): must have a time zone, such as datetime.UTC")
        passed = clock - datetime(1970, 1, 1, tzinfo=UTC)
        nanoseconds = ((passed.days * 86400 + passed.seconds) * 10**6 + passed.microseconds) * 1000
    elif isinstance(clock, bool) or not isinstance(clock, (int, float)):
        raise TypeError(
            f"Deterministic(clock={clock!r}): must be a datetime or seconds since 1970-01-01 UTC as a number"
        )
    else:
        if isinstance(clock, float) and not math.isfinite(clock):
            raise ValueError(f"Deterministic(clock={clock!r}): must be finite")
        nanoseconds = clock * _SECOND if isinstance(clock, int) else round(clock * 1e6) * 1000
    if not 0 <= nanoseconds <= _LAST * _SECOND:
        raise ValueError(f"Deterministic(clock={clock!r}): must be between the years 1970 and 9999")
    return nanoseconds
