"""An image that was saved from a session as bytes: for computers that cannot make it from its recipe.

It is a ZIP archive of the system's tables, the memory, and the file of the cache with the files that sessions
begin with. The image's name is the digest of them all, so what is taken is what was packed, or nothing.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Iterator
from typing import IO, Final

import zstandard

from planaria.errors import ImageError, ProtocolError, SnapshotError
from planaria.images.layers import base_of, image_of
from planaria.machine.image import Addresses, Image, find_image, image_lock, new_image
from planaria.machine.image_files import keep_tree, read_tree, tree_path
from planaria.machine.recipe import Recipe
from planaria.runtime.transfer import decompressed
from planaria_kernel.protocol import decode, encode

__all__ = ["pack_image", "saved_layers", "take_image"]

_SYSTEM: Final = "system"
_MEMORY: Final = "memory"
_FILES: Final = "files"
#: A memory of 32 bit addresses has no more bytes; its files are held to the same.
_MOST_BYTES: Final = 1 << 32
_LEVEL: Final = 3
_DAMAGED: Final = (zipfile.BadZipFile, zstandard.ZstdError, LookupError, TypeError, ValueError)


def saved_layers(recipe: Recipe) -> Iterator[Recipe]:
    """The images among the layers of a recipe that were saved from sessions."""
    return (layer for layer in recipe.layers() if layer.saved is not None)


def pack_image(recipe: Recipe) -> bytes:
    """The image of a recipe as bytes. Raises ImageError when it is not in the cache, RuntimeSetupError."""
    image = find_image(recipe)
    if image is None or image.files is None:
        raise ImageError(f"the image {(recipe.saved or '')[:12]} is not in the cache of this computer")
    packed = io.BytesIO()
    compressor = zstandard.ZstdCompressor(level=_LEVEL)
    with zipfile.ZipFile(packed, "w") as archive, image.memory.view() as memory:
        archive.writestr(_SYSTEM, compressor.compress(encode((image.system, image.files))))
        archive.writestr(_MEMORY, compressor.compress(memory))
        archive.writestr(_FILES, compressor.compress(tree_path(image.files).read_bytes()))
    return packed.getvalue()


def take_image(recipe: Recipe, data: bytes) -> Image:
    """Put an image that was packed into the cache. Raises ImageError when the bytes are not of this image,
    and RuntimeSetupError.
    """
    addresses = image_of(base_of(recipe)).addresses
    try:
        with image_lock(recipe):
            if (image := find_image(recipe)) is not None:  # another process has taken it meanwhile
                return image
            return _take(recipe, data, addresses)
    except (*_DAMAGED, ProtocolError, SnapshotError) as error:
        raise ImageError(f"the image {(recipe.saved or '')[:12]} arrived damaged: {error}") from error


def _take(recipe: Recipe, data: bytes, addresses: Addresses) -> Image:
    with zipfile.ZipFile(io.BytesIO(data)) as archive, new_image(recipe) as new:
        tables = b"".join(_unpacked(archive, _SYSTEM))
        digest = hashlib.sha256(tables)
        for chunk in _unpacked(archive, _MEMORY):
            digest.update(chunk)
            new.write(chunk)
        system, files = decode(tables)
        tree = read_tree(b"".join(_unpacked(archive, _FILES)), files)
        if digest.hexdigest() != recipe.saved:
            raise ValueError("its contents are those of another image")
        keep_tree(tree)
        return new.keep(addresses, system=system, files=files)


def _unpacked(archive: zipfile.ZipFile, name: str) -> Iterator[bytes]:
    """The contents of one part. Raises ValueError for more than there can be."""
    source: IO[bytes]
    size = 0
    with archive.open(name) as source:
        for chunk in decompressed(source):
            size += len(chunk)
            if size > _MOST_BYTES:
                raise ValueError(f"its {name} is larger than {_MOST_BYTES >> 30} GiB")
            yield bytes(chunk)
