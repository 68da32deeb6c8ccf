"""The files of a session at a server, as a filesystem."""

from __future__ import annotations

import errno
import stat as stat_modes
from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn, Self

from planaria.errors import CapabilityError, FileSystemError
from planaria.executors.server_connection import BYTES, ServerConnection
from planaria.files.filesystem import (
    DirEntry,
    FileKind,
    FileSystem,
    FileSystemSnapshot,
    FileSystemUsage,
    Handle,
    Manifest,
    OpenFlags,
    Stat,
    failure,
)

__all__ = ["ServerFileSystem"]

_KINDS: Final = {
    "file": stat_modes.S_IFREG,
    "directory": stat_modes.S_IFDIR,
    "link": stat_modes.S_IFLNK,
    "other": stat_modes.S_IFCHR,
}


class ServerFileSystem(FileSystem):
    """Each operation is a request; contents are read and written as a whole.

    `place` gives the connection and the session's path at the server.
    """

    def __init__(self, place: Callable[[], tuple[ServerConnection, str]]) -> None:
        self._place = place

    def ask(self, method: str, action: str, path: bytes, body: object = None, **query: str) -> Any:
        """A request about a path."""
        connection, session = self._place()
        return connection.request(method, f"{session}/files{action}", body, {"path": _text(path), **query})

    def send(self, method: str, path: bytes, data: bytes | None = None) -> bytes:
        """A request with the contents of a file."""
        connection, session = self._place()
        return connection.send(method, f"{session}/files", data, BYTES, {"path": _text(path)})

    # -- opening and looking -------------------------------------------------------------------------------

    def open(self, path: bytes, flags: OpenFlags, mode: int = 0o666, *, at: Handle | None = None) -> Handle:
        path = _absolute(path, at)
        try:
            found = self.stat(path, follow=not flags & OpenFlags.NO_FOLLOW)
        except FileSystemError as error:
            if error.errno != errno.ENOENT or not flags & OpenFlags.CREATE:
                raise
            self.stat(path.rstrip(b"/").rpartition(b"/")[0] or b"/")  # where it is created
            handle = _ServerFile(self, path, b"")
            handle.flush()
            return handle
        if flags & OpenFlags.EXCLUSIVE:
            raise failure(errno.EEXIST, path)
        if found.kind is FileKind.DIRECTORY:
            if flags & (OpenFlags.WRITE | OpenFlags.CREATE):
                raise failure(errno.EISDIR, path)
            return _ServerFile(self, path, None)
        if flags & OpenFlags.DIRECTORY:
            raise failure(errno.ENOTDIR, path)
        if flags & OpenFlags.TRUNCATE:
            handle = _ServerFile(self, path, b"")
            handle.flush()
            return handle
        return _ServerFile(self, path, self.send("GET", path))

    def stat(self, path: bytes, *, follow: bool = True, at: Handle | None = None) -> Stat:
        found = self.ask("GET", "/stat", _absolute(path, at), follow="true" if follow else "false")
        return _stat_of(found)

    def readlink(self, path: bytes, *, at: Handle | None = None) -> bytes:
        path = _absolute(path, at)
        target = self.ask("GET", "/stat", path)["target"]
        if target is None:
            raise failure(errno.EINVAL, path)
        return str(target).encode("utf-8", "surrogateescape")

    def scandir(self, path: bytes, *, at: Handle | None = None) -> list[DirEntry]:
        found = self.ask("GET", "/list", _absolute(path, at))["entries"]
        return [
            DirEntry(one["name"].encode("utf-8", "surrogateescape"), 0, FileKind(_KINDS[one["type"]]))
            for one in found
        ]

    # -- changing ------------------------------------------------------------------------------------------

    def mkdir(self, path: bytes, mode: int = 0o777, *, at: Handle | None = None) -> None:
        self.ask("POST", "/directory", _absolute(path, at), {})

    def rmdir(self, path: bytes, *, at: Handle | None = None) -> None:
        path = _absolute(path, at)
        if self.stat(path, follow=False).kind is not FileKind.DIRECTORY:
            raise failure(errno.ENOTDIR, path)
        self.ask("DELETE", "", path)

    def unlink(self, path: bytes, *, at: Handle | None = None) -> None:
        path = _absolute(path, at)
        if self.stat(path, follow=False).kind is FileKind.DIRECTORY:
            raise failure(errno.EISDIR, path)
        self.ask("DELETE", "", path)

    def rename(
        self, old: bytes, new: bytes, *, old_at: Handle | None = None, new_at: Handle | None = None
    ) -> None:
        self.ask("POST", "/rename", _absolute(old, old_at), {"to": _text(_absolute(new, new_at))})

    def symlink(self, target: bytes, path: bytes, *, at: Handle | None = None) -> None:
        self.ask("POST", "/link", _absolute(path, at), {"target": _text(target)})

    # -- what a server does not have -----------------------------------------------------------------------

    def usage(self) -> FileSystemUsage:
        return FileSystemUsage(0, None, 0, None)

    def open_node(self, device: int, inode: int, flags: OpenFlags) -> Handle:
        raise failure(errno.ESTALE)

    def discard_orphans(self) -> None:
        return

    def link(
        self,
        old: bytes,
        new: bytes,
        *,
        follow: bool = False,
        old_at: Handle | None = None,
        new_at: Handle | None = None,
    ) -> None:
        raise failure(errno.ENOTSUP, old)

    def utime(
        self,
        path: bytes,
        atime: int | None,
        mtime: int | None,
        *,
        follow: bool = True,
        at: Handle | None = None,
    ) -> None:
        return  # times are the server's

    def chmod(self, path: bytes, mode: int, *, follow: bool = True, at: Handle | None = None) -> None:
        return  # as are modes

    def fork(self) -> Self:
        return _refuse()

    def snapshot(self) -> FileSystemSnapshot:
        return _refuse()

    def restore(self, snapshot: FileSystemSnapshot) -> None:
        _refuse()

    def read_manifest(self, manifest: Manifest, chunks: Mapping[str, bytes]) -> FileSystemSnapshot:
        return _refuse()


class _ServerFile(Handle):
    """An open file, whose contents are here until `flush`, or an open directory."""

    __slots__ = ("_contents", "_filesystem", "_has_changed", "_path")

    def __init__(self, filesystem: ServerFileSystem, path: bytes, contents: bytes | None) -> None:
        self._filesystem = filesystem
        self._path = path
        self._contents = None if contents is None else bytearray(contents)
        self._has_changed = contents is not None and not contents

    @property
    def _data(self) -> bytearray:
        if self._contents is None:
            raise failure(errno.EISDIR, self._path)
        return self._contents

    def stat(self) -> Stat:
        found = self._filesystem.stat(self._path)
        return found if self._contents is None else found._replace(size=len(self._contents))

    def read(self, size: int, offset: int) -> bytes:
        return bytes(self._data[offset : offset + size])

    def write(self, data: bytes | memoryview, offset: int) -> int:
        contents = self._data
        if offset > len(contents):
            contents.extend(bytes(offset - len(contents)))
        contents[offset : offset + len(data)] = data
        self._has_changed = True
        return len(data)

    def append(self, data: bytes | memoryview) -> int:
        self.write(data, len(self._data))
        return len(self._data)

    def truncate(self, size: int) -> None:
        contents = self._data
        del contents[size:]
        contents.extend(bytes(size - len(contents)))
        self._has_changed = True

    def flush(self) -> None:
        """Send the contents if they have changed."""
        if self._has_changed:
            self._filesystem.send("PUT", self._path, bytes(self._data))
            self._has_changed = False

    def sync(self) -> None:
        self.flush()

    def utime(self, atime: int | None, mtime: int | None) -> None:
        return

    def chmod(self, mode: int) -> None:
        return

    def entries(self) -> list[DirEntry]:
        return self._filesystem.scandir(self._path)

    def path(self) -> bytes:
        return self._path

    def close(self) -> None:
        self.flush()


def _text(path: bytes) -> str:
    return path.decode("utf-8", "surrogateescape")


def _absolute(path: bytes, at: Handle | None) -> bytes:
    if path.startswith(b"/") or at is None:
        return path if path.startswith(b"/") else b"/" + path
    return (at.path() or b"") + b"/" + path


def _stat_of(found: Any) -> Stat:
    modified = int(found["modified_at"] * 1e9)
    mode = _KINDS[found["type"]] | found["mode"]
    return Stat(0, 0, mode, 1, found["size"], modified, modified, modified)


def _refuse() -> NoReturn:
    raise CapabilityError("snapshot", "server")
