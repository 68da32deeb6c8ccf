"""Opening a store by its path or URL."""

from __future__ import annotations

from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from planaria.errors import StorageError
from planaria.stores.store import Store

__all__ = ["open_store"]


def open_store(place: str) -> Store:
    """The store at a path or URL.

    `./directory`, `file:///absolute/directory`, `sqlite:///relative.db` (`sqlite:////absolute.db`),
    `redis://host/0?prefix=planaria:` (also `rediss:` and `unix:`), `s3://bucket/prefix?region=…`
    (also `gs:` and `az:`, with the options of `ObjectStore`), and `memory:`. Raises StorageError for another
    one, and when it cannot be used.
    """
    if place == "memory:":
        from planaria.stores.memory import MemoryStore

        return MemoryStore()
    scheme, separator, _ = place.partition("://")
    url = urlsplit(place)
    path = unquote(url.path)
    if scheme in ("redis", "rediss", "unix") and separator:
        from planaria.stores.redis import RedisStore

        query = dict(parse_qsl(url.query))
        prefix = query.pop("prefix", "planaria:")
        address = place.partition("?")[0] + (f"?{urlencode(query)}" if query else "")
        try:
            return RedisStore(address, prefix=prefix)
        except (ImportError, ValueError) as error:
            raise StorageError(str(error)) from None
    if scheme in ("s3", "gs", "az") and separator:
        from planaria.stores.objects import ObjectStore

        try:
            return ObjectStore(place.partition("?")[0], options=dict(parse_qsl(url.query)))
        except (ImportError, ValueError) as error:
            raise StorageError(str(error)) from None
    if scheme == "sqlite" and separator:
        from planaria.stores.sqlite import SqliteStore

        path = path.removeprefix("/")
        if url.netloc or url.query or not path:
            raise StorageError(f"{place}: write sqlite:///relative.db or sqlite:////absolute.db")
        return SqliteStore(path)
    if separator and (scheme != "file" or url.netloc or url.query or not path):
        raise StorageError(
            f"{place}: a store is at a path, or at file:///…, sqlite:///…, redis://… or s3://…"
        )
    from planaria.stores.file import FileStore

    return FileStore(path if separator else place)
