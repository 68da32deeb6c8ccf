"""What a session has of the requests of its tools: records, limits, and no credentials."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from recording_server import RecordingServer

from planaria import Network, ToolEnvironment, ToolRegistry

VALUE = "s3cr3t-value-9"
DEFINITION = """
name: api
type: http
base_url: http://localhost:{port}
auth: {{api_key: {{query: key, value: "${{KEY}}"}}}}
endpoints:
- {{name: get, path: "/{{name}}"}}
- {{name: sent, method: POST, path: /sent, body: {{text: "{{text}}"}}}}
"""


@pytest.fixture
def server() -> Iterator[RecordingServer]:
    one = RecordingServer()
    yield one
    one.close()


@pytest.fixture
def desk(new_session: Any, server: RecordingServer, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """A function that creates a session with a tool that reaches the server."""

    def create(**arguments: Any) -> Any:
        (tmp_path / "api.yaml").write_text(DEFINITION.format(port=server.port))
        registry = ToolRegistry()
        registry.load(tmp_path, ToolEnvironment(values={"KEY": VALUE}))
        registries.append(registry)
        return new_session(tools=registry, **arguments)

    registries: list[ToolRegistry] = []
    yield create
    for registry in registries:
        registry.close()


def test_records(desk: Callable[..., Any], server: RecordingServer, caplog: pytest.LogCaptureFixture) -> None:
    """A result has the requests of tools, with the tool's name and without its credentials, with and without a
    network for the code; the next one has its own.
    """
    caplog.set_level(logging.DEBUG)
    for arguments in ({}, {"network": Network()}):
        session = desk(**arguments)
        result = session.run("tools.api.get(name='x')\nimport asyncio\nawait tools.api.get(name='y')")
        assert result.error is None
        assert [(one.tool, one.method, one.status) for one in result.requests] == [("api", "GET", 200)] * 2
        place = f"http://localhost:{server.port}"
        assert [one.url for one in result.requests] == [f"{place}/{name}?key=**************" for name in "xy"]
        assert session.run("1").requests == []
    assert VALUE.encode() in server.requests[0]
    assert VALUE not in caplog.text


def test_refused_records(desk: Callable[..., Any], server: RecordingServer) -> None:
    """A request of a tool that could not be made is recorded with its reason."""
    session = desk()
    server.close()
    result = session.run("tools.api.get(name='x')")
    [record] = result.requests
    assert (record.tool, record.allowed) == ("api", False)
    assert "could not be reached" in record.reason


@pytest.mark.parametrize(
    ("limit", "code"),
    [
        ({"max_requests": 2}, "[tools.api.get(name=str(n)) for n in range(3)]"),
        ({"max_sent": 5000}, "tools.api.sent(text='x' * 6000)"),
        ({"max_received": 10}, "tools.api.get(name='x')"),
    ],
)
def test_limits(limit: dict[str, Any], code: str, desk: Callable[..., Any]) -> None:
    """Requests of tools and their bytes count towards the limits of the session's network."""
    session = desk(network=Network(**limit))
    error = session.run(code).error
    assert error is not None
    assert f"the limit {next(iter(limit))}={next(iter(limit.values()))} of one execution" in str(error)


def test_rules_are_the_codes(desk: Callable[..., Any], server: RecordingServer) -> None:
    """What code may reach does not concern its tools, nor what they may reach the code."""
    session = desk(network=Network())
    assert session.run("tools.api.get(name='x')").error is None
    error = session.run(
        f"import urllib.request; urllib.request.urlopen('http://localhost:{server.port}/')"
    ).error
    assert "is not allowed" in error.message


def test_fork(desk: Callable[..., Any]) -> None:
    """Each copy of a session has the requests of its own calls."""
    session = desk()
    (copy,) = session.fork(1)
    assert len(copy.run("tools.api.get(name='x')").requests) == 1
    assert session.run("1").requests == []
