"""A Redis of our own for tests."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest

__all__ = ["RedisServer"]


class RedisServer:
    """A `redis-server` on a free port, with its files in `directory`; skips the test where there is none."""

    def __init__(self, directory: Path, *options: str) -> None:
        program = shutil.which("redis-server")
        if program is None:
            pytest.skip("redis-server is NOT INSTALLED: what is kept in Redis is not tested (make tools)")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._command = [program, "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(directory)]
        self._command += ["--save", "", *options]
        self.start()

    def start(self) -> None:
        """Start it, also again after `kill`, and wait until it answers."""
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL)
        for _ in range(500):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            assert self._process.poll() is None, "redis-server did not start"
            time.sleep(0.02)
        raise AssertionError("redis-server does not answer")

    def kill(self) -> None:
        """End it at once, as a crash does."""
        self._process.kill()
        self._process.wait(10)

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(10)
