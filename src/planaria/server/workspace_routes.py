"""Requests about the workspace of a session: tools, workflows and artifacts."""

from __future__ import annotations

from typing import Final

from planaria.server.models import WorkspaceInfo
from planaria.server.routes import SESSION, Call, Route

__all__ = ["WORKSPACE_ROUTES"]


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


WORKSPACE_ROUTES: Final = (
    Route(
        "GET",
        f"{SESSION}/workspace",
        workspace,
        "List tools, workflows and artifacts",
        gives=WorkspaceInfo,
    ),
)
