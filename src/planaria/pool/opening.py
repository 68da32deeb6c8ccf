"""The engine of a name."""

from __future__ import annotations

from concurrent.futures import Executor

from planaria.pool.engine import Engine
from planaria.pool.errors import PoolError
from planaria.pool.worker import WorkerSettings

__all__ = ["open_engine"]


def open_engine(engine: str | Executor | Engine, settings: WorkerSettings, workers: int | None) -> Engine:
    """The engine of a name ("processes", "ray"), or over an executor of `concurrent.futures`."""
    match engine:
        case Engine():
            return engine
        case "processes":
            from planaria.pool.processes import ProcessEngine

            return ProcessEngine(settings, workers)
        case "ray":
            from planaria.pool.ray import RayEngine

            return RayEngine(settings, workers)
        case Executor():
            from planaria.pool.futures import FuturesEngine

            if workers is not None:
                raise PoolError("workers= has no meaning with an executor, which has its own")
            return FuturesEngine(engine, settings)
    raise PoolError(f'engine={engine!r}: must be "processes", "ray", or a concurrent.futures.Executor')
