"""A store in Redis.

Earlier versions kept `{prefix}blob:DIGEST` and `{prefix}record:DIGEST` (strings), `{prefix}version:NAME`
(hashes from number to version), `{prefix}names` (a set) and counters; what is found of them becomes documents
when the store is opened.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Final

from planaria.storage.backends.redis import RedisBackend, open_client
from planaria.storage.documents import Documents, Upload
from planaria.storage.failures import redis_failures
from planaria.stores.redis_leases import RedisLeases
from planaria.stores.shelves import Kind, Shelves
from planaria.stores.store import Store

if TYPE_CHECKING:
    from redis import Redis

__all__ = ["RedisStore"]

_KINDS: Final[tuple[Kind, ...]] = ("blob", "record")
#: What earlier versions have whenever something was saved.
_OLD_COUNTER: Final = "saves"


class RedisStore(Store):
    """Keeps snapshots in the Redis server at `url` (or of `client`), under keys that begin with `prefix`.

    Needs the extra "redis". The methods raise StorageError when the server cannot be reached.
    """

    def __init__(
        self, url: str | None = None, *, client: Redis | None = None, prefix: str = "planaria:"
    ) -> None:
        opened, is_own = open_client("RedisStore", url, client, "client")
        self._redis = opened
        self._is_imported = False
        super().__init__(RedisBackend(opened, prefix, owns_client=is_own), RedisLeases(opened, prefix))

    def _read(self, action: Any) -> Any:
        self._import_once()
        return super()._read(action)

    def _write(self, action: Any) -> Any:
        self._import_once()
        return super()._write(action)

    def _import_once(self) -> None:
        if not self._is_imported:
            assert isinstance(self._backend, RedisBackend)
            _import_keys(self._redis, self._backend)
            self._is_imported = True


def _import_keys(client: Any, backend: RedisBackend) -> None:
    """Bring what an earlier version keeps under `prefix`. It may be killed, or run twice at the same time."""
    prefix = backend.prefix
    with redis_failures(prefix):
        if not client.exists(prefix + _OLD_COUNTER):
            return
        uploads: dict[tuple[Kind, str], Upload] = {}
        old: list[Any] = []
        with contextlib.ExitStack() as stack:
            for kind in _KINDS:
                start = f"{prefix}{kind}:"
                pattern = "".join(f"[{one}]" if one in "*?[]^\\" else one for one in start) + "*"
                for key in client.scan_iter(match=pattern, count=1000):
                    data = client.get(key)
                    if data is not None:
                        upload = uploads[kind, key.decode()[len(start) :]] = backend.upload()
                        stack.callback(upload.discard)
                        upload.write(data)
                    old.append(key)
            names = [name.decode() for name in client.smembers(f"{prefix}names")]
            versions = {name: client.hgetall(f"{prefix}version:{name}") for name in names}

            def action(documents: Documents) -> None:
                shelves = Shelves(documents)
                for (kind, digest), upload in uploads.items():
                    shelves.put_upload(kind, digest, upload)
                for name, found in versions.items():
                    for number, data in sorted((int(number), data) for number, data in found.items()):
                        shelves.import_version(name, number, data)

            backend.write(action)
        old += [f"{prefix}version:{name}" for name in names]
        old += [prefix + name for name in ("names", "collections", "collecting", _OLD_COUNTER)]
        for start_at in range(0, len(old), 1000):
            client.delete(*old[start_at : start_at + 1000])
