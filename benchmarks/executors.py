"""How fast kernels of other executors start, execute and call back, beside a Jupyter kernel.

With PEER_PYTHON=/path/to/python-with-ipykernel-and-jupyter_client in the environment there are ratios; see
measure.py. Processor time is that of the host's process only.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from measure import Row, Stopwatch, Task, main

_WARM = 30
_LINES = 2000

Execute = Callable[[str], object]
Home = Callable[[], Any]


def new_process(**arguments: Any) -> Any:
    from planaria import Session, SubprocessExecutor

    return Session(executor=SubprocessExecutor(), **arguments)


def new_thread(**arguments: Any) -> Any:
    from planaria import InProcessExecutor, Session

    return Session(executor=InProcessExecutor(), **arguments)


def new_sandbox(**arguments: Any) -> Any:
    from planaria import Session

    return Session(**arguments)


@contextmanager
def ours(new: Home) -> Iterator[Execute]:
    with new() as session:
        yield session.execute


@contextmanager
def jupyter() -> Iterator[Execute]:
    from jupyter_client.manager import start_new_kernel  # type: ignore[import-not-found]

    # It warns of a connection without encryption.
    manager, client = start_new_kernel(stderr=subprocess.DEVNULL)

    def execute(code: str) -> None:
        found: list[Any] = []
        reply = client.execute_interactive(code, output_hook=found.append)
        assert reply["content"]["status"] == "ok"

    try:
        yield execute
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def executing(opened: Callable[[], Any], code: str) -> Task:
    """One execution in a session that has warmed up."""

    def task(watch: Stopwatch, repeats: int) -> None:
        with opened() as execute:
            for _ in range(_WARM):
                execute(code)
            for _ in range(repeats):
                with watch:
                    execute(code)

    return task


def starting(opened: Callable[[], Any]) -> Task:
    """From nothing to the first result; what is kept between sessions is there."""

    def task(watch: Stopwatch, repeats: int) -> None:
        with opened() as execute:
            execute("1 + 1")
        for _ in range(repeats):
            with watch:
                context = opened()
                execute = context.__enter__()
                execute("1 + 1")
            context.__exit__(None, None, None)

    return task


def calling(new: Home, code: str) -> Task:
    """A callback of the host's."""

    def task(watch: Stopwatch, repeats: int) -> None:
        with new(callbacks=[{"name": "increment", "fn": lambda: 1}]) as session:
            session.execute(code)
            watch.times = 200
            for _ in range(repeats):
                with watch:
                    session.execute(code)

    return task


def row(name: str, new: Home, *, most: float | None = None, peer: bool = False) -> Row:
    tasks: dict[str, Task] = {"ours": executing(lambda: ours(new), "1+1")}
    if peer:
        tasks["ipykernel"] = executing(jupyter, "1+1")
    return Row(name, tasks, most=most, repeats=100)


_PRINT = f"for i in range({_LINES}): print('line', i)"
_CALLS = "for _ in range(200): increment.call()"

ROWS = [
    row('subprocess: run("1+1")', new_process, most=1e-3, peer=True),
    Row(
        "subprocess: start, warm cache",
        {"ours": starting(lambda: ours(new_process)), "ipykernel": starting(jupyter)},
        most=0.150,
        repeats=5,
    ),
    Row(
        f"subprocess: print {_LINES} lines",
        {
            "ours": executing(lambda: ours(new_process), _PRINT),
            "ipykernel": executing(jupyter, _PRINT),
        },
        repeats=10,
    ),
    Row("subprocess: a callback", {"ours": calling(new_process, _CALLS)}),
    row('in-process: run("1+1")', new_thread, most=0.15e-3),
    Row("in-process: a callback", {"ours": calling(new_thread, _CALLS)}),
    row('sandbox: run("1+1")', new_sandbox),
]

if __name__ == "__main__":
    main(__file__, ROWS, __doc__ or "")
