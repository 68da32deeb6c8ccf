"""Workers of a `concurrent.futures.Executor`: of a process pool, or of Dask by `client.get_executor()`."""

from __future__ import annotations

import pickle
import threading
from concurrent.futures import BrokenExecutor, Executor, Future
from typing import Final

from planaria.pool.engine import Engine
from planaria.pool.errors import WorkerLost
from planaria.pool.steps import Reply, Step
from planaria.pool.worker import Worker, WorkerSettings
from planaria.session import worker_threads

__all__ = ["FuturesEngine", "step_here"]

#: The workers of this process, by their pickled settings.
_WORKERS: Final[dict[bytes, Worker]] = {}
#: A worker executes one step at a time.
_TURN: Final = threading.Lock()


class FuturesEngine(Engine):
    """Sends each step wherever the executor sends it. The executor is the caller's, and is not shut down."""

    def __init__(self, executor: Executor, settings: WorkerSettings) -> None:
        self._executor = executor
        self._settings = pickle.dumps(settings)

    def submit(self, step: Step) -> Future[Reply]:
        future: Future[Reply] = Future()
        try:
            inner = self._executor.submit(step_here, self._settings, step)
        except BrokenExecutor as error:
            future.set_exception(WorkerLost(f"the executor is broken: {error}"))
            return future

        def pass_on(done: Future[Reply]) -> None:
            error = done.exception()
            if isinstance(error, BrokenExecutor):
                # On another thread: this one may hold the lock of the executor, which the next step needs.
                lost = WorkerLost(f"a worker of the executor ended: {error}")
                worker_threads.submit(lambda: future.set_exception(lost))
            elif error is not None:
                future.set_exception(error)
            else:
                future.set_result(done.result())

        inner.add_done_callback(pass_on)
        return future

    def drain(self) -> None:
        """Nothing: which processes there are is the executor's, and every state is saved already."""

    def close(self) -> None:
        """Nothing: the executor is the caller's."""


def step_here(settings: bytes, step: Step) -> Reply:
    """Execute a step in a process of the executor."""
    with _TURN:
        worker = _WORKERS.get(settings)
        if worker is None:
            worker = _WORKERS[settings] = Worker(pickle.loads(settings))
            worker.appear()
        return worker.step(step)
