"""Forks alive in one process by the thousand, of a session that imported pandas itself and computes with it.

    python benchmarks/forks.py                  # 1,000: 2 GB
    python benchmarks/forks.py --forks 5000     # 10 GB

Each fork executes once and stays. Printed are, after each thousand, the process's memory mappings, the
memory that a fork added (Private_Dirty of /proc/self/smaps_rollup), and how long the latest ones took.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path

import planaria

_BASE = "import pandas as pd; df = pd.DataFrame({'a': range(1000), 'b': list('ab') * 500}); df.describe()"
_EACH = "s = df.groupby('b').a.sum()"
_LATEST = 100
_HEAD = ("forks", "mappings", "of each", "MB of each", "fork, ms", "execution, ms")


def private_megabytes() -> float:
    """What this process has of memory that no other process shares."""
    for line in Path("/proc/self/smaps_rollup").read_text(encoding="ascii").splitlines():
        if line.startswith("Private_Dirty:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("the system does not tell this process's memory")


def mappings() -> int:
    return Path("/proc/self/maps").read_bytes().count(b"\n")


def main() -> None:
    parser = argparse.ArgumentParser(description="How forks of a session with pandas add up.")
    parser.add_argument("--forks", type=int, default=1000, help="how many, all of them alive")
    forks = parser.parse_args().forks

    base = planaria.Session()
    base.execute(_BASE)
    memory, maps = private_megabytes(), mappings()
    alive: list[planaria.Session] = []
    forking: list[float] = []
    executing: list[float] = []
    print("{:>6} {:>9} {:>8} {:>11} {:>9} {:>14}".format(*_HEAD))
    for count in range(1, forks + 1):
        began = time.perf_counter()
        fork = base.fork()[0]
        forked = time.perf_counter()
        fork.execute(_EACH)
        executing.append(time.perf_counter() - forked)
        forking.append(forked - began)
        alive.append(fork)
        if count in (10, 100, forks) or count % 1000 == 0:
            added = private_megabytes() - memory
            print(
                f"{count:6} {mappings():9} {(mappings() - maps) / count:8.1f} {added / count:11.2f}"
                f" {statistics.median(forking[-_LATEST:]) * 1e3:9.2f}"
                f" {statistics.median(executing[-_LATEST:]) * 1e3:14.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
