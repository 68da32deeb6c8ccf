"""The host's reading of HTTP, with arbitrary bytes from the code and from servers."""

from __future__ import annotations

import asyncio
import re

from example_counts import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from recording_server import OK, RecordingServer

from planaria import Network
from planaria.network.calls import NetworkCalls

#: What requests and answers are made of, in any order and with anything between.
parts = st.one_of(
    st.sampled_from(
        [
            b"GET /open/ HTTP/1.1\r\n", b"POST /open/ HTTP/1.1\r\n", b"GET /closed HTTP/1.1\r\n",
            b"Host: localhost:PORT\r\n", b"Content-Length: 3\r\n", b"Transfer-Encoding: chunked\r\n",
            b"Connection: close\r\n", b"Upgrade: websocket\r\n", b"X: y\r\n", b" z\r\n", b"\r\n", b"\n", b"\r",
            b"\0", b"3\r\nabc\r\n", b"0\r\n\r\n", b"abc", b"\x16planaria\0\x09localhost", b"HTTP/1.1 200 OK\r\n",
            b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 101 Switching Protocols\r\n",
            b"Content-Encoding: gzip\r\n", b"\x1f\x8b\x08",
        ]
    ),
    st.binary(max_size=12),
)  # fmt: skip
messages = st.lists(parts, min_size=1, max_size=12)
bounded = settings(
    max_examples=examples(60),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


async def converse(server: RecordingServer, sent: list[bytes], patience: float) -> list[Exception]:
    """Send bytes as the code does, and read until the end; the errors that the code gets."""
    errors: list[Exception] = []
    calls = NetworkCalls(
        Network(allow=[f"GET,POST http://localhost:{server.port}/open/"], timeout=20, max_received=1 << 20)
    )
    try:
        number = await calls.open("localhost", server.port)
        for part in sent:
            await calls.send(number, part.replace(b"PORT", str(server.port).encode()))
        while await calls.receive(number, 65536, patience):
            pass
    except OSError as error:
        errors.append(error)
    finally:
        await calls.close_all()
    for record in calls.take_records():
        assert record.allowed or record.reason
        if record.allowed:
            assert record.method in ("GET", "POST")
            assert "/open/" in record.url
    return errors


@bounded
@given(sent=messages)
def test_bytes_of_the_code(sent: list[bytes], server: RecordingServer) -> None:
    """Whatever the code sends, a server gets checked requests in plain form, and the code an OSError or answer."""
    server.reset()
    asyncio.run(converse(server, sent, 0.05))
    for request in list(server.requests):
        head = request.partition(b"\r\n\r\n")[0]
        assert re.match(rb"(GET|POST) /open/ HTTP/1\.1\r\n", head)
        assert b"\0" not in head
        assert not re.search(rb"\r(?!\n)|(?<!\r)\n|\r\n[ \t]", head)


@bounded
@given(answer=messages)
def test_bytes_of_a_server(answer: list[bytes], server: RecordingServer) -> None:
    """Whatever a server sends, the code gets bytes or an OSError, which sockets raise as their own."""
    server.reset()
    server.answer = lambda request: answer if len(server.requests) == 1 else [OK]
    server.closes = True
    request = b"GET /open/ HTTP/1.1\r\nHost: localhost:PORT\r\n\r\n"
    errors = asyncio.run(converse(server, [request], 20))
    assert all(isinstance(error, OSError) for error in errors)
    assert len(server.requests) <= 1
