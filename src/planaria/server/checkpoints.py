"""Labelled checkpoints of a served session in the store, where they outlive the live session."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from anyio import to_thread

from planaria.errors import SessionError, SnapshotNotFound
from planaria.server.records import KeptCheckpoint, Record
from planaria.session._async.session import AsyncSession

if TYPE_CHECKING:
    from planaria.snapshot.snapshot import Snapshot
    from planaria.stores.store import Store

__all__ = ["drop", "go_to", "keep"]

#: So many are kept of a session, the newest ones.
_MOST: Final = 100


async def keep(
    store: Store, prefix: str, session: AsyncSession, record: Record, label: str, base: Snapshot | None
) -> list[KeptCheckpoint]:
    """Save the present state under a label, as changes since `base`, by a name that begins with `prefix`.

    Returns the checkpoints that it takes the place of.
    """
    name = prefix + secrets.token_hex(4)
    snapshot = await session.snapshot_state(parent=base)
    await to_thread.run_sync(partial(store.save, name, snapshot, expected=None))
    known = record.checkpoints
    replaced = [known.pop(label)] if label in known else []
    known[label] = KeptCheckpoint(name=name, executions=session.execution_count)
    while len(known) > _MOST:
        replaced.append(known.pop(next(iter(known))))
    return replaced


async def go_to(store: Store | None, session: AsyncSession, record: Record, to: str | int) -> None:
    """Go back to a checkpoint, of the live session or else in the store. Raises SessionError."""
    try:
        await session.rewind(to)
    except SessionError:
        kept = record.checkpoints.get(to) if isinstance(to, str) else None
        if kept is None or store is None:
            raise
        snapshot = await to_thread.run_sync(store.load, kept.name)
        await session.restore_state(snapshot, reseed=False)


async def drop(store: Store, checkpoints: Iterable[KeptCheckpoint]) -> None:
    """Delete checkpoints that nothing names any more."""
    for one in checkpoints:
        with suppress(SnapshotNotFound):  # another server has done it
            await to_thread.run_sync(store.delete, one.name)
