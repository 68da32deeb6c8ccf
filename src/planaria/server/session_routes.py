"""Requests about sessions as a whole: creating, listing, changing, copying and deleting them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from planaria.server.models import (
    ChangeSession,
    CreateSession,
    ForkRequest,
    Query,
    QueryAnswer,
    SessionInfo,
    SessionList,
)
from planaria.server.outcomes import encoded, plain
from planaria.server.problems import Problem, arguments_of
from planaria.server.records import Record
from planaria.server.routes import SESSION, Call, Parameter, Route, changed
from planaria.server.served_session import ServedSession
from planaria.server.snapshot_routes import decoded
from planaria.session.engine import SessionEngine

if TYPE_CHECKING:
    from planaria.snapshot.snapshot import Snapshot

__all__ = ["SESSION_ROUTES"]

#: Questions that may leave something changed.
_CHANGING: Final = frozenset(
    {"assign", "clear", "evaluate", "mime_bundle", "bash_restore", "bash_forget_functions"}
)
_PAGE: Final = (
    Parameter("offset", {"type": "integer", "minimum": 0, "maximum": 10**9 - 1}),
    Parameter("limit", {"type": "integer", "minimum": 0, "maximum": 1000}),
)


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
        record=body.record,
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
        state = decoded(body.snapshot_base64)
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


async def clear(call: Call) -> SessionInfo:
    """Forget all variables."""
    return await changed(call, lambda session: session.clear_state())


async def reset(call: Call) -> SessionInfo:
    """Start again with a new instance; files stay."""
    return await changed(call, lambda session: session.reset())


async def query(call: Call) -> QueryAnswer:
    """What the kernel answers to a question."""
    body: Query = call.body
    arguments = arguments_of(body.arguments, body.arguments_base64)
    async with call.sessions.using(call.token, call.session) as named:

        def ask(engine: SessionEngine) -> object:
            engine.history.has_changed = True
            return engine.ask(body.name, *arguments)

        answer = await named.session._ask(ask)
        if body.name in _CHANGING:
            await call.sessions.save(named)
    return QueryAnswer(answer=plain(answer), answer_base64=encoded(answer))


SESSION_ROUTES: Final = (
    Route(
        "POST",
        "/v1/sessions",
        create,
        "Create a session",
        takes=CreateSession,
        gives=SessionInfo,
        status=201,
        errors=(404,),
    ),
    Route(
        "GET",
        "/v1/sessions",
        list_sessions,
        "List sessions, the newest first",
        gives=SessionList,
        parameters=_PAGE,
    ),
    Route("GET", SESSION, get, "Look at a session", gives=SessionInfo),
    Route(
        "PATCH",
        SESSION,
        change,
        "Change a session's callbacks, variables or metadata",
        takes=ChangeSession,
        gives=SessionInfo,
    ),
    Route("DELETE", SESSION, delete, "Delete a session", status=204),
    Route(
        "POST",
        f"{SESSION}/fork",
        fork,
        "Copy a session",
        takes=ForkRequest,
        gives=SessionList,
        status=201,
    ),
    Route(
        "POST",
        f"{SESSION}/query",
        query,
        "Ask the kernel something for which no code is executed",
        takes=Query,
        gives=QueryAnswer,
    ),
    Route("POST", f"{SESSION}/clear", clear, "Forget all variables", gives=SessionInfo),
    Route("POST", f"{SESSION}/reset", reset, "Start again; files stay", gives=SessionInfo),
)
