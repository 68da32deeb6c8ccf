"""Sessions that agent frameworks know by an id: live in this process, saved in a store if there is one."""

from __future__ import annotations

import threading
import uuid
from contextlib import suppress
from typing import TYPE_CHECKING

from planaria.errors import SessionClosed, SnapshotNotFound
from planaria.integrations.command_backend import BackendClosed, CommandBackend
from planaria.session._sync.session import Session
from planaria.session.options import SessionArguments

if TYPE_CHECKING:
    from planaria.stores.store import Store

__all__ = ["Environment", "Environments"]


class Environment:
    """One of them: its id, its commands and files, and where it is saved."""

    def __init__(self, identity: str, session: Session, store: Store | None) -> None:
        self.identity = identity
        self.backend = CommandBackend(session)
        self._store = store
        #: Guards saving, which takes the session's newest state.
        self._saving = threading.Lock()
        #: The digest of what was saved last or restored.
        self.digest = ""

    def save(self) -> None:
        """Save the present state, if there is a store. While a command runs nothing is saved: that is done
        when it has ended. Raises BackendClosed, SnapshotError and StorageError.
        """
        store = self._store
        if store is None or self.backend.is_busy:
            return
        with self._saving:
            try:
                snapshot = self.backend.session.snapshot_state()
            except SessionClosed as error:
                raise BackendClosed(str(error)) from error
            self.digest = store.save(self.identity, snapshot).digest
            store.delete(self.identity, keep=1)


class Environments:
    """Creates, finds and destroys environments. For any thread.

    Args:
        store: where they are saved under their ids, for other processes; None keeps them in this one.
        arguments: those of `planaria.Session`.
    """

    #: The live ones of this process, by id; each id exists once in the world.
    _live: dict[str, Environment] = {}  # noqa: RUF012
    _lock = threading.Lock()

    def __init__(self, store: Store | None, arguments: SessionArguments) -> None:
        self._store = store
        self._arguments = arguments

    def create(self) -> Environment:
        """A new environment."""
        environment = Environment(uuid.uuid4().hex, Session(**self._arguments), self._store)
        with self._lock:
            self._live[environment.identity] = environment
        environment.save()
        return environment

    def attach(self, identity: str) -> Environment:
        """The environment with an id: the live one, unless another process has saved a newer state, else the
        saved one. Raises BackendClosed when there is none.
        """
        with self._lock:
            live = self._live.get(identity)
            if self._store is None:
                if live is None or live.backend.is_closed:
                    raise BackendClosed(f"there is no session {identity!r} in this process, and no store")
                return live
            try:
                newest = self._store.history(identity)[-1].digest
                if live is not None and not live.backend.is_closed:
                    if live.backend.is_busy or newest == live.digest:
                        return live
                    live.backend.close()
                snapshot = self._store.load(identity)
            except SnapshotNotFound as error:
                raise BackendClosed(str(error)) from error
            session = Session.from_snapshot(snapshot, **self._arguments)
            environment = self._live[identity] = Environment(identity, session, self._store)
            environment.digest = snapshot.digest
            return environment

    def destroy(self, identity: str) -> None:
        """Close an environment and delete what was saved of it; nothing happens when it is gone already."""
        with self._lock:
            live = self._live.pop(identity, None)
        if live is not None:
            live.backend.close()
        if self._store is not None:
            with suppress(SnapshotNotFound):
                self._store.delete(identity)
