"""Requests about the workspace of a session: tools, workflows and artifacts."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import isawaitable, signature
from typing import Any, Final

from planaria.server.models import QueryAnswer, WorkspaceInfo, WorkspaceRequest
from planaria.server.outcomes import encoded, plain
from planaria.server.problems import Problem, arguments_of
from planaria.server.routes import SESSION, Call, Route
from planaria.session._async.workspace import AsyncSessionArtifacts, AsyncSessionTools, AsyncSessionWorkflows

__all__ = ["WORKSPACE_ROUTES"]

#: What clients may use.
_METHODS: Final[Mapping[tuple[str, str], Any]] = {
    ("tools", "list"): AsyncSessionTools.list,
    ("tools", "search"): AsyncSessionTools.search,
    ("tools", "stubs"): AsyncSessionTools.stubs,
    ("workflows", "list"): AsyncSessionWorkflows.list,
    ("workflows", "search"): AsyncSessionWorkflows.search,
    ("workflows", "get"): AsyncSessionWorkflows.get,
    ("workflows", "add"): AsyncSessionWorkflows.add,
    ("workflows", "remove"): AsyncSessionWorkflows.remove,
    ("artifacts", "list"): AsyncSessionArtifacts.list,
    ("artifacts", "save"): AsyncSessionArtifacts.save,
    ("artifacts", "load"): AsyncSessionArtifacts.load,
    ("artifacts", "delete"): AsyncSessionArtifacts.delete,
}


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


async def use_workspace(call: Call) -> QueryAnswer:
    """What a method of the workspace returns."""
    body: WorkspaceRequest = call.body
    method = _METHODS.get((body.part, body.method))
    if method is None:
        raise Problem(422, f"{body.part} has no method {body.method!r}")
    arguments = arguments_of(body.arguments, body.arguments_base64)
    async with call.sessions.using(call.token, call.session) as named:
        bound = method.__get__(getattr(named.session.workspace, body.part))
        try:
            signature(bound).bind(*arguments)
        except TypeError as error:
            raise Problem(422, f"{body.part}.{body.method}: {error}") from None
        answer = bound(*arguments)
        if isawaitable(answer):
            answer = await answer
    given = encoded(answer)
    if given is None:
        raise Problem(422, f"{type(answer).__name__} has no written form", code="no-written-form")
    return QueryAnswer(answer=plain(answer), answer_base64=given)


WORKSPACE_ROUTES: Final = (
    Route(
        "GET",
        f"{SESSION}/workspace",
        workspace,
        "List tools, workflows and artifacts",
        gives=WorkspaceInfo,
    ),
    Route(
        "POST",
        f"{SESSION}/workspace",
        use_workspace,
        "Use tools, workflows and artifacts",
        takes=WorkspaceRequest,
        gives=QueryAnswer,
    ),
)
