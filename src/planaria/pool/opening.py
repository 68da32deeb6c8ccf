"""The engine of a name."""

from __future__ import annotations

from concurrent.futures import Executor

from planaria.pool.engine import Engine
from planaria.pool.errors import PoolError
from planaria.pool.ray import RayEngine, RayWorkers
from planaria.pool.worker import WorkerSettings

__all__ = ["open_engine"]


def open_engine(
    engine: str | Executor | RayWorkers | Engine, settings: WorkerSettings, workers: int | None
) -> Engine:
    """The engine of a name ("processes", "ray"), one on Ray, or over an executor of `concurrent.futures`."""
    match engine:
        case Engine():
            return engine
        case "processes":
            from planaria.pool.processes import ProcessEngine

            return ProcessEngine(settings, workers)
        case "ray":
            return RayEngine(settings, workers, RayWorkers())
        case RayWorkers():
            return RayEngine(settings, workers, engine)
        case Executor():
            from planaria.pool.futures import FuturesEngine

            if workers is not None:
                raise PoolError("workers= has no meaning with an executor, which has its own")
            return FuturesEngine(engine, settings)
    raise PoolError(
        f'engine={engine!r}: must be "processes", "ray", RayWorkers(…), or a concurrent.futures.Executor'
    )
