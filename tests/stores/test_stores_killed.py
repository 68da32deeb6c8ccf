"""Stores outlive writers that are killed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from made_snapshots import address, open_store

pytestmark = pytest.mark.slow

_WRITER = """
import sys, time
sys.path[:0] = sys.argv[3:]
from made_snapshots import make_snapshot, open_store
from planaria.storage.backends import logged
logged._FOLD = 50_000  # so that writers are killed while they fold, too
store = open_store(sys.argv[1], sys.argv[2])
print("ready", flush=True)
parent = None
number = 0
while True:
    number += 1
    parent = make_snapshot(number, parent=parent if number % 4 else None, shared=0)
    store.save("work", parent)
    print(number, parent.digest, flush=True)
    time.sleep(0.001)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL on this system")
@pytest.mark.parametrize("kind", ["file", "sqlite", "redis"])
def test_killed_writers(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Whenever a writer is killed, what it had saved can be loaded, while others write and collect all the
    time."""
    place = address(kind, request, tmp_path)
    store = open_store(kind, place)
    dice = random.Random(4)
    saved: set[str] = set()
    for _ in range(3):
        writers = [
            subprocess.Popen(
                [sys.executable, "-c", _WRITER, kind, place, str(Path(__file__).parent), *sys.path],
                stdout=subprocess.PIPE,
                text=True,
            )
            for _ in range(2)
        ]
        try:
            for writer in writers:
                assert writer.stdout is not None
                assert writer.stdout.readline() == "ready\n"
            until = time.monotonic() + dice.uniform(0.02, 0.2)
            while time.monotonic() < until:
                store.collect_garbage()
                time.sleep(0.005)
        finally:
            for writer in writers:
                os.kill(writer.pid, signal.SIGKILL)
        for writer in writers:
            reported = writer.communicate()[0]
            saved.update(
                line.split()[1] for line in reported.splitlines() if line.count(" ") == 1 and len(line) > 64
            )
    history = store.history("work")
    assert saved <= {one.digest for one in history}
    assert len({one.number for one in history}) == len(history)
    store.collect_garbage()
    for one in history:
        assert store.load("work", one.number).chain()[-1].digest == one.digest
    if kind == "file":
        assert not list(Path(place).rglob("*.partial"))
    store.delete("work")
    store.collect_garbage()
    assert store.collect_garbage().bytes == 0
    store.close()
