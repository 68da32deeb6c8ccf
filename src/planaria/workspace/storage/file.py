"""A workspace in a directory, to be read and edited by hand.

The documents are files at their paths. Beside them:

    snapshots/                  the snapshots, see planaria.stores.file
    workspaces/ID/              the workspaces of tenants, each like this one
    .storage/lock               held in common by readers, alone by a writer
    .storage/staging/           contents that are not yet in their place
    .storage/journal            which of them go where, while a transaction of several files is carried out

A transaction first writes all its contents into the staging directory, then the journal, in one piece, then
moves the files. Killed before the journal is there, it has done nothing; killed after, whoever takes the lock
next carries it out. Below `tools`, `workflows` and `artifacts` symbolic links are not followed.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, TypeVar

from planaria.errors import StorageError
from planaria.stores.atomic import locked, partial_file, sync_directory
from planaria.workspace.storage.paths import folder_of, why_not_a_segment
from planaria.workspace.storage.storage import PIECE, Documents, Entry, Revision, Storage, Upload

if TYPE_CHECKING:
    from planaria.stores.store import Store
    from planaria.workspace.embedding import Embedder

__all__ = ["FileStorage"]

Result = TypeVar("Result")

_NO_FOLLOW: Final = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
#: Seconds within which two changes may have the same time: the clock of filesystems ticks slowly.
_TICK: Final = 0.05
#: Seconds after which contents that nobody adopted are an accident.
_ABANDONED: Final = 24 * 3600.0


class FileStorage(Storage):
    """Keeps a workspace in the directory `base_path`, as files that can be edited by hand.

    The directory is made when something is first written; one that is not there is an empty workspace. With
    `workspace_id`, the workspace is `base_path/workspaces/ID`. Raises StorageError when it cannot be used.
    """

    def __init__(
        self,
        base_path: str | os.PathLike[str],
        *,
        workspace_id: str | None = None,
        embedder: Embedder | None = None,
    ) -> None:
        super().__init__(workspace_id, embedder)
        self.base_path = Path(base_path).expanduser().absolute()
        self.path = self.base_path
        if workspace_id is not None:
            from planaria.stores.file import folder_name

            # Capitals are written as codes, for filesystems that do not tell them.
            self.path = self.base_path / "workspaces" / folder_name(workspace_id)[1:]
        self._own = self.path / ".storage"

    def __repr__(self) -> str:
        return f"FileStorage({str(self.path)!r})"

    def read(self, action: Callable[[Documents], Result]) -> Result:
        with _told(self.path):
            if not self._own.is_dir():  # nobody has ever written here but by hand
                return action(_Directory(self.path))
            with self._locked(alone=False):
                if not self._journal.exists():
                    return action(_Directory(self.path))
            with self._locked(alone=True):
                self._carry_out()
            return self.read(action)

    def write(self, action: Callable[[Documents], Result]) -> Result:
        with _told(self.path):
            self._staging.mkdir(parents=True, exist_ok=True)
            with self._locked(alone=True):
                self._carry_out()
                documents = _Directory(self.path)
                result = action(documents)
                self._commit(documents)
                return result

    def upload(self) -> Upload:
        with _told(self.path):
            self._staging.mkdir(parents=True, exist_ok=True)
            return _StagedFile(self._staging / uuid.uuid4().hex)

    def _open_snapshot_store(self) -> Store:
        from planaria.stores.file import FileStore

        with _told(self.path):
            return FileStore(self.path / "snapshots")

    def list_snapshots(self) -> list[str]:
        return super().list_snapshots() if (self.path / "snapshots").is_dir() else []

    def _close(self) -> None:
        pass

    @property
    def _staging(self) -> Path:
        return self._own / "staging"

    @property
    def _journal(self) -> Path:
        return self._own / "journal"

    @contextlib.contextmanager
    def _locked(self, *, alone: bool) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(locked(self._own / "lock", alone=alone))
            except OSError:
                # To be read only: whoever writes replaces whole files all the same.
                if alone:
                    raise
            yield

    def _commit(self, documents: _Directory) -> None:
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
                    assert isinstance(change, _StagedFile)
                    change.finish()
                moves.append((None if change is None else change.place.name, path))
        except BaseException:
            for one in made:
                one.discard()
            raise
        if len(moves) > 1:
            sync_directory(self._staging)
            with partial_file(self._journal, json.dumps(moves).encode()) as partial:
                os.replace(partial, self._journal)
            sync_directory(self._own)
            self._carry_out()
        elif moves:
            staged, path = moves[0]
            self._move(staged, path)
            if staged is not None:
                sync_directory((self.path / path).parent)

    def _carry_out(self) -> None:
        """Do what the journal says, if there is one: the writer was killed, or is this one."""
        try:
            journal = self._journal.read_bytes()
        except FileNotFoundError:
            self._sweep()
            return
        moves = _read_journal(journal, self._journal)
        for _, path in moves:
            _Directory(self.path).check_way(path)
        for staged, path in moves:
            self._move(staged, path)
        for folder in {(self.path / path).parent for _, path in moves}:
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
        """Remove contents that somebody began to bring long ago."""
        with contextlib.suppress(FileNotFoundError), os.scandir(self._staging) as found:
            for one in found:
                if one.stat().st_mtime < time.time() - _ABANDONED:
                    os.unlink(one.path)


class _StagedFile(Upload):
    def __init__(self, place: Path) -> None:
        self.place = place
        self._file = place.open("xb")

    def write(self, data: bytes) -> None:
        with _told(self.place):
            self._file.write(data)
        self.size += len(data)

    def finish(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()

    def discard(self) -> None:
        self._file.close()
        self.place.unlink(missing_ok=True)


class _Directory(Documents):
    def __init__(self, root: Path) -> None:
        super().__init__()
        self._root = root

    def check_way(self, path: str) -> None:
        """Raises StorageError when a folder below the first is a symbolic link."""
        for folder in list((self._root / path).parents)[: max(path.count("/") - 1, 0)]:
            if folder.is_symlink():
                raise StorageError(f"{folder} is a symbolic link, which a storage does not follow")

    def check_place(self, path: str, is_removal: bool) -> None:
        """Raises StorageError unless a file can be put there: what the journal says has to be possible."""
        self.check_way(path)
        if any(why_not_a_segment(name.removeprefix(".")) is not None for name in path.split("/")):
            raise StorageError(f"{path!r} cannot be the path of a file in a storage")
        place = self._root / path
        if place.is_dir() and not place.is_symlink():
            raise StorageError(f"{place} is a directory, where a file of the storage has to be: remove it")
        for folder in [] if is_removal else list(place.parents)[: path.count("/")]:
            if folder.exists() and not folder.is_dir():
                raise StorageError(f"{folder} is a file, where a folder of the storage has to be: remove it")

    def _open(self, path: str) -> BinaryIO | None:
        self.check_way(path)
        place = self._root / path
        try:
            descriptor = os.open(place, os.O_RDONLY | (_NO_FOLLOW if "/" in path else 0))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError:
            if place.is_symlink():
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

    def pieces(self, path: str) -> Iterator[bytes] | None:
        file = self._open(path)
        return None if file is None else _read_in_pieces(file)

    def entry(self, path: str) -> Entry | None:
        self.check_way(path)
        try:
            status = os.stat(self._root / path, follow_symlinks="/" not in path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        return _entry(status, time.time()) if _is_file(status) else None

    def entries(self, folder: str) -> dict[str, Entry]:
        now = time.time()
        found: dict[str, Entry] = {}
        for one in self._scan(folder):
            try:
                status = one.stat(follow_symlinks=False)
            except FileNotFoundError:  # somebody has just removed it
                continue
            if _is_file(status) and why_not_a_segment(one.name) is None:
                found[one.name] = _entry(status, now)
        return found

    def _scan(self, folder: str) -> Iterator[os.DirEntry[str]]:
        self.check_way(folder)
        if "/" in folder and (self._root / folder).is_symlink():
            return
        try:
            with os.scandir(self._root / folder) as found:
                yield from found
        except (FileNotFoundError, NotADirectoryError):
            return

    def folders(self, below: str) -> list[str]:
        found: list[str] = []
        pending = [below]
        while pending:
            folder = pending.pop()
            found.append(folder)
            pending += [
                f"{folder}/{one.name}" if folder else one.name
                for one in self._scan(folder)
                if one.is_dir(follow_symlinks=False) and why_not_a_segment(one.name) is None
            ]
        return [folder for folder in sorted(found) if self.entries(folder)]

    def revision(self, folder: str) -> Revision:
        try:
            status = os.stat(self._root / folder)
        except FileNotFoundError:
            return Revision(None, is_complete=True)
        is_hidden = folder_of(folder)[1].startswith(".")
        return Revision(_token(status, time.time()), is_complete=is_hidden)


def _read_journal(data: bytes, place: Path) -> list[tuple[str | None, str]]:
    """Which staged file goes where. Raises StorageError for a journal that is none of ours."""
    try:
        moves = [(staged, path) for staged, path in json.loads(data)]
        for staged, path in moves:
            names = [*path.split("/"), *([] if staged is None else [staged])]
            if any(why_not_a_segment(name.removeprefix(".")) is not None for name in names):
                raise ValueError
    except (ValueError, TypeError, AttributeError):
        raise StorageError(f"{place} is damaged: remove it; the write that it is of is then lost") from None
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


def _read_in_pieces(file: BinaryIO) -> Iterator[bytes]:
    with file:
        while piece := file.read(PIECE):
            yield piece


@contextlib.contextmanager
def _told(path: Path) -> Iterator[None]:
    """Errors of the system as StorageError."""
    try:
        yield
    except OSError as error:
        place = error.filename or path
        raise StorageError(f"the storage at {place} cannot be used: {error.strerror or error}") from error
