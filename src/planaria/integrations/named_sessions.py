"""Sessions by name, for servers: opened when they are first used, and kept in a store."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Final

import anyio
from anyio import to_thread

from planaria.errors import PlanariaError, SessionError, SnapshotConflict, SnapshotNotFound
from planaria.session._async.session import AsyncSession
from planaria.snapshot.snapshot import Snapshot
from planaria.stores.folding import Folding, is_beyond_folding

if TYPE_CHECKING:
    from planaria.session.report import Report
    from planaria.stores.store import Store
    from planaria.stores.versions import Version

__all__ = ["NamedSession", "NamedSessions"]

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
#: So many reports of a session are kept, for clients that come back for the whole of one.
_REPORTS: Final = 16
#: So many versions are saved, at least, before the store is asked to remove what no version needs.
_SAVES_BETWEEN_COLLECTIONS: Final = 100


class NamedSession:
    """A live session, the lock of those who use it by its name, and what its last executions reported."""

    def __init__(
        self, name: str, session: AsyncSession, version: Version | None = None, base: Snapshot | None = None
    ) -> None:
        self.name = name
        self.session = session
        self.lock = anyio.Lock()
        self.reports: dict[int, Report] = {}
        """The latest reports, by the number of the execution."""
        self.version = version
        """The version in the store that it is; None while it was not saved."""
        self.base = base
        """The whole snapshot that the next one is a delta of."""
        self.used_at = time.monotonic()
        """When it was used last, a value of `time.monotonic()`."""

    def note(self) -> bytes:
        """What is saved beside the state."""
        return b""

    def keep_report(self, report: Report) -> None:
        self.reports[report["execution_count"]] = report
        while len(self.reports) > _REPORTS:
            del self.reports[next(iter(self.reports))]


class NamedSessions:
    """The sessions of a server. Not for use from several threads.

    Several servers may share a store. Each state that is saved follows the one before (`Store.save` with
    `expected`): where two servers have a session, what is saved second is refused, and the session continues
    from what was saved first.

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
        self._folding = None if store is None else Folding(store, self._adopt)
        self._most = most
        #: The one that was used last is at the end.
        self._live: dict[str, NamedSession] = {}
        #: Those that are being opened; the event is set when that has ended.
        self._opening: dict[str, anyio.Event] = {}
        self._saves = 0
        self._next_collection = _SAVES_BETWEEN_COLLECTIONS

    async def open(self, name: str, *, create: bool = True) -> NamedSession:
        """The session of a name: the live one, the saved one, or with `create` a new one.

        Raises ValueError for a name that cannot be, SessionError when too many sessions are live,
        SnapshotNotFound without `create` when there is none, and the SnapshotErrors of one that cannot be
        restored.
        """
        self.check_name(name)
        while name in self._opening:
            await self._opening[name].wait()
        named = self._live.pop(name, None)
        if named is None or named.session.is_closed:
            named = await self._open(name, lambda: self._restored_or_new(name, create))
        named.used_at = time.monotonic()
        self._live[name] = named
        return named

    async def _open(self, name: str, make: Callable[[], NamedSession]) -> NamedSession:
        """Make a session live, on a thread. No other task opens one of that name meanwhile."""
        self._opening[name] = anyio.Event()
        try:
            await self._make_room()
            named = self._live[name] = await to_thread.run_sync(make)
            return named
        finally:
            self._opening.pop(name).set()

    @asynccontextmanager
    async def held(self, name: str, *, create: bool = True) -> AsyncIterator[NamedSession]:
        """Hold the session of a name, in its newest state: the others that want it wait.

        Raises what `open` does.
        """
        while True:
            named = await self.open(name, create=create)
            async with named.lock:
                if self._live.get(name) is not named:
                    continue  # it was closed while this task waited for it
                if not await self._is_newest(named):
                    await self._drop(named)
                    continue
                try:
                    yield named
                finally:
                    named.used_at = time.monotonic()
                return

    async def _is_newest(self, named: NamedSession) -> bool:
        """Whether no other server has saved a later state of a session."""
        if self._store is None or named.version is None:
            return True
        return await to_thread.run_sync(self._store.newest, named.name) == named.version

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

    @property
    def all_live(self) -> list[NamedSession]:
        """The live sessions; the one that was used last is at the end."""
        return list(self._live.values())

    async def names(self) -> dict[str, bool]:
        """The names there are, sorted, and whether each session is live rather than only saved."""
        saved = [] if self._store is None else await to_thread.run_sync(self._store.list)
        return {name: name in self._live for name in sorted({*self._live, *saved})}

    async def add(self, name: str, session: AsyncSession) -> NamedSession:
        """Give a session a name and save it; one that has the name must have been closed before."""
        return await self._add(name, lambda: NamedSession(name, session))

    async def _add(self, name: str, make: Callable[[], NamedSession]) -> NamedSession:
        """Make a session and save it. Raises SnapshotConflict when one of that name is saved."""
        named = await self._open(name, make)
        named.lock.acquire_nowait()  # before those who wait for it to be opened
        try:
            await self.save(named)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self._drop(named)
            raise
        finally:
            named.lock.release()
        return named

    async def _is_there(self, name: str) -> bool:
        """Whether there is a live session of a name; one that is just being made and saved is waited for."""
        while (opening := self._opening.get(name)) is not None:
            await opening.wait()
        named = self._live.get(name)
        if named is None:
            return False
        async with named.lock:
            return self._live.get(name) is named

    async def save(self, named: NamedSession) -> None:
        """Save a session's present state, if there is a store. Raises SnapshotError and StorageError.

        Raises SnapshotConflict when another server has saved a later state: this session is closed then.
        """
        store = self._store
        if store is None:
            return
        base = named.base
        snapshot = await named.session.snapshot_state(parent=base)
        if base is not None and is_beyond_folding(snapshot, base):
            base, snapshot = None, await named.session.snapshot_state()
        save = partial(store.save, named.name, snapshot, expected=named.version, keep=1, note=named.note())
        try:
            named.version = await to_thread.run_sync(save)
        except SnapshotConflict:
            await self._drop(named)
            raise
        if base is None:
            named.base = snapshot
        assert self._folding is not None
        self._folding.add(named.name, named.version, snapshot)
        await self._collect(store)

    def _adopt(self, name: str, base: Snapshot, whole: Snapshot) -> None:
        """On the thread that folds: the next state is a delta of a new complete snapshot."""
        named = self._live.get(name)
        if named is not None and named.base is base:
            named.base = whole

    async def _collect(self, store: Store) -> None:
        """Have the store remove what no version needs, now and then: it reads all that there is."""
        self._saves += 1
        if self._saves >= self._next_collection:
            self._next_collection = self._saves + _SAVES_BETWEEN_COLLECTIONS
            self._next_collection += 4 * len(await to_thread.run_sync(store.list))
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

    async def park(self, idle: float, name: str | None = None) -> int:
        """Close the sessions that were not used for so many seconds and can be opened again; how many.

        With a name, only that one.
        """
        if self._store is None:
            return 0
        oldest = time.monotonic() - idle
        parked = [
            named
            for named in self._live.values()
            if named.used_at <= oldest
            and named.version is not None
            and not named.lock.locked()
            and name in (None, named.name)
        ]
        for named in parked:
            await self._drop(named)
        return len(parked)

    async def close(self) -> None:
        """Close all live sessions; those that were saved can be opened again."""
        while self._live:
            _, named = self._live.popitem()
            with suppress(PlanariaError):
                named.session.interrupt()
            await named.session.close()
        if self._folding is not None:
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(self._folding.close)

    async def _drop(self, named: NamedSession) -> None:
        """Close a session that can be opened again."""
        if self._live.get(named.name) is named:
            del self._live[named.name]
        await named.session.close()

    def _restored_or_new(self, name: str, create: bool) -> NamedSession:
        while self._store is not None:
            version = self._store.newest(name)
            if version is None:
                break
            try:
                snapshot = self._store.load(name, version.number)
            except SnapshotNotFound:
                continue  # another server has saved a later state
            return self._restored(name, snapshot, version)
        if not create:
            raise SnapshotNotFound(f"there is no session {name!r}")
        return NamedSession(name, self._create())

    def _restored(self, name: str, snapshot: Snapshot, version: Version) -> NamedSession:
        """A session that continues from what is saved of it."""
        return NamedSession(name, self._restore(snapshot), version, snapshot.parent or snapshot)

    async def _make_room(self) -> None:
        """Close the session that was not used for longest when there are too many."""
        if len(self._live) + len(self._opening) <= self._most:
            return
        idle = next((one for one in self._live.values() if not one.lock.locked()), None)
        if self._store is None or idle is None:
            raise SessionError(f"there are {self._most} live sessions; close one that is not needed any more")
        await self._drop(idle)
