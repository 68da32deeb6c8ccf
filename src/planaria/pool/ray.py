"""Workers that are actors of Ray (https://docs.ray.io), on any machine of its cluster."""

from __future__ import annotations

import os
import threading
from concurrent.futures import Future
from typing import Any

from planaria.pool.engine import ATTEMPTS, Engine, LastWorkers
from planaria.pool.errors import PoolError, WorkerLost
from planaria.pool.steps import Reply, Step
from planaria.pool.worker import Worker, WorkerSettings

__all__ = ["RayEngine"]


class RayEngine(Engine):
    """Actors, each of which executes one step at a time.

    A step goes to the actor that had its session last, unless another one has fewer steps before it. Ray
    starts an actor that was lost again, where there is room, and executes its step again.
    """

    attempts = 1

    def __init__(self, settings: WorkerSettings, workers: int | None) -> None:
        try:
            import ray  # type: ignore[import-not-found,import-untyped,unused-ignore]
        except ImportError as error:
            raise PoolError("engine='ray' needs Ray: pip install 'planaria[ray]'") from error
        if not ray.is_initialized():
            ray.init()
        self._ray: Any = ray
        actor = ray.remote(_Actor).options(num_cpus=1, max_restarts=-1, max_task_retries=ATTEMPTS - 1)
        count = workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
        self._actors = [actor.remote(settings) for _ in range(count)]
        self._lock = threading.Lock()
        self._steps = [0] * count
        self._last = LastWorkers(count * settings.most_live)

    def submit(self, step: Step) -> Future[Reply]:
        future: Future[Reply] = Future()
        with self._lock:
            last = self._last.get(step.name)
            least = min(range(len(self._actors)), key=self._steps.__getitem__)
            number = last if last is not None and self._steps[last] <= self._steps[least] else least
            self._last.note(step.name, number)
            self._steps[number] += 1
        answered = self._actors[number].step.remote(step).future()

        def pass_on(done: Future[Reply]) -> None:
            with self._lock:
                self._steps[number] -= 1
            error = done.exception()
            if isinstance(error, self._ray.exceptions.RayActorError):
                error = WorkerLost(f"an actor was lost in the middle of a step: {error}")
            elif isinstance(error, self._ray.exceptions.RayTaskError):
                error = error.cause
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(done.result())

        answered.add_done_callback(pass_on)
        return future

    def drain(self) -> None:
        self._ray.get([actor.drain.remote() for actor in self._actors])

    def close(self) -> None:
        for actor in self._actors:
            self._ray.kill(actor)

    def worker_pids(self) -> list[int]:
        pids: list[int] = self._ray.get([actor.pid.remote() for actor in self._actors])
        return pids


class _Actor:
    """A worker as Ray has it."""

    def __init__(self, settings: WorkerSettings) -> None:
        self._worker = Worker(settings, end=_end)
        self._worker.appear()

    def step(self, step: Step) -> Reply:
        return self._worker.step(step)

    def drain(self) -> None:
        self._worker.drain()

    def pid(self) -> int:
        return os.getpid()


def _end() -> None:
    """Ray starts another process for this actor."""
    os._exit(0)
