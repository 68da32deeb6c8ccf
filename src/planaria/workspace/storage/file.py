"""A workspace in a directory, to be read and edited by hand: its documents are files at their paths.

Beside them are the snapshots, `snapshots/`, the workspaces of tenants, `workspaces/ID/`, each like this one,
and what planaria.storage.backends.file needs.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from planaria.storage.backends.file import FileBackend
from planaria.storage.paths import check_workspace_id, escaped
from planaria.workspace.storage.storage import BackendStorage

if TYPE_CHECKING:
    from planaria.stores.store import Store
    from planaria.workspace.embedding import Embedder

__all__ = ["FileStorage"]


class FileStorage(BackendStorage):
    """Keeps a workspace in the directory `base_path`, as files that can be edited by hand.

    The directory is created when something is first written; one that is not there is an empty workspace.
    With `workspace_id`, the workspace is `base_path/workspaces/ID`. Raises StorageError when it cannot be
    used.
    """

    def __init__(
        self,
        base_path: str | os.PathLike[str],
        *,
        workspace_id: str | None = None,
        embedder: Embedder | None = None,
    ) -> None:
        check_workspace_id(workspace_id)
        self.base_path = self.path = Path(base_path).expanduser().absolute()
        if workspace_id is not None:
            # Capitals are percent-encoded, for filesystems that ignore case.
            self.path = self.base_path / "workspaces" / escaped(workspace_id)
        self.place = str(self.path)
        super().__init__(FileBackend(self.path), workspace_id, embedder)

    def __repr__(self) -> str:
        return f"FileStorage({str(self.path)!r})"

    def _open_snapshot_store(self) -> Store:
        from planaria.stores.file import FileStore

        return FileStore(self.path / "snapshots")

    def list_snapshots(self) -> list[str]:
        return super().list_snapshots() if (self.path / "snapshots").is_dir() else []
