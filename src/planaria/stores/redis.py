"""A store in Redis.

    {prefix}blob:…, {prefix}record:…   contents, by digest
    {prefix}names                      the set of names
    {prefix}version:…                  a hash for each name, from number to version
    {prefix}saves, {prefix}collections counters
    {prefix}collecting                 while it is there, writers hold back

What one call writes is one MULTI/EXEC, so a process that is killed leaves all of it or nothing. A writer
leaves out what is there already, and what it relies on must not be collected meanwhile: writers watch the
counter of collections, collectors that of saves, and each begins again when it has moved. So that
collectors come to an end among busy writers, they ask them to hold back; nothing but speed depends on that,
and it expires by itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final, TypeVar

from planaria.errors import SnapshotError
from planaria.stores.store import Kind, Shelves, Store

if TYPE_CHECKING:
    from redis import Redis

__all__ = ["RedisStore", "open_client"]

Result = TypeVar("Result")

#: How often a transaction begins again before it gives up.
_ATTEMPTS: Final = 100
#: After so many attempts a collector asks writers to hold back, for this many milliseconds at most.
_PATIENCE: Final = 2
_PAUSE: Final = 10_000


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
        raise TypeError(f"{what} keeps bytes: make the client of {parameter}= without decode_responses")
    return client, own


class RedisStore(Store):
    """Keeps snapshots in the Redis server at `url` (or of `client`), under keys that begin with `prefix`.

    Needs the extra "redis". Raises redis.RedisError when the server cannot be reached.
    """

    def __init__(
        self, url: str | None = None, *, client: Redis | None = None, prefix: str = "planaria:"
    ) -> None:
        self._client, self._own = open_client("RedisStore", url, client, "client")
        import redis

        self._changed = redis.WatchError
        self._prefix = prefix

    def _read(self, action: Callable[[Shelves], Result]) -> Result:
        return self._transact(action, ["collections"], None)

    def _write(self, action: Callable[[Shelves], Result]) -> Result:
        return self._transact(action, ["collections"], "saves")

    def _collect(self, action: Callable[[Shelves], Result]) -> Result:
        return self._transact(action, ["collections", "saves"], "collections")

    def _transact(self, action: Callable[[Shelves], Result], watched: list[str], moved: str | None) -> Result:
        keys = [self._prefix + name for name in watched]
        pause = f"{self._prefix}collecting"
        paused = False
        try:
            for attempt in range(_ATTEMPTS):
                if moved == "saves":
                    self._hold_back(pause)
                elif moved == "collections" and attempt >= _PATIENCE:
                    self._client.set(pause, b"1", px=_PAUSE)
                    paused = True
                with self._client.pipeline(transaction=True) as pipeline:
                    pipeline.watch(*keys)
                    shelves = _Keys(pipeline, self._prefix)
                    result = action(shelves)
                    pipeline.multi()
                    for name, arguments in shelves.commands:
                        getattr(pipeline, name)(*arguments)
                    if moved is not None:
                        pipeline.incr(self._prefix + moved)
                    try:
                        pipeline.execute()
                    except self._changed:
                        continue
                    return result
        finally:
            if paused:
                self._client.delete(pause)
        raise SnapshotError(
            f"this store was too busy: {_ATTEMPTS} attempts were overtaken by others; try again"
        )

    def _hold_back(self, pause: str) -> None:
        until = time.monotonic() + _PAUSE / 1e3
        while self._client.exists(pause) and time.monotonic() < until:
            time.sleep(0.005)

    def close(self) -> None:
        if self._own:
            self._client.close()


class _Keys(Shelves):
    """Reads at once, and collects what is to be written for the transaction at the end."""

    def __init__(self, pipeline: Any, prefix: str) -> None:
        self._redis = pipeline
        self._prefix = prefix
        self.commands: list[tuple[str, tuple[Any, ...]]] = []
        self._written: set[str] = set()
        self._named: dict[str, dict[int, bytes]] = {}

    def _key(self, kind: str, name: str) -> str:
        return f"{self._prefix}{kind}:{name}"

    def get(self, kind: Kind, digest: str) -> bytes | None:
        data: bytes | None = self._redis.get(self._key(kind, digest))
        return data

    def has(self, kind: Kind, digest: str) -> bool:
        key = self._key(kind, digest)
        return key in self._written or bool(self._redis.exists(key))

    def put(self, kind: Kind, digest: str, data: bytes) -> None:
        key = self._key(kind, digest)
        self._written.add(key)
        self.commands.append(("set", (key, data)))

    def remove(self, kind: Kind, digest: str) -> int:
        key = self._key(kind, digest)
        self.commands.append(("delete", (key,)))
        return int(self._redis.strlen(key))

    def digests(self, kind: Kind) -> Iterable[str]:
        start = self._key(kind, "")
        pattern = "".join(f"[{one}]" if one in "*?[]^\\" else one for one in start) + "*"
        return [key.decode()[len(start) :] for key in self._redis.scan_iter(match=pattern, count=1000)]

    def names(self) -> Iterable[str]:
        return [name.decode() for name in self._redis.smembers(f"{self._prefix}names")]

    def versions(self, name: str) -> list[tuple[int, bytes]]:
        if name not in self._named:
            key = self._key("version", name)
            self._redis.watch(key)  # the next number is known only as long as nobody else adds one
            self._named[name] = {int(number): data for number, data in self._redis.hgetall(key).items()}
        return sorted(self._named[name].items())

    def append(self, name: str, data: bytes) -> None:
        number = max((number for number, _ in self.versions(name)), default=0) + 1
        self._named[name][number] = data
        self.commands.append(("hset", (self._key("version", name), str(number), data)))
        self.commands.append(("sadd", (f"{self._prefix}names", name)))

    def forget(self, name: str, number: int) -> None:
        self.versions(name)
        del self._named[name][number]
        self.commands.append(("hdel", (self._key("version", name), str(number))))
        if not self._named[name]:
            self.commands.append(("srem", (f"{self._prefix}names", name)))
