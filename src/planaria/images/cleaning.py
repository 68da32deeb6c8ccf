"""What in the cache nothing of this installation needs: modules and images of other versions, leftovers."""

from __future__ import annotations

import shutil
import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from planaria.errors import ImageError
from planaria.executors.virtualenv import guest_place
from planaria.images import registry
from planaria.images.image import current
from planaria.machine.image import files_of_image, image_place
from planaria.machine.image_files import tree_path
from planaria.machine.recipe import Recipe
from planaria.runtime.cache import CompileCache
from planaria.runtime.compiler import tier_recipe
from planaria.runtime.tiers import Tier

__all__ = ["Unneeded", "remove_unneeded", "unneeded"]

_IMAGE: Final = "image-"
_TREE: Final = "tree-"
_GUEST: Final = "guest-"
#: Seconds after which an incomplete entry counts as abandoned by its writer.
_ABANDONED: Final = 3600


@dataclass(frozen=True, slots=True)
class Unneeded:
    """Something in the cache that can be removed."""

    kind: str
    """compiled module, image, files of images, guest (the code of kernels in processes) or leftover."""
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
    return found


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
    """Whether it was removed: not while its lock is held."""
    try:
        with _lock_of(one):
            if one.path.is_dir():
                shutil.rmtree(one.path)
            else:
                one.path.unlink()
                if one.kind == "compiled module":
                    for ending in (".json", ".log"):
                        one.path.with_suffix(ending).unlink(missing_ok=True)
    except (Timeout, FileNotFoundError):
        return False
    return True


def _lock_of(one: Unneeded) -> AbstractContextManager[object]:
    """What is held while the thing, or what will become it, is written. Raises Timeout."""
    if one.kind in ("files of images", "guest"):
        return nullcontext()
    name = one.path.name
    if one.kind == "leftover":
        name = name.partition(".")[0]
    return FileLock(one.path.with_name(name.removesuffix(".cwasm") + ".lock"), mode=0o600, timeout=0)
