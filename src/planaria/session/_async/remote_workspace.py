"""The workspace of a session at a server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, cast

from planaria.errors import CapabilityError
from planaria.session import remote_state
from planaria.session._async.workspace import (
    AsyncSessionArtifacts,
    AsyncSessionDependencies,
    AsyncSessionTools,
    AsyncSessionWorkflows,
    AsyncSessionWorkspace,
    Detail,
    Item,
    Items,
)
from planaria.session.engine import SessionEngine

if TYPE_CHECKING:
    from planaria.workspace.storage.storage import Storage
    from planaria.workspace.tools.registry import ToolRegistry

__all__ = ["AsyncServerWorkspace"]


class _Owner(Protocol):
    """What this needs of a session."""

    @property
    def _engine(self) -> SessionEngine: ...

    async def _ask(self, function: Callable[[SessionEngine], Any]) -> Any: ...


class AsyncServerWorkspace(AsyncSessionWorkspace):
    """What a session at a server has of its workspace, which the server keeps.

    Raises SessionError when the server was started without one. Objects of this process, `storage` and
    `tools.registry`, and the packages, `deps`, raise CapabilityError.
    """

    def __init__(self, owner: _Owner) -> None:
        self._owner = owner

    @property
    def storage(self) -> Storage:
        """It is the server's: raises CapabilityError."""
        raise CapabilityError("storage", "server")

    @property
    def tools(self) -> AsyncServerTools:
        """The tools that code can call."""
        return AsyncServerTools(self._owner)

    @property
    def workflows(self) -> AsyncServerWorkflows:
        """Functions that sessions have kept."""
        return AsyncServerWorkflows(self._owner)

    @property
    def artifacts(self) -> AsyncServerArtifacts:
        """Data that sessions have kept."""
        return AsyncServerArtifacts(self._owner)

    @property
    def deps(self) -> AsyncSessionDependencies:
        """The server's images decide on packages: raises CapabilityError."""
        raise CapabilityError("deps_install", "server")


class AsyncServerTools(AsyncSessionTools):
    """The tools of a workspace at a server."""

    def __init__(self, owner: _Owner) -> None:
        self._owner = owner

    @property
    def registry(self) -> ToolRegistry:
        """It is the server's: raises CapabilityError."""
        raise CapabilityError("tools.registry", "server")

    async def list(self) -> Items:
        return cast(Items, await _use(self._owner, "tools", "list"))

    async def search(self, query: str, limit: int = 10) -> Items:
        return cast(Items, await _use(self._owner, "tools", "search", query, limit))

    def stubs(self, detail: Detail = "docstrings") -> str:
        return str(remote_state.use_workspace(self._owner._engine, "tools", "stubs", detail))


class AsyncServerWorkflows(AsyncSessionWorkflows):
    """The workflows of a workspace at a server."""

    def __init__(self, owner: _Owner) -> None:
        self._owner = owner

    async def list(self) -> Items:
        return cast(Items, await _use(self._owner, "workflows", "list"))

    async def search(self, query: str, limit: int = 5) -> Items:
        return cast(Items, await _use(self._owner, "workflows", "search", query, limit))

    async def get(self, name: str, version: int | None = None) -> Item | None:
        return cast("Item | None", await _use(self._owner, "workflows", "get", name, version))

    async def add(self, name: str, source: str, description: str = "") -> Item:
        return cast(Item, await _use(self._owner, "workflows", "add", name, source, description))

    async def remove(self, name: str) -> bool:
        return cast(bool, await _use(self._owner, "workflows", "remove", name))


class AsyncServerArtifacts(AsyncSessionArtifacts):
    """The artifacts of a workspace at a server."""

    def __init__(self, owner: _Owner) -> None:
        self._owner = owner

    async def list(self) -> Items:
        return cast(Items, await _use(self._owner, "artifacts", "list"))

    async def save(
        self,
        name: str,
        data: object,
        description: str = "",
        metadata: Mapping[str, object] | None = None,
    ) -> Item:
        extra = None if metadata is None else dict(metadata)
        return cast(Item, await _use(self._owner, "artifacts", "save", name, data, description, extra))

    async def load(self, name: str) -> Any:
        return await _use(self._owner, "artifacts", "load", name)

    async def delete(self, name: str) -> bool:
        return cast(bool, await _use(self._owner, "artifacts", "delete", name))


async def _use(owner: _Owner, part: str, method: str, *arguments: object) -> Any:
    return await owner._ask(lambda engine: remote_state.use_workspace(engine, part, method, *arguments))
