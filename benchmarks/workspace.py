"""How fast a workspace is searched, and what its storages take.

    python benchmarks/workspace.py
    python benchmarks/workspace.py --only search

Everything is in temporary places; Redis is measured where there is a `redis-server`. "--only tool" measures
how code calls tools.
"""

from __future__ import annotations

import contextlib
import random
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import measure
from measure import Row, Stopwatch, Task

import planaria
from planaria.storage.documents import Documents
from planaria.workspace.storage.storage import Storage

WORKFLOWS = 10_000
QUERIES = (
    "fetch json from github",
    "weather",
    "send an email report",
    "compute the average price of orders in a table",
)
_WORDS = tuple(
    """
    average chart column compare compute convert csv database email fetch file filter github image invoice
    json list mail merge message order page parse plot post price query read report resize row sales send
    slack sort split stock sum table text translate upload user weather write
    """.split()  # noqa: SIM905 - shorter
)


@contextlib.contextmanager
def redis_server(directory: str) -> Iterator[str]:
    program = shutil.which("redis-server")
    if program is None:
        raise RuntimeError("redis-server is not installed")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", directory]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        for _ in range(500):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.02)
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        server.terminate()
        server.wait()


@contextlib.contextmanager
def opened(kind: str) -> Iterator[Storage]:
    """An empty storage of a kind."""
    with tempfile.TemporaryDirectory() as directory, contextlib.ExitStack() as stack:
        if kind == "file":
            yield planaria.FileStorage(directory)
        elif kind == "SQLite":
            yield planaria.SqliteStorage(Path(directory) / "workspace.db")
        else:
            yield planaria.RedisStorage(stack.enter_context(redis_server(directory)))


def fill(storage: Storage) -> None:
    """Many workflows, written at once."""
    dice = random.Random(1)

    def action(documents: Documents) -> None:
        for number in range(WORKFLOWS):
            name = "_".join([*dice.sample(_WORDS, 3), str(number)])
            about = " ".join(dice.choices(_WORDS, k=12))
            source = (
                f"async def run({dice.choice(_WORDS)}: str, limit: int = 10) -> dict:\n    '''{about}.'''\n"
            )
            documents.put(f"workflows/{name}.py", source.encode())

    storage.write(action)


def search(kind: str) -> Task:
    def task(watch: Stopwatch, repeats: int) -> None:
        with opened(kind) as storage:
            fill(storage)
            library = storage.get_workflow_library()
            library.search(QUERIES[0])
            for _ in range(repeats):
                for query in QUERIES:
                    with watch:
                        library.search(query)

    return task


def first_search(watch: Stopwatch, repeats: int) -> None:
    with opened("SQLite") as storage:
        fill(storage)
        for _ in range(repeats):
            library = planaria.SqliteStorage(storage.path).get_workflow_library()  # type: ignore[attr-defined]
            with watch:
                library.search(QUERIES[0])


def repeated(kind: str, prepare: Callable[[Storage], Callable[[], object]]) -> Task:
    """The time that something takes in a storage."""

    def task(watch: Stopwatch, repeats: int) -> None:
        with opened(kind) as storage:
            work = prepare(storage)
            for _ in range(repeats):
                with watch:
                    work()

    return task


def save(storage: Storage) -> Callable[[], object]:
    store = storage.get_artifact_store()
    return lambda: store.save("analysis", {"repos": 42}, "GitHub analysis")


def load(storage: Storage) -> Callable[[], object]:
    store = storage.get_artifact_store()
    store.save("analysis", {"repos": 42}, "GitHub analysis")
    return lambda: store.load("analysis")


def get(storage: Storage) -> Callable[[], object]:
    library = storage.get_workflow_library()
    library.add("fetch_json", "async def run(url: str) -> dict:\n    return {}\n", "Fetch JSON")
    return lambda: library.get("fetch_json")


def stream(storage: Storage) -> Callable[[], object]:
    store = storage.get_artifact_store()
    piece = bytes(1 << 20)

    def work() -> None:
        with store.writer("large", "bytes") as out:
            for _ in range(64):
                out.write(piece)
        with store.reader("large") as file:
            while file.read(1 << 20):
                pass

    return work


KINDS = ("file", "SQLite", "Redis")


class Looking:
    """A middleware that sees every call and changes none."""

    def before(self, call: planaria.ToolCall) -> None: ...


def add(a: int, b: int) -> int:
    return a + b


def tool_call(
    call: str, middleware: Sequence[Any] = (), *, executor: str = "from_base", calls: int = 1000
) -> Task:
    """One call of a plain Python function, of many in a loop of the code, from end to end."""

    def task(watch: Stopwatch, repeats: int) -> None:
        with tempfile.TemporaryDirectory() as directory:
            tools = planaria.ToolRegistry([add], middleware=middleware)
            session = getattr(planaria.Session, executor)(directory, tools=tools)
            session.add_workflow("add", "def run(a): return tools.add(a=a, b=1)\n")
            code = f"for _ in range({calls}): {call}"
            session.execute(code)
            watch.times = calls
            for _ in range(repeats):
                with watch:
                    session.execute(code)
            session.close()

    return task


def starting(watch: Stopwatch, repeats: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        for _ in range(repeats):
            with watch, planaria.Session.from_base(directory, tools=[add]) as session:
                session.execute("1")


SEARCH = [
    *(
        Row(f"search among {WORKFLOWS} workflows, {kind}", {"ours": search(kind)}, most=20e-3, repeats=10)
        for kind in KINDS
    ),
    Row(f"the first search among {WORKFLOWS} workflows", {"ours": first_search}, repeats=2),
]
STORAGE = [
    Row(f"{what}, {kind}", {"ours": repeated(kind, prepare)}, repeats=repeats)
    for what, prepare, repeats in (
        ("save a small artifact", save, 50),
        ("load it", load, 100),
        ("get a workflow", get, 100),
        ("write and read 64 MB in pieces", stream, 3),
    )
    for kind in KINDS
]

TOOL_CALLS = [
    Row("tool call in the sandbox, plain", {"ours": tool_call("tools.add(a=1, b=2)")}, most=200e-6),
    Row("tool call in the sandbox, awaited", {"ours": tool_call("await tools.add(a=1, b=2)")}),
    Row(
        "tool call through a registry with middleware",
        {"ours": tool_call("tools.add(a=1, b=2)", [Looking()])},
    ),
    Row("a workflow that calls a tool", {"ours": tool_call("workflows.add(a=1)", calls=100)}),
    Row("tool call in this process", {"ours": tool_call("tools.add(a=1, b=2)", executor="inprocess")}),
    Row("tool call in a child process", {"ours": tool_call("tools.add(a=1, b=2)", executor="subprocess")}),
    Row("session with a workspace: make, run, close", {"ours": starting}),
]

if __name__ == "__main__":
    measure.main(__file__, [*SEARCH, *STORAGE, *TOOL_CALLS], __doc__ or "")
