"""What runs a pool's workers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Future
from typing import ClassVar, Final

from planaria.pool.errors import PoolError
from planaria.pool.steps import Reply, Step

__all__ = ["ATTEMPTS", "Engine", "StepQueue"]

ATTEMPTS: Final = 5


class Engine(ABC):
    """Workers, and who gets a step. Used by any thread."""

    attempts: ClassVar[int] = ATTEMPTS
    """How often a step is submitted, when the workers that took it before were lost."""

    @abstractmethod
    def submit(self, step: Step) -> Future[Reply]:
        """Have a worker execute a step.

        The future raises WorkerLost when the worker ended in the middle: the step may be submitted again.
        """

    @abstractmethod
    def drain(self) -> None:
        """Have the workers close their live sessions, all of which are saved."""

    @abstractmethod
    def close(self) -> None:
        """Wait for the steps that were submitted, and end the workers."""

    def worker_pids(self) -> list[int]:
        """The processes, where they are of the engine's own. Raises PoolError elsewhere."""
        raise PoolError("the workers of this engine are not its own processes")


class StepQueue:
    """Steps that wait for workers, the oldest first, and which worker had each session last. Not thread-safe.

    A step goes to the worker that had its session last, and to another one only while that is busy.
    """

    def __init__(self, most_live: int) -> None:
        """`most_live` sessions at most are in the memory of all workers together."""
        self._most = most_live
        self._waiting: list[tuple[Step, Future[Reply]]] = []
        #: The worker of a name; the name that was noted last is at the end.
        self._last: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, step: Step, future: Future[Reply]) -> None:
        """A step has to be executed."""
        self._waiting.append((step, future))

    def take(self, worker: int, is_busy: Callable[[int], bool]) -> tuple[Step, Future[Reply]] | None:
        """Remove the step that a worker executes next, if there is one for it."""
        place = self._choice(worker, is_busy)
        return None if place is None else self._taken(place, worker)

    def clear(self) -> list[Future[Reply]]:
        """Remove all steps; their futures."""
        futures = [future for _, future in self._waiting]
        self._waiting.clear()
        return futures

    def _choice(self, worker: int, is_busy: Callable[[int], bool]) -> int | None:
        others = None
        for place, (step, _) in enumerate(self._waiting):
            last = self._last.get(step.name)
            if last == worker:
                return place
            if others is None and (last is None or is_busy(last)):
                others = place
        return others

    def _taken(self, place: int, worker: int) -> tuple[Step, Future[Reply]]:
        taken = self._waiting.pop(place)
        name = taken[0].name
        self._last.pop(name, None)
        self._last[name] = worker
        if len(self._last) > self._most:  # no worker has that one in memory any more
            del self._last[next(iter(self._last))]
        return taken
