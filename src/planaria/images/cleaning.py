"""What in the cache nothing of this installation needs: modules and images of other versions, leftovers."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from planaria.errors import ImageError
from planaria.executors.virtualenv import guest_place
from planaria.file_locks import file_lock
from planaria.images import registry
from planaria.images.image import current
from planaria.machine.image import files_of_image, image_place
from planaria.machine.image_files import tree_path
from planaria.machine.recipe import Recipe
from planaria.runtime.artifact import artifact
from planaria.runtime.cache import CompileCache
from planaria.runtime.compiler import tier_recipe
from planaria.runtime.surveys import survey_path
from planaria.runtime.tiers import Tier

__all__ = ["Unneeded", "remove_unneeded", "unneeded"]

_IMAGE: Final = "image-"
_TREE: Final = "tree-"
_GUEST: Final = "guest-"
_SURVEY: Final = "build-"
_LOCK: Final = ".lock"
#: Endings of what lies beside a compiled module: its record, and the output of its compile.
_BESIDE_MODULES: Final = (".json", ".log")
#: Seconds after which an incomplete entry counts as abandoned by its writer.
_ABANDONED: Final = 3600


@dataclass(frozen=True, slots=True)
class Unneeded:
    """Something in the cache that can be removed."""

    kind: str
    """compiled module, image, files of images, guest (the code of kernels in processes), survey (of a
    build of the guest), lock (of something that is not there) or leftover.
    """
    path: Path
    """A file, or a folder."""
    size: int
    """Bytes on the disk."""


def unneeded() -> list[Unneeded]:
    """What is in the cache and not needed by this version of planaria, nor by an image that has a name.

    Another version that uses the same cache makes what it needs again; so do snapshots against images without
    a name. Raises RuntimeSetupError when the cache cannot be used.
    """
    cache = CompileCache()
    if not cache.directory.exists():
        return []
    cache.check()
    with registry.changing():
        return _found(cache)


def remove_unneeded() -> list[Unneeded]:
    """Remove it, except for what is in use; returns what was removed."""
    cache = CompileCache()
    if not cache.directory.exists():
        return []
    cache.check()
    with registry.changing():
        return [one for one in _found(cache) if _remove(one)]


def _found(cache: CompileCache) -> list[Unneeded]:
    directory = cache.directory
    guest = guest_place(cache).name
    keys = [tier_recipe(tier, metered=metered).key for tier in Tier for metered in (False, True)]
    modules = {cache.module_path(key) for key in keys}
    survey = survey_path(cache, artifact().digest)
    needed = _needed_recipes()
    places = {image_place(recipe) for recipe in needed}
    trees = {
        tree_path(digest)
        for recipe in needed
        for digest in (recipe.files, files_of_image(recipe))
        if digest is not None
    }
    found = [
        Unneeded("compiled module", path, _size(path))
        for path in (cache.module_path(key) for key in cache.module_keys())
        if path not in modules
    ]
    for path in sorted(directory.iterdir()):
        if path.name.endswith(".partial"):
            if time.time() - path.lstat().st_mtime > _ABANDONED:
                found.append(Unneeded("leftover", path, _size(path)))
        elif path.name.startswith(_IMAGE) and path.is_dir() and path not in places:
            found.append(Unneeded("image", path, _size(path)))
        elif path.name.startswith(_GUEST) and path.is_dir() and path.name != guest:
            found.append(Unneeded("guest", path, _size(path)))
        elif path.name.startswith(_TREE) and path not in trees:
            found.append(Unneeded("files of images", path, _size(path)))
        elif path.name.startswith(_SURVEY):
            if path != survey:
                found.append(Unneeded("survey", path, _size(path)))
        elif path.suffix in _BESIDE_MODULES and path.stem not in keys and not _is_in_use(path, cache):
            found.append(Unneeded("leftover", path, _size(path)))
        elif path.suffix == _LOCK and path.stem != registry.LOCK and not _is_in_use(path, cache):
            found.append(Unneeded("lock", path, _size(path)))
    return found


def _is_in_use(path: Path, cache: CompileCache) -> bool:
    """Whether what a file lies beside is there."""
    return path.with_suffix("").exists() or cache.module_path(path.stem).exists()


def _needed_recipes() -> set[Recipe]:
    needed = {Recipe()}
    for entry in registry.entries():
        try:
            needed.update(current(entry.recipe).layers())
        except ImageError:  # saved by another version, which may still be there
            pass
        # Its own files are what it is made again with.
        needed.update(layer for layer in entry.recipe.layers() if layer.saved is not None or layer.files)
    return needed


def _size(path: Path) -> int:
    files = [one for one in path.rglob("*") if one.is_file()] if path.is_dir() else [path]
    size = 0
    for file in files:
        try:
            status = file.lstat()
        except FileNotFoundError:
            continue
        size += status.st_blocks * 512 if hasattr(status, "st_blocks") else status.st_size
    return size


def _remove(one: Unneeded) -> bool:
    """Whether it was removed: not while its lock is held. Its lock goes, too."""
    try:
        with _lock_of(one) as lock:
            if lock is None:
                return False
            if one.path.is_dir():
                shutil.rmtree(one.path)
            else:
                one.path.unlink()
                if one.kind == "compiled module":
                    for ending in _BESIDE_MODULES:
                        one.path.with_suffix(ending).unlink(missing_ok=True)
            lock.unlink(missing_ok=True)
    except FileNotFoundError:
        return False
    return True


@contextmanager
def _lock_of(one: Unneeded) -> Iterator[Path | None]:
    """Hold the lock of a thing, or of what will become it; yields its path, None when another has it."""
    name = one.path.name.partition(".")[0]
    path = one.path.with_name(f"{name}{_LOCK}")
    with file_lock(path, timeout=0) as held:
        yield path if held else None
