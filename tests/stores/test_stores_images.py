"""Images that were saved from sessions, in stores: on a computer that lacks them, snapshots can be restored."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from planaria import FileStore, Image, SnapshotCorrupt

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
    data = store.attachments.get("image", f"saved-{digest}")
    assert data is not None
    store.attachments.put("image", f"saved-{digest}", data[:-200_000])
    monkeypatch.setattr("planaria.stores.store.find_image", lambda recipe: None)
    monkeypatch.setattr("planaria.images.packing.find_image", lambda recipe: None)
    with pytest.raises(SnapshotCorrupt, match="arrived damaged"):
        store.load("one")
