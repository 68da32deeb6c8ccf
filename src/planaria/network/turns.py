"""Who uses a connection now: tasks of the event loop, or the thread that the code runs on."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Turns"]


class Turns:
    """Either any number of tasks use a connection, or the one thread that holds `lock`."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._tasks = 0

    @contextmanager
    def of_task(self) -> Iterator[None]:
        """While a task of the event loop uses the connection."""
        with self.lock:
            self._tasks += 1
        try:
            yield
        finally:
            with self.lock:
                self._tasks -= 1

    @property
    def has_tasks(self) -> bool:
        """Whether a task uses it, for the thread that holds the lock."""
        return self._tasks > 0
