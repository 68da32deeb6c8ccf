"""How fast code in a session uses the network, beside native Python on the same loopback server.

    python benchmarks/network.py

The server is a process of its own. Session and native process take turns, and medians are compared. The
memory of a long download is what the session's host process grows by while the answer streams.
"""

from __future__ import annotations

import argparse
import http.server
import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import planaria
from planaria import Image, Network

BLOCK = b"x" * (1 << 20)

#: Each leaves the seconds that its work took in `seconds`; `place` is the server.
TASKS = {
    "GET by requests": """
with requests.Session() as kept:
    kept.get(place + "/bytes/100")
    start = time.perf_counter()
    for _ in range(50):
        assert len(kept.get(place + "/bytes/100").content) == 100
    seconds = (time.perf_counter() - start) / 50
""",
    "GET by requests, a connection each": """
start = time.perf_counter()
for _ in range(20):
    assert len(requests.get(place + "/bytes/100").content) == 100
seconds = (time.perf_counter() - start) / 20
""",
    "download of 50 MB": """
start = time.perf_counter()
with requests.get(place + f"/bytes/{50 << 20}", stream=True) as answer:
    assert sum(map(len, answer.iter_content(1 << 18))) == 50 << 20
seconds = time.perf_counter() - start
""",
    "upload of 50 MB": """
body = bytes(50 << 20)
start = time.perf_counter()
assert requests.post(place, data=body).text == str(50 << 20)
seconds = time.perf_counter() - start
del body
""",
}
PREPARE = "import time, requests"
LONG = """
with requests.get(place + f"/bytes/{1 << 30}", stream=True) as answer:
    assert sum(map(len, answer.iter_content(1 << 18))) == 1 << 30
"""


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers `/bytes/N` with so many bytes, and what was sent with how many these were."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        count = int(self.path.rpartition("/")[2])
        self.send_response(200)
        self.send_header("Content-Length", str(count))
        self.end_headers()
        while count:
            self.wfile.write(BLOCK[:count])
            count -= min(count, len(BLOCK))

    def do_POST(self) -> None:
        buffer = memoryview(bytearray(len(BLOCK)))
        length = left = int(self.headers["Content-Length"])
        while left:
            left -= self.rfile.readinto(buffer[:left])
        answer = str(length).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *arguments: object) -> None:
        pass


def serve(channel: Connection) -> None:
    """Serve, and send the port."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    channel.send(server.server_port)
    server.serve_forever()


def native(place: str, task: str) -> float:
    """The seconds of a task in a Python process of its own."""
    code = f"{PREPARE}\nplace = {place!r}\n{task}\nprint(seconds)"
    return float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)


def first_execution(image: Image, network: Network, code: str) -> float:
    """The milliseconds of the first execution of a new session."""
    with planaria.Session(image=image, network=network) as session:
        start = time.perf_counter()
        session.execute(code)
        return (time.perf_counter() - start) * 1e3


def resident() -> int:
    """Bytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args()
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.Process(target=serve, args=(theirs,), daemon=True)
    server.start()
    place = f"http://localhost:{ours.recv()}"
    figures: dict[str, float] = {}
    image = Image.build("benchmark-network", packages=["requests"], preload=["requests"])
    network = Network(allow=[place])
    figures["import of requests from an image, ms"] = statistics.median(
        first_execution(image, network, "import requests") for _ in range(options.rounds)
    )
    with planaria.Session(image=image, network=network) as session:
        session.execute(f"{PREPARE}\nplace = {place!r}")
        for name, task in TASKS.items():
            times: tuple[list[float], list[float]] = ([], [])
            for _ in range(options.rounds):
                times[0].append(session.execute(f"{task}\nseconds").value)
                times[1].append(native(place, task))
            session_time, native_time = map(statistics.median, times)
            figures[f"{name}, ms"] = session_time * 1e3
            figures[f"{name}, native ms"] = native_time * 1e3
            figures[f"{name}, ratio"] = session_time / native_time
        grown = growth(lambda: session.execute(LONG))
        figures["memory of a download of 1 GB, MB"] = grown / (1 << 20)
    server.terminate()
    for name, value in figures.items():
        print(f"{name:50} {value:10.2f}")
    if options.json is not None:
        options.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
