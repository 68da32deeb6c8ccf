"""Sessions by name, spread over worker processes: any worker resumes any session from a shared store."""

from planaria.pool.errors import OutcomeUnknown, PoolError, WorkerLost
from planaria.pool.idempotency import idempotency_key
from planaria.pool.pool import AsyncPool, Pool, PoolExecution, Values
from planaria.pool.ray import RayWorkers

__all__ = [
    "AsyncPool",
    "OutcomeUnknown",
    "Pool",
    "PoolError",
    "PoolExecution",
    "RayWorkers",
    "Values",
    "WorkerLost",
    "idempotency_key",
]
