"""A worker's entry in its store, by which others see it and ask it to drain."""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Final
from uuid import uuid4

from planaria.errors import ProtocolError, StorageError
from planaria.stores.presence import Presence
from planaria.stores.store import Store
from planaria.version import __version__
from planaria_kernel.protocol import decode, encode

__all__ = ["DRAIN", "Heartbeat", "WorkerState", "workers_of"]

_LOG: Final = logging.getLogger("planaria.pool")

#: The message that asks a worker to drain.
DRAIN: Final = b"drain"
#: Seconds between two looks for messages, and between two writes of the state.
_LOOK: Final = 3.0
_WRITE: Final = 30.0
#: Seconds after which a worker that did not write is taken for one that was lost.
LOST: Final = 3 * _WRITE


@dataclass(frozen=True, slots=True)
class WorkerState:
    """What a worker says of itself."""

    host: str
    pid: int
    version: str
    """Of planaria."""
    started_at: float
    """In seconds since 1970, by the clock of its host; so is the next one."""
    seen_at: float
    steps: int = 0
    """Steps that it has executed."""
    live: int = 0
    """Sessions that it has in memory."""

    @property
    def is_lost(self) -> bool:
        """Whether it was not heard of for a minute and a half."""
        return time.time() - self.seen_at > LOST


class Heartbeat:
    """Keeps the entry of a worker while it runs, on a thread of its own."""

    def __init__(self, store: Store, count: Callable[[], tuple[int, int]], drain: Callable[[], None]) -> None:
        """`count` gives the steps executed and the live sessions; `drain` is called on the thread."""
        self.worker = uuid4().hex
        self._presence = store.presence
        self._count = count
        self._drain = drain
        self._ended = threading.Event()
        now = time.time()
        self._state = WorkerState(socket.gethostname(), os.getpid(), __version__, now, now)
        self._thread = threading.Thread(target=self._beat, name="planaria-heartbeat", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Remove the entry."""
        self._ended.set()
        self._thread.join()

    def _beat(self) -> None:
        written = -_WRITE
        while True:
            try:
                if time.monotonic() - written >= _WRITE:
                    self._write()
                    written = time.monotonic()
                if self._presence.orders(self.worker) == DRAIN:
                    self._drain()
                    self._presence.remove(self.worker)
                    written = -_WRITE
            except StorageError as error:
                _LOG.warning("the entry of this worker in the store is out of date: %s", error)
            if self._ended.wait(_LOOK):
                break
        try:
            self._presence.remove(self.worker)
        except StorageError as error:
            _LOG.warning("the entry of this worker stays in the store: %s", error)

    def _write(self) -> None:
        steps, live = self._count()
        self._state = replace(self._state, seen_at=time.time(), steps=steps, live=live)
        self._presence.write(self.worker, encode(asdict(self._state)))


def workers_of(presence: Presence) -> dict[str, WorkerState]:
    """The workers of a store, by identifiers. Raises StorageError."""
    found = {}
    for worker, data in presence.all().items():
        try:
            found[worker] = WorkerState(**decode(data))
        except (ProtocolError, TypeError):
            raise StorageError(
                f"the entry of worker {worker} in this store is damaged, or of another version of planaria"
            ) from None
    return found
