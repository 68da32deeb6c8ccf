"""Documents as files in a directory, whose changes are first kept in a log.

Files that are written through to the disk one by one take a while. Here a transaction is one entry that is
appended to a log (`.storage/log`) and flushed; transactions that come at the same time are flushed together.
Readers look into the log first. When it is large, what it has becomes files, in the background.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Callable, Collection, Hashable, Iterator
from pathlib import Path
from typing import Final, TypeVar

from planaria.errors import StorageError
from planaria.storage.backends.change_log import MOST, ChangeLog, Logged
from planaria.storage.backends.file import FileBackend, FileDocuments, StagedFile
from planaria.storage.documents import CHUNK, Documents, Entry, Revision, Upload, visible_folders
from planaria.storage.failures import file_failures

__all__ = ["LoggedBackend", "Prune"]

Result = TypeVar("Result")
#: Which of the documents at these paths, all of which are in the log, nothing needs.
Prune = Callable[[Documents, Collection[str]], Collection[str]]

log: Final = logging.getLogger("planaria.storage")
#: Bytes of the log above which it is folded into files, and above which that is waited for.
_FOLD: Final = 8 << 20
_FULL: Final = 4 * _FOLD
#: So many folders are remembered as fit for files.
_MOST_CHECKED: Final = 10_000


class _Here:
    """What this process knows of the log, and whose turn it is to use it; a forked child begins anew."""

    def __init__(self, place: Path) -> None:
        self.process = os.getpid()
        self.log = ChangeLog(place)
        self.turn = threading.Lock()
        self.folding: threading.Thread | None = None
        #: Folders in which files can be put. When the log is folded into files, all are looked at again.
        self.checked: set[str] = set()


class LoggedBackend(FileBackend):
    """As `FileBackend`, with a log in front. `prune` says what of the log need not become files."""

    def __init__(
        self, path: Path, *, lock: str = ".storage/lock", prune: Prune = lambda documents, paths: ()
    ) -> None:
        super().__init__(path, lock=lock)
        self._prune = prune
        self._known = _Here(self._own / "log")

    @property
    def _here(self) -> _Here:
        if self._known.process != os.getpid():
            self._known = _Here(self._own / "log")
        return self._known

    def read(self, action: Callable[[Documents], Result]) -> Result:
        here = self._here
        with file_failures(self.path):
            if not self._own.is_dir():  # nothing was written yet
                return super().read(action)
            with contextlib.ExitStack() as stack:
                with here.turn:
                    stack.enter_context(self._locked(exclusive=False))
                    is_whole = not self._journal.exists()
                    here.log.refresh()
                if is_whole:
                    # No writer comes in while the lock is held, so the log stays as it is.
                    return action(_LoggedDocuments(FileDocuments(self.path), here.log))
            with here.turn, self._locked(exclusive=True):
                self._carry_out()
            return self.read(action)

    def revision(self, folder: str) -> Hashable:
        here = self._here
        with file_failures(self.path), here.turn:
            # Files change without the log only where a writer was killed, whose journal is there.
            if here.log.is_current() and not os.path.exists(self._journal):
                return _LoggedDocuments(FileDocuments(self.path), here.log).quick_revision(folder)
        return object()

    def write(self, action: Callable[[Documents], Result]) -> Result:
        here = self._here
        with file_failures(self.path):
            if not os.path.isdir(self._staging):
                self._staging.mkdir(parents=True, exist_ok=True)
            with here.turn, self._locked(exclusive=True):
                if os.path.exists(self._journal):
                    self._carry_out()
                here.log.refresh()
                if len(here.checked) > _MOST_CHECKED:
                    here.checked.clear()
                files = FileDocuments(self.path, here.checked)
                documents = _LoggedDocuments(files, here.log)
                result = action(documents)
                if not documents.changes:
                    return result
                for path, change in documents.changes.items():
                    files.check_place(path, change is None)
                logged = {
                    path: change
                    for path, change in documents.changes.items()
                    if not isinstance(change, Upload)
                }
                size = sum(len(path) + len(data or b"") for path, data in logged.items())
                if len(logged) < len(documents.changes) or size > MOST // 2:
                    self._fold_now(documents.changes)
                    return result
                here.log.append(logged)
                documents.when_written()
                flush, size = here.log.flusher(), here.log.end
            flush()
        if size > _FULL:
            self.fold()
        elif size > _FOLD:
            self._fold_later()
        return result

    def close(self) -> None:
        """Wait until what is being folded is folded."""
        folding = self._here.folding
        if folding is not None:
            folding.join()

    # -- folding -------------------------------------------------------------------------------------------

    def fold(self) -> None:
        """Make files of what is in the log. Others go on writing meanwhile. Raises StorageError."""
        here = self._here
        staged: dict[str, tuple[Logged, StagedFile]] = {}
        try:
            with file_failures(self.path):
                with here.turn, self._locked(exclusive=False):
                    here.log.refresh()
                    generation = here.log.generation
                    if not generation:
                        return
                    wanted = {path: one for path, one in self._needed(here.log) if not one.is_removed}
                for path, logged in wanted.items():
                    with here.turn:
                        if here.log.generation != generation:
                            return  # another process has done it
                        data = here.log.contents(logged)
                    upload = self.upload()
                    staged[path] = logged, upload
                    upload.write(data)
                    upload.finish()
                with here.turn, self._locked(exclusive=True):
                    self._carry_out()
                    here.log.refresh()
                    if here.log.generation == generation:
                        self._adopt(here.log, staged)
        finally:
            for _, upload in staged.values():
                upload.discard()

    def _needed(self, log: ChangeLog) -> list[tuple[str, Logged]]:
        changes = dict(log.changes())
        there = [path for path, one in changes.items() if not one.is_removed]
        unneeded = set(self._prune(_LoggedDocuments(FileDocuments(self.path), log), there))
        return [(path, one) for path, one in changes.items() if path not in unneeded]

    def _adopt(self, log: ChangeLog, staged: dict[str, tuple[Logged, StagedFile]]) -> None:
        """Move staged contents that are still the newest to their places, and leave the rest in the log."""
        files = FileDocuments(self.path)
        rest: dict[str, bytes | None] = {}
        removed: list[str] = []
        for path, logged in self._needed(log):
            if logged.is_removed:
                if files.entry(path) is not None:
                    removed.append(path)
            elif path in staged and staged[path][0] == logged:
                files.adopt(path, staged.pop(path)[1])
            else:
                rest[path] = log.contents(logged)
        for path in removed:  # last, so that no folder is empty meanwhile
            files.drop(path)
        self._commit(files)
        log.replace(rest)

    def _fold_now(self, changes: dict[str, bytes | Upload | None]) -> None:
        """Make files of what is in the log, then of changes that are not to get there.

        In two commits, so that whenever the process is killed, no old contents in the log hide the changes.
        """
        log = self._here.log
        if log.generation:
            files = FileDocuments(self.path)
            for path, logged in log.changes():
                if not logged.is_removed:
                    files.put(path, log.contents(logged))
                elif files.entry(path) is not None:
                    files.drop(path)
            self._commit(files)
            log.replace({})
        files = FileDocuments(self.path)
        files.changes.update(changes)
        self._commit(files)

    def _fold_later(self) -> None:
        here = self._here
        if here.folding is None or not here.folding.is_alive():
            here.folding = threading.Thread(target=self._fold_quietly, name="planaria-fold")
            here.folding.start()

    def _fold_quietly(self) -> None:
        try:
            self.fold()
        except StorageError as error:
            log.warning("the log of changes could not be folded, and grows: %s", error)


class _LoggedDocuments(Documents):
    """Files, with the changes of a log over them."""

    def __init__(self, files: FileDocuments, changes: ChangeLog) -> None:
        super().__init__()
        self._files = files
        self._log = changes
        #: Revisions of folders of files, which stay as they are in a transaction.
        self._revisions: dict[str, Revision] = {}

    def _entry(self, logged: Logged) -> Entry:
        return Entry((self._log.generation, logged.offset), logged.size, logged.modified)

    def load(self, path: str) -> bytes | None:
        logged = self._log.find(path)
        if logged is None:
            return self._files.load(path)
        return None if logged.is_removed else self._log.contents(logged)

    def chunks(self, path: str) -> Iterator[bytes] | None:
        if self._log.find(path) is None:
            return self._files.chunks(path)
        data = self.load(path)
        return None if data is None else iter([data[at : at + CHUNK] for at in range(0, len(data), CHUNK)])

    def entry(self, path: str) -> Entry | None:
        logged = self._log.find(path)
        if logged is None:
            return self._files.entry(path)
        return None if logged.is_removed else self._entry(logged)

    def entries(self, folder: str) -> dict[str, Entry]:
        found = self._files.entries(folder)
        changes = self._log.in_folder(folder)
        for name in found.keys() & changes.removed.keys():
            del found[name]
        for name, logged in changes.present.items():
            found[name] = self._entry(logged)
        return found

    def folders(self, below: str) -> list[str]:
        known = {*self._files.folders(below), *visible_folders(self._log.folders, below)}
        return sorted(
            folder for folder in known if not self._log.in_folder(folder).removed or self.entries(folder)
        )

    def revision(self, folder: str) -> Revision:
        found = self._revisions.get(folder)
        if found is None:
            found = self._revisions[folder] = self._files.revision(folder)
        last = self._log.in_folder(folder).last
        return Revision((found.value, self._log.generation, last), found.is_complete)

    def quick_revision(self, folder: str) -> Hashable:
        return self.revision(folder).value
