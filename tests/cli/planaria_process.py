"""How tests start the program `planaria`."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import BinaryIO, Self

Run = Callable[..., subprocess.CompletedProcess[bytes]]

COMMAND = [sys.executable, "-c", "from planaria.cli import main; main()"]

#: Seconds that a run may take.
_PATIENCE = 120


class PreloadedPlanaria:
    """Runs `planaria` as processes that are forked from one which has imported it."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            program = Path(__file__).with_name("preloaded_planaria.py")
            self._process = subprocess.Popen(
                [sys.executable, program, str(theirs.fileno())], pass_fds=[theirs.fileno()]
            )
        self._connection = ours
        self._connection.settimeout(_PATIENCE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._connection.close()
        self._process.wait(_PATIENCE)

    def run(
        self, arguments: Iterable[str], *, stdin: bytes, directory: Path, environment: Mapping[str, str]
    ) -> subprocess.CompletedProcess[bytes]:
        """Run `planaria` to its end."""
        request = {"arguments": [*arguments], "directory": str(directory), "environment": {**environment}}
        pipes = [os.pipe() for _ in range(3)]
        theirs = [pipes[0][0], pipes[1][1], pipes[2][1]]
        ours = [pipes[0][1], pipes[1][0], pipes[2][0]]
        socket.send_fds(self._connection, [json.dumps(request).encode() + b"\n"], theirs)
        for descriptor in theirs:
            os.close(descriptor)
        printed = [bytearray(), bytearray()]
        threads = [
            threading.Thread(target=_feed, args=(os.fdopen(ours[0], "wb"), stdin)),
            *[
                threading.Thread(target=_drain, args=(os.fdopen(descriptor, "rb"), into))
                for descriptor, into in zip(ours[1:], printed, strict=True)
            ],
        ]
        for thread in threads:
            thread.start()
        status = b""
        while not status.endswith(b"\n"):
            status += self._connection.recv(64)
        for thread in threads:
            thread.join()
        return subprocess.CompletedProcess(
            ["planaria", *request["arguments"]], int(status), bytes(printed[0]), bytes(printed[1])
        )


def _feed(pipe: BinaryIO, data: bytes) -> None:
    try:
        with pipe:
            pipe.write(data)
    except BrokenPipeError:
        pass


def _drain(pipe: BinaryIO, into: bytearray) -> None:
    with pipe:
        into += pipe.read()
