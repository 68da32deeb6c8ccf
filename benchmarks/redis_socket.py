"""A Redis of our own for benchmarks, at a socket in a directory."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["redis_in"]


@contextmanager
def redis_in(directory: str) -> Iterator[str]:
    """The URL of a server that runs until the end; it keeps nothing on the disk."""
    program = shutil.which("redis-server")
    if program is None:
        raise RuntimeError("redis-server is not installed")
    place = f"{directory}/socket"
    server = subprocess.Popen(
        [program, "--port", "0", "--unixsocket", place, "--save", "", "--dir", directory]
    )
    try:
        while True:
            with socket.socket(socket.AF_UNIX) as connection:
                if connection.connect_ex(place) == 0:
                    break
            time.sleep(0.05)
        yield f"unix://{place}?db=0"
    finally:
        server.terminate()
        server.wait()
