"""The server as an ASGI application."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from functools import cache, partial
from typing import Any, Final

import anyio
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, Route

from planaria.server.e2b.files import file_routes, health_route
from planaria.server.e2b.interpreter import interpreter_routes
from planaria.server.e2b.processes import process_routes
from planaria.server.e2b.sandboxes import control_routes
from planaria.server.e2b.watching import watch_routes
from planaria.server.native import ROUTES
from planaria.server.notebook_routes import NOTEBOOK_ROUTES
from planaria.server.openapi import openapi
from planaria.server.page import page_routes
from planaria.server.problems import Problem
from planaria.server.routes import Server, problem_response
from planaria.server.settings import ServerSettings

__all__ = ["create_app"]

#: How often idle sessions are looked for, as a share of the time after which they are parked, in seconds.
_LOOKS: Final = 4
_LONGEST_PAUSE: Final = 30.0


def create_app(settings: ServerSettings) -> Starlette:
    """The application; run it with uvicorn. Its sessions and store are closed when it ends."""
    server = Server(settings)
    native = (*ROUTES, *NOTEBOOK_ROUTES) if settings.page else ROUTES
    # Takes a quarter of a second, which no start should wait for.
    server.document = cache(partial(openapi, native, has_tokens=bool(settings.tokens)))

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        try:
            async with anyio.create_task_group() as server.tasks:
                server.tasks.start_soon(_park, server)
                yield
                server.tasks.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                await server.sessions.close()
            server.audit.close()
            if settings.store is not None:
                settings.store.close()

    async def unknown(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        detail = f"there is no {request.method} {request.url.path}"
        headers = {}
        if error.status_code == 405:
            scope = request.scope
            fitting = (one for one in routes if isinstance(one, Route))
            found = (
                one.methods for one in fitting if one.matches(scope)[0] is not Match.NONE and one.methods
            )
            headers["Allow"] = ", ".join(sorted(set().union(*found)))
        return problem_response(Problem(error.status_code, detail, headers=headers))

    handlers: dict[Any, Any] = {404: unknown, 405: unknown}
    routes: list[BaseRoute] = [health_route(server), *(route.for_starlette(server) for route in native)]
    if settings.page:
        routes += page_routes(server)
    routes += [*control_routes(server), *file_routes(server), *process_routes(server)]
    routes += [*watch_routes(server), *interpreter_routes(server)]
    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers)
    app.state.server = server
    return app


async def _park(server: Server) -> None:
    """Close sessions that were not used for a while."""
    idle = server.settings.idle
    while True:
        await anyio.sleep(min(_LONGEST_PAUSE, idle / _LOOKS))
        parked = await server.sessions.park(idle)
        if parked:
            server.metrics.add("planaria_sessions_parked_total", parked)
