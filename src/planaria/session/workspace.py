"""Sessions with a workspace: how they are made, and what their host does with tools, workflows, artifacts and
dependencies.

Nothing below `planaria.workspace` is imported before a session has one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

from planaria.errors import SessionError
from planaria.limits import Limits
from planaria.session.arguments import check_keywords
from planaria.session.base import BaseSession
from planaria.session.core import keywords_of_sessions
from planaria.session.threads import submit

if TYPE_CHECKING:
    from planaria.session.workspace_link import WorkspaceLink
    from planaria.workspace.storage.storage import Storage
    from planaria.workspace.tools.registry import ToolRegistry
    from planaria.workspace.workspace import Workspace

__all__ = ["AsyncWorkspaceSession", "WorkspaceSession"]

T = TypeVar("T")

Place = str | PathLike[str]
Detail = Literal["names", "signatures", "docstrings"]


#: What the ways to make one take beside the constructor's arguments.
_OWN = ("timeout", "python_version", "cache_venv", "network")


class _Workspaced(BaseSession):
    """What both kinds have: constructors, and properties."""

    # -- ways to make one --------------------------------------------------------------------------------

    @classmethod
    def from_base(
        cls,
        base: Place,
        *,
        timeout: float | None = 30.0,
        extra_deps: Sequence[str] | None = None,
        allow_runtime_deps: bool = True,
        sync_deps_on_start: bool = False,
        **arguments: Any,
    ) -> Self:
        """A sandboxed session with the workspace in the directory `base`, made when it is first written to.

        There, `tools/` has definitions of tools, `workflows/` and `artifacts/` what sessions keep, and
        `requirements.txt` the dependencies, to which `extra_deps` come. `timeout` is what an execution may
        take, in seconds. Without `allow_runtime_deps`, code cannot change the dependencies; with
        `sync_deps_on_start` they are installed before anything is executed. `arguments` are those of the
        constructor.
        """
        return cls._of(base, timeout, extra_deps, allow_runtime_deps, sync_deps_on_start, arguments)

    @classmethod
    def inprocess(
        cls,
        base_path: Place,
        *,
        timeout: float | None = 30.0,
        extra_deps: Sequence[str] | None = None,
        allow_runtime_deps: bool = True,
        sync_deps_on_start: bool = False,
        **arguments: Any,
    ) -> Self:
        """As `from_base`, with the kernel on a thread of this process: the quickest, without isolation."""
        from planaria.executors.inprocess import InProcessConfig, InProcessExecutor

        arguments["executor"] = InProcessExecutor(
            config=InProcessConfig(default_timeout=timeout, allow_runtime_deps=allow_runtime_deps)
        )
        return cls._of(base_path, timeout, extra_deps, allow_runtime_deps, sync_deps_on_start, arguments)

    @classmethod
    def subprocess(
        cls,
        base_path: Place,
        *,
        timeout: float | None = 60.0,
        extra_deps: Sequence[str] | None = None,
        allow_runtime_deps: bool = True,
        sync_deps_on_start: bool = False,
        python_version: str | None = None,
        cache_venv: bool = True,
        **arguments: Any,
    ) -> Self:
        """As `from_base`, with the kernel in a process of its own that has a virtual environment.

        The configured dependencies are in it from the beginning. `python_version` is the environment's, this
        one's unless given; with `cache_venv` it is kept for later sessions that want the same.
        """
        from planaria.executors.subprocess import SubprocessConfig, SubprocessExecutor

        arguments["executor"] = SubprocessExecutor(
            config=SubprocessConfig(
                deps=_configured(base_path, extra_deps),
                default_timeout=timeout,
                allow_runtime_deps=allow_runtime_deps,
                python_version=python_version,
                cache_venv=cache_venv,
            )
        )
        return cls._of(base_path, timeout, extra_deps, allow_runtime_deps, sync_deps_on_start, arguments)

    @classmethod
    def container(
        cls,
        base_path: Place,
        *,
        timeout: float | None = 60.0,
        extra_deps: Sequence[str] | None = None,
        allow_runtime_deps: bool = True,
        sync_deps_on_start: bool = False,
        image: str | None = None,
        python_version: str | None = None,
        network: bool = False,
        **arguments: Any,
    ) -> Self:
        """As `from_base`, with the kernel in a container of Docker or Podman.

        The configured dependencies are in it from the beginning. `image` has a Python of 3.11 or newer; the
        official one of `python_version` unless given. Without `network` nothing can be installed later.
        """
        from planaria.executors.container import ContainerConfig, ContainerExecutor

        chosen: dict[str, Any] = {} if python_version is None else {"python_version": python_version}
        arguments["executor"] = ContainerExecutor(
            config=ContainerConfig(
                image=image,
                network=network,
                deps=_configured(base_path, extra_deps),
                default_timeout=timeout,
                allow_runtime_deps=allow_runtime_deps,
                **chosen,
            )
        )
        return cls._of(base_path, timeout, extra_deps, allow_runtime_deps, sync_deps_on_start, arguments)

    @classmethod
    def _of(
        cls,
        base: Place,
        timeout: float | None,
        extra_deps: Sequence[str] | None,
        allow_runtime_deps: bool,
        sync_deps_on_start: bool,
        arguments: dict[str, Any],
    ) -> Self:
        from planaria.workspace.storage.file import FileStorage

        check_keywords(cls.__name__, (), arguments, (*keywords_of_sessions(), *_OWN))
        limits = arguments.pop("limits", None) or Limits()
        return cls(
            storage=FileStorage(base),
            limits=replace(limits, timeout=timeout),
            extra_deps=extra_deps or (),
            allow_runtime_deps=allow_runtime_deps,
            sync_deps_on_start=sync_deps_on_start,
            **arguments,
        )

    # -- what it is made of ------------------------------------------------------------------------------

    @property
    def storage(self) -> Storage:
        """Where the workspace is kept. Raises SessionError when this session has none."""
        return self._shared.storage

    @property
    def tools(self) -> ToolRegistry:
        """The tools of the workspace. Raises SessionError when this session has none."""
        return self._shared.tools

    @property
    def _shared(self) -> Workspace:
        return self._link.workspace

    @property
    def _link(self) -> WorkspaceLink:
        self._check_open()
        if self._workspace is None:
            raise SessionError(
                "this session has no workspace: make it with "
                f"{type(self).__name__}.from_base(path), {type(self).__name__}(storage=FileStorage(path)) "
                "or, for tools alone, with tools=[...]"
            )
        return self._workspace

    def tool_stubs(self, detail: Detail = "docstrings") -> str:
        """The tools as Python signatures, for the prompt of a model.

        `detail` is "names", "signatures" or "docstrings", which has all there is to know. May block while
        servers start.
        """
        return self._shared.tools.stubs(detail)

    # -- the kernel's part -------------------------------------------------------------------------------

    def _change_dependencies(self, change: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """With the session held: install or remove, and have the kernel see it."""
        self._check_at_rest()
        outcome = change()
        self._tell(("configure", {"paths": self._link.dependencies.paths}))
        self._changed = True
        return outcome


def _configured(base: Place, extra_deps: Sequence[str] | None) -> tuple[str, ...]:
    """The requirements of the workspace in a directory, and others."""
    from planaria.workspace.dependencies import requirements_of
    from planaria.workspace.storage.file import FileStorage

    return (*FileStorage(base).get_dependency_list().list(), *requirements_of(extra_deps or ()))


class WorkspaceSession(_Workspaced):
    """What a `Session` does with its workspace. Each method raises SessionError when it has none."""

    def _turn(self) -> AbstractContextManager[None]:
        raise NotImplementedError

    def list_tools(self) -> list[dict[str, Any]]:
        """The tools: dicts with name, description, tags, and callables with their parameters."""
        return self._shared.tools.list()

    def search_tools(self, query: str, limit: int = 10) -> list[dict[str, Any]]:
        """The tools that fit a query best, with `score`."""
        return self._shared.tools.search(query, limit)

    def list_workflows(self) -> list[dict[str, Any]]:
        """The workflows: dicts with name, description, parameters and more, without the source."""
        return [workflow.summary() for workflow in self._shared.workflows.list()]

    def search_workflows(self, query: str, limit: int = 5) -> list[dict[str, Any]]:
        """The workflows that fit a query best, with `score`."""
        return self._shared.search_workflows(query, limit)

    def get_workflow(self, name: str, version: int | None = None) -> dict[str, Any] | None:
        """A workflow with its source, in an earlier version if one is given; None when there is none."""
        return self._shared.workflow(name, version)

    def add_workflow(self, name: str, source: str, description: str = "") -> dict[str, Any]:
        """Keep a workflow, as a new version if there is one of that name. `source` defines `run`.

        Raises WorkflowError for a name or source that cannot be.
        """
        return self._shared.workflows.add(name, source, description).document()

    def remove_workflow(self, name: str) -> bool:
        """Remove a workflow with all its versions; False when there is none."""
        return self._shared.workflows.remove(name)

    def list_artifacts(self) -> list[dict[str, Any]]:
        """The artifacts: dicts with name, path, description, metadata and created_at."""
        return [artifact.info() for artifact in self._shared.artifacts.list()]

    def save_artifact(
        self, name: str, data: Any, description: str = "", metadata: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Keep data under a name, in place of what was there. Raises ArtifactError."""
        return self._shared.artifacts.save(name, data, description, metadata).info()

    def load_artifact(self, name: str) -> Any:
        """The data of an artifact, as what it was saved. Raises ArtifactError when there is none."""
        return self._shared.artifacts.load(name)

    def delete_artifact(self, name: str) -> bool:
        """Remove an artifact; False when there is none."""
        return self._shared.artifacts.delete(name)

    def list_deps(self) -> list[str]:
        """The configured dependencies, as requirements."""
        return self._link.dependencies.list()

    def add_dep(self, package: str) -> dict[str, Any]:
        """Install and configure a dependency; a dict with installed, already_present and failed.

        `failed` has the reason of each. Raises DependencyError for what is no requirement (PEP 508).
        """
        with self._turn():
            return self._change_dependencies(lambda: self._link.dependencies.add(package))

    def remove_dep(self, package: str) -> dict[str, Any]:
        """Remove a dependency; a dict with removed, not_found, failed and removed_from_config."""
        with self._turn():
            return self._change_dependencies(lambda: self._link.dependencies.remove(package))

    def sync_deps(self) -> dict[str, Any]:
        """Install all that is configured; a dict with installed, already_present and failed."""
        with self._turn():
            return self._change_dependencies(self._link.dependencies.sync)


class AsyncWorkspaceSession(_Workspaced):
    """What an `AsyncSession` does with its workspace: the methods of `WorkspaceSession`, on other threads."""

    def _turn(self) -> AbstractAsyncContextManager[None]:
        raise NotImplementedError

    async def _in_thread(self, function: Callable[[], T]) -> T:
        raise NotImplementedError

    @staticmethod
    async def _elsewhere(function: Callable[[], T]) -> T:
        return await asyncio.wrap_future(submit(function))

    async def list_tools(self) -> list[dict[str, Any]]:
        """The tools: dicts with name, description, tags, and callables with their parameters."""
        return await self._elsewhere(self._shared.tools.list)

    async def search_tools(self, query: str, limit: int = 10) -> list[dict[str, Any]]:
        """The tools that fit a query best, with `score`."""
        return await self._elsewhere(lambda: self._shared.tools.search(query, limit))

    async def list_workflows(self) -> list[dict[str, Any]]:
        """The workflows: dicts with name, description, parameters and more, without the source."""
        workflows = self._shared.workflows
        return [workflow.summary() for workflow in await self._elsewhere(workflows.list)]

    async def search_workflows(self, query: str, limit: int = 5) -> list[dict[str, Any]]:
        """The workflows that fit a query best, with `score`."""
        return await self._elsewhere(lambda: self._shared.search_workflows(query, limit))

    async def get_workflow(self, name: str, version: int | None = None) -> dict[str, Any] | None:
        """A workflow with its source, in an earlier version if one is given; None when there is none."""
        return await self._elsewhere(lambda: self._shared.workflow(name, version))

    async def add_workflow(self, name: str, source: str, description: str = "") -> dict[str, Any]:
        """Keep a workflow; see `Session.add_workflow`."""
        return await self._elsewhere(lambda: self._shared.workflows.add(name, source, description).document())

    async def remove_workflow(self, name: str) -> bool:
        """Remove a workflow with all its versions; False when there is none."""
        return await self._elsewhere(lambda: self._shared.workflows.remove(name))

    async def list_artifacts(self) -> list[dict[str, Any]]:
        """The artifacts: dicts with name, path, description, metadata and created_at."""
        artifacts = self._shared.artifacts
        return [artifact.info() for artifact in await self._elsewhere(artifacts.list)]

    async def save_artifact(
        self, name: str, data: Any, description: str = "", metadata: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Keep data under a name; see `Session.save_artifact`."""
        return await self._elsewhere(
            lambda: self._shared.artifacts.save(name, data, description, metadata).info()
        )

    async def load_artifact(self, name: str) -> Any:
        """The data of an artifact, as what it was saved. Raises ArtifactError when there is none."""
        return await self._elsewhere(lambda: self._shared.artifacts.load(name))

    async def delete_artifact(self, name: str) -> bool:
        """Remove an artifact; False when there is none."""
        return await self._elsewhere(lambda: self._shared.artifacts.delete(name))

    async def list_deps(self) -> list[str]:
        """The configured dependencies, as requirements."""
        return await self._elsewhere(self._link.dependencies.list)

    async def add_dep(self, package: str) -> dict[str, Any]:
        """Install and configure a dependency; see `Session.add_dep`."""
        return await self._change(lambda: self._link.dependencies.add(package))

    async def remove_dep(self, package: str) -> dict[str, Any]:
        """Remove a dependency; see `Session.remove_dep`."""
        return await self._change(lambda: self._link.dependencies.remove(package))

    async def sync_deps(self) -> dict[str, Any]:
        """Install all that is configured; see `Session.sync_deps`."""
        return await self._change(lambda: self._link.dependencies.sync())

    async def _change(self, change: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        async with self._turn():
            return await self._in_thread(lambda: self._change_dependencies(change))
