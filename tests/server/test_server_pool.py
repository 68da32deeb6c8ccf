"""`planaria serve --pool`: several servers behind one address."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from session_server import client_of, process

pytestmark = pytest.mark.slow


def servers_of(pid: int) -> list[int]:
    """The processes that a front has started."""
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_sessions_outlive_their_servers(tmp_path: Path) -> None:
    """Sessions are spread over the servers and answer after all of these were killed; streams pass as they come."""
    options = [
        "--pool",
        "processes",
        "--workers",
        "2",
        "--store",
        str(tmp_path / "store"),
        "--token",
        "secret",
    ]
    with process(*options) as (url, pid), client_of(url, "secret") as client:
        names = [f"s{number}" for number in range(4)]
        for name in names:
            assert client.post("/v1/sessions", json={"id": name}).status_code == 201
            assert client.post(f"/v1/sessions/{name}/run", json={"code": f"x = {name!r}"}).status_code == 200
        assert len(servers_of(pid)) == 2
        for server in servers_of(pid):
            os.kill(server, signal.SIGKILL)
        for name in names:
            key = {"Idempotency-Key": name}
            answer = client.post(f"/v1/sessions/{name}/run", json={"code": "x"}, headers=key)
            assert answer.json().get("value") == name, answer.text
        assert {one["id"] for one in client.get("/v1/sessions").json()["sessions"]} == set(names)
        events = {"Accept": "text/event-stream"}
        code = {"code": "print('one')\nprint('two')"}
        with client.stream("POST", "/v1/sessions/s0/run", json=code, headers=events) as stream:
            assert stream.headers["content-type"].startswith("text/event-stream")
            assert "two" in stream.read().decode()
        with client_of(url) as stranger:
            assert stranger.get("/v1/sessions").status_code == 401
        assert client.get("/v1/sessions", headers={"Host": "elsewhere.example"}).status_code == 421
        left = servers_of(pid)
        assert len(left) == 2
    for server in left:  # they end with the front, which was killed
        while Path(f"/proc/{server}").exists():
            time.sleep(0.05)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--pool", "processes"], "--pool needs --store"),
        (["--workers", "2"], "--workers needs --pool"),
        (["--pool", "processes", "--store", "s", "--host", "0.0.0.0"], "can be reached from other computers"),
        (["--pool", "processes", "--store", "ftp://s", "--port", "0"], "did not start"),
    ],
)
def test_what_cannot_be_served(tmp_path: Path, options: list[str], message: str) -> None:
    """Options that do not go together, and servers that cannot start, end the program with what to do."""
    command = [sys.executable, "-m", "planaria", "serve", *options]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode != 0
    assert re.search(message, done.stderr), done.stderr
