"""The protocol that every filesystem of planaria implements, and the words it uses.

Paths are `bytes`, absolute within the filesystem (`b"/a/b"`), separated by `/`; they may hold
`.`, `..`, doubled slashes and symbolic links, and the filesystem resolves them itself (POSIX
path resolution: https://pubs.opengroup.org/onlinepubs/9799919799/basedefs/V1_chap04.html#tag_04_16).
A path never leaves the filesystem: `..` at the root is the root, an absolute symbolic link starts
again at the root.

Every operation fails with `OSError` carrying the errno that Linux gives for the same situation,
and leaves nothing half done.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from planaria.files.difference import Difference, difference
from planaria.files.handle import Columns, DirEntry, FileKind, Handle, OpenFlags, Stat, StatMaker

__all__ = [
    "Columns",
    "Difference",
    "DirEntry",
    "FileKind",
    "FileSystem",
    "FileSystemSnapshot",
    "FileSystemUsage",
    "Handle",
    "Manifest",
    "OpenFlags",
    "Stat",
    "StatMaker",
    "failure",
]

Value = TypeVar("Value")

# Programs probe for files that are not there all the time, so the message is looked up, not made.
_MESSAGES = {code: os.strerror(code) for code in range(1, 134)}

#: A JSON-able description of a snapshot in which contents are named by their digests.
Manifest = dict[str, Any]


@dataclass(frozen=True, slots=True)
class FileSystemUsage:
    """What statvfs(3) reports, in bytes and nodes; None where there is no limit."""

    bytes_used: int
    bytes_limit: int | None
    nodes_used: int
    nodes_limit: int | None


class FileSystem(ABC):
    """A tree of files. `at` is an open directory of the same filesystem to which a relative path refers."""

    # -- opening and looking -------------------------------------------------------------------

    @abstractmethod
    def open(
        self, path: bytes, flags: OpenFlags, mode: int = 0o666, *, at: Handle | None = None
    ) -> Handle: ...

    @abstractmethod
    def stat(self, path: bytes, *, follow: bool = True, at: Handle | None = None) -> Stat: ...

    def stat_as(self, make: StatMaker[Value], path: bytes, follow: bool, at: Handle | None) -> Value | None:
        """What `make` makes of the same, or None for ENOENT.

        Quicker where neither a `Stat` nor an exception need be made for it: most paths are asked for to see
        whether something is there.
        """
        return make(*self.stat(path, follow=follow, at=at))

    @abstractmethod
    def readlink(self, path: bytes, *, at: Handle | None = None) -> bytes: ...

    @abstractmethod
    def usage(self) -> FileSystemUsage: ...

    @abstractmethod
    def open_node(self, device: int, inode: int, flags: OpenFlags) -> Handle:
        """Open the file that `Stat` identified so, also one that was unlinked while open.

        This is how a descriptor table is rebuilt after `fork` or `restore`, in the manner of
        open_by_handle_at(2). ESTALE when there is no such file (any more), and for files of the host,
        which have to be opened again by path.
        """

    @abstractmethod
    def discard_orphans(self) -> None:
        """Free unlinked files that are not open; call it once the descriptors are rebuilt."""

    # -- changing --------------------------------------------------------------------------------

    @abstractmethod
    def mkdir(self, path: bytes, mode: int = 0o777, *, at: Handle | None = None) -> None: ...

    @abstractmethod
    def rmdir(self, path: bytes, *, at: Handle | None = None) -> None: ...

    @abstractmethod
    def unlink(self, path: bytes, *, at: Handle | None = None) -> None: ...

    @abstractmethod
    def rename(
        self, old: bytes, new: bytes, *, old_at: Handle | None = None, new_at: Handle | None = None
    ) -> None: ...

    @abstractmethod
    def link(
        self,
        old: bytes,
        new: bytes,
        *,
        follow: bool = False,
        old_at: Handle | None = None,
        new_at: Handle | None = None,
    ) -> None: ...

    @abstractmethod
    def symlink(self, target: bytes, path: bytes, *, at: Handle | None = None) -> None: ...

    @abstractmethod
    def utime(
        self,
        path: bytes,
        atime: int | None,
        mtime: int | None,
        *,
        follow: bool = True,
        at: Handle | None = None,
    ) -> None: ...

    @abstractmethod
    def chmod(self, path: bytes, mode: int, *, follow: bool = True, at: Handle | None = None) -> None: ...

    # -- as a value --------------------------------------------------------------------------------

    @abstractmethod
    def fork(self) -> Self:
        """An independent copy that shares unchanged contents; costs by what changes later."""

    @abstractmethod
    def snapshot(self) -> FileSystemSnapshot:
        """The present state as an immutable value; costs by what changed since the last one."""

    @abstractmethod
    def restore(self, snapshot: FileSystemSnapshot) -> None:
        """Replace the whole state; open handles of the old state become stale (ESTALE)."""

    @abstractmethod
    def read_manifest(self, manifest: Manifest, chunks: Mapping[str, bytes]) -> FileSystemSnapshot:
        """A snapshot for `restore` from what `manifest()` and `chunks()` gave, perhaps on another machine.

        The input may come from anyone: everything is checked, this filesystem's quota included, and
        nothing is changed. Raises `SnapshotError`.
        """

    def diff(self, other: FileSystem | FileSystemSnapshot) -> Difference:
        """What is added, removed and changed in `other`, compared with this."""
        # Contents that are frozen need not be read again to be compared.
        self.snapshot()
        return difference(self, _opened(other))

    def scandir(self, path: bytes, *, at: Handle | None = None) -> Iterable[DirEntry]:
        """The names in a directory."""
        handle = self.open(path, OpenFlags.READ | OpenFlags.DIRECTORY, at=at)
        try:
            return handle.entries()
        finally:
            handle.close()


class FileSystemSnapshot(ABC):
    """An immutable state of a filesystem: it can be restored, opened, compared and serialised."""

    __slots__ = ()

    @abstractmethod
    def open(self) -> FileSystem:
        """A filesystem of its own that starts in this state."""

    def diff(self, other: FileSystem | FileSystemSnapshot) -> Difference:
        """What is added, removed and changed in `other`, compared with this."""
        return difference(self.open(), _opened(other))

    @abstractmethod
    def manifest(self) -> Manifest:
        """The state as JSON-able values; contents are named by the BLAKE2b-256 of their chunks.

        The same state gives the same manifest.
        """

    @abstractmethod
    def chunks(self) -> Mapping[str, bytes]:
        """The contents that `manifest` names, by hexadecimal digest."""


def _opened(state: FileSystem | FileSystemSnapshot) -> FileSystem:
    if isinstance(state, FileSystemSnapshot):
        return state.open()
    state.snapshot()
    return state


def failure(code: int, path: bytes | None = None, message: str | None = None) -> OSError:
    """The exception for errno `code` (of the subclass that Python has for it), to be raised."""
    text = message or _MESSAGES.get(code) or os.strerror(code)
    return OSError(code, text) if path is None else OSError(code, text, path)
