"""Leases of names, in each kind of store."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

import planaria
from planaria.errors import StorageError
from planaria.stores.bucket import open_bucket
from planaria.stores.bucket_leases import BucketLeases
from planaria.stores.file_leases import FileLeases
from planaria.stores.leases import ExpiringLeases
from planaria.stores.redis_leases import RedisLeases
from planaria.stores.store import Store

#: Seconds; longer than a test waits where it does not have to.
LONG = 60.0


def test_one_holder_at_a_time(store: Store) -> None:
    """A lease is another's only when it was released; names do not stand in each other's way."""
    leases = store.leases
    first = leases.acquire("a", "one")
    assert first is not None
    assert leases.acquire("a", "two") is None
    assert leases.is_held("a")
    assert not leases.is_held("b ä/")
    other = leases.acquire("b ä/", "two")
    assert other is not None
    first.release()
    assert not leases.is_held("a")
    second = leases.acquire("a", "two")
    assert second is not None
    first.release()
    assert leases.acquire("a", "one") is None
    second.release()
    other.release()


def test_a_lease_is_waited_for(store: Store) -> None:
    """Who waits has the lease as soon as the holder releases it."""
    first = store.leases.acquire("a", "one")
    assert first is not None
    got: list[Any] = []
    waiter = threading.Thread(target=lambda: got.append(store.leases.acquire("a", "two", wait=LONG)))
    waiter.start()
    waiter.join(0.05)
    assert got == []
    first.release()
    waiter.join()
    assert got[0] is not None
    got[0].release()


_HOLDER = """
import sys, time
from pathlib import Path
from planaria.stores.file_leases import FileLeases
lease = FileLeases(Path(sys.argv[1])).acquire("a", "one")
print("held" if lease else "not held", flush=True)
time.sleep(3600)
"""


def test_a_killed_process_holds_nothing(tmp_path: Path) -> None:
    """The system ends the leases in a directory or of an SQLite file with their process; other scopes are apart."""
    leases = FileLeases(tmp_path / "leases")
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(tmp_path / "leases")], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    assert leases.acquire("a", "two") is None
    assert FileLeases(tmp_path / "leases", "another").acquire("a", "two") is not None
    holder.kill()
    holder.communicate()
    assert leases.acquire("a", "two") is not None


@pytest.fixture(params=["redis", "objects"])
def new_leases(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], ExpiringLeases]]:
    """Leases of one place that last 1.5 s, as each of several processes has them."""
    with contextlib.ExitStack() as stack:
        place: Any
        if request.param == "redis":
            place = stack.enter_context(
                contextlib.closing(Redis.from_url(request.getfixturevalue("redis_url")))
            )
        else:
            place = stack.enter_context(contextlib.closing(open_bucket("memory:///", LONG, {})))

        def new() -> ExpiringLeases:
            leases: ExpiringLeases
            if request.param == "redis":
                leases = RedisLeases(place, f"{tmp_path.name}:", 1.5)
            else:
                leases = BucketLeases(place, 1.5)
            stack.callback(leases.close)
            return leases

        yield new


def test_a_lease_is_renewed_while_it_is_held(new_leases: Callable[[], ExpiringLeases]) -> None:
    """A holder that is heard of keeps its lease; one that is not loses it after its time."""
    first, second = new_leases(), new_leases()
    renewals: list[str] = []
    renewed = threading.Event()
    renew = first._renew

    def count(name: str, holder: str) -> bool:
        renewals.append(holder)
        if len(renewals) == 3:
            renewed.set()
        return renew(name, holder)

    first._renew = count  # type: ignore[method-assign]
    lease = first.acquire("a", "one")
    assert lease is not None
    assert renewed.wait(LONG) or lease.is_lost
    if not lease.is_lost:  # this machine may have been busy for longer than a lease lasts
        assert second.acquire("a", "two") is None
    first._renewed.clear()  # the holder is gone
    assert second.acquire("a", "two", wait=LONG) is not None


def test_a_step_that_is_sent_again_has_its_lease_at_once(new_leases: Callable[[], ExpiringLeases]) -> None:
    """The same holder need not wait for the end of a lease that it had elsewhere."""
    first, second = new_leases(), new_leases()
    assert first.acquire("a", "one") is not None
    first._renewed.clear()
    assert second.acquire("a", "one") is not None


def test_a_holder_learns_that_its_lease_was_lost(
    new_leases: Callable[[], ExpiringLeases], caplog: pytest.LogCaptureFixture
) -> None:
    """When a lease cannot be renewed, or is another's, its holder is called, and its release changes nothing."""

    def fail(name: str, holder: str) -> bool:
        raise StorageError("it is down")

    for name, renew in (("a", lambda name, holder: False), ("b", fail)):
        leases, lost = new_leases(), threading.Event()
        lease = leases.acquire(name, "one", on_lost=lost.set)
        leases._renew = renew  # type: ignore[method-assign]
        assert lease is not None
        assert lost.wait(LONG)
        assert lease.is_lost
        lease.release()
    assert "could not be renewed: it is down" in caplog.text


def test_a_lease_object_that_is_damaged() -> None:
    """An object with other contents than a lease is a StorageError that names it."""
    store = planaria.ObjectStore("memory:///")
    store._backend._bucket.put("lease/@a", b"?")  # type: ignore[attr-defined]
    with pytest.raises(StorageError, match="'lease/@a' of this store is damaged"):
        store.leases.acquire("a", "one")
