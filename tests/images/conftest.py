"""Images under names of their own, which are removed afterwards, and other caches."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import uuid
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import planaria
from planaria.images import registry
from planaria.runtime.cache import CompileCache
from planaria.runtime.compiler import tier_recipe
from planaria.runtime.tiers import Tier


@pytest.fixture
def new_name() -> Iterator[Callable[[], str]]:
    """A function that gives names of images, which are removed after the test."""
    made: list[str] = []

    def name() -> str:
        made.append(f"test-{uuid.uuid4().hex}")
        return made[-1]

    yield name
    for one in reversed(made):
        try:
            registry.unregister(one)
        except planaria.ImageError:
            pass


@pytest.fixture
def build(new_name: Callable[[], str]) -> Callable[..., planaria.Image]:
    """`Image.build` under a name of its own."""
    return lambda **arguments: planaria.Image.build(new_name(), **arguments)


@pytest.fixture
def elsewhere(tmp_path: Path) -> Callable[..., Any]:
    """Run source in a process with another cache and hash seed; gives what it prints as JSON.

    The compiled runtime is copied there: no test compiles it.
    """

    def run(source: str, *arguments: str, full: bool = False, seed: int = 1) -> Any:
        cache = tmp_path / f"cache-{seed}"
        if not cache.exists():
            cache.mkdir(mode=0o700)
            for tier in (Tier.CORE, Tier.FULL) if full else (Tier.CORE,):
                key = tier_recipe(tier).key
                if CompileCache().find(key) is None:
                    pytest.skip(f"the {tier.value} runtime is not compiled yet")
                for path in (CompileCache().module_path(key), CompileCache().record_path(key)):
                    shutil.copy2(path, cache)
        environment = {**os.environ, "PLANARIA_CACHE": str(cache), "PYTHONHASHSEED": str(seed)}
        done = subprocess.run(
            [sys.executable, "-c", source, *arguments], capture_output=True, text=True, env=environment
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


@pytest.fixture
def make_wheel(tmp_path: Path) -> Callable[..., Path]:
    """A function that writes a wheel with the given files; gives the directory of all wheels."""
    directory = tmp_path / "wheelhouse"
    directory.mkdir()

    def make(
        name: str,
        files: dict[str, str | bytes],
        *,
        version: str = "1.0",
        tags: str = "py3-none-any",
        needs: tuple[str, ...] = (),
    ) -> Path:
        information = f"{name}-{version}.dist-info"
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        metadata += "".join(f"Requires-Dist: {one}\n" for one in needs)
        with zipfile.ZipFile(directory / f"{name}-{version}-{tags}.whl", "w") as wheel:
            for path, contents in files.items():
                wheel.writestr(zipfile.ZipInfo(path), contents)
            wheel.writestr(zipfile.ZipInfo(f"{information}/METADATA"), metadata)
            wheel.writestr(
                zipfile.ZipInfo(f"{information}/WHEEL"),
                f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: {tags}\n",
            )
            wheel.writestr(zipfile.ZipInfo(f"{information}/RECORD"), "")
        return directory

    return make
