"""What runs a pool's workers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from concurrent.futures import Future
from typing import ClassVar, Final

from planaria.pool.errors import PoolError
from planaria.pool.steps import Reply, Step

__all__ = ["ATTEMPTS", "Engine", "LastWorkers"]

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


class LastWorkers:
    """Which worker had a session last, for the latest `most` names: no worker has the others in memory."""

    def __init__(self, most: int) -> None:
        self._most = most
        #: The name that was noted last is at the end.
        self._numbers: dict[str, int] = {}

    def get(self, name: str) -> int | None:
        """The number of the worker; None for a name that is not known."""
        return self._numbers.get(name)

    def note(self, name: str, number: int) -> None:
        """A worker executes a step of that name."""
        self._numbers.pop(name, None)
        self._numbers[name] = number
        if len(self._numbers) > self._most:
            del self._numbers[next(iter(self._numbers))]
