"""A server of sessions in this process, on a free port, and one in a process of its own."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import uvicorn

import planaria
from planaria.server import ServerSettings, Token, create_app

__all__ = ["BYTES", "Served", "client_of", "free_port", "process", "run", "served", "served_to_e2b"]

#: The headers of a body of bytes.
BYTES = {"Content-Type": "application/octet-stream"}


class Served:
    """A server that runs on a thread."""

    def __init__(self, settings: ServerSettings) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=256)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self.app = create_app(settings)
        self._server = uvicorn.Server(
            uvicorn.Config(self.app, log_level="warning", timeout_graceful_shutdown=5)
        )
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, name="server of a test"
        )
        self._thread.start()

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(60)
        assert not self._thread.is_alive()
        self._socket.close()


@contextlib.contextmanager
def served(**settings: Any) -> Iterator[Served]:
    """A server with these settings."""
    server = Served(ServerSettings(**settings))
    try:
        yield server
    finally:
        server.stop()


@contextlib.contextmanager
def served_to_e2b(**settings: Any) -> Iterator[Served]:
    """A server to which the environment variables of E2B's SDKs lead, with a token."""
    with (
        served(tokens=[Token("default", "the-key")], store=planaria.MemoryStore(), **settings) as server,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("E2B_API_URL", server.url)
        patch.setenv("E2B_SANDBOX_URL", server.url)
        patch.setenv("E2B_VOLUME_API_URL", server.url)
        patch.setenv("E2B_API_KEY", "the-key")
        patch.setenv("E2B_HTTP_VERSION", "1.1")
        yield server


def client_of(url: str, token: str | None = None) -> httpx.Client:
    """A client that waits as long as a loaded machine may need."""
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    return httpx.Client(base_url=url, headers=headers, timeout=120)


def free_port() -> int:
    """A port at which a server can be started again: not one of those that the system gives out."""
    for number in range(10_000):
        port = 20_000 + (os.getpid() + number) % 10_000
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise AssertionError("no port is free")


@contextlib.contextmanager
def process(
    *options: str, environment: dict[str, str] | None = None, port: int = 0
) -> Iterator[tuple[str, int]]:
    """`planaria serve` in a process of its own: its URL and process number. It is killed at the end."""
    running = subprocess.Popen(
        [sys.executable, "-m", "planaria", "serve", "--port", str(port), *options],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **(environment or {})},
    )
    assert running.stderr is not None
    try:
        found, reported = None, ""
        while found is None:
            line = running.stderr.readline()
            assert line, reported
            reported += line
            found = re.search(r"(?<=serving sessions at )http://\S+", line)
        yield found[0], running.pid
    finally:
        if running.poll() is None:
            running.send_signal(signal.SIGKILL)
        running.wait(60)
        running.stderr.close()


def run(client: httpx.Client, session: str, code: str, **fields: Any) -> Any:
    """The result of an execution in the session at a path."""
    response = client.post(f"{session}/run", json={"code": code, **fields})
    assert response.status_code == 200, response.text
    return response.json()
