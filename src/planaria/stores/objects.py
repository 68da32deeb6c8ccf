"""A store in S3, Google Cloud Storage or Azure Blob Storage, by conditional puts.

    blob/ab/DIGEST, record/ab/DIGEST    contents, which never change
    name/@NAME/versions                 all versions of a name; replaced only if it is what was read
    collection                          see `collection.py`
    lease/@NAME                         see `bucket_leases.py`

So a save is one conditional put, after the puts of what it rests on: of several that save a name at once the
first one succeeds, and the others begin again.
"""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any, Final, TypeVar

from planaria.errors import ProtocolError, SnapshotCorrupt, StorageError
from planaria.storage.documents import Backend, Documents, Entry, Revision, Upload, visible_folders
from planaria.storage.paths import folder_of
from planaria.stores.bucket import Bucket, Changed, Found, Tag, open_bucket
from planaria.stores.bucket_leases import BucketLeases
from planaria.stores.collection import PLACE, Collection
from planaria.stores.shelves import BY_DIGEST
from planaria.stores.store import Store
from planaria_kernel.protocol import decode, encode

__all__ = ["ObjectStore"]

Result = TypeVar("Result")

#: The object that has all documents of another folder.
_FOLDER: Final = "/versions"
#: How often a transaction begins again before it is abandoned.
_ATTEMPTS: Final = 100
#: How often a collection may overtake a transaction before it has collections wait.
_MOST_COLLECTED: Final = 3
#: Seconds between two attempts, at first and at most.
_PAUSE: Final = (0.005, 0.5)
#: A collection waits for so many times the time of a request.
_WAIT: Final = 3
#: Seconds after which a collection that was not ended is taken for one that was killed.
_GIVEN_UP: Final = 3600
#: Paths that are remembered to be there.
_MOST_KNOWN: Final = 100_000
#: Objects that are removed before a collection looks whether it is still its own.
_BATCH: Final = 1000


class ObjectStore(Store):
    """Keeps snapshots in a bucket: `s3://bucket/prefix`, `gs://…` or `az://…`. Needs the extra "objects".

    Args:
        url: the bucket, and what all paths begin with.
        timeout: seconds in which a request is answered, or has failed.
        grace: seconds that a collection of garbage waits for writers before it removes anything; three times
            the timeout unless given. It has to be longer than their requests take.
        options: those of obstore for the service, as strings: `endpoint`, `region` and so on. What is not
            given comes from the usual environment variables (`AWS_ACCESS_KEY_ID`).

    The service must support conditional puts, as S3, Google Cloud Storage, Azure, MinIO and R2 do. Raises
    ImportError without obstore and ValueError for another URL; the methods raise StorageError when the
    service cannot be reached.
    """

    def __init__(
        self,
        url: str,
        *,
        timeout: float = 20.0,
        grace: float | None = None,
        options: Mapping[str, str] | None = None,
    ) -> None:
        self._reopen = partial(ObjectStore, url, timeout=timeout, grace=grace, options=options)
        bucket = open_bucket(url, timeout, options or {})
        backend = _ObjectBackend(bucket, _WAIT * timeout if grace is None else grace)
        super().__init__(backend, BucketLeases(bucket))

    def __reduce__(self) -> tuple[Any, ...]:
        return self._reopen, ()


class _Overtaken(Exception):
    """Another writer was faster: the transaction has to begin again."""


class _Collected(_Overtaken):
    """A collection of garbage was."""


class _ObjectBackend(Backend):
    """A transaction changes the documents of one folder at most, beside those that are named by contents."""

    def __init__(self, bucket: Bucket, grace: float) -> None:
        self._bucket = bucket
        self._grace = grace
        #: Paths that were there in a generation of the collection.
        self._known: tuple[int, set[str]] = (-1, set())

    def read(self, action: Callable[[Documents], Result]) -> Result:
        while True:
            before = self._collection()[0]
            try:
                return action(_Objects(self._bucket, set()))
            except SnapshotCorrupt:
                # What is missing may have been removed after its name was read.
                if self._collection()[0].generation == before.generation:
                    raise

    def write(self, action: Callable[[Documents], Result]) -> Result:
        collected, collects = 0, False
        for attempt in range(_ATTEMPTS):
            if attempt:
                time.sleep(random.uniform(0, min(_PAUSE[0] * 2**attempt, _PAUSE[1])))
            try:
                with self._collections_waiting() if collected >= _MOST_COLLECTED else nullcontext():
                    before = self._collection()[0]
                    documents = _Objects(self._bucket, self._known_in(before))
                    result = action(documents)
                    doomed = frozenset(
                        path
                        for path, change in documents.changes.items()
                        if change is None and path.startswith(BY_DIGEST)
                    )
                    if not doomed:
                        documents.commit(partial(self._check, before, documents))
                        return result
                collects = True
                return self._collect(action, doomed)
            except _Collected:
                collected += not collects
            except _Overtaken:
                pass
        raise StorageError(
            "the object store is too busy: others changed the same name during each of "
            f"{_ATTEMPTS} attempts; try again"
        )

    def upload(self) -> Upload:
        return _Buffer()

    def close(self) -> None:
        self._bucket.close()

    # -- garbage -------------------------------------------------------------------------------------------

    def _collection(self) -> tuple[Collection, Tag | None]:
        """The state of the collection, and the tag of its object."""
        found = self._bucket.get(PLACE)
        return (Collection(), None) if found is None else (Collection.decode(found[0]), found[1])

    def _known_in(self, collection: Collection) -> set[str]:
        """The paths that are known to be there, as far as no collection removed some since."""
        generation, known = self._known
        if generation != collection.generation or len(known) > _MOST_KNOWN:
            known = set()
            self._known = collection.generation, known
        return known

    def _check(self, before: Collection, documents: _Objects) -> None:
        """Raise _Overtaken unless what the documents rest on stays."""
        now = self._collection()[0]
        if now.generation != before.generation:
            raise _Collected
        if now.is_active and not now.doomed.isdisjoint(documents.used):
            self._wait_for_end(now)
            raise _Collected

    def _wait_for_end(self, collection: Collection) -> None:
        """Wait for the end of a collection, unless that was killed."""
        while self._collection()[0].generation == collection.generation:
            entry = self._bucket.entry(PLACE)
            if entry is not None and time.time() - entry.modified > _GIVEN_UP:
                return
            time.sleep(_PAUSE[1])

    @contextmanager
    def _collections_waiting(self) -> Iterator[None]:
        """Have collections wait while a transaction is made. Raises _Collected when one has begun."""
        token = uuid.uuid4().hex
        state, tag = self._collection()
        if state.is_active:
            self._wait_for_end(state)
            state, tag = self._collection()
        try:
            self._bucket.put_if(PLACE, state.held(token).encode(), tag)
        except Changed:
            raise _Collected from None
        try:
            yield
        finally:
            self._end(token)

    def _end(self, token: str) -> None:
        """Write that what has this token is over, unless that was abandoned and is another's turn."""
        state, tag = self._collection()
        if state.token == token:
            self._bucket.put_if(PLACE, state.ended().encode(), tag)

    def _collect(self, action: Callable[[Documents], Result], doomed: frozenset[str]) -> Result:
        bucket, token = self._bucket, uuid.uuid4().hex
        state, tag = self._collection()
        if state.is_active:
            self._wait_for_end(state)
            if self._collection()[0].generation != state.generation:
                raise _Overtaken
        try:
            bucket.put_if(PLACE, state.begun(doomed, token).encode(), tag)
        except Changed:
            raise _Overtaken from None
        try:
            time.sleep(self._grace)
            # Only writers that saw the state could still have saved a name, and those need nothing of it.
            documents = _Objects(bucket, set(), only=doomed)
            result = action(documents)
            doomed = frozenset(path for path, change in documents.changes.items() if change is None)
            pending = sorted(path for path in doomed if path.startswith(BY_DIGEST))
            for start in range(0, len(pending), _BATCH):
                self._check_own(token)
                bucket.remove(pending[start : start + _BATCH])
        finally:
            self._end(token)
        return result

    def _check_own(self, token: str) -> None:
        if self._collection()[0].token != token:
            raise StorageError("this collection of garbage took so long that another one has begun")


class _Buffer(Upload):
    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def write(self, data: bytes) -> None:
        self._parts.append(data)
        self.size += len(data)

    def discard(self) -> None:
        self._parts.clear()

    def data(self) -> bytes:
        return b"".join(self._parts)


class _Objects(Documents):
    def __init__(self, bucket: Bucket, known: set[str], only: frozenset[str] | None = None) -> None:
        super().__init__()
        self._bucket = bucket
        #: What is there for certain among what is named by contents.
        self._known = known
        #: What listings by contents are limited to.
        self._only = only
        #: The paths by contents that were found to be there or were put.
        self.used: set[str] = set()
        #: The documents of the folders that were read, and the tags of their objects.
        self._folders: dict[str, tuple[dict[str, bytes], Tag | None]] = {}

    # -- reading -------------------------------------------------------------------------------------------

    def load(self, path: str) -> bytes | None:
        if path.startswith(BY_DIGEST):
            found = self._bucket.get(path)
            return None if found is None else found[0]
        folder, name = folder_of(path)
        return self._folder(folder).get(name)

    def entry(self, path: str) -> Entry | None:
        if path.startswith(BY_DIGEST):
            if path in self._known:
                self.used.add(path)
                return Entry(path, 0, 0.0)
            entry = self._bucket.entry(path)
            if entry is not None:
                self.used.add(path)
            return entry
        folder, name = folder_of(path)
        return self.entries(folder).get(name)

    def entries(self, folder: str) -> dict[str, Entry]:
        if f"{folder}/".startswith(BY_DIGEST):
            return {
                path.rpartition("/")[2]: entry
                for path, entry in self._bucket.listing(f"{folder}/").items()
                if self._only is None or path in self._only
            }
        return {name: Entry(data, len(data), 0.0) for name, data in self._folder(folder).items()}

    def folders(self, below: str) -> list[str]:
        paths = self._bucket.listing(f"{below}/")
        if f"{below}/" in BY_DIGEST:
            return sorted({folder_of(path)[0] for path in paths})
        folders = [path.removesuffix(_FOLDER) for path in paths]
        new = [folder for folder in folders if folder not in self._folders]
        objects = self._bucket.get_all(one + _FOLDER for one in new)
        self._folders |= {one: _read_folder(one, found) for one, found in zip(new, objects, strict=True)}
        return visible_folders(folders, below)

    def chunks(self, path: str) -> Iterator[bytes] | None:
        if path.startswith(BY_DIGEST):
            return self._bucket.chunks(path)
        data = self.load(path)
        return None if data is None else iter([data])

    def revision(self, folder: str) -> Revision:
        self._folder(folder)
        return Revision(self._folders[folder][1], is_complete=True)

    def _folder(self, folder: str) -> dict[str, bytes]:
        if folder not in self._folders:
            self._folders[folder] = _read_folder(folder, self._bucket.get(folder + _FOLDER))
        return self._folders[folder][0]

    # -- writing -------------------------------------------------------------------------------------------

    def commit(self, check: Callable[[], None]) -> None:
        """Carry the changes out; `check` is called before the last, which makes them visible.

        Raises _Overtaken when what was read is no longer so.
        """
        contents: dict[str, bytes] = {}
        changed: dict[str, dict[str, bytes | None]] = {}
        for path, change in self.changes.items():
            data = change.data() if isinstance(change, _Buffer) else change
            assert data is None or isinstance(data, bytes)
            if path.startswith(BY_DIGEST):
                assert data is not None
                contents[path] = data
            else:
                folder, name = folder_of(path)
                changed.setdefault(folder, {})[name] = data
        if len(changed) > 1:
            raise StorageError("an object store changes one name at a time")
        self._bucket.at_once(partial(self._bucket.put, path, data) for path, data in contents.items())
        self.used |= contents.keys()
        for folder, changes in changed.items():
            before = self._folder(folder)
            after = {name: data for name, data in {**before, **changes}.items() if data is not None}
            check()
            self._replace(folder, after)
        self._known |= self.used

    def _replace(self, folder: str, documents: dict[str, bytes]) -> None:
        place, expected = folder + _FOLDER, self._folders[folder][1]
        data = encode((uuid.uuid4().hex, documents))
        try:
            self._bucket.put_if(place, data, expected)
        except (Changed, StorageError) as error:
            # A put that was sent again, or whose answer was lost, may have been carried out.
            found = self._bucket.get(place)
            if found is not None and found[0] == data:
                return
            if isinstance(error, Changed):
                raise _Overtaken from None
            raise


def _read_folder(folder: str, found: Found | None) -> tuple[dict[str, bytes], Tag | None]:
    if found is None:
        return {}, None
    try:
        value = decode(found[0])
    except ProtocolError:
        value = None
    match value:
        case (str(), dict(documents)):
            return documents, found[1]
    raise SnapshotCorrupt(f"the versions in {folder} of this object store are damaged")
