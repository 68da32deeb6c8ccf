"""Snapshots as they are kept: a record each, with the larger sections as blobs beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from planaria.errors import ProtocolError, SnapshotCorrupt, SnapshotMismatch, SnapshotVersionError
from planaria.files.chunks import digest_of
from planaria.images.packing import saved_layers
from planaria.machine.image import find_image
from planaria.machine.recipe import Recipe
from planaria.snapshot.envelope import Envelope
from planaria.snapshot.snapshot import Snapshot
from planaria.storage.documents import Upload
from planaria.stores.shelves import Shelves
from planaria_kernel.protocol import decode, encode

__all__ = [
    "LayerMissing",
    "later_version",
    "layers_of",
    "load_snapshot",
    "put_snapshot",
    "read_record",
    "saved_layers_of",
]

#: Sections of fewer bytes are kept in the record itself.
_INLINE: Final = 1024
#: The same for deltas, whose sections few others share: each blob is a file that is flushed to the disk.
_INLINE_OF_DELTA: Final = 16 << 10

_Part = bytes | str


class LayerMissing(Exception):
    """A snapshot rests on an image that is at hand, but not in the store."""

    def __init__(self, recipe: Recipe, digest: str) -> None:
        super().__init__(digest)
        self.recipe = recipe
        self.digest = digest


def put_snapshot(shelves: Shelves, snapshot: Snapshot, layers: Mapping[str, Upload]) -> None:
    """Keep a snapshot and all that it rests on; `layers` are the images that were brought for it.

    Raises LayerMissing for one that was not.
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
    for recipe in saved_layers_of(snapshot):
        digest = recipe.saved
        assert digest is not None
        if shelves.has("layer", digest):
            continue
        if digest in layers:
            shelves.put_upload("layer", digest, layers[digest])
        elif find_image(recipe) is not None:  # otherwise restoring reports that it is missing
            raise LayerMissing(recipe, digest)


def layers_of(parts: list[_Part]) -> set[str]:
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


def read_record(data: bytes | None, digest: str) -> tuple[str | None, list[_Part]]:
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
            raise SnapshotVersionError(later_version(f"the record of snapshot {digest[:12]}"))
    raise SnapshotCorrupt(f"the record of snapshot {digest[:12]} in this store is damaged")


def load_snapshot(shelves: Shelves, digest: str) -> Snapshot:
    wanted: list[tuple[str, bytes]] = []
    seen: set[str] = set()
    following: str | None = digest
    while following is not None:
        if following in seen:
            raise SnapshotCorrupt(f"snapshot {following[:12]} in this store rests on itself")
        seen.add(following)
        parent, parts = read_record(shelves.get("record", following), following)
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


def saved_layers_of(snapshot: Snapshot) -> Sequence[Recipe]:
    """The images saved from sessions that a snapshot's own rests on, the lowest first."""
    try:
        recipe = Recipe.from_json(snapshot.header.recipe)
    except ValueError:  # of another version, which restoring reports
        return []
    return list(saved_layers(recipe))[::-1]


def later_version(what: str) -> str:
    return (
        f"{what} in this store was written by a later version of planaria, in a way that this one does not "
        "know: update this one, or run the later version for the sessions of this store until all are updated"
    )
