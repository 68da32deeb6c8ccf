"""How tests connect the SDK's client to `planaria mcp` and to a server in their process."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import anyio
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

import planaria
from planaria.integrations.mcp import NamedSessions, create_server, listen

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


MODES = ["auto", "legacy"]  # 2026-07-28 without sessions of the protocol's, 2025-11-25 with them


def run(main: Callable[[], Coroutine[Any, Any, None]]) -> None:
    anyio.run(main)


def named_sessions(store: planaria.Store | None = None, *, most: int = 64, **arguments: Any) -> NamedSessions:
    return NamedSessions(
        lambda: planaria.AsyncSession(on_output=listen, **arguments),
        lambda snapshot: planaria.AsyncSession.from_snapshot(snapshot, on_output=listen, **arguments),
        store,
        most=most,
    )


def with_client(
    main: Callable[[Client], Coroutine[Any, Any, None]],
    sessions: NamedSessions,
    mode: str = "auto",
    *,
    elicitation: Any = None,
    **options: Any,
) -> None:
    """Run `main` with a client of a server in this process."""

    async def connect() -> None:
        try:
            server = create_server(sessions, **options)
            async with Client(server, mode=mode, elicitation_callback=elicitation) as client:
                await main(client)
        finally:
            await sessions.close()

    anyio.run(connect)
