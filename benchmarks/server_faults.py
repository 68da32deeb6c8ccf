"""A server of sessions under faults: connections that are cut, kill -9 and a new start at the same address.

Clients count in their sessions and write files, each request with an Idempotency-Key. A request whose
connection is lost is made again with its key until it is answered. Whatever was answered has to be there: the
next number is always one more than the last one.

    python benchmarks/server_faults.py                       # 500 sessions of 20 clients, five minutes
    python benchmarks/server_faults.py --clients 4 --sessions 12 --seconds 10 --kill-every 3

The exit status is 1 when something was lost or done twice, or when memory has grown.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

#: Seconds that a request may take, restarts included.
_PATIENCE = 120.0
#: Of so many requests one has its connection cut after it was sent.
_CUTS = 10
#: What the highest memory of a server may grow by between the middle and the last third of its lives.
_GROWTH = 1.15
_SLACK = 32 << 20


@dataclass
class Service:
    """The server, which is killed and started again."""

    store: str
    port: int
    live: int
    process: subprocess.Popen[str] | None = None
    kills: int = 0
    highest: list[int] = field(default_factory=list)
    """The most memory that each life had, in bytes."""

    def start(self) -> None:
        self.highest.append(0)
        command = [sys.executable, "-m", "planaria", "serve", "--port", str(self.port), "--store", self.store]
        self.process = subprocess.Popen(
            [*command, "--max-sessions", str(self.live)], stderr=subprocess.PIPE, text=True
        )
        assert self.process.stderr is not None
        line = self.process.stderr.readline()
        if "http://" not in line:
            raise RuntimeError(line + self.process.stderr.read())
        threading.Thread(target=self._show, args=(self.process.stderr,), daemon=True).start()

    @staticmethod
    def _show(errors: Any) -> None:
        for line in errors:
            print(line, end="", file=sys.stderr)

    def kill(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.kills += 1

    def sample(self) -> None:
        """Note what memory the server has now."""
        assert self.process is not None
        with contextlib.suppress(OSError, AttributeError):
            text = Path(f"/proc/{self.process.pid}/smaps_rollup").read_text("ascii")
            found = re.search(r"^Pss: +(\d+) kB", text, re.MULTILINE)
            if found:
                self.highest[-1] = max(self.highest[-1], int(found[1]) * 1024)


class Client(threading.Thread):
    """Counts in its sessions."""

    def __init__(self, number: int, sessions: int, port: int, end: float, seed: int) -> None:
        super().__init__(name=f"client {number}")
        self.counts = {f"c{number}-{one}": 0 for one in range(sessions)}
        self.done: Counter[str] = Counter()
        self.faults: list[str] = []
        self._port = port
        self._end = end
        self._random = random.Random(seed * 1000 + number)
        self._connection: http.client.HTTPConnection | None = None

    def run(self) -> None:
        try:
            for name in self.counts:
                found = self._ask("POST", "/v1/sessions", {"id": name}, accepts=(201, 409))
                if found is not None:
                    self._count(name)
            while time.monotonic() < self._end:
                self._count(self._random.choice(list(self.counts)))
            for name, count in self.counts.items():
                self._check(name, "n", count)
        except Exception as error:
            self.faults.append(f"{self.name}: {type(error).__name__}: {error}")
        finally:
            self._close()

    def _count(self, name: str) -> None:
        """Add one, and check that it is one more than before."""
        expected = self.counts[name] + 1
        code = "n = globals().get('n', 0) + 1\nopen('n.txt', 'w').write(str(n))\nn"
        self._check(name, code, expected)
        self.counts[name] = expected
        if self._random.randrange(20) == 0:
            self._check(name, "int(open('n.txt').read())", expected)

    def _check(self, name: str, code: str, expected: int) -> None:
        found = self._ask("POST", f"/v1/sessions/{name}/run", {"code": code})
        self.done["executions"] += 1
        if found["value"] != expected:
            self.faults.append(f"{name}: {found['value']!r} instead of {expected} ({found['error']})")
            raise RuntimeError("the state is not what was answered")

    def _ask(self, method: str, path: str, body: Any, accepts: tuple[int, ...] = (200,)) -> Any:
        """Make a request, again with the same key when its connection is lost."""
        key = f"{self._random.getrandbits(128):032x}"
        give_up_at = time.monotonic() + _PATIENCE
        while True:
            try:
                status, found = self._once(method, path, body, key)
            except (OSError, http.client.HTTPException, ValueError) as error:
                self.done["lost connections"] += 1
                self._close()
                if time.monotonic() > give_up_at:
                    raise RuntimeError(f"{method} {path}: no answer in {_PATIENCE:g} s: {error}") from error
                time.sleep(0.05)
                continue
            if status not in accepts:
                raise RuntimeError(f"{method} {path}: {status}: {found}")
            return found

    def _once(self, method: str, path: str, body: Any, key: str) -> tuple[int, Any]:
        if self._connection is None:
            self._connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        headers = {"Content-Type": "application/json", "Idempotency-Key": key}
        self._connection.request(method, path, json.dumps(body), headers)
        if self._random.randrange(_CUTS) == 0:
            time.sleep(self._random.random() * 0.02)
            self.done["cut connections"] += 1
            raise ConnectionAbortedError("cut on purpose")
        response = self._connection.getresponse()
        return response.status, json.loads(response.read())

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def free_port() -> int:
    """A port at which the server can be started again: not one of those that the system gives out."""
    for number in range(10_000):
        port = 20_000 + (os.getpid() + number) % 10_000
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise RuntimeError("no port is free")


def has_grown(highest: list[int]) -> bool:
    """Whether later lives took more memory than those in the middle; none of few."""
    third = len(highest) // 3
    if third < 2:
        return False
    return max(highest[2 * third :]) > max(highest[third : 2 * third]) * _GROWTH + _SLACK


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--clients", type=int, default=20)
    parser.add_argument("--sessions", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--kill-every", type=float, default=30.0, metavar="SECONDS")
    parser.add_argument("--live", type=int, default=64, help="the most sessions that are live")
    parser.add_argument("--store", help="a store's path or URL; a SQLite file unless given")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        store = options.store or f"sqlite:///{directory}/store.db"
        service = Service(store, free_port(), options.live)
        service.start()
        end = time.monotonic() + options.seconds
        each = options.sessions // options.clients
        clients = [Client(number, each, service.port, end, options.seed) for number in range(options.clients)]
        for client in clients:
            client.start()
        next_kill = time.monotonic() + options.kill_every
        while any(client.is_alive() for client in clients):
            time.sleep(0.5)
            service.sample()
            if next_kill < time.monotonic() < end:
                service.kill()
                service.start()
                next_kill = time.monotonic() + options.kill_every
        for client in clients:
            client.join()
        assert service.process is not None
        service.process.send_signal(signal.SIGTERM)
        service.process.wait()
    done = sum((client.done for client in clients), Counter[str]())
    faults = [fault for client in clients for fault in client.faults]
    if has_grown(service.highest):
        faults.append("the memory of the server has grown")
    print(f"{options.sessions} sessions of {options.clients} clients, {service.kills} kills, {dict(done)}")
    print(f"memory of each life, at most: {', '.join(f'{one / 1e6:.0f} MB' for one in service.highest)}")
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
