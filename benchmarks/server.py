"""What the server costs beside the sessions that it serves: round trips over HTTP, parked sessions, memory.

The server runs in a process of its own, on loopback. Redis is started when `redis-server` is installed. The
page is opened in Chromium when playwright is installed.
"""

from __future__ import annotations

import http.client
import importlib.util
import json
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from measure import Row, Stopwatch, Task, main
from redis_socket import redis_in

_WARM = 20
_PARKED = 1000
_LIVE = 200


class Client:
    """Requests over one connection."""

    def __init__(self, url: str, process: int) -> None:
        self.url = url
        self.process = process
        self._connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=600)

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body)
        self._connection.request(method, path, data, {"Content-Type": "application/json"})
        response = self._connection.getresponse()
        found = response.read()
        if response.status >= 400:
            raise RuntimeError(found.decode())
        return json.loads(found) if found else None

    def memory(self) -> int:
        """The memory of the server, where pages shared with others count once."""
        text = Path(f"/proc/{self.process}/smaps_rollup").read_text("ascii")
        found = re.search(r"^Pss: +(\d+) kB", text, re.MULTILINE)
        assert found is not None
        return int(found[1]) * 1024


@contextmanager
def server(*options: str) -> Iterator[Client]:
    running = subprocess.Popen(
        [sys.executable, "-m", "planaria", "serve", "--port", "0", *options],
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert running.stderr is not None
        found = re.search(r"http://\S+", running.stderr.readline())
        assert found is not None
        yield Client(found[0], running.pid)
    finally:
        running.send_signal(signal.SIGTERM)
        running.wait()


@contextmanager
def store_of(kind: str) -> Iterator[str]:
    """The URL of an empty store."""
    with tempfile.TemporaryDirectory() as directory:
        if kind == "files":
            yield f"{directory}/store"
            return
        if kind == "sqlite":
            yield f"sqlite:///{directory}/store.db"
            return
        with redis_in(directory) as url:
            yield url


def round_trip(*kind: str) -> Task:
    """A request that executes, less the same execution here; with a store if one is named."""

    def task(watch: Stopwatch, repeats: int) -> None:
        if kind:
            with store_of(kind[0]) as store, server("--store", store) as client:
                measure(client, watch, repeats)
        else:
            with server() as client:
                measure(client, watch, repeats)

    def measure(client: Client, watch: Stopwatch, repeats: int) -> None:
        import planaria

        client.ask("POST", "/v1/sessions", {"id": "one"})
        with planaria.Session() as session:
            for number in range(_WARM + repeats):
                begin = time.perf_counter()
                session.run("x = 1")
                between = time.perf_counter()
                client.ask("POST", "/v1/sessions/one/run", {"code": "x = 1"})
                if number >= _WARM:
                    watch.record(time.perf_counter() - 2 * between + begin)

    return task


def listed(watch: Stopwatch, repeats: int) -> None:
    """The list of parked sessions."""
    with store_of("sqlite") as store, server("--store", store, "--max-sessions", "16") as client:
        client.ask("POST", "/v1/sessions", {"id": "one"})
        for made in range(1, _PARKED, 9):  # more than the default quota of a token would be refused
            client.ask("POST", "/v1/sessions/one/fork", {"n": min(9, _PARKED - made)})
        for _ in range(repeats):
            with watch:
                found = client.ask("GET", "/v1/sessions?limit=1000")
            assert found["total"] == _PARKED


def resumed(kind: str) -> Task:
    """A request to a parked session, less one to a session that is live."""

    def task(watch: Stopwatch, repeats: int) -> None:
        # With room for two, each of three that take turns is parked when its turn comes.
        with store_of(kind) as store, server("--store", store, "--max-sessions", "2") as client:
            names = ("a", "b", "c")
            for name in names:
                client.ask("POST", "/v1/sessions", {"id": name})
                client.ask(
                    "POST", f"/v1/sessions/{name}/run", {"code": "rows = [{'n': n} for n in range(1000)]"}
                )
            for number in range(3 + repeats):
                path = f"/v1/sessions/{names[number % 3]}/history"
                begin = time.perf_counter()
                client.ask("GET", path)
                between = time.perf_counter()
                client.ask("GET", path)
                if number >= 3:
                    watch.record(2 * between - begin - time.perf_counter())

    return task


def live(watch: Stopwatch, repeats: int) -> None:
    """The memory of a server with sessions that have executed something."""
    with server("--max-sessions", str(_LIVE + 1)) as client:
        for number in range(_LIVE):
            client.ask("POST", "/v1/sessions", {"id": f"s{number}"})
            client.ask("POST", f"/v1/sessions/s{number}/run", {"code": "x = list(range(100))"})
        watch.record(client.memory())


def started(watch: Stopwatch, repeats: int) -> None:
    """From the command to the first answer."""
    for _ in range(repeats):
        begin = time.perf_counter()
        with server() as client:
            client.ask("GET", "/health")
            watch.record(time.perf_counter() - begin)


def painted(watch: Stopwatch, repeats: int) -> None:
    """The first paint of the page with a session of three cells, in a browser without a cache."""
    from playwright.sync_api import sync_playwright

    script = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
    with server("--ui") as client, sync_playwright() as playwright:
        client.ask("POST", "/v1/sessions", {"id": "one"})
        for code in ("print(1)", "6 * 7", "import math"):
            client.ask("POST", "/v1/sessions/one/run", {"code": code})
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for number in range(1 + repeats):
            context = browser.new_context(viewport={"width": 1360, "height": 860})
            page = context.new_page()
            page.goto(f"{client.url}/#one")
            page.locator("#cells .cell .cm-content").first.wait_for()
            if number:
                watch.record(page.evaluate(script) / 1e3)
            context.close()
        browser.close()


def assets(watch: Stopwatch, _repeats: int) -> None:
    """All files of the page."""
    import planaria.server

    files = (Path(planaria.server.__file__).parent / "ui").rglob("*")
    watch.record(sum(one.stat().st_size for one in files if one.is_file()))


_HAS_BROWSER = importlib.util.find_spec("playwright") is not None and shutil.which("chromium") is not None

ROWS = (
    Row("start of `planaria serve`, to its first answer", {"ours": started}, most=1.0, repeats=10),
    Row("run over HTTP, less the execution", {"ours": round_trip()}, most=0.002, repeats=200),
    Row("the same with a SQLite store", {"ours": round_trip("sqlite")}, repeats=100),
    Row("the same with a directory as store", {"ours": round_trip("files")}, repeats=50),
    Row("list 1,000 parked sessions", {"ours": listed}, most=0.05),
    Row("resume a parked session, files", {"ours": resumed("files")}, most=0.02),
    Row("resume a parked session, Redis", {"ours": resumed("redis")}, most=0.03),
    Row("200 live sessions", {"ours": live}, most=400e6, unit="bytes", repeats=1),
    Row("files of the page", {"ours": assets}, most=1.5e6, unit="bytes", repeats=1),
    *((Row("first paint of the page", {"ours": painted}, most=0.5, repeats=10),) if _HAS_BROWSER else ()),
)

if __name__ == "__main__":
    main(__file__, ROWS, (__doc__ or "").splitlines()[0])
