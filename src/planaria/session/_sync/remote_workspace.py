# Generated from ../_async/remote_workspace.py by tools/generate_sync.py; change that one.
"""The workspace of a session at a server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, cast

from planaria.errors import CapabilityError
from planaria.session import remote_state
from planaria.session._sync.workspace import (
    Detail,
    Item,
    Items,
    SessionArtifacts,
    SessionDependencies,
    SessionTools,
    SessionWorkflows,
    SessionWorkspace,
)
from planaria.session.engine import SessionEngine

if TYPE_CHECKING:
    from planaria.workspace.storage.storage import Storage
    from planaria.workspace.tools.registry import ToolRegistry

__all__ = ["ServerWorkspace"]


class _Owner(Protocol):
    """What this needs of a session."""

    @property
    def _engine(self) -> SessionEngine: ...

    def _ask(self, function: Callable[[SessionEngine], Any]) -> Any: ...


class ServerWorkspace(SessionWorkspace):
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
    def tools(self) -> ServerTools:
        """The tools that code can call."""
        return ServerTools(self._owner)

    @property
    def workflows(self) -> ServerWorkflows:
        """Functions that sessions have kept."""
        return ServerWorkflows(self._owner)

    @property
    def artifacts(self) -> ServerArtifacts:
        """Data that sessions have kept."""
        return ServerArtifacts(self._owner)

    @property
    def deps(self) -> SessionDependencies:
        """The server's images decide on packages: raises CapabilityError."""
        raise CapabilityError("deps_install", "server")


class ServerTools(SessionTools):
    """The tools of a workspace at a server."""

    def __init__(self, owner: _Owner) -> None:
        self._owner = owner

    @property
    def registry(self) -> ToolRegistry:
        """It is the server's: raises CapabilityError."""
        raise CapabilityError("tools.registry", "server")

    def list(self) -> Items:
        return cast(Items, _use(self._owner, "tools", "list"))

    def search(self, query: str, limit: int = 10) -> Items:
        return cast(Items, _use(self._owner, "tools", "search", query, limit))

    def stubs(self, detail: Detail = "docstrings") -> str:
        return str(remote_state.use_workspace(self._owner._engine, "tools", "stubs", detail))


class ServerWorkflows(SessionWorkflows):
    """The workflows of a workspace at a server."""

    def __init__(self, owner: _Owner) -> None:
        self._owner = owner

    def list(self) -> Items:
        return cast(Items, _use(self._owner, "workflows", "list"))

    def search(self, query: str, limit: int = 5) -> Items:
        return cast(Items, _use(self._owner, "workflows", "search", query, limit))

    def get(self, name: str, version: int | None = None) -> Item | None:
        return cast("Item | None", _use(self._owner, "workflows", "get", name, version))

    def add(self, name: str, source: str, description: str = "") -> Item:
        return cast(Item, _use(self._owner, "workflows", "add", name, source, description))

    def remove(self, name: str) -> bool:
        return cast(bool, _use(self._owner, "workflows", "remove", name))


class ServerArtifacts(SessionArtifacts):
    """The artifacts of a workspace at a server."""

    def __init__(self, owner: _Owner) -> None:
        self._owner = owner

    def list(self) -> Items:
        return cast(Items, _use(self._owner, "artifacts", "list"))

    def save(
        self,
        name: str,
        data: object,
        description: str = "",
        metadata: Mapping[str, object] | None = None,
    ) -> Item:
        extra = None if metadata is None else dict(metadata)
        return cast(Item, _use(self._owner, "artifacts", "save", name, data, description, extra))

    def load(self, name: str) -> Any:
        return _use(self._owner, "artifacts", "load", name)

    def delete(self, name: str) -> bool:
        return cast(bool, _use(self._owner, "artifacts", "delete", name))


def _use(owner: _Owner, part: str, method: str, *arguments: object) -> Any:
    return owner._ask(lambda engine: remote_state.use_workspace(engine, part, method, *arguments))
