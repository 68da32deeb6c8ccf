"""Trees as tar and zip archives. What is imported may come from anyone.

Names that are absolute or hold `..` are refused, and so is anything below a link or a file: an archive
cannot write outside of the directory that it is unpacked into, not even elsewhere in the guest.
"""

from __future__ import annotations

import bz2
import calendar
import errno
import gzip
import io
import lzma
import stat as modes
import struct
import tarfile
import time
import zipfile
import zlib
from typing import IO, BinaryIO, Final, NoReturn, cast

from planaria.errors import FileSystemError
from planaria.files.filesystem import FileKind, FileSystem, OpenFlags, failure
from planaria.files.manifest import bytes_of, text_of
from planaria.files.transfer import PIECE, ImportBudget, write_pieces

__all__ = ["export_tar", "export_zip", "import_tar", "import_zip"]

_SECOND: Final = 1_000_000_000
_LARGEST_HEADER: Final = 4 << 20
# What the archive modules raise over damaged input: their own errors, and those of parsing without checks.
_BROKEN = (
    ArithmeticError,
    EOFError,
    LookupError,
    RuntimeError,
    ValueError,
    lzma.LZMAError,
    struct.error,
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
)


class _Reader(io.RawIOBase):
    """An open file as what the archive modules read from."""

    def __init__(self, filesystem: FileSystem, path: bytes) -> None:
        self._handle = filesystem.open(path, OpenFlags.READ | OpenFlags.NO_FOLLOW)
        self._offset = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = self._handle.read(PIECE if size < 0 else size, self._offset)
        self._offset += len(data)
        return data

    def close(self) -> None:
        self._handle.close()
        super().close()


def _walk(filesystem: FileSystem, top: bytes) -> list[tuple[bytes, str]]:
    """Paths below `top` and their names in the archive, directories before what is in them."""
    found: list[tuple[bytes, str]] = []
    pending = [(top.rstrip(b"/"), "")]
    while pending:
        directory, prefix = pending.pop()
        inner: list[tuple[bytes, str]] = []
        for entry in filesystem.scandir(directory or b"/"):
            path, name = directory + b"/" + entry.name, prefix + text_of(entry.name)
            if entry.kind not in (FileKind.DIRECTORY, FileKind.REGULAR, FileKind.SYMBOLIC_LINK):
                continue  # devices are of the place, not of the tree
            found.append((path, name))
            if entry.kind is FileKind.DIRECTORY:
                inner.append((path, name + "/"))
        pending += reversed(inner)
    return found


def export_tar(filesystem: FileSystem, path: bytes, file: BinaryIO, *, compression: str = "") -> None:
    """Write what is in the directory `path` to `file`, in POSIX pax format; devices are left out.

    `compression` is one of "", "gz", "bz2" and "xz". The same tree gives the same bytes (uncompressed).
    """
    seen: dict[tuple[int, int], str] = {}
    with tarfile.open(fileobj=file, mode=f"w:{compression}", format=tarfile.PAX_FORMAT) as archive:  # type: ignore[call-overload]
        for inner, name in _walk(filesystem, path):
            info = filesystem.stat(inner, follow=False)
            member = tarfile.TarInfo(name)
            member.mode = info.mode & 0o7777
            seconds, rest = divmod(info.mtime, _SECOND)
            member.mtime = max(0, seconds)
            if rest:
                member.pax_headers = {"mtime": f"{member.mtime}.{rest:09d}"}
            if info.kind is FileKind.DIRECTORY:
                member.type = tarfile.DIRTYPE
                archive.addfile(member)
            elif info.kind is FileKind.SYMBOLIC_LINK:
                member.type = tarfile.SYMTYPE
                member.linkname = text_of(filesystem.readlink(inner))
                archive.addfile(member)
            elif info.links > 1 and (info.device, info.inode) in seen:
                member.type = tarfile.LNKTYPE
                member.linkname = seen[info.device, info.inode]
                archive.addfile(member)
            else:
                seen[info.device, info.inode] = name
                member.size = info.size
                with _Reader(filesystem, inner) as reader:
                    archive.addfile(member, reader)


def export_zip(filesystem: FileSystem, path: bytes, file: BinaryIO) -> None:
    """Write what is in the directory `path` to `file` as a zip archive; links are kept as Unix zips do."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as archive:
        for inner, name in _walk(filesystem, path):
            info = filesystem.stat(inner, follow=False)
            is_directory = info.kind is FileKind.DIRECTORY
            moment = time.gmtime(min(max(info.mtime // _SECOND, 315_532_800), 4_354_819_198))[:6]
            try:
                member = zipfile.ZipInfo(name + "/" * is_directory, moment)
                name.encode("utf-8")
            except UnicodeEncodeError:
                raise failure(
                    errno.EILSEQ, inner, "a zip archive cannot hold a name that is not UTF-8"
                ) from None
            member.create_system = 3
            member.external_attr = info.mode << 16 | (0x10 if is_directory else 0)
            member.compress_type = zipfile.ZIP_STORED if is_directory else zipfile.ZIP_DEFLATED
            if is_directory:
                archive.writestr(member, b"")
            elif info.kind is FileKind.SYMBOLIC_LINK:
                archive.writestr(member, filesystem.readlink(inner))
            else:
                member.file_size = info.size
                with archive.open(member, "w") as writer, _Reader(filesystem, inner) as reader:
                    while piece := reader.read(PIECE):
                        writer.write(piece)


class _Unpacker:
    """Makes the members of an archive below `top`, and nothing anywhere else."""

    def __init__(self, filesystem: FileSystem, top: bytes, budget: ImportBudget) -> None:
        self.filesystem = filesystem
        self.top = top.rstrip(b"/")
        self.budget = budget
        self._directories: set[bytes] = set()

    def place(self, name: str) -> bytes:
        """Where a member goes, with the directories above it made."""
        try:
            raw = bytes_of(name)
        except UnicodeEncodeError:
            self.refuse(name, "its name is not text")
        parts = [part for part in raw.split(b"/") if part not in (b"", b".")]
        if raw.startswith(b"/") or b".." in parts or b"\0" in raw:
            self.refuse(name, "its name leads out of the archive")
        if not parts:
            return b""
        path = self.top
        for part in parts[:-1]:
            path += b"/" + part
            self.directory(path, name)
        return path + b"/" + parts[-1]

    def directory(self, path: bytes, name: str) -> None:
        """A real directory at `path`, made if there is nothing."""
        if path in self._directories:
            return
        try:
            if self.filesystem.stat(path, follow=False).kind is not FileKind.DIRECTORY:
                self.refuse(name, "what it is to be put into is not a directory")
        except FileNotFoundError:
            self.budget.node(path)
            self.filesystem.mkdir(path, 0o755)
        self._directories.add(path)

    def clear(self, path: bytes) -> None:
        """A later member replaces an earlier one, or a file that was there."""
        try:
            self.filesystem.unlink(path)
        except FileNotFoundError:
            pass

    def file(self, path: bytes, source: IO[bytes], mode: int) -> None:
        """Write contents as far as they really go, whatever was said about their length."""
        self.budget.node(path)
        self.clear(path)
        handle = self.filesystem.open(
            path, OpenFlags.WRITE | OpenFlags.CREATE | OpenFlags.EXCLUSIVE, mode & 0o777
        )
        try:
            offset = 0
            while piece := source.read(PIECE):
                self.budget.spend(len(piece), path)
                write_pieces(handle, offset, piece)
                offset += len(piece)
            if handle.stat().size != offset:
                handle.truncate(offset)
        finally:
            handle.close()

    def symlink(self, path: bytes, target: bytes) -> None:
        self.budget.node(path)
        self.clear(path)
        self.filesystem.symlink(target, path)

    def refuse(self, name: str, reason: str) -> NoReturn:
        raise FileSystemError(errno.EINVAL, f"the archive's member cannot be unpacked: {reason}", name)


def import_tar(
    filesystem: FileSystem,
    path: bytes,
    file: BinaryIO,
    *,
    max_bytes: int | None = None,
    max_nodes: int | None = None,
) -> None:
    """Unpack a tar archive, compressed or not, into the existing directory `path`.

    Raises FileSystemError for unsafe or damaged archives and OSError when the filesystem is full or a
    limit is passed; what was unpacked before stays. Owners are ignored, devices and FIFOs refused.
    """
    unpacker = _Unpacker(filesystem, path, ImportBudget(max_bytes, max_nodes))
    finished: list[tuple[bytes, int, int]] = []
    try:
        with tarfile.open(fileobj=_Bounded(_decompressed(file)), mode="r:", errorlevel=2) as archive:
            for member in archive:
                where = unpacker.place(member.name)
                when = _tar_time(member)
                if member.isdir():
                    if where:
                        unpacker.directory(where, member.name)
                        finished.append((where, member.mode & 0o1777, when))
                    continue
                if not where:
                    unpacker.refuse(member.name, "it has no name")
                if member.isreg():
                    source = archive.extractfile(member)
                    assert source is not None
                    unpacker.file(where, source, member.mode)
                    filesystem.utime(where, when, when)
                elif member.issym():
                    unpacker.symlink(where, bytes_of(member.linkname))
                elif member.islnk():
                    target = unpacker.place(member.linkname)
                    unpacker.budget.node(where)
                    if target != where:
                        unpacker.clear(where)
                        filesystem.link(target, where)
                else:
                    unpacker.refuse(member.name, "it is a device, a FIFO or of an unknown type")
    except _BROKEN as error:
        if isinstance(error, OSError):
            raise
        raise FileSystemError(errno.EINVAL, f"the tar archive is damaged: {error}") from error
    for where, mode, when in reversed(finished):
        filesystem.chmod(where, mode)
        filesystem.utime(where, when, when)


def _decompressed(file: BinaryIO) -> IO[bytes]:
    start = file.tell()
    magic = file.read(6)
    file.seek(start)
    if magic.startswith(b"\x1f\x8b"):
        return cast("IO[bytes]", gzip.GzipFile(fileobj=file))
    if magic.startswith(b"BZh"):
        return bz2.BZ2File(file)
    if magic == b"\xfd7zXZ\0":
        return lzma.LZMAFile(file)
    return file


class _Bounded(io.RawIOBase):
    """What the tar module reads from: it takes headers of any size in one piece, so that is checked here."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= _LARGEST_HEADER:
            raise tarfile.ReadError("a header is too long")
        return self._file.read(size)

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()


def _tar_time(member: tarfile.TarInfo) -> int:
    text = member.pax_headers.get("mtime", "")
    whole, _, fraction = text.partition(".")
    if whole.isdecimal() and len(whole) < 12 and (fraction or "0").isdecimal():
        return int(whole) * _SECOND + int(fraction[:9].ljust(9, "0"))
    moment = member.mtime
    return int(moment) * _SECOND if 0 <= moment < 2**33 else 0


def import_zip(
    filesystem: FileSystem,
    path: bytes,
    file: BinaryIO,
    *,
    max_bytes: int | None = None,
    max_nodes: int | None = None,
) -> None:
    """Unpack a zip archive into the existing directory `path`; raises as `import_tar`.

    Contents are counted as they come out, so an archive cannot lie about its size.
    """
    unpacker = _Unpacker(filesystem, path, ImportBudget(max_bytes, max_nodes))
    try:
        with zipfile.ZipFile(file) as archive:
            for member in archive.infolist():
                where = unpacker.place(member.filename)
                mode = member.external_attr >> 16 if member.create_system == 3 else 0
                if member.filename.endswith("/"):
                    if where:
                        unpacker.directory(where, member.filename)
                    continue
                if not where:
                    unpacker.refuse(member.filename, "it has no name")
                if member.flag_bits & 1:
                    unpacker.refuse(member.filename, "it is encrypted")
                if modes.S_IFMT(mode) not in (0, modes.S_IFREG, modes.S_IFLNK):
                    unpacker.refuse(member.filename, "it is a device, a FIFO or of an unknown type")
                with archive.open(member) as source:
                    if modes.S_ISLNK(mode):
                        unpacker.symlink(where, source.read(4096))
                    else:
                        unpacker.file(where, source, mode & 0o777 or 0o644)
                        when = _zip_time(member)
                        filesystem.utime(where, when, when)
    except _BROKEN as error:
        if isinstance(error, OSError):
            raise
        raise FileSystemError(errno.EINVAL, f"the zip archive is damaged: {error}") from error


def _zip_time(member: zipfile.ZipInfo) -> int:
    try:
        return calendar.timegm((*member.date_time, 0, 0, 0)) * _SECOND
    except ValueError:
        return 0
