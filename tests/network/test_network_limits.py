"""Limits of requests, of their bytes and of their time."""

from __future__ import annotations

import hashlib
import socket
import socketserver
from typing import Any

import pytest
from small_servers import serving

from planaria import Network

pytestmark = pytest.mark.slow


class SlowReader(socketserver.BaseRequestHandler):
    """Takes so many bytes as the first eight say, a few at a time, and answers with their digest."""

    def handle(self) -> None:
        left = int.from_bytes(self.request.recv(8, socket.MSG_WAITALL))
        digest = hashlib.sha256()
        while left:
            part = self.request.recv(min(left, 5000))
            digest.update(part)
            left -= len(part)
        self.request.sendall(digest.digest())


def test_slow_reader(new_session: Any) -> None:
    """What a server does not take at once arrives in order, whole, and once."""
    with serving(SlowReader) as port:
        session = new_session(network=Network(allow=[f"tcp://localhost:{port}"]))
        code = f"""
import hashlib, random, socket
parts = [random.randbytes(60_000) for _ in range(100)]
with socket.create_connection(("localhost", {port})) as connection:
    connection.sendall(sum(map(len, parts)).to_bytes(8))
    for part in parts:
        connection.sendall(part)
    digest = connection.recv(100)
digest == hashlib.sha256(b"".join(parts)).digest()
"""
        assert session.execute(code).value is True


@pytest.mark.parametrize(
    ("limit", "code"),
    [
        ("max_requests", "get(f'{plain}/echo'); get(f'{plain}/echo')"),
        ("max_received", "get(f'{plain}/bytes/100000')"),
        ("max_sent", "urllib.request.urlopen(f'{plain}/body', data=bytes(100000))"),
        ("max_connections", "[socket.create_connection(('localhost', int(plain[17:]))) for _ in range(3)]"),
    ],
)
def test_limits(connected: Any, limit: str, code: str) -> None:
    """A limit that is reached is an error that names it; the next execution begins anew."""
    session = connected(**{limit: {"max_requests": 1, "max_connections": 2}.get(limit, 50_000)})
    assert f"{limit}=" in session.run(code).error.message
    if limit != "max_connections":
        assert session.run("get(f'{plain}/echo')").error is None


@pytest.mark.parametrize(
    "read", ["answer.read()", "[len(one) for one in iter(lambda: answer.read(10), b'')]"]
)
def test_request_timeout(connected: Any, read: str) -> None:
    """A request that takes longer than `request_timeout` in total is a TimeoutError, though no wait is long."""
    session = connected(request_timeout=1.5)
    assert session.run("get(f'{plain}/echo')").error is None
    result = session.run(f"answer = urllib.request.urlopen(f'{{plain}}/drip', timeout=60)\n{read}")
    assert result.error.type == "TimeoutError"
    assert "the limit request_timeout=1.5 s of a request to localhost is reached" in result.error.message
    [record] = result.requests
    assert record.reason == "the limit request_timeout=1.5 s of a request to localhost is reached"
    assert session.run("get(f'{plain}/echo')").error is None


@pytest.mark.parametrize("value", [0, -1, True, "5"])
def test_request_timeout_is_checked(value: Any) -> None:
    """A `request_timeout` that is not a positive number is an error of the constructor."""
    with pytest.raises(ValueError, match="request_timeout="):
        Network(request_timeout=value)


def test_data_before_a_limit(connected: Any) -> None:
    """What came within `max_received` reaches the code, and the error comes after it."""
    code = """
connection = http.client.HTTPConnection(plain.removeprefix("http://"))
connection.request("GET", "/bytes/1000000")
answer, got = connection.getresponse(), 0
try:
    while data := answer.read1(50_000):
        got += len(data)
except PermissionError as error:
    message = str(error)
got, message
"""
    got, message = connected(max_received=500_000).execute(code).value
    assert 400_000 < got <= 500_000
    assert message == "the limit max_received=500000 of one execution is reached"


def test_unread_answers_within_a_limit(connected: Any) -> None:
    """An answer that the code does not read on takes a small part of `max_received`, whatever its length."""
    code = """
for _ in range(5):
    connection = http.client.HTTPConnection(plain.removeprefix("http://"))
    connection.request("GET", "/bytes/5000000")
    connection.getresponse()
    connection.close()
"""
    assert connected(max_received=2_000_000).run(code).error is None
