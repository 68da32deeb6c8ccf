"""Python programs in processes that are forked from one which has imported what they need.

Most of what a short program takes is its imports. A process of its own it is all the same: with its standard
streams, directory, environment, exit status and signals.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Self

#: Seconds that a program may take.
_PATIENCE = 120


class PreloadedPython:
    """Runs Python programs that use the given modules; a context manager."""

    def __init__(self, modules: Iterable[str]) -> None:
        self._connection, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno()), *modules], pass_fds=[theirs.fileno()]
            )
        self._connection.settimeout(_PATIENCE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._connection.close()
        self._process.wait(_PATIENCE)

    def run(
        self,
        source: str,
        arguments: Iterable[str] = (),
        *,
        stdin: bytes = b"",
        directory: Path,
        environment: Mapping[str, str],
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a program to its end; `arguments` are its `sys.argv`."""
        command = [*arguments]
        request = {
            "source": source,
            "arguments": command,
            "directory": str(directory),
            "environment": {**environment},
        }
        pipes = [os.pipe() for _ in range(3)]
        theirs = [pipes[0][0], pipes[1][1], pipes[2][1]]
        socket.send_fds(self._connection, [json.dumps(request).encode() + b"\n"], theirs)
        for descriptor in theirs:
            os.close(descriptor)
        output, errors = bytearray(), bytearray()
        threads = [
            threading.Thread(target=_feed, args=(os.fdopen(pipes[0][1], "wb"), stdin)),
            threading.Thread(target=_drain, args=(os.fdopen(pipes[1][0], "rb"), output)),
            threading.Thread(target=_drain, args=(os.fdopen(pipes[2][0], "rb"), errors)),
        ]
        for thread in threads:
            thread.start()
        status = b""
        while not status.endswith(b"\n"):
            received = self._connection.recv(64)
            assert received, "the preloaded process has ended"
            status += received
        for thread in threads:
            thread.join()
        return subprocess.CompletedProcess(command, int(status), bytes(output), bytes(errors))


def _feed(pipe: BinaryIO, data: bytes) -> None:
    try:
        with pipe:
            pipe.write(data)
    except BrokenPipeError:
        pass


def _drain(pipe: BinaryIO, into: bytearray) -> None:
    with pipe:
        into += pipe.read()


# -- in the preloaded process ---------------------------------------------------------------------------------


def _received(connection: socket.socket) -> tuple[dict[str, Any], Sequence[int]] | None:
    """The next request with the descriptors of its standard streams; None at the end."""
    data, streams, _, _ = socket.recv_fds(connection, 1 << 16, 3)
    while data and not data.endswith(b"\n"):
        data += connection.recv(1 << 16)
    return (json.loads(data), streams) if data else None


def _serve(connection: socket.socket) -> str | None:
    """Fork for each request until there are no more; in the process of a program, returns its source."""
    while (found := _received(connection)) is not None:
        request, streams = found
        process = os.fork()
        if not process:
            connection.close()
            for number, descriptor in enumerate(streams):
                os.dup2(descriptor, number)
                os.close(descriptor)
            os.chdir(request["directory"])
            os.environ.clear()
            os.environ.update(request["environment"])
            sys.argv = request["arguments"]
            return str(request["source"])
        for descriptor in streams:
            os.close(descriptor)
        status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        connection.sendall(f"{status}\n".encode())
    return None


if __name__ == "__main__":
    for module in sys.argv[2:]:
        importlib.import_module(module)
    gc.freeze()  # or the collector writes to every page that the processes share
    program = _serve(socket.socket(fileno=int(sys.argv[1])))
    if program is not None:
        sys.path[0] = ""  # as for `python -c`
        exec(compile(program, "<string>", "exec"), {"__name__": "__main__"})
