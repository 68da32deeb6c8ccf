"""Documents as files in a directory, to be read and edited by hand.

The documents are files at their paths. Beside them:

    .storage/lock               held shared by readers, exclusively by a writer
    .storage/staging/           contents that are not yet in their place
    .storage/journal            which of them go where, while a transaction of several files is carried out

A transaction first writes all its contents into the staging directory, then the journal, as a whole, then
moves the files. Killed before the journal is there, it has done nothing; killed after, the next process that
takes the lock carries it out. Below the first level symbolic links are not followed.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Final, TypeVar

from planaria.errors import StorageError
from planaria.storage.atomic import sync_directory, write_atomically
from planaria.storage.documents import ABANDONED, CHUNK, Backend, Documents, Entry, Revision, Upload
from planaria.storage.failures import file_failures
from planaria.storage.locking import locked
from planaria.storage.paths import folder_of, why_not_a_segment

__all__ = ["FileBackend", "FileDocuments", "StagedFile"]

Result = TypeVar("Result")

_NO_FOLLOW: Final = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
#: Seconds within which two changes may have the same time: the clock of filesystems ticks slowly.
_TICK: Final = 0.05


class FileBackend(Backend):
    """Keeps documents in the directory `path`, which is created when something is first written.

    A directory that is not there has no documents. The lock is the file `lock` in it, otherwise
    `.storage/lock`. Raises StorageError when something that is not a directory is in the way.
    """

    def __init__(self, path: Path, *, lock: str = ".storage/lock") -> None:
        nearest = next(one for one in (path, *path.absolute().parents) if os.path.lexists(one))
        if not nearest.is_dir():
            with file_failures(nearest):
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        self.path = path
        self._own = path / ".storage"
        self._staging = self._own / "staging"
        self._journal = self._own / "journal"
        self._lock = path / lock

    def read(self, action: Callable[[Documents], Result]) -> Result:
        with file_failures(self.path):
            if not self._own.is_dir():  # all that is here was written by hand
                return action(FileDocuments(self.path))
            with self._locked(exclusive=False):
                if not self._journal.exists():
                    return action(FileDocuments(self.path))
            with self._locked(exclusive=True):
                self._carry_out()
            return self.read(action)

    def write(self, action: Callable[[Documents], Result]) -> Result:
        with file_failures(self.path):
            self._staging.mkdir(parents=True, exist_ok=True)
            with self._locked(exclusive=True):
                self._carry_out()
                documents = FileDocuments(self.path)
                result = action(documents)
                self._commit(documents)
                return result

    def upload(self) -> StagedFile:
        with file_failures(self.path):
            self._staging.mkdir(parents=True, exist_ok=True)
            return StagedFile(self._staging / uuid.uuid4().hex)

    @contextlib.contextmanager
    def _locked(self, *, exclusive: bool) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(locked(self._lock, exclusive=exclusive))
            except OSError:
                # Read-only for this user: a writer replaces whole files all the same.
                if exclusive:
                    raise
            yield

    def _commit(self, documents: FileDocuments) -> None:
        moves: list[tuple[str | None, str]] = []
        made: list[Upload] = []
        try:
            for path, change in documents.changes.items():
                documents.check_place(path, change is None)
                if isinstance(change, bytes):
                    made.append(self.upload())
                    made[-1].write(change)
                    change = made[-1]
                if change is not None:
                    assert isinstance(change, StagedFile)
                    change.finish()
                moves.append((None if change is None else change.place.name, path))
        except BaseException:
            for one in made:
                one.discard()
            raise
        if len(moves) > 1:
            sync_directory(self._staging)
            write_atomically(self._journal, [json.dumps(moves).encode()])
            sync_directory(self._own)
            self._carry_out(is_own=True)
        elif moves:
            staged, path = moves[0]
            self._move(staged, path)
            if staged is not None:
                sync_directory((self.path / path).parent)

    def _carry_out(self, *, is_own: bool = False) -> None:
        """Do what the journal says, if there is one: of this writer, or of one that was killed."""
        try:
            journal = self._journal.read_bytes()
        except FileNotFoundError:
            self._sweep()
            return
        moves = _read_journal(journal, self._journal)
        for _, path in moves:
            FileDocuments(self.path).check_way(path)
        folders = {(self.path / path).parent for _, path in moves}
        # Where a folder is new, so is its name in the one above; a killed writer may have created any.
        new = {one for one in folders if not is_own or not one.is_dir()}
        for staged, path in moves:
            self._move(staged, path)
        gone = {one for one in folders if not one.exists()}
        for folder in folders | {one.parent for one in new | gone if one != self.path}:
            if folder.exists():
                sync_directory(folder)
        self._journal.unlink()

    def _move(self, staged: str | None, path: str) -> None:
        place = self.path / path
        if staged is None:
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                place.unlink()
            for folder in list(place.parents)[: path.count("/") - 1]:
                try:
                    folder.rmdir()
                except OSError:  # something else is in it, or it is gone
                    break
            return
        place.parent.mkdir(parents=True, exist_ok=True)
        # Gone where a writer was killed after this move, before the journal was removed.
        with contextlib.suppress(FileNotFoundError):
            os.replace(self._staging / staged, place)

    def _sweep(self) -> None:
        """Remove contents that a process began to bring long ago."""
        with contextlib.suppress(FileNotFoundError), os.scandir(self._staging) as found:
            for one in found:
                if one.stat().st_mtime < time.time() - ABANDONED:
                    os.unlink(one.path)
        # Of a writer that was killed, since the lock is held.
        for journal in self._own.glob("journal.*.partial"):
            journal.unlink()


class StagedFile(Upload):
    """Contents in the staging directory."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self._file = place.open("xb")

    def write(self, data: bytes) -> None:
        with file_failures(self.place):
            self._file.write(data)
        self.size += len(data)

    def finish(self) -> None:
        """Write the contents through to the disk; doing it twice is harmless."""
        if not self._file.closed:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()

    def discard(self) -> None:
        with contextlib.suppress(OSError):  # of bytes that there is no room for
            self._file.close()
        self.place.unlink(missing_ok=True)


class FileDocuments(Documents):
    """The files below `root`."""

    def __init__(self, root: Path, checked: set[str] | None = None) -> None:
        """`checked` are folders that need not be looked at again, and those that were get into it."""
        super().__init__()
        self._root = os.fspath(root)
        #: Folders that were found to be directories, or to be missing, so that files can be put there.
        self._checked: set[str] = set() if checked is None else checked

    def check_way(self, path: str) -> None:
        """Raises StorageError when a folder below the first is a symbolic link."""
        end = path.find("/")
        while (end := path.find("/", end + 1)) > 0:
            folder = os.path.join(self._root, path[:end])
            if os.path.islink(folder):
                raise StorageError(
                    f"{folder} is a symbolic link, which a storage does not follow: "
                    "replace it with a directory"
                )

    def check_place(self, path: str, is_removal: bool) -> None:
        """Raises StorageError unless a file can be put there: what the journal says has to be possible."""
        if folder_of(path)[0] not in self._checked:
            self.check_way(path)
        if any(why_not_a_segment(name.removeprefix(".")) is not None for name in path.split("/")):
            raise StorageError(f"{path!r} cannot be the path of a file in the storage at {self._root}")
        place = os.path.join(self._root, path)
        try:
            is_directory = stat.S_ISDIR(os.lstat(place).st_mode)
        except (FileNotFoundError, NotADirectoryError):
            is_directory = False
        if is_directory:
            raise StorageError(f"{place} is a directory where the storage needs a file: remove it")
        end = -1 if is_removal else len(path)
        while (end := path.rfind("/", 0, max(0, end))) > 0 and path[:end] not in self._checked:
            folder = os.path.join(self._root, path[:end])
            if os.path.exists(folder) and not os.path.isdir(folder):
                raise StorageError(f"{folder} is a file where the storage needs a directory: remove it")
            self._checked.add(path[:end])

    def _open(self, path: str) -> BinaryIO | None:
        self.check_way(path)
        place = os.path.join(self._root, path)
        try:
            descriptor = os.open(place, os.O_RDONLY | (_NO_FOLLOW if "/" in path else 0))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError:
            if os.path.islink(place):
                return None  # as `entries` has it
            raise
        if not _is_file(os.fstat(descriptor)):
            os.close(descriptor)
            return None
        return os.fdopen(descriptor, "rb")

    def load(self, path: str) -> bytes | None:
        file = self._open(path)
        if file is None:
            return None
        with file:
            return file.read()

    def chunks(self, path: str) -> Iterator[bytes] | None:
        file = self._open(path)
        return None if file is None else _read_in_chunks(file)

    def entry(self, path: str) -> Entry | None:
        self.check_way(path)
        try:
            status = os.stat(os.path.join(self._root, path), follow_symlinks="/" not in path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        return _entry(status, time.time()) if _is_file(status) else None

    def entries(self, folder: str) -> dict[str, Entry]:
        now = time.time()
        found: dict[str, Entry] = {}
        for one in self._scan(folder):
            try:
                status = one.stat(follow_symlinks=False)
            except FileNotFoundError:  # another process has just removed it
                continue
            if _is_file(status) and why_not_a_segment(one.name) is None:
                found[one.name] = _entry(status, now)
        return found

    def _scan(self, folder: str) -> Iterator[os.DirEntry[str]]:
        self.check_way(folder)
        place = os.path.join(self._root, folder)
        try:
            if "/" in folder and stat.S_ISLNK(os.lstat(place).st_mode):
                return
            with os.scandir(place) as found:
                yield from found
        except (FileNotFoundError, NotADirectoryError):
            return

    def folders(self, below: str) -> list[str]:
        found: list[str] = []
        pending = [below]
        while pending:
            folder = pending.pop()
            has_documents = False
            for one in self._scan(folder):
                if why_not_a_segment(one.name) is not None:
                    continue
                if one.is_dir(follow_symlinks=False):
                    pending.append(f"{folder}/{one.name}" if folder else one.name)
                elif one.is_file(follow_symlinks=False):
                    has_documents = True
            if has_documents:
                found.append(folder)
        return sorted(found)

    def revision(self, folder: str) -> Revision:
        try:
            status = os.stat(os.path.join(self._root, folder))
        except FileNotFoundError:
            return Revision(None, is_complete=True)
        is_hidden = folder_of(folder)[1].startswith(".")
        return Revision(_token(status, time.time()), is_complete=is_hidden)


def _read_journal(data: bytes, place: Path) -> list[tuple[str | None, str]]:
    """Which staged file goes where. Raises StorageError for a journal that is not of this format."""
    try:
        moves = [(staged, path) for staged, path in json.loads(data)]
        for staged, path in moves:
            names = [*path.split("/"), *([] if staged is None else [staged])]
            if any(why_not_a_segment(name.removeprefix(".")) is not None for name in names):
                raise ValueError
    except (ValueError, TypeError, AttributeError):
        raise StorageError(f"{place} is damaged: remove it; its write is then lost") from None
    return moves


def _is_file(status: os.stat_result) -> bool:
    return (status.st_mode & 0o170000) == 0o100000


def _token(status: os.stat_result, now: float) -> object:
    """The same for the same contents; for what was written just now, equal to nothing."""
    if abs(now - status.st_mtime) < _TICK:
        return object()
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino


def _entry(status: os.stat_result, now: float) -> Entry:
    return Entry(_token(status, now), status.st_size, status.st_mtime)


def _read_in_chunks(file: BinaryIO) -> Iterator[bytes]:
    with file:
        while chunk := file.read(CHUNK):
            yield chunk
