"""What runs a pool's workers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from concurrent.futures import Future

from planaria.pool.errors import PoolError
from planaria.pool.steps import Reply, Step

__all__ = ["Engine"]


class Engine(ABC):
    """Workers, and who gets a step. Used by any thread."""

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
