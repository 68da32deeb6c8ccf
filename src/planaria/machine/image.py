"""Images: the memory that sessions start from.

An image is made once by booting the interpreter, loading the kernel and importing a set of modules, under a
frozen clock and seeded random numbers, so that the same recipe gives the same bytes on every machine.
It is kept in the cache as a file, which every session maps copy-on-write.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from array import array
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from filelock import FileLock

from planaria.errors import RuntimeSetupError
from planaria.files.filesystem import FileSystem
from planaria.files.layout import standard_layout
from planaria.limits import Guard, Stopped
from planaria.machine.machine import Machine
from planaria.machine.memory import MemoryFile
from planaria.machine.wasi.clock import FrozenClock
from planaria.machine.wasi.memory import GuestMemory
from planaria.machine.wasi.random import SeededRandom
from planaria.machine.wasi.system import Wasi
from planaria.protocol import decode, encode
from planaria.runtime import tiers
from planaria.runtime.artifact import artifact
from planaria.runtime.cache import CompileCache
from planaria.runtime.library import (
    ARCHIVE_PATH,
    GUEST_PATH,
    STANDARD_LIBRARY_PATH,
    guest_digest,
    library,
)

__all__ = ["Image", "Recipe", "load_image", "plain_layout"]

#: Changes when images are made in another way.
_FORMAT: Final = 4
#: The moment at which every image is made: 2026-01-01 00:00 UTC.
_MOMENT: Final = 1_767_225_600 * 10**9

#: In CPython of 32 bits, an object whose reference count is at least this is immortal (refcount.h).
_IMMORTAL_MINIMUM: Final = 1 << 30

#: What every session does sooner or later, done before the capture, so that code is specialised by then
#: and the pages it writes to are not written again.
_WARMING: Final = (
    ("configure", {"callbacks": [], "recursion_limit": 1000, "reseed": bytes(16)}),
    *[
        ("run", source, 0, "full")
        for source in ("x = 1", "x", "print(x)", "import asyncio", "await asyncio.sleep(0)")
    ]
    * 12,
    ("clear",),
)

_BOOT: Final = """\
import sys
sys.path[:] = ["", {library!r}, {path!r}]
from planaria.guest import library
library.move({archive!r}, {library!r})
from planaria.guest.shims import users
users.install()  # before pathlib, which looks for the module pwd when it is imported
import _host
from planaria.guest import boot
boot.start(_host.call, {modules!r}, {preload!r})
"""


@dataclass(frozen=True)
class Recipe:
    """What an image is made of."""

    preload: tuple[str, ...] = ()
    """Modules imported beside those the kernel needs."""
    artifact: str = field(default_factory=lambda: artifact().digest)
    guest: str = field(default_factory=guest_digest)

    @property
    def key(self) -> str:
        """Names the recipe in the cache."""
        text = json.dumps([_FORMAT, asdict(self)], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:20]

    @property
    def tier(self) -> tiers.Tier:
        """The least tier on which it can be made."""
        full = any(artifact().needs_full(name) for name in self.preload)
        return tiers.Tier.FULL if full else tiers.Tier.CORE




@dataclass(frozen=True)
class Image:
    """The memory of a booted interpreter, and what the host must know to use it."""

    recipe: Recipe
    memory: MemoryFile
    entry: int
    """The address of the kernel's entry function."""
    system: dict[str, Any]
    """The state of the system interface (`Wasi.state`) at the moment of capture."""
    digest: str
    """SHA-256 of the memory: the identity against which snapshots are deltas."""


def plain_layout() -> FileSystem:
    """The tree in which images are made: the standard one under a clock that stands still."""
    return standard_layout(library=library(), clock=lambda: 0, random=bytes)


def load_image(recipe: Recipe, files: Callable[[], FileSystem] = plain_layout) -> Image:
    """The image of a recipe, from the cache or made now; `files` gives a fresh standard layout to make it in.

    Raises RuntimeSetupError when it cannot be made.
    """
    if (image := _loaded.get(recipe)) is None:
        image = _loaded[recipe] = _load(recipe, files)
    return image


#: The images of this process; they hold one descriptor each.
_loaded: dict[Recipe, Image] = {}


def _load(recipe: Recipe, files: Callable[[], FileSystem]) -> Image:
    cache = CompileCache()
    cache.prepare()
    place = cache.directory / f"image-{recipe.key}"
    if (image := _read(recipe, place)) is not None:
        return image
    with FileLock(cache.directory / f"image-{recipe.key}.lock"):
        if (image := _read(recipe, place)) is not None:
            return image
        return _make(recipe, place, files())


def _read(recipe: Recipe, place: Path) -> Image | None:
    try:
        facts = json.loads((place / "image.json").read_text("utf-8"))
        memory = MemoryFile.open(place / "memory")
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise RuntimeSetupError(f"the image in {place} cannot be read ({error}); remove that folder") from error
    if memory.size != facts["size"]:
        raise RuntimeSetupError(f"the image in {place} is damaged; remove that folder")
    return Image(recipe, memory, facts["entry"], facts["system"], facts["digest"])


def _make_immortal(memory: GuestMemory, addresses: bytes) -> None:
    """Give the objects at these addresses (32 bits each) the reference count that is never changed.

    A reference count is an object's first word; `None`'s tells the value.
    """
    none, *objects = array("I", addresses)
    immortal = memory.read(none, 4)
    for address in objects:
        count = int.from_bytes(memory.read(address, 4), "little")
        if 0 < count < _IMMORTAL_MINIMUM:
            memory.write(address, immortal)


def _make(recipe: Recipe, place: Path, files: FileSystem) -> Image:
    told: list[bytes] = []
    printed: list[bytes] = []
    command = b""

    def door(request: bytes) -> bytes:
        if request == b"N":
            return command
        if request[:1] == b"Z":
            _make_immortal(machine.memory, request[1:])
        told.append(request)
        return b""

    wasi = Wasi(
        files,
        clock=FrozenClock(_MOMENT),
        random=SeededRandom(0),
        on_output=lambda _descriptor, data: printed.append(data),
    )
    machine = Machine(tiers.load(recipe.tier), wasi, door)
    try:
        full = sorted({name.partition(".")[0] for name in artifact().full_modules})
        source = _BOOT.format(
            path=GUEST_PATH,
            archive=ARCHIVE_PATH,
            library=STANDARD_LIBRARY_PATH,
            modules=full, preload=list(recipe.preload),
        )
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
        memory = machine.capture()
        system = wasi.state()
    except Stopped as stopped:
        raise RuntimeSetupError(f"the guest did not boot: {stopped.message}") from stopped
    finally:
        machine.close()
        wasi.close()
    partial = Path(tempfile.mkdtemp(prefix=f"{place.name}.", suffix=".partial", dir=place.parent))
    try:
        with (partial / "memory").open("wb") as file, memory.view() as view:
            file.write(view)
            os.fsync(file.fileno())
            digest = hashlib.sha256(view).hexdigest()
        facts = {"size": memory.size, "entry": entry, "system": system, "digest": digest}
        (partial / "image.json").write_text(json.dumps(facts), "utf-8")
        os.rename(partial, place)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    # From the file, whose pages all processes share, rather than from the copy just captured.
    return Image(recipe, MemoryFile.open(place / "memory"), entry, system, digest)


