"""The sessions of a server: named sessions in name spaces, with records, parked when they are idle."""

from __future__ import annotations

import re
import secrets
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from anyio import to_thread

from planaria.errors import SnapshotConflict, SnapshotNotFound
from planaria.integrations.named_sessions import NamedSession, NamedSessions
from planaria.limits import Limits
from planaria.server import checkpoints
from planaria.server.client_callbacks import waiting_callback
from planaria.server.kept_outputs import KeptOutputs, digests_in
from planaria.server.metrics import Metrics
from planaria.server.models import SessionInfo
from planaria.server.notebooks import Notebooks
from planaria.server.output import listen, listen_to_bytes
from planaria.server.problems import Problem
from planaria.server.records import Record
from planaria.server.served_session import SEPARATOR, ServedSession
from planaria.server.settings import ServerSettings, Token
from planaria.session._async.session import AsyncSession
from planaria.session.callbacks import CallbackRegistry
from planaria.snapshot.snapshot import Snapshot

if TYPE_CHECKING:
    from planaria.stores.store import Store
    from planaria.stores.versions import Version

__all__ = ["ServedSessions"]

#: The names that clients may give.
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
#: Between a name space and the name of a snapshot.
_SNAPSHOT: Final = "@"
#: Between a name space, the name of a session, and what names one of its checkpoints.
_CHECKPOINT: Final = "!"
#: What says to libraries how the page shows their figures: Plotly's as data, since it has the library itself.
_ENVIRONMENT: Final = {"PLOTLY_RENDERER": "plotly_mimetype"}


def _saved_record(store: Store, full: str) -> Record:
    """What is saved beside the newest state of a session."""
    version = store.newest(full)
    return Record.model_validate_json((version and version.note) or b"{}")


class ServedSessions(NamedSessions):
    """The sessions of a server in the name spaces of its tokens, by names such as "default.s1"."""

    def __init__(self, settings: ServerSettings, metrics: Metrics) -> None:
        super().__init__(AsyncSession, AsyncSession.from_snapshot, settings.store, most=settings.max_sessions)
        self.settings = settings
        self.metrics = metrics
        limits: Limits = settings.arguments.get("limits") or Limits(timeout=settings.timeout)
        self.limits = limits
        self.notebooks = Notebooks() if settings.page else None

    @property
    def store(self) -> Store:
        """The store. Raises Problem without one."""
        if self._store is None:
            raise Problem(501, "this server has no store: start it with --store", code="no-store")
        return self._store

    @property
    def has_store(self) -> bool:
        return self._store is not None

    # -- creating ------------------------------------------------------------------------------------------

    async def create(
        self, token: Token, name: str | None, record: Record, snapshot: Snapshot | None = None
    ) -> ServedSession:
        """Create a session, from an image or a snapshot, and save it.

        Raises Problem when the name is taken, when the token has too many sessions, and for an image that the
        server does not offer.
        """
        await self.check_quota(token, 1)
        full = self.full_name(token, name)
        return await self._create_as(full, partial(self._make, full, record, snapshot))

    async def adopt(
        self, token: Token, name: str | None, session: AsyncSession, record: Record
    ) -> ServedSession:
        """Give a fork a name, and save it."""
        full = self.full_name(token, name)
        if self.notebooks is not None and record.parent is not None:
            self.notebooks.copy(self.full_name(token, record.parent.session), full)
        return await self._create_as(full, lambda: self._served(full, session, record))

    async def _create_as(self, full: str, make: Callable[[], ServedSession]) -> ServedSession:
        taken = Problem(409, f"there is a session {full.partition(SEPARATOR)[2]!r} already", code="exists")
        if await self._is_there(full):
            raise taken
        try:
            named = await self._add(full, make)
        except SnapshotConflict:
            raise taken from None
        assert isinstance(named, ServedSession)
        self.metrics.add("planaria_sessions_created_total")
        return named

    def _make(self, full: str, record: Record, snapshot: Snapshot | None) -> ServedSession:
        arguments = self._arguments(record)
        if snapshot is None:
            session = AsyncSession(**arguments, image=record.image)
        else:
            session = AsyncSession.from_snapshot(snapshot, **arguments, image=record.image)
        return self._served(full, session, record)

    def _served(
        self,
        full: str,
        session: AsyncSession,
        record: Record,
        version: Version | None = None,
        base: Snapshot | None = None,
    ) -> ServedSession:
        if self.notebooks is None:
            return ServedSession(full, session, record, version, base)
        if self._store is None:
            return ServedSession(full, session, record, notebook=self.notebooks.of(full, list))
        # A new one has the record of the session that it is a fork of, and no outputs of its own yet.
        kept = KeptOutputs(self._store, full, () if version is None else digests_in(record.notebook))
        notebook = self.notebooks.of(full, lambda: kept.whole(record.notebook))
        return ServedSession(full, session, record, version, base, notebook, kept)

    def _arguments(self, record: Record) -> dict[str, Any]:
        """The arguments of a session."""
        usual = {} if self.notebooks is None else _ENVIRONMENT
        return {
            **self.settings.arguments,
            "limits": self.limits,
            "env": {**usual, **self.settings.arguments.get("env", {}), **record.env},
            "seed": record.seed,
            "record": record.record or self.settings.arguments.get("record", False),
            "callbacks": CallbackRegistry(map(waiting_callback, record.callbacks)),
            "on_bytes": listen_to_bytes,
            "on_output": listen,
        }

    def _restored(self, name: str, snapshot: Snapshot, version: Version) -> NamedSession:
        record = Record.model_validate_json(version.note or b"{}")
        session = AsyncSession.from_snapshot(snapshot, **self._arguments(record), image=record.image)
        return self._served(name, session, record, version, snapshot.parent or snapshot)

    def image_of(self, wanted: str | None) -> str | None:
        """The image to begin from. Raises Problem for one that the server does not offer."""
        images = self.settings.images
        if wanted is None:
            return images[0] if images else None
        if wanted not in images:
            raise Problem(422, f"there is no image {wanted!r}; there are: {', '.join(images) or 'none'}")
        return wanted

    async def check_quota(self, token: Token, more: int) -> None:
        """Raise Problem when the token would have too many sessions."""
        if sum(1 for _ in self._of(token, await self._known())) + more > token.sessions:
            raise Problem(
                429,
                f"this token may have {token.sessions} sessions; delete one first",
                code="too-many-sessions",
            )

    async def save(self, named: NamedSession) -> None:
        assert isinstance(named, ServedSession)
        kept, notebook = named.kept, named.notebook
        outputs = {} if notebook is None or kept is None else notebook.kept_outputs()
        if kept is not None and not kept.there.issuperset(outputs):
            await to_thread.run_sync(kept.put, outputs)
        await super().save(named)
        if kept is not None and not kept.there.issubset(outputs):
            await to_thread.run_sync(kept.drop_all_but, outputs)
        named.has_changed()

    # -- using ---------------------------------------------------------------------------------------------

    def full_name(self, token: Token, name: str | None) -> str:
        """The name of a session in the store; a random one without a name. Raises Problem."""
        if name is not None and not _NAME.fullmatch(name):
            raise Problem(404, f"there is no session {name!r}", code="no-session")
        return f"{token.space}{SEPARATOR}{secrets.token_hex(8) if name is None else name}"

    @asynccontextmanager
    async def using(self, token: Token, name: str) -> AsyncIterator[ServedSession]:
        """Hold a session of a name space; what changes it ends with `save`.

        Raises Problem when there is none, and when another server has saved a later state of it: what was
        done here is then undone.
        """
        try:
            async with self.held(self.full_name(token, name), create=False) as named:
                assert isinstance(named, ServedSession)
                yield named
        except SnapshotConflict:
            self.metrics.add("planaria_conflicts_total")
            raise Problem(
                409,
                f"another server has changed session {name!r} meanwhile: nothing of this request was "
                "kept; make it again",
                code="changed-elsewhere",
            ) from None
        except SnapshotNotFound as error:
            raise Problem(404, f"there is no session {name!r}", code="no-session") from error

    def present(self, token: Token, name: str) -> ServedSession | None:
        """A session if it is live, without waiting for what runs in it."""
        named = self.live(self.full_name(token, name))
        return named if isinstance(named, ServedSession) else None

    async def delete(self, token: Token, name: str) -> None:
        """Delete a session. Raises Problem when there is none."""
        full = self.full_name(token, name)
        store = self._store
        saved = Record() if store is None else await to_thread.run_sync(_saved_record, store, full)
        if not await self.forget(full):
            raise Problem(404, f"there is no session {name!r}", code="no-session")
        if store is not None:
            await checkpoints.drop(store, saved.checkpoints.values())
            outputs = KeptOutputs(store, full, digests_in(saved.notebook))
            if outputs.there:
                await to_thread.run_sync(outputs.drop_all_but, ())
        if self.notebooks is not None:
            self.notebooks.forget(full)

    async def _drop(self, named: NamedSession) -> None:
        await super()._drop(named)
        if self.notebooks is not None:
            self.notebooks.release(named.name)

    async def checkpoint(self, named: ServedSession, label: str) -> None:
        """Keep the present state under a label, the newest ones in the store too, if there is one."""
        await named.session.checkpoint(label)
        if self._store is None:
            named.has_changed()
            return
        prefix = named.name.replace(SEPARATOR, _CHECKPOINT) + _CHECKPOINT
        replaced = await checkpoints.keep(self._store, prefix, named.session, named.record, label, named.base)
        await self.save(named)
        await checkpoints.drop(self._store, replaced)

    async def rewind(self, named: ServedSession, to: str | int) -> None:
        """Go back to a checkpoint, and save that. Raises SessionError when it was not kept."""
        await checkpoints.go_to(self._store, named.session, named.record, to)
        await self.save(named)

    # -- looking -------------------------------------------------------------------------------------------

    async def infos(self, token: Token) -> list[SessionInfo]:
        """The sessions of a name space, the newest first."""
        found = [self._info(name, version) for name, version in self._of(token, await self._known())]
        return sorted(found, key=lambda one: (-one.created_at, one.id))

    async def info(self, token: Token, name: str) -> SessionInfo:
        """One session. Raises Problem when there is none."""
        full = self.full_name(token, name)
        version = await to_thread.run_sync(self._store.newest, full) if self._store is not None else None
        named = self._live.get(full)
        if version is None and (named is None or named.version is not None):
            raise Problem(404, f"there is no session {name!r}", code="no-session")
        return self._info(full, version)

    async def _known(self) -> dict[str, Version | None]:
        saved = {} if self._store is None else await to_thread.run_sync(self._store.newest_of_all)
        # A live one whose saved state is gone was deleted by another server.
        unsaved = {name: None for name, one in self._live.items() if one.version is None}
        return {**unsaved, **saved}

    @staticmethod
    def _of(token: Token, known: dict[str, Version | None]) -> Iterator[tuple[str, Version | None]]:
        start = f"{token.space}{SEPARATOR}"
        return ((name, version) for name, version in known.items() if name.startswith(start))

    async def records(self, token: Token) -> list[tuple[str, Record]]:
        """The sessions of a name space, as their names and copies of their records."""
        found = []
        for full, version in self._of(token, await self._known()):
            named = self._live.get(full)
            if isinstance(named, ServedSession):
                record = named.record.model_copy(update={"extra": dict(named.record.extra)})
            else:
                record = Record.model_validate_json((version and version.note) or b"{}")
            found.append((full.partition(SEPARATOR)[2], record))
        return found

    def _info(self, full: str, version: Version | None) -> SessionInfo:
        named = self._live.get(full)
        if isinstance(named, ServedSession):
            record, executions = named.record, named.session.execution_count
        else:
            record = Record.model_validate_json((version and version.note) or b"{}")
            executions = record.executions
        return SessionInfo(
            id=full.partition(SEPARATOR)[2],
            live=named is not None,
            created_at=record.created_at,
            executions=executions,
            image=record.image,
            metadata=record.metadata,
            parent=record.parent,
            callbacks=[one.name for one in record.callbacks],
            saved_at=None if version is None else version.saved_at,
            size=None if version is None else version.size,
        )

    # -- snapshots by name ---------------------------------------------------------------------------------

    def snapshot_name(self, token: Token, name: str) -> str:
        """The name of a snapshot in the store. Raises Problem."""
        if not _NAME.fullmatch(name):
            raise Problem(404, f"there is no snapshot {name!r}", code="no-snapshot")
        return f"{token.space}{_SNAPSHOT}{name}"

    async def snapshots(self, token: Token) -> dict[str, Version]:
        """The snapshots of a name space by name."""
        start = f"{token.space}{_SNAPSHOT}"
        known = await to_thread.run_sync(self.store.newest_of_all)
        return {name[len(start) :]: one for name, one in known.items() if name.startswith(start)}

    async def load(self, token: Token, name: str) -> tuple[Snapshot, bytes]:
        """A snapshot by name, with its note. Raises Problem when there is none."""
        full, store = self.snapshot_name(token, name), self.store

        def read() -> tuple[Snapshot, bytes] | None:
            version = store.newest(full)
            return None if version is None else (store.load(full, version.number), version.note)

        found = await to_thread.run_sync(read)
        if found is None:
            raise Problem(404, f"there is no snapshot {name!r}", code="no-snapshot")
        return found
