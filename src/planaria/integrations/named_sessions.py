"""Sessions by name, for servers: opened when they are first used, and kept in a store."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

import anyio
from anyio import to_thread

from planaria.errors import PlanariaError, SessionError, SnapshotNotFound
from planaria.session._async.session import AsyncSession
from planaria.snapshot.snapshot import Snapshot

if TYPE_CHECKING:
    from planaria.session.report import Report
    from planaria.stores.store import Store

__all__ = ["NamedSession", "NamedSessions"]

T = TypeVar("T")

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
#: So many reports of a session are kept, for clients that come back for the whole of one.
_REPORTS: Final = 16
#: So many versions are saved before the store is asked to remove what no version needs.
_SAVES_BETWEEN_COLLECTIONS: Final = 100


class NamedSession:
    """A live session, the lock of those who use it by its name, and what its last executions reported."""

    def __init__(self, name: str, session: AsyncSession) -> None:
        self.name = name
        self.session = session
        self.lock = anyio.Lock()
        self.reports: dict[int, Report] = {}
        """The latest reports, by the number of the execution."""

    def keep_report(self, report: Report) -> None:
        self.reports[report["execution_count"]] = report
        while len(self.reports) > _REPORTS:
            del self.reports[next(iter(self.reports))]


class NamedSessions:
    """The sessions of a server. Not for use from several threads.

    Args:
        create: returns a new session.
        restore: returns a session that continues from a snapshot.
        store: where sessions are saved, under their names; each keeps its newest version only. None keeps
            them in memory.
        most: how many sessions may be live. Beyond it, the one that was not used for longest is closed if
            there is a store to take it from again; without a store no other one is opened.
    """

    def __init__(
        self,
        create: Callable[[], AsyncSession],
        restore: Callable[[Snapshot], AsyncSession],
        store: Store | None = None,
        *,
        most: int = 64,
    ) -> None:
        if isinstance(most, bool) or not isinstance(most, int) or most < 1:
            raise ValueError(f"most={most!r}: must be a number of sessions greater than 0")
        self._create = create
        self._restore = restore
        self._store = store
        self._most = most
        #: The one that was used last is at the end.
        self._live: dict[str, NamedSession] = {}
        self._opening = anyio.Lock()
        self._saves = 0

    async def open(self, name: str) -> NamedSession:
        """The session of a name: the live one, the saved one, or a new one.

        Raises ValueError for a name that cannot be, SessionError when too many sessions are live, and the
        SnapshotErrors of one that cannot be restored.
        """
        self.check_name(name)
        async with self._opening:
            named = self._live.pop(name, None)
            if named is None or named.session.is_closed:
                await self._make_room()
                named = NamedSession(name, await to_thread.run_sync(self._restored_or_new, name))
            self._live[name] = named
            return named

    @staticmethod
    def check_name(name: str) -> None:
        """Raise ValueError for a name that cannot be."""
        if not _NAME.fullmatch(name):
            raise ValueError(
                f"{name!r} is not a name for a session: up to 100 letters, digits, '.', '_' and '-', "
                "beginning with a letter or digit"
            )

    def live(self, name: str) -> NamedSession | None:
        """The session of a name if it is live."""
        return self._live.get(name)

    async def names(self) -> dict[str, bool]:
        """The names there are, sorted, and whether each session is live rather than only saved."""
        saved = [] if self._store is None else await to_thread.run_sync(self._store.list)
        return {name: name in self._live for name in sorted({*self._live, *saved})}

    async def add(self, name: str, session: AsyncSession) -> NamedSession:
        """Give a session a name and save it; one that has the name must have been closed before."""
        async with self._opening:
            await self._make_room()
            named = self._live[name] = NamedSession(name, session)
        await self.save(named)
        return named

    async def save(self, named: NamedSession) -> None:
        """Save a session's present state, if there is a store. Raises SnapshotError and StorageError."""
        store = self._store
        if store is None:
            return
        snapshot = await named.session.snapshot_state()
        await to_thread.run_sync(store.save, named.name, snapshot)
        await to_thread.run_sync(partial(store.delete, named.name, keep=1))
        self._saves += 1
        if self._saves % _SAVES_BETWEEN_COLLECTIONS == 0:
            await to_thread.run_sync(store.collect_garbage)

    async def forget(self, name: str) -> bool:
        """Close a session and delete what was saved of it; whether there was one."""
        named = self._live.pop(name, None)
        if named is not None:
            named.session.interrupt()
            await named.session.close()
        if self._store is None:
            return named is not None
        try:
            await to_thread.run_sync(self._store.delete, name)
        except SnapshotNotFound:
            return named is not None
        return True

    async def close(self) -> None:
        """Close all live sessions; those that were saved can be opened again."""
        while self._live:
            _, named = self._live.popitem()
            with suppress(PlanariaError):
                named.session.interrupt()
            await named.session.close()

    def _restored_or_new(self, name: str) -> AsyncSession:
        if self._store is not None:
            try:
                return self._restore(self._store.load(name))
            except SnapshotNotFound:
                pass
        return self._create()

    async def _make_room(self) -> None:
        """Close the session that was not used for longest when there are too many."""
        if len(self._live) < self._most:
            return
        idle = next((name for name, one in self._live.items() if not one.lock.locked()), None)
        if self._store is None or idle is None:
            raise SessionError(f"there are {self._most} live sessions; close one that is not needed any more")
        await self._live.pop(idle).session.close()
