"""`Storage`: where a workspace is kept, written once over the few things in which backends differ.

A workspace is a small tree of documents, the same in every backend:

    tools/NAME.yaml                 definitions of tools, and what they refer to
    workflows/NAME.py               the current version of a workflow
    workflows/.info/NAME.json       descriptions and dates of its versions
    workflows/.versions/NAME/N.py   the source of each
    artifacts/NAME.EXT              the data of an artifact
    artifacts/.info/NAME.json       what is known about it
    requirements.txt                dependencies

Reading and writing happen in transactions: `Storage.read(action)` and `Storage.write(action)` give the action
the `Documents`, and all that it writes is there afterwards or nothing is. Large contents are brought by an
`Upload` before the transaction that puts them in their place, and read in pieces.
"""

from __future__ import annotations

import functools
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from planaria.errors import StorageError
from planaria.workspace.storage.paths import check_segments, check_workspace_id

if TYPE_CHECKING:
    from planaria.stores.store import Store
    from planaria.workspace.artifacts import ArtifactStore
    from planaria.workspace.dependencies import DependencyList
    from planaria.workspace.embedding import Embedder
    from planaria.workspace.workflows import WorkflowLibrary

__all__ = [
    "ABANDONED",
    "GRACE",
    "PIECE",
    "Documents",
    "Entry",
    "Revision",
    "Storage",
    "ToolText",
    "Upload",
    "visible_folders",
]

Result = TypeVar("Result")

#: Bytes in which large contents are moved.
PIECE: Final = 1 << 20
#: Seconds that replaced contents are kept for who still reads them, and unfinished ones for who brings them.
GRACE: Final = 60
ABANDONED: Final = 24 * 3600

_TOOLS: Final = "tools"
_DEFINITIONS: Final = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class Entry:
    """A document without its contents."""

    token: Hashable
    """Another one whenever the contents were written."""
    size: int
    """In bytes."""
    modified: float
    """When it was written, in seconds since 1970."""


@dataclass(frozen=True, slots=True)
class Revision:
    """What tells whether a folder has changed."""

    value: Hashable
    """Another one whenever a document was written through a storage, or has come or gone."""
    is_complete: bool
    """Whether that goes for every change; a file can be edited in its place."""


@dataclass(frozen=True, slots=True)
class ToolText:
    """The definition of tools as it is kept."""

    origin: str
    """Where it is from, for messages: "tools/curl.yaml"."""
    text: str


class Upload(ABC):
    """Contents on their way into a storage, seen by nobody until `Documents.adopt` puts them in a place."""

    size: int = 0
    """Bytes so far."""

    @abstractmethod
    def write(self, data: bytes) -> None:
        """Add to the end. Raises StorageError."""

    @abstractmethod
    def discard(self) -> None:
        """Forget the contents, unless they were adopted; also twice."""


class Documents(ABC):
    """The documents of one workspace, valid inside one transaction.

    What is written is seen by `fetch` at once, and by everybody else when the transaction ends.
    """

    def __init__(self) -> None:
        #: What to write when the transaction ends, by path; None removes.
        self.changes: dict[str, bytes | Upload | None] = {}

    @abstractmethod
    def load(self, path: str) -> bytes | None:
        """A document as it was when the transaction began."""

    @abstractmethod
    def entry(self, path: str) -> Entry | None:
        """What there is at a path, without its contents, as it was when the transaction began."""

    @abstractmethod
    def entries(self, folder: str) -> dict[str, Entry]:
        """The documents directly in a folder, by name. Hidden names stand only in hidden folders."""

    @abstractmethod
    def folders(self, below: str) -> list[str]:
        """The folders that are anywhere below this one and hold documents, as paths, without hidden ones."""

    @abstractmethod
    def revision(self, folder: str) -> Revision: ...

    @abstractmethod
    def pieces(self, path: str) -> Iterator[bytes] | None:
        """The contents in pieces, also after the transaction, as they were in it; None without a document.

        Where the contents are replaced and dropped before they were read to the end, StorageError is raised.
        """

    def load_many(self, folder: str, names: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Those of the named documents of a folder that there are."""
        for name in names:
            data = self.load(f"{folder}/{name}")
            if data is not None:
                yield name, data

    def fetch(self, path: str) -> bytes | None:
        """The contents of a document; None when there is none."""
        change = self.changes.get(path, b"")
        if path in self.changes and not isinstance(change, Upload):
            return change
        return self.load(path)

    def put(self, path: str, data: bytes) -> None:
        """Write a document, in place of what was there."""
        self.changes[path] = data

    def adopt(self, path: str, upload: Upload) -> None:
        """Make uploaded contents a document, in place of what was there."""
        self.changes[path] = upload

    def drop(self, path: str) -> None:
        """Remove a document, if there is one."""
        self.changes[path] = None


class Storage(ABC):
    """A workspace's tools, workflows, artifacts, dependencies and snapshots.

    May be used from many threads and processes at once. With a `workspace_id`, a tenant of its own: it sees
    nothing of others in the same place, nor they of it. With an `embedder`, searches go by meaning, too.
    Raises StorageError where the place cannot be used.
    """

    def __init__(self, workspace_id: str | None = None, embedder: Embedder | None = None) -> None:
        check_workspace_id(workspace_id)
        self.workspace_id = workspace_id
        self.embedder = embedder
        self._lock = threading.Lock()
        self._snapshots: Store | None = None

    # -- what backends are ---------------------------------------------------------------------------------

    @abstractmethod
    def read(self, action: Callable[[Documents], Result]) -> Result:
        """Run `action` on the documents as they are at one moment. It may run again when they change."""

    @abstractmethod
    def write(self, action: Callable[[Documents], Result]) -> Result:
        """Run `action` and carry out its changes as one. It may run again when others write meanwhile."""

    @abstractmethod
    def upload(self) -> Upload:
        """Begin to bring contents that are to become a document."""

    @abstractmethod
    def _open_snapshot_store(self) -> Store:
        """A store for the snapshots of this workspace."""

    @abstractmethod
    def _close(self) -> None:
        """Give connections back, where there are any."""

    # -- what they all have --------------------------------------------------------------------------------

    def get_workflow_library(self) -> WorkflowLibrary:
        """The workflows."""
        return self._workflows

    def get_artifact_store(self) -> ArtifactStore:
        """The artifacts."""
        return self._artifacts

    def get_dependency_list(self) -> DependencyList:
        """The dependencies that are configured."""
        from planaria.workspace.dependencies import DependencyList

        return DependencyList(self)

    def get_snapshot_store(self) -> Store:
        """Where the snapshots of this workspace are kept."""
        with self._lock:
            if self._snapshots is None:
                self._snapshots = self._open_snapshot_store()
            return self._snapshots

    def list_snapshots(self) -> list[str]:
        """The names of the snapshots; nothing is made where there are none."""
        return self.get_snapshot_store().list()

    def close(self) -> None:
        """Give connections back, where there are any; closing twice is harmless."""
        with self._lock:
            if self._snapshots is not None:
                self._snapshots.close()
            self._snapshots = None
        self._close()

    # One of each: they know what they have read.
    @functools.cached_property
    def _workflows(self) -> WorkflowLibrary:
        from planaria.workspace.workflows import WorkflowLibrary

        return WorkflowLibrary(self)

    @functools.cached_property
    def _artifacts(self) -> ArtifactStore:
        from planaria.workspace.artifacts import ArtifactStore

        return ArtifactStore(self)

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

        Raises ValueError for a name that cannot be. The text is checked by who loads the tools.
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


def _text(data: bytes, path: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise StorageError(f"{path} is not UTF-8: {error.reason} at byte {error.start}") from None


def visible_folders(folders: Iterable[str], below: str) -> list[str]:
    """Those of all folders that `Documents.folders(below)` is to tell."""
    return sorted(
        folder
        for folder in folders
        if (not below or folder == below or folder.startswith(f"{below}/"))
        and not any(segment.startswith(".") for segment in folder.split("/"))
    )
