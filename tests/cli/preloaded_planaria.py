"""`planaria` in a process that has imported it, and is forked for each run: most of a short run is its imports.

Run as a program with the descriptor of a Unix socket. A request is a line of JSON with the standard streams'
descriptors; the answer is a line with the exit status, negative for a signal.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import pkgutil
import socket
import sys
from typing import Any


def received(connection: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """The next request; None at the end."""
    data, streams, _, _ = socket.recv_fds(connection, 1 << 16, 3)
    while data and not data.endswith(b"\n"):
        data += connection.recv(1 << 16)
    return (json.loads(data), streams) if data else None


def become(request: dict[str, Any], streams: list[int]) -> None:
    """Give this process the streams, the directory, the environment and the arguments of a request."""
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(request["directory"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = ["planaria", *request["arguments"]]


def serve(connection: socket.socket) -> bool:
    """Fork for each request, until there are no more; True in the process of a run."""
    while (found := received(connection)) is not None:
        request, streams = found
        process = os.fork()
        if not process:
            connection.close()
            become(request, streams)
            return True
        for descriptor in streams:
            os.close(descriptor)
        status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        connection.sendall(f"{status}\n".encode())
    return False


if __name__ == "__main__":
    import planaria.cli

    for module in pkgutil.iter_modules(planaria.cli.__path__, "planaria.cli."):
        importlib.import_module(module.name)
    importlib.import_module("planaria.session._sync.session")
    gc.freeze()  # or the collector writes to every page that the processes share
    if serve(socket.socket(fileno=int(sys.argv[1]))):
        planaria.cli.main()
