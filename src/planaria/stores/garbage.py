"""What no version of any name needs, and how it is removed."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from planaria.storage.documents import Documents
from planaria.stores.records import layers_of, read_record
from planaria.stores.shelves import Kind, Shelves, is_by_digest, is_version, place_of
from planaria.stores.versions import read_version, read_versions

__all__ = ["Garbage", "needed_layers", "sweep", "unneeded"]


@dataclass(frozen=True, slots=True)
class Garbage:
    """What `Store.collect_garbage` removed."""

    snapshots: int
    blobs: int
    bytes: int
    layers: int = 0
    """Images that were saved from sessions."""
    attachments: int = 0
    """Compiled runtimes and images that `planaria setup --to` has sent."""


def sweep(shelves: Shelves) -> Garbage:
    """Mark from the names, then remove what was not marked."""
    needed = _needed(shelves)
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


def needed_layers(shelves: Shelves) -> set[str]:
    """The digests of the images saved from sessions on which versions rest."""
    return _needed(shelves)["layer"]


def _needed(shelves: Shelves) -> dict[Kind, set[str]]:
    """What versions need, by digest."""
    records: set[str] = set()
    blobs: set[str] = set()
    layers: set[str] = set()
    pending = [version.kept_digest for name in shelves.names() for version in read_versions(shelves, name)]
    while pending:
        digest = pending.pop()
        if digest in records:
            continue
        records.add(digest)
        parent, parts = read_record(shelves.get("record", digest), digest)
        blobs.update(part for part in parts if isinstance(part, str))
        layers |= layers_of(parts)
        if parent is not None:
            pending.append(parent)
    return {"record": records, "blob": blobs, "layer": layers}


def unneeded(documents: Documents, paths: Collection[str]) -> list[str]:
    """Which of the contents at these paths no version among them needs.

    Versions that are elsewhere rest on what is elsewhere, too.
    """
    shelves = Shelves(documents)
    here = set(paths)
    needed: set[str] = set()
    pending = [
        read_version(path, 0, documents.fetch(path) or b"").kept_digest for path in paths if is_version(path)
    ]
    while pending:
        digest = pending.pop()
        place = place_of("record", digest)
        if place not in here or place in needed:
            continue
        parent, parts = read_record(shelves.get("record", digest), digest)
        needed.add(place)
        needed.update(place_of("blob", part) for part in parts if isinstance(part, str))
        needed.update(place_of("layer", one) for one in layers_of(parts))
        if parent is not None:
            pending.append(parent)
    return [path for path in paths if path not in needed and is_by_digest(path)]
