"""Documents in Redis. All keys begin with a prefix:

    folders                 the set of folders that hold documents
    folder:FOLDER           a hash, from a document's name to "CONTENT SIZE MODIFIED"
    content:CONTENT         a list: the contents in chunks; none for an empty document
    revision                a hash, from folder to a counter that moves with each write
    turn                    while it is there, the writers that do not hold it wait

What one write changes is one MULTI/EXEC; it watches the folders that it has read and begins again when one of
them changes. Contents are pushed before, under a name of their own that expires by itself until a transaction
adopts it; what is replaced expires a little later, so that its readers come to the end. A connection that
breaks leaves the old documents. A writer that was overtaken asks the others to wait; nothing but speed
depends on that, and it expires by itself.
"""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, TypeVar

from planaria.errors import StorageError
from planaria.storage.documents import (
    ABANDONED,
    CHUNK,
    GRACE,
    Backend,
    Documents,
    Entry,
    Revision,
    Upload,
    visible_folders,
)
from planaria.storage.failures import redis_failures
from planaria.storage.paths import folder_of

__all__ = ["RedisBackend", "open_client"]

Result = TypeVar("Result")

#: How often a transaction begins again before it is abandoned.
_ATTEMPTS: Final = 100
#: After how many attempts a writer asks the others to wait, and for how many milliseconds at most.
_BEFORE_A_TURN: Final = 2
_TURN: Final = 10_000
#: Seconds between two looks whether another writer's turn is over.
_PAUSE: Final = 0.002
#: Documents that are asked for at once.
_BATCH: Final = 500


def open_client(what: str, url: str | None, client: Any, parameter: str) -> tuple[Any, bool]:
    """The client given to a `what` as its `parameter`, or a new one for `url`, and whether it is new."""
    if (url is None) == (client is None):
        raise TypeError(f"{what} needs either url= or {parameter}=")
    try:
        import redis
    except ImportError as error:
        raise ImportError(f"{what} needs the package redis: pip install 'planaria[redis]'") from error
    own = client is None
    if url is not None:
        client = redis.Redis.from_url(url)
    if client.get_encoder().decode_responses:
        raise TypeError(f"{what} keeps bytes: create the client of {parameter}= without decode_responses")
    return client, own


class RedisBackend(Backend):
    """Keeps documents under keys that begin with `prefix`; `close` closes a client that it owns."""

    def __init__(self, client: Any, prefix: str, *, owns_client: bool) -> None:
        self._client = client
        self._owns_client = owns_client
        self.prefix = prefix

    def read(self, action: Callable[[Documents], Result]) -> Result:
        return self._transact(action, is_write=False)

    def write(self, action: Callable[[Documents], Result]) -> Result:
        return self._transact(action, is_write=True)

    def _transact(self, action: Callable[[Documents], Result], *, is_write: bool) -> Result:
        from redis import WatchError

        turn, token = f"{self.prefix}turn", uuid.uuid4().hex
        has_turn = False
        with redis_failures(self.prefix):
            try:
                for attempt in range(_ATTEMPTS):
                    if attempt >= _BEFORE_A_TURN and not has_turn:
                        has_turn = bool(self._client.set(turn, token, nx=True, px=_TURN))
                    if is_write and not has_turn:
                        self._wait_for(turn)
                    with self._client.pipeline(transaction=True) as pipeline:
                        documents = _Keys(self._client, pipeline, self.prefix)
                        result = action(documents)
                        try:
                            documents.commit()
                        except WatchError:
                            continue
                        return result
            finally:
                if has_turn and self._client.get(turn) == token.encode():
                    self._client.delete(turn)
        raise StorageError(
            f"the Redis of this storage is too busy: other clients changed {self.prefix}… during "
            f"each of {_ATTEMPTS} attempts; try again"
        )

    def _wait_for(self, turn: str) -> None:
        end = time.monotonic() + _TURN / 1e3
        while self._client.exists(turn) and time.monotonic() < end:
            time.sleep(_PAUSE)

    def upload(self) -> Upload:
        return _List(self._client, self.prefix)

    def close(self) -> None:
        if self._owns_client:
            self._client.close()


class _List(Upload):
    def __init__(self, client: Any, prefix: str) -> None:
        self._client = client
        self._prefix = prefix
        self.content = uuid.uuid4().hex
        self.key = f"{prefix}content:{self.content}"
        self.is_adopted = False
        self._chunks = 0

    def write(self, data: bytes) -> None:
        for start in range(0, len(data), CHUNK):
            self._chunks += 1
            with redis_failures(self._prefix), self._client.pipeline(transaction=True) as pipeline:
                pipeline.rpush(self.key, data[start : start + CHUNK])
                pipeline.expire(self.key, ABANDONED)
                if pipeline.execute()[0] != self._chunks:
                    raise StorageError(
                        "what was sent to this storage is not there as it was sent: send it again"
                    )
        self.size += len(data)

    def discard(self) -> None:
        if not self.is_adopted:
            with redis_failures(self._prefix):
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

    def _whole(self, path: str, entry: Entry, chunks: list[bytes]) -> bytes:
        data = b"".join(chunks)
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
                for name, chunks in zip(batch, pipeline.execute(), strict=True):
                    yield name, self._whole(f"{folder}/{name}", entries[name], chunks)

    def chunks(self, path: str) -> Iterator[bytes] | None:
        entry = self.entry(path)
        return None if entry is None else self._read_in_chunks(path, entry)

    def _read_in_chunks(self, path: str, entry: Entry) -> Iterator[bytes]:
        key = self._key(entry)
        left, number = entry.size, 0
        while left:
            with redis_failures(self._prefix):
                chunk = self._client.lindex(key, number)
            if chunk is None:
                raise StorageError(f"{path} was replaced while it was read: read it again")
            yield chunk
            left -= len(chunk)
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

    def revisions(self, below: str) -> dict[str, Revision]:
        values = self._client.hgetall(f"{self._prefix}revision")
        return {
            folder: Revision(values.get(folder.encode()), is_complete=True) for folder in self.folders(below)
        }

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
            raise StorageError("what was sent to this storage is not there as it was sent: send it again")
        return change


def _entry(found: bytes) -> Entry:
    content, size, modified = found.decode().split(" ")
    return Entry(content, int(size), float(modified))
