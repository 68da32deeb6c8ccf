"""Bodies that the host sends from the code's memory: what the server gets is the same as by other ways."""

from __future__ import annotations

import hashlib
import http.server
import random
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trustme
from small_servers import running

from planaria import Network, Secret

LENGTH = 3_000_001
BODY = random.Random(1).randbytes(LENGTH)
DIGEST = hashlib.sha256(BODY).hexdigest()

#: Sends a body in parts of changing sizes, and gives what the server says of it.
CODE = """
import http.client, itertools, random, ssl
body = random.Random(1).randbytes(3_000_001)
def parts(body):
    view = memoryview(body)
    for size in itertools.cycle((100_000, 70, 8192, 1 << 20, 1 << 16, 5)):
        if not view:
            break
        yield view[:size]
        view = view[size:]
def connected(port, secure):
    return (http.client.HTTPSConnection if secure else http.client.HTTPConnection)("localhost", port)
def digest(connection, path="/", body=body, **headers):
    connection.putrequest("POST", path)
    for name, value in {"Content-Length": str(len(body)), **headers}.items():
        connection.putheader(name, value)
    connection.endheaders()
    for part in parts(body):
        connection.send(part)
    return connection.getresponse().read().decode()
"""


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers with the digest of what was sent; `/port` with the client's port before that."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        assert isinstance(self.server, Server)
        self.server.paths.append(self.path)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        answer = hashlib.sha256(body).hexdigest().encode()
        if self.path == "/port":
            answer = b"%d %b" % (self.client_address[1], answer)
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *arguments: object) -> None:
        pass


class Server(http.server.ThreadingHTTPServer):
    """Keeps the paths that were asked for, and says nothing of clients that go."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.paths: list[str] = []

    def handle_error(self, request: object, client_address: object) -> None:
        pass


def serving(context: ssl.SSLContext | None) -> Iterator[Server]:
    server = Server()
    # What the system does not take at once has to wait for the server.
    server.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 14)
    with running(server, context):
        yield server


@pytest.fixture
def plain() -> Iterator[Server]:
    """A server of HTTP, and the paths that were asked for."""
    yield from serving(None)


@pytest.fixture
def encrypted(authority: trustme.CA) -> Iterator[Server]:
    """A server of HTTPS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    yield from serving(context)


@pytest.mark.parametrize("record", [False, True])
def test_http(new_session: Any, plain: Server, record: bool) -> None:
    """The server gets the bytes of a body in order, in a recorded session too."""
    port = plain.server_port
    session = new_session(network=Network(allow=[f"http://localhost:{port}"]), record=record)
    session.execute(CODE)
    result = session.run(f"digest(connected({port}, False))")
    assert result.value == DIGEST
    assert [one.bytes_sent for one in result.requests] == [LENGTH]


def test_https(new_session: Any, encrypted: Server, certificates: Path) -> None:
    """So does one behind a connection that is encrypted on the host."""
    port = encrypted.server_port
    session = new_session(network=Network(allow=[f"https://localhost:{port}"], certificates=certificates))
    session.execute(CODE)
    result = session.run(f"digest(connected({port}, True))")
    assert result.value == DIGEST
    assert [one.bytes_sent for one in result.requests] == [LENGTH]


def test_kept(new_session: Any, plain: Server) -> None:
    """The server's connection is used again after bodies that were passed on, short and long ones in turn."""
    port = plain.server_port
    session = new_session(network=Network(allow=[f"http://localhost:{port}"]))
    session.execute(CODE)
    result = session.run(f"""
connection = connected({port}, False)
[digest(connection, "/port", body[:size]).split() for size in (3_000_000, 10, 1 << 16, (1 << 16) - 1, 0, 70_000)]
""")
    sizes = (3_000_000, 10, 1 << 16, (1 << 16) - 1, 0, 70_000)
    assert [digest for _, digest in result.value] == [hashlib.sha256(BODY[:one]).hexdigest() for one in sizes]
    assert len({place for place, _ in result.value}) == 1
    assert [one.bytes_sent for one in result.requests] == list(sizes)


@pytest.mark.parametrize("size", [1 << 20, 1 << 16, 50_000, 5000, 1000])
def test_what_follows_a_body(new_session: Any, plain: Server, size: int) -> None:
    """What is sent beyond the length of a body that is passed on does not become a request to the server."""
    port = plain.server_port
    session = new_session(network=Network(allow=[f"POST http://localhost:{port}/allowed"]))
    result = session.run(f"""
import socket
connection = socket.create_connection(("localhost", {port}))
head = "POST /%s HTTP/1.1\\r\\nHost: localhost:{port}\\r\\nContent-Length: %d\\r\\n\\r\\n"
sent = (head % ("allowed", 100_000)).encode() + bytes(100_000) + (head % ("hidden", 0)).encode() * 1000
for start in range(0, len(sent), {size}):
    connection.sendall(sent[start : start + {size}])
""")
    assert result.error is not None
    assert result.error.type == "PermissionError"
    assert "/hidden" not in plain.paths


@pytest.mark.parametrize("limit", [100_000, 2_000_000])
def test_limit(new_session: Any, plain: Server, limit: int) -> None:
    """What the host takes from the code's memory counts for `max_sent`."""
    port = plain.server_port
    session = new_session(network=Network(allow=[f"http://localhost:{port}"], max_sent=limit))
    session.execute(CODE)
    result = session.run(f"digest(connected({port}, False))")
    assert str(result.error) == f"PermissionError: the limit max_sent={limit} of one execution is reached"
    [request] = result.requests
    assert request.bytes_sent <= limit


def test_refusal(new_session: Any, plain: Server) -> None:
    """Code that sends a refused request together with a long body learns why it is refused."""
    port = plain.server_port
    session = new_session(network=Network(allow=[f"http://localhost:{port}/allowed"]))
    result = session.run(f"""
import socket
connection = socket.create_connection(("localhost", {port}))
head = "POST /other HTTP/1.1\\r\\nHost: localhost:{port}\\r\\nContent-Length: 100000\\r\\n\\r\\n"
connection.sendall(head.encode() + bytes(100_000))
""")
    assert str(result.error).startswith(f"PermissionError: POST http://localhost:{port}/other is not allowed")
    assert plain.paths == []


def test_secret_in_a_body(new_session: Any, encrypted: Server, certificates: Path) -> None:
    """A body in which a secret is to be exchanged is not passed on as it comes."""
    port = encrypted.server_port
    secret = Secret("TOKEN", "the value of it", hosts=[f"localhost:{port}"], in_body=True)
    network = Network(allow=[f"https://localhost:{port}"], certificates=certificates, secrets=[secret])
    session = new_session(network=network)
    session.execute(CODE)
    result = session.run(
        f"import os\ndigest(connected({port}, True), body=bytes(100_000) + os.environ['TOKEN'].encode())"
    )
    assert result.value == hashlib.sha256(bytes(100_000) + b"the value of it").hexdigest()


def test_a_body_like_a_handshake(new_session: Any, plain: Server) -> None:
    """A part of a body that looks like the sandbox's handshake of TLS is passed on as any other."""
    port = plain.server_port
    session = new_session(network=Network(allow=[f"http://localhost:{port}"]))
    session.execute(CODE)
    body = b"\x16planaria" * 10_000
    assert session.run(f"digest(connected({port}, False), body={body!r})").value == (
        hashlib.sha256(body).hexdigest()
    )


def test_a_connection_of_another_session(new_session: Any, plain: Server) -> None:
    """A copy of a session in the middle of a body finds the connection reset; the session goes on with it."""
    port = plain.server_port
    session = new_session(network=Network(allow=[f"http://localhost:{port}"]))
    session.execute(f"""
import socket
connection = socket.create_connection(("localhost", {port}))
connection.sendall(b"POST / HTTP/1.1\\r\\nHost: localhost:{port}\\r\\nContent-Length: 200000\\r\\n\\r\\n")
connection.sendall(bytes(100_000))
""")
    [copy] = session.fork(1)
    with copy:
        error = copy.run("connection.sendall(bytes(100_000))").error
    assert error is not None
    assert error.type == "ConnectionResetError"
    answer = session.run("connection.sendall(bytes(100_000))\nconnection.recv(1 << 16)").value
    assert answer.startswith(b"HTTP/1.1 200")
