"""How fast sessions start, execute and call back, and what they take, beside pyeryx.

With PEER_PYTHON=/path/to/python-with-pyeryx in the environment there are ratios; see measure.py.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections.abc import Callable
from typing import Any

from measure import Row, Stopwatch, Task, main, pss, run_python

_CALLS = 200
_SESSIONS = 200
_THREADS = 4

#: Work that takes a fraction of a second.
_BUSY = "total = 0\nfor i in range(2_000_000):\n    total += i * i\n"
_SUM = "pd.DataFrame({'a': [1]}).a.sum()"
_LINES = "for i in range(200000): print(i)"
_MEGABYTE = "print('x' * 1_000_000)"
_IMPORT = "import time; t = time.perf_counter(); c = time.process_time(); import {}; \
print(time.perf_counter() - t, time.process_time() - c)"


def increment() -> dict[str, int]:
    return {"count": 1}


CALLBACKS = [{"name": "increment", "fn": increment, "description": "Increment counter"}]


def new_ours(**arguments: Any) -> Any:
    import planaria

    return planaria.Session(**arguments)


def new_pyeryx(**arguments: Any) -> Any:
    import eryx  # type: ignore[import-not-found]

    return eryx.Session(**arguments)


New = Callable[..., Any]


def execution(new: New) -> Task:
    def task(watch: Stopwatch, repeats: int) -> None:
        session = new()
        for _ in range(20):
            session.execute("x = 1")
        for _ in range(repeats):
            with watch:
                session.execute("x = 1")

    return task


def first_execution(new: New) -> Task:
    def task(watch: Stopwatch, repeats: int) -> None:
        new().execute("x = 1")  # what a process does once is done
        for _ in range(repeats):
            with watch:
                session = new()
                session.execute("x = 1")
            del session

    return task


def callback(new: New) -> Task:
    def task(watch: Stopwatch, repeats: int) -> None:
        session = new(callbacks=CALLBACKS)
        code = f"for _ in range({_CALLS}):\n    c = await increment()"
        session.execute(code)
        watch.times = _CALLS
        for _ in range(repeats):
            with watch:
                session.execute(code)

    return task


def output(code: str) -> Callable[[New], Task]:
    def kind(new: New) -> Task:
        def task(watch: Stopwatch, repeats: int) -> None:
            session = new()
            session.execute("x = 1")
            for _ in range(repeats):
                with watch:
                    session.execute(code)

        return task

    return kind


def native_output(watch: Stopwatch, repeats: int) -> None:
    """A process of this interpreter that prints the same into a pipe."""
    for _ in range(repeats):
        before = os.times()
        began = time.perf_counter()
        run_python(_LINES)
        wall, after = time.perf_counter() - began, os.times()
        watch.record(
            wall,
            after.children_user + after.children_system - before.children_user - before.children_system,
        )


def with_pandas(watch: Stopwatch, repeats: int) -> None:
    import planaria

    planaria.Image.build("benchmark-pandas", preload=["pandas"], setup="import pandas as pd")  # type: ignore[attr-defined]
    planaria.Session(image="benchmark-pandas").execute(_SUM)
    for _ in range(repeats):
        with watch:
            session = planaria.Session(image="benchmark-pandas")
            session.execute(_SUM)
        session.close()


def memory(new: New) -> Task:
    def task(watch: Stopwatch, repeats: int) -> None:
        sessions = [new()]
        sessions[0].execute("x = 1")
        for _ in range(repeats):
            before = pss()
            added = [new() for _ in range(_SESSIONS)]
            for session in added:
                session.execute("x = list(range(100)); import json; text = json.dumps(x)")
            watch.record((pss() - before) / _SESSIONS)
            del added, session

    return task


def threads(new: New) -> Task:
    def task(watch: Stopwatch, repeats: int) -> None:
        sessions = [new() for _ in range(_THREADS)]
        for session in sessions:
            session.execute("x = 1")
        for _ in range(repeats):
            began = time.perf_counter()
            sessions[0].execute(_BUSY)
            one = time.perf_counter() - began
            workers = [threading.Thread(target=session.execute, args=(_BUSY,)) for session in sessions]
            began = time.perf_counter()
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
            watch.record(_THREADS * one / (time.perf_counter() - began))

    return task


def processes(watch: Stopwatch, repeats: int) -> None:
    """What the machine has to give at this moment: native Python in as many processes."""
    with multiprocessing.Pool(_THREADS) as pool:
        pool.map(exec, [_BUSY] * _THREADS)
        for _ in range(repeats):
            began = time.perf_counter()
            pool.apply(exec, (_BUSY,))
            one = time.perf_counter() - began
            began = time.perf_counter()
            pool.map(exec, [_BUSY] * _THREADS, chunksize=1)
            watch.record(_THREADS * one / (time.perf_counter() - began))


def importing(module: str) -> Task:
    def task(watch: Stopwatch, repeats: int) -> None:
        for _ in range(repeats):
            wall, cpu = run_python(_IMPORT.format(module)).split()
            watch.record(float(wall), float(cpu))

    return task


def both(kind: Callable[[New], Task]) -> dict[str, Task]:
    return {"ours": kind(new_ours), "pyeryx": kind(new_pyeryx)}


ROWS = [
    Row('`session.execute("x = 1")`', both(execution), ratio=0.5, repeats=5000),
    Row("a new session and its first execution", both(first_execution), ratio=1.0, repeats=40),
    Row("one awaited host callback, round trip", both(callback), ratio=0.5),
    Row(f"`{_LINES}`", both(output(_LINES))),
    Row("the same natively, a process", {"ours": native_output}),
    Row("`print` of 1 MB", both(output(_MEGABYTE)), most=0.001, repeats=200),
    Row(
        f"with pandas in the image: a new session and `{_SUM}`", {"ours": with_pandas}, most=0.010, repeats=40
    ),
    Row(
        f"memory of each of {_SESSIONS} live used sessions",
        both(memory),
        most=3e6,
        unit="bytes",
        repeats=1,
    ),
    Row(
        f"{_THREADS} threads, each with a busy session, against one: times the work",
        both(threads),
        least=1.8,
        unit="times",
        repeats=5,
    ),
    Row(
        "the same with native Python in processes: what the machine gives",
        {"ours": processes},
        unit="times",
        repeats=5,
    ),
    Row(
        "`import planaria` (`import eryx`)",
        {"ours": importing("planaria"), "pyeryx": importing("eryx")},
        most=0.1,
    ),
]

if __name__ == "__main__":
    main(__file__, ROWS, (__doc__ or "").splitlines()[0])
