"""A session at rest becomes an image: what it is now is what others begin with."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from typing import Any, Final

from planaria.errors import ImageError, ProtocolError
from planaria.executors.executor import Snapshots
from planaria.executors.messages import Configure
from planaria.executors.wasm_state import WasmState
from planaria.files.filesystem import FileSystem
from planaria.files.manifest import text_of
from planaria.files.mount import MountFileSystem
from planaria.images import registry
from planaria.images.image import Image
from planaria.images.layers import BuildingHost, root_files
from planaria.limits import Guard, Stopped
from planaria.machine import image as machine_image
from planaria.machine.image import find_image, image_lock, keep_image
from planaria.machine.image_files import keep_tree
from planaria.machine.recipe import SETTINGS, Recipe
from planaria_kernel.protocol import encode

__all__ = ["save_image"]

#: Seconds for commands that run no code of the user's.
_PATIENCE: Final = 60.0


def save_image(name: str, snapshots: Snapshots, files: FileSystem, state: WasmState) -> Image:
    """Register `state`, which is the present one of a sandbox, as the image `name`.

    The sandbox is not touched: a copy of it becomes the image. Raises ImageError.
    """
    registry.check_name(name)
    tree = files.fork()
    assert isinstance(tree, MountFileSystem)
    _check_open_files(tree, state)
    copy = snapshots.spawn(BuildingHost(), state, tree)
    try:
        guard = Guard(deadline=time.monotonic() + _PATIENCE)
        copy.enter(Configure({**SETTINGS, "workspace": None}), guard)
        copied = copy.snapshots
        assert copied is not None
        memory, system = copied.settle()
    except (Stopped, ProtocolError) as error:
        raise ImageError(f"this session cannot be saved as an image: {error}") from error
    finally:
        copy.close()
    # Locks are the session's; the time at which it was saved is of no use to those that begin from it.
    system = {**system, "locks": [], "clock": {one: system["clock"][one] for one in ("monotonic", "cpu")}}
    contents = root_files(tree)
    kept = keep_tree(contents)
    digest = hashlib.sha256(encode((system, kept)))
    with memory.view() as view:
        digest.update(view)
    origin = state.image
    recipe = Recipe(
        artifact=origin.recipe.artifact,
        guest=origin.recipe.guest,
        saved=digest.hexdigest(),
    )

    def keep() -> machine_image.Image:
        with image_lock(recipe):
            if (image := find_image(recipe)) is not None:
                return image
            keep_tree(contents)
            return keep_image(recipe, memory, origin.addresses, system=system, files=kept)

    return Image(*registry.register(name, recipe, keep))


def _check_open_files(tree: MountFileSystem, state: WasmState) -> None:
    """Raises ImageError when the code has files open that the image will not have."""
    outside: dict[int, str] = {}
    for mount in tree.mounts():
        if mount.path not in _EVERYWHERE:
            outside[tree.stat(mount.path).device] = text_of(mount.path)
    open_in = {outside[one["file"][0]] for one in state.system["descriptors"] if _device(one) in outside}
    if open_in:
        raise ImageError(
            f"a file in {', '.join(sorted(open_in))} is open, but what is mounted in a session is not part "
            f"of an "
            "image: close it first"
        )


def _device(descriptor: Mapping[str, Any]) -> int | None:
    file = descriptor.get("file")
    return None if file is None else int(file[0])


#: Where every session has the same mounted.
_EVERYWHERE: Final = frozenset({b"/", b"/dev", b"/proc", b"/usr/local/lib"})
