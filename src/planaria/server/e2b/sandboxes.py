"""E2B's control plane: sandboxes are sessions, with a time at which they end."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final
from urllib.parse import parse_qsl

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from planaria.server.e2b.wire import access_token, control, decode_json, unimplemented
from planaria.server.guard import read_body
from planaria.server.problems import Problem
from planaria.server.records import Record
from planaria.server.routes import Server
from planaria.server.served_session import ServedSession
from planaria.server.settings import Token

__all__ = ["control_routes", "running"]

#: The version of the daemon that this server is like.
_VERSION: Final = "0.6.7"
#: Seconds that a sandbox has, unless asked for others.
_USUAL_TIMEOUT: Final = 300
_LONGEST: Final = 30 * 24 * 3600
_PAGE: Final = 100
_MIB: Final = 1 << 20
_VOLUMES: Final = "volumes are not available: give directories with --mount"
_TAGS: Final = "templates have no tags"
#: The templates that stand for the image that sessions begin from without a name.
_BASES: Final = ("base", "code-interpreter-v1")


async def _body(request: Request, token: Token) -> Any:
    return decode_json(await read_body(request, token.body))


def _timeout(body: Any, usual: int = _USUAL_TIMEOUT) -> int:
    value = body.get("timeout", usual)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _LONGEST:
        raise Problem(400, f"timeout={value!r}: must be a number of seconds up to {_LONGEST}")
    return value


def _strings(body: Any, name: str) -> dict[str, str]:
    value = body.get(name) or {}
    if not isinstance(value, dict) or not all(isinstance(one, str) for one in value.values()):
        raise Problem(400, f"{name} must be an object of strings")
    return value


def _is_over(extra: dict[str, Any]) -> bool:
    return not extra.get("paused") and extra.get("ends_at", 0) <= time.time()


@asynccontextmanager
async def _sandbox(server: Server, token: Token, name: str) -> AsyncIterator[ServedSession]:
    """Hold a sandbox that runs or is paused; one whose time is over is paused or deleted first.

    Raises Problem when there is none.
    """
    gone = Problem(404, f"sandbox {name!r} was not found")
    kill = False
    try:
        async with server.sessions.using(token, name) as named:
            extra = named.record.extra
            if "template" not in extra:
                raise gone
            if _is_over(extra):
                kill = not extra.get("auto_pause")
                extra["paused"] = True
            if not kill:
                yield named
    except Problem as problem:
        if problem.code == "no-session":
            raise gone from None
        raise
    if kill:
        await server.sessions.delete(token, name)
        raise gone


@asynccontextmanager
async def running(server: Server, token: Token, name: str) -> AsyncIterator[ServedSession]:
    """Hold a sandbox for a request to it. Raises Problem (502), as E2B's proxy does, unless it runs."""
    gone = Problem(502, f"The sandbox {name} was not found")
    try:
        async with _sandbox(server, token, name) as named:
            if named.record.extra.get("paused"):
                raise gone
            yield named
    except Problem as problem:
        if problem.status == 404 and problem.detail.startswith("sandbox "):
            raise gone from None
        raise


def _created(token: Token, name: str, record: Record) -> dict[str, Any]:
    access = access_token(token, name)
    return {
        "sandboxID": name,
        "templateID": record.extra["template"],
        "clientID": "planaria",
        "envdVersion": _VERSION,
        "envdAccessToken": access,
        "trafficAccessToken": access,
        "domain": None,
    }


def _date(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


def _detail(server: Server, token: Token, name: str, record: Record) -> dict[str, Any]:
    extra = record.extra
    limits = server.sessions.limits
    return {
        **_created(token, name, record),
        "startedAt": _date(record.created_at),
        "endAt": _date(extra["ends_at"]),
        "state": "paused" if extra.get("paused") else "running",
        "cpuCount": 1,
        "memoryMB": (limits.memory or 4096 * _MIB) // _MIB,
        "diskSizeMB": 1024,
        "metadata": record.metadata,
    }


async def create(server: Server, request: Request, token: Token) -> Response:
    body = await _body(request, token)
    template = str(body.get("templateID") or "base")
    for name, why in (
        ("volumeMounts", _VOLUMES),
        ("mcp", "MCP gateways are not available: sandboxes run in the server's process"),
        ("iam", "workload identities are not available: sandboxes run in the server's process"),
    ):
        if body.get(name):
            raise unimplemented(why)
    record = Record(
        env=_strings(body, "envVars"),
        metadata=_strings(body, "metadata"),
        extra={
            "template": template,
            "ends_at": time.time() + _timeout(body),
            "auto_pause": bool(body.get("autoPause")),
        },
    )
    sessions = server.sessions
    state = None
    if template in sessions.settings.images:
        record.image = template
    elif template in _BASES:
        record.image = sessions.image_of(None)
    else:
        state, note = await sessions.load(token, template)
        saved = Record.model_validate_json(note or b"{}")
        record.image, record.env = saved.image, {**saved.env, **record.env}
    named = await sessions.create(token, None, record, state)
    return JSONResponse(_created(token, named.id, record), 201)


async def _records(server: Server, token: Token) -> list[tuple[str, Record]]:
    known = await server.sessions.records(token)
    found = [(name, record) for name, record in known if "template" in record.extra]
    for _, record in found:
        if _is_over(record.extra) and record.extra.get("auto_pause"):
            record.extra["paused"] = True
    return [(name, record) for name, record in found if not _is_over(record.extra)]


async def list_sandboxes(server: Server, request: Request, token: Token) -> Response:
    query = request.query_params
    wanted = dict(parse_qsl(query.get("metadata", "")))
    states = {one for value in query.getlist("state") for one in value.split(",")} or {"running", "paused"}
    found = [
        _detail(server, token, name, record)
        for name, record in await _records(server, token)
        if wanted.items() <= record.metadata.items()
    ]
    found = [one for one in found if one["state"] in states]
    found.sort(key=lambda one: (one["startedAt"], one["sandboxID"]), reverse=query.get("order") != "asc")
    return _page(request, found)


def _page(request: Request, found: list[dict[str, Any]]) -> Response:
    query = request.query_params
    first, most = query.get("nextToken", "0"), query.get("limit", str(_PAGE))
    if not (first.isdecimal() and most.isdecimal() and int(most)):
        raise Problem(400, "limit and nextToken must be numbers")
    after = int(first) + int(most)
    headers = {"X-Next-Token": str(after)} if after < len(found) else {}
    return JSONResponse(found[int(first) : after], headers=headers)


async def detail(server: Server, request: Request, token: Token) -> Response:
    name = request.path_params["sandbox"]
    async with _sandbox(server, token, name) as named:
        return JSONResponse(_detail(server, token, name, named.record))


async def kill(server: Server, request: Request, token: Token) -> Response:
    await server.sessions.delete(token, request.path_params["sandbox"])
    return Response(status_code=204)


async def pause(server: Server, request: Request, token: Token) -> Response:
    """Save a sandbox and close it."""
    async with _sandbox(server, token, request.path_params["sandbox"]) as named:
        if named.record.extra.get("paused"):
            raise Problem(409, "the sandbox is paused already")
        named.record.extra["paused"] = True
        await server.sessions.save(named)
    await server.sessions.park(0, named.name)
    return Response(status_code=204)


async def connect(server: Server, request: Request, token: Token) -> Response:
    """Have a sandbox run again, for so many seconds from now on at least."""
    body = await _body(request, token)
    name = request.path_params["sandbox"]
    async with _sandbox(server, token, name) as named:
        extra = named.record.extra
        was_paused = extra.pop("paused", False)
        ends_at = time.time() + _timeout(body)
        extra["ends_at"] = ends_at if was_paused else max(ends_at, extra["ends_at"])
        await server.sessions.save(named)
        return JSONResponse(_created(token, name, named.record), 201 if was_paused else 200)


async def set_timeout(server: Server, request: Request, token: Token) -> Response:
    body = await _body(request, token)
    async with _sandbox(server, token, request.path_params["sandbox"]) as named:
        named.record.extra["ends_at"] = time.time() + _timeout(body)
        await server.sessions.save(named)
    return Response(status_code=204)


async def refresh(server: Server, request: Request, token: Token) -> Response:
    body = await _body(request, token)
    async with _sandbox(server, token, request.path_params["sandbox"]) as named:
        seconds = _timeout({"timeout": body.get("duration", 60)})
        extra = named.record.extra
        extra["ends_at"] = max(extra["ends_at"], time.time() + seconds)
        await server.sessions.save(named)
    return Response(status_code=204)


async def fork(server: Server, request: Request, token: Token) -> Response:
    body = await _body(request, token)
    count = body.get("count", 1)
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= 100:
        raise Problem(400, f"count={count!r}: must be a number from 1 to 100")
    sessions = server.sessions
    await sessions.check_quota(token, count)
    made = []
    async with _sandbox(server, token, request.path_params["sandbox"]) as named:
        for copy in await named.session.fork(count):
            record = named.record.fork_of(named.id)
            record.extra = {**record.extra, "ends_at": time.time() + _timeout(body)}
            one = await sessions.adopt(token, None, copy, record)
            made.append({"sandbox": _created(token, one.id, record)})
    return JSONResponse(made, 201)


async def create_snapshot(server: Server, request: Request, token: Token) -> Response:
    body = await _body(request, token)
    sessions = server.sessions
    async with _sandbox(server, token, request.path_params["sandbox"]) as named:
        state = await named.session.snapshot_state()
        note = named.record.model_copy(update={"results": [], "extra": {}}).note()
    name = str(body.get("name") or f"snapshot-{state.digest[:16]}").partition(":")[0]
    full, store = sessions.snapshot_name(token, name), sessions.store
    await to_thread.run_sync(partial(store.save, full, state, keep=1, note=note))
    return JSONResponse({"snapshotID": name, "names": [name]}, 201)


async def list_snapshots(server: Server, request: Request, token: Token) -> Response:
    found = [{"snapshotID": name, "names": [name]} for name in await server.sessions.snapshots(token)]
    return _page(request, found)


async def delete_template(server: Server, request: Request, token: Token) -> Response:
    name = request.path_params["template"]
    sessions = server.sessions
    await to_thread.run_sync(sessions.store.delete, sessions.snapshot_name(token, name))
    return Response(status_code=204)


async def template_alias(server: Server, request: Request, token: Token) -> Response:
    """Whether sandboxes may begin from a template of that name: an image of the server or a snapshot."""
    name = request.path_params["alias"]
    sessions = server.sessions
    is_image = name in _BASES or name in sessions.settings.images
    if not is_image and not (sessions.has_store and name in await sessions.snapshots(token)):
        raise Problem(404, f"template {name!r} was not found")
    return JSONResponse({"templateID": name, "public": is_image})


def _refuse(why: str) -> Any:
    async def handler(_server: Server, _request: Request, _token: Token) -> Response:
        raise unimplemented(why)

    return handler


#: What is not here, whatever is asked of it, and why. They come after the routes that are.
_MISSING: Final = (
    (("/volumes", "/volumes/{rest:path}", "/volumecontent/{rest:path}"), _VOLUMES),
    (("/secrets", "/secrets/{rest:path}"), "secrets are given to the server, with --secret"),
    (("/templates/{template}/tags{rest:path}",), _TAGS),
    (
        ("/templates", "/templates/{rest:path}", "/v2/templates{rest:path}", "/v3/templates"),
        "templates are not built from Dockerfiles: use `planaria image build` and --image",
    ),
)


def control_routes(server: Server) -> list[Route]:
    """The routes of the control plane."""
    one = "/sandboxes/{sandbox}"
    network = _refuse("the network is the server's --allow and --deny; a sandbox cannot change it")
    table: list[tuple[str, str, Any]] = [
        ("POST", "/sandboxes", create),
        ("POST", "/v2/sandboxes", create),
        ("GET", "/sandboxes", list_sandboxes),
        ("GET", "/v2/sandboxes", list_sandboxes),
        ("GET", one, detail),
        ("DELETE", one, kill),
        ("POST", f"{one}/pause", pause),
        ("POST", f"{one}/resume", connect),
        ("POST", f"{one}/connect", connect),
        ("POST", f"/v2{one}/connect", connect),
        ("POST", f"{one}/timeout", set_timeout),
        ("POST", f"{one}/refreshes", refresh),
        ("POST", f"{one}/fork", fork),
        ("POST", f"{one}/snapshots", create_snapshot),
        ("GET", "/snapshots", list_snapshots),
        ("GET", f"{one}/metrics", _refuse("the usage of a sandbox is not recorded over time")),
        ("GET", f"{one}/logs", _refuse("logs of a sandbox are not kept")),
        ("GET", f"/v2{one}/logs", _refuse("logs of a sandbox are not kept")),
        ("PUT", f"{one}/network", network),
        ("GET", "/templates/aliases/{alias}", template_alias),
        ("POST", "/templates/tags", _refuse(_TAGS)),
        ("DELETE", "/templates/tags", _refuse(_TAGS)),
        ("DELETE", "/templates/{template}", delete_template),
    ]
    table += [
        (method, path, _refuse(why))
        for paths, why in _MISSING
        for path in paths
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE")
    ]
    return [control(server, *row) for row in table]
