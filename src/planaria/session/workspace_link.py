"""What one session has of a workspace: the calls of its kernel, and its own packages."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING

from planaria.errors import CallbackError, SessionError, StorageError
from planaria.executors.executor import Executor
from planaria.network.budget import Budget
from planaria.network.policy import Network, NetworkRequest
from planaria.session.callbacks import Callback
from planaria.session.execution_state import Executing
from planaria.session.settings import SessionSettings
from planaria.workspace.dependencies import requirements_of
from planaria.workspace.guest_calls import OBSERVING, GuestCalls
from planaria.workspace.installing import Dependencies
from planaria.workspace.workspace import Workspace, registry_of

if TYPE_CHECKING:
    from planaria.workspace.tools.call import ToolCall

__all__ = ["WorkspaceLink", "open_workspace"]

#: What the namespaces are called; callbacks cannot be in them.
_NAMES = frozenset({"tools", "workflows", "artifacts", "deps"})


def open_workspace(
    settings: SessionSettings, executor: Executor, engine: Executing, budget: Budget | None
) -> WorkspaceLink:
    """A session's link to a workspace of its own. Raises TypeError, CallbackError, ToolDefinitionError."""
    options = executor.workspace_options
    for callback in settings.registry:
        if callback.name.partition(".")[0] in _NAMES:
            raise CallbackError(
                f"callback {callback.name!r}: in a session with a workspace the names "
                f"{', '.join(sorted(_NAMES))} are its own; give functions for tools with tools=[...]"
            )
    registry, owns_tools = registry_of(
        settings.storage, settings.tools, options.tools_path, settings.tool_environment
    )
    workspace = Workspace(
        settings.storage,
        registry,
        extra_deps=(*options.deps, *requirements_of(settings.extra_deps)),
        allow_runtime_deps=settings.allow_runtime_deps and options.allow_runtime_deps,
        owns_tools=owns_tools,
        artifact_quota=settings.artifact_quota,
    )
    return WorkspaceLink(workspace, executor, engine, budget)


class WorkspaceLink:
    """A session's link to a workspace, which other sessions may have too. Requests of tools are charged to
    the `budget` of the session's network; without one they are recorded and not limited.
    """

    def __init__(
        self, workspace: Workspace, executor: Executor, engine: Executing, budget: Budget | None
    ) -> None:
        self.workspace = workspace
        self._budget = Budget(Network()) if budget is None else budget
        self.dependencies = Dependencies(workspace, executor)
        self._engine = weakref.ref(engine)
        self._calls = GuestCalls(workspace, self.dependencies, self._trace, self._budget)
        self._functions = self._calls.functions()
        #: Those that were called; looking at a signature takes its time.
        self._callbacks: dict[str, Callback] = {}
        self._released = False
        workspace.retain()

    def linked_to(self, executor: Executor, engine: Executing, budget: Budget | None) -> WorkspaceLink:
        """The link of a copy of this session."""
        return WorkspaceLink(self.workspace, executor, engine, budget)

    def take_records(self) -> list[NetworkRequest]:
        """The requests of the execution that ends now."""
        return self._budget.take_records()

    def release(self) -> None:
        """The session does not use it any more."""
        if not self._released:
            self._released = True
            self.workspace.release()

    def settings(self) -> dict[str, object]:
        """The settings of the kernel."""
        tools = {tool.name: tool.description for tool in self.workspace.tools}
        settings: dict[str, object] = {"workspace": {"tools": tools}}
        if self.dependencies.paths:
            settings["paths"] = self.dependencies.paths
        return settings

    def callback(self, name: str) -> Callback | None:
        """The function behind a call of the kernel's."""
        callback = self._callbacks.get(name)
        if callback is None and name in self._functions:
            # Only tools are functions of the user's, which may block.
            is_tool = name.startswith("@tools.")
            function = self._functions[name] if is_tool else self._without_place(self._functions[name])
            callback = self._callbacks[name] = Callback(name[1:], function, on_caller_thread=not is_tool)
        return callback

    def _without_place(self, function: Callable[..., object]) -> Callable[..., object]:
        """The function, whose StorageErrors do not tell the code where on this side the workspace is."""

        @wraps(function)
        def call(*arguments: object, **named: object) -> object:
            try:
                return function(*arguments, **named)
            except StorageError as error:
                place = self.workspace.storage.place
                raise StorageError(
                    str(error).replace(place, "<workspace>") if place else str(error)
                ) from error

        return call

    @staticmethod
    def is_noticed(name: str) -> bool:
        """Whether a call may change something outside the session."""
        return name not in OBSERVING

    def resuming(self, decision: object) -> Callback:
        """The function that continues the call of a tool that waited for an approval."""

        def resume(name: str, callable: str | None, arguments: dict[str, object]) -> object:  # noqa: A002
            return self._calls.resume_tool(name, callable, arguments, decision=decision)

        return Callback("tools.call", resume)

    def end_execution(self) -> None:
        self._calls.end_execution()

    def _trace(self) -> list[ToolCall]:
        engine = self._engine()
        execution = None if engine is None else engine.execution
        return [] if execution is None else execution.tool_calls

    def sync(self) -> None:
        """Install what is configured. Raises SessionError, which names what could not be installed."""
        failed = self.dependencies.sync()["failed"]
        if failed:
            reported = "; ".join(f"{name}: {reason}" for name, reason in failed.items())
            raise SessionError(f"sync_deps_on_start: some dependencies could not be installed: {reported}")
