"""A part of a bucket: objects at paths, with conditional puts.

Those are by ETags (RFC 9110, If-Match and If-None-Match), in Google Cloud Storage by generations of objects.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar

from planaria.errors import StorageError
from planaria.storage.documents import Entry

__all__ = ["Bucket", "Changed", "Found", "Tag", "open_bucket"]

T = TypeVar("T")

#: Requests at once.
_CONNECTIONS: Final = 16
#: The options that name a server, in place of the service's own.
_ADDRESSES: Final = ("endpoint", "base_url")
_SCHEMES: Final = ("s3", "gs", "az", "memory")


class Tag(NamedTuple):
    """What an object is recognised by: it has another one after each put."""

    e_tag: str
    generation: str | None
    """Where the service has them."""

    @classmethod
    def of(cls, meta: Any) -> Tag:
        return cls(meta["e_tag"] or "", meta.get("version"))

    def condition(self) -> dict[str, str]:
        """As obstore has it."""
        generation = {} if self.generation is None else {"version": self.generation}
        return {"e_tag": self.e_tag, **generation}


#: Contents of an object, and what it is recognised by.
Found = tuple[bytes, Tag]


class Changed(Exception):
    """An object is not the one that a conditional put expects."""


def open_bucket(url: str, timeout: float, options: Mapping[str, str]) -> Bucket:
    """The bucket at a URL such as `s3://bucket/prefix`; `options` are those of obstore, as strings.
    `memory:///` is an empty one in memory, for tests.

    Raises ImportError, and ValueError for another URL or option.
    """
    scheme = url.partition("://")[0]
    if scheme not in _SCHEMES:
        raise ValueError(f"{url}: an object store is at s3://…, gs://… or az://…")
    try:
        from obstore.exceptions import BaseError
        from obstore.store import from_url
    except ImportError as error:
        raise ImportError("ObjectStore needs the package obstore: pip install 'planaria[objects]'") from error
    client = {
        "timeout": timedelta(seconds=timeout),
        "allow_http": any(options.get(one, "").startswith("http:") for one in _ADDRESSES),
    }
    retries = {"retry_timeout": timedelta(seconds=timeout)}
    try:
        store = from_url(url, client_options=client, retry_config=retries, **options)  # type: ignore[call-overload]
    except (BaseError, TypeError, ValueError) as error:
        raise ValueError(f"{url}: {_first_line(error)}") from None
    return Bucket(store, url)


class Bucket:
    """The objects of an obstore store. Methods raise StorageError where it cannot be used."""

    def __init__(self, store: Any, name: str) -> None:
        self._store = store
        self._name = name
        self._threads = ThreadPoolExecutor(_CONNECTIONS, thread_name_prefix="planaria-objects")

    def get(self, path: str) -> Found | None:
        """An object; None when there is none."""
        import obstore

        with self._failures():
            try:
                found = obstore.get(self._store, path)
                return bytes(found.bytes()), Tag.of(found.meta)
            except FileNotFoundError:
                return None

    def entry(self, path: str) -> Entry | None:
        """What is known of an object without its contents."""
        import obstore

        with self._failures():
            try:
                return _entry(obstore.head(self._store, path))
            except FileNotFoundError:
                return None

    def chunks(self, path: str) -> Iterator[bytes] | None:
        """The contents of an object as they come."""
        import obstore

        with self._failures():
            try:
                found = obstore.get(self._store, path)
            except FileNotFoundError:
                return None
        return self._read_on(iter(found.stream()))

    def _read_on(self, stream: Iterator[Any]) -> Iterator[bytes]:
        while True:
            with self._failures():
                chunk = next(stream, None)
            if chunk is None:
                return
            yield bytes(chunk)

    def put(self, path: str, data: bytes) -> None:
        """Write an object, whatever is there."""
        import obstore

        with self._failures():
            obstore.put(self._store, path, data)

    def put_if(self, path: str, data: bytes, expected: Tag | None) -> Tag:
        """Write an object that has the expected tag, or where None is expected, that is not there.

        Returns its new tag. Raises Changed for another one.
        """
        import obstore
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        mode: Any = "create" if expected is None else expected.condition()
        with self._failures():
            try:
                return Tag.of(obstore.put(self._store, path, data, mode=mode))
            except (AlreadyExistsError, PreconditionError, FileNotFoundError):
                raise Changed(path) from None

    def listing(self, prefix: str) -> dict[str, Entry]:
        """All objects below a prefix, by path."""
        import obstore

        with self._failures():
            return {one["path"]: _entry(one) for batch in obstore.list(self._store, prefix) for one in batch}

    def remove(self, paths: Iterable[str]) -> None:
        """Remove objects, if they are there."""
        import obstore

        with self._failures():
            obstore.delete(self._store, list(paths))

    def at_once(self, calls: Iterable[Callable[[], T]]) -> list[T]:
        """Make calls side by side; what they returned, in order."""
        return list(self._threads.map(lambda call: call(), calls))

    def get_all(self, paths: Iterable[str]) -> list[Found | None]:
        """Many objects, fetched side by side."""
        return self.at_once(partial(self.get, path) for path in paths)

    def close(self) -> None:
        """End the threads; closing twice is harmless."""
        self._threads.shutdown()

    @contextlib.contextmanager
    def _failures(self) -> Iterator[None]:
        from obstore.exceptions import BaseError

        try:
            yield
        except (BaseError, OSError) as error:
            raise StorageError(
                f"the object store at {self._name} cannot be used: {_first_line(error)} (check the address, "
                "the credentials and that the server can be reached, and try again)"
            ) from error


def _entry(meta: Any) -> Entry:
    return Entry(meta["e_tag"], meta["size"], meta["last_modified"].timestamp())


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0]
