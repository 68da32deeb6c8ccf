"""Attacks by an allowed server that sends the code elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from recording_server import OK, RecordingServer

from planaria import Network, Secret

pytestmark = pytest.mark.slow

VALUE = "s3cr3t-redirect-value"

PREPARE = """
import os, urllib.request
def get(url, data=None, **headers):
    request = urllib.request.Request(url, data=data, headers=headers)
    return urllib.request.urlopen(request, timeout=20).read()
"""


def redirect(status: int, place: str) -> bytes:
    return f"HTTP/1.1 {status} Elsewhere\r\nLocation: {place}\r\nContent-Length: 0\r\n\r\n".encode("latin-1")


#: With the port of the server that redirects, and of the other one.
ELSEWHERE = {
    "another host": "http://evil.test/",
    "another port of the host": "http://localhost:{other}/",
    "a host without a scheme": "//evil.test/",
    "backslashes": r"\\evil.test/",
    "the allowed host as user": "http://localhost@evil.test/",
    "the allowed host and port as user": "http://localhost:{port}@127.0.0.1:{other}/",
    "a host that begins like the allowed one": "http://localhost.evil.test:{port}/",
    "an address": "http://127.0.0.1:{other}/",
    "an address as a number": "http://2130706433:{other}/",
    "an address in IPv6": "http://[::ffff:127.0.0.1]:{other}/",
    "the metadata service": "http://169.254.169.254/latest/meta-data/",
    "the metadata service by name": "http://metadata.google.internal/",
    "https at the port of http": "https://localhost:{other}/",
    "ftp": "ftp://localhost:{other}/",
    "a file": "file:///etc/passwd",
    "data": "data:text/plain,evil",
    "a script": "javascript:alert(1)",
    "a closed path": "/closed",
    "a step up": "../closed",
    "an encoded step up": "/open/%2e%2e/closed",
    "itself": "/open/",
}


@pytest.mark.parametrize("status", [302, 307])
@pytest.mark.parametrize("place", ELSEWHERE.values(), ids=ELSEWHERE.keys())
def test_elsewhere(
    place: str, status: int, new_session: Any, server: RecordingServer, other_server: RecordingServer
) -> None:
    """A redirect to what no rule is for ends in an error, and no other request is made."""
    location = place.format(port=server.port, other=other_server.port)
    server.answer = lambda request: [redirect(status, location)]
    session = new_session(network=Network(allow=[f"http://localhost:{server.port}/open/"]))
    session.execute(PREPARE)
    result = session.run(f"get('http://localhost:{server.port}/open/')")
    assert result.error is not None, result.value
    assert all(request.startswith(b"GET /open/") for request in server.requests)
    assert other_server.addresses == []


def test_on_request_sees_each_step(
    new_session: Any, server: RecordingServer, other_server: RecordingServer
) -> None:
    """Each request of a chain of redirects is a request that `on_request` decides on."""
    server.answer = lambda request: [redirect(302, f"http://localhost:{other_server.port}/second")]
    seen: list[str] = []

    def decide(request: Any) -> Any:
        seen.append(request.url.partition("localhost")[2])
        return "second" not in request.url

    session = new_session(network=Network(allow=["localhost"], on_request=decide))
    session.execute(PREPARE)
    assert "was refused" in session.run(f"get('http://localhost:{server.port}/first')").error.message
    assert seen == [f":{server.port}/first", f":{other_server.port}/second"]
    assert other_server.requests == []


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("where", ["header", "query", "injected"])
def test_secret_stays(
    status: int,
    where: str,
    new_session: Any,
    secure_server: RecordingServer,
    server: RecordingServer,
    certificates: Path,
) -> None:
    """A redirect to another host, without TLS, takes the placeholder along and not the value."""
    secure, plain = f"https://localhost:{secure_server.port}", f"http://localhost:{server.port}"
    secure_server.answer = lambda request: [
        redirect(status, plain + request.split(b" ")[1].decode("latin-1"))
    ]
    secret = Secret(
        "TOKEN",
        VALUE,
        hosts=[secure, plain],
        header="Authorization: Bearer {}" if where == "injected" else None,
    )
    session = new_session(network=Network(allow=[secure, plain], secrets=[secret], certificates=certificates))
    session.execute(PREPARE)
    code = {
        "header": f"get('{secure}/', Authorization='Bearer ' + os.environ['TOKEN'])",
        "query": f"get('{secure}/?key=' + os.environ['TOKEN'])",
        "injected": f"get('{secure}/')",
    }[where]
    result = session.run(code)
    assert result.error is None, result.error
    assert VALUE.encode() in secure_server.requests[0]
    [request] = server.requests
    assert VALUE.encode() not in request


def test_secret_in_location(
    new_session: Any, secure_server: RecordingServer, server: RecordingServer, certificates: Path
) -> None:
    """A server that puts the value into the address of a redirect does not get it to another host."""
    secure, plain = f"https://localhost:{secure_server.port}", f"http://localhost:{server.port}"
    secure_server.answer = lambda request: [redirect(302, f"{plain}/{VALUE}?key={VALUE}")]
    network = Network(
        allow=[secure, plain], secrets=[Secret("TOKEN", VALUE, hosts=[secure])], certificates=certificates
    )
    session = new_session(network=network)
    session.execute(PREPARE)
    assert session.run(f"get('{secure}/', X=os.environ['TOKEN'])").error is None
    [request] = server.requests
    assert VALUE.encode() not in request


def test_refused_answer_is_not_followed_by_the_host(
    new_session: Any, server: RecordingServer, other_server: RecordingServer
) -> None:
    """The host follows no redirect, no Refresh header and no alternative service of its own accord."""
    place = f"localhost:{other_server.port}"
    head = f'HTTP/1.1 200 OK\r\nRefresh: 0; url=http://{place}/\r\nAlt-Svc: h2="{place}"\r\n'
    head += f"Location: http://{place}/\r\nContent-Location: http://{place}/\r\nContent-Length: 0\r\n\r\n"
    server.answer = lambda request: [head.encode()] if b"/first" in request else [OK]
    session = new_session(network=Network(allow=["localhost", f"localhost:{server.port}", place]))
    session.execute(PREPARE)
    base = f"http://localhost:{server.port}"
    assert session.execute(f"get('{base}/first'), get('{base}/second')").value == (b"", b"ok")
    assert other_server.addresses == []
