"""Servers that several tests share."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

pytest.importorskip("starlette", reason="the extra `server` is not installed")
pytest.importorskip("uvicorn", reason="the extra `server` is not installed")

from session_server import Served, client_of, served

import planaria


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    """A server without a token whose store is in memory."""
    with served(store=planaria.MemoryStore()) as running:
        yield running


@pytest.fixture(scope="module")
def page_server() -> Iterator[Served]:
    """A server with a page, whose store is in memory."""
    with served(store=planaria.MemoryStore(), page=True) as running:
        yield running


@pytest.fixture(scope="module")
def client(server: Served) -> Iterator[httpx.Client]:
    """A client of that server."""
    with client_of(server.url) as one:
        yield one


@pytest.fixture
def session(client: httpx.Client) -> str:
    """The path of a new session."""
    created = client.post("/v1/sessions", json={"callbacks": [{"name": "ask"}], "input": True})
    assert created.status_code == 201, created.text
    return f"/v1/sessions/{created.json()['id']}"
