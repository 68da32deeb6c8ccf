"""Snapshots without a sandbox, for tests of where they are kept."""

from __future__ import annotations

import random
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from planaria.snapshot.chunks import chunk_sections
from planaria.snapshot.container import Section, canonical_json, pack
from planaria.snapshot.header import Header
from planaria.snapshot.pages import page_sections
from planaria.snapshot.record import Record
from planaria.snapshot.snapshot import Snapshot
from planaria.stores.store import Store

MakeSnapshot = Callable[..., Snapshot]


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


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Redis of our own on a free port, in a temporary directory."""
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("redis-server is NOT INSTALLED: the Redis store is not tested (make redis)")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    directory = tmp_path_factory.mktemp("redis")
    server = subprocess.Popen(
        [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(directory)],
        stdout=subprocess.DEVNULL,
    )
    try:
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert server.poll() is None, "redis-server did not start"
            time.sleep(0.02)
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        server.terminate()
        server.wait(10)


@pytest.fixture(params=["memory", "file", "sqlite", "redis"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """One of each kind, empty."""
    kind = request.param
    opened = open_store(kind, address(kind, request, tmp_path))
    yield opened
    opened.close()


def address(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a store of this kind can be opened by any process."""
    if kind == "redis":
        return f"{request.getfixturevalue('redis_url')}?{tmp_path.name}"
    return str(tmp_path / "store")


def open_store(kind: str, place: str) -> Store:
    """Open a store from what `address` gave."""
    import planaria

    if kind == "memory":
        return planaria.MemoryStore()
    if kind == "file":
        return planaria.FileStore(place)
    if kind == "sqlite":
        return planaria.SqliteStore(place)
    url, _, prefix = place.partition("?")
    return planaria.RedisStore(url, prefix=f"{prefix}:")
