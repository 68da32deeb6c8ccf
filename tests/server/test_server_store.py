"""Sessions in a store: parked, on another server, after the server was killed."""

from __future__ import annotations

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from session_server import client_of, process, served

import planaria


def run(client: httpx.Client, name: str, code: str, **headers: str) -> Any:
    return client.post(f"/v1/sessions/{name}/run", json={"code": code}, headers=headers).json()


def test_idle_sessions_are_parked(tmp_path: Path) -> None:
    """A session beyond the live ones is closed and comes back with the next request, what waits included."""
    store = planaria.SqliteStore(tmp_path / "store.db")
    with served(store=store, max_sessions=1) as server, client_of(server.url) as client:
        client.post("/v1/sessions", json={"id": "a", "callbacks": [{"name": "ask"}], "env": {"E": "1"}})
        [call] = run(client, "a", "import os\nx = await ask()\nx, os.environ['E']")["calls"]
        client.post("/v1/sessions", json={"id": "b"})
        states = {one["id"]: one["live"] for one in client.get("/v1/sessions").json()["sessions"]}
        assert states == {"a": False, "b": True}
        done = client.post(f"/v1/sessions/a/calls/{call['id']}", json={"value": 5}).json()
        assert done["repr"] == "(5, '1')"


def test_the_idle_are_parked_after_a_while(tmp_path: Path) -> None:
    """A session without requests for the time that the server was given is closed, and can be listed."""
    with (
        served(store=planaria.SqliteStore(tmp_path / "s.db"), idle=0.1) as server,
        client_of(server.url) as client,
    ):
        client.post("/v1/sessions", json={"id": "a"})
        for _ in range(10_000):
            if not client.get("/v1/sessions/a").json()["live"]:
                break
        else:
            pytest.fail("the session was never parked")
        assert run(client, "a", "1 + 1")["value"] == 2


def test_two_servers_share_a_store(tmp_path: Path) -> None:
    """A session goes on at whichever server is asked, always from its newest state."""
    with (
        served(store=planaria.FileStore(tmp_path)) as one,
        served(store=planaria.FileStore(tmp_path)) as two,
        client_of(one.url) as first,
        client_of(two.url) as second,
    ):
        first.post("/v1/sessions", json={"id": "a"})
        run(first, "a", "n = 0")
        for client in (first, second, second, first, second, first):
            run(client, "a", "n += 1")
        assert run(second, "a", "n")["value"] == 6
        assert first.delete("/v1/sessions/a").status_code == 204
        assert second.get("/v1/sessions/a").status_code == 404
        assert run(second, "a", "n")["code"] == "no-session"


def test_of_two_changes_at_once_one_counts(tmp_path: Path) -> None:
    """When another server has saved a later state meanwhile, an execution is refused and leaves nothing."""
    with (
        served(store=planaria.SqliteStore(tmp_path / "s.db")) as one,
        served(store=planaria.SqliteStore(tmp_path / "s.db")) as two,
        client_of(one.url) as first,
        client_of(two.url) as second,
    ):
        first.post("/v1/sessions", json={"id": "a", "input": True})
        body, headers = {"code": "n = input()"}, {"Accept": "text/event-stream"}
        with first.stream("POST", "/v1/sessions/a/run", json=body, headers=headers) as stream:
            lines = []
            for line in stream.iter_lines():
                if line == "event: call":
                    assert run(second, "a", "n = 'second'")["ok"]
                    first.post("/v1/sessions/a/calls/b1", json={"value": "first"})
                lines.append(line)
        assert "event: problem" in lines
        assert "changed-elsewhere" in "".join(lines)
        assert run(first, "a", "n")["value"] == "second"


@pytest.mark.slow
def test_what_was_answered_outlives_the_server(tmp_path: Path) -> None:
    """After kill -9 another server has the state of each answered execution, and the results with a key."""
    store = str(tmp_path / "store")
    with process("--store", store) as (url, number), client_of(url) as client:
        client.post("/v1/sessions", json={"id": "a"})
        answered = [run(client, "a", f"x = {n}\nx", **{"Idempotency-Key": f"k{n}"}) for n in range(3)]
        os.kill(number, signal.SIGKILL)
    with process("--store", store) as (url, number), client_of(url) as client:
        again = run(client, "a", "x = 2\nx", **{"Idempotency-Key": "k2"})
        assert again == answered[2]
        assert run(client, "a", "x")["value"] == 2
        assert client.get("/v1/sessions/a").json()["executions"] == 4
        os.kill(number, signal.SIGTERM)


def test_checkpoints_outlive_the_live_session(tmp_path: Path) -> None:
    """A session that was parked can go back to the labels it had, shows them in its tree, and takes them with it
    when it is deleted."""
    store = planaria.FileStore(tmp_path)
    with served(store=store, max_sessions=1) as server, client_of(server.url) as client:
        client.post("/v1/sessions", json={"id": "a"})
        for label, value in (("one", 1), ("two", 2), ("one", 3)):
            run(client, "a", f"x = {value}")
            assert client.post("/v1/sessions/a/checkpoint", json={"label": label}).status_code == 204
        run(client, "a", "x = 4")
        client.post("/v1/sessions", json={"id": "b"})  # parks a
        nodes = client.get("/v1/sessions/a/tree").json()["nodes"]
        assert {tuple(one["labels"]): one["execution"] for one in nodes if one["labels"]} == {
            ("one",): 3,
            ("two",): 2,
        }
        client.get("/v1/sessions/b/history")
        assert client.post("/v1/sessions/a/rewind", json={"to": "two"}).json()["executions"] == 2
        assert run(client, "a", "x")["value"] == 2
        client.get("/v1/sessions/b/history")
        assert client.post("/v1/sessions/a/rewind", json={"to": "one"}).json()["executions"] == 3
        assert run(client, "a", "x")["value"] == 3
        assert client.post("/v1/sessions/a/rewind", json={"to": "none"}).status_code == 409
        assert [one["id"] for one in client.get("/v1/sessions").json()["sessions"]] == ["b", "a"]
        assert client.delete("/v1/sessions/a").status_code == 204
        assert store.list() == ["default.b"]


class SlowStore(planaria.MemoryStore):
    """Waits in its first save, which fails then."""

    def __init__(self) -> None:
        super().__init__()
        self.began, self.goes_on = threading.Event(), threading.Event()

    def save(self, *arguments: Any, **options: Any) -> Any:
        if not self.began.is_set():
            self.began.set()
            assert self.goes_on.wait(120)
            raise planaria.StorageError("the disk is full")
        return super().save(*arguments, **options)


def test_a_name_is_taken_once_it_is_saved() -> None:
    """A session that is being created takes its name only when it was saved: who asks meanwhile waits."""
    store = SlowStore()
    with (
        served(store=store) as server,
        client_of(server.url) as client,
        ThreadPoolExecutor(2) as threads,
    ):
        first = threads.submit(client.post, "/v1/sessions", json={"id": "a"})
        assert store.began.wait(120)
        second = threads.submit(client.post, "/v1/sessions", json={"id": "a"})
        assert client.get("/health").status_code == 200
        assert not second.done()
        store.goes_on.set()
        assert (first.result(120).status_code, second.result(120).status_code) == (503, 201)
        assert run(client, "a", "1 + 1")["value"] == 2
