"""`Store`: snapshots that are kept by name, over documents.

A snapshot is kept as a record: its bytes, with the larger sections replaced by the digests of blobs.
Snapshots that have regions of memory or files in common share those blobs. A name has versions, each the
digest of a snapshot; a record names its parent. What can be reached from names is kept, the rest is
garbage.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from planaria.errors import (
    ImageError,
    ProtocolError,
    SnapshotConflict,
    SnapshotCorrupt,
    SnapshotMismatch,
    SnapshotNotFound,
    SnapshotVersionError,
    StorageError,
)
from planaria.files.chunks import digest_of
from planaria.images.packing import pack_image, saved_layers, take_image
from planaria.limits import NOT_GIVEN, NotGiven
from planaria.machine.image import find_image
from planaria.machine.recipe import Recipe
from planaria.snapshot.envelope import Envelope
from planaria.snapshot.snapshot import Snapshot
from planaria.storage.documents import CHUNK, Backend, Documents, Upload
from planaria.stores.attachments import Attachments
from planaria.stores.leases import Leases, MemoryLeases
from planaria.stores.presence import Presence
from planaria.stores.shelves import Kind, Shelves, is_by_digest, is_version, place_of
from planaria_kernel.protocol import decode, encode

__all__ = ["Garbage", "Store", "Version", "check_name", "is_worth_a_delta", "unneeded"]

Result = TypeVar("Result")
#: Sections of fewer bytes are kept in the record itself.
_INLINE: Final = 1024
#: The same for deltas, whose sections few others share: each blob is a file that is flushed to the disk.
_INLINE_OF_DELTA: Final = 16 << 10
_MAX_NAME: Final = 150
_LARGEST_DELTA: Final = 64 << 10
#: Versions with longer notes are read again whenever all are asked for.
_SMALL_NOTE: Final = 4096


@dataclass(frozen=True, slots=True)
class Version:
    """One snapshot that was saved under a name."""

    number: int
    """Counts up; the newest has the greatest."""
    digest: str
    """Of the snapshot that was saved."""
    size: int
    """Of the same, in bytes."""
    saved_at: float
    """When, in seconds since 1970 by the clock of the host that saved it."""
    note: bytes = field(default=b"", repr=False)
    """The bytes that were saved beside it."""
    folded: str | None = field(default=None, compare=False)
    """The digest of the complete snapshot of the same state that has taken its place, if one has."""

    @property
    def kept_digest(self) -> str:
        """The digest of the snapshot that is loaded."""
        return self.folded or self.digest


@dataclass(frozen=True, slots=True)
class Garbage:
    """What `Store.collect_garbage` removed."""

    snapshots: int
    blobs: int
    bytes: int
    layers: int = 0
    """Images that were saved from sessions."""


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

        def action(shelves: Shelves, layers: Mapping[str, Upload]) -> int:
            numbers = shelves.numbers(name)
            if not isinstance(expected, NotGiven):
                newest = _version(shelves, name, numbers[-1]) if numbers else None
                if newest != expected:
                    raise SnapshotConflict(_conflict(name, expected, newest))
            _put(shelves, snapshot, layers)
            number = shelves.append(name, entry)
            if keep is not None:
                for old in numbers[: max(0, len(numbers) + 1 - max(1, keep))]:
                    shelves.forget(name, old)
            return number

        return Version(self._write_with_layers(action), snapshot.digest, len(snapshot), saved_at, note)

    def replace(self, name: str, version: Version, snapshot: Snapshot) -> bool:
        """Keep a complete snapshot in place of the delta that was saved as `version`, of the same state.

        So what is loaded rests on nothing else. The version stays: a caller that expects it finds it, and
        saves on top of it. False, and nothing is changed, when it is not the newest one of `name` any more.
        """
        check_name(name)
        entry = encode((version.digest, version.size, version.saved_at, version.note, snapshot.digest))

        def action(shelves: Shelves, layers: Mapping[str, Upload]) -> bool:
            numbers = shelves.numbers(name)
            if not numbers or _version(shelves, name, numbers[-1]) != version:
                return False
            _put(shelves, snapshot, layers)
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
                except _LayerMissing as missing:
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

        def action(shelves: Shelves) -> Version | None:
            numbers = shelves.numbers(name)
            return _version(shelves, name, numbers[-1]) if numbers else None

        return self._read(action)

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
                    found[name] = revision, _version(shelves, name, numbers[-1])
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
            versions = _versions(shelves, name)
            if not versions:
                raise SnapshotNotFound(f"there is no snapshot {name!r} in this store")
            if version is None:
                return _load(shelves, versions[-1].kept_digest)
            for one in reversed(versions):
                if version in (one.number, one.digest, one.folded):
                    return _load(shelves, one.kept_digest)
            known = ", ".join(str(one.number) for one in versions)
            raise SnapshotNotFound(f"{name!r} has no version {version!r}; there are: {known}")

        found = self._read(action)
        self.take_images(found)
        return found

    def keep_images(self, snapshot: Snapshot) -> None:
        """Keep what the snapshot's image cannot be made without elsewhere, images saved from sessions, also
        when no snapshot here rests on them: until someone drops the attachments.
        """
        for layer in _saved_layers(snapshot):
            name = _image_name(layer)
            if find_image(layer) is not None and not self.attachments.has("image", name):
                self.attachments.put("image", name, pack_image(layer))

    def take_images(self, snapshot: Snapshot) -> None:
        """Put images that the snapshot rests on, and that this computer lacks, into its cache. Raises
        SnapshotCorrupt for one that is damaged here.
        """
        for layer in _saved_layers(snapshot):
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
        return self.attachments.get("image", _image_name(recipe)) if data is None else data

    def list(self) -> list[str]:
        """The names, sorted."""
        return self._read(lambda shelves: sorted(shelves.names()))

    def history(self, name: str) -> Sequence[Version]:
        """The versions of a name, the oldest first. Raises SnapshotNotFound."""
        check_name(name)
        versions = self._read(lambda shelves: _versions(shelves, name))
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

    def collect_garbage(self) -> Garbage:
        """Remove what no version of any name needs, also as a parent's parent or as the image of a snapshot,
        and what killed writers left. What `planaria setup --to` has sent stays.

        Raises SnapshotCorrupt, or SnapshotVersionError for what a later version has written, and removes
        nothing, when a record that is needed cannot be read.
        """
        return self._write(_sweep)

    def close(self) -> None:
        """Release connections, where there are any; closing twice is harmless."""
        self.leases.close()
        self._backend.close()


def is_worth_a_delta(snapshot: Snapshot, base: Snapshot, *, times: int = 1) -> bool:
    """Whether what differs from a whole snapshot is small enough to be kept instead of another whole one:
    at most 64 KiB and half of it, or so many times that.
    """
    return len(snapshot) <= times * (_LARGEST_DELTA + len(base) // 2)


def _saved_layers(snapshot: Snapshot) -> Sequence[Recipe]:
    """The images saved from sessions that a snapshot's own rests on, the lowest first."""
    try:
        recipe = Recipe.from_json(snapshot.header.recipe)
    except ValueError:  # of another version, which restoring reports
        return []
    return list(saved_layers(recipe))[::-1]


def _image_name(recipe: Recipe) -> str:
    return f"saved-{recipe.saved}"


def check_name(name: str) -> None:
    if not isinstance(name, str):
        raise TypeError(f"a snapshot's name must be a str, not {type(name).__name__}")
    if not 0 < len(name) <= _MAX_NAME or "\0" in name or not name.isprintable():
        raise ValueError(f"{name[:60]!r} cannot name a snapshot: 1 to {_MAX_NAME} printable characters")


# -- records -------------------------------------------------------------------------------------------------

#: Bytes as they are, or a blob's digest.
_Part = bytes | str


class _LayerMissing(Exception):
    """A snapshot rests on an image that is at hand, but not in the store."""

    def __init__(self, recipe: Recipe, digest: str) -> None:
        super().__init__(digest)
        self.recipe = recipe
        self.digest = digest


def _put(shelves: Shelves, snapshot: Snapshot, layers: Mapping[str, Upload]) -> None:
    """Keep a snapshot and all that it rests on; `layers` are the images that were brought for it.

    Raises _LayerMissing for one that was not.
    """
    one: Snapshot | None = snapshot
    while one is not None and not shelves.has("record", one.digest):
        parts, blobs = _split(one)
        for digest, data in blobs.items():
            if not shelves.has("blob", digest):
                shelves.put("blob", digest, data)
        parent = one.header.parent
        if parent is not None and one.parent is None and not shelves.has("record", parent):
            raise SnapshotMismatch(
                f"snapshot {one.digest[:12]} is a delta of {parent[:12]}, which is not in this store: "
                "save that first"
            )
        if parent is None:  # a delta is of the same image as its parent
            _put_layers(shelves, one, layers)
        shelves.put("record", one.digest, encode((parent, parts)))
        one = one.parent


def _put_layers(shelves: Shelves, snapshot: Snapshot, layers: Mapping[str, Upload]) -> None:
    for recipe in _saved_layers(snapshot):
        digest = recipe.saved
        assert digest is not None
        if shelves.has("layer", digest):
            continue
        if digest in layers:
            shelves.put_upload("layer", digest, layers[digest])
        elif find_image(recipe) is not None:  # otherwise restoring reports that it is missing
            raise _LayerMissing(recipe, digest)


def _layers_of(parts: list[_Part]) -> set[str]:
    """The digests of the saved images that the snapshot of these parts rests on. Raises SnapshotCorrupt."""
    beginning = parts[0] if parts else b""
    if not isinstance(beginning, bytes):
        raise SnapshotCorrupt("a record of this store is damaged: it does not begin as a snapshot does")
    if b'"saved"' not in beginning:
        return set()
    try:
        recipe = Recipe.from_json(Envelope.header_of(beginning)["image"]["recipe"])
    except (KeyError, TypeError, ValueError) as error:
        raise SnapshotCorrupt(f"the image of a snapshot in this store cannot be read: {error}") from error
    return {layer.saved for layer in saved_layers(recipe) if layer.saved is not None}


def _split(snapshot: Snapshot) -> tuple[list[_Part], dict[str, bytes]]:
    data = bytes(snapshot)
    frames = [bytes(section.frame) for section in snapshot.container.sections]
    at = len(snapshot.container.body) - sum(map(len, frames))
    parts: list[_Part] = []
    blobs: dict[str, bytes] = {}
    most = _INLINE if snapshot.header.parent is None else _INLINE_OF_DELTA
    inline = 0  # where the bytes begin that are in no part yet
    for frame in frames:
        if len(frame) >= most:
            digest = digest_of(frame)
            blobs[digest] = frame
            if inline < at:
                parts.append(data[inline:at])
            parts.append(digest)
            inline = at + len(frame)
        at += len(frame)
    parts.append(data[inline:])
    return parts, blobs


def _read_record(data: bytes | None, digest: str) -> tuple[str | None, list[_Part]]:
    if data is None:
        raise SnapshotCorrupt(f"this store has lost snapshot {digest[:12]}")
    try:
        value = decode(data)
    except ProtocolError:
        value = None
    match value:
        case ((str() | None) as parent, list(parts)) if all(isinstance(part, (bytes, str)) for part in parts):
            return parent, parts
        case ((str() | None), list(), *_):
            raise SnapshotVersionError(_later(f"the record of snapshot {digest[:12]}"))
    raise SnapshotCorrupt(f"the record of snapshot {digest[:12]} in this store is damaged")


def _load(shelves: Shelves, digest: str) -> Snapshot:
    wanted: list[tuple[str, bytes]] = []
    seen: set[str] = set()
    following: str | None = digest
    while following is not None:
        if following in seen:
            raise SnapshotCorrupt(f"snapshot {following[:12]} in this store rests on itself")
        seen.add(following)
        parent, parts = _read_record(shelves.get("record", following), following)
        wanted.append((following, b"".join([_part(shelves, part) for part in parts])))
        following = parent
    snapshot: Snapshot | None = None
    for name, data in reversed(wanted):
        snapshot = Snapshot(data, parent=snapshot)
        if snapshot.digest != name:
            raise SnapshotCorrupt(f"this store has another snapshot under the name {name[:12]}")
    assert snapshot is not None
    return snapshot


def _part(shelves: Shelves, part: _Part) -> bytes:
    if isinstance(part, bytes):
        return part
    data = shelves.get("blob", part)
    if data is None:
        raise SnapshotCorrupt(f"this store has lost the blob {part[:12]}")
    return data


def _versions(shelves: Shelves, name: str) -> list[Version]:
    return [_read_version(name, number, data) for number, data in shelves.versions(name)]


def _version(shelves: Shelves, name: str, number: int) -> Version:
    return _read_version(name, number, shelves.version(name, number) or b"")


def _read_version(name: str, number: int, data: bytes) -> Version:
    try:
        value: Any = decode(data)
    except ProtocolError:
        value = None
    match value:
        case (str(digest), int(size), float(saved_at)):
            return Version(number, digest, size, saved_at)
        case (str(digest), int(size), float(saved_at), bytes(note)):
            return Version(number, digest, size, saved_at, note)
        case (str(digest), int(size), float(saved_at), bytes(note), str(folded)):
            return Version(number, digest, size, saved_at, note, folded)
        case (str(), int(), float(), bytes(), *_):
            raise SnapshotVersionError(_later(f"version {number} of {name!r}"))
    raise SnapshotCorrupt(f"version {number} of {name!r} in this store is damaged")


def _later(what: str) -> str:
    return (
        f"{what} in this store was written by a later version of planaria, in a way that this one does not "
        "know: update this one, or run the later version for the sessions of this store until all are updated"
    )


def _conflict(name: str, expected: Version | None, newest: Version | None) -> str:
    if expected is None:
        return f"{name!r} is in this store already"
    if newest is None:
        return f"{name!r} was deleted meanwhile: version {expected.number} is not in this store"
    return f"{name!r} was saved by another: its newest version is {newest.number}, not {expected.number}"


def _sweep(shelves: Shelves) -> Garbage:
    """Mark from the names, then remove what was not marked."""
    records: set[str] = set()
    blobs: set[str] = set()
    layers: set[str] = set()
    pending = [version.kept_digest for name in shelves.names() for version in _versions(shelves, name)]
    while pending:
        digest = pending.pop()
        if digest in records:
            continue
        records.add(digest)
        parent, parts = _read_record(shelves.get("record", digest), digest)
        blobs.update(part for part in parts if isinstance(part, str))
        layers |= _layers_of(parts)
        if parent is not None:
            pending.append(parent)
    needed: dict[Kind, set[str]] = {"record": records, "blob": blobs, "layer": layers}
    garbage = {
        kind: {digest: size for digest, size in shelves.sizes(kind).items() if digest not in digests}
        for kind, digests in needed.items()
    }
    for kind, found in garbage.items():
        for digest in found:
            shelves.remove(kind, digest)
    shelves.remove_partial()
    freed = sum(size for found in garbage.values() for size in found.values())
    return Garbage(len(garbage["record"]), len(garbage["blob"]), freed, len(garbage["layer"]))


def unneeded(documents: Documents, paths: Collection[str]) -> list[str]:
    """Which of the contents at these paths no version among them needs.

    Versions that are elsewhere rest on what is elsewhere, too.
    """
    shelves = Shelves(documents)
    here = set(paths)
    needed: set[str] = set()
    pending = [
        _read_version(path, 0, documents.fetch(path) or b"").kept_digest for path in paths if is_version(path)
    ]
    while pending:
        digest = pending.pop()
        place = place_of("record", digest)
        if place not in here or place in needed:
            continue
        parent, parts = _read_record(shelves.get("record", digest), digest)
        needed.add(place)
        needed.update(place_of("blob", part) for part in parts if isinstance(part, str))
        needed.update(place_of("layer", one) for one in _layers_of(parts))
        if parent is not None:
            pending.append(parent)
    return [path for path in paths if path not in needed and is_by_digest(path)]
