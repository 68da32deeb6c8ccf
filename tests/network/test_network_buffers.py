"""Buffers of the code's that the host fills itself: what is received is the same as by other ways."""

from __future__ import annotations

import hashlib
import http.server
import random
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trustme
from small_servers import running

from planaria import Network

LENGTH = 3_000_001
BODY = random.Random(1).randbytes(LENGTH)
DIGEST = hashlib.sha256(BODY).hexdigest()

#: Reads an answer by `recv_into` alone, in buffers of changing sizes.
CODE = """
import hashlib, itertools, socket, ssl
def received(port, secure):
    connection = socket.create_connection(("localhost", port))
    if secure:
        connection = ssl.create_default_context().wrap_socket(connection, server_hostname="localhost")
    connection.sendall(f"GET / HTTP/1.1\\r\\nHost: localhost:{port}\\r\\nConnection: close\\r\\n\\r\\n".encode())
    data = bytearray()
    for size in itertools.cycle((100_000, 70, 8192, 1 << 18, 1 << 16, 5)):
        buffer = bytearray(size + 2)
        count = connection.recv_into(memoryview(buffer)[1:-1])
        assert buffer[0] == buffer[-1] == 0
        if not count:
            return bytes(data)
        data += buffer[1 : count + 1]
def digest(port, secure):
    head, _, body = received(port, secure).partition(b"\\r\\n\\r\\n")
    return hashlib.sha256(body).hexdigest()
"""


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers with the body; `/kept` with its end, and the client's port, on a connection that is kept."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = BODY
        self.send_response(200)
        if self.path == "/kept":
            body = BODY[-1_000_000:]
            self.send_header("X-Port", str(self.client_address[1]))
        else:
            self.send_header("Connection", "close")
            self.close_connection = True
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        pass


def serving(context: ssl.SSLContext | None) -> Iterator[int]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    with running(server, context):
        yield server.server_port


@pytest.fixture(scope="module")
def plain() -> Iterator[int]:
    """The port of a server of HTTP."""
    yield from serving(None)


@pytest.fixture(scope="module")
def encrypted(authority: trustme.CA) -> Iterator[int]:
    """The port of a server of HTTPS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    yield from serving(context)


@pytest.mark.parametrize("record", [False, True])
def test_http(new_session: Any, plain: int, record: bool) -> None:
    """Buffers of any size get the bytes in order, in a recorded session too."""
    session = new_session(network=Network(allow=[f"http://localhost:{plain}"]), record=record)
    session.execute(CODE)
    result = session.run(f"digest({plain}, False)")
    assert result.value == DIGEST
    assert [one.bytes_received for one in result.requests] == [LENGTH]


def test_https(new_session: Any, encrypted: int, certificates: Path) -> None:
    """So do those of a connection that is encrypted on the host."""
    network = Network(allow=[f"https://localhost:{encrypted}"], certificates=certificates)
    session = new_session(network=network)
    session.execute(CODE)
    assert session.run(f"digest({encrypted}, True)").value == DIGEST


def test_raw(new_session: Any, plain: int) -> None:
    """So do those of a connection whose bytes are passed on as they are."""
    session = new_session(network=Network(allow=[f"tcp://localhost:{plain}"]))
    session.execute(CODE)
    assert session.run(f"digest({plain}, False)").value == DIGEST


def test_kept(new_session: Any, plain: int) -> None:
    """The server's connection is used again after bodies that went into buffers, and their ends are found."""
    session = new_session(network=Network(allow=[f"http://localhost:{plain}"]))
    session.execute("import hashlib, http.client")
    session.execute(f"connection = http.client.HTTPConnection('localhost', {plain})")
    result = session.run("""
found = []
for size in (1 << 18, 1 << 20, 100_000, 10_000):
    connection.request("GET", "/kept")
    answer, digest, buffer = connection.getresponse(), hashlib.sha256(), memoryview(bytearray(size))
    while count := answer.readinto(buffer):
        digest.update(buffer[:count])
    found.append((answer.headers["X-Port"], digest.hexdigest()))
found
""")
    assert len(set(result.value)) == 1
    assert result.value[0][1] == hashlib.sha256(BODY[-1_000_000:]).hexdigest()
    assert [one.bytes_received for one in result.requests] == [1_000_000] * 4


def test_limit(new_session: Any, plain: int) -> None:
    """What the host puts into buffers counts for `max_received`."""
    network = Network(allow=[f"http://localhost:{plain}"], max_received=1_000_000)
    session = new_session(network=network)
    session.execute(CODE)
    result = session.run(f"received({plain}, False)")
    assert str(result.error) == (
        "PermissionError: the limit max_received=1000000 of one execution is reached"
    )


def test_a_connection_of_another_session(new_session: Any, plain: int) -> None:
    """The descriptor of a connection is none in a copy of the session, which finds the connection reset."""
    session = new_session(network=Network(allow=[f"http://localhost:{plain}"]))
    session.execute(f"""
import socket
connection = socket.create_connection(("localhost", {plain}))
connection.sendall(b"GET / HTTP/1.1\\r\\nHost: localhost:{plain}\\r\\n\\r\\n")
buffer = bytearray(1 << 18)
assert connection.recv_into(buffer)
""")
    [copy] = session.fork(1)
    with copy:
        error = copy.run("connection.recv_into(buffer)").error
    assert error is not None
    assert error.type == "ConnectionResetError"
