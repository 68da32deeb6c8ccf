"""The routes of the native API, `/v1`."""

from __future__ import annotations

from typing import Final

from starlette.responses import JSONResponse, PlainTextResponse, Response

from planaria import __version__
from planaria.server.executions import EXECUTION_ROUTES
from planaria.server.files import FILE_ROUTES
from planaria.server.models import HealthReport
from planaria.server.routes import Call, Route
from planaria.server.session_routes import SESSION_ROUTES
from planaria.server.snapshot_routes import SNAPSHOT_ROUTES
from planaria.server.state_routes import STATE_ROUTES
from planaria.server.workspace_routes import WORKSPACE_ROUTES

__all__ = ["ROUTES"]


async def health(call: Call) -> HealthReport:
    return HealthReport(version=__version__, sessions=len(call.sessions.all_live))


async def document(call: Call) -> Response:
    return JSONResponse(call.server.document())


async def metrics(call: Call) -> Response:
    """Counters in the text format of Prometheus."""
    text = call.server.metrics.text(sessions_live=len(call.sessions.all_live))
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4")


ROUTES: Final = (
    Route("GET", "/health", health, "Whether the server runs", gives=HealthReport, public=True),
    Route("GET", "/v1/openapi.json", document, "This document", gives="application/json", public=True),
    Route("GET", "/v1/metrics", metrics, "Counters, for Prometheus", gives="text/plain"),
    *SESSION_ROUTES,
    *EXECUTION_ROUTES,
    *STATE_ROUTES,
    *SNAPSHOT_ROUTES,
    *WORKSPACE_ROUTES,
    *FILE_ROUTES,
)
