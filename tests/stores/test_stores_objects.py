"""A store in an object store: a real S3 server, its failures, and writers beside collections of garbage."""

from __future__ import annotations

import pickle
import signal
import subprocess
import sys
import threading
from pathlib import Path
from urllib.parse import urlencode

import pytest
from made_snapshots import make_snapshot
from object_server import ObjectServer
from shared_places import check_place

import planaria
from planaria.stores.collection import PLACE, Collection
from planaria.stores.objects import ObjectStore
from planaria.stores.opening import open_store

pytestmark = pytest.mark.slow

_WRITER = """
import sys
sys.path[:0] = sys.argv[2:]
from made_snapshots import make_snapshot
from planaria.stores.opening import open_store
store = open_store(sys.argv[1])
for number in range(1, 100):
    print(store.save("work", make_snapshot(number, shared=0)).digest, flush=True)
"""


@pytest.fixture
def place(object_server: ObjectServer, tmp_path: Path) -> str:
    """The URL of an empty store."""
    return f"{object_server.bucket}/{tmp_path.parent.name}-{tmp_path.name}?{urlencode(object_server.options)}"


def test_s3(place: str, object_server: ObjectServer) -> None:
    """By a URL, any process finds what another has saved; garbage is removed."""
    collector = ObjectStore(place.partition("?")[0], grace=0.0, options=object_server.options)
    check_place(place, collector)
    collector.close()


def test_the_first_of_two_saves_succeeds(place: str) -> None:
    """Of two who save the successor of one version, also with other names kept beside it, one is refused."""
    stores = [open_store(place) for _ in range(2)]
    first = stores[0].save("x", make_snapshot(1))
    outcomes: list[object] = []

    def save(number: int) -> None:
        try:
            outcomes.append(stores[number].save("x", make_snapshot(number + 2), expected=first, keep=1))
        except planaria.SnapshotConflict as error:
            outcomes.append(error)

    threads = [threading.Thread(target=save, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    [saved] = [one for one in outcomes if not isinstance(one, Exception)]
    [refused] = [one for one in outcomes if isinstance(one, Exception)]
    assert str(refused) == "'x' was saved by another: its newest version is 2, not 1"
    assert stores[0].history("x") == [saved]
    for store in stores:
        store.close()


def test_a_killed_writer(place: str) -> None:
    """What a writer that is killed had saved can be loaded, and its remains are garbage."""
    writer = subprocess.Popen(
        [sys.executable, "-c", _WRITER, place, *sys.path], stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout is not None
    saved = [writer.stdout.readline().strip() for _ in range(3)]
    writer.send_signal(signal.SIGKILL)
    writer.communicate()
    store = open_store(place)
    assert [one.digest for one in store.history("work")][:3] == saved
    assert store.load("work", 3).digest == saved[2]
    store.close()


def test_no_server() -> None:
    """A server that cannot be reached is a StorageError that names the address and says what to check."""
    options = {"endpoint": "http://127.0.0.1:9", "access_key_id": "a", "secret_access_key": "b"}
    store = planaria.ObjectStore("s3://bucket/here", timeout=0.1, options=options)
    with pytest.raises(planaria.StorageError, match="the object store at s3://bucket/here cannot be used"):
        store.list()


def test_a_place_that_is_none() -> None:
    """Another scheme, or an option that obstore does not have, is refused by its name."""
    with pytest.raises(ValueError, match="an object store is at s3://"):
        planaria.ObjectStore("ftp://bucket")
    with pytest.raises(planaria.StorageError, match="colour"):
        open_store("s3://bucket?colour=red")


def test_pickling() -> None:
    """A store can be sent to another process, which opens it by the same address."""
    store = planaria.ObjectStore("s3://bucket/here", options={"region": "eu-west-1"})
    assert isinstance(pickle.loads(pickle.dumps(store)), planaria.ObjectStore)


def test_a_writer_waits_for_a_collection_of_what_it_needs() -> None:
    """A snapshot that rests on what is being removed is saved after that, whole."""
    store = planaria.ObjectStore("memory:///", grace=0)
    snapshot = make_snapshot(1)
    store.save("old", snapshot)
    store.delete("old")
    bucket = store._backend._bucket  # type: ignore[attr-defined]
    doomed = frozenset(path for path in bucket.listing("") if path.startswith(("blob/", "record/")))
    active = Collection().begun(doomed, "another")
    bucket.put(PLACE, active.encode())
    saving = threading.Thread(target=store.save, args=("new", snapshot))
    saving.start()
    while store._backend._known[0] != active.generation:  # type: ignore[attr-defined]
        saving.join(0.01)
    assert store.list() == []
    bucket.remove(doomed)
    bucket.put(PLACE, active.ended().encode())
    saving.join()
    assert store.load("new") == snapshot
    store.close()
