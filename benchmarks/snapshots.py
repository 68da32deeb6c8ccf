"""What it costs to cut a session: snapshots, forks, undo, going on elsewhere, beside pyeryx.

With PEER_PYTHON=/path/to/python-with-pyeryx in the environment there are ratios; see measure.py.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from measure import Row, Stopwatch, Task, main, pss, run_python

_INTS = "data = list(range(100_000))"
_SMALL = """
import json, re

def describe(items):
    return {item: len(item) for item in items}

words = re.findall(r"\\w+", "a small session with a few names in it")
lengths = describe(words)
"""
_PANDAS = "import pandas as pd; frame = pd.DataFrame({'a': range(10)}); int(frame.a.sum())"
_FORKS = 100

_RESUME = """
import sys, time
from planaria import Session, Snapshot
c = time.process_time()
t = time.perf_counter()
session = Session.from_snapshot(Snapshot.load(sys.argv[1]))
assert session.execute("len(words)").value == 9
print(time.perf_counter() - t, time.process_time() - c)
"""

New = Callable[[], Any]


def new_ours() -> Any:
    import planaria

    return planaria.Session()


def new_pyeryx() -> Any:
    import eryx  # type: ignore[import-not-found]

    return eryx.Session()


def taking(new: New, code: str) -> Task:
    """Snapshots of a session that has run `code`, each after one more execution."""

    def task(watch: Stopwatch, repeats: int) -> None:
        session = new()
        session.execute(code)
        session.snapshot_state()
        for number in range(repeats):
            session.execute(f"n = {number}")
            with watch:
                session.snapshot_state()

    return task


def writing(new: New, code: str) -> Task:
    """The same, with the bytes: ours are made when they are asked for."""

    def task(watch: Stopwatch, repeats: int) -> None:
        session = new()
        session.execute(code)
        bytes(session.snapshot_state())
        for number in range(repeats):
            session.execute(f"n = {number}")
            with watch:
                bytes(session.snapshot_state())

    return task


def restoring(new: New, code: str) -> Task:
    def task(watch: Stopwatch, repeats: int) -> None:
        session = new()
        session.execute(code)
        snapshot = session.snapshot_state()
        session.restore_state(snapshot)
        for _ in range(repeats):
            session.execute("data = None")
            with watch:
                session.restore_state(snapshot)

    return task


def size(new: New, code: str) -> Task:
    def task(watch: Stopwatch, repeats: int) -> None:
        session = new()
        session.execute(code)
        for _ in range(repeats):
            watch.record(len(session.snapshot_state()))

    return task


def delta(watch: Stopwatch, repeats: int) -> None:
    session = new_ours()
    session.execute(_SMALL)
    parent = session.snapshot_state()
    for _ in range(repeats):
        session.execute("x = 1")
        with watch:
            bytes(session.snapshot_state(parent=parent))


def delta_size(watch: Stopwatch, repeats: int) -> None:
    session = new_ours()
    session.execute(_SMALL)
    parent = session.snapshot_state()
    session.execute("x = 1")
    for _ in range(repeats):
        watch.record(len(session.snapshot_state(parent=parent)))


def fork(watch: Stopwatch, repeats: int) -> None:
    session = new_ours()
    session.execute(_PANDAS)
    session.fork()[0].close()
    for _ in range(repeats):
        with watch:
            (child,) = session.fork()
            child.execute("x = 1")
        child.close()


def fork_memory(watch: Stopwatch, repeats: int) -> None:
    session = new_ours()
    session.execute(_PANDAS)
    session.fork()[0].close()
    for _ in range(repeats):
        before = pss()
        children = session.fork(_FORKS)
        for child in children:
            child.execute("x = 1")
        watch.record((pss() - before) / _FORKS)
        for child in children:
            child.close()


def undo(watch: Stopwatch, repeats: int) -> None:
    session = new_ours()
    session.execute(_SMALL)
    for number in range(repeats):
        session.checkpoint("before")  # so that this state is kept for certain
        session.execute(f"x = {number}")
        with watch:
            session.undo()


def resume(watch: Stopwatch, repeats: int) -> None:
    session = new_ours()
    session.execute(_SMALL)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "session.planaria"
        session.snapshot_state().save(path)
        for _ in range(repeats):
            wall, cpu = run_python(_RESUME, str(path)).split()
            watch.record(float(wall), float(cpu))


def _large_array() -> Any:
    session = new_ours()
    session.execute("import numpy; array = numpy.arange(25_000_000)")  # 8 bytes each
    return session


def large_first(watch: Stopwatch, repeats: int) -> None:
    for _ in range(repeats):
        session = _large_array()
        with watch:
            (child,) = session.fork()
        child.close()
        session.close()


def large_again(watch: Stopwatch, repeats: int) -> None:
    session = _large_array()
    session.fork()[0].close()
    for number in range(repeats):
        session.execute(f"n = {number}")
        with watch:
            (child,) = session.fork()
        child.close()


def both(kind: Callable[[New, str], Task], code: str) -> dict[str, Task]:
    return {"ours": kind(new_ours, code), "pyeryx": kind(new_pyeryx, code)}


ROWS = [
    Row("snapshot with a list of 100,000 ints", both(taking, _INTS), ratio=1 / 50, repeats=5),
    Row("the same with its bytes", both(writing, _INTS), repeats=5),
    Row("restore of it", both(restoring, _INTS), ratio=1 / 5, repeats=10),
    Row("snapshot to bytes of a small session", both(writing, _SMALL), most=0.015),
    Row("its size", both(size, _SMALL), most=700e3, unit="bytes", repeats=1),
    Row("the same with `parent=`, after `x = 1`", {"ours": delta}, most=0.008),
    Row("its size with `parent=`", {"ours": delta_size}, most=150e3, unit="bytes", repeats=1),
    Row("fork of a session with pandas, and its first execution", {"ours": fork}, most=0.005, repeats=40),
    Row(f"memory of each of {_FORKS} such forks", {"ours": fork_memory}, most=2e6, unit="bytes", repeats=1),
    Row("undo", {"ours": undo}, most=0.005, repeats=40),
    Row("resume in a new process, up to the first result", {"ours": resume}, most=0.1, repeats=10),
    Row("fork with an array of 200 MB, the first time", {"ours": large_first}, most=0.2, repeats=3),
    Row("the same again, the array unchanged", {"ours": large_again}, most=0.01),
]

if __name__ == "__main__":
    main(__file__, ROWS, (__doc__ or "").splitlines()[0])
