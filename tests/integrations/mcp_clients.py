"""How tests connect the SDK's client to `planaria mcp`."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

COMMAND = [sys.executable, "-m", "planaria", "mcp"]


@contextlib.asynccontextmanager
async def stdio_client(*options: str, mode: str = "auto", **arguments: Any) -> AsyncIterator[Client]:
    """A client of a server of its own, over standard input and output."""
    server = StdioServerParameters(command=COMMAND[0], args=[*COMMAND[1:], *options], env=dict(os.environ))
    async with Client(server, mode=mode, **arguments) as client:
        yield client


def http_server(*options: str) -> AbstractContextManager[tuple[str, subprocess.Popen[str]]]:
    """A server at a free port: its URL, and its process."""
    return served([*COMMAND, "--http", "--port", "0", *options])


@contextlib.contextmanager
def served(command: list[str]) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """What a program serves, which says where as `planaria mcp` does: the URL, and its process."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        assert line.startswith("serving sessions at "), line
        # What it logs must not fill the pipe, and is shown beside a test that fails.
        reader = threading.Thread(target=_show, args=(process.stderr,), daemon=True)
        reader.start()
        yield line.split()[-1], process
        process.terminate()
        reader.join()
    finally:
        process.terminate()
        process.communicate()


def _show(log: Iterable[str]) -> None:
    for line in log:
        sys.stderr.write(line)


def text(result: Any) -> str:
    """The text of a result's content."""
    return "\n".join(block.text for block in result.content if block.type == "text")
