"""`%time` and `%timeit`."""

from __future__ import annotations

import math
import time
import timeit
from dataclasses import dataclass
from typing import Any, Final

__all__ = ["Clock", "TimeitResult", "measure"]

_UNITS: Final = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
#: Seconds that one of the rounds of `%timeit` takes at least, unless their number is given.
_ROUND: Final = 0.2
_ROUNDS: Final = 7


def shown(seconds: float, precision: int = 3) -> str:
    """A duration as people read it: `1.25 ms`."""
    if seconds >= 60:
        minutes, rest = divmod(round(seconds), 60)
        hours, minutes = divmod(minutes, 60)
        return f"{hours}h {minutes}min {rest}s" if hours else f"{minutes}min {rest}s"
    for scale, unit in _UNITS:
        if seconds >= scale or unit == "ns":
            break
    return f"{seconds / scale:.{precision}g} {unit}"


class Clock:
    """What `%time` measures: from its making to `report`."""

    def __init__(self) -> None:
        self._cpu = time.process_time()
        self._wall = time.perf_counter()

    def report(self) -> str:
        wall = time.perf_counter() - self._wall
        cpu = time.process_time() - self._cpu
        return f"CPU times: total: {shown(cpu)}\nWall time: {shown(wall)}"


@dataclass(frozen=True, slots=True)
class TimeitResult:
    """What `%timeit -o` returns."""

    loops: int
    repeat: int
    all_runs: list[float]
    """Seconds that each round took."""
    precision: int = 3

    @property
    def timings(self) -> list[float]:
        """Seconds of one loop, of each round."""
        return [run / self.loops for run in self.all_runs]

    @property
    def best(self) -> float:
        return min(self.timings)

    @property
    def worst(self) -> float:
        return max(self.timings)

    @property
    def average(self) -> float:
        return math.fsum(self.timings) / len(self.timings)

    @property
    def stdev(self) -> float:
        mean = self.average
        return math.sqrt(math.fsum((one - mean) ** 2 for one in self.timings) / len(self.timings))

    def __str__(self) -> str:
        runs, loops = ("s" if number != 1 else "" for number in (self.repeat, self.loops))
        average, deviation = shown(self.average, self.precision), shown(self.stdev, self.precision)
        return (
            f"{average} ± {deviation} per loop (mean ± std. dev. of {self.repeat} run{runs}, "
            f"{self.loops:,} loop{loops} each)"
        )

    def __repr__(self) -> str:
        return f"<TimeitResult : {self}>"


def measure(
    statement: str,
    setup: str,
    space: dict[str, Any],
    *,
    loops: int = 0,
    repeat: int = _ROUNDS,
    precision: int = 3,
) -> TimeitResult:
    """Time a statement in a namespace. Without `loops`, as many as take a fifth of a second."""
    timer = timeit.Timer(statement, setup or "pass", globals=space)
    if not loops:
        loops = 1
        while timer.timeit(loops) < _ROUND and loops < 10**9:
            loops *= 10
    return TimeitResult(loops, repeat, timer.repeat(repeat, loops), precision)
