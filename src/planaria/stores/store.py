"""`Store`: snapshots that are kept by name, over documents.

A snapshot is kept as a record: its bytes, with the larger sections replaced by the digests of blobs.
Snapshots that have regions of memory or files in common share those blobs. A name has versions, each the
digest of a snapshot; a record names its parent. What can be reached from names is kept, the rest is
garbage.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final, TypeVar

from planaria.errors import (
    ImageError,
    SnapshotConflict,
    SnapshotCorrupt,
    SnapshotNotFound,
    StorageError,
)
from planaria.images.packing import pack_image, take_image
from planaria.limits import NOT_GIVEN, NotGiven
from planaria.machine.image import find_image
from planaria.machine.recipe import Recipe
from planaria.snapshot.snapshot import Snapshot
from planaria.storage.documents import CHUNK, Backend, Upload
from planaria.stores.attachments import Attachments, image_name
from planaria.stores.garbage import Garbage, needed_layers, sweep
from planaria.stores.leases import Leases, MemoryLeases
from planaria.stores.presence import Presence
from planaria.stores.records import LayerMissing, load_snapshot, put_snapshot, saved_layers_of
from planaria.stores.shelves import Shelves, folder_of_name
from planaria.stores.versions import KnownVersions, Version, find_version, read_versions
from planaria_kernel.protocol import encode

__all__ = ["Store", "check_name", "is_worth_a_delta"]

Result = TypeVar("Result")
_MAX_NAME: Final = 150
_LARGEST_DELTA: Final = 64 << 10
#: Versions with longer notes are read again whenever all are asked for.
_SMALL_NOTE: Final = 4096


class Store:
    """Snapshots by name, in any backend. One may be used from many threads and processes at once.

    Names are strings of 1 to 150 printable characters; slashes have no meaning. The methods
    raise StorageError when the place cannot be used.
    """

    def __init__(self, backend: Backend, leases: Leases | None = None) -> None:
        self._backend = backend
        self.leases = MemoryLeases() if leases is None else leases
        """Who may work on a name now; of no effect on what can be saved."""
        self.attachments = Attachments(backend)
        """What it keeps beside snapshots, for the machines that use it."""
        self.presence = Presence(backend)
        """Who works with this store."""
        #: The newest versions that were read for `newest_of_all`, with the revisions that they are of.
        self._known: dict[str, tuple[Hashable, Version]] = {}
        #: The newest versions that were read one by one or saved.
        self._newest = KnownVersions()

    def _read(self, action: Callable[[Shelves], Result]) -> Result:
        return self._backend.read(lambda documents: action(Shelves(documents)))

    def _write(self, action: Callable[[Shelves], Result]) -> Result:
        return self._backend.write(lambda documents: action(Shelves(documents)))

    # -- saving and loading ------------------------------------------------------------------------------

    def save(
        self,
        name: str,
        snapshot: Snapshot | bytes,
        *,
        expected: Version | NotGiven | None = NOT_GIVEN,
        keep: int | None = None,
        note: bytes = b"",
    ) -> Version:
        """Keep a snapshot as the newest version of `name`, with all that it rests on.

        Args:
            name: the name.
            snapshot: what to keep; or its bytes.
            expected: the version that has to be the newest one, None for a name that has to be new. Where
                another is, nothing is saved: of several that save at once, the first one succeeds.
            keep: how many versions to keep, with this one; all unless given.
            note: bytes to keep beside it, for `Version.note`.

        Raises SnapshotConflict for another version than the expected one, SnapshotMismatch when the snapshot
        is a delta whose parent is neither at hand nor in this store, ValueError for a name that cannot be.
        """
        check_name(name)
        if not isinstance(snapshot, Snapshot):
            snapshot = Snapshot(snapshot)
        saved_at = time.time()
        fields = (snapshot.digest, len(snapshot), saved_at)
        entry = encode((*fields, note) if note else fields)

        def action(shelves: Shelves, layers: Mapping[str, Upload]) -> Version:
            if isinstance(expected, NotGiven):
                numbers: Sequence[int] = shelves.numbers(name)
            else:
                newest, numbers = self._newest_of(shelves, name)
                if newest != expected:
                    raise SnapshotConflict(_conflict(name, expected, newest))
            put_snapshot(shelves, snapshot, layers)
            number = shelves.append(name, entry, numbers)
            dropped = 0 if keep is None else max(0, len(numbers) + 1 - max(1, keep))
            for old in numbers[:dropped]:
                shelves.forget(name, old)
            version = Version(number, snapshot.digest, len(snapshot), saved_at, note)
            kept = (*numbers[dropped:], number)
            shelves.when_written(lambda: self._newest.add(name, shelves.quick_revision(name), version, kept))
            return version

        return self._write_with_layers(action)

    def replace(self, name: str, version: Version, snapshot: Snapshot) -> bool:
        """Keep a complete snapshot in place of the delta that was saved as `version`, of the same state.

        So what is loaded rests on nothing else. The version stays: a caller that expects it finds it, and
        saves on top of it. False, and nothing is changed, when it is not the newest one of `name` any more.
        """
        check_name(name)
        entry = encode((version.digest, version.size, version.saved_at, version.note, snapshot.digest))

        def action(shelves: Shelves, layers: Mapping[str, Upload]) -> bool:
            if self._newest_of(shelves, name)[0] != version:
                return False
            put_snapshot(shelves, snapshot, layers)
            shelves.replace(name, version.number, entry)
            return True

        return self._write_with_layers(action)

    def _write_with_layers(self, action: Callable[[Shelves, Mapping[str, Upload]], Result]) -> Result:
        """Write what may rest on images that this store lacks: these are brought when they are asked for.

        They become visible with what rests on them, so no collection of garbage comes between.
        """
        uploads: dict[str, Upload] = {}
        try:
            while True:
                try:
                    return self._write(lambda shelves: action(shelves, uploads))
                except LayerMissing as missing:
                    upload = uploads[missing.digest] = self._backend.upload()
                    data = pack_image(missing.recipe)
                    for start in range(0, len(data), CHUNK):
                        upload.write(data[start : start + CHUNK])
        finally:
            for upload in uploads.values():
                with suppress(StorageError):  # what was adopted is not discarded
                    upload.discard()

    def newest(self, name: str) -> Version | None:
        """The newest version of a name; None for a name that is not there."""
        check_name(name)
        known = self._newest.find(name, self._backend.revision(folder_of_name(name)))
        return self._read(lambda shelves: self._newest_of(shelves, name)[0]) if known is None else known[0]

    def _newest_of(self, shelves: Shelves, name: str) -> tuple[Version | None, Sequence[int]]:
        """The newest version of a name, and the numbers of all."""
        revision = shelves.quick_revision(name)
        known = None if revision is None else self._newest.find(name, revision)
        if known is not None:
            return known
        numbers = shelves.numbers(name)
        if not numbers:
            return None, numbers
        version = find_version(shelves, name, numbers[-1])
        if revision is not None:
            self._newest.add(name, revision, version, numbers)
        return version, numbers

    def newest_of_all(self) -> dict[str, Version]:
        """The newest version of each name, sorted by name."""

        known = self._known

        def action(shelves: Shelves) -> dict[str, tuple[Hashable, Version]]:
            found = {}
            for name, revision in shelves.revisions():
                before = known.get(name)
                if before is not None and before[0] == revision:
                    found[name] = before
                elif numbers := shelves.numbers(name):
                    found[name] = revision, find_version(shelves, name, numbers[-1])
            return found

        found = self._read(action)
        self._known = {name: one for name, one in found.items() if len(one[1].note) <= _SMALL_NOTE}
        return {name: found[name][1] for name in sorted(found)}

    def load(self, name: str, version: int | str | None = None) -> Snapshot:
        """The newest snapshot of `name`, or a version by number or digest; a delta comes with its parents.

        Raises SnapshotNotFound, SnapshotCorrupt when the store is damaged, and SnapshotVersionError for what
        a later version of planaria has written in a way that this one does not know.
        """
        check_name(name)

        def action(shelves: Shelves) -> Snapshot:
            versions = read_versions(shelves, name)
            if not versions:
                raise SnapshotNotFound(f"there is no snapshot {name!r} in this store")
            if version is None:
                return load_snapshot(shelves, versions[-1].kept_digest)
            for one in reversed(versions):
                if version in (one.number, one.digest, one.folded):
                    return load_snapshot(shelves, one.kept_digest)
            known = ", ".join(str(one.number) for one in versions)
            raise SnapshotNotFound(f"{name!r} has no version {version!r}; there are: {known}")

        found = self._read(action)
        self.take_images(found)
        return found

    def keep_images(self, snapshot: Snapshot) -> None:
        """Keep what the snapshot's image cannot be made without elsewhere, images saved from sessions, also
        when no snapshot here rests on them: until they are not used (see `collect_garbage`).
        """
        for layer in saved_layers_of(snapshot):
            assert layer.saved is not None
            name = image_name(layer.saved)
            is_there = self.attachments.has("image", name)
            if not is_there and find_image(layer) is not None:
                self.attachments.put("image", name, pack_image(layer))
                is_there = True
            if is_there:
                self.attachments.note_use("image", name)

    def take_images(self, snapshot: Snapshot) -> None:
        """Put images that the snapshot rests on, and that this computer lacks, into its cache. Raises
        SnapshotCorrupt for one that is damaged here.
        """
        for layer in saved_layers_of(snapshot):
            if find_image(layer) is None:
                data = self._layer(layer)
                if data is None:
                    continue  # which restoring reports
                try:
                    take_image(layer, data)
                except ImageError as error:
                    raise SnapshotCorrupt(str(error)) from error

    def _layer(self, recipe: Recipe) -> bytes | None:
        digest = recipe.saved
        assert digest is not None
        data = self._read(lambda shelves: shelves.get("layer", digest))
        # Earlier versions kept all of them as attachments.
        return self.attachments.get("image", image_name(digest)) if data is None else data

    def list(self) -> list[str]:
        """The names, sorted."""
        return self._read(lambda shelves: sorted(shelves.names()))

    def history(self, name: str) -> Sequence[Version]:
        """The versions of a name, the oldest first. Raises SnapshotNotFound."""
        check_name(name)
        versions = self._read(lambda shelves: read_versions(shelves, name))
        if not versions:
            raise SnapshotNotFound(f"there is no snapshot {name!r} in this store")
        return versions

    def delete(self, name: str, *, keep: int = 0) -> None:
        """Forget a name, or all but its newest `keep` versions. Raises SnapshotNotFound.

        What other snapshots rest on stays; `collect_garbage` frees the space.
        """
        check_name(name)
        if isinstance(keep, bool) or not isinstance(keep, int) or keep < 0:
            raise ValueError(f"keep={keep!r}: must be a number of versions")

        def action(shelves: Shelves) -> None:
            numbers = shelves.numbers(name)
            if not numbers:
                raise SnapshotNotFound(f"there is no snapshot {name!r} in this store")
            for number in numbers[: len(numbers) - keep]:
                shelves.forget(name, number)

        self._write(action)

    def collect_garbage(self, *, unused_for: float | None = None) -> Garbage:
        """Remove what no version of any name needs, also as a parent's parent or as the image of a snapshot,
        and what killed writers left.

        What `planaria setup --to` has sent stays, unless `unused_for` is given: then that is removed, too,
        which was not sent or fetched for so many seconds. A computer that needs it later compiles it, and
        may send it again.

        Raises SnapshotCorrupt, or SnapshotVersionError for what a later version has written, and removes
        nothing, when a record that is needed cannot be read; ValueError for a time less than 0.
        """
        if unused_for is not None and not unused_for >= 0:
            raise ValueError(f"unused_for={unused_for!r}: must be a number of seconds, 0 or more")
        found = self._write(sweep)
        if unused_for is None:
            return found
        count, size = self.attachments.drop_unused(time.time() - unused_for, self._read(needed_layers))
        return replace(found, bytes=found.bytes + size, attachments=count)

    def close(self) -> None:
        """Release connections, where there are any; closing twice is harmless."""
        self.leases.close()
        self._backend.close()


def is_worth_a_delta(snapshot: Snapshot, base: Snapshot, *, times: int = 1) -> bool:
    """Whether what differs from a whole snapshot is small enough to be kept instead of another whole one:
    at most 64 KiB and half of it, or so many times that.
    """
    return len(snapshot) <= times * (_LARGEST_DELTA + len(base) // 2)


def check_name(name: str) -> None:
    if not isinstance(name, str):
        raise TypeError(f"a snapshot's name must be a str, not {type(name).__name__}")
    if not 0 < len(name) <= _MAX_NAME or "\0" in name or not name.isprintable():
        raise ValueError(f"{name[:60]!r} cannot name a snapshot: 1 to {_MAX_NAME} printable characters")


# -- records -------------------------------------------------------------------------------------------------


#: Bytes as they are, or a blob's digest.
def _conflict(name: str, expected: Version | None, newest: Version | None) -> str:
    if expected is None:
        return f"{name!r} is in this store already"
    if newest is None:
        return f"{name!r} was deleted meanwhile: version {expected.number} is not in this store"
    return f"{name!r} was saved by another: its newest version is {newest.number}, not {expected.number}"
