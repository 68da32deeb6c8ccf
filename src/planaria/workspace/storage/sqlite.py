"""A workspace in one SQLite file, beside those of tenants."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from planaria.storage.backends.sqlite import SqliteBackend
from planaria.storage.paths import check_workspace_id, escaped
from planaria.workspace.storage.storage import BackendStorage

if TYPE_CHECKING:
    from planaria.stores.store import Store
    from planaria.workspace.embedding import Embedder

__all__ = ["SqliteStorage"]


class SqliteStorage(BackendStorage):
    """Keeps a workspace in the SQLite file `path`, which is created when it is missing.

    Every write is one transaction of SQLite. Raises StorageError when the file cannot be used or is not a
    database.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        workspace_id: str | None = None,
        embedder: Embedder | None = None,
    ) -> None:
        check_workspace_id(workspace_id)
        backend = SqliteBackend(path, workspace_id or "")
        super().__init__(backend, workspace_id, embedder)
        self.path, self.place = backend.path, str(backend.path)

    def __repr__(self) -> str:
        tenant = f", workspace_id={self.workspace_id!r}" if self.workspace_id else ""
        return f"SqliteStorage({str(self.path)!r}{tenant})"

    def _open_snapshot_store(self) -> Store:
        from planaria.stores.sqlite import SqliteStore

        return SqliteStore(self.path, prefix=f"snapshot @{escaped(self.workspace_id or '')} ")
