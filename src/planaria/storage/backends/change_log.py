"""A file of changes to documents, each transaction of which is appended and flushed as one.

    magic        7 bytes
    layout       1 byte: a line feed; a letter or digit in layouts to come, which this version refuses
    generation   8 random bytes: another file has others
    entries      back to back, each of them:
        mark         the generation again
        size         uint32, of what follows the checksum
        checksum     16 bytes of BLAKE2b over what follows
        time         float64, in seconds since 1970
        count        uint32
        changes      so many, each: size of the path (uint16), size of the contents (int64; -1 removes), path
        contents     back to back

Numbers are little-endian. Zeros may follow, which the next entries overwrite: a file that does not grow is
flushed in half the time. A last entry that is not whole is not there: its writer was killed, or the machine
stopped, before it was answered. Where nothing of it is missing, and anywhere else, it is damage, by which
nothing is dropped. Those who write and read hold the lock of the backend.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import struct
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from planaria.errors import StorageError
from planaria.storage.atomic import sync_directory
from planaria.storage.paths import folder_of

__all__ = ["ChangeLog", "Logged", "LoggedFolder"]

_MAGIC: Final = b"\x8aPLNlog"
_LAYOUT: Final = b"\n"
_GENERATION: Final = 8
_BEGIN: Final = len(_MAGIC + _LAYOUT) + _GENERATION
_SIZE: Final = struct.Struct("<8sI16s")
_HEAD: Final = struct.Struct("<dI")
_CHANGE: Final = struct.Struct("<Hq")
_REMOVED: Final = -1
#: So many zeros are written behind an entry that has come to the end of the file.
_RESERVE: Final = 64 << 10
#: A disk writes so many bytes at once.
_BLOCK: Final = 512
#: The most bytes of an entry; what is larger is kept in files.
MOST: Final = (1 << 32) - 1

_datasync: Final = getattr(os, "fdatasync", os.fsync)


@dataclass(frozen=True, slots=True)
class Logged:
    """The last change of a document."""

    offset: int
    """Where its contents are in the file."""
    size: int
    """Of its contents, in bytes; -1 where it was removed."""
    modified: float

    @property
    def is_removed(self) -> bool:
        return self.size == _REMOVED


class LoggedFolder:
    """The last changes of the documents of a folder."""

    __slots__ = ("last", "present", "removed")

    def __init__(self) -> None:
        self.present: dict[str, Logged] = {}
        """By name, those that were written last."""
        self.removed: dict[str, Logged] = {}
        """Those that were removed."""
        self.last = 0
        """Where the contents of the latest change are."""

    def take(self, name: str, logged: Logged) -> None:
        """Know another change."""
        self.last = logged.offset
        (self.present if logged.is_removed else self.removed).pop(name, None)
        (self.removed if logged.is_removed else self.present)[name] = logged


_UNCHANGED: Final = LoggedFolder()


class _File:
    """One generation of the log. It is closed when it is used no more."""

    def __init__(self, place: Path, flags: int) -> None:
        self._place = place
        self.descriptor = os.open(place, flags | getattr(os, "O_CLOEXEC", 0), 0o666)
        status = os.fstat(self.descriptor)
        self.identity = (status.st_dev, status.st_ino)
        self.generation = b""
        self.written = 0
        """Where the last whole entry that is known here ends."""
        self._flushed = 0
        self._flushing = threading.Lock()

    def __del__(self) -> None:
        with contextlib.suppress(AttributeError, OSError):
            os.close(self.descriptor)

    def read(self, offset: int, size: int) -> bytes:
        """Raises StorageError where there is less."""
        pieces: list[bytes] = []
        while size:
            piece = os.pread(self.descriptor, size, offset)
            if not piece:
                raise StorageError(f"{self._place} has become shorter: something else has changed it")
            pieces.append(piece)
            offset += len(piece)
            size -= len(piece)
        return b"".join(pieces)

    def ends_at(self, offset: int) -> bool:
        """Whether nothing is there, or zeros where the next entry will be."""
        return not os.pread(self.descriptor, _GENERATION, offset).strip(b"\0")

    def flush(self, end: int) -> None:
        """Have everything up to `end` on the disk. Of several that come at once, one does it for all."""
        with self._flushing:
            if self._flushed < end:
                written = self.written
                _datasync(self.descriptor)
                self._flushed = written


class ChangeLog:
    """The log at `place`, which is created when something is first added; as it was when last refreshed."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._file: _File | None = None
        self._forget()

    def _forget(self) -> None:
        self._file = None
        self.end = 0
        """Where the last whole entry ends: the size of the file."""
        self._folders: dict[str, LoggedFolder] = {}
        #: Whether something else than zeros follows the last whole entry: of a writer that was killed.
        self._has_rest = False

    # -- reading -------------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Read what others have added, or another generation from its beginning. Raises StorageError."""
        try:
            status = os.stat(self._place)
        except FileNotFoundError:
            self._forget()
            return
        if status.st_size <= _BEGIN:  # nothing was answered yet, if it is whole at all
            self._forget()
            return
        if self._file is None or self._file.identity != (status.st_dev, status.st_ino):
            self._forget()
            file = _open(self._place)
            head = os.pread(file.descriptor, _BEGIN, 0)
            if head.startswith(_MAGIC) and head[len(_MAGIC) : len(_MAGIC) + 1].isalnum():
                raise StorageError(
                    f"{self._place} was written by a later version of planaria, in a way that this one does "
                    "not know: update this one, or use another directory"
                )
            if len(head) < _BEGIN or not head.startswith(_MAGIC + _LAYOUT):
                raise StorageError(f"{self._place} is damaged: its beginning is not that of a log of changes")
            file.generation = head[-_GENERATION:]
            self._file, self.end = file, _BEGIN
        elif self._file.ends_at(self.end):
            return
        if self.end < status.st_size:
            self._read_on(self._file, self._file.read(self.end, status.st_size - self.end))

    def is_current(self) -> bool:
        """Whether nothing was added since the log was last refreshed, and it is of the same generation."""
        if self._file is None:
            return False
        try:
            status = os.stat(self._place)
        except FileNotFoundError:
            return False
        return self._file.identity == (status.st_dev, status.st_ino) and self._file.ends_at(self.end)

    def _read_on(self, file: _File, data: bytes) -> None:
        """Take the entries in `data`, up to one that is cut off. Raises StorageError for damage."""
        at = 0
        while at < len(data) and (body := _body(data, at, file.generation)) is not None:
            self._take(body, self.end + _SIZE.size)
            at += _SIZE.size + len(body)
            self.end += _SIZE.size + len(body)
        file.written = self.end
        self._has_rest = bool(data[at:].strip(b"\0"))
        if at < len(data) and _is_damaged(data, at, file.generation):
            raise StorageError(
                f"{self._place} is damaged at byte {self.end}, so that what was saved there and later cannot "
                "be read. Restore the directory from a copy, or keep what was saved before, by cutting the "
                f"file off there (truncate -s {self.end})"
            )

    def _take(self, body: bytes, offset: int) -> None:
        """Know the changes of an entry whose `body` is at `offset`."""
        modified, count = _HEAD.unpack_from(body)
        at = _HEAD.size
        changes: list[tuple[str, int]] = []
        for _ in range(count):
            length, size = _CHANGE.unpack_from(body, at)
            at += _CHANGE.size + length
            changes.append((body[at - length : at].decode(), size))
        for path, size in changes:
            folder, name = folder_of(path)
            self._folders.setdefault(folder, LoggedFolder()).take(name, Logged(offset + at, size, modified))
            at += max(0, size)

    @property
    def generation(self) -> bytes:
        """Changes when the log is replaced; empty without one."""
        return b"" if self._file is None else self._file.generation

    @property
    def folders(self) -> list[str]:
        """The folders that have changes."""
        return list(self._folders)

    def in_folder(self, folder: str) -> LoggedFolder:
        """The last changes of the documents of a folder."""
        return self._folders.get(folder, _UNCHANGED)

    def find(self, path: str) -> Logged | None:
        """The last change of a document, if there is one."""
        folder, name = folder_of(path)
        found = self.in_folder(folder)
        return found.present.get(name) or found.removed.get(name)

    def changes(self) -> Iterator[tuple[str, Logged]]:
        """The last change of each document."""
        for folder, found in self._folders.items():
            for name, logged in (*found.present.items(), *found.removed.items()):
                yield (f"{folder}/{name}" if folder else name), logged

    def contents(self, logged: Logged) -> bytes:
        """What a document was changed to, of this generation. Raises StorageError."""
        assert self._file is not None
        return self._file.read(logged.offset, logged.size)

    # -- writing, with the exclusive lock ------------------------------------------------------------------

    def append(self, changes: Mapping[str, bytes | None]) -> None:
        """Add an entry; it is on the disk after `flush`. Raises OSError, and then nothing was added."""
        if self._file is None:
            self._create(self._place)
        assert self._file is not None
        entry, body_at = _entry(changes, self._file.generation)
        descriptor = self._file.descriptor
        try:
            if self._has_rest:
                os.ftruncate(descriptor, self.end)
            if self.end + len(entry) <= os.fstat(descriptor).st_size or not self._is_reserved(entry):
                _write(descriptor, entry, self.end)
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(descriptor, self.end)
            raise
        self._has_rest = False
        self._take(entry[body_at:], self.end + body_at)
        self.end += len(entry)
        self._file.written = self.end

    def _is_reserved(self, entry: bytes) -> bool:
        """Add an entry with zeros behind it; False where there is no room for these."""
        assert self._file is not None
        try:
            _write(self._file.descriptor, entry + bytes(_RESERVE), self.end)
        except OSError:
            os.ftruncate(self._file.descriptor, self.end)
            return False
        return True

    def _create(self, place: Path) -> None:
        """Begin a log that has no changes."""
        place.unlink(missing_ok=True)
        file = _File(place, os.O_RDWR | os.O_CREAT | os.O_EXCL)
        file.generation = os.urandom(_GENERATION)
        _write(file.descriptor, _MAGIC + _LAYOUT + file.generation, 0)
        os.fsync(file.descriptor)
        if place == self._place:
            sync_directory(place.parent)
        self._forget()
        self._file, self.end = file, _BEGIN

    def replace(self, changes: Mapping[str, bytes | None]) -> None:
        """Begin another generation, with these changes only. Raises OSError, and then all is as it was."""
        other = ChangeLog(self._place)
        partial = self._place.with_name(self._place.name + ".partial")
        other._create(partial)
        if changes:
            other.append(changes)
        other.flusher()()
        os.replace(partial, self._place)
        sync_directory(self._place.parent)
        self._file, self.end, self._folders = other._file, other.end, other._folders
        self._has_rest = False

    def flusher(self) -> _Flush:
        """What has all that was added up to now on the disk, without a lock."""
        assert self._file is not None
        return _Flush(self._file, self.end)


@dataclass(frozen=True, slots=True)
class _Flush:
    _file: _File
    _end: int

    def __call__(self) -> None:
        """Raises OSError."""
        self._file.flush(self._end)


def _open(place: Path) -> _File:
    try:
        return _File(place, os.O_RDWR)
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise
        return _File(place, os.O_RDONLY)  # for a user who may only read


def _body(data: bytes, at: int, generation: bytes) -> bytes | None:
    """What is in the entry there; None if it is not whole."""
    if at + _SIZE.size > len(data):
        return None
    mark, size, checksum = _SIZE.unpack_from(data, at)
    body = data[at + _SIZE.size : at + _SIZE.size + size]
    return body if mark == generation and len(body) == size and _checksum(body) == checksum else None


def _is_damaged(data: bytes, at: int, generation: bytes) -> bool:
    """Whether what is not a whole entry is something else than the rest of a write that was interrupted: it
    does not begin as one, it was written to its end, or whole entries follow.
    """
    begin = data[at : at + len(generation)]
    if not generation.startswith(begin.rstrip(b"\0")) or _was_whole(data, at):
        return True
    while (at := data.find(generation, at + 1)) >= 0:
        if _body(data, at, generation) is not None:
            return True
    return False


def _was_whole(data: bytes, at: int) -> bool:
    """Whether an entry that is not whole once was: but for one bit of its size or checksum, or in that
    nothing of it is missing. What a write did not get to is zeros, at the end or in blocks.
    """
    start = at + _SIZE.size
    if start > len(data):
        return False
    _, size, checksum = _SIZE.unpack_from(data, at)
    for length in (size, *(size ^ 1 << bit for bit in range(32))):
        body = data[start : start + length]
        if len(body) == length and _differing_bits(_checksum(body), checksum) <= 1:
            return True
    body = data[start : start + size]
    return len(body) == size > 0 and body[-1] != 0 and bytes(_BLOCK) not in body


def _differing_bits(one: bytes, other: bytes) -> int:
    return (int.from_bytes(one) ^ int.from_bytes(other)).bit_count()


def _entry(changes: Mapping[str, bytes | None], generation: bytes) -> tuple[bytes, int]:
    """An entry, and where its body begins."""
    pieces = [_HEAD.pack(time.time(), len(changes))]
    for path, data in changes.items():
        name = path.encode()
        pieces += [_CHANGE.pack(len(name), _REMOVED if data is None else len(data)), name]
    body = b"".join([*pieces, *(data for data in changes.values() if data)])
    return _SIZE.pack(generation, len(body), _checksum(body)) + body, _SIZE.size


def _checksum(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=16).digest()


def _write(descriptor: int, data: bytes, offset: int) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(descriptor, view, offset)
        offset += written
        view = view[written:]
