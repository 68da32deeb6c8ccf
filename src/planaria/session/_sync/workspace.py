# Generated from ../_async/workspace.py by tools/generate_sync.py; change that one.
"""The workspace of a session, from the host: tools, workflows, artifacts and dependencies.

Nothing below `planaria.workspace` is imported before a session has one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from planaria.errors import SessionError
from planaria.session._sync.turns import Turns
from planaria.session.engine import SessionEngine

if TYPE_CHECKING:
    from planaria.session.workspace_link import WorkspaceLink
    from planaria.workspace.storage.storage import Storage
    from planaria.workspace.tools.registry import ToolRegistry
    from planaria.workspace.workspace import Workspace

__all__ = [
    "SessionArtifacts",
    "SessionDependencies",
    "SessionTools",
    "SessionWorkflows",
    "SessionWorkspace",
    "WorkspaceMethods",
]

Detail = Literal["names", "signatures", "docstrings"]
Item = dict[str, Any]
Items = list[Item]
Requirements = list[str]


class SessionWorkspace:
    """What a session has of its workspace, which other sessions may share.

    Raises SessionError when the session has none, and SessionClosed.
    """

    def __init__(self, owner: str, engine: SessionEngine, turns: Turns) -> None:
        engine.check_open()
        if engine.workspace is None:
            raise SessionError(
                f"this session has no workspace: create it with {owner}.from_base(path), "
                f"{owner}(storage=FileStorage(path)) or, for tools alone, with tools=[...]"
            )
        self._engine = engine
        self._turns = turns
        self._link = engine.workspace

    @property
    def storage(self) -> Storage:
        """Where the workspace is kept. Raises SessionError when there are tools only."""
        return self._link.workspace.storage

    @property
    def tools(self) -> SessionTools:
        """The tools that code can call."""
        return SessionTools(self._link.workspace, self._turns)

    @property
    def workflows(self) -> SessionWorkflows:
        """Functions that sessions have kept."""
        return SessionWorkflows(self._link.workspace, self._turns)

    @property
    def artifacts(self) -> SessionArtifacts:
        """Data that sessions have kept."""
        return SessionArtifacts(self._link.workspace, self._turns)

    @property
    def deps(self) -> SessionDependencies:
        """The packages of the session."""
        return SessionDependencies(self._link, self._engine, self._turns)


class SessionTools:
    """The tools of a workspace."""

    def __init__(self, workspace: Workspace, turns: Turns) -> None:
        self._workspace = workspace
        self._turns = turns

    @property
    def registry(self) -> ToolRegistry:
        """The tools as objects; tools can be added to it."""
        return self._workspace.tools

    def list(self) -> Items:
        """The tools: dicts with name, description, tags, and callables with their parameters."""
        return self._turns.elsewhere(self.registry.list)

    def search(self, query: str, limit: int = 10) -> Items:
        """The tools that fit a query best, with `score`."""
        return self._turns.elsewhere(lambda: self.registry.search(query, limit))

    def stubs(self, detail: Detail = "docstrings") -> str:
        """The tools as Python signatures, for the prompt of a model.

        `detail` is "names", "signatures" or "docstrings", which has all there is to know. May block while
        servers start.
        """
        return self.registry.stubs(detail)


class SessionWorkflows:
    """The workflows of a workspace. Raises SessionError when it has no storage."""

    def __init__(self, workspace: Workspace, turns: Turns) -> None:
        self._workspace = workspace
        self._turns = turns

    def list(self) -> Items:
        """The workflows: dicts with name, description, parameters and more, without the source."""
        workflows = self._workspace.workflows
        return [workflow.summary() for workflow in self._turns.elsewhere(workflows.list)]

    def search(self, query: str, limit: int = 5) -> Items:
        """The workflows that fit a query best, with `score`."""
        return self._turns.elsewhere(lambda: self._workspace.search_workflows(query, limit))

    def get(self, name: str, version: int | None = None) -> Item | None:
        """A workflow with its source, in an earlier version if one is given; None when there is none."""
        return self._turns.elsewhere(lambda: self._workspace.workflow(name, version))

    def add(self, name: str, source: str, description: str = "") -> Item:
        """Keep a workflow, as a new version if there is one of that name. `source` defines `run`.

        Raises WorkflowError for a name or source that is not valid.
        """
        workflows = self._workspace.workflows
        return self._turns.elsewhere(lambda: workflows.add(name, source, description).document())

    def remove(self, name: str) -> bool:
        """Remove a workflow with all its versions; False when there is none."""
        workflows = self._workspace.workflows
        return self._turns.elsewhere(lambda: workflows.remove(name))


class SessionArtifacts:
    """The artifacts of a workspace. Raises SessionError when it has no storage."""

    def __init__(self, workspace: Workspace, turns: Turns) -> None:
        self._workspace = workspace
        self._turns = turns

    def list(self) -> Items:
        """The artifacts: dicts with name, path, description, metadata and created_at."""
        artifacts = self._workspace.artifacts
        return [artifact.info() for artifact in self._turns.elsewhere(artifacts.list)]

    def save(
        self,
        name: str,
        data: object,
        description: str = "",
        metadata: Mapping[str, object] | None = None,
    ) -> Item:
        """Keep data under a name, in place of what was there. Raises ArtifactError."""
        artifacts, extra = self._workspace.artifacts, None if metadata is None else dict(metadata)
        return self._turns.elsewhere(lambda: artifacts.save(name, data, description, extra).info())

    def load(self, name: str) -> Any:
        """The data of an artifact, as what it was saved. Raises ArtifactError when there is none."""
        artifacts = self._workspace.artifacts
        return self._turns.elsewhere(lambda: artifacts.load(name))

    def delete(self, name: str) -> bool:
        """Remove an artifact; False when there is none."""
        artifacts = self._workspace.artifacts
        return self._turns.elsewhere(lambda: artifacts.delete(name))


class SessionDependencies:
    """The packages of a session, and what its workspace configures of them."""

    def __init__(self, link: WorkspaceLink, engine: SessionEngine, turns: Turns) -> None:
        self._dependencies = link.dependencies
        self._engine = engine
        self._turns = turns

    def list(self) -> Requirements:
        """The configured dependencies, as requirements."""
        return self._turns.elsewhere(self._dependencies.list)

    def add(self, package: str) -> Item:
        """Install and configure a dependency; a dict with installed, already_present and failed.

        `failed` has the reason of each. Raises DependencyError for what is not a requirement (PEP 508).
        """
        return self._change(lambda: self._dependencies.add(package))

    def remove(self, package: str) -> Item:
        """Remove a dependency; a dict with removed, not_found, failed and removed_from_config."""
        return self._change(lambda: self._dependencies.remove(package))

    def sync(self) -> Item:
        """Install all that is configured; a dict with installed, already_present and failed."""
        return self._change(self._dependencies.sync)

    def _change(self, change: Callable[[], Item]) -> Item:
        """Install or remove, and have the kernel see it."""
        engine = self._engine

        def changed() -> Item:
            engine.check_at_rest()
            outcome = change()
            engine.refresh_packages()
            return outcome

        with self._turns.held():
            return self._turns.call(changed)


class WorkspaceMethods:
    """The workspace of an `Session`, and methods of its parts under names of their own."""

    _engine: SessionEngine
    _turns: Turns

    @property
    def workspace(self) -> SessionWorkspace:
        """The workspace, with its tools, workflows, artifacts, dependencies and storage.

        Raises SessionError when this session has none.
        """
        return SessionWorkspace(type(self).__name__, self._engine, self._turns)

    @property
    def storage(self) -> Storage:
        """Where the workspace is kept; see `workspace.storage`."""
        return self.workspace.storage

    @property
    def tools(self) -> ToolRegistry:
        """The tools of the workspace; see `workspace.tools.registry`."""
        return self.workspace.tools.registry

    def tool_stubs(self, detail: Detail = "docstrings") -> str:
        """The tools as Python signatures; see `workspace.tools.stubs`."""
        return self.workspace.tools.stubs(detail)

    def list_tools(self) -> list[dict[str, Any]]:
        """See `workspace.tools.list`."""
        return self.workspace.tools.list()

    def search_tools(self, query: str, limit: int = 10) -> list[dict[str, Any]]:
        """See `workspace.tools.search`."""
        return self.workspace.tools.search(query, limit)

    def list_workflows(self) -> list[dict[str, Any]]:
        """See `workspace.workflows.list`."""
        return self.workspace.workflows.list()

    def search_workflows(self, query: str, limit: int = 5) -> list[dict[str, Any]]:
        """See `workspace.workflows.search`."""
        return self.workspace.workflows.search(query, limit)

    def get_workflow(self, name: str, version: int | None = None) -> dict[str, Any] | None:
        """See `workspace.workflows.get`."""
        return self.workspace.workflows.get(name, version)

    def add_workflow(self, name: str, source: str, description: str = "") -> dict[str, Any]:
        """See `workspace.workflows.add`."""
        return self.workspace.workflows.add(name, source, description)

    def remove_workflow(self, name: str) -> bool:
        """See `workspace.workflows.remove`."""
        return self.workspace.workflows.remove(name)

    def list_artifacts(self) -> list[dict[str, Any]]:
        """See `workspace.artifacts.list`."""
        return self.workspace.artifacts.list()

    def save_artifact(
        self,
        name: str,
        data: object,
        description: str = "",
        metadata: Mapping[str, object] | None = None,
    ) -> dict[str, Any]:
        """See `workspace.artifacts.save`."""
        return self.workspace.artifacts.save(name, data, description, metadata)

    def load_artifact(self, name: str) -> Any:
        """See `workspace.artifacts.load`."""
        return self.workspace.artifacts.load(name)

    def delete_artifact(self, name: str) -> bool:
        """See `workspace.artifacts.delete`."""
        return self.workspace.artifacts.delete(name)

    def list_deps(self) -> list[str]:
        """See `workspace.deps.list`."""
        return self.workspace.deps.list()

    def add_dep(self, package: str) -> dict[str, Any]:
        """See `workspace.deps.add`."""
        return self.workspace.deps.add(package)

    def remove_dep(self, package: str) -> dict[str, Any]:
        """See `workspace.deps.remove`."""
        return self.workspace.deps.remove(package)

    def sync_deps(self) -> dict[str, Any]:
        """See `workspace.deps.sync`."""
        return self.workspace.deps.sync()
