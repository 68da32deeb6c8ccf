"""A workspace in Redis: its keys begin with the prefix and "workspace:", or "workspace/ID:" for a tenant.

Those of its snapshots go on with "snapshot:".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from planaria.storage.backends.redis import RedisBackend, open_client
from planaria.storage.paths import check_workspace_id
from planaria.workspace.storage.storage import BackendStorage

if TYPE_CHECKING:
    from redis import Redis

    from planaria.stores.store import Store
    from planaria.workspace.embedding import Embedder

__all__ = ["RedisStorage"]


class RedisStorage(BackendStorage):
    """Keeps a workspace in the Redis server at `url` (or of the client `redis`), under keys with `prefix`.

    Needs the extra "redis". Raises StorageError when the server cannot be reached.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        redis: Redis | None = None,
        prefix: str = "planaria:",
        workspace_id: str | None = None,
        embedder: Embedder | None = None,
    ) -> None:
        check_workspace_id(workspace_id)
        self._client, is_own = open_client("RedisStorage", url, redis, "redis")
        tenant = "" if workspace_id is None else f"/{workspace_id}"
        #: What all keys of this workspace begin with.
        self.prefix = f"{prefix}workspace{tenant}:"
        super().__init__(RedisBackend(self._client, self.prefix, owns_client=is_own), workspace_id, embedder)

    def __repr__(self) -> str:
        return f"RedisStorage({self.prefix!r})"

    def _open_snapshot_store(self) -> Store:
        from planaria.stores.redis import RedisStore

        return RedisStore(client=self._client, prefix=f"{self.prefix}snapshot:")
