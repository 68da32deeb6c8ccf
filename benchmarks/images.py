"""How fast sessions of an image with pandas begin, and what forks cost.

    python benchmarks/images.py

Everything is measured in this process, several times; medians of wall time and of processor time are printed,
since the one says more on an idle computer and the other on a busy one. Memory is what the system says this
process has by itself (Pss of /proc/self/smaps_rollup).
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import planaria

ROUNDS = 30
FIRST = "pd.DataFrame({'a': [1]}).a.sum()"


def milliseconds(work: Callable[[], planaria.Session], rounds: int = ROUNDS) -> tuple[float, float]:
    """Medians of wall and processor time; closing what `work` gives does not count."""
    wall: list[float] = []
    processor: list[float] = []
    for _ in range(rounds):
        began, began_processor = time.perf_counter(), time.process_time()
        session = work()
        wall.append(time.perf_counter() - began)
        processor.append(time.process_time() - began_processor)
        session.close()
    return statistics.median(wall) * 1e3, statistics.median(processor) * 1e3


def own_megabytes() -> float:
    with open("/proc/self/smaps_rollup", encoding="ascii") as file:
        for line in file:
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1024
    raise RuntimeError("the system does not tell this process's memory")


def show(what: str, figures: tuple[float, float], target: str) -> None:
    print(f"{what:58} {figures[0]:8.2f} {figures[1]:8.2f}   {target}")


def new_session(image: planaria.Image) -> planaria.Session:
    session = planaria.Session(image=image)
    assert session.run(FIRST).value == 1
    return session


def fork(session: planaria.Session) -> planaria.Session:
    (other,) = session.fork()
    assert other.run("df.a.sum()").value == 1
    return other


def main() -> None:
    print(f"{'':58} {'wall ms':>8} {'cpu ms':>8}   target")
    began, began_processor = time.perf_counter(), time.process_time()
    image = planaria.Image.build("benchmark-pandas", preload=["pandas"], setup="import pandas as pd")
    try:
        took = (time.perf_counter() - began) * 1e3, (time.process_time() - began_processor) * 1e3
        show("building the image", took, "")
        new_session(image).close()
        show("new session and its first execution", milliseconds(lambda: new_session(image)), "10")
        with planaria.Session(image=image) as session:
            session.run("df = pd.DataFrame({'a': [1]})")
            show("fork and its first execution", milliseconds(lambda: fork(session)), "5")
            before = own_megabytes()
            forks = session.fork(100)
            for one in forks:
                assert one.run("df.a.sum()").value == 1
            each = (own_megabytes() - before) / len(forks)
            print(f"{'100 forks, each with an execution: MB of each':58} {each:8.2f} {'':8}   2")
            for one in forks:
                one.close()
        with planaria.Session(image=image) as session:
            session.run("import numpy as np; array = np.ones(25_000_000)")
            show(
                "fork with an array of 200 MB, the first time",
                milliseconds(lambda: session.fork()[0], 1),
                "200",
            )
            show("fork with an array of 200 MB, again", milliseconds(lambda: session.fork()[0]), "10")
    finally:
        planaria.Image.remove(image.name)


if __name__ == "__main__":
    main()
