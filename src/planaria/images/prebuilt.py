"""The plain image in the package `planaria-native-core`, so that a fresh installation need not boot it.

It is a ZIP archive of what the cache has of an image, with its memory compressed by Zstandard. Its name is
the key of its recipe, which is another one for another build of the guest, or other code within.
"""

from __future__ import annotations

import json
import logging
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Final

import zstandard

from planaria.images.boot import boot_image
from planaria.machine.image import Addresses, Image, find_image, image_lock, new_image
from planaria.machine.recipe import Recipe
from planaria.runtime.cache import CompileCache
from planaria.runtime.compiler import Tier
from planaria.runtime.prebuilt import prebuilt_places, take_prebuilt
from planaria.runtime.transfer import decompressed
from planaria_kernel.protocol import decode, encode

__all__ = ["take_prebuilt_image", "write_image"]

_FACTS: Final = "image.json"
_SYSTEM: Final = "system"
_MEMORY: Final = "memory.zst"

_log: Final = logging.getLogger("planaria.images")


def _name(recipe: Recipe) -> str:
    return f"{recipe.key}.image"


def write_image(recipe: Recipe, directory: Path, *, level: int) -> Path:
    """Write the image of a plain recipe to a file in a directory; returns its path.

    `level` is of Zstandard's compression. Raises RuntimeSetupError when it cannot be made.
    """
    with image_lock(recipe):
        image = find_image(recipe) or boot_image(recipe)
    path = directory / _name(recipe)
    facts = {
        "size": image.memory.size,
        "addresses": asdict(image.addresses),
        "digest": image.digest,
    }
    with zipfile.ZipFile(path, "w") as archive, image.memory.view() as memory:
        archive.writestr(_FACTS, json.dumps(facts))
        archive.writestr(_SYSTEM, encode(image.system))
        archive.writestr(_MEMORY, zstandard.ZstdCompressor(level=level, threads=-1).compress(memory))
    return path


def take_prebuilt_image(recipe: Recipe) -> Image | None:
    """Put the installed image of a recipe into the cache, whose lock the caller holds.

    None when it is not installed, or damaged, which a log record says. Raises RuntimeSetupError when the
    cache cannot be written.
    """
    for place in prebuilt_places(Tier.CORE):
        path = place / _name(recipe)
        if path.is_file():
            try:
                # Beside it, on a thread: the session that wants the one wants the other next.
                with ThreadPoolExecutor(1) as beside:
                    code = beside.submit(take_prebuilt, Tier.CORE, CompileCache())
                    image = _take(recipe, path)
                    code.result()
                return image
            except (
                OSError,
                zipfile.BadZipFile,
                zstandard.ZstdError,
                ValueError,
                KeyError,
                TypeError,
            ) as error:
                _log.warning("the installed image %s is not used: %r", path, error)
    return None


def _take(recipe: Recipe, path: Path) -> Image:
    with zipfile.ZipFile(path) as archive, archive.open(_MEMORY) as packed, new_image(recipe) as new:
        facts = json.loads(archive.read(_FACTS))
        for chunk in decompressed(packed):
            new.write(chunk)
        if new.digest != facts["digest"]:
            raise ValueError("its memory has another digest")
        system = decode(archive.read(_SYSTEM))
        addresses = Addresses(**{name: int(at) for name, at in facts["addresses"].items()})
        return new.keep(addresses, system=system, files=None)
