"""Removing from the cache what nothing needs; in caches of the tests' own."""

from __future__ import annotations

import gc
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

import planaria
from planaria.images import registry
from planaria.images.cleaning import remove_unneeded, unneeded
from planaria.images.layers import image_of
from planaria.machine.image import image_place
from planaria.machine.image_files import find_tree, tree_path
from planaria.machine.recipe import Recipe
from planaria.runtime.artifact import artifact
from planaria.runtime.cache import CompileCache
from planaria.runtime.compiler import tier_recipe
from planaria.runtime.surveys import survey_path
from planaria.runtime.tiers import Tier

pytestmark = pytest.mark.slow

OLD = Recipe(artifact="0" * 64, guest="1" * 64)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache that this process uses."""
    place = tmp_path / "cache"
    place.mkdir(mode=0o700)
    monkeypatch.setenv("PLANARIA_CACHE", str(place))
    return place


def make_image(recipe: Recipe, files: str | None = None) -> Path:
    """What looks like an image in the cache."""
    place = image_place(recipe)
    place.mkdir()
    (place / "memory").write_bytes(bytes(8192))
    (place / "image.json").write_text(json.dumps({"files": files}))
    return place


def make_file(path: Path, age: float = 0) -> Path:
    path.write_bytes(bytes(5000))
    os.utime(path, times=(time.time() - age,) * 2)
    return path


def test_what_is_needed_stays(cache: Path) -> None:
    """The runtime and images of this version stay, and what images with names are made of, with their files."""
    needed = [make_file(cache / f"{tier_recipe(tier).key}.cwasm") for tier in Tier]
    base = Recipe(setup="a = 1", files="a" * 64)
    named = Recipe(setup="b = 2", base=base)
    needed += [make_image(Recipe()), make_image(base, "b" * 64), make_image(named, "c" * 64)]
    needed += [make_file(tree_path(letter * 64)) for letter in "abc"]
    needed.append(make_file(cache / "core-x.1.partial"))  # another process may be writing it
    (cache / "environment-x").mkdir()
    registry.register("kept", named, lambda: None)  # type: ignore[arg-type,return-value]
    assert remove_unneeded() == []
    assert all(path.exists() for path in [*needed, cache / "environment-x"])


def test_what_is_not_needed_goes(cache: Path) -> None:
    """Modules, images and kernels of other versions, images without names, their files, and leftovers go."""
    gone = {
        "compiled module": make_file(cache / "core-00.cwasm"),
        "image": make_image(OLD, "d" * 64),
        "files of images": make_file(tree_path("d" * 64)),
        "leftover": make_file(cache / "core-00.7.partial", age=7200),
        "guest": cache / "guest-00",
    }
    gone["guest"].mkdir()
    beside = [make_file(cache / f"core-00{ending}") for ending in (".json", ".log", ".lock")]
    beside.append(make_file(cache / f"{gone['image'].name}.lock"))
    found = unneeded()
    assert {one.kind: one.path for one in found} == gone
    assert all(path.exists() for path in gone.values())
    assert sum(one.size for one in found) >= 5000
    assert remove_unneeded() == found
    assert not any(path.exists() for path in [*gone.values(), *beside])
    assert unneeded() == []


def test_what_lies_beside_something_that_is_gone(cache: Path) -> None:
    """Locks, records and logs of what is not there go, and surveys of other builds; those in use stay."""
    locks = [make_file(cache / f"{name}.lock") for name in ("core-00", "image-00", "environment-00")]
    others = [make_file(cache / name) for name in ("core-01.log", "core-02.json", "build-00.json")]
    (cache / "environment-01").mkdir()
    kept = [make_file(cache / "environment-01.lock"), survey_path(CompileCache(), artifact().digest)]
    kept += [make_file(cache / f"{tier_recipe(tier).key}.cwasm") for tier in Tier]
    kept += [
        make_file(path.with_suffix(ending)) for path in kept[2:] for ending in (".lock", ".json", ".log")
    ]
    make_file(kept[1])
    with FileLock(cache / "image-02.lock"):
        removed = remove_unneeded()
        assert {one.path for one in removed} == {*locks, *others}
        assert {one.kind for one in removed} == {"lock", "leftover", "survey"}
        assert (cache / "image-02.lock").exists()
    assert all(path.exists() for path in kept)
    assert [one.path for one in remove_unneeded()] == [cache / "image-02.lock"]


def test_what_is_being_made_stays(cache: Path) -> None:
    """Something whose lock is held is not removed."""
    image, module = make_image(OLD), make_file(cache / "core-00.cwasm")
    with FileLock(f"{image}.lock"), FileLock(cache / "core-00.lock"):
        assert remove_unneeded() == []
    assert image.exists()
    assert module.exists()


def test_no_cache_yet(cache: Path) -> None:
    """Where nothing was made yet there is nothing to remove."""
    cache.rmdir()
    assert (unneeded(), remove_unneeded()) == ([], [])


def test_an_image_whose_files_are_gone_is_made_again(
    build: Callable[..., planaria.Image], new_session: Any
) -> None:
    """An image in the cache without its files is not an image: building or finding it makes it again."""
    image = build(files={"f": "one"}, setup="x = open('f').read()")
    files = image.loaded.files
    assert files is not None
    tree_path(files).unlink()
    again = build(files={"f": "one"}, setup="x = open('f').read()")
    assert again.digest == image.digest
    assert new_session(image=again).run("x, open('f').read()").value == ("one", "one")


def test_files_that_are_removed_before_an_image_is_built(
    build: Callable[..., planaria.Image], new_name: Callable[[], str]
) -> None:
    """An image is built of the files at hand, also when another process removes them from the cache."""
    name = new_name()
    made = planaria.Image.build(name, files={"f": "one"}, setup="x = open('f').read()")
    digest = made.recipe.files
    assert digest is not None
    tree = find_tree(digest)
    assert tree is not None
    registry.unregister(name)
    gc.collect()  # sessions of other tests of this process, which share the tree
    assert find_tree(digest) is None
    assert image_of(made.recipe, trees={digest: tree}).digest == made.digest


def test_an_image_that_is_removed_while_it_is_built(new_name: Callable[[], str]) -> None:
    """What another process removes between being made and getting its name is made again."""
    made = planaria.Image.build(new_name(), setup="x = 1")
    rounds: list[int] = []

    def make() -> Any:
        rounds.append(1)
        image = planaria.Image.build(new_name(), setup="x = 1").loaded
        if len(rounds) == 1:
            tree_path(str(image.files)).unlink()
        return image

    entry, image = registry.register(new_name(), made.recipe, make)
    assert (len(rounds), entry.recipe, image.digest) == (2, made.recipe, made.digest)
    with pytest.raises(planaria.ImageError, match="removed 5 times"):
        registry.register(new_name(), OLD, make)
