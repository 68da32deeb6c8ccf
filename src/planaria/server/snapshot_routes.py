"""Requests about snapshots: as bytes, and by name in the store."""

from __future__ import annotations

from typing import Final

from anyio import to_thread
from starlette.responses import Response

from planaria.server.files import BYTES
from planaria.server.models import RestoreRequest, SessionInfo, SnapshotInfo, SnapshotList, SnapshotRequest
from planaria.server.problems import Problem, bytes_of_base64
from planaria.server.routes import SESSION, Call, Route
from planaria.snapshot.snapshot import Snapshot

__all__ = ["SNAPSHOT_ROUTES", "decoded"]


async def restore(call: Call) -> SessionInfo:
    """Become what a snapshot is; checkpoints and history restart."""
    body: RestoreRequest = call.body
    if (body.snapshot is None) == (body.snapshot_base64 is None):
        raise Problem(422, "one of snapshot and snapshot_base64 is needed")
    state: Snapshot
    if body.snapshot is not None:
        state, _ = await call.sessions.load(call.token, body.snapshot)
    else:
        state = decoded(body.snapshot_base64 or "")
    async with call.sessions.using(call.token, call.session) as named:
        await named.session.restore_state(state)
        await call.sessions.save(named)
    return await call.sessions.info(call.token, call.session)


def decoded(text: str) -> Snapshot:
    return Snapshot(bytes_of_base64("snapshot_base64", text))


async def snapshot(call: Call) -> SnapshotInfo | Response:
    """The state as bytes, or kept under a name."""
    body: SnapshotRequest = call.body
    async with call.sessions.using(call.token, call.session) as named:
        state = await named.session.snapshot_state()
        named.note()
        note = named.record.model_copy(update={"results": [], "extra": {}}).note()
    if body.name is None:
        return Response(
            await to_thread.run_sync(lambda: bytes(state)),
            media_type=BYTES,
            headers={"Planaria-Digest": state.digest},
        )
    store, full = call.sessions.store, call.sessions.snapshot_name(call.token, body.name)
    version = await to_thread.run_sync(lambda: store.save(full, state, keep=1, note=note))
    return SnapshotInfo(name=body.name, digest=version.digest, size=version.size, saved_at=version.saved_at)


async def list_snapshots(call: Call) -> SnapshotList:
    found = await call.sessions.snapshots(call.token)
    return SnapshotList(
        snapshots=[
            SnapshotInfo(name=name, digest=one.digest, size=one.size, saved_at=one.saved_at)
            for name, one in found.items()
        ]
    )


async def delete_snapshot(call: Call) -> None:
    store = call.sessions.store
    full = call.sessions.snapshot_name(call.token, str(call.request.path_params["snapshot"]))
    await to_thread.run_sync(store.delete, full)


SNAPSHOT_ROUTES: Final = (
    Route(
        "POST",
        f"{SESSION}/restore",
        restore,
        "Become what a snapshot is",
        takes=RestoreRequest,
        gives=SessionInfo,
    ),
    Route(
        "POST",
        f"{SESSION}/snapshot",
        snapshot,
        "Take a snapshot: its bytes, or kept under a name",
        takes=SnapshotRequest,
        gives=SnapshotInfo,
        also=(BYTES,),
    ),
    Route("GET", "/v1/snapshots", list_snapshots, "List snapshots by name", gives=SnapshotList),
    Route("DELETE", "/v1/snapshots/{snapshot}", delete_snapshot, "Delete a snapshot", status=204),
)
