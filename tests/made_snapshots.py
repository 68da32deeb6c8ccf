"""Snapshots without a sandbox, and stores that other processes can open, for tests of where snapshots are
kept.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import planaria
from planaria.snapshot.chunks import chunk_sections
from planaria.snapshot.envelope import Section, canonical_json, pack
from planaria.snapshot.header import Header
from planaria.snapshot.pages import page_sections
from planaria.snapshot.record import Record
from planaria.snapshot.snapshot import Snapshot
from planaria.stores.store import Store


def make_snapshot(seed: int, *, pages: int = 6, parent: Snapshot | None = None, shared: int = 3) -> Snapshot:
    """A snapshot whose first `shared` regions of memory are the same for all seeds, the others its own."""
    contents = {}
    for region in range(pages):
        source = random.Random(region if region < shared else f"{seed} {region}")
        contents[region * 256] = source.randbytes(4096)
    header = Header(
        image="0" * 64,
        recipe={"preload": [], "artifact": "a", "guest": "b"},
        memory=pages << 20,
        count=seed,
        tier="core",
        parent=None if parent is None else parent.digest,
        callbacks={},
        mounts=(),
        versions={"planaria": "0"},
    )
    sections = [
        Section.of("state", Record({}, (), None, ()).encode()),
        Section.of("files", canonical_json({"format": "none"})),
        *page_sections(contents),
        *chunk_sections({}),
    ]
    return Snapshot(pack(header.to_json(), sections), parent=parent)


def address(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a store of this kind can be opened by any process."""
    if kind == "redis":
        return f"{request.getfixturevalue('redis_url')}?{tmp_path.name}"
    return str(tmp_path / "store")


def open_store(kind: str, place: str, *, grace: float = 2.0) -> Store:
    """Open a store from what `address` gave; one of objects waits `grace` seconds before it removes garbage."""
    if kind == "memory":
        return planaria.MemoryStore()
    if kind == "file":
        return planaria.FileStore(place)
    if kind == "sqlite":
        return planaria.SqliteStore(place)
    if kind == "objects":
        return planaria.ObjectStore("memory:///", grace=grace)
    url, _, prefix = place.partition("?")
    return planaria.RedisStore(url, prefix=f"{prefix}:")
