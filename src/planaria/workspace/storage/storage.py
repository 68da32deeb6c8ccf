"""`Storage`: a workspace over documents, the same in every backend.

    tools/NAME.yaml                 definitions of tools, and what they refer to
    workflows/NAME.py               the current version of a workflow
    workflows/.info/NAME.json       descriptions and dates of its versions
    workflows/.versions/NAME/N.py   the source of each
    artifacts/NAME.EXT              the data of an artifact
    artifacts/.info/NAME.json       what is known about it
    requirements.txt                dependencies

See planaria.storage.documents for documents and their transactions.
"""

from __future__ import annotations

import functools
import threading
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from planaria.errors import StorageError
from planaria.storage.documents import Backend, Documents, Upload
from planaria.storage.paths import check_segments, check_workspace_id
from planaria.workspace.artifacts import ArtifactStore
from planaria.workspace.dependencies import DependencyList
from planaria.workspace.workflows import WorkflowLibrary

if TYPE_CHECKING:
    from planaria.stores.store import Store
    from planaria.workspace.embedding import Embedder

__all__ = ["BackendStorage", "Storage", "ToolText"]

Result = TypeVar("Result")

_TOOLS: Final = "tools"
_DEFINITIONS: Final = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class ToolText:
    """The definition of tools as it is kept."""

    origin: str
    """Where it is from, for messages: "tools/curl.yaml"."""
    text: str


class Storage(Backend):
    """A workspace's tools, workflows, artifacts, dependencies and snapshots.

    May be used from many threads and processes at once. With a `workspace_id`, a tenant of its own: it sees
    nothing of others in the same place, nor they of it. With an `embedder`, searches go by meaning, too.
    Raises StorageError where the place cannot be used.
    """

    place = ""
    """The path on this side, which code in sessions is not told; "" where there is none."""

    def __init__(self, workspace_id: str | None = None, embedder: Embedder | None = None) -> None:
        check_workspace_id(workspace_id)
        self.workspace_id = workspace_id
        self.embedder = embedder
        self._lock = threading.Lock()
        self._snapshots: Store | None = None

    @abstractmethod
    def _open_snapshot_store(self) -> Store:
        """A store for the snapshots of this workspace."""

    @abstractmethod
    def _close(self) -> None:
        """Release connections, where there are any."""

    def get_workflow_library(self) -> WorkflowLibrary:
        """The workflows."""
        return self._workflows

    def get_artifact_store(self) -> ArtifactStore:
        """The artifacts."""
        return self._artifacts

    def get_dependency_list(self) -> DependencyList:
        """The dependencies that are configured."""
        return DependencyList(self)

    def get_snapshot_store(self) -> Store:
        """Where the snapshots of this workspace are kept."""
        with self._lock:
            if self._snapshots is None:
                self._snapshots = self._open_snapshot_store()
            return self._snapshots

    def list_snapshots(self) -> list[str]:
        """The names of the snapshots; nothing is created where there are none."""
        return self.get_snapshot_store().list()

    def close(self) -> None:
        """Release connections, where there are any; closing twice is harmless."""
        with self._lock:
            if self._snapshots is not None:
                self._snapshots.close()
            self._snapshots = None
        self._close()

    # One of each: they know what they have read.
    @functools.cached_property
    def _workflows(self) -> WorkflowLibrary:
        return WorkflowLibrary(self, self.embedder)

    @functools.cached_property
    def _artifacts(self) -> ArtifactStore:
        return ArtifactStore(self, self.embedder)

    def get_tool_definitions(self) -> list[ToolText]:
        """The YAML files in `tools/`, by name. Raises StorageError for one that is not UTF-8."""

        def action(documents: Documents) -> list[ToolText]:
            names = sorted(name for name in documents.entries(_TOOLS) if name.endswith(_DEFINITIONS))
            return [
                ToolText(f"{_TOOLS}/{name}", _text(data, f"{_TOOLS}/{name}"))
                for name, data in sorted(documents.load_many(_TOOLS, names))
            ]

        return self.read(action)

    def set_tool_definition(self, name: str, text: str) -> None:
        """Keep the YAML of a tool as `tools/NAME.yaml`, in place of an earlier one.

        Raises ValueError for a name that cannot be. The YAML is checked when the tools are loaded.
        """
        path = f"{_TOOLS}/{name}.yaml"
        check_segments(name, "the definition of a tool")
        if "/" in name:
            raise ValueError(f"{name!r} cannot name the definition of a tool: it has '/'")

        def action(documents: Documents) -> None:
            documents.put(path, text.encode())
            documents.drop(f"{_TOOLS}/{name}.yml")

        self.write(action)

    def remove_tool_definition(self, name: str) -> bool:
        """Remove `tools/NAME.yaml`; False when there is none."""

        def action(documents: Documents) -> bool:
            paths = [f"{_TOOLS}/{name}{ending}" for ending in _DEFINITIONS]
            found = [path for path in paths if documents.entry(path) is not None]
            for path in found:
                documents.drop(path)
            return bool(found)

        check_segments(name, "the definition of a tool")
        return self.write(action)

    def get_tool_file(self, name: str) -> bytes | None:
        """A file in `tools/` to which a definition refers, as "apis/petstore.json"; None without it."""
        check_segments(name, "a file of a tool")
        return self.read(lambda documents: documents.fetch(f"{_TOOLS}/{name}"))


class BackendStorage(Storage):
    """A workspace in one of the backends of planaria.storage.backends."""

    def __init__(
        self, backend: Backend, workspace_id: str | None = None, embedder: Embedder | None = None
    ) -> None:
        super().__init__(workspace_id, embedder)
        self._backend = backend

    def read(self, action: Callable[[Documents], Result]) -> Result:
        return self._backend.read(action)

    def write(self, action: Callable[[Documents], Result]) -> Result:
        return self._backend.write(action)

    def upload(self) -> Upload:
        return self._backend.upload()

    def _close(self) -> None:
        self._backend.close()


def _text(data: bytes, path: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise StorageError(f"{path} is not UTF-8: {error.reason} at byte {error.start}") from None
