"""Every kind of filesystem, for the tests that hold for all of them, and short ways to use one."""

from __future__ import annotations

import errno
import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from planaria.files import (
    FileSystem,
    HostFileSystem,
    MemoryFileSystem,
    MountFileSystem,
    OpenFlags,
    OverlayFileSystem,
)


def ticking() -> Callable[[], int]:
    """A clock that counts, a millisecond at a time."""
    return itertools.count(1_700_000_000_000_000_000, 1_000_000).__next__


def write(filesystem: FileSystem, path: bytes, data: bytes) -> None:
    """Make a file with these contents."""
    handle = filesystem.open(path, OpenFlags.WRITE | OpenFlags.CREATE | OpenFlags.TRUNCATE)
    try:
        handle.write(data, 0)
    finally:
        handle.close()


def read(filesystem: FileSystem, path: bytes) -> bytes:
    """The contents of a file."""
    handle = filesystem.open(path, OpenFlags.READ)
    try:
        return handle.read(1 << 24, 0)
    finally:
        handle.close()


def names(filesystem: FileSystem, path: bytes = b"/") -> list[bytes]:
    """The names in a directory, in the order the filesystem gives them."""
    return [entry.name for entry in filesystem.scandir(path)]


def _lower(filesystem: FileSystem) -> None:
    """What the lower layer of an overlay holds: it must not show, as it is removed at once."""
    filesystem.mkdir(b"/d")
    filesystem.mkdir(b"/d/e")
    for name in (b"/f", b"/a", b"/d/f", b"/d/e/g"):
        write(filesystem, name, b"from below")


def _removed(filesystem: FileSystem) -> FileSystem:
    for name in (b"/f", b"/a", b"/d/f", b"/d/e/g"):
        filesystem.unlink(name)
    filesystem.rmdir(b"/d/e")
    filesystem.rmdir(b"/d")
    return filesystem


def make(kind: str, directory: Path) -> FileSystem:
    """An empty filesystem of a kind; `directory` is a fresh one of the host."""
    if kind == "memory":
        return MemoryFileSystem()
    if kind == "host":
        return HostFileSystem(directory, read_only=False, escaping_links=True)
    if kind == "overlay":
        return OverlayFileSystem(MemoryFileSystem())
    if kind == "overlay with whiteouts":
        lower = MemoryFileSystem()
        _lower(lower)
        return _removed(OverlayFileSystem(lower))
    if kind == "overlay on host":
        _lower(HostFileSystem(directory, read_only=False))
        return _removed(OverlayFileSystem(HostFileSystem(directory)))
    if kind == "overlay on overlay":
        lower = MemoryFileSystem()
        _lower(lower)
        return _removed(OverlayFileSystem(OverlayFileSystem(lower)))
    if kind == "mount":
        return MountFileSystem(MemoryFileSystem())
    if kind == "fork":
        return MemoryFileSystem().fork()
    raise ValueError(kind)


KINDS = [
    "memory",
    "fork",
    "host",
    "overlay",
    "overlay with whiteouts",
    "overlay on host",
    "overlay on overlay",
    "mount",
]


def fails(code: int, function: Callable[..., object], *arguments: object, **options: object) -> OSError:
    """Assert that the call raises OSError with this `errno`, and return it."""
    with pytest.raises(OSError) as caught:  # noqa: PT011
        function(*arguments, **options)
    assert errno.errorcode[caught.value.errno or 0] == errno.errorcode[code]
    return caught.value
