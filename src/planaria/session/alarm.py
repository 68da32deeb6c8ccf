"""What ends a wait: an answer that arrives, or a request to stop."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from concurrent.futures import Future, InvalidStateError

__all__ = ["Alarm"]


class Alarm:
    """Wakes the thread or task that waits for an execution.

    It refers to nothing, so that a callback that still runs keeps no session.
    """

    __slots__ = ("_future", "_rung")

    def __init__(self) -> None:
        self._future: Future[None] | None = None
        self._rung = False

    def ring(self) -> None:
        """End the present wait, or else the next one. From any thread, or a signal handler."""
        self._rung = True
        future = self._future
        if future is not None:
            with contextlib.suppress(InvalidStateError):
                future.set_result(None)

    @contextlib.contextmanager
    def armed(self) -> Iterator[Future[None]]:
        """A future that is done when the wait shall end."""
        future: Future[None] = Future()
        self._future = future
        if self._rung:
            with contextlib.suppress(InvalidStateError):
                future.set_result(None)
        try:
            yield future
        finally:
            self._future = None
            self._rung = False
