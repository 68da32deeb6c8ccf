"""The standard input of a command that runs: what a client sends, and the lines that the command reads."""

from __future__ import annotations

import threading
from concurrent.futures import Future

from planaria.executors.messages import Answer, EndOfInput, Ok

__all__ = ["StandardInput"]


class StandardInput:
    """Takes bytes on one thread, and gives lines to another."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._data = bytearray()
        self._has_ended = False
        self._waiting: Future[Answer] | None = None

    def write(self, data: bytes) -> None:
        """Add to it; what is behind the last newline is read once there is another one, or the end."""
        with self._lock:
            self._data += data
            self._give()

    def close(self) -> None:
        """There is no more."""
        with self._lock:
            self._has_ended = True
            self._give()

    def read(self) -> Future[Answer]:
        """The next line, or the end, once it is there."""
        with self._lock:
            self._waiting = future = Future[Answer]()
            self._give()
            return future

    def _give(self) -> None:
        if self._waiting is None or self._waiting.done():
            return
        end = self._data.find(b"\n")
        if end < 0 and not self._has_ended:
            return
        if end < 0 and not self._data:
            self._waiting.set_result(EndOfInput())
            return
        line = bytes(self._data) if end < 0 else bytes(self._data[:end])
        del self._data[: len(line) + 1]
        self._waiting.set_result(Ok(line.decode("utf-8", "surrogateescape")))
