"""Everything that a session holds is there after a snapshot, also in another process."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from snapshot_kinds import FULL, KINDS

import planaria
from planaria.runtime.cache import cache_directory
from planaria.runtime.compiler import Tier, tier_recipe

pytestmark = pytest.mark.slow

_ALL = [*KINDS, *(pytest.param(name, marks=pytest.mark.full) for name in FULL)]

_CHILD = """
import sys
sys.path[:0] = sys.argv[2:]
import planaria
from snapshot_kinds import KINDS
session = planaria.Session.from_snapshot(planaria.Snapshot.load(sys.argv[1]), reseed=False)
for name, (_, question) in KINDS.items():
    print(name, repr(session.execute(question).value), sep="\\t")
print("count", session.execution_count, sep="\\t")
"""


@pytest.mark.parametrize("name", _ALL)
def test_kind(name: str) -> None:
    """A restored session answers as the one would that went on."""
    setup, question = {**KINDS, **FULL}[name]
    session = planaria.Session()
    session.execute(setup)
    snapshot = session.snapshot_state()
    other = planaria.Session.from_snapshot(bytes(snapshot), reseed=False)
    expected = session.execute(question).value
    assert other.execute(question).value == expected
    other.restore_state(snapshot, reseed=False)
    assert other.execute(question).value == expected


def test_another_process(tmp_path: Path) -> None:
    """A process with a cache, images and a hash seed of its own goes on with all of it."""
    session = planaria.Session()
    for setup, _ in KINDS.values():
        session.execute(setup)
    saved = tmp_path / "everything.planaria"
    session.snapshot_state().save(saved)
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o700)
    key = tier_recipe(Tier.CORE).key
    for place in (
        f"{key}.cwasm",
        f"{key}.json",
    ):  # compiled code is not state; compiling takes too long for a test
        if (cache_directory() / place).exists():
            shutil.copy(cache_directory() / place, cache)
    environment = {
        **os.environ,
        "PLANARIA_CACHE": str(cache),
        "PLANARIA_BACKGROUND_COMPILE": "0",
        "PYTHONHASHSEED": "12345",
    }
    command = [sys.executable, "-c", _CHILD, str(saved), str(Path(__file__).parent), *sys.path]
    child = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert child.returncode == 0, child.stderr
    answers = dict(line.split("\t") for line in child.stdout.splitlines())
    expected = {name: repr(session.execute(question).value) for name, (_, question) in KINDS.items()}
    assert answers == {**expected, "count": str(2 * len(KINDS))}
    assert list(cache.glob("image-*"))  # it was made there, and had the same digest
