"""Handlers of the native API for sessions and their states."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

from anyio import to_thread
from starlette.responses import PlainTextResponse, Response

from planaria import __version__
from planaria.server.models import (
    ChangeSession,
    CheckpointRequest,
    CreateSession,
    ForkRequest,
    HealthReport,
    History,
    HistoryItem,
    Query,
    QueryAnswer,
    RestoreRequest,
    RewindRequest,
    SessionInfo,
    SessionList,
    SnapshotInfo,
    SnapshotList,
    SnapshotRequest,
    Tree,
    TreeNode,
    UndoRequest,
    WorkspaceInfo,
)
from planaria.server.outcomes import encoded, plain
from planaria.server.problems import Problem, bytes_of_base64, value_of_base64
from planaria.server.records import Record
from planaria.server.routes import Call
from planaria.server.sessions import ServedSession
from planaria.session.engine import SessionEngine
from planaria.session.history import Past
from planaria.snapshot.snapshot import Snapshot

if TYPE_CHECKING:
    from planaria.session._async.session import AsyncSession

__all__ = [
    "change",
    "checkpoint",
    "clear",
    "create",
    "delete",
    "delete_snapshot",
    "fork",
    "get",
    "health",
    "history",
    "list_sessions",
    "list_snapshots",
    "metrics",
    "query",
    "redo",
    "reset",
    "restore",
    "rewind",
    "snapshot",
    "tree",
    "undo",
    "workspace",
]

_BYTES: Final = "application/octet-stream"
#: Questions that may leave something changed.
_CHANGING: Final = frozenset(
    {"assign", "clear", "evaluate", "mime_bundle", "bash_restore", "bash_forget_functions"}
)


# -- sessions ------------------------------------------------------------------------------------------------


async def create(call: Call) -> SessionInfo:
    """A new session."""
    body: CreateSession = call.body
    sessions = call.sessions
    if body.snapshot is not None and body.snapshot_base64 is not None:
        raise Problem(422, "snapshot and snapshot_base64 exclude each other")
    record = Record(
        image=sessions.image_of(body.image),
        env=body.env,
        metadata=body.metadata,
        callbacks=body.callbacks,
        input=body.input,
        seed=body.seed,
    )
    state: Snapshot | None = None
    if body.snapshot is not None:
        state, note = await sessions.load(call.token, body.snapshot)
        saved = Record.model_validate_json(note or b"{}")
        record = record.model_copy(
            update={
                "callbacks": body.callbacks or saved.callbacks,
                "image": record.image if body.image else saved.image,
                "env": {**saved.env, **body.env},
            }
        )
    elif body.snapshot_base64 is not None:
        state = _decoded(body.snapshot_base64)
    named = await sessions.create(call.token, body.id, record, state)
    return await sessions.info(call.token, named.id)


async def list_sessions(call: Call) -> SessionList:
    """The sessions of the token."""
    found = await call.sessions.infos(call.token)
    first, most = call.number("offset", 0, 10**9 - 1), call.number("limit", 1000, 1000)
    return SessionList(sessions=found[first : first + most], total=len(found))


async def get(call: Call) -> SessionInfo:
    return await call.sessions.info(call.token, call.session)


async def delete(call: Call) -> None:
    await call.sessions.delete(call.token, call.session)


async def fork(call: Call) -> SessionList:
    """Copies of a session."""
    body: ForkRequest = call.body
    ids = body.ids or [None] * body.n  # type: ignore[list-item]
    named_ids = [one for one in ids if one is not None]
    if len(set(named_ids)) < len(named_ids):
        raise Problem(422, "ids has the same name twice")
    sessions = call.sessions
    await sessions.check_quota(call.token, len(ids))
    async with sessions.using(call.token, call.session) as named:
        known = {one.id for one in await sessions.infos(call.token)}
        if taken := sorted(known.intersection(named_ids)):
            raise Problem(409, f"there is a session {taken[0]!r} already", code="exists")
        named.note()
        made: list[ServedSession] = []
        for name, copy in zip(ids, await named.session.fork(len(ids)), strict=True):
            if body.at is not None:
                await copy.rewind(body.at)
            record = named.record.fork_of(named.id, copy.execution_count)
            made.append(await sessions.adopt(call.token, name, copy, record))
    return SessionList(sessions=[await sessions.info(call.token, one.id) for one in made], total=len(made))


async def change(call: Call) -> SessionInfo:
    """Other functions of the client's, variables, metadata."""
    body: ChangeSession = call.body
    async with call.sessions.using(call.token, call.session) as named:
        await named.change(callbacks=body.callbacks, env=body.env or {}, seed=body.seed)
        record = named.record
        if body.callbacks is not None:
            record.callbacks = body.callbacks
        if body.input is not None:
            record.input = body.input
        if body.metadata is not None:
            record.metadata = body.metadata
        record.env |= body.env or {}
        await call.sessions.save(named)
    return await call.sessions.info(call.token, call.session)


async def _changed(call: Call, change: Callable[[AsyncSession], Awaitable[object]]) -> SessionInfo:
    """Change a session and save it; what is known of it then."""
    async with call.sessions.using(call.token, call.session) as named:
        await change(named.session)
        await call.sessions.save(named)
    return await call.sessions.info(call.token, call.session)


async def clear(call: Call) -> SessionInfo:
    """Forget all variables."""
    return await _changed(call, lambda session: session.clear_state())


async def reset(call: Call) -> SessionInfo:
    """Start again with a new instance; files stay."""
    return await _changed(call, lambda session: session.reset())


async def query(call: Call) -> QueryAnswer:
    """What the kernel answers to a question."""
    body: Query = call.body
    arguments = tuple(body.arguments)
    if body.arguments_base64 is not None:
        given = value_of_base64("arguments_base64", body.arguments_base64)
        if not isinstance(given, tuple):
            raise Problem(422, "arguments_base64 must be a tuple")
        arguments = given
    async with call.sessions.using(call.token, call.session) as named:

        def ask(engine: SessionEngine) -> object:
            engine.history.has_changed = True
            return engine.ask(body.name, *arguments)

        answer = await named.session._ask(ask)
        if body.name in _CHANGING:
            await call.sessions.save(named)
    return QueryAnswer(answer=plain(answer), answer_base64=encoded(answer))


# -- going back ----------------------------------------------------------------------------------------------


async def checkpoint(call: Call) -> None:
    body: CheckpointRequest = call.body
    async with call.sessions.using(call.token, call.session) as named:
        await call.sessions.checkpoint(named, body.label)


async def rewind(call: Call) -> SessionInfo:
    body: RewindRequest = call.body
    async with call.sessions.using(call.token, call.session) as named:
        await call.sessions.rewind(named, body.to)
    return await call.sessions.info(call.token, call.session)


async def undo(call: Call) -> SessionInfo:
    body: UndoRequest = call.body
    return await _changed(call, lambda session: session.undo(body.n))


async def redo(call: Call) -> SessionInfo:
    return await _changed(call, lambda session: session.redo())


async def restore(call: Call) -> SessionInfo:
    """Become what a snapshot is; checkpoints and history restart."""
    body: RestoreRequest = call.body
    if (body.snapshot is None) == (body.snapshot_base64 is None):
        raise Problem(422, "one of snapshot and snapshot_base64 is needed")
    state: Snapshot
    if body.snapshot is not None:
        state, _ = await call.sessions.load(call.token, body.snapshot)
    else:
        state = _decoded(body.snapshot_base64 or "")
    async with call.sessions.using(call.token, call.session) as named:
        await named.session.restore_state(state)
        await call.sessions.save(named)
    return await call.sessions.info(call.token, call.session)


def _decoded(text: str) -> Snapshot:
    return Snapshot(bytes_of_base64("snapshot_base64", text))


async def history(call: Call) -> History:
    """The executions that led to the present state, as far as the live session knows them."""
    async with call.sessions.using(call.token, call.session) as named:
        entries = named.session.history
    return History(
        entries=[
            HistoryItem(
                count=one.count,
                code=one.code,
                duration_ms=one.duration_ms,
                error=one.error,
                checkpoint=one.checkpoint,
            )
            for one in entries
        ]
    )


async def tree(call: Call) -> Tree:
    """The states that the session had, and the sessions that were forked from it."""
    async with call.sessions.using(call.token, call.session) as named:
        nodes = _nodes(named)
    infos = await call.sessions.infos(call.token)
    forks = [one for one in infos if one.parent is not None and one.parent.session == call.session]
    return Tree(nodes=nodes, forks=forks)


def _nodes(named: ServedSession) -> list[TreeNode]:
    state = named.session._engine.history
    present = state.past
    known = named.nodes
    nodes: dict[Past | None, TreeNode] = {None: TreeNode(id=0, parent=None)}
    numbers = itertools.count(max(known.values(), default=0) + 1)

    def node_of(past: Past | None) -> TreeNode:
        missing: list[Past] = []
        while past is not None and past not in nodes:
            missing.append(past)
            past = past.before
        found = nodes[past]
        for one in reversed(missing):
            entry = one.entry
            found = nodes[one] = TreeNode(
                id=known.get(one) or next(numbers),
                parent=found.id,
                execution=entry.count,
                code=entry.code,
                error=entry.error,
            )
        return found

    node_of(present).current = True
    for point in state.points:
        node = node_of(point.past)
        node.kept = True
        if point.label is not None:
            node.labels.append(point.label)
    named.nodes = {past: node.id for past, node in nodes.items()}
    found = list(nodes.values())
    # Of before the session was parked; what led to them is not known any more.
    labels = {label for one in found for label in one.labels}
    for number, (label, kept) in enumerate(named.record.checkpoints.items(), 1):
        if label not in labels:
            found.append(TreeNode(id=-number, parent=0, execution=kept.executions, kept=True, labels=[label]))
    return found


# -- snapshots -----------------------------------------------------------------------------------------------


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
            media_type=_BYTES,
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


# -- the rest ------------------------------------------------------------------------------------------------


async def workspace(call: Call) -> WorkspaceInfo:
    """Tools, workflows and artifacts of the session's workspace."""
    async with call.sessions.using(call.token, call.session) as named:
        found = named.session.workspace
        has_storage = call.server.settings.arguments.get("storage") is not None
        return WorkspaceInfo(
            tools=await found.tools.list(),
            workflows=await found.workflows.list() if has_storage else [],
            artifacts=await found.artifacts.list() if has_storage else [],
        )


async def metrics(call: Call) -> Response:
    """Counters in the text format of Prometheus."""
    text = call.server.metrics.text(sessions_live=len(call.sessions.all_live))
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4")


async def health(call: Call) -> HealthReport:
    return HealthReport(version=__version__, sessions=len(call.sessions.all_live))
