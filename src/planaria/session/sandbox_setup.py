"""What a sandboxed session starts from: its image, its files, its clock and its random numbers."""

from __future__ import annotations

import errno
import os
import time
from functools import cache
from typing import Final

from planaria.executors.executor import SandboxSetup
from planaria.executors.journal import Journal, outcome_inside
from planaria.files.filesystem import FileSystem
from planaria.files.journaled import JournaledFileSystem
from planaria.files.layout import standard_layout
from planaria.files.memory import MemorySnapshot
from planaria.files.mount import MountFileSystem
from planaria.files.node import NodeStore
from planaria.files.quota import Quota
from planaria.images.image import find_image
from planaria.images.layers import image_of
from planaria.machine.recipe import Recipe
from planaria.machine.wasi.random import SeededRandom
from planaria.runtime.guest_files import library
from planaria.session.settings import SessionSettings

__all__ = ["QUOTA", "sandbox_setup"]

#: What a session's own files may take unless `quota=` says otherwise.
QUOTA: Final = Quota(bytes=1 << 30, nodes=1_000_000, handles=4096)
#: The limits of a quota that an error of the system stands for.
_LIMITS_OF: Final = {
    errno.ENOSPC: ("bytes",),
    errno.EFBIG: ("file_size",),
    errno.EDQUOT: ("nodes",),
    errno.EMFILE: ("handles",),
    errno.ENAMETOOLONG: ("path_length", "name_length", "depth"),
}


def sandbox_setup(settings: SessionSettings, journal: Journal | None = None) -> SandboxSetup:
    """The image, the files, the clock and the random numbers of a sandboxed session. Raises ImageError,
    ValueError for a quota that is too small.

    What comes from outside comes through `journal`.
    """
    image, vfs, clock, quota = settings.image, settings.vfs, settings.clock, settings.quota
    deterministic = settings.deterministic
    if deterministic is not None:
        clock = deterministic.new_clock()
    loaded = image_of(Recipe()) if image is None else find_image(image)
    if vfs is None and clock is None and quota is None and not settings.mounts:
        tree = _usual_tree(loaded.tree).fork()  # a fifth of the time that creating one takes
    else:
        try:
            tree = standard_layout(
                root=loaded.tree,
                library=library(),
                storage=None if vfs is None else vfs.filesystem,
                storage_path=os.fsencode(settings.vfs_mount_path),
                clock=time.time_ns if clock is None else clock.realtime,
                quota=quota or QUOTA,
                mounts=settings.mounts,
                same_time=None if deterministic is None else deterministic.start,
                outside=None if journal is None else _journaled,
            )
        except OSError as error:
            names = _LIMITS_OF.get(error.errno or 0, ())
            given = ", ".join(
                f"{name}={limit}" for name in names if (limit := getattr(quota, name, None)) is not None
            )
            if not given:
                raise
            raise ValueError(
                f"quota=Quota({given}) is too small for the files that a session begins with "
                f"({error.strerror}): raise it"
            ) from error
    random = None if settings.seed is None else SeededRandom(settings.seed)
    return SandboxSetup(
        image=loaded,
        files=tree,
        clock=clock,
        random=random,
        repeatable=deterministic is not None,
        journal=journal,
    )


def _journaled(filesystem: FileSystem) -> FileSystem:
    assert isinstance(filesystem, NodeStore)
    return JournaledFileSystem(filesystem, outcome_inside)


@cache
def _usual_tree(root: MemorySnapshot | None) -> MountFileSystem:
    """The tree of a session that asks for nothing special but the files of its image; never changed."""
    return standard_layout(root=root, library=library(), quota=QUOTA)
