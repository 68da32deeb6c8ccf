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
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, Final

from planaria.errors import ProtocolError, RuntimeSetupError
from planaria.files.memory import MemorySnapshot
from planaria.machine.heap import first_chunk
from planaria.machine.image_files import find_tree, tree_path
from planaria.machine.memory import MemoryFile
from planaria.machine.private_pages import IMMORTAL_MINIMUM
from planaria.machine.recipe import Recipe
from planaria.machine.wasi.held_output import Held, checked_state
from planaria.machine.wasi.memory import GuestMemory
from planaria.runtime.cache import CompileCache, cache_failure
from planaria_kernel.protocol import decode, encode

__all__ = [
    "Addresses",
    "Image",
    "NewImage",
    "files_of_image",
    "find_image",
    "forget_image",
    "image_lock",
    "image_place",
    "is_loaded",
    "keep_image",
    "make_immortal",
    "new_image",
]

#: The file of an image that has `Image.first_chunk`. It may be missing.
_HEAP: Final = "heap"
#: How much of a memory is looked at as one when zeros are left out, in bytes.
_PIECE: Final = 1 << 16
_ZEROS: Final = bytes(_PIECE)


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where the host finds things of the kernel's in its memory."""

    entry: int
    """The kernel's entry function."""
    settle: int
    """The function that makes it ready to be an image again; `sandbox.freeze`."""
    mailbox: int | None = None
    """Where commands and reports are put; a kernel of before there was one asks for them."""


@dataclass(frozen=True, eq=False)
class Image:
    """The memory of a booted interpreter, and what the host must know to use it."""

    recipe: Recipe
    memory: MemoryFile
    addresses: Addresses
    system: dict[str, Any]
    """The state of the system interface (`Wasi.state`) at the moment of capture."""
    digest: str
    """SHA-256 of the memory: the identity against which snapshots are deltas."""
    files: str | None = None
    """The digest of the files that sessions begin with, None for the standard ones (`image_files`)."""
    first_chunk: int | None = None
    """Where to begin to look for free memory, if that is known; see `heap.first_chunk`."""

    @property
    def is_whole(self) -> bool:
        """Whether the cache has the files that sessions begin with, or they are loaded."""
        return self.files is None or "tree" in self.__dict__ or tree_path(self.files).exists()

    @cached_property
    def held(self) -> Held:
        """Where the standard streams are in its memory."""
        return checked_state(self.system["held"])

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


def is_loaded(recipe: Recipe) -> bool:
    """Whether this process has the image of a recipe already."""
    image = _loaded.get(recipe)
    return image is not None and image.is_whole


def find_image(recipe: Recipe) -> Image | None:
    """The image of a recipe: of this process or from the cache.

    None where the cache does not have it, or not its files. Raises RuntimeSetupError when it is damaged.
    """
    if is_loaded(recipe):
        return _loaded[recipe]
    CompileCache().prepare()
    image = _read(recipe)
    if image is not None:
        _loaded[recipe] = image
    return image


@contextmanager
def image_lock(recipe: Recipe) -> Iterator[None]:
    """Held while an image is built: of several processes that want the same one, one builds it."""
    CompileCache().prepare()
    with CompileCache().lock(image_place(recipe).name):
        yield


def forget_image(recipe: Recipe) -> None:
    """Remove an image from the cache; sessions that have it keep it."""
    _loaded.pop(recipe, None)
    with CompileCache().lock(image_place(recipe).name):
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
        heap = place / _HEAP
        chunk = json.loads(heap.read_text("ascii")) if heap.exists() else None
    except FileNotFoundError:
        return None
    except OSError as error:
        raise cache_failure(f"the image in {place}", "read", error) from error
    except ValueError as error:
        raise RuntimeSetupError(f"the image in {place} is damaged ({error}); remove that folder") from error
    if memory.size != facts.pop("size", None):
        raise RuntimeSetupError(f"the image in {place} is damaged; remove that folder")
    try:
        addresses = Addresses(facts["entry"], facts["settle"], facts.get("mailbox"))
        image = Image(recipe, memory, addresses, system, facts["digest"], facts.get("files"), chunk)
    except KeyError as error:
        raise RuntimeSetupError(f"the image in {place} is damaged ({error}); remove that folder") from error
    return image if image.is_whole else None


def keep_image(
    recipe: Recipe,
    memory: MemoryFile,
    addresses: Addresses,
    *,
    system: dict[str, Any],
    files: str | None,
) -> Image:
    """Put a memory into the cache as the image of a recipe, whose lock the caller holds.

    Raises RuntimeSetupError when it cannot be written.
    """
    with memory.view() as view, new_image(recipe) as new:
        new.write(view)
        return new.keep(addresses, system=system, files=files)


class NewImage:
    """An image on its way into the cache."""

    def __init__(self, recipe: Recipe, folder: Path, memory: BinaryIO) -> None:
        self._recipe = recipe
        self._folder = folder
        self._memory = memory
        self._digest = hashlib.sha256()
        self._size = 0

    def write(self, chunk: bytes | memoryview) -> None:
        """Append to its memory. Where that is zero there are holes, which take no room on the disk."""
        view = memoryview(chunk)
        for start in range(0, len(view), _PIECE):
            piece = bytes(view[start : start + _PIECE])  # two bytes objects are compared faster than views
            if piece == _ZEROS[: len(piece)]:
                self._memory.seek(len(piece), os.SEEK_CUR)
            else:
                self._memory.write(piece)
        self._digest.update(view)
        self._size += len(view)

    @property
    def digest(self) -> str:
        """SHA-256 of what was written."""
        return self._digest.hexdigest()

    def keep(self, addresses: Addresses, *, system: dict[str, Any], files: str | None) -> Image:
        """The image, with all that is known about it, in the cache."""
        self._memory.truncate(self._size)
        self._memory.flush()
        os.fsync(self._memory.fileno())
        facts = {
            "size": self._size,
            **asdict(addresses),
            "digest": self.digest,
            "files": files,
        }
        chunk = first_chunk(MemoryFile.open(self._folder / "memory"), addresses.entry)
        (self._folder / _HEAP).write_text(json.dumps(chunk), "ascii")
        (self._folder / "system").write_bytes(encode(system))
        (self._folder / "image.json").write_text(json.dumps(facts), "utf-8")
        place = image_place(self._recipe)
        shutil.rmtree(place, ignore_errors=True)  # one whose files are gone
        os.rename(self._folder, place)
        # From the file, whose pages all processes share.
        memory = MemoryFile.open(place / "memory")
        image = Image(self._recipe, memory, addresses, system, self.digest, files, chunk)
        _loaded[self._recipe] = image
        return image


@contextmanager
def new_image(recipe: Recipe) -> Iterator[NewImage]:
    """Write the image of a recipe, whose lock the caller holds; what is not kept leaves nothing behind.

    Raises RuntimeSetupError when it cannot be written.
    """
    place = image_place(recipe)
    try:
        partial = Path(tempfile.mkdtemp(prefix=f"{place.name}.", suffix=".partial", dir=place.parent))
        try:
            with (partial / "memory").open("wb") as memory:
                yield NewImage(recipe, partial, memory)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    except OSError as error:
        raise cache_failure(f"the image in {place}", "written", error) from error


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
        if 0 < count < IMMORTAL_MINIMUM:
            memory.write(address, immortal)
