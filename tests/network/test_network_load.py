"""Many requests at once, long bodies in both directions, and what is left when a session ends."""

from __future__ import annotations

import gc
import http.server
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from small_servers import running

import planaria
from planaria import Network

pytestmark = pytest.mark.slow

SESSIONS = 20
#: What the host process may grow by while a long body passes, in bytes.
MOST_GROWTH = 64 << 20
LONG = 100 << 20


class CountingHandler(http.server.BaseHTTPRequestHandler):
    """Answers POST with the length of its body, and `/N` with so many bytes."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        left = count = int(self.headers["Content-Length"])
        while left:
            left -= len(self.rfile.read(min(left, 1 << 16)))
        self.answer(str(count).encode())

    def do_GET(self) -> None:
        left = int(self.path[1:])
        self.send_response(200)
        self.send_header("Content-Length", str(left))
        self.end_headers()
        while left:
            self.wfile.write(bytes(min(left, 1 << 16)))
            left -= min(left, 1 << 16)

    def answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        pass


class CountingServer(http.server.ThreadingHTTPServer):
    """Counts its open connections."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), CountingHandler)
        self.closed = threading.Semaphore(0)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        super().process_request_thread(request, client_address)
        self.closed.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients of these tests break off."""


@pytest.fixture
def server() -> Iterator[CountingServer]:
    """A server of HTTP on localhost."""
    one = CountingServer()
    with running(one):
        yield one


@pytest.fixture
def network(server: CountingServer) -> Network:
    """What may reach it."""
    return Network(allow=[f"http://localhost:{server.server_port}"], timeout=300)


def resident() -> int:
    """The bytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def growth(work: Callable[[], Any]) -> int:
    """By how many bytes this process grew at most while something ran."""
    before, most, over = resident(), 0, threading.Event()

    def watch() -> None:
        nonlocal most
        while not over.wait(0.02):
            most = max(most, resident())

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        work()
    finally:
        over.set()
        thread.join()
    return most - before


@pytest.mark.slow
def test_requests_of_many_sessions(new_session: Any, http_port: int) -> None:
    """A hundred requests at once, five each of twenty sessions on threads, are all answered to the right one."""
    network = Network(allow=[f"http://localhost:{http_port}"], timeout=300)
    code = """
import asyncio
async def fetch(path):
    reader, writer = await asyncio.open_connection("localhost", PORT)
    writer.write(f"GET {path} HTTP/1.1\\r\\nHost: localhost:{PORT}\\r\\nConnection: close\\r\\n\\r\\n".encode())
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return len(answer.partition(b"\\r\\n\\r\\n")[2])
await asyncio.gather(*(fetch(f"/bytes/{1000 * NUMBER + n}") for n in range(5)))
"""
    new_session()  # the sandbox is compiled and loaded once, before the threads begin
    ready = threading.Barrier(SESSIONS)

    def run(number: int) -> tuple[Any, int]:
        with planaria.Session(network=network) as session:
            session.execute(f"PORT, NUMBER = {http_port}, {number}")
            ready.wait(300)
            result = session.execute(code)
            return result.value, len(result.requests)

    with ThreadPoolExecutor(SESSIONS) as pool:
        results = list(pool.map(run, range(SESSIONS)))
    assert results == [([1000 * number + n for n in range(5)], 5) for number in range(SESSIONS)]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
@pytest.mark.parametrize(
    "code",
    [
        f"connection.request('POST', '/', (bytes(1 << 16) for _ in range({LONG >> 16})), "
        f"{{'Content-Length': '{LONG}'}})\n"
        "received = int(connection.getresponse().read())",
        f"connection.request('GET', '/{LONG}')\n"
        "answer, received = connection.getresponse(), 0\n"
        "while data := answer.read(1 << 18):\n    received += len(data)",
    ],
    ids=["upload", "download"],
)
def test_memory_of_long_bodies(new_session: Any, server: CountingServer, network: Network, code: str) -> None:
    """A body of 100 MB passes whole in either direction, and the host never has it in memory."""
    session = new_session(network=network)
    session.execute(f"import http.client\nPORT = {server.server_port}")
    session.execute(
        "connection = http.client.HTTPConnection('localhost', PORT)\n"
        "connection.request('GET', '/1000000'); len(connection.getresponse().read())"
    )
    assert growth(lambda: session.execute(code)) < MOST_GROWTH
    assert session.execute("received").value == LONG


CONNECTED = """
import socket
connection = socket.create_connection(("localhost", PORT))
connection.sendall(f"GET /10000000 HTTP/1.1\\r\\nHost: localhost:{PORT}\\r\\n\\r\\n".encode())
len(connection.recv(1000))
"""


@pytest.mark.parametrize("end", ["close", "drop", "undo", "restore", "fork"])
def test_sockets_when_a_session_ends(server: CountingServer, network: Network, end: str) -> None:
    """The host's sockets are closed when a session closes, is dropped or goes back, also while an answer is read ahead."""
    session = planaria.Session(network=network)
    session.execute(f"PORT = {server.server_port}")
    snapshot = session.snapshot_state()
    with warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        if end == "fork":
            with session.fork()[0] as fork:
                fork.execute(CONNECTED)
        else:
            session.execute(CONNECTED)
            match end:
                case "drop":
                    del session
                    gc.collect()
                case "close":
                    session.close()
                case "undo":
                    session.undo()
                case "restore":
                    session.restore_state(snapshot)
        assert server.closed.acquire(timeout=60)
        gc.collect()
    if end != "drop":
        session.close()
