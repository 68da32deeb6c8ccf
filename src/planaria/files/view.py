"""The view that users have of a filesystem: text paths, plain values, FileSystemError."""

from __future__ import annotations

import errno
import html
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from typing import IO, TYPE_CHECKING, Any, BinaryIO, NamedTuple

from planaria.errors import FileSystemError
from planaria.files.filesystem import (
    FileKind,
    FileSystem,
    FileSystemSnapshot,
    Handle,
    OpenFlags,
    Stat,
    failure,
)
from planaria.files.globbing import matching_paths
from planaria.files.manifest import bytes_of, text_of
from planaria.files.stream import HandleIO
from planaria.files.transfer import ImportBudget, copy_tree
from planaria.representation import Shown

if TYPE_CHECKING:
    from planaria.files.fsspec_adapter import PlanariaFileSystem

__all__ = ["FileDifference", "Files"]

_PIECE = 1 << 20


class FileDifference(NamedTuple):
    """Paths, sorted, as in `Difference`."""

    added: list[str]
    removed: list[str]
    changed: list[str]


@contextmanager
def _reporting(path: str) -> Iterator[None]:
    """OSErrors of the filesystem as FileSystemErrors with the path that the user gave."""
    try:
        yield
    except FileSystemError:
        raise
    except OSError as error:
        name = error.filename
        shown = text_of(name) if isinstance(name, bytes) and name else name or path
        raise FileSystemError(error.errno, error.strerror, shown) from error


class Files(Shown):
    """Files by name. Relative paths start at `base`; links are followed as the guest would.

    Every method raises `FileSystemError`, which is an OSError with `errno` and `filename`.
    """

    def __init__(self, filesystem: FileSystem, base: str = "/") -> None:
        self.filesystem = filesystem
        self._base = base

    def _path(self, path: str | PathLike[str]) -> bytes:
        text = os.fspath(path).replace("\\", "/") if os.name == "nt" else os.fspath(path)
        if not text.startswith("/"):
            text = self._base.rstrip("/") + "/" + text
        try:
            return bytes_of(text)
        except UnicodeEncodeError as error:
            raise FileSystemError(errno.EILSEQ, os.strerror(errno.EILSEQ), text) from error

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of a {type(self.filesystem).__name__}>"

    def _repr_html_(self) -> str:
        """For notebooks: the names in the base directory, with their sizes."""
        rows = []
        for name in self.listdir("."):
            path = f"{self._base.rstrip('/')}/{name}"
            is_directory = self.is_dir(path)
            size = "" if is_directory else f"{self.stat(path, follow=False).size:,}"
            rows.append(f"<tr><td>{html.escape(name)}{'/' * is_directory}</td><td>{size}</td></tr>")
        return f"<table><tr><th>{html.escape(self._base)}</th><th>bytes</th></tr>{''.join(rows)}</table>"

    # -- contents ----------------------------------------------------------------------------------

    def read_bytes(self, path: str | PathLike[str]) -> bytes:
        """All contents of a file."""
        name = self._path(path)
        with _reporting(os.fspath(path)):
            handle = self.filesystem.open(name, OpenFlags.READ)
            try:
                if handle.stat().kind is FileKind.DIRECTORY:
                    raise failure(errno.EISDIR, name)
                pieces: list[bytes] = []
                offset = 0
                while piece := handle.read(max(_PIECE, handle.stat().size - offset), offset):
                    pieces.append(piece)
                    offset += len(piece)
                    if handle.stat().kind is FileKind.CHARACTER_DEVICE:
                        break
                return b"".join(pieces)
            finally:
                handle.close()

    def read_text(self, path: str | PathLike[str], encoding: str = "utf-8", errors: str = "strict") -> str:
        """All contents of a file as text, with newlines as they are."""
        return self.read_bytes(path).decode(encoding, errors)

    def write_bytes(self, path: str | PathLike[str], data: bytes | bytearray | memoryview) -> int:
        """Make the file or replace its contents; its directory has to exist. Gives the bytes written.

        When there is no room, the old contents stay as they were, and a new file is not created.
        """
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise TypeError(f"data must be bytes, not {type(data).__name__}; use write_text for a str")
        view = memoryview(data).cast("B")
        new = not self.exists(path)
        try:
            with self._opened(path, OpenFlags.WRITE | OpenFlags.CREATE) as handle:
                handle.write(view, 0)
                if handle.stat().size != len(view):
                    handle.truncate(len(view))
        except FileSystemError as error:
            if new and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) and self.exists(path):
                self.remove(path)
            raise
        return len(view)

    def write_text(
        self, path: str | PathLike[str], text: str, encoding: str = "utf-8", errors: str = "strict"
    ) -> int:
        """Make the file or replace its contents by text, with newlines as they are."""
        if not isinstance(text, str):
            raise TypeError(f"text is a str, not {type(text).__name__}; use write_bytes() for bytes")
        return self.write_bytes(path, text.encode(encoding, errors))

    def append_bytes(self, path: str | PathLike[str], data: bytes | bytearray | memoryview) -> int:
        """Write at the end of the file, which is made if there is none; gives its new size."""
        flags = OpenFlags.WRITE | OpenFlags.CREATE | OpenFlags.APPEND
        with self._opened(path, flags) as handle:
            return handle.append(memoryview(data).cast("B"))

    @contextmanager
    def _opened(self, path: str | PathLike[str], flags: OpenFlags) -> Iterator[Handle]:
        name = self._path(path)
        with _reporting(os.fspath(path)):
            handle = self.filesystem.open(name, flags, 0o644)
            try:
                yield handle
            finally:
                handle.close()

    def open(
        self,
        path: str | PathLike[str],
        mode: str = "r",
        *,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
    ) -> IO[Any]:
        """A file object, as from the built-in `open`; text is UTF-8 unless said otherwise."""
        letters = set(mode)
        if len(letters) != len(mode) or len(letters & set("rwax")) != 1 or letters - set("rwaxbt+"):
            raise ValueError(f"invalid mode: {mode!r}")
        action = (letters & set("rwax")).pop()
        flags = {
            "r": OpenFlags.READ,
            "w": OpenFlags.WRITE | OpenFlags.CREATE | OpenFlags.TRUNCATE,
            "a": OpenFlags.WRITE | OpenFlags.CREATE | OpenFlags.APPEND,
            "x": OpenFlags.WRITE | OpenFlags.CREATE | OpenFlags.EXCLUSIVE,
        }[action]
        if "+" in letters:
            flags |= OpenFlags.READ | OpenFlags.WRITE
        name = self._path(path)
        with _reporting(os.fspath(path)):
            handle = self.filesystem.open(name, flags, 0o644)
            if handle.stat().kind is FileKind.DIRECTORY:
                handle.close()
                raise failure(errno.EISDIR, name)
        readable, writable = bool(flags & OpenFlags.READ), bool(flags & OpenFlags.WRITE)
        raw = HandleIO(handle, os.fspath(path), readable=readable, writable=writable, appending=action == "a")
        binary: Any
        if readable and writable:
            binary = io.BufferedRandom(raw)
        else:
            binary = io.BufferedReader(raw) if readable else io.BufferedWriter(raw)
        if "b" in letters:
            return binary  # type: ignore[no-any-return]
        return io.TextIOWrapper(binary, encoding=encoding or "utf-8", errors=errors, newline=newline)

    # -- looking -------------------------------------------------------------------------------------

    def stat(self, path: str | PathLike[str], *, follow: bool = True) -> Stat:
        """What stat(2) reports of a path, or lstat(2) without `follow`."""
        name = self._path(path)
        with _reporting(os.fspath(path)):
            return self.filesystem.stat(name, follow=follow)

    def _kind(self, path: str | PathLike[str], follow: bool = True) -> FileKind | None:
        try:
            return self.filesystem.stat(self._path(path), follow=follow).kind
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
                return None
            raise FileSystemError(error.errno, error.strerror, os.fspath(path)) from error

    def exists(self, path: str | PathLike[str]) -> bool:
        """Whether there is something at the path; False for a link that leads nowhere."""
        return self._kind(path) is not None

    def is_file(self, path: str | PathLike[str]) -> bool:
        """Whether the path leads to a regular file."""
        return self._kind(path) is FileKind.REGULAR

    def is_dir(self, path: str | PathLike[str]) -> bool:
        """Whether the path leads to a directory."""
        return self._kind(path) is FileKind.DIRECTORY

    def is_symlink(self, path: str | PathLike[str]) -> bool:
        """Whether the path itself is a symbolic link."""
        return self._kind(path, follow=False) is FileKind.SYMBOLIC_LINK

    def readlink(self, path: str | PathLike[str]) -> str:
        """The target of a symbolic link."""
        name = self._path(path)
        with _reporting(os.fspath(path)):
            return text_of(self.filesystem.readlink(name))

    def listdir(self, path: str | PathLike[str] = ".") -> list[str]:
        """The names in a directory, sorted."""
        name = self._path(path)
        with _reporting(os.fspath(path)):
            return sorted(text_of(entry.name) for entry in self.filesystem.scandir(name))

    def walk(self, path: str | PathLike[str] = ".") -> Iterator[tuple[str, list[str], list[str]]]:
        """As `os.walk`, top down and sorted: directory, names of directories, other names.

        Links to directories are listed with the other names and not followed; the list of
        directories may be changed to leave some out.
        """
        name = self._path(path)
        pending = [name.rstrip(b"/") or b"/"]
        while pending:
            directory = pending.pop()
            with _reporting(os.fspath(path)):
                entries = sorted(self.filesystem.scandir(directory))
            directories = [text_of(e.name) for e in entries if e.kind is FileKind.DIRECTORY]
            others = [text_of(e.name) for e in entries if e.kind is not FileKind.DIRECTORY]
            yield text_of(directory), directories, others
            pending += [directory.rstrip(b"/") + b"/" + bytes_of(inner) for inner in reversed(directories)]

    def glob(self, pattern: str) -> list[str]:
        """The paths that match, sorted and absolute.

        `*`, `?` and `[...]` match within a name, `**` any number of directories; names that begin with
        a dot are matched only by a pattern that does, too. Links to directories are not descended by `**`.
        """
        if not isinstance(pattern, str):
            raise TypeError(f"the pattern must be a str, not {type(pattern).__name__}")
        with _reporting(pattern):
            start = b"/" if pattern.startswith("/") else self._path("")
            found = matching_paths(self.filesystem, start, pattern)
        return sorted({text_of(path) for path in found})

    # -- changing --------------------------------------------------------------------------------------

    def mkdir(self, path: str | PathLike[str], *, parents: bool = False, exist_ok: bool = False) -> None:
        """Make a directory; with `parents` also those above it, with `exist_ok` it may be there."""
        name = self._path(path)
        with _reporting(os.fspath(path)):
            self._mkdir(name, parents, exist_ok)

    def _mkdir(self, name: bytes, parents: bool, exist_ok: bool) -> None:
        if parents:
            at = b""
            for part in name.rstrip(b"/").split(b"/")[:-1]:
                if part:
                    at += b"/" + part
                    try:
                        self.filesystem.mkdir(at, 0o755)
                    except OSError as error:
                        if error.errno not in (errno.EEXIST, errno.EROFS, errno.EISDIR):
                            raise
        try:
            self.filesystem.mkdir(name, 0o755)
        except FileExistsError:
            if not exist_ok or self.filesystem.stat(name).kind is not FileKind.DIRECTORY:
                raise

    def symlink(self, target: str | PathLike[str], path: str | PathLike[str]) -> None:
        """Make a symbolic link at `path` that holds `target` as it is."""
        name = self._path(path)
        with _reporting(os.fspath(path)):
            self.filesystem.symlink(bytes_of(os.fspath(target)), name)

    def remove(self, path: str | PathLike[str]) -> None:
        """Remove a file or link, or an empty directory."""
        name = self._path(path)
        with _reporting(os.fspath(path)):
            if self.filesystem.stat(name, follow=False).kind is FileKind.DIRECTORY:
                self.filesystem.rmdir(name)
            else:
                self.filesystem.unlink(name)

    def rmtree(self, path: str | PathLike[str]) -> None:
        """Remove a directory with everything in it; links in it are removed, not followed."""
        top = self._path(path).rstrip(b"/") or b"/"
        with _reporting(os.fspath(path)):
            if self.filesystem.stat(top, follow=False).kind is not FileKind.DIRECTORY:
                raise failure(errno.ENOTDIR, top)
            directories: list[bytes] = []
            pending = [top]
            while pending:
                directory = pending.pop()
                directories.append(directory)
                for entry in self.filesystem.scandir(directory):
                    inner = directory.rstrip(b"/") + b"/" + entry.name
                    if entry.kind is FileKind.DIRECTORY:
                        pending.append(inner)
                    else:
                        self.filesystem.unlink(inner)
            for directory in reversed(directories):
                self.filesystem.rmdir(directory)

    def rename(self, old: str | PathLike[str], new: str | PathLike[str]) -> None:
        """Move a file or directory, replacing a file (or an empty directory) that has the new name."""
        source, target = self._path(old), self._path(new)
        with _reporting(os.fspath(old)):
            self.filesystem.rename(source, target)

    # -- in and out ------------------------------------------------------------------------------------

    def copy_in(
        self, host_path: str | PathLike[str], path: str | PathLike[str], *, max_bytes: int | None = None
    ) -> None:
        """Copy a file or directory of the host to `path`; directories above it are made.

        Links inside are copied as links. Devices, FIFOs and sockets are refused.
        """
        from planaria.files.host import HostFileSystem

        name = self._path(path)
        host = os.path.abspath(host_path)
        with _reporting(host):
            os.lstat(host)  # names it, where it is missing, as the user knows it
            is_directory = os.path.isdir(host)
            source = HostFileSystem(host if is_directory else os.path.dirname(host))
            inside = b"/" if is_directory else b"/" + os.fsencode(os.path.basename(host))
            self._make_parent(name)
            copy_tree(source, inside, self.filesystem, name, budget=ImportBudget(max_bytes))

    def copy_out(
        self, path: str | PathLike[str], host_path: str | PathLike[str], *, max_bytes: int | None = None
    ) -> None:
        """Copy a file or directory to the host; the directory it goes into is made.

        Nothing is written outside of `host_path`: links already there are replaced, not followed, and
        links of the guest that could lead out of the copied tree are refused (EPERM).
        """
        from planaria.files.host import HostFileSystem

        name = self._path(path)
        host = os.path.abspath(host_path)
        with _reporting(os.fspath(path)):
            if self.filesystem.stat(name).kind is FileKind.DIRECTORY:
                os.makedirs(host, exist_ok=True)
                target, inside = HostFileSystem(host, read_only=False), b"/"
            else:
                if os.path.isdir(host):
                    raise failure(errno.EISDIR, os.fsencode(host))
                os.makedirs(os.path.dirname(host), exist_ok=True)
                target = HostFileSystem(os.path.dirname(host), read_only=False)
                inside = b"/" + os.fsencode(os.path.basename(host))
            copy_tree(self.filesystem, name, target, inside, budget=ImportBudget(max_bytes), contained=True)

    def _make_parent(self, name: bytes) -> None:
        above = name.rstrip(b"/").rpartition(b"/")[0]
        if above:
            self._mkdir(above, parents=True, exist_ok=True)

    def export_tar(
        self, path: str | PathLike[str], file: str | PathLike[str] | BinaryIO, *, compression: str = ""
    ) -> None:
        """Write what is in a directory to a tar archive of the host (or a binary file object).

        `compression` is one of "", "gz", "bz2" and "xz".
        """
        from planaria.files.archive import export_tar

        name = self._path(path)
        with _reporting(os.fspath(path)), _host_file(file, "wb") as stream:
            export_tar(self.filesystem, name, stream, compression=compression)

    def export_zip(self, path: str | PathLike[str], file: str | PathLike[str] | BinaryIO) -> None:
        """Write what is in a directory to a zip archive of the host (or a binary file object)."""
        from planaria.files.archive import export_zip

        name = self._path(path)
        with _reporting(os.fspath(path)), _host_file(file, "wb") as stream:
            export_zip(self.filesystem, name, stream)

    def import_tar(
        self,
        file: str | PathLike[str] | BinaryIO,
        path: str | PathLike[str],
        *,
        max_bytes: int | None = None,
        max_nodes: int | None = None,
    ) -> None:
        """Unpack a tar archive of the host, compressed or not, into a directory, which is made.

        The archive may come from anyone: unsafe names and types are refused.
        """
        from planaria.files.archive import import_tar

        name = self._path(path)
        with _reporting(os.fspath(path)), _host_file(file, "rb") as stream:
            self._mkdir(name, parents=True, exist_ok=True)
            import_tar(self.filesystem, name, stream, max_bytes=max_bytes, max_nodes=max_nodes)

    def import_zip(
        self,
        file: str | PathLike[str] | BinaryIO,
        path: str | PathLike[str],
        *,
        max_bytes: int | None = None,
        max_nodes: int | None = None,
    ) -> None:
        """Unpack a zip archive of the host into a directory, which is made; as `import_tar`."""
        from planaria.files.archive import import_zip

        name = self._path(path)
        with _reporting(os.fspath(path)), _host_file(file, "rb") as stream:
            self._mkdir(name, parents=True, exist_ok=True)
            import_zip(self.filesystem, name, stream, max_bytes=max_bytes, max_nodes=max_nodes)

    # -- as a whole --------------------------------------------------------------------------------------

    def diff(self, other: Files | FileSystem | FileSystemSnapshot) -> FileDifference:
        """What is added, removed and changed in `other`, compared with this."""
        with _reporting("/"):
            found = self.filesystem.diff(other.filesystem if isinstance(other, Files) else other)
        return FileDifference(*([text_of(path) for path in paths] for paths in found))

    def fsspec(self) -> PlanariaFileSystem:
        """An fsspec filesystem over the same files; needs the extra `planaria[fsspec]`."""
        from planaria.files.fsspec_adapter import PlanariaFileSystem

        return PlanariaFileSystem(files=self)


@contextmanager
def _host_file(file: str | PathLike[str] | BinaryIO, mode: str) -> Iterator[BinaryIO]:
    if isinstance(file, (str, PathLike)):
        with open(file, mode) as stream:
            yield stream  # type: ignore[misc]
    else:
        yield file
