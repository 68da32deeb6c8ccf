"""Routes of the native API as values, and how a request becomes a call of its handler and a response."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from anyio.abc import TaskGroup
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route as StarletteRoute

from planaria.server.guard import Audit, Guard, bearer, read_body
from planaria.server.metrics import Metrics
from planaria.server.models import RULES, SessionInfo
from planaria.server.problems import PROBLEM, Problem, problem_of
from planaria.server.sessions import ServedSessions
from planaria.server.settings import ServerSettings, Token
from planaria.session._async.session import AsyncSession

__all__ = ["SESSION", "Call", "Parameter", "Route", "Server", "changed", "log", "problem_response"]

#: The path of a session.
SESSION: Final = "/v1/sessions/{session}"

log: Final = logging.getLogger("planaria.server")


class Server:
    """What the handlers of all requests share."""

    def __init__(self, settings: ServerSettings) -> None:
        self.settings = settings
        self.metrics = Metrics()
        self.sessions = ServedSessions(settings, self.metrics)
        self.guard = Guard(settings)
        self.audit = Audit(settings)
        self.tasks: TaskGroup
        """Executions run here, so that they go on when their client is gone."""
        self.running: dict[tuple[str, str, str, str], Any] = {}
        """The streams of events of executions that run: by name space, session, key and digest."""
        self.document: Callable[[], dict[str, Any]] = dict
        """Makes the OpenAPI document."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter in the query or a header."""

    name: str
    schema: dict[str, Any]
    description: str = ""
    required: bool = False
    place: str = "query"


@dataclass(frozen=True, slots=True)
class Call:
    """One request, checked."""

    server: Server
    request: Request
    token: Token
    body: Any = None
    """The model of the route's `takes`, or bytes."""

    @property
    def sessions(self) -> ServedSessions:
        return self.server.sessions

    @property
    def session(self) -> str:
        """The name of the session in the path."""
        return str(self.request.path_params["session"])

    def query(self, name: str, default: str = "") -> str:
        """A parameter of the query."""
        return self.request.query_params.get(name, default)

    def flag(self, name: str) -> bool:
        """A parameter that is true or false. Raises Problem."""
        value = self.query(name, "false")
        if value not in ("true", "false"):
            raise Problem(422, f"{name}={value!r}: must be true or false")
        return value == "true"

    def number(self, name: str, default: int, most: int) -> int:
        """A parameter that is a number from 0 to `most`. Raises Problem."""
        value = self.query(name, str(default))
        if not (value.isascii() and value.isdecimal() and len(value) < 10 and int(value) <= most):
            raise Problem(422, f"{name}={value!r}: must be a number from 0 to {most}")
        return int(value)


async def changed(call: Call, change: Callable[[AsyncSession], Awaitable[object]]) -> SessionInfo:
    """Change a session and save it; what is known of it then."""
    async with call.sessions.using(call.token, call.session) as named:
        await change(named.session)
        await call.sessions.save(named)
    return await call.sessions.info(call.token, call.session)


Handler = Callable[[Call], Awaitable[BaseModel | Response | None]]


@dataclass(frozen=True, slots=True)
class Route:
    """One operation of the API."""

    method: str
    path: str
    handler: Handler
    summary: str
    takes: type[BaseModel] | str | None = None
    """The model of the body, or the media type of one that is bytes."""
    gives: type[BaseModel] | str | None = None
    """The model of the response, or its media type; None for a response without a body."""
    status: int = 200
    parameters: Sequence[Parameter] = ()
    also: Sequence[str] = ()
    """Other media types of the response."""
    errors: Sequence[int] = ()
    """Statuses of problems beside the usual ones."""
    public: bool = False
    """Whether it needs no token."""
    responses: dict[int, type[BaseModel]] = field(default_factory=dict)
    """Other statuses with a body."""

    def for_starlette(self, server: Server) -> StarletteRoute:
        """The route as Starlette takes it."""

        async def endpoint(request: Request) -> Response:
            return await _respond(server, self, request)

        return StarletteRoute(self.path, endpoint, methods=[self.method])


def problem_response(problem: Problem) -> Response:
    """A problem as a response."""
    return JSONResponse(problem.document(), problem.status, headers=problem.headers, media_type=PROBLEM)


async def _respond(server: Server, route: Route, request: Request) -> Response:
    began = time.perf_counter()
    token: Token | None = None
    try:
        server.guard.check_host(request)
        token = Token("public") if route.public else server.guard.token(bearer(request))
        body = await _body(route, request, token)
        result = await route.handler(Call(server, request, token, body))
        if isinstance(result, Response):
            response = result
        elif result is None:
            response = Response(status_code=route.status)
        else:
            response = Response(result.model_dump_json(), route.status, media_type="application/json")
    except ClientDisconnect:
        response = Response(status_code=400)
    except Exception as error:
        problem = problem_of(error)
        if problem is None:
            log.exception("%s %s failed", route.method, route.path)
            problem = Problem(500, "the server failed; its log says how")
        response = problem_response(problem)
    seconds = time.perf_counter() - began
    name = f"{route.method} {route.path}"
    server.metrics.add("planaria_requests_total", route=name, status=str(response.status_code))
    server.metrics.add("planaria_request_seconds_total", seconds, route=name)
    server.audit.write(request, name, response.status_code, seconds, token)
    return response


def _message_of(error: ErrorDetails) -> str:
    """What is wrong with a field, in words where pydantic shows a pattern."""
    return RULES.get(error.get("ctx", {}).get("pattern", ""), error["msg"])


async def _body(route: Route, request: Request, token: Token) -> Any:
    """The body as the route takes it. Raises Problem."""
    if route.takes is None:
        return None
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    data = await read_body(request, token.body)
    if isinstance(route.takes, str):
        if media != route.takes:
            raise Problem(415, f"the body must be {route.takes}")
        return data
    if not data and not media:
        data = b"{}"
    elif media != "application/json":
        raise Problem(415, "the body must be application/json")
    try:
        return route.takes.model_validate_json(data)
    except ValidationError as error:
        problems = [
            {"field": ".".join(map(str, one["loc"])), "message": _message_of(one)}
            for one in error.errors()[:20]
        ]
        shown = "; ".join(f"{one['field'] or 'body'}: {one['message']}" for one in problems)
        status = 400 if any(one["type"] == "json_invalid" for one in error.errors()) else 422
        raise Problem(status, shown, problems=json.loads(json.dumps(problems))) from None
