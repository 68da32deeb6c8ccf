"""What one session has of a workspace: the calls of its kernel, and its own packages."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from planaria.errors import CallbackError, SessionError
from planaria.session.callbacks import Callback, CallbackRegistry
from planaria.workspace.guest_calls import OBSERVING, GuestCalls
from planaria.workspace.installing import Dependencies
from planaria.workspace.workspace import Workspace, registry_of

if TYPE_CHECKING:
    from planaria.session.core import SessionCore
    from planaria.workspace.artifact_quota import ArtifactQuota
    from planaria.workspace.storage.storage import Storage
    from planaria.workspace.tools.call import ToolCall
    from planaria.workspace.tools.environment import ToolEnvironment

__all__ = ["WorkspaceLink", "open_workspace"]

#: What the namespaces are called; callbacks cannot be in them.
_NAMES = frozenset({"tools", "workflows", "artifacts", "deps"})


def open_workspace(
    session: SessionCore,
    *,
    storage: Storage | None,
    tools: Any,
    tools_path: Any,
    environment: ToolEnvironment | None,
    extra_deps: Iterable[str],
    allow_runtime_deps: bool,
    artifact_quota: ArtifactQuota | None,
    callbacks: CallbackRegistry,
) -> WorkspaceLink:
    """A session's link to a workspace of its own. Raises TypeError, CallbackError, ToolDefinitionError."""
    if storage is not None:
        from planaria.workspace.storage.storage import Storage

        if not isinstance(storage, Storage):
            raise TypeError(f"storage= is a planaria.Storage or None, not a {type(storage).__name__}")
    for callback in callbacks:
        if callback.name.partition(".")[0] in _NAMES:
            raise CallbackError(
                f"callback {callback.name!r}: in a session with a workspace the names "
                f"{', '.join(sorted(_NAMES))} are its own; give functions for tools with tools=[...]"
            )
    registry, owns_tools = registry_of(storage, tools, tools_path, environment)
    workspace = Workspace(
        storage,
        registry,
        extra_deps=extra_deps,
        allow_runtime_deps=allow_runtime_deps,
        owns_tools=owns_tools,
        artifact_quota=artifact_quota,
    )
    return WorkspaceLink(workspace, session)


class WorkspaceLink:
    """A session's link to a workspace, which other sessions may have too."""

    def __init__(self, workspace: Workspace, session: SessionCore) -> None:
        self.workspace = workspace
        self.dependencies = Dependencies(workspace, session._executor)
        self._session = weakref.ref(session)
        self._calls = GuestCalls(workspace, self.dependencies, self._trace)
        self._functions = self._calls.functions()
        #: Those that were called; looking at a signature takes its time.
        self._callbacks: dict[str, Callback] = {}
        self._released = False
        workspace.retain()

    def linked_to(self, session: SessionCore) -> WorkspaceLink:
        """The link of a copy of this session."""
        return WorkspaceLink(self.workspace, session)

    def release(self) -> None:
        """The session uses it no more."""
        if not self._released:
            self._released = True
            self.workspace.release()

    def settings(self) -> dict[str, Any]:
        """What the kernel is told."""
        tools = {tool.name: tool.description for tool in self.workspace.tools}
        settings: dict[str, Any] = {"workspace": {"tools": tools}}
        if self.dependencies.paths:
            settings["paths"] = self.dependencies.paths
        return settings

    def callback(self, name: str) -> Callback | None:
        """The function behind a call of the kernel's."""
        callback = self._callbacks.get(name)
        if callback is None and name in self._functions:
            callback = self._callbacks[name] = Callback(name[1:], self._functions[name])
        return callback

    @staticmethod
    def is_noticed(name: str) -> bool:
        """Whether a call may change something outside the session."""
        return name not in OBSERVING

    def resuming(self, decision: object) -> Callback:
        """The function that goes on with the call of a tool for which somebody was asked."""

        def resume(name: str, callable: str | None, arguments: dict[str, Any]) -> Any:  # noqa: A002
            return self._calls.resume_tool(name, callable, arguments, decision=decision)

        return Callback("tools.call", resume)

    def end_execution(self) -> None:
        self._calls.end_execution()

    def _trace(self) -> list[ToolCall]:
        session = self._session()
        flight = None if session is None else session._flight
        return [] if flight is None else flight.tool_calls

    def sync(self) -> None:
        """Install what is configured. Raises SessionError, which names what could not be installed."""
        failed = self.dependencies.sync()["failed"]
        if failed:
            told = "; ".join(f"{name}: {reason}" for name, reason in failed.items())
            raise SessionError(f"sync_deps_on_start: some dependencies could not be installed: {told}")
