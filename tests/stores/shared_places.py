"""A place that stores in several processes share."""

from __future__ import annotations

from made_snapshots import make_snapshot

from planaria.stores.opening import open_store

__all__ = ["check_place"]


def check_place(place: str) -> None:
    """Assert that what one store at a URL has saved, another one finds and removes."""
    store, other = open_store(place), open_store(place)
    child = make_snapshot(2, parent=make_snapshot(1))
    version = store.save("run/17 ä", child, note=b"said")
    assert other.list() == ["run/17 ä"]
    assert other.newest("run/17 ä") == version
    assert other.load("run/17 ä").chain() == child.chain()
    other.delete("run/17 ä")
    assert store.list() == []
    store.close()
    other.close()
