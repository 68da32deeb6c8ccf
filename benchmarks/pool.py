"""What a pool costs: steps in workers that have a session, resuming in workers that do not, forks, bytes.

Redis is started when `redis-server` is installed; Ray is measured where it is installed.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from measure import Row, Stopwatch, Task, main
from redis_socket import redis_in

if TYPE_CHECKING:
    import planaria
    from planaria.pool import Pool

_WARM = 10
_FORKS = 32


@contextmanager
def files() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as directory:
        yield f"file://{directory}"


@contextmanager
def redis() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as directory, redis_in(directory) as url:
        yield url


def _compare(watch: Stopwatch, pool: Pool, session: planaria.Session, repeats: int) -> None:
    """What a step takes beyond the same execution in the session; the two take turns."""
    for _ in range(_WARM):
        pool.run("one", "x = 1")
        session.run("x = 1")
    for _ in range(repeats):
        begin = time.perf_counter()
        session.run("x = 1")
        between = time.perf_counter()
        pool.run("one", "x = 1")
        watch.record(time.perf_counter() - 2 * between + begin)


def warm_step(watch: Stopwatch, repeats: int) -> None:
    """A step in a process that has the session, less the same execution and nothing else."""
    import planaria
    from planaria.pool import Pool

    with files() as store, Pool(store, workers=1) as pool, planaria.Session() as session:
        _compare(watch, pool, session, repeats)


def resumed(place: str) -> Task:
    """A step in a process that does not have the session: two pools take turns with it."""

    def task(watch: Stopwatch, repeats: int) -> None:
        from planaria.pool import Pool

        with (
            (files if place == "files" else redis)() as store,
            Pool(store, workers=1) as first,
            Pool(store, workers=1) as second,
        ):
            first.run("one", "x = 0; rows = [{'n': n} for n in range(1000)]")
            for pool in (second, first) * (_WARM // 2):
                pool.run("one", "x += 1")
            for number in range(repeats):
                with watch:
                    (second, first)[number % 2].run("one", "x += 1")

    return task


def forks(watch: Stopwatch, repeats: int) -> None:
    import planaria
    from planaria.pool import Pool

    planaria.Image.build("benchmark-pandas", preload=["pandas"], setup="import pandas as pd")
    with files() as store, Pool(store, workers=2, image="benchmark-pandas") as pool:
        pool.run("user", "frame = pd.DataFrame({'a': range(1000)})")
        pool.map(pool.fork("user", 2), "frame.a.sum()")
        for number in range(repeats):
            names = [f"user-{number}-{one}" for one in range(_FORKS)]
            with watch:
                pool.map(pool.fork("user", names=names), "frame.a.sum()")


def stored(watch: Stopwatch, repeats: int) -> None:
    from planaria.pool import Pool
    from planaria.storage.backends.change_log import ChangeLog
    from planaria.stores.opening import open_store

    with files() as store, Pool(store, workers=1) as pool:
        pool.run("one", "x = 1")
        opened = open_store(store)
        log = Path(store.removeprefix("file://"), ".storage", "log")
        for _ in range(repeats):
            opened.collect_garbage()  # which makes files of what is in the log
            before = ChangeLog(log)
            before.refresh()
            pool.run("one", "x = 1")
            after = ChangeLog(log)
            after.refresh()
            watch.record(after.end - before.end)
        opened.close()


def bare_actor(watch: Stopwatch, repeats: int) -> None:
    """A call of an actor of Ray that does nothing."""
    import ray

    class Bare:
        def step(self, name: str) -> str:
            return name

    with cluster():
        actor = ray.remote(Bare).remote()
        for _ in range(_WARM):
            ray.get(actor.step.remote("one"))
        for _ in range(repeats):
            with watch:
                ray.get(actor.step.remote("one"))


def warm_step_on_ray(watch: Stopwatch, repeats: int) -> None:
    """A step in an actor that has the session, less the same execution and nothing else."""
    import planaria
    from planaria.pool import Pool

    with (
        files() as store,
        cluster(),
        Pool(store, "ray", workers=1) as pool,
        planaria.Session() as session,
    ):
        _compare(watch, pool, session, repeats)


@contextmanager
def cluster() -> Iterator[None]:
    """A cluster of one processor, of this machine."""
    import ray

    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, configure_logging=False)
    try:
        yield
    finally:
        ray.shutdown()


#: Where Ray is installed.
RAY = (
    [
        Row(
            "a step in an actor of Ray that has the session: its own cost, beside a call that does nothing",
            {"ours": warm_step_on_ray, "ray": bare_actor},
            most=5e-3,
            repeats=200,
        )
    ]
    if find_spec("ray")
    else []
)
ROWS = [
    Row("a step in a worker that has the session: its own cost", {"ours": warm_step}, most=2e-3, repeats=200),
    *RAY,
    Row("a step in another worker, by files", {"ours": resumed("files")}, most=60e-3, repeats=50),
    Row("a step in another worker, by Redis", {"ours": resumed("redis")}, most=70e-3, repeats=50),
    Row(
        f"{_FORKS} forks with pandas in the image over two workers, a step in each",
        {"ours": forks},
        most=0.5,
        repeats=5,
    ),
    Row(
        "bytes that a step of `x = 1` stores, by files", {"ours": stored}, most=40e3, unit="bytes", repeats=5
    ),
]

if __name__ == "__main__":
    main(__file__, ROWS, (__doc__ or "").splitlines()[0])
