"""Folding deltas in the background: a state that was saved as a delta is kept as a complete snapshot.

A step saves what changed since the last complete snapshot. When that has become large, a thread makes a
complete one of it, which takes the place of the delta under its version. A step that saves meanwhile wins:
its version stays, and its successor is a delta of the new complete snapshot.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Final

from planaria.errors import PlanariaError
from planaria.snapshot.folding import folded
from planaria.snapshot.snapshot import Snapshot
from planaria.stores.store import Store, is_worth_a_delta
from planaria.stores.versions import Version

__all__ = ["Folding", "is_beyond_folding"]

_LOG: Final = logging.getLogger("planaria.stores")

#: A delta of so many times the size at which it is folded is not saved: the step saves a complete snapshot.
_MOST: Final = 4


def is_beyond_folding(snapshot: Snapshot, base: Snapshot) -> bool:
    """Whether a delta has become so large that its step cannot leave it to the background."""
    return not is_worth_a_delta(snapshot, base, times=_MOST)


class Folding:
    """The deltas of a worker or server that have to be folded, and the thread that does it while there are
    some.
    """

    def __init__(self, store: Store, adopt: Callable[[str, Snapshot, Snapshot], None]) -> None:
        """`adopt` is called with a name, the complete snapshot that its delta was of, and the new one."""
        self._store = store
        self._adopt = adopt
        self._changed = threading.Condition()
        #: The newest of each name.
        self._waiting: dict[str, tuple[Version, Snapshot]] = {}
        self._thread: threading.Thread | None = None

    def add(self, name: str, version: Version, snapshot: Snapshot) -> None:
        """Fold what was saved as a version, if it has grown so much."""
        base = snapshot.parent
        if base is None or is_worth_a_delta(snapshot, base):
            return
        with self._changed:
            self._waiting[name] = version, snapshot
            if self._thread is None:
                self._start()

    def close(self) -> None:
        """Wait until all is folded."""
        with self._changed:
            self._changed.wait_for(lambda: self._thread is None)

    def _start(self) -> None:
        self._thread = threading.Thread(target=self._work, name="planaria-folding", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        try:
            while True:
                with self._changed:
                    if not self._waiting:
                        self._end()
                        return
                self.fold_one()
        except BaseException:
            with self._changed:
                self._end()  # `close` must not wait for a thread that failed
            raise

    def _end(self) -> None:
        self._thread = None
        self._changed.notify_all()

    def fold_one(self) -> None:
        """Fold the delta that has waited longest."""
        with self._changed:
            name = next(iter(self._waiting))
            version, snapshot = self._waiting.pop(name)
        base = snapshot.parent
        assert base is not None
        try:
            whole = folded(snapshot)
            was_newest = self._store.replace(name, version, whole)
        except (PlanariaError, MemoryError) as error:
            # The delta stays; the next step of the name has it folded.
            _LOG.warning(
                *("the state of %r was not folded: %s", name, error), extra={"name_of_session": name}
            )
            return
        _LOG.debug(
            "version %d of %r was folded%s",
            *(version.number, name, "" if was_newest else ", too late"),
            extra={"name_of_session": name, "version": version.number},
        )
        self._adopt(name, base, whole)
