"""Images: the memory that sessions start from, as files in the cache that every session maps copy-on-write.

Here they are found, kept and removed; `planaria.images` builds them.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, Final

from filelock import FileLock

from planaria.errors import ProtocolError, RuntimeSetupError
from planaria.files.memory import MemorySnapshot
from planaria.machine.heap import first_chunk
from planaria.machine.image_files import find_tree, tree_path
from planaria.machine.memory import MemoryFile
from planaria.machine.recipe import Recipe
from planaria.machine.wasi.memory import GuestMemory
from planaria.runtime.cache import CompileCache, cache_failure
from planaria_kernel.protocol import decode, encode

__all__ = [
    "Image",
    "files_of_image",
    "find_image",
    "forget_image",
    "image_lock",
    "image_place",
    "keep_image",
    "make_immortal",
]

#: How much of a memory is looked at as one when zeros are left out, in bytes.
_PIECE: Final = 1 << 16

#: In CPython of 32 bits, an object whose reference count is at least this is immortal (refcount.h).
_IMMORTAL_MINIMUM: Final = 1 << 30


@dataclass(frozen=True, eq=False)
class Image:
    """The memory of a booted interpreter, and what the host must know to use it."""

    recipe: Recipe
    memory: MemoryFile
    entry: int
    """The address of the kernel's entry function."""
    settle: int
    """The address of the function that makes it ready to be an image again; `sandbox.freeze`."""
    system: dict[str, Any]
    """The state of the system interface (`Wasi.state`) at the moment of capture."""
    digest: str
    """SHA-256 of the memory: the identity against which snapshots are deltas."""
    files: str | None = None
    """The digest of the files that sessions begin with, None for the standard ones (`image_files`)."""

    @property
    def is_whole(self) -> bool:
        """Whether the cache has the files that sessions begin with, or they are loaded."""
        return self.files is None or "tree" in self.__dict__ or tree_path(self.files).exists()

    @cached_property
    def first_chunk(self) -> int | None:
        """Where to begin to look for free memory; see `heap.first_chunk`. Takes 40 ms the first time."""
        return first_chunk(self.memory, self.entry)

    @cached_property
    def tree(self) -> MemorySnapshot | None:
        """Those files. Raises RuntimeSetupError when they are not in the cache."""
        if self.files is None:
            return None
        if (tree := find_tree(self.files)) is None:
            raise RuntimeSetupError(
                f"the files of an image are gone from the cache ({tree_path(self.files)}); remove the image "
                "and build it again"
            )
        return tree


def image_place(recipe: Recipe) -> Path:
    """The folder of the cache that has the image of a recipe, if the cache has it."""
    return CompileCache().directory / f"image-{recipe.key}"


def find_image(recipe: Recipe) -> Image | None:
    """The image of a recipe: of this process or from the cache.

    None where the cache does not have it, or not its files. Raises RuntimeSetupError when it is damaged.
    """
    image = _loaded.get(recipe)
    if image is None or not image.is_whole:
        CompileCache().prepare()
        image = _read(recipe)
        if image is not None:
            _loaded[recipe] = image
    return image


@contextmanager
def image_lock(recipe: Recipe) -> Iterator[None]:
    """Held while an image is built: of several processes that want the same one, one builds it."""
    CompileCache().prepare()
    with FileLock(f"{image_place(recipe)}.lock"):
        yield


def forget_image(recipe: Recipe) -> None:
    """Remove an image from the cache; sessions that have it keep it."""
    _loaded.pop(recipe, None)
    with FileLock(f"{image_place(recipe)}.lock"):
        shutil.rmtree(image_place(recipe), ignore_errors=True)


def files_of_image(recipe: Recipe) -> str | None:
    """`Image.files` of an image in the cache, without loading it; None also when it is not there."""
    try:
        files = json.loads((image_place(recipe) / "image.json").read_text("utf-8")).get("files")
    except (OSError, ValueError, AttributeError):
        return None
    return files if isinstance(files, str) else None


#: The images of this process; they hold one descriptor each.
_loaded: dict[Recipe, Image] = {}


def _read(recipe: Recipe) -> Image | None:
    place = image_place(recipe)
    try:
        facts = json.loads((place / "image.json").read_text("utf-8"))
        system = decode((place / "system").read_bytes())
        memory = MemoryFile.open(place / "memory")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise cache_failure(f"the image in {place}", "read", error) from error
    except ValueError as error:
        raise RuntimeSetupError(f"the image in {place} is damaged ({error}); remove that folder") from error
    if memory.size != facts.pop("size", None):
        raise RuntimeSetupError(f"the image in {place} is damaged; remove that folder")
    image = Image(recipe, memory, system=system, **facts)
    return image if image.is_whole else None


def keep_image(
    recipe: Recipe,
    memory: MemoryFile,
    *,
    entry: int,
    settle: int,
    system: dict[str, Any],
    files: str | None,
    digest: str | None = None,
) -> Image:
    """Put a memory into the cache as the image of a recipe, whose lock the caller holds.

    `digest` is that of the memory, if the caller has computed it. Raises RuntimeSetupError when it cannot
    be written.
    """
    place = image_place(recipe)
    try:
        partial = Path(tempfile.mkdtemp(prefix=f"{place.name}.", suffix=".partial", dir=place.parent))
        try:
            with (partial / "memory").open("wb") as file, memory.view() as view:
                _write_sparsely(file, view)
                os.fsync(file.fileno())
                digest = digest or hashlib.sha256(view).hexdigest()
            facts = {
                "size": memory.size,
                "entry": entry,
                "settle": settle,
                "digest": digest,
                "files": files,
            }
            (partial / "system").write_bytes(encode(system))
            (partial / "image.json").write_text(json.dumps(facts), "utf-8")
            shutil.rmtree(place, ignore_errors=True)  # one whose files are gone
            os.rename(partial, place)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
    except OSError as error:
        raise cache_failure(f"the image in {place}", "written", error) from error
    # From the file, whose pages all processes share, rather than from the copy just captured.
    image = Image(recipe, MemoryFile.open(place / "memory"), entry, settle, system, digest, files)
    _loaded[recipe] = image
    return image


def _write_sparsely(file: BinaryIO, view: memoryview) -> None:
    """Write it with holes where it is zero, which take no room on the disk."""
    zeros = bytes(_PIECE)
    for start in range(0, len(view), _PIECE):
        piece = view[start : start + _PIECE]
        if piece == zeros[: len(piece)]:
            file.seek(len(piece), os.SEEK_CUR)
        else:
            file.write(piece)
    file.truncate(len(view))


def make_immortal(memory: GuestMemory, addresses: bytes) -> None:
    """Give the objects at these addresses (32 bits each) the reference count that is never changed.

    A reference count is an object's first word; `None`'s is read for the value. Raises ProtocolError for what
    cannot be addresses: the guest may be anyone's.
    """
    if not addresses or len(addresses) % 4:
        raise ProtocolError("the guest reported invalid addresses")
    none, *objects = array("I", addresses)
    immortal = memory.read(none, 4)
    for address in objects:
        count = int.from_bytes(memory.read(address, 4), "little")
        if 0 < count < _IMMORTAL_MINIMUM:
            memory.write(address, immortal)
