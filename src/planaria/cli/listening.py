"""Listening for requests at an address, and saying where."""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Callable
from typing import Any, Final

__all__ = ["ENDS_WITH_STDIN", "serve_at"]

#: The environment variable by which a server ends when its standard input does: one of several.
ENDS_WITH_STDIN: Final = "PLANARIA_SERVE_UNTIL_STDIN_ENDS"


async def serve_at(
    app: Any,
    host: str,
    port: int,
    path: str = "",
    *,
    opens: bool = False,
    ends: Callable[[], object] | None = None,
    **options: Any,
) -> None:
    """Serve an ASGI application until SIGINT or SIGTERM; port 0 is any that is free.

    Where it is, with `path`, is printed on standard error once it listens, and with `opens` shown in a
    browser. `ends` is called before it waits for connections to end. `options` are those of uvicorn. Raises
    OSError when the address cannot be had.
    """
    import uvicorn

    class Server(uvicorn.Server):
        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            if ends is not None:
                ends()
            await super().shutdown(sockets)

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, port), family=family, backlog=1024) as listening:
        # Accepted connections inherit it. Without it a response waits until the client acknowledges its
        # headers, 40 ms; asyncio sets it only for sockets whose protocol is named.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        shown = f"[{host}]" if family == socket.AF_INET6 else host
        place = f"http://{shown}:{listening.getsockname()[1]}{path}"
        print(f"serving sessions at {place}", file=sys.stderr, flush=True)
        if opens:
            import webbrowser

            # The connection waits until the server takes it.
            threading.Thread(target=webbrowser.open, args=(place,), daemon=True).start()
        config = uvicorn.Config(app, log_level="warning", **options)
        server = Server(config)
        if os.environ.get(ENDS_WITH_STDIN):
            threading.Thread(target=_end_with_stdin, args=(server,), daemon=True).start()
        await server.serve(sockets=[listening])


def _end_with_stdin(server: Any) -> None:
    sys.stdin.buffer.read()
    server.should_exit = True
