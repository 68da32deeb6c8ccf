"""A workspace: the tools, workflows, artifacts and dependencies that sessions work with."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from os import PathLike
from typing import TYPE_CHECKING, Any

from planaria.errors import SessionError
from planaria.workspace.tools.registry import ToolRegistry

if TYPE_CHECKING:
    from planaria.workspace.artifact_quota import ArtifactQuota
    from planaria.workspace.artifacts import ArtifactStore
    from planaria.workspace.dependencies import DependencyList
    from planaria.workspace.storage.storage import Storage
    from planaria.workspace.tools.variables import ToolEnvironment
    from planaria.workspace.workflows import WorkflowLibrary

__all__ = ["Workspace", "registry_of"]


def registry_of(
    storage: Storage | None,
    tools: ToolRegistry | Iterable[Any] | str | PathLike[str] | None,
    tools_path: str | PathLike[str] | None,
    environment: ToolEnvironment | None,
) -> tuple[ToolRegistry, bool]:
    """The tools of a workspace, and whether it is the workspace's to close them.

    A registry is taken as it is. Otherwise the tools that the storage defines, those of the directory
    `tools_path`, and those given: functions, objects, tools, or a directory. Raises ToolDefinitionError.
    """
    if isinstance(tools, ToolRegistry):
        return tools, False
    registry = ToolRegistry()
    if storage is not None:
        from planaria.workspace.storage.file import FileStorage

        folder = storage.path / "tools" if isinstance(storage, FileStorage) else None
        registry.load(storage.get_tool_definitions(), environment, folder)
    if tools_path is not None:
        registry.load(tools_path, environment)
    if isinstance(tools, (str, PathLike)):
        registry.load(tools, environment)
    else:
        for tool in tools or ():
            registry.add(tool)
    return registry, True


class Workspace:
    """What sessions share: `storage` (or None, then there are tools only) and `tools`.

    Sessions `retain` and `release` it; the last one that releases it closes its tools, unless
    those belong to the caller.
    """

    def __init__(
        self,
        storage: Storage | None,
        tools: ToolRegistry,
        *,
        extra_deps: Iterable[str] = (),
        allow_runtime_deps: bool = True,
        owns_tools: bool = False,
        artifact_quota: ArtifactQuota | None = None,
    ) -> None:
        from planaria.workspace.artifact_quota import ArtifactQuota, ArtifactUse
        from planaria.workspace.dependencies import requirements_of

        self._storage = storage
        self.tools = tools
        #: Requirements beside those of the storage.
        self.extra_deps = requirements_of(extra_deps)
        #: Whether code may change the dependencies.
        self.allow_runtime_deps = allow_runtime_deps
        #: What code may keep as artifacts, and how much of that is used.
        self.artifact_use = ArtifactUse(artifact_quota or ArtifactQuota())
        self._owns_tools = owns_tools
        self._users = 0
        self._lock = threading.Lock()

    # -- parts -------------------------------------------------------------------------------------------

    @property
    def has_storage(self) -> bool:
        return self._storage is not None

    @property
    def storage(self) -> Storage:
        """Where it is kept. Raises SessionError when there is none."""
        if self._storage is None:
            raise SessionError(
                "this session has tools but no storage for workflows, artifacts and dependencies: "
                "make it with Session.from_base(path) or Session(storage=FileStorage(path))"
            )
        return self._storage

    @property
    def workflows(self) -> WorkflowLibrary:
        return self.storage.get_workflow_library()

    @property
    def artifacts(self) -> ArtifactStore:
        return self.storage.get_artifact_store()

    @property
    def dependencies(self) -> DependencyList:
        return self.storage.get_dependency_list()

    # -- as plain values ---------------------------------------------------------------------------------

    def search_workflows(self, query: str, limit: int) -> list[dict[str, Any]]:
        """The workflows that fit best, without their sources, with `score`."""
        found = self.workflows.search(query, limit)
        return [{**workflow.summary(), "score": score} for workflow, score in found]

    def workflow(self, name: str, version: int | None = None) -> dict[str, Any] | None:
        """A workflow with its source; None when there is none."""
        found = self.workflows.get(name, version)
        return None if found is None else found.document()

    # -- the sessions that use it ------------------------------------------------------------------------

    def retain(self) -> None:
        """One more session uses it."""
        with self._lock:
            self._users += 1

    def release(self) -> None:
        """A session uses it no more."""
        with self._lock:
            self._users -= 1
            unused = not self._users
        if unused and self._owns_tools:
            self.tools.close()
