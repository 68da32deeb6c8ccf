"""A Redis of our own for tests."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest

__all__ = ["RedisServer"]

#: Between the choice of a port and the start of the server, another process may take the port.
_ATTEMPTS = 5


class RedisServer:
    """A `redis-server` on a free port, with its files in `directory`; skips the test where there is none."""

    def __init__(self, directory: Path, *options: str) -> None:
        program = shutil.which("redis-server")
        if program is None:
            pytest.skip("redis-server is NOT INSTALLED: what is kept in Redis is not tested (make tools)")
        self._log = directory / "redis.log"
        self._options = [program, "--bind", "127.0.0.1", "--dir", str(directory), "--save", ""]
        self._options += ["--logfile", str(self._log), *options]
        for _ in range(_ATTEMPTS):
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                self.port: int = probe.getsockname()[1]
            if self._try_to_start():
                break
        else:
            raise AssertionError(f"redis-server did not start:\n{self._log.read_text()}")
        self.url = f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Start it again after `kill`, on the same port, and wait until it answers."""
        assert self._try_to_start(), f"redis-server did not start:\n{self._log.read_text()}"

    def _try_to_start(self) -> bool:
        """Whether the server itself says that it listens: on the port another process may have answered."""
        self._log.unlink(missing_ok=True)
        self._process = subprocess.Popen([*self._options, "--port", str(self.port)])
        while self._process.poll() is None:
            if self._log.exists() and "Ready to accept connections" in self._log.read_text(
                "utf-8", "replace"
            ):
                return True
            time.sleep(0.02)
        return False

    def kill(self) -> None:
        """End it at once, as a crash does."""
        self._process.kill()
        self._process.wait(10)

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(10)
