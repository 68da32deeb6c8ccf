"""What ends a wait: an answer that arrives, or a request to stop."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from concurrent.futures import Future, InvalidStateError

__all__ = ["Alarm"]


class Alarm:
    """Wakes the thread or task that waits for an execution.

    It refers to nothing, so that a callback that still runs keeps no session.
    """

    __slots__ = ("_bell", "_future")

    def __init__(self) -> None:
        self._future: Future[None] | None = None
        #: Held until the alarm rings, and again after the wait that this ended.
        self._bell = threading.Lock()
        self._bell.acquire()

    def ring(self) -> None:
        """End the present wait, or else the next one. From any thread, or a signal handler."""
        try:
            self._bell.release()
        except RuntimeError:
            pass  # it has rung already
        future = self._future
        if future is not None:
            with contextlib.suppress(InvalidStateError):
                future.set_result(None)

    def wait(self, seconds: float | None) -> None:
        """Block until the alarm rings, for so many seconds at most."""
        self._bell.acquire(timeout=-1 if seconds is None else min(seconds, threading.TIMEOUT_MAX))

    @contextlib.contextmanager
    def armed(self) -> Iterator[Future[None]]:
        """A future that is done when the wait shall end."""
        future: Future[None] = Future()
        self._future = future
        if not self._bell.locked():
            with contextlib.suppress(InvalidStateError):
                future.set_result(None)
        try:
            yield future
        finally:
            self._future = None
            self._bell.acquire(blocking=False)
