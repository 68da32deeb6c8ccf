"""Stores in Azure Blob Storage and in Google Cloud Storage, by servers that speak their protocols."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from cloud_servers import AzureServer, GoogleServer
from made_snapshots import make_snapshot
from shared_places import check_place

import planaria
from planaria.stores.objects import ObjectStore

pytestmark = pytest.mark.exhaustive


@pytest.fixture(scope="module", params=[AzureServer, GoogleServer], ids=["az", "gs"])
def server(request: pytest.FixtureRequest) -> Iterator[AzureServer | GoogleServer]:
    """One of each kind, with an empty bucket."""
    program = request.param.program()
    if program is None:
        pytest.skip(f"the server for {request.param.scheme}:// is not installed: run `make integrations`")
    with request.param(program) as running:
        yield running


@pytest.fixture
def store(server: AzureServer | GoogleServer, tmp_path: Path) -> Iterator[ObjectStore]:
    """An empty store of its own."""
    opened = ObjectStore(f"{server.bucket}/{tmp_path.name}", grace=0.0, options=server.options)
    yield opened
    opened.close()


def test_by_url(server: AzureServer | GoogleServer, store: ObjectStore, tmp_path: Path) -> None:
    """By a URL with the address of a server, any process finds what another has saved."""
    place = f"{server.bucket}/{tmp_path.name}?{urlencode(server.options)}"
    check_place(place, store)


def test_what_is_expected(store: ObjectStore) -> None:
    """A name is saved only where it is new, or has the version that is expected."""
    first = store.save("x", make_snapshot(1), expected=None)
    with pytest.raises(planaria.SnapshotConflict, match="is in this store already"):
        store.save("x", make_snapshot(2), expected=None)
    second = store.save("x", make_snapshot(2), expected=first)
    with pytest.raises(planaria.SnapshotConflict, match="its newest version is 2, not 1"):
        store.save("x", make_snapshot(3), expected=first)
    assert store.history("x") == [first, second]


def test_the_first_of_many_saves_succeeds(store: ObjectStore) -> None:
    """Of many that save the successor of one version at once, one succeeds."""
    first = store.save("x", make_snapshot(1))
    saved: list[object] = []

    def save(number: int) -> None:
        try:
            saved.append(store.save("x", make_snapshot(number), expected=first))
        except planaria.SnapshotConflict:
            pass

    threads = [threading.Thread(target=save, args=(number,)) for number in range(2, 10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(saved) == 1
    assert store.history("x") == [first, *saved]


def test_garbage(store: ObjectStore) -> None:
    """What no version needs is removed, also after a delta was replaced by a complete snapshot."""
    version = store.save("x", make_snapshot(2, parent=make_snapshot(1)))
    assert store.replace("x", version, make_snapshot(3))
    assert store.collect_garbage().snapshots == 2
    assert store.load("x") == make_snapshot(3)
    assert store.collect_garbage().snapshots == 0


def test_leases(store: ObjectStore) -> None:
    """One holder at a time has the lease of a name."""
    lease = store.leases.acquire("x", "first")
    assert lease is not None
    assert store.leases.is_held("x")
    assert store.leases.acquire("x", "second") is None
    lease.release()
    assert not store.leases.is_held("x")
    assert store.leases.acquire("x", "second") is not None
