"""Leases: who may work on a name now.

A lease keeps two workers from executing one name at a time. What is saved does not depend on it: that is
decided by the version that `Store.save` expects.
"""

from __future__ import annotations

import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Final

from planaria.errors import StorageError

__all__ = ["DURATION", "ExpiringLeases", "Lease", "Leases", "MemoryLeases"]

_LOG: Final = logging.getLogger("planaria.stores")

#: Seconds after which a lease ends whose holder is not heard of.
DURATION: Final = 15.0
#: How often it is looked in that time whether a lease has to be renewed.
_RENEWALS: Final = 6
#: Seconds between two attempts to have a lease, at first and at most.
_PAUSE: Final = (0.002, 0.05)


class Lease:
    """A name that is held until `release`."""

    def __init__(self, name: str, release: Callable[[], None]) -> None:
        self.name = name
        self._release = release
        self.is_lost = False
        """Whether it ended by itself, since the store could not be reached in time: another may hold it."""

    def release(self) -> None:
        """Give it up; releasing twice is harmless. Where the store cannot be reached, it ends by itself."""
        release, self._release = self._release, _nothing
        try:
            release()
        except StorageError as error:
            _LOG.warning("a lease could not be released, and ends by itself: %s", error)


class Leases(ABC):
    """The leases of a store. Used by any thread."""

    def acquire(
        self, name: str, holder: str, *, wait: float = 0.0, on_lost: Callable[[], None] | None = None
    ) -> Lease | None:
        """The lease of a name; None when another holds it for longer than `wait` seconds.

        A holder that is lost can be followed by one with the same string at once, where the system does not
        end its lease. `on_lost` is called, on another thread, when a lease could not be renewed in time.
        Raises StorageError.
        """
        end = time.monotonic() + wait
        pause = _PAUSE[0]
        while True:
            lease = self._try(name, holder, on_lost)
            if lease is not None or time.monotonic() >= end:
                return lease
            time.sleep(min(pause, max(0.0, end - time.monotonic())))
            pause = min(2 * pause, _PAUSE[1])

    @abstractmethod
    def _try(self, name: str, holder: str, on_lost: Callable[[], None] | None) -> Lease | None:
        """The lease, if it can be had now."""

    @abstractmethod
    def is_held(self, name: str) -> bool:
        """Whether someone holds the lease of a name now. Raises StorageError."""

    def close(self) -> None:  # noqa: B027 - some have nothing to release
        """Renew nothing any more, where something is renewed; closing twice is harmless."""


class MemoryLeases(Leases):
    """Leases among the threads of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        #: By name, the holder and which of its leases it is.
        self._held: dict[str, tuple[str, object]] = {}

    def _try(self, name: str, holder: str, on_lost: Callable[[], None] | None) -> Lease | None:
        token = object()

        def release() -> None:
            with self._lock:
                if self._held.get(name, ("", None))[1] is token:
                    del self._held[name]

        with self._lock:
            if self._held.get(name, (holder, None))[0] != holder:
                return None
            self._held[name] = holder, token
        return Lease(name, release)

    def is_held(self, name: str) -> bool:
        with self._lock:
            return name in self._held


class ExpiringLeases(Leases):
    """Leases that end by themselves, and are renewed by a thread while they are held."""

    def __init__(self, duration: float = DURATION) -> None:
        self._duration = duration
        self._changed = threading.Condition()
        self._renewed: dict[Lease, _Renewal] = {}
        self._thread: threading.Thread | None = None

    @abstractmethod
    def _take(self, name: str, holder: str) -> Callable[[], None] | None:
        """Hold a name for `_duration` seconds, if no other holder has it; how to release it."""

    @abstractmethod
    def _renew(self, name: str, holder: str) -> bool:
        """Hold a name longer; False when it is another's meanwhile."""

    def _try(self, name: str, holder: str, on_lost: Callable[[], None] | None) -> Lease | None:
        begin = time.monotonic()
        give_up = self._take(name, holder)
        if give_up is None:
            return None

        def release() -> None:
            with self._changed:
                self._renewed.pop(lease, None)
            if not lease.is_lost:
                give_up()

        lease = Lease(name, release)
        with self._changed:
            self._renewed[lease] = _Renewal(holder, on_lost or _nothing, begin + self._duration)
            if self._thread is None:
                self._thread = threading.Thread(target=self._keep, name="planaria-leases", daemon=True)
                self._thread.start()
        return lease

    def close(self) -> None:
        """Renew nothing any more."""
        with self._changed:
            self._renewed.clear()

    def _keep(self) -> None:
        """Renew what is held; ends when nothing was held for some time."""
        while True:
            with self._changed:
                self._changed.wait(self._duration / _RENEWALS)
                held = dict(self._renewed)
                if not held:
                    self._thread = None
                    return
            for lease, renewal in held.items():
                begin = time.monotonic()
                if begin > renewal.until - 2 * self._duration / 3 and not self._is_renewed(lease, renewal):
                    with self._changed:
                        is_lost = self._renewed.pop(lease, None) is not None
                    if is_lost:
                        lease.is_lost = True
                        renewal.on_lost()

    def _is_renewed(self, lease: Lease, renewal: _Renewal) -> bool:
        begin = time.monotonic()
        try:
            if not self._renew(lease.name, renewal.holder):
                return False
        except StorageError as error:
            _LOG.warning("the lease of %r could not be renewed: %s", lease.name, error)
            return begin + self._duration / _RENEWALS < renewal.until
        renewal.until = begin + self._duration
        return True


class _Renewal:
    def __init__(self, holder: str, on_lost: Callable[[], None], until: float) -> None:
        self.holder = holder
        self.on_lost = on_lost
        self.until = until


def _nothing() -> None:
    pass
