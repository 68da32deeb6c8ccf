"""The MCP server of the tests as a process, and whether processes are alive."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["HERE", "STDIO", "free_port", "is_alive", "running", "wait_until_gone"]

HERE = Path(__file__).parent
STDIO = "command: ${PYTHON}\nargs: [demo_mcp_server.py]\n"
"""The rest of a definition that starts it."""


@contextmanager
def running(kind: str, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """The server of the tests over HTTP; it listens already."""
    command = [sys.executable, str(HERE / "demo_mcp_server.py"), kind, str(port)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                except OSError:
                    assert process.poll() is None
                    time.sleep(0.02)
            yield process
        finally:
            process.kill()


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def is_alive(process: int) -> bool:
    """Whether a process runs; one that ended but was not waited for does not."""
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):  # the latter when it ends between opening and reading
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def wait_until_gone(process: int) -> bool:
    end = time.monotonic() + 20
    while is_alive(process) and time.monotonic() < end:
        time.sleep(0.05)
    return not is_alive(process)
