"""A workspace in Redis. All keys begin with the prefix and "workspace:", or "workspace/ID:" for a tenant:

    folders                 the set of folders that hold documents
    folder:FOLDER           a hash, from a document's name to "CONTENT SIZE MODIFIED"
    content:CONTENT         a list: the contents in pieces; none for an empty document
    revision                a hash, from folder to a counter that moves with each write
    snapshot:…              the snapshots, see planaria.stores.redis

What one write changes is one MULTI/EXEC; it watches the folders that it has read and begins again when one of
them moves. Contents are pushed before, under a name of their own that expires by itself until a transaction
adopts it; what is replaced expires a little later, so that who reads it comes to the end. A connection that
breaks leaves the old documents.
"""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, TypeVar

from planaria.errors import StorageError
from planaria.stores.redis import open_client
from planaria.workspace.storage.paths import folder_of
from planaria.workspace.storage.storage import (
    ABANDONED,
    GRACE,
    PIECE,
    Documents,
    Entry,
    Revision,
    Storage,
    Upload,
    visible_folders,
)

if TYPE_CHECKING:
    from redis import Redis

    from planaria.stores.store import Store
    from planaria.workspace.embedding import Embedder

__all__ = ["RedisStorage"]

Result = TypeVar("Result")

#: How often a transaction begins again before it gives up.
_ATTEMPTS: Final = 100
#: Documents that are asked for at once.
_BATCH: Final = 500


class RedisStorage(Storage):
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
        super().__init__(workspace_id, embedder)
        self._client, self._own = open_client("RedisStorage", url, redis, "redis")
        tenant = "" if workspace_id is None else f"/{workspace_id}"
        #: What all keys of this workspace begin with.
        self.prefix = f"{prefix}workspace{tenant}:"

    def __repr__(self) -> str:
        return f"RedisStorage({self.prefix!r})"

    def read(self, action: Callable[[Documents], Result]) -> Result:
        return self._transact(action)

    write = read

    def _transact(self, action: Callable[[Documents], Result]) -> Result:
        from redis import WatchError

        with _told():
            for _ in range(_ATTEMPTS):
                with self._client.pipeline(transaction=True) as pipeline:
                    documents = _Keys(self._client, pipeline, self.prefix)
                    result = action(documents)
                    try:
                        documents.commit()
                    except WatchError:
                        continue
                    return result
        raise StorageError(
            f"this storage was too busy: {_ATTEMPTS} attempts were overtaken by others; try again"
        )

    def upload(self) -> Upload:
        return _List(self._client, self.prefix)

    def _open_snapshot_store(self) -> Store:
        from planaria.stores.redis import RedisStore

        return RedisStore(client=self._client, prefix=f"{self.prefix}snapshot:")

    def _close(self) -> None:
        if self._own:
            self._client.close()


class _List(Upload):
    def __init__(self, client: Any, prefix: str) -> None:
        self._client = client
        self.content = uuid.uuid4().hex
        self.key = f"{prefix}content:{self.content}"
        self.is_adopted = False
        self._pieces = 0

    def write(self, data: bytes) -> None:
        for start in range(0, len(data), PIECE):
            self._pieces += 1
            with _told(), self._client.pipeline(transaction=True) as pipeline:
                pipeline.rpush(self.key, data[start : start + PIECE])
                pipeline.expire(self.key, ABANDONED)
                if pipeline.execute()[0] != self._pieces:
                    raise StorageError(
                        "what was brought to this storage is not there as it was sent: bring it again"
                    )
        self.size += len(data)

    def discard(self) -> None:
        if not self.is_adopted:
            with _told():
                self._client.delete(self.key)


class _Keys(Documents):
    def __init__(self, client: Any, pipeline: Any, prefix: str) -> None:
        super().__init__()
        self._client = client
        self._pipeline = pipeline
        self._prefix = prefix
        self._watched: set[str] = set()

    def _watch(self, key: str) -> str:
        """The whole key; when it changes before the transaction ends, that begins again."""
        key = self._prefix + key
        if key not in self._watched:
            self._pipeline.watch(key)
            self._watched.add(key)
        return key

    def _key(self, entry: Entry) -> str:
        return f"{self._prefix}content:{entry.token}"

    def entry(self, path: str) -> Entry | None:
        folder, name = folder_of(path)
        found = self._pipeline.hget(self._watch(f"folder:{folder}"), name)
        return None if found is None else _entry(found)

    def load(self, path: str) -> bytes | None:
        entry = self.entry(path)
        if entry is None:
            return None
        return self._whole(path, entry, self._pipeline.lrange(self._key(entry), 0, -1))

    def _whole(self, path: str, entry: Entry, pieces: list[bytes]) -> bytes:
        data = b"".join(pieces)
        if len(data) != entry.size:
            raise StorageError(
                f"this storage has lost contents of {path}: {len(data)} of {entry.size} bytes are there"
            )
        return data

    def load_many(self, folder: str, names: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        entries = self.entries(folder)
        wanted = [name for name in names if name in entries]
        for start in range(0, len(wanted), _BATCH):
            batch = wanted[start : start + _BATCH]
            # On a connection of its own: this one watches.
            with self._client.pipeline(transaction=False) as pipeline:
                for name in batch:
                    pipeline.lrange(self._key(entries[name]), 0, -1)
                for name, pieces in zip(batch, pipeline.execute(), strict=True):
                    yield name, self._whole(f"{folder}/{name}", entries[name], pieces)

    def pieces(self, path: str) -> Iterator[bytes] | None:
        entry = self.entry(path)
        return None if entry is None else self._read_in_pieces(path, entry)

    def _read_in_pieces(self, path: str, entry: Entry) -> Iterator[bytes]:
        key = self._key(entry)
        left, number = entry.size, 0
        while left:
            with _told():
                piece = self._client.lindex(key, number)
            if piece is None:
                raise StorageError(f"{path} was replaced while it was read: read it again")
            yield piece
            left -= len(piece)
            number += 1

    def entries(self, folder: str) -> dict[str, Entry]:
        found = self._pipeline.hgetall(self._watch(f"folder:{folder}"))
        return {name.decode(): _entry(entry) for name, entry in found.items()}

    def folders(self, below: str) -> list[str]:
        found = self._pipeline.smembers(self._watch("folders"))
        return visible_folders((name.decode() for name in found), below)

    def revision(self, folder: str) -> Revision:
        value = self._client.hget(f"{self._prefix}revision", folder)  # not watched: it moves with every write
        return Revision(value, is_complete=True)

    def commit(self) -> None:
        """Carry the changes out, or raise redis.WatchError when what was read is no longer so."""
        if not self._watched and not self.changes:
            return
        uploads: dict[str, _List] = {}
        try:
            self._commit(uploads)
        except BaseException:
            for path, upload in uploads.items():
                if upload is not self.changes[path]:
                    with contextlib.suppress(StorageError):  # it expires by itself
                        upload.discard()
            raise

    def _commit(self, uploads: dict[str, _List]) -> None:
        old = {path: self.entry(path) for path in self.changes}
        counts = {
            folder: self._pipeline.hlen(self._watch(f"folder:{folder}"))
            for folder in {folder_of(path)[0] for path in self.changes}
        }
        for path, change in self.changes.items():
            if change is not None:
                uploads[path] = self._uploaded(change)
            counts[folder_of(path)[0]] += (change is not None) - (old[path] is not None)
        pipeline = self._pipeline
        pipeline.multi()
        now = time.time()
        for path, before in old.items():
            folder, name = folder_of(path)
            if before is not None and before.size:
                pipeline.expire(self._key(before), GRACE)
            if path not in uploads:
                pipeline.hdel(f"{self._prefix}folder:{folder}", name)
                continue
            upload = uploads[path]
            pipeline.persist(upload.key)
            value = f"{upload.content} {upload.size} {now!r}"
            pipeline.hset(f"{self._prefix}folder:{folder}", name, value)
        for folder, count in counts.items():
            pipeline.hincrby(f"{self._prefix}revision", folder, 1)
            if count:
                pipeline.sadd(f"{self._prefix}folders", folder)
            else:
                pipeline.srem(f"{self._prefix}folders", folder)
        pipeline.execute()
        for upload in uploads.values():
            upload.is_adopted = True

    def _uploaded(self, change: bytes | Upload) -> _List:
        if isinstance(change, bytes):
            upload = _List(self._client, self._prefix)
            upload.write(change)
            return upload
        assert isinstance(change, _List)
        self._watch(change.key.removeprefix(self._prefix))
        if change.size and not self._pipeline.exists(change.key):
            raise StorageError("what was brought to this storage is not there as it was sent: bring it again")
        return change


def _entry(found: bytes) -> Entry:
    content, size, modified = found.decode().split(" ")
    return Entry(content, int(size), float(modified))


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """Errors of Redis as StorageError."""
    from redis import RedisError

    try:
        yield
    except RedisError as error:
        raise StorageError(f"the Redis of this storage cannot be used: {error}") from error
