"""Images: the memory that sessions start from.

The plain image is made once by booting the interpreter and loading the kernel, under a frozen clock and
seeded random numbers, so that the same recipe gives the same bytes on every machine. Others begin from one
that is there already (see `planaria.images.layers`). An image is kept in the cache as a file, which every
session maps copy-on-write.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, Final

from filelock import FileLock

from planaria.errors import ProtocolError, RuntimeSetupError
from planaria.files.layout import standard_layout
from planaria.files.memory import MemorySnapshot
from planaria.limits import Guard, Stopped
from planaria.machine.image_files import find_tree, tree_path
from planaria.machine.machine import Machine
from planaria.machine.memory import MemoryFile
from planaria.machine.recipe import SETTINGS, Recipe
from planaria.machine.wasi.clock import FrozenClock
from planaria.machine.wasi.memory import GuestMemory
from planaria.machine.wasi.random import SeededRandom
from planaria.machine.wasi.system import Wasi
from planaria.runtime import tiers
from planaria.runtime.artifact import artifact
from planaria.runtime.cache import CompileCache
from planaria.runtime.guest_files import ARCHIVE_PATH, GUEST_PATH, STANDARD_LIBRARY_PATH, library
from planaria_kernel.protocol import decode, encode
from planaria_kernel.sandbox.warmup import WARMING

__all__ = [
    "MOMENT",
    "Image",
    "boot_image",
    "files_of_image",
    "forget_image",
    "image_place",
    "keep_image",
    "load_image",
    "make_immortal",
]

#: How much of a memory is looked at as one when zeros are left out, in bytes.
_PIECE: Final = 1 << 16
#: The moment at which every image is made: 2026-01-01 00:00 UTC.
MOMENT: Final = 1_767_225_600 * 10**9

#: In CPython of 32 bits, an object whose reference count is at least this is immortal (refcount.h).
_IMMORTAL_MINIMUM: Final = 1 << 30

#: What every session does sooner or later, done before the capture, so that code is specialised by then
#: and the pages it writes to are not written again.
_WARMING: Final = (
    ("configure", SETTINGS),
    *[
        ("begin", {"reseed": bytes(16)}, ("run", source, 0, "full", WARMING))
        for source in ("x = 1", "x", "print(x)", "import asyncio", "await asyncio.sleep(0)")
    ]
    * 12,
    ("clear",),
)

_BOOT: Final = """\
import sys
sys.path[:] = ["", {library!r}, {path!r}]
from planaria_kernel.sandbox import library
library.move({archive!r}, {library!r})
from planaria_kernel.shims import users
users.install()  # before pathlib, which looks for the module pwd when it is imported
import _host
from planaria_kernel.sandbox import boot
boot.start(_host.call, {modules!r})
"""


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


def load_image(recipe: Recipe, make: Callable[[], Image]) -> Image:
    """The image of a recipe: of this process, from the cache, or by calling `make`, which uses `keep_image`.

    Of several processes that want the same image one makes it. One whose files are gone from the cache is
    made again. Raises RuntimeSetupError, and what `make`
    raises.
    """
    image = _loaded.get(recipe)
    if image is not None and not image.is_whole:
        image = None
    if image is None:
        cache = CompileCache()
        cache.prepare()
        image = _read(recipe)
        if image is None:
            with FileLock(f"{image_place(recipe)}.lock"):
                image = _read(recipe)
                if image is None:
                    shutil.rmtree(image_place(recipe), ignore_errors=True)  # one that lacks its files
                    image = make()
        _loaded[recipe] = image
    return image


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
    except (OSError, ValueError) as error:
        raise RuntimeSetupError(
            f"the image in {place} cannot be read ({error}); remove that folder"
        ) from error
    if memory.size != facts.pop("size", None):
        raise RuntimeSetupError(f"the image in {place} is damaged; remove that folder")
    image = Image(recipe, memory, system=system, **facts)
    return image if image.is_whole else None


def keep_image(
    recipe: Recipe, memory: MemoryFile, *, entry: int, settle: int, system: dict[str, Any], files: str | None
) -> Image:
    """Put a memory into the cache as the image of a recipe. Raises RuntimeSetupError when it does not fit."""
    place = image_place(recipe)
    try:
        partial = Path(tempfile.mkdtemp(prefix=f"{place.name}.", suffix=".partial", dir=place.parent))
        try:
            with (partial / "memory").open("wb") as file, memory.view() as view:
                _write_sparsely(file, view)
                os.fsync(file.fileno())
                digest = hashlib.sha256(view).hexdigest()
            facts = {
                "size": memory.size,
                "entry": entry,
                "settle": settle,
                "digest": digest,
                "files": files,
            }
            (partial / "system").write_bytes(encode(system))
            (partial / "image.json").write_text(json.dumps(facts), "utf-8")
            os.rename(partial, place)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
    except OSError as error:
        raise RuntimeSetupError(f"the image in {place} cannot be written: {error.strerror}") from error
    # From the file, whose pages all processes share, rather than from the copy just captured.
    return Image(recipe, MemoryFile.open(place / "memory"), entry, settle, system, digest, files)


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


def boot_image(recipe: Recipe) -> Image:
    """Make the plain image: boot the interpreter, load the kernel, warm it up. Raises RuntimeSetupError."""
    told: list[bytes] = []
    printed: list[bytes] = []
    command = b""

    def door(request: bytes) -> bytes:
        if request == b"N":
            return command
        if request[:1] == b"Z":
            make_immortal(machine.memory, request[1:])
        told.append(request)
        return b""

    wasi = Wasi(
        # Times that stand still, also those of files.
        standard_layout(library=library(), clock=lambda: 0, random=bytes),
        clock=FrozenClock(MOMENT),
        random=SeededRandom(0),
        on_output=lambda _descriptor, data: printed.append(data),
    )
    machine = Machine(tiers.load(recipe.tier), wasi, door)
    try:
        full = sorted({name.partition(".")[0] for name in artifact().full_modules})
        source = _BOOT.format(
            path=GUEST_PATH, archive=ARCHIVE_PATH, library=STANDARD_LIBRARY_PATH, modules=full
        )
        machine.set_stack_limits()
        machine.turn(source)
        if not told or told[-1][:1] != b"B":
            text = b"".join(printed).decode("utf-8", "replace").strip()
            raise RuntimeSetupError(f"the guest did not boot:\n{text}")
        entry, settle = decode(told[-1][1:])
        for warming in _WARMING:
            command = encode(warming)
            machine.enter(entry, Guard())
            if not told[-1].startswith(b"R") or decode(told[-1][1:])[0] != "done":
                raise RuntimeSetupError(f"the guest does not work: {told[-1]!r}")
        machine.enter(settle, Guard())
        return keep_image(
            recipe, machine.capture(), entry=entry, settle=settle, system=wasi.state(), files=None
        )
    except Stopped as stopped:
        raise RuntimeSetupError(f"the guest did not boot: {stopped.message}") from stopped
    finally:
        machine.close()
        wasi.close()
