"""All stores behave alike."""

from __future__ import annotations

import random
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_snapshots import make_snapshot
from shared_places import check_place

import planaria
from planaria.errors import SnapshotVersionError
from planaria.snapshot.snapshot import Snapshot
from planaria.stores.store import Store
from planaria.stores.versions import Version
from planaria_kernel.protocol import encode

pytestmark = pytest.mark.slow


def test_load_gives_what_was_saved(store: Store) -> None:
    """What is loaded has the very bytes that were saved."""
    snapshot = make_snapshot(1)
    store.save("order-17", snapshot)
    assert bytes(store.load("order-17")) == bytes(snapshot)


def test_bytes_of_a_snapshot(store: Store) -> None:
    """The bytes of a snapshot are kept as it is; anything else is a TypeError, and damage SnapshotCorrupt."""
    snapshot = make_snapshot(1)
    store.save("a", bytes(snapshot))
    assert store.load("a") == snapshot
    with pytest.raises(TypeError, match="must be bytes"):
        store.save("b", 5)  # type: ignore[arg-type]
    with pytest.raises(planaria.SnapshotCorrupt):
        store.save("b", b"nothing")
    assert list(store.list()) == ["a"]


def test_versions(store: Store) -> None:
    """Each save is a version: the newest is loaded unless another is asked for, by number or by digest."""
    first, second = make_snapshot(1), make_snapshot(2)
    store.save("x", first)
    store.save("x", second)
    assert [(one.number, one.digest, one.size) for one in store.history("x")] == [
        (1, first.digest, len(first)),
        (2, second.digest, len(second)),
    ]
    assert store.load("x") == second
    assert store.load("x", 1) == store.load("x", first.digest) == first


def test_replace(store: Store) -> None:
    """A complete snapshot takes the place of a delta: its version stays, and rests on nothing else any more."""
    root = make_snapshot(1)
    delta = make_snapshot(2, parent=root)
    version = store.save("x", delta, keep=1, note=b"beside")
    whole = make_snapshot(3)
    assert store.replace("x", version, whole)
    kept = store.newest("x")
    assert kept is not None
    assert (kept.digest, kept.kept_digest) == (delta.digest, whole.digest)
    assert kept == version
    assert kept.note == b"beside"
    store.collect_garbage()
    assert store.load("x") == store.load("x", delta.digest) == store.load("x", whole.digest) == whole
    assert store.load("x").parent is None
    following = store.save("x", make_snapshot(4), expected=version, keep=1)
    assert following.number == version.number + 1


def test_replace_what_is_not_the_newest(store: Store) -> None:
    """A version that has a successor, or was deleted and saved anew, is not replaced: nothing changes."""
    root, delta, whole = make_snapshot(1), make_snapshot(2, parent=make_snapshot(1)), make_snapshot(3)
    assert not store.replace("x", Version(1, delta.digest, 1, 0.0), whole)
    assert store.list() == []
    version = store.save("x", delta)
    following = store.save("x", root)
    assert not store.replace("x", version, whole)
    assert store.history("x") == [version, following]
    store.delete("x")
    again = store.save("x", delta)
    assert not store.replace("x", version, whole)
    assert store.newest("x") == again
    assert store.load("x") == delta


def test_newest_of_all(store: Store) -> None:
    """The newest versions of all names are those of each, whatever was asked for and saved before."""

    def check(*names: str) -> None:
        assert store.newest_of_all() == {name: store.newest(name) for name in names}

    check()
    store.save("b/c", make_snapshot(1), note=b"short")
    store.save("a" * 140, make_snapshot(1), note=b"long" * 5000)
    check("a" * 140, "b/c")
    store.save("b/c", make_snapshot(2), keep=1)
    store.save("a" * 140, make_snapshot(2), note=b"else")
    store.save("d", make_snapshot(1))
    check("a" * 140, "b/c", "d")
    store.delete("b/c")
    check("a" * 140, "d")
    store.collect_garbage()
    store.save("b/c", make_snapshot(3))
    check("a" * 140, "b/c", "d")


@pytest.mark.parametrize("scheme", ["file", "sqlite"])
def test_places_that_stores_share(scheme: str, tmp_path: Path) -> None:
    """What one store in a directory or a file saves and removes, another one there sees at once."""
    slash = "/" if scheme == "sqlite" else ""
    check_place(f"{scheme}://{slash}{tmp_path}/store")


def test_unknown(store: Store) -> None:
    """A name or a version that is not there is SnapshotNotFound, which is a LookupError, too."""
    store.save("x", make_snapshot(1))
    for ask in (
        lambda: store.load("y"),
        lambda: store.load("x", 2),
        lambda: store.history("y"),
        lambda: store.delete("y"),
    ):
        with pytest.raises(planaria.SnapshotNotFound):
            ask()
    assert issubclass(planaria.SnapshotNotFound, LookupError)


@pytest.mark.parametrize(
    "name",
    ["a/b", "../../etc/passwd", "..", ".", "CON", "A", "a", "ä ö", "%2e", "@", "~", "*?[x]", ":", "x" * 150],
)
def test_names_lead_nowhere(store: Store, name: str) -> None:
    """Any printable text is a name, and only a name."""
    store.save("other", make_snapshot(1))
    store.save(name, make_snapshot(2))
    assert store.list() == sorted(["other", name])
    assert store.load(name) == make_snapshot(2)
    assert store.load("other") == make_snapshot(1)


@pytest.mark.parametrize("name", ["", "a\0b", "a\nb", "x" * 151, "\ud800"])
def test_names_refused(store: Store, name: str) -> None:
    """An empty, unprintable or endless name is refused."""
    with pytest.raises(ValueError, match="cannot name a snapshot"):
        store.save(name, make_snapshot(1))


def test_deltas_bring_their_parents(store: Store) -> None:
    """Saving a delta saves all that it rests on; loading it brings that along."""
    root = make_snapshot(1)
    child = make_snapshot(2, parent=root)
    grandchild = make_snapshot(3, parent=child)
    store.save("x", grandchild)
    loaded = store.load("x")
    assert [one.digest for one in loaded.chain()] == [root.digest, child.digest, grandchild.digest]


def test_delta_without_parent(store: Store) -> None:
    """A delta whose parent is nowhere is refused, and nothing is kept of it; with the parent in the store
    it is not.
    """
    root = make_snapshot(1)
    child = Snapshot(bytes(make_snapshot(2, parent=root)))
    with pytest.raises(planaria.SnapshotMismatch, match="save that first"):
        store.save("x", child)
    assert store.list() == []
    store.save("root", root)
    store.save("x", child)
    assert store.load("x").parent == root


def test_garbage(store: Store) -> None:
    """What a child still needs survives the deletion of its parent; what is not needed is removed."""
    root = make_snapshot(1)
    child = make_snapshot(2, parent=root)
    store.save("root", root)
    store.save("child", child)
    store.save("alone", make_snapshot(3))
    store.delete("root")
    assert store.collect_garbage() == planaria.stores.store.Garbage(0, 0, 0)
    store.delete("alone")
    garbage = store.collect_garbage()
    assert garbage.snapshots == 1
    assert garbage.blobs == 3  # three regions of six are common to all
    assert garbage.bytes > 3 * 4096
    assert store.load("child").chain() == [root, child]
    store.delete("child")
    store.collect_garbage()
    assert store.list() == []
    assert store.collect_garbage() == planaria.stores.store.Garbage(0, 0, 0)


def test_keep(store: Store) -> None:
    """delete(keep=n) forgets all but the newest n versions, whose numbers stay."""
    for seed in range(5):
        store.save("x", make_snapshot(seed))
    store.delete("x", keep=2)
    assert [one.number for one in store.history("x")] == [4, 5]
    store.save("x", make_snapshot(9))
    assert [one.number for one in store.history("x")] == [4, 5, 6]


def test_shared_regions_are_kept_once(store: Store) -> None:
    """Many snapshots that have most of their memory in common take little more room than one."""
    for seed in range(10):
        store.save(f"n{seed}", make_snapshot(seed, pages=20, shared=19))
    for seed in range(10):
        store.delete(f"n{seed}")
    assert store.collect_garbage().blobs == 19 + 10


def test_threads(store: Store) -> None:
    """Threads that save, load and collect at once lose nothing."""
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for seed in range(6):
                mine = make_snapshot(100 * number + seed, parent=make_snapshot(number))
                store.save("shared", mine)
                store.save(f"own {number}", mine)
                assert store.load(f"own {number}") == mine
                if seed % 3 == 2:
                    store.collect_garbage()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert [one.number for one in store.history("shared")] == list(range(1, 25))
    for one in store.history("shared"):
        assert len(store.load("shared", one.number).chain()) == 2


def test_entries_of_a_later_version(store: Store) -> None:
    """What a later version has written in another way is refused with what to do, and nothing is removed."""
    saved = store.save("one", make_snapshot(1))
    entry = encode((saved.digest, saved.size, saved.saved_at, b"", None, "something new"))
    store._write(lambda shelves: shelves.replace("one", saved.number, entry))
    for action in (lambda: store.load("one"), lambda: store.newest("one"), store.collect_garbage):
        with pytest.raises(SnapshotVersionError, match="written by a later version of planaria"):
            action()
    good = encode((saved.digest, saved.size, saved.saved_at))
    record = encode((None, [b""], "something new"))
    store._write(lambda shelves: shelves.replace("one", saved.number, good))
    assert store.collect_garbage().snapshots == 0
    store._write(lambda shelves: shelves.put("record", saved.digest, record))
    for action in (lambda: store.load("one"), store.collect_garbage):
        with pytest.raises(SnapshotVersionError, match="written by a later version of planaria"):
            action()


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from("sdc"), st.integers(0, 3), st.integers(0, 5)), max_size=15))
def test_model(store: Store, steps: list[tuple[str, int, int]]) -> None:
    """Whatever is saved, deleted and collected, what a model of dictionaries has can be loaded, and nothing
    else.
    """
    for name in store.list():
        store.delete(name)
    model: dict[str, list[Snapshot]] = {}
    for step, place, seed in steps:
        name = f"name {place}"
        if step == "s":
            known = [one for versions in model.values() for one in versions]
            parent = random.Random(seed).choice(known) if known and seed % 2 else None
            snapshot = make_snapshot(seed, parent=parent)
            store.save(name, snapshot)
            model.setdefault(name, []).append(snapshot)
        elif step == "d" and name in model:
            store.delete(name)
            del model[name]
        elif step == "c":
            store.collect_garbage()
    store.collect_garbage()
    assert store.list() == sorted(model)
    for name, versions in model.items():
        loaded = [store.load(name, one.number) for one in store.history(name)]
        assert [one.chain() for one in loaded] == [one.chain() for one in versions]
