"""How MCP servers are reached: headers, secrets, redirects, private addresses."""

from __future__ import annotations

import os
import socket

import pytest
from mcp_processes import STDIO, free_port, running
from recording_server import RecordingServer, Resolver
from tool_calls import Define, call

from planaria.errors import ToolCallError
from planaria.workspace.tools.variables import ToolEnvironment

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("kind", ["http", "sse"])
def test_large_results_over_http(define_mcp: Define, kind: str) -> None:
    """A result that is too large is refused over HTTP, too, and other calls go on."""
    port = free_port()
    path = "mcp" if kind == "http" else "sse"
    tool = define_mcp(f"url: http://127.0.0.1:{port}/{path}\ntransport: {kind}\nmax_result: 1000000")
    with running(kind, port):
        with pytest.raises(ToolCallError, match=r"larger than max_result=1,000,000|1048576 byte limit"):
            call(tool, "big", size=3_000_000)
        assert len(call(tool, "big", size=400_000)) == 400_000


def test_environment(define_mcp: Define, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server gets what its definition gives it, from allowed variables, and nothing else of the host's."""
    monkeypatch.setenv("SECRET", "s3cret/value")
    monkeypatch.setenv("OTHER", "other")
    tool = define_mcp(STDIO + "env: {MINE: 'is ${SECRET}'}", ToolEnvironment(["SECRET"]))
    assert call(tool, "environment", name="MINE") == "is ************"
    assert call(tool, "environment", name="MINE", spaced=True) == " ".join("is s3cret/value")
    assert call(tool, "environment", name="OTHER") is None
    assert call(tool, "environment", name="SECRET") is None
    assert call(tool, "environment", name="PATH") == os.environ["PATH"]
    with pytest.raises(ToolCallError) as caught:
        call(tool, "fail", secret="MINE")
    assert "it went wrong is ***" in str(caught.value)
    assert "s3cret" not in str(caught.value) + caught.value.stderr
    tool = define_mcp(STDIO + "env: {MINE: '${OTHER}'}", ToolEnvironment(["SECRET"]))
    with pytest.raises(ToolCallError, match="OTHER"):
        call(tool, "add", a=1)


@pytest.mark.parametrize("kind", ["http", "sse"])
def test_headers(define_mcp: Define, kind: str) -> None:
    """Headers are sent with each request, with values from allowed variables, which no answer returns."""
    port = free_port()
    path = "mcp" if kind == "http" else "sse"
    tool = define_mcp(
        f"url: http://127.0.0.1:{port}/{path}\ntransport: {kind}\nheaders: {{Authorization: 'Bearer ${{SECRET}}'}}",
        ToolEnvironment(values={"SECRET": "s3cret"}),
    )
    with running(kind, port):
        assert call(tool, "header", name="authorization") == "Bearer ******"
        assert call(tool, "header", name="authorization", spaced=True) == " ".join("Bearer s3cret")


@pytest.mark.parametrize("kind", ["http", "sse"])
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirect_elsewhere(define_mcp: Define, kind: str, status: int) -> None:
    """A server cannot redirect to another origin: no request, and so no header, is sent there."""
    server, other = RecordingServer(), RecordingServer()
    try:
        head = f"HTTP/1.1 {status} Moved\r\nLocation: http://127.0.0.1:{other.port}/mcp\r\nContent-Length: 0"
        server.answer = lambda request: [f"{head}\r\n\r\n".encode()]
        tool = define_mcp(
            f"url: http://127.0.0.1:{server.port}/mcp\ntransport: {kind}\nheaders: {{X-Key: '${{SECRET}}'}}",
            ToolEnvironment(values={"SECRET": "s3cret"}),
        )
        with pytest.raises(ToolCallError):
            call(tool, "add", a=1)
        assert b"s3cret" in server.requests[0]
        assert other.addresses == []
    finally:
        server.close()
        other.close()


@pytest.mark.parametrize("kind", ["http", "sse"])
def test_key_in_query(define_mcp: Define, kind: str) -> None:
    """A key in the query of the URL is in no answer and no error; what is in its path may be."""
    server = RecordingServer()
    try:
        body = b"the key s3cret-key of demo is wrong"
        server.answer = lambda request: [
            b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
        ]
        tool = define_mcp(
            f"url: http://127.0.0.1:{server.port}/mcp?key=${{SECRET}}\ntransport: {kind}\nstart_timeout: 5",
            ToolEnvironment(values={"SECRET": "s3cret-key"}),
        )
        with pytest.raises(ToolCallError) as caught:
            call(tool, "add", a=1)
        assert b"key=s3cret-key" in server.requests[0]
        assert "s3cret" not in str(caught.value)
    finally:
        server.close()


@pytest.mark.parametrize("kind", ["http", "sse"])
def test_name_with_a_private_address(define_mcp: Define, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server at a private address is connected to where the definition names the address or localhost, or
    says 'private: true', and not where a name leads there.
    """
    resolver = Resolver()
    resolver.answers = [["127.0.0.1"]]
    monkeypatch.setattr(socket, "getaddrinfo", resolver.getaddrinfo)
    port, path = free_port(), "mcp" if kind == "http" else "sse"
    with running(kind, port):
        tool = define_mcp(f"url: http://mcp.test:{port}/{path}\ntransport: {kind}")
        with pytest.raises(ToolCallError, match=r"127\.0\.0\.1 is not a public address"):
            call(tool, "add", a=1)
        tool = define_mcp(f"url: http://localhost:{port}/{path}\ntransport: {kind}\nprivate: true")
        assert call(tool, "add", a=1) == 2
