"""The names of images on this computer: a small file each in the cache, with the recipe and what it holds."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from planaria.errors import ImageError
from planaria.machine.image import Image, files_of_image, forget_image, image_place
from planaria.machine.image_files import tree_path
from planaria.machine.recipe import Recipe
from planaria.runtime.cache import CompileCache, cache_failure
from planaria.storage.atomic import write_atomically

__all__ = [
    "LOCK",
    "RegisteredImage",
    "changing",
    "check_name",
    "entries",
    "find_entry",
    "register",
    "unregister",
]

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_SUFFIX: Final = ".json"
#: The lock that is held while names change, of the cache.
LOCK: Final = "images"
#: So often an image is made that others remove meanwhile.
_ATTEMPTS: Final = 5


@dataclass(frozen=True, slots=True)
class RegisteredImage:
    """What is registered under a name."""

    name: str
    recipe: Recipe
    packages: tuple[str, ...]
    """The distributions that were put into it, as name==version, those of its base included."""
    created: int
    """When it was registered, in seconds since the epoch."""


def check_name(name: object) -> str:
    """Raises ImageError for what cannot name an image."""
    if not isinstance(name, str):
        raise TypeError(f"the name of an image must be a str, not {type(name).__name__}")
    if not _NAME.fullmatch(name):
        raise ImageError(
            f"{name!r} cannot name an image: a letter or digit, then at most 99 letters, digits, dots, "
            "hyphens and underscores"
        )
    return name


def _directory() -> Path:
    return CompileCache().directory / "images"


def changing() -> AbstractContextManager[bool]:
    """Held while names change and while what no name needs is removed."""
    CompileCache().prepare()
    return CompileCache().lock(LOCK)


def register(
    name: str, recipe: Recipe, make: Callable[[], Image], packages: tuple[str, ...] = ()
) -> tuple[RegisteredImage, Image]:
    """Give the image that `make` makes of a recipe a name, which may have meant another one before.

    Until it has the name, another process may remove it, or its files, with another name that needs them:
    then it is made again. Raises ImageError, and what `make` raises.
    """
    check_name(name)
    for _ in range(_ATTEMPTS):
        image = make()
        with changing():
            if image_place(recipe).exists() and all(tree_path(tree).exists() for tree in _trees(recipe)):
                return _register(name, recipe, packages), image
        forget_image(recipe)
    raise ImageError(f"the image {name!r} was removed {_ATTEMPTS} times while it was built: build it again")


def _register(name: str, recipe: Recipe, packages: tuple[str, ...]) -> RegisteredImage:
    """With the lock held."""
    entry = RegisteredImage(name, recipe, packages, int(time.time()))
    reported = {"recipe": recipe.to_json(), "packages": list(packages), "created": entry.created}
    directory = _directory()
    place = directory / f"{name}{_SUFFIX}"
    try:
        directory.mkdir(mode=0o700, exist_ok=True)
        write_atomically(place, (json.dumps(reported).encode(),))
    except OSError as error:
        raise cache_failure(place, "written", error) from error
    return entry


def find_entry(name: str) -> RegisteredImage:
    """Raises ImageError when there is none of that name, RuntimeSetupError when the cache cannot be read."""
    place = _directory() / f"{check_name(name)}{_SUFFIX}"
    try:
        return _read(name, json.loads(place.read_text("utf-8")))
    except FileNotFoundError:
        known = ", ".join(entry.name for entry in entries())
        raise ImageError(
            f"there is no image {name!r}; "
            + (
                f"there are {known}"
                if known
                else "make one with planaria.Image.build or `planaria image build`"
            )
        ) from None
    except OSError as error:
        raise cache_failure(place, "read", error) from error
    except (ValueError, TypeError, LookupError) as error:
        raise ImageError(f"the image {name!r} has invalid metadata ({error}); remove {place}") from error


def _read(name: str, reported: dict[str, Any]) -> RegisteredImage:
    packages = tuple(str(one) for one in reported["packages"])
    return RegisteredImage(name, Recipe.from_json(reported["recipe"]), packages, int(reported["created"]))


def entries() -> list[RegisteredImage]:
    """All that are registered, by name; damaged ones are left out.

    Raises RuntimeSetupError when the cache cannot be read.
    """
    found: list[RegisteredImage] = []
    try:
        files = os.listdir(_directory())
    except FileNotFoundError:
        return []
    except OSError as error:
        raise cache_failure(_directory(), "read", error) from error
    names = [file.removesuffix(_SUFFIX) for file in files if file.endswith(_SUFFIX) and file[0] != "."]
    for name in sorted(names):
        place = _directory() / f"{name}{_SUFFIX}"
        try:
            found.append(_read(name, json.loads(place.read_text("utf-8"))))
        except (ValueError, TypeError, LookupError, FileNotFoundError):
            continue
        except OSError as error:
            raise cache_failure(place, "read", error) from error
    return found


def unregister(name: str) -> None:
    """Take a name away, and from the cache what no other image needs.

    Raises ImageError when there is none.
    """
    entry = find_entry(name)
    with changing():
        (_directory() / f"{name}{_SUFFIX}").unlink(missing_ok=True)
        _sweep(entry.recipe)


def _sweep(recipe: Recipe) -> None:
    """Remove the layers of a recipe, and their files, that no name needs any more; plain images stay."""
    needed = {layer for entry in entries() for layer in entry.recipe.layers()}
    needed_trees = set().union(*map(_trees, needed)) if needed else set()
    for layer in recipe.layers():
        if layer in needed or layer.is_plain:
            continue
        trees = _trees(layer)
        forget_image(layer)
        for tree in trees - needed_trees:
            tree_path(tree).unlink(missing_ok=True)


def _trees(recipe: Recipe) -> set[str]:
    """The digests of the files that an image is made with and begins with."""
    return {digest for digest in (recipe.files, files_of_image(recipe)) if digest is not None}
