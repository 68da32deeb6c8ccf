"""Requests about the states of a session: going back to them, and what led to them."""

from __future__ import annotations

import itertools
from typing import Final

from anyio import to_thread
from starlette.responses import Response

from planaria.server.files import BYTES
from planaria.server.models import (
    CheckpointRequest,
    History,
    HistoryItem,
    RewindRequest,
    SessionInfo,
    StateDigest,
    Tree,
    TreeNode,
    UndoRequest,
)
from planaria.server.routes import SESSION, Call, Route, changed
from planaria.server.served_session import ServedSession
from planaria.session.history import Past

__all__ = ["STATE_ROUTES", "tree_of"]


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
    return await changed(call, lambda session: session.undo(body.n))


async def redo(call: Call) -> SessionInfo:
    return await changed(call, lambda session: session.redo())


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


async def digest(call: Call) -> StateDigest:
    """What names the present state."""
    async with call.sessions.using(call.token, call.session) as named:
        return StateDigest(digest=await named.session.state_digest())


async def recording(call: Call) -> Response:
    """What was executed and came from outside since the session was created or came back from the store."""
    async with call.sessions.using(call.token, call.session) as named:
        found = await named.session.recording()
    return Response(await to_thread.run_sync(lambda: bytes(found)), media_type=BYTES)


async def tree(call: Call) -> Tree:
    """The states that the session had, and the sessions that were forked from it."""
    async with call.sessions.using(call.token, call.session) as named:
        return await tree_of(call, named)


async def tree_of(call: Call, named: ServedSession) -> Tree:
    """The same of a session that is held."""
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


STATE_ROUTES: Final = (
    Route(
        "POST",
        f"{SESSION}/checkpoint",
        checkpoint,
        "Keep the state under a label",
        takes=CheckpointRequest,
        status=204,
    ),
    Route(
        "POST",
        f"{SESSION}/rewind",
        rewind,
        "Go back to a label, or to the state after so many executions",
        takes=RewindRequest,
        gives=SessionInfo,
    ),
    Route(
        "POST",
        f"{SESSION}/undo",
        undo,
        "Take back executions",
        takes=UndoRequest,
        gives=SessionInfo,
    ),
    Route("POST", f"{SESSION}/redo", redo, "Take back an undo", gives=SessionInfo),
    Route("GET", f"{SESSION}/history", history, "List executions", gives=History),
    Route("GET", f"{SESSION}/digest", digest, "Look at the digest of the state", gives=StateDigest),
    Route("GET", f"{SESSION}/recording", recording, "Take the recording of the session", gives=BYTES),
    Route("GET", f"{SESSION}/tree", tree, "List states and forks", gives=Tree),
)
