"""Sessions used at random for a long time: what a process has of memory, descriptors, mappings and threads.

Threads take sessions in turns and execute, call back, fork, undo, take snapshots, restore them, run shell
scripts, run out of time and fail. A tenth of the sessions is closed and replaced on the way. Nothing may
grow once the sessions have been used for a while, until when nothing is measured:

    python benchmarks/soak.py                  # two minutes, 50 sessions, 8 threads
    python benchmarks/soak.py --minutes 60 --plot soak.csv

The exit status is 1 when something has grown. Which operations come is random, and the same for a seed.
"""

from __future__ import annotations

import argparse
import csv
import gc
import os
import random
import statistics
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

import planaria

_SAMPLE_SECONDS = 2.0
#: Operations for each session before the time begins that is measured: until then their histories fill up.
_WARM_UP = 60
#: What may be added to the median between the second and the last third: a share, and as much besides.
_ALLOWED = {
    "resident": (0.10, 32 << 20),
    "grown": (0.10, 32 << 20),
    "descriptors": (0.05, 8),
    "mappings": (0.10, 64),
    "threads": (0.0, 2),
}
_BAR = 60


@dataclass(frozen=True, slots=True)
class Sample:
    """What the process has at a time; memory in bytes."""

    seconds: float
    resident: int
    grown: int
    """The memory of all guests."""
    descriptors: int
    mappings: int
    threads: int


class Place:
    """A session that threads take in turns."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.session = _new()


def _twice(number: int) -> int:
    return 2 * number


def _new() -> planaria.Session:
    # A checkpoint before each execution, so that each can be undone.
    session = planaria.Session(callbacks=[_twice], limits=planaria.Limits(checkpoint_time=None))
    session.execute("log = []\nimport random, json")
    return session


# -- operations ----------------------------------------------------------------------------------------


def _execute(session: planaria.Session, chance: random.Random) -> None:
    session.execute(f"log.append({chance.randrange(1000)}); del log[:-100]; json.dumps(log)")


def _allocate(session: planaria.Session, chance: random.Random) -> None:
    session.execute(f"data = list(range({chance.randrange(300_000)}))")
    session.execute("data = None")


def _call(session: planaria.Session, chance: random.Random) -> None:
    assert session.execute("sum([await _twice(n) for n in range(20)])").value == 380


def _fork(session: planaria.Session, chance: random.Random) -> None:
    for fork in session.fork(chance.randrange(1, 4)):
        with fork:
            fork.execute("log.append('fork')")


def _undo(session: planaria.Session, chance: random.Random) -> None:
    session.execute("log.append('undone')")
    session.undo()


def _snapshot(session: planaria.Session, chance: random.Random) -> None:
    session.restore_state(bytes(session.snapshot_state()))


def _script(session: planaria.Session, chance: random.Random) -> None:
    session.bash("seq 50 | sort -r | head -n 3 > out; cat out; rm out")


def _time_out(session: planaria.Session, chance: random.Random) -> None:
    assert session.run("while True: pass", timeout=0.05).error is not None


def _fail(session: planaria.Session, chance: random.Random) -> None:
    assert session.run("1 / 0").error is not None


_OPERATIONS: dict[Callable[[planaria.Session, random.Random], None], int] = {
    _execute: 40, _allocate: 6, _call: 8, _fork: 6, _undo: 8, _snapshot: 3, _script: 5, _time_out: 2, _fail: 6
}  # fmt: skip


# -- the soak ------------------------------------------------------------------------------------------


class Soak:
    def __init__(self, sessions: int, seed: int) -> None:
        self.places = [Place() for _ in range(sessions)]
        self.seed = seed
        self.done: Counter[str] = Counter()
        self.failures: list[BaseException] = []
        self.over = threading.Event()

    def work(self, number: int) -> None:
        chance = random.Random(f"{self.seed} {number}")
        operations, weights = list(_OPERATIONS), list(_OPERATIONS.values())
        try:
            while not self.over.is_set():
                place = chance.choice(self.places)
                operation = chance.choices(operations, weights)[0]
                with place.lock:
                    if chance.random() < 0.01:
                        place.session.close()
                        place.session = _new()
                    operation(place.session, chance)
                self.done[operation.__name__.strip("_")] += 1
        except BaseException as error:
            self.failures.append(error)
            self.over.set()

    def sample(self, begun: float) -> Sample:
        gc.collect()
        grown = 0
        for place in self.places:
            with place.lock:
                grown += place.session.run("None").peak_memory_bytes
        status = Path("/proc/self/status").read_text()
        resident = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))
        with open("/proc/self/maps", "rb") as maps:
            mappings = sum(1 for _ in maps)
        return Sample(
            round(time.monotonic() - begun, 1),
            resident * 1024,
            grown,
            len(os.listdir("/proc/self/fd")),
            mappings,
            threading.active_count(),
        )

    def run(self, seconds: float, threads: int) -> list[Sample]:
        workers = [threading.Thread(target=self.work, args=(number,)) for number in range(threads)]
        for worker in workers:
            worker.start()
        # In one step, as other threads count.
        while sum(list(self.done.values())) < _WARM_UP * len(self.places):
            if self.over.wait(_SAMPLE_SECONDS):
                break
        begun = time.monotonic()
        samples = []
        while not self.over.wait(_SAMPLE_SECONDS):
            samples.append(self.sample(begun))
            if time.monotonic() - begun > seconds:
                self.over.set()
        for worker in workers:
            worker.join()
        return samples


def _grown(samples: list[Sample]) -> list[str]:
    """What is larger in the last third than in the second, beyond what is allowed."""
    third = len(samples) // 3
    found = []
    for name, (share, more) in _ALLOWED.items():
        before, after = (
            statistics.median(getattr(one, name) for one in part)
            for part in (samples[third : 2 * third], samples[2 * third :])
        )
        if after > before * (1 + share) + more:
            found.append(f"{name} has grown from {before:,.0f} to {after:,.0f}")
    return found


def _show(samples: list[Sample]) -> None:
    for name in _ALLOWED:
        numbers: list[Any] = [getattr(one, name) for one in samples]
        most = max(numbers) or 1
        marks = "▁▂▃▄▅▆▇█"
        step = max(1, len(numbers) // _BAR)
        line = "".join(marks[round(number / most * (len(marks) - 1))] for number in numbers[::step])
        scale = 1 << 20 if name in ("resident", "grown") else 1
        unit = " MiB" if scale > 1 else ""
        print(f"{name:12} {line}  at most {most / scale:,.0f}{unit}")


def main() -> int:
    parser = argparse.ArgumentParser(description="Use sessions at random, and see that nothing grows.")
    parser.add_argument("--minutes", type=float, default=2)
    parser.add_argument("--sessions", type=int, default=50)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plot", type=Path, metavar="FILE", help="write all samples to this file as CSV")
    given = parser.parse_args()
    soak = Soak(given.sessions, given.seed)
    samples = soak.run(given.minutes * 60, given.threads)
    if soak.failures:
        raise soak.failures[0]
    if given.plot is not None:
        with given.plot.open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow(field.name for field in fields(Sample))
            table.writerows(map(astuple, samples))
    print(", ".join(f"{count:,} {name}" for name, count in soak.done.most_common()))
    if len(samples) < 6:
        print("too short to tell whether anything grows")
        return 0
    _show(samples)
    grown = _grown(samples)
    for line in grown:
        print(line)
    return int(bool(grown))


if __name__ == "__main__":
    sys.exit(main())
