"""What becomes of a session whose cache is on a full disk."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from small_disk import FILLING, fill, small_disk

import planaria
from planaria.executors.interpreters import find_interpreter
from planaria.executors.virtualenv import _shared, guest_directory
from planaria.runtime import tiers
from planaria.runtime.cache import CompileCache
from planaria.runtime.compiler import Tier, compile_into, file_recipe, tier_recipe

_EMPTY_MODULE = b"\0asm\x01\0\0\0"
_ADVICE = "No space left on device; space is needed: free some, or set PLANARIA_CACHE"
_PROGRAM = """
import planaria
try:
    session = planaria.Session()
except planaria.RuntimeSetupError as error:
    print(error)
else:
    print(session.execute("print('printed'); 6 * 7").value)
"""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A directory on a filesystem of its own, with room for sixteen megabytes."""
    with small_disk(tmp_path / "disk", 16 << 20) as place:
        yield place


def names(cache: Path) -> set[str]:
    """What is there, without the locks, which are empty files."""
    return {str(one.relative_to(cache)) for one in cache.rglob("*") if one.suffix != ".lock"}


def outcome(cache: Path) -> str:
    """What a new process says that begins a session with this cache."""
    run = subprocess.run(
        [sys.executable, "-c", _PROGRAM],
        env={**os.environ, "PLANARIA_CACHE": str(cache), "PLANARIA_BACKGROUND_COMPILE": "0"},
        capture_output=True,
        text=True,
        check=True,
        timeout=240,
    )
    return run.stdout.strip()


@pytest.mark.slow
def test_sessions(tmp_path: Path) -> None:
    """Where there is no room for the image, the error says what to do and nothing is left behind; as soon as
    there is, sessions begin, and they do so when the disk is full again.
    """
    recipe, compiled = tier_recipe(Tier.CORE), CompileCache()
    tiers.ensure(recipe, compiled)
    module = compiled.module_path(recipe.key)
    with small_disk(tmp_path / "disk", module.stat().st_size + (80 << 20)) as place:
        cache = place / "cache"
        cache.mkdir(mode=0o700)
        for path in (module, compiled.record_path(recipe.key)):
            shutil.copy2(path, cache)
        before = names(cache)
        fill(place, 10 << 20)  # the image has some forty megabytes
        assert f"cannot be written: {_ADVICE}" in outcome(cache)
        assert names(cache) == before
        (place / FILLING).unlink()
        assert outcome(cache) == "42"
        kept = names(cache)
        fill(place)
        assert outcome(cache) == "42"
        assert names(cache) == kept


def test_compiled_modules(disk: Path) -> None:
    """A module that cannot be kept is an error that says what to do; nothing of it is left behind."""
    source = disk.parent / "empty.wasm"
    source.write_bytes(_EMPTY_MODULE)
    cache, recipe = CompileCache(disk / "cache"), file_recipe(source)
    for room in (0, 4096, 8192):
        fill(disk, room)
        with pytest.raises(planaria.RuntimeSetupError, match=r"no space is left in .* set PLANARIA_CACHE"):
            compile_into(cache, recipe)
        assert names(cache.directory) == set()
        assert cache.find(recipe.key) is None
    (disk / FILLING).unlink()
    compile_into(cache, recipe)
    assert cache.find(recipe.key) is not None


def test_records_that_cannot_be_written(disk: Path) -> None:
    """A module whose record cannot be written is not used."""
    cache = CompileCache(disk / "cache")
    cache.prepare()
    fill(disk, 8192)
    with pytest.raises(planaria.RuntimeSetupError, match="no space is left"), cache.create("key") as out:
        out.write(bytes(8192))
    assert cache.find("key") is None
    assert cache.record("key") is None
    assert not cache.partial_paths()
    (disk / FILLING).unlink()
    with cache.create("key") as out:
        out.write(bytes(8192))
    assert cache.find("key") is not None


@pytest.mark.parametrize("room", [0, 64 << 10])
def test_environments(disk: Path, monkeypatch: pytest.MonkeyPatch, room: int) -> None:
    """What a kernel in a process needs is an error that says what to do when it cannot be written, and
    is there once there is room.
    """
    monkeypatch.setenv("PLANARIA_CACHE", str(disk / "cache"))
    (disk / "cache").mkdir(mode=0o700)
    fill(disk, room)
    with pytest.raises(planaria.RuntimeSetupError, match=f"guest-.* cannot be written: {_ADVICE}"):
        guest_directory()
    assert names(disk / "cache") == set()
    (disk / FILLING).unlink()
    assert (guest_directory() / "planaria_kernel" / "protocol" / "__init__.py").exists()


def test_shared_environments(disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So it is with the environments that sessions share."""
    monkeypatch.setenv("PLANARIA_CACHE", str(disk / "cache"))
    (disk / "cache").mkdir(mode=0o700)
    fill(disk)
    interpreter = find_interpreter(None)
    with pytest.raises(planaria.RuntimeSetupError, match=f"environment-.* cannot be written: {_ADVICE}"):
        _shared(interpreter, [], 60)
    assert names(disk / "cache") == set()
    (disk / FILLING).unlink()
    directory = _shared(interpreter, [], 60)
    assert json.loads((directory / "planaria-ready.json").read_text())["requirements"] == []
