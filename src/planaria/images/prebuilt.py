"""The plain image in the package `planaria-native-core`, so that a fresh installation need not boot it.

It is a ZIP archive of what the cache has of an image, with its memory compressed by Zstandard. Its name is
the key of its recipe, which is another one for another build of the guest, or other code within.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import tempfile
import zipfile
from pathlib import Path
from typing import Final

import zstandard

from planaria.images.boot import boot_image
from planaria.machine.image import Image, find_image, image_lock, keep_image
from planaria.machine.memory import MemoryFile
from planaria.machine.recipe import Recipe
from planaria.runtime.cache import CompileCache
from planaria.runtime.compiler import Tier
from planaria.runtime.prebuilt import prebuilt_places
from planaria_kernel.protocol import decode, encode

__all__ = ["take_prebuilt_image", "write_image"]

_FACTS: Final = "image.json"
_SYSTEM: Final = "system"
_MEMORY: Final = "memory.zst"
_CHUNK: Final = 1 << 20

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
        "entry": image.entry,
        "settle": image.settle,
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
                return _take(recipe, path)
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
    with (
        zipfile.ZipFile(path) as archive,
        archive.open(_MEMORY) as packed,
        tempfile.TemporaryFile(dir=CompileCache().directory) as file,
    ):
        facts = json.loads(archive.read(_FACTS))
        digest = hashlib.sha256()
        for chunk in zstandard.ZstdDecompressor().read_to_iter(packed, _CHUNK, _CHUNK):
            file.write(chunk)
            digest.update(chunk)
        if digest.hexdigest() != facts["digest"]:
            raise ValueError("its memory has another digest")
        file.flush()
        return keep_image(
            recipe,
            MemoryFile(os.dup(file.fileno()), int(facts["size"])),
            entry=int(facts["entry"]),
            settle=int(facts["settle"]),
            system=decode(archive.read(_SYSTEM)),
            files=None,
            digest=digest.hexdigest(),
        )
