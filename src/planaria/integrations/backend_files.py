"""The files of a session as agent frameworks ask for them."""

from __future__ import annotations

import errno
import os
import posixpath
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from planaria.errors import FileSystemError
from planaria.files.filesystem import FileKind, Stat
from planaria.files.view import Files

__all__ = ["BackendFiles", "Entry"]

#: So many links are followed in one path, as Linux does.
_MOST_LINKS: Final = 40
_OWNER_READS: Final = 0o400
_OWNER_WRITES: Final = 0o200


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or directory; a link is described by what it leads to, if that exists."""

    name: str
    path: str
    is_dir: bool
    size: int
    modified: float
    """Seconds since the epoch."""


@contextmanager
def _plain_errors() -> Iterator[None]:
    """The errors of the session's files as those of Python's own functions: FileNotFoundError and so on."""
    try:
        yield
    except FileSystemError as error:
        raise OSError(error.errno, error.strerror, error.filename) from None


class BackendFiles:
    """Reads and writes the files of a session, while commands run too.

    Raises FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError and other OSErrors, and
    what `check_open` raises. Permissions are those of the file's owner, who runs the commands: the sandbox
    stores them without enforcing them, so they are checked here.

    Args:
        files: the session's files.
        cwd: where relative paths start.
        check_open: called before each operation.
        is_pipe: whether an empty file is a named pipe, which only the sandbox knows.
    """

    def __init__(
        self, files: Files, cwd: str, check_open: Callable[[], None], is_pipe: Callable[[str], bool]
    ) -> None:
        self._files = files
        self._cwd = cwd
        self._check_open = check_open
        self._is_pipe = is_pipe

    def absolute(self, path: str) -> str:
        """The path from the root; ValueError for one with a null character."""
        if "\0" in path:
            raise ValueError(f"{path!r}: a path must not contain null characters")
        return posixpath.join(self._cwd, path)

    def read(self, path: str) -> bytes:
        """The contents of a regular file."""
        with self._operation(path) as place:
            found = self._files.stat(place)
            self._check_regular(place, found, _OWNER_READS)
            if not found.size and found.kind is FileKind.REGULAR and self._is_pipe(place):
                raise OSError(errno.ESPIPE, os.strerror(errno.ESPIPE), place)
            return self._files.read_bytes(place)

    def write(self, path: str, data: bytes) -> None:
        """Create a file, and the directories above it, or replace its contents."""
        with self._operation(path) as place:
            try:
                self._check_regular(place, self._files.stat(place), _OWNER_WRITES)
            except FileSystemError as error:
                if error.errno != errno.ENOENT:
                    raise
                self._files.mkdir(posixpath.dirname(place) or "/", parents=True, exist_ok=True)
            self._files.write_bytes(place, data)

    def upload(self, files: Iterable[tuple[str, bytes]]) -> None:
        """Write several files."""
        for path, data in files:
            self.write(path, data)

    def download(self, paths: Iterable[str]) -> dict[str, bytes]:
        """The contents of several files."""
        return {path: self.read(path) for path in paths}

    def stat(self, path: str) -> Entry:
        """What a path leads to."""
        with self._operation(path) as place:
            return _entry(place, self._files.stat(place))

    def list(self, path: str) -> list[Entry]:
        """What is in a directory, sorted by name."""
        with self._operation(path) as place:
            return [self._listed(posixpath.join(place, name)) for name in self._files.listdir(place)]

    def exists(self, path: str) -> bool:
        """Whether there is something at the path."""
        with self._operation(path) as place:
            return self._files.exists(place)

    def make_dir(self, path: str) -> None:
        """Create a directory and those above it, unless it exists."""
        with self._operation(path) as place:
            self._files.mkdir(place, parents=True, exist_ok=True)

    def remove(self, path: str) -> None:
        """Remove a file, a link, or a directory with all that is in it. Raises ValueError for the working
        directory and those above it.
        """
        with self._operation(path) as place:
            real = self.real_path(posixpath.dirname(posixpath.normpath(place)))
            removed = posixpath.join(real, posixpath.basename(posixpath.normpath(place)))
            if posixpath.commonpath([removed, self._cwd]) == removed:
                raise ValueError(f"{path!r} is the working directory or contains it")
            if self._files.stat(place, follow=False).kind is FileKind.DIRECTORY:
                self._files.rmtree(place)
            else:
                self._files.remove(place)

    def rename(self, path: str, new_path: str) -> None:
        """Move a file, a link or a directory, creating the directories above its new name. Raises
        FileExistsError when there is something of the new name.
        """
        with self._operation(path) as source, self._operation(new_path) as target:
            self._files.stat(source, follow=False)
            if self._files.is_symlink(target) or self._files.exists(target):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)
            self._files.mkdir(posixpath.dirname(target) or "/", parents=True, exist_ok=True)
            self._files.rename(source, target)

    def real_path(self, path: str) -> str:
        """The path without links and dots, as os.path.realpath; names that do not exist stay as they are.
        Raises OSError (ELOOP) for links in a circle.
        """
        with self._operation(path) as place:
            return self._resolved(place)

    def _resolved(self, path: str) -> str:
        pending = path.split("/")[::-1]
        real = "/"
        links = 0
        while pending:
            name = pending.pop()
            if name in ("", "."):
                continue
            if name == "..":
                real = posixpath.dirname(real)
                continue
            here = posixpath.join(real, name)
            if not self._files.is_symlink(here):
                real = here
                continue
            links += 1
            if links > _MOST_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
            target = self._files.readlink(here)
            if target.startswith("/"):
                real = "/"
            pending += target.split("/")[::-1]
        return real

    @contextmanager
    def _operation(self, path: str) -> Iterator[str]:
        self._check_open()
        place = self.absolute(path)
        with _plain_errors():
            yield place

    def _listed(self, path: str) -> Entry:
        try:
            found = self._files.stat(path)
        except FileSystemError as error:
            if error.errno not in (errno.ENOENT, errno.ELOOP, errno.ENOTDIR):
                raise
            found = self._files.stat(path, follow=False)
        return _entry(path, found)

    def _check_regular(self, path: str, found: Stat, permission: int) -> None:
        """Raise the error for what cannot be read or written as a whole."""
        if found.kind is FileKind.DIRECTORY:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        if found.kind is FileKind.REGULAR and not found.mode & permission:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)


def _entry(path: str, found: Stat) -> Entry:
    is_dir = found.kind is FileKind.DIRECTORY
    normal = posixpath.normpath(path)
    return Entry(posixpath.basename(normal), normal, is_dir, found.size, found.mtime / 1e9)
