"""A pool under faults: killed workers, a Redis that is restarted, an object store that answers with errors.

Sessions are parked, some in Redis and some in an object store. Steps at random names count in the sessions by
a callback that is awaited, while workers are killed at random moments. In the end each session must have
counted exactly the steps that were sent to it, and each count must have been answered once.

    python benchmarks/pool_faults.py                    # 10,000 sessions, 2,000 steps; some minutes
    python benchmarks/pool_faults.py --engine ray       # on two nodes of this machine
    python benchmarks/pool_faults.py --sessions 60 --steps 60

The exit status is 1 when something was lost or done twice. Needs `redis-server` and moto.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

#: Seconds within which a step's worker is killed, if it is.
_MOMENTS = 0.06
#: Sessions that no step was sent to, which are looked at in the end.
_LOOKED_AT = 200


def increment() -> int:
    """The callback of the sessions; takes a moment."""
    time.sleep(0.005)
    return 1


class RestartedRedis:
    """A server that loses nothing when it is killed, since it writes each command through to the disk."""

    def __init__(self, directory: str) -> None:
        program = shutil.which("redis-server")
        if program is None:
            raise SystemExit("redis-server is not installed")
        self._place = f"{directory}/socket"
        self._command = [program, "--port", "0", "--unixsocket", self._place, "--dir", directory]
        self._command += [
            "--save",
            "",
            "--appendonly",
            "yes",
            "--appendfsync",
            "always",
            "--loglevel",
            "warning",
        ]
        self.url = f"unix://{self._place}?db=0"
        self.restarts = -1
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL)
        self.restarts += 1
        while True:
            with socket.socket(socket.AF_UNIX) as connection:
                if connection.connect_ex(self._place) == 0:
                    return
            time.sleep(0.05)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


class Run:
    """Steps at random names, each of which is checked."""

    def __init__(self, pools: dict[str, Any], names: list[str], kill_share: float, seed: int) -> None:
        self._pools = pools
        self._names = names
        self._kill_share = kill_share
        self._random = random.Random(seed)
        self._lock = threading.Lock()
        self._pids: dict[str, list[int]] = {}
        self.sent: Counter[str] = Counter()
        self.answers: dict[str, list[int]] = {}
        self.kills = 0
        self.reported = 0
        """Steps of which all workers were lost, so that they were reported as not done."""
        self.faults: list[str] = []
        self.seconds: list[float] = []

    def step(self, number: int) -> None:
        """One step at a random name; its worker, or another one, may be killed while it executes."""
        with self._lock:
            name = self._random.choice(self._names)
            kills = self._random.random() < self._kill_share
            moment = self._random.random() * _MOMENTS
            self.sent[name] += 1
        pool = self._pools[name.partition("-")[0]]
        timer = threading.Timer(moment, self._kill, [pool])
        if kills:
            timer.start()
        begin = time.monotonic()
        try:
            result = self._answered(pool, name)
        except Exception as error:
            self.faults.append(f"{name}: step {number}: {type(error).__name__}: {error}")
            return
        with self._lock:
            self.seconds.append(time.monotonic() - begin)
            self.answers.setdefault(name, []).append(result.value)

    def _answered(self, pool: Any, name: str) -> Any:
        """The result of a step; one that is reported as not done is sent again, as a client would do."""
        from planaria.pool import WorkerLost

        while True:
            try:
                result = pool.run(name, "n += await increment()\nn")
            except WorkerLost:
                self.reported += 1
                continue
            if result.error is not None:
                raise result.error
            return result

    def _kill(self, pool: Any) -> None:
        pids = pool.worker_pids()
        if pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._random.choice(pids), signal.SIGKILL)
                self.kills += 1

    def check(self) -> None:
        """Note what is not as it has to be."""
        for kind, pool in self._pools.items():
            wanted = {name for name in self._names if name.startswith(f"{kind}-")} | {"base"}
            if set(pool.names()) != wanted:
                self.faults.append(f"{kind}: sessions are lost or new: {len(set(pool.names()) ^ wanted)}")
        for name, count in self.sent.items():
            if sorted(self.answers.get(name, [])) != list(range(1, count + 1)):
                self.faults.append(f"{name}: {count} steps were answered with {self.answers.get(name)}")
        untouched = [name for name in self._names if name not in self.sent]
        looked_at = self._random.sample(untouched, min(_LOOKED_AT, len(untouched)))
        for kind, pool in self._pools.items():
            names = [name for name in (*self.sent, *looked_at) if name.startswith(f"{kind}-")]
            for name, n in zip(names, pool.map(names, "n"), strict=True):
                if n != self.sent[name]:
                    self.faults.append(f"{name}: {n} instead of {self.sent[name]}")


@contextlib.contextmanager
def engine_of(kind: str, workers: int) -> Iterator[str]:
    """The name of an engine, whose cluster runs meanwhile."""
    if kind == "ray":
        import ray
        from ray.cluster_utils import Cluster

        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": workers})
        cluster.add_node(num_cpus=workers)
        variables = {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])}
        ray.init(address=cluster.address, log_to_driver=False, runtime_env={"env_vars": variables})
        yield kind
        ray.shutdown()
        cluster.shutdown()
        return
    yield kind


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sessions", type=int, default=10_000)
    parser.add_argument("--steps", type=int, default=2_000)
    parser.add_argument("--objects", type=float, default=0.1, help="the share in the object store")
    parser.add_argument("--kills", type=float, default=0.1, help="of so many steps a worker is killed")
    parser.add_argument("--errors", type=float, default=0.05, help="of so many requests to the object store")
    parser.add_argument("--restarts", type=int, default=2, help="of Redis")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--engine", choices=["processes", "ray"], default="processes")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    from failing_objects import FailingObjects

    from planaria.pool import Pool

    objects = FailingObjects(options.errors, options.seed)
    with tempfile.TemporaryDirectory() as directory, contextlib.ExitStack() as stack:
        redis = RestartedRedis(directory)
        stack.callback(redis.kill)
        engine = stack.enter_context(engine_of(options.engine, options.workers))
        urls = {"redis": redis.url, "objects": objects.url}
        pools = {
            kind: stack.enter_context(
                Pool(url, engine, callbacks="pool_faults:callbacks", workers=options.workers, patience=120)
            )
            for kind, url in urls.items()
        }
        begin = time.monotonic()
        names: list[str] = []
        for kind, pool in pools.items():
            share = options.objects if kind == "objects" else 1 - options.objects
            own = [f"{kind}-{number}" for number in range(round(options.sessions * share))]
            pool.run("base", "n = 0")
            names += pool.fork("base", names=own)
        parked = time.monotonic() - begin
        run = Run(pools, names, options.kills, options.seed)
        begin = time.monotonic()
        restarts = {(one + 1) * options.steps // (options.restarts + 1) for one in range(options.restarts)}
        with ThreadPoolExecutor(2 * options.workers) as clients:
            for number in range(options.steps):
                clients.submit(run.step, number)
            last = -1
            while len(run.seconds) + len(run.faults) < options.steps:
                done = len(run.seconds)
                if any(last < one <= done for one in restarts):
                    redis.kill()
                    time.sleep(1)
                    redis.start()
                last = done
                time.sleep(0.02)
        stepped = time.monotonic() - begin
        run.check()
    objects.stop()
    seconds = sorted(run.seconds) or [0.0]
    print(
        f"{len(names):,} sessions parked in {parked:.0f} s; {options.steps:,} steps in {stepped:.0f} s on "
        f"{options.engine}, {run.kills} kills of workers, {redis.restarts} restarts of Redis, "
        f"{objects.errors:,} errors of {objects.requests:,} requests to the object store; "
        f"{run.reported} steps were reported as not done, and sent again"
    )
    places = {"half": 0.5, "99 %": 0.99, "all": 1.0}
    latest = {
        label: seconds[min(len(seconds) - 1, int(place * len(seconds)))] for label, place in places.items()
    }
    print("answered within: " + ", ".join(f"{label} {value:.2f} s" for label, value in latest.items()))
    for fault in run.faults:
        print(fault)
    return 1 if run.faults else 0


callbacks = [increment]

if __name__ == "__main__":
    sys.exit(main())
