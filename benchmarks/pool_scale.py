"""How far a pool scales: a discrete simulation of its workers and its store, calibrated by measured times.

    python benchmarks/pool_scale.py --measure          # measures this machine first, in processor time
    python benchmarks/pool_scale.py --plots docs/figures

Each worker takes one step at a time: it reads the newest version from the store (and the snapshot, unless it
has the session in memory), executes, and saves. Redis carries out one command at a time, so its processor
time for a step is what it is busy for; an object store has latencies and no limit of its own. Steps arrive at
random, at names of which few are used much.
"""

from __future__ import annotations

import argparse
import heapq
import itertools
import json
import random
import tempfile
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

#: Workers on each node, one a processor.
_WORKERS = 8
#: What code itself takes, in seconds: the mean of an exponential distribution.
_EXECUTION = 0.02
#: Sessions that a worker keeps in memory.
_LIVE = 16
#: The share of steps at the thousand most used sessions.
_POPULAR = 0.2
_SHIFT = 0.001


@dataclass(frozen=True)
class Times:
    """What `--measure` gave: seconds of a processor, and bytes."""

    live: float = 0.0025
    """A step in a worker that has the session, without its code: encoding and saving."""
    restored: float = 0.0117
    """The same in a worker that has to restore the session."""
    redis_live: float = 0.00026
    """What Redis is busy for, for a step of the first kind."""
    redis_restored: float = 0.00125
    saved: int = 25_000
    """Bytes that a step saves."""
    loaded: int = 50_600
    """Bytes that are read to restore a session."""
    object_get: float = 0.015
    """Seconds of a request to an object store, with its latency: an assumption, not measured."""
    object_put: float = 0.030


def measure() -> Times:
    """Measure this machine in processor time, which other work changes little."""
    from redis import Redis
    from redis_socket import redis_in

    from planaria.pool.steps import Execute, Step
    from planaria.pool.worker import Worker, WorkerSettings

    repeats = 60
    with tempfile.TemporaryDirectory() as directory, redis_in(directory) as url:
        client = Redis.from_url(url)
        worker = Worker(WorkerSettings(url))
        worker.step(Step("one", Execute("x = 0; rows = [{'n': n} for n in range(1000)]")))

        def busy(action: Callable[[], Any]) -> tuple[float, float]:
            """Seconds of this process and of Redis for one step."""
            for _ in range(5):
                action()
            info: Any = client.info("cpu")
            theirs = info["used_cpu_user"] + info["used_cpu_sys"]
            ours = time.process_time()
            for _ in range(repeats):
                action()
            ours = time.process_time() - ours
            info = client.info("cpu")
            theirs = info["used_cpu_user"] + info["used_cpu_sys"] - theirs
            return ours / repeats, theirs / repeats

        def restored() -> None:
            worker.drain()
            worker.step(Step("one", Execute("x += 1")))

        live, redis_live = busy(lambda: worker.step(Step("one", Execute("x += 1"))))
        again, redis_restored = busy(restored)
        snapshot = worker._store.load("one")
        loaded = sum(len(one) for one in snapshot.chain())
        worker.close()
        client.close()
    return Times(live, again, redis_live, redis_restored, len(snapshot), loaded)


@dataclass
class Outcome:
    """What a run has shown."""

    nodes: int
    store: str
    offered: float
    """Steps that arrive in a second."""
    done: float
    half: float
    most: float
    """Seconds within which 50 and 99 % were answered."""
    live: float
    """The share of steps whose worker had the session."""
    bytes: float
    """Moved between workers and store in a second."""
    store_busy: float
    """The share of time for which Redis was busy; of several, the busiest."""


class Simulation:
    """Workers, a store and steps, event by event."""

    def __init__(self, times: Times, nodes: int, sessions: int, store: str, rate: float, steps: int) -> None:
        self._times = times
        self._random = random.Random(f"{nodes} {store} {rate:g}")
        self._sessions = sessions
        self._rate = rate
        self._steps = steps
        self._workers = nodes * _WORKERS
        self._is_objects = store == "objects"
        self._free_at = [0.0] * (1 if self._is_objects else int(store.removeprefix("redis ")))
        self._busy = [0.0] * len(self._free_at)
        self._nodes, self._store = nodes, store
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._now = 0.0
        self._waiting: dict[int, deque[tuple[float, int]]] = {}
        self._cache: dict[int, OrderedDict[int, None]] = {}
        self._last: dict[int, int] = {}
        self._seconds: list[float] = []
        self._ends: list[float] = []
        self._hits = 0
        self._bytes = 0

    def run(self) -> Outcome:
        self._arrive()
        while self._events:
            self._now, _, action = heapq.heappop(self._events)
            action()
        seconds = sorted(self._seconds)
        return Outcome(
            self._nodes,
            self._store,
            self._rate,
            self._in_the_middle(),
            seconds[len(seconds) // 2],
            seconds[int(0.99 * len(seconds))],
            self._hits / len(seconds),
            self._bytes / self._now,
            0.0 if self._is_objects else max(self._busy) / self._now,
        )

    def _in_the_middle(self) -> float:
        """Steps in a second, without the beginning, when all is idle, and the end, when no more arrive."""
        begin, end = self._now / 4, self._now / 2
        return sum(begin <= at < end for at in self._ends) / (end - begin)

    def _after(self, seconds: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._events, (self._now + seconds, next(self._numbers), action))

    def _arrive(self) -> None:
        popular = self._random.random() < _POPULAR
        name = self._random.randrange(min(1000, self._sessions) if popular else self._sessions)
        self._give(name)
        self._steps -= 1
        if self._steps:
            self._after(self._random.expovariate(self._rate), self._arrive)

    def _give(self, name: int) -> None:
        """To the worker that has it unless another of two is much less busy."""
        other = min((self._random.randrange(self._workers) for _ in range(2)), key=self._length)
        last = self._last.get(name)
        worker = last if last is not None and self._length(last) <= self._length(other) + 1 else other
        self._last[name] = worker
        queue = self._waiting.setdefault(worker, deque())
        queue.append((self._now, name))
        if len(queue) == 1:
            self._begin(worker)

    def _length(self, worker: int) -> int:
        return len(self._waiting.get(worker, ()))

    def _begin(self, worker: int) -> None:
        began, name = self._waiting[worker][0]
        times = self._times
        cache = self._cache.setdefault(worker, OrderedDict())
        is_live = name in cache
        self._hits += is_live
        cache[name] = None
        cache.move_to_end(name)
        if len(cache) > _LIVE:
            cache.popitem(last=False)
        self._bytes += times.saved + (0 if is_live else times.loaded)
        here = self._random.expovariate(1 / _EXECUTION) + (times.live if is_live else times.restored)

        def done() -> None:
            self._seconds.append(self._now - began)
            self._ends.append(self._now)
            queue = self._waiting[worker]
            queue.popleft()
            if queue:
                self._begin(worker)

        if self._is_objects:
            # The lease, the version and the snapshot are read; contents, the version and the lease are put.
            latency = (3 if is_live else 5) * times.object_get + 4 * times.object_put
            self._after(here + latency * self._random.lognormvariate(0, 0.3), done)
            return
        share = times.redis_live if is_live else times.redis_restored
        reads = share / 3 if is_live else share / 2

        def save() -> None:
            self._after(self._at_store(name, share - reads), done)

        def execute() -> None:
            self._after(here, save)

        self._after(self._at_store(name, reads), execute)

    def _at_store(self, name: int, seconds: float) -> float:
        """How long Redis takes for something, with what waits there before it."""
        shard = name % len(self._free_at)
        self._free_at[shard] = max(self._now, self._free_at[shard]) + seconds
        self._busy[shard] += seconds
        return self._free_at[shard] - self._now + _SHIFT


def table(times: Times, steps: int) -> list[Outcome]:
    """Clusters of several sizes at several loads. A load of 1 is what their workers could take at most."""
    found = []
    for nodes in (1, 10, 100, 1000):
        for store in ("redis 1", "redis 16", "objects"):
            waits = 5 * times.object_get + 4 * times.object_put if store == "objects" else 0.0
            capacity = _WORKERS / (_EXECUTION + times.restored + waits)
            for load in (0.3, 0.6, 0.9):
                rate = load * nodes * capacity
                found.append(
                    Simulation(times, nodes, 1000 * nodes, store, rate, max(steps, 60 * nodes)).run()
                )
    return found


def plot(found: list[Outcome], directory: Path) -> None:
    """Throughput and the time of the slowest steps, over the number of nodes."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "planaria"
    from matplotlib import pyplot

    directory.mkdir(parents=True, exist_ok=True)
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.4))
    for store, label in (("redis 1", "one Redis"), ("redis 16", "16 Redis"), ("objects", "an object store")):
        chosen = [one for one in found if one.store == store][1::3]  # at a load of 0.6
        nodes = [one.nodes for one in chosen]
        left.plot(nodes, [one.done for one in chosen], marker="o", label=label)
        right.plot(nodes, [1000 * one.most for one in chosen], marker="o", label=label)
    left.set(xscale="log", yscale="log", xlabel="nodes", ylabel="steps in a second")
    right.set(xscale="log", yscale="log", xlabel="nodes", ylabel="99 % answered within, ms")
    left.legend()
    figure.tight_layout()
    figure.savefig(directory / "scaling.svg", metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--measure", action="store_true", help="calibrate by this machine")
    parser.add_argument("--steps", type=int, default=20_000, help="of each run, at least")
    parser.add_argument("--plots", type=Path, help="write scaling.svg into this directory")
    options = parser.parse_args()
    times = measure() if options.measure else Times()
    print(json.dumps(asdict(times)))
    found = table(times, options.steps)
    print("| nodes | store | arrive | done | half | 99 % | live | MB/s | Redis busy |\n|" + "---|" * 9)
    for one in found:
        times_of = f"{1000 * one.half:,.0f} ms | {1000 * one.most:,.0f} ms"
        print(
            f"| {one.nodes:,} | {one.store} | {one.offered:,.0f}/s | {one.done:,.0f}/s | {times_of} "
            f"| {one.live:.0%} | {one.bytes / 1e6:,.1f} | {one.store_busy:.0%} |"
        )
    if options.plots is not None:
        plot(found, options.plots)


if __name__ == "__main__":
    main()
