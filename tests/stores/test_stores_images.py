"""Images that were saved from sessions, in stores: on a computer that lacks them, snapshots can be restored."""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from planaria import FileStore, Image, SnapshotCorrupt
from planaria.stores.attachments import AttachmentKind
from planaria.stores.store import Store

pytestmark = pytest.mark.slow

#: What another computer does: its cache has the compiled runtime, but no image of that name.
ELSEWHERE = """
import sys, planaria
from planaria import FileStore, Session
with Session.from_snapshot(FileStore(sys.argv[1]).load("one")) as session:
    print(session.execute("x, y, open('a').read()").value, planaria.Image.list())
"""


def elsewhere(store: Path, cache: Path) -> str:
    here = Path(os.environ.get("PLANARIA_CACHE", Path.home() / ".cache" / "planaria"))
    cache.mkdir(mode=0o700)
    for one in here.glob("core-*"):
        shutil.copy(one, cache / one.name)
    run = subprocess.run(
        [sys.executable, "-c", ELSEWHERE, str(store)],
        env={**os.environ, "PLANARIA_CACHE": str(cache)},
        capture_output=True,
        text=True,
        check=True,
    )
    return run.stdout


@pytest.fixture
def saved(new_session: Any) -> Any:
    """A session that began with an image which was saved from another one."""
    name = f"stores-{os.getpid()}"
    session = new_session()
    session.execute("x = list(range(1000))\nopen('a', 'w').write('abc')")
    session.save_as_image(name)
    begun = new_session(image=name)
    begun.execute("x = sum(x)\ny = 1")
    yield begun
    Image.remove(name)


def test_a_saved_image_travels(saved: Any, tmp_path: Path) -> None:
    """A snapshot against a saved image is restored where there is no such image: the store has it by its digest."""
    store = FileStore(tmp_path / "store")
    store.save("one", saved.snapshot_state())
    store.save("two", saved.snapshot_state())
    assert elsewhere(tmp_path / "store", tmp_path / "cache") == "(499500, 1, 'abc') []\n"


def test_a_damaged_image(saved: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An image whose bytes are those of another one is not taken."""
    store = FileStore(tmp_path / "store")
    store.save("one", saved.snapshot_state())
    digest = store.load("one").header.recipe["saved"]
    place = next((tmp_path / "store").glob(f"layer/*/{digest}"))
    place.write_bytes(place.read_bytes()[:-200_000])
    monkeypatch.setattr("planaria.stores.store.find_image", lambda recipe: None)
    monkeypatch.setattr("planaria.images.packing.find_image", lambda recipe: None)
    with pytest.raises(SnapshotCorrupt, match="arrived damaged"):
        store.load("one")


def layers(store: Store) -> set[str]:
    """The digests of the images that snapshots of a store rest on."""
    return store._read(lambda shelves: set(shelves.sizes("layer")))


def test_garbage(saved: Any, store: Store) -> None:
    """An image is collected when no snapshot rests on it any more, and saving brings it again."""
    whole = saved.snapshot_state()
    saved.execute("y = 2")
    delta = saved.snapshot_state(parent=whole)
    digest = whole.header.recipe["saved"]
    store.save("one", whole)
    store.save("two", delta)
    assert layers(store) == {digest}
    store.delete("one")
    assert store.collect_garbage().layers == 0
    assert layers(store) == {digest}
    store.delete("two")
    garbage = store.collect_garbage()
    assert (garbage.snapshots, garbage.layers, layers(store)) == (2, 1, set())
    store.save("two", delta)
    assert layers(store) == {digest}
    assert store.load("two") == delta


def test_unused_attachments(store: Store) -> None:
    """What was sent is collected when it was not used for as long as is said; other attachments stay."""
    sent: list[tuple[AttachmentKind, str]] = [
        ("native", "core-1"),
        ("image", "travels"),
        ("image", "saved-abc"),
    ]
    for kind, name in (*sent, ("output", "one")):
        store.attachments.put(kind, name, b"contents of " + name.encode())
        store.attachments.note_use(kind, name)
    assert store.collect_garbage().attachments == 0
    assert store.collect_garbage(unused_for=3600).attachments == 0
    assert [store.attachments.has(kind, name) for kind, name in sent] == [True, True, True]
    assert store.attachments.drop_unused(math.inf, {"abc"})[0] == 2  # on the other one a snapshot rests
    assert [store.attachments.has(kind, name) for kind, name in sent] == [False, False, True]
    assert store.attachments.get("output", "one") == b"contents of one"


def test_use_of_attachments(tmp_path: Path) -> None:
    """What is used now is not taken for unused, however long ago it was sent."""
    store = FileStore(tmp_path / "store")
    for name in ("old", "used"):
        store.attachments.put("native", name, b"contents")
    store.collect_garbage()  # which makes files of what is in the log
    for place in (tmp_path / "store" / "native").glob("*/contents"):
        os.utime(place, (1, 1))
    for name in ("used", "missing"):
        store.attachments.note_use("native", name)
    assert store.collect_garbage(unused_for=3600).attachments == 1
    assert store.attachments.get("native", "used") == b"contents"
    assert not store.attachments.has("native", "old")
    assert not store.attachments.has("native", "missing")
    store.attachments.drop("native", "used")
    assert store.collect_garbage(unused_for=3600).attachments == 0
    with pytest.raises(ValueError, match="number of seconds"):
        store.collect_garbage(unused_for=-1)


def test_needed_images_of_earlier_versions(saved: Any, store: Store) -> None:
    """An image among the attachments on which a snapshot rests is not unused."""
    snapshot = saved.snapshot_state()
    store.save("one", snapshot)
    store.keep_images(snapshot)
    name = f"saved-{snapshot.header.recipe['saved']}"
    assert store.attachments.drop_unused(math.inf, layers(store)) == (0, 0)
    assert store.attachments.has("image", name)
    assert store.attachments.drop_unused(math.inf, set())[0] == 1


def test_garbage_while_others_save(saved: Any, store: Store) -> None:
    """A snapshot that is saved while others collect garbage has its image, whichever comes first."""
    snapshot = saved.snapshot_state()
    digest = snapshot.header.recipe["saved"]
    is_over = threading.Event()

    def collect() -> None:
        while not is_over.is_set():
            store.collect_garbage()

    collector = threading.Thread(target=collect)
    collector.start()
    try:
        for number in range(8):
            store.save(f"one-{number}", snapshot)
            assert digest in layers(store)
            store.delete(f"one-{number}")
    finally:
        is_over.set()
        collector.join()
    store.collect_garbage()
    assert layers(store) == set()


def test_images_of_earlier_versions(saved: Any, tmp_path: Path) -> None:
    """An image that an earlier version has kept among the attachments is found there."""
    store = FileStore(tmp_path / "store")
    snapshot = saved.snapshot_state()
    store.save("one", snapshot)
    store.keep_images(snapshot)
    shutil.rmtree(tmp_path / "store" / "layer")
    assert elsewhere(tmp_path / "store", tmp_path / "cache") == "(499500, 1, 'abc') []\n"
