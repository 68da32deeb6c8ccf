"""The tree that a guest sees."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping

from planaria.errors import FileSystemError
from planaria.files.computed import Device
from planaria.files.devices import DeviceFileSystem, Output, ProcFileSystem, RandomSource
from planaria.files.filesystem import FileSystem, OpenFlags
from planaria.files.manifest import bytes_of
from planaria.files.memory import MemoryFileSystem, MemorySnapshot
from planaria.files.mount import MountFileSystem
from planaria.files.overlay import OverlayFileSystem
from planaria.files.quota import Quota
from planaria.files.storage import Mount
from planaria.version import GUEST_PYTHON

__all__ = ["HOME", "SITE", "connect", "make_directories", "standard_layout"]

HOME = b"/home/user"
#: Where packages go; Python's own place for those of a user (site.getusersitepackages).
SITE = f"/home/user/.local/lib/python{GUEST_PYTHON}/site-packages"

_FILES = {
    b"/etc/passwd": b"root:x:0:0:root:/root:/bin/bash\nuser:x:1000:1000:user:/home/user:/bin/bash\n",
    b"/etc/group": b"root:x:0:\nuser:x:1000:\n",
    b"/etc/hostname": b"planaria\n",
    b"/etc/hosts": b"127.0.0.1\tlocalhost planaria\n",
    b"/etc/shells": b"/bin/sh\n/bin/bash\n",
    # The interpreter's `sys.executable`, into which `platform` looks.
    b"/usr/local/bin/python.wasm": b"",
    # What `sys.executable` names; some programs open it.
    b"/usr/bin/python3": b"",
    b"/etc/os-release": b'NAME="planaria"\nID=planaria\nPRETTY_NAME="planaria"\nVERSION_ID="1"\n',
}
_DIRECTORIES = (
    *(b"/bin", b"/dev", b"/etc", HOME, b"/proc", b"/root"),
    *(b"/usr/bin", b"/usr/lib", b"/usr/local/bin", b"/usr/local/lib", b"/var/cache/matplotlib", b"/var/tmp"),
)
#: Matplotlib's list of the fonts that it brings: making it would take nearly a second of each session.
_LINKS = {b"/var/cache/matplotlib/fontlist-v3.11.0.json": b"/usr/local/lib/matplotlib/fontlist-v3.11.0.json"}


def make_directories(filesystem: FileSystem, path: bytes, mode: int = 0o755) -> None:
    """Make the directory `path` (absolute) and those above it that are missing."""
    at = b""
    for name in path.split(b"/"):
        if name:
            at += b"/" + name
            try:
                filesystem.mkdir(at, mode)
            except FileExistsError:
                pass


def _fill(root: FileSystem) -> None:
    """Make the standard files and directories."""
    for path in _DIRECTORIES:
        make_directories(root, path)
    root.mkdir(b"/tmp", 0o1777)
    root.chmod(b"/var/tmp", 0o1777)
    for path, contents in _FILES.items():
        handle = root.open(path, OpenFlags.WRITE | OpenFlags.CREATE, 0o644)
        try:
            handle.write(contents, 0)
        finally:
            handle.close()
    for path, target in _LINKS.items():
        root.symlink(target, path)


def standard_layout(
    *,
    root: MemorySnapshot | None = None,
    library: FileSystem | None = None,
    storage: FileSystem | None = None,
    storage_path: bytes = b"/data",
    storage_shared: bool = True,
    clock: Callable[[], int] = time.time_ns,
    quota: Quota | None = None,
    random: Callable[[int], bytes] = os.urandom,
    streams: Mapping[str, Device] | None = None,
    mounts: Iterable[Mount] = (),
    same_time: int | None = None,
    outside: Callable[[FileSystem], FileSystem] | None = None,
) -> MountFileSystem:
    """A new tree: /home/user, /tmp, /etc, /dev, /proc, /usr/local/lib and so on.

    `root` are the files of the root filesystem, in place of the standard ones. `library` is mounted read
    only at /usr/local/lib. `storage` is mounted at `storage_path`, which
    exists only then; while `storage_shared`, its contents belong to its owner and are neither captured
    nor forked with the tree. `mounts` are directories of the host, whose files show `same_time` if that is
    given (see `HostFileSystem`). `outside` gives what is to be seen in place of a directory of the host, and
    of the storage.

    `quota` limits the root filesystem, which holds everything else that can be written, and each
    overlay of `mounts` by itself. `random` feeds /dev/random and /dev/urandom; `streams` are as in
    `DeviceFileSystem`. With a clock that repeats, the same layout has the same manifest.
    """
    if root is None:
        top = MemoryFileSystem(clock=clock, quota=quota)
        _fill(top)
    else:
        top = MemoryFileSystem.from_snapshot(root, clock=clock, quota=quota)
    tree = MountFileSystem(top)
    now = clock()
    tree.mount(b"/dev", DeviceFileSystem(random=random, streams=streams, time=now))
    tree.mount(b"/proc", ProcFileSystem(time=now))
    if library is not None:
        tree.mount(b"/usr/local/lib", library, read_only=True, shared=True)
    if storage is not None:
        make_directories(top, storage_path)
        tree.mount(storage_path, outside(storage) if outside else storage, shared=storage_shared)
    for mount in mounts:
        place = bytes_of(mount.guest_path)
        try:
            make_directories(tree, place)
        except OSError as error:
            raise FileSystemError(
                error.errno,
                f"cannot create the mount point ({error.strerror}); "
                "create it in the directory that is mounted above it",
                mount.guest_path,
            ) from error
        tree.mount(place, mount.filesystem(quota=quota, clock=clock, same_time=same_time, outside=outside))
    return tree


def connect(
    tree: FileSystem,
    *,
    clock: Callable[[], int],
    random: RandomSource,
    output: Output,
    descriptors: Callable[[], Mapping[int, bytes]],
) -> None:
    """Connect the parts of a tree that are of one session alone with that session.

    `clock` gives the times of its files, `random` feeds its random devices, `output(stream, data)` takes what
    is written to /dev/stdout and /dev/stderr, `descriptors()` says what /proc/self/fd shows. What belongs to
    another owner as well, such as a storage, is left alone.
    """
    if not isinstance(tree, MountFileSystem):
        return
    for filesystem in tree.own_filesystems():
        if isinstance(filesystem, DeviceFileSystem):
            filesystem.connect(output=output, random=random)
        elif isinstance(filesystem, ProcFileSystem):
            filesystem.descriptors = descriptors
        elif isinstance(filesystem, OverlayFileSystem):
            filesystem.clock = clock
            if isinstance(filesystem.upper, MemoryFileSystem):
                filesystem.upper.clock = clock
        elif isinstance(filesystem, MemoryFileSystem):
            filesystem.clock = clock
