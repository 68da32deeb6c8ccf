"""A place that stores in several processes share."""

from __future__ import annotations

from made_snapshots import make_snapshot

from planaria.stores.opening import open_store
from planaria.stores.store import Store

__all__ = ["check_place"]


def check_place(place: str, collector: Store | None = None) -> None:
    """Assert that what one store at a URL has saved, another one finds and removes. Where collections of
    garbage wait for writers, a store of that place collects that does not.
    """
    store, other = open_store(place), open_store(place)
    child = make_snapshot(2, parent=make_snapshot(1))
    version = store.save("run/17 ä", child, note=b"said")
    assert other.list() == ["run/17 ä"]
    assert other.newest("run/17 ä") == version
    assert other.load("run/17 ä").chain() == child.chain()
    other.delete("run/17 ä")
    assert store.list() == []
    assert store.newest("run/17 ä") is None
    # Each knows what it saved last, and sees what the other one has saved since.
    newest = None
    for number, (one, another) in enumerate([(store, other), (other, store), (other, store)]):
        newest = one.save("x", make_snapshot(number), expected=newest, keep=1)
        assert one.newest("x") == another.newest("x") == newest
    store.save("x", make_snapshot(7))
    assert store.newest("x") != newest
    store.delete("x", keep=1)
    (collector or other).collect_garbage()
    assert store.newest("x") == other.newest("x") == store.history("x")[-1]
    other.delete("x")
    assert store.newest("x") is None
    store.close()
    other.close()
