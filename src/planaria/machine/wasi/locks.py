"""Locks of SQLite databases: who holds them, and what becomes of them when a guest goes back or ends.

WASI has no file locks, so SQLite locks the file `x` by creating the directory `x.lock` (its "dot-file"
locking). A guest that ends without removing it, stopped hard or closed, must not lock others out forever; so
the locks that a guest takes are noted, and released for it.

A lock belongs to the guest that took it. A captured state has the locks of its time, and only where the files
were captured with it are they restored, too. On a directory of the host, or in a storage that sessions share,
others may have taken the lock since, and have written. There, a restored guest has lost it: its open files of
that database are stale (ESTALE, which SQLite reports as "disk I/O error"), and nothing is created or removed.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import Final

from planaria.files.filesystem import FileKind, FileSystem, Handle, OpenFlags, Stat
from planaria.files.node import NodeHandle
from planaria.files.stateless import StatelessFileSystem

__all__ = ["Locks", "is_lock"]

_SUFFIX: Final = b".lock"
_DIRECTORY: Final = OpenFlags.READ | OpenFlags.DIRECTORY | OpenFlags.NO_FOLLOW
#: What is written during a transaction: the database and its rollback journal.
_WRITTEN: Final = (b"", b"-journal")


def is_lock(path: bytes) -> bool:
    """Whether a path could be that of a lock."""
    return path.endswith(_SUFFIX)


def _is_kept_elsewhere(handle: Handle) -> bool:
    """Whether an open directory is not part of a captured state: the host's, or shared between sessions."""
    mount = handle.mount if isinstance(handle, NodeHandle) else None
    return mount is not None and (mount.shared or isinstance(mount.filesystem, StatelessFileSystem))


def _same(one: Stat, other: Stat) -> bool:
    return (one.device, one.inode) == (other.device, other.inode)


class Locks:
    """The locks of one guest over `files`."""

    def __init__(self, files: FileSystem) -> None:
        self._files = files
        #: Each lock as an open directory, so that another one is not taken for it.
        self._held: dict[bytes, Handle] = {}
        self._lost: set[bytes] = set()

    def paths(self) -> list[bytes]:
        """The locks that the guest believes to hold."""
        return sorted({*self._held, *self._lost})

    def created(self, path: bytes) -> None:
        """The guest has created a directory: note it if it is the lock of a file."""
        try:
            if self._files.stat(path[: -len(_SUFFIX)]).kind is FileKind.REGULAR:
                self._hold(path)
        except OSError:
            pass  # a directory that only looks like a lock

    def _hold(self, path: bytes) -> None:
        handle = self._files.open(path, _DIRECTORY)
        if (old := self._held.get(path)) is not None:
            old.close()
        self._held[path] = handle

    def is_lost(self, path: bytes) -> bool:
        """Whether the guest is about to remove a lock that it no longer holds; true once for each lock."""
        if path in self._lost:
            self._lost.discard(path)
            return not self._is_own(path)
        return False

    def removed(self, path: bytes) -> None:
        """The guest has removed a directory."""
        if (handle := self._held.pop(path, None)) is not None:
            handle.close()

    def _is_own(self, path: bytes) -> bool:
        handle = self._held.get(path)
        try:
            return handle is not None and _same(handle.stat(), self._files.stat(path, follow=False))
        except OSError:
            return False

    def go_back(self, paths: Iterable[bytes], predecessor: Locks | None = None) -> set[tuple[int, int]]:
        """The guest goes on as it was when it held the locks `paths`, over the files of that time.

        The locks of a `predecessor` that has done nothing since are still good; it should `forget` them.
        Returns device and inode of the files whose lock is lost.
        """
        wanted = set(paths)
        self._release_all(keep=wanted)
        self._lost.clear()
        stale: set[tuple[int, int]] = set()
        for path in sorted(wanted):
            if predecessor is not None and predecessor._is_own(path):
                self._hold(path)
            elif not self._take_in_own_files(path):
                self._release(path)
                self._lost.add(path)
                stale.update(self._files_of(path))
        return stale

    def forget(self) -> None:
        """The locks are another guest's now."""
        for path in list(self._held):
            self.removed(path)

    def _take_in_own_files(self, path: bytes) -> bool:
        above, _, name = path.rpartition(b"/")
        try:
            directory = self._files.open(above or b"/", OpenFlags.READ | OpenFlags.DIRECTORY)
            try:
                if _is_kept_elsewhere(directory):
                    return False
                try:
                    self._files.mkdir(name, 0o755, at=directory)
                except FileExistsError:
                    pass
            finally:
                directory.close()
            self._hold(path)
        except OSError:
            return False  # what it locks is gone
        return True

    def _files_of(self, path: bytes) -> Iterable[tuple[int, int]]:
        for suffix in _WRITTEN:
            try:
                found = self._files.stat(path[: -len(_SUFFIX)] + suffix)
            except OSError:
                continue
            yield found.device, found.inode

    def release(self) -> None:
        """Release all locks: the guest has ended."""
        self._release_all()

    def _release_all(self, keep: Set[bytes] = frozenset()) -> None:
        for path in self._held.keys() - keep:
            self._release(path)

    def _release(self, path: bytes) -> None:
        if self._is_own(path):
            try:
                self._files.rmdir(path)
            except OSError:
                pass  # not empty, so it was not a lock after all; or its directory cannot be written any more
        self.removed(path)
