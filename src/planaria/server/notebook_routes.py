"""Requests that the page makes beside the others: notebooks and the events of sessions, comparing
states, and usage.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final

import anyio
from anyio import to_thread
from starlette.responses import Response, StreamingResponse

from planaria.errors import FileSystemError
from planaria.files.view import Files
from planaria.server.executions import EVENTS
from planaria.server.files import entries_of
from planaria.server.notebook_models import (
    CellRequest,
    CompareRequest,
    NotebookDocument,
    NotebookRequest,
    Overview,
    StateDifference,
    Usage,
    VariableInfo,
    VariableReport,
)
from planaria.server.notebooks import TERMINAL, Notebook
from planaria.server.outcomes import pending_calls
from planaria.server.problems import Problem
from planaria.server.routes import SESSION, Call, Parameter, Route
from planaria.server.served_session import ServedSession
from planaria.server.state_routes import tree_of
from planaria.session.engine import SessionEngine
from planaria.snapshot.difference import Variable

if TYPE_CHECKING:
    from planaria.snapshot.snapshot import Snapshot

__all__ = ["NOTEBOOK_ROUTES"]

#: Seconds without an event after which a comment is sent, so that proxies keep the connection.
_KEEP_ALIVE: Final = 15.0
#: Files that are counted for the usage of a session.
_MOST_FILES: Final = 100_000
_HOME: Final = "/home/user"


async def _present(call: Call) -> ServedSession:
    """The session, without waiting for what runs in it; a parked one is made live."""
    named = call.sessions.present(call.token, call.session)
    if named is None:
        async with call.sessions.using(call.token, call.session) as named:
            pass
    return named


async def _notebook(call: Call) -> tuple[ServedSession, Notebook]:
    named = await _present(call)
    assert named.notebook is not None, "the routes are there with a page only"
    return named, named.notebook


async def _saved(call: Call, named: ServedSession) -> None:
    """Save the session for what its notebook has; an execution that runs does so at its end."""
    if call.sessions.has_store and not named.lock.locked():
        async with call.sessions.using(call.token, call.session) as held:
            await call.sessions.save(held)


# -- notebooks -----------------------------------------------------------------------------------------------


async def get_notebook(call: Call) -> Response:
    """The cells with their outputs."""
    _, notebook = await _notebook(call)
    return Response(json.dumps(notebook.as_json()), media_type="application/json")


async def put_notebook(call: Call) -> None:
    """Other cells in place of all."""
    body: NotebookRequest = call.body
    if len({cell.id for cell in body.cells}) < len(body.cells) or any(
        cell.id == TERMINAL for cell in body.cells
    ):
        raise Problem(422, f"cells must have ids of their own, and none can be {TERMINAL!r}")
    named, notebook = await _notebook(call)
    notebook.replace([cell.model_dump() for cell in body.cells])
    await _saved(call, named)


def _cell(call: Call) -> str:
    cell = str(call.request.path_params["cell"])
    if cell == TERMINAL or len(cell) > 64:
        raise Problem(404, f"there is no cell {cell[:64]!r}", code="no-cell")
    return cell


async def put_cell(call: Call) -> None:
    """Write a cell."""
    body: CellRequest = call.body
    identifier = _cell(call)
    named, notebook = await _notebook(call)
    notebook.put(identifier, body.kind, body.source, body.after, body.client)
    await _saved(call, named)


async def delete_cell(call: Call) -> None:
    """Remove a cell; what it has executed stays."""
    identifier = _cell(call)
    named, notebook = await _notebook(call)
    if not notebook.remove(identifier):
        raise Problem(404, f"there is no cell {identifier!r}", code="no-cell")
    await _saved(call, named)


async def events(call: Call) -> Response:
    """What happens in the session from now on, beginning with all that its notebook has."""
    _, notebook = await _notebook(call)
    return StreamingResponse(_lines(notebook), media_type=EVENTS, headers={"Cache-Control": "no-store"})


async def _lines(notebook: Notebook) -> AsyncIterator[str]:
    with notebook.followed() as follower:
        while not follower.is_behind:
            taken: list[tuple[str, Any]] = []
            with anyio.move_on_after(_KEEP_ALIVE):
                taken = await follower.take()
            yield (
                "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in taken)
                or ": alive\n\n"
            )
            if any(name in ("gone", "closing") for name, _ in taken):
                return


# -- states --------------------------------------------------------------------------------------------------


async def compare(call: Call) -> StateDifference:
    """What differs between two states, of one session or of two."""
    body: CompareRequest = call.body
    before = await _snapshot(call, call.session, body.before)
    after = await _snapshot(call, body.session or call.session, body.after)
    found = await to_thread.run_sync(before.diff, after)
    old, new = before.info, after.info
    return StateDifference(
        added={name: _report(one) for name, one in found.added.items()},
        removed={name: _report(one) for name, one in found.removed.items()},
        changed={name: [_report(one) for one in pair] for name, pair in found.changed.items()},
        files_added=found.files.added,
        files_removed=found.files.removed,
        files_changed=found.files.changed,
        memory_bytes=[old.memory_bytes, new.memory_bytes],
        size=[old.size, new.size],
    )


def _report(variable: Variable) -> VariableReport:
    return VariableReport(type=_written(variable.type), repr=_written(variable.repr))


def _written(text: str) -> str:
    """A text of the guest's, with "?" for the lone surrogates that UTF-8 cannot say."""
    return text.encode("utf-8", "replace").decode()


async def _snapshot(call: Call, session: str, place: str | int | None) -> Snapshot:
    """A state of a session, which stays as it is."""
    async with call.sessions.using(call.token, session) as named:
        if place is None:
            return await named.session.snapshot_state()
        [copy] = await named.session.fork(1)
    try:
        await copy.rewind(place)
        return await copy.snapshot_state()
    finally:
        await copy.close()


async def usage(call: Call) -> Usage:
    """What the session may use, and what it uses."""
    async with call.sessions.using(call.token, call.session) as named:
        return await _usage(call, named)


async def _usage(call: Call, named: ServedSession) -> Usage:
    limits = call.sessions.limits
    size, count = await to_thread.run_sync(_file_usage, named.session.files)
    engine = named.session._engine
    network = call.server.settings.arguments.get("network")
    return Usage(
        limits={one.name: getattr(limits, one.name) for one in fields(limits)},
        memory_bytes=engine.executor.memory_bytes,
        file_bytes=size,
        files=count,
        executions=named.session.execution_count,
        checkpoints=len(engine.history.points),
        network=[] if network is None else [str(rule) for rule in network.allow],
    )


async def overview(call: Call) -> Overview:
    """All that is shown beside the cells."""
    path = call.query("path", _HOME)
    if not path or "\0" in path:
        raise Problem(422, "path must be a name, absolute or below /home/user")
    async with call.sessions.using(call.token, call.session) as named:
        try:
            files = await to_thread.run_sync(entries_of, named.session.files, path)
        except FileSystemError:
            files = None
        return Overview(
            session=await call.sessions.info(call.token, call.session),
            tree=await tree_of(call, named),
            variables=await named.session._ask(_variables),
            files=files,
            usage=await _usage(call, named),
            calls=pending_calls(named),
        )


def _variables(engine: SessionEngine) -> dict[str, VariableInfo]:
    names, sizes = engine.ask("names"), engine.ask("sizes")
    assert isinstance(names, dict)
    assert isinstance(sizes, dict)
    return {
        _written(name): VariableInfo(type=_written(kind), repr=_written(text), size=sizes.get(name))
        for name, (kind, text) in sorted(names.items())
    }


def _file_usage(files: Files) -> tuple[int, int]:
    size = count = 0
    for folder, _, names in files.walk(_HOME):
        for name in names:
            if count >= _MOST_FILES:
                return size, count
            try:
                size += files.stat(f"{folder}/{name}", follow=False).size
            except FileSystemError:
                continue  # it was removed meanwhile
            count += 1
    return size, count


NOTEBOOK_ROUTES: Final = (
    Route("GET", f"{SESSION}/notebook", get_notebook, "Read the cells of the page", gives=NotebookDocument),
    Route("PUT", f"{SESSION}/notebook", put_notebook, "Replace all cells", takes=NotebookRequest, status=204),
    Route(
        "PUT",
        f"{SESSION}/notebook/cells/{{cell}}",
        put_cell,
        "Write a cell",
        takes=CellRequest,
        status=204,
    ),
    Route(
        "DELETE",
        f"{SESSION}/notebook/cells/{{cell}}",
        delete_cell,
        "Remove a cell",
        status=204,
    ),
    Route("GET", f"{SESSION}/events", events, "Follow what happens in a session", gives=EVENTS),
    Route(
        "POST",
        f"{SESSION}/compare",
        compare,
        "Compare two states",
        takes=CompareRequest,
        gives=StateDifference,
    ),
    Route(
        "GET",
        f"{SESSION}/overview",
        overview,
        "Look at states, variables, files, usage and calls at once",
        gives=Overview,
        parameters=(
            Parameter("path", {"type": "string", "minLength": 1}, "The directory whose files to list"),
        ),
    ),
    Route("GET", f"{SESSION}/usage", usage, "Look at limits and what was used", gives=Usage),
)
