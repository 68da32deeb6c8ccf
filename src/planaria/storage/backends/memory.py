"""Documents in the memory of this process."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from planaria.storage.documents import Backend, Documents, Entry, Revision, Upload, visible_folders
from planaria.storage.paths import folder_of

__all__ = ["MemoryBackend"]

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class _Document:
    data: bytes
    entry: Entry


class MemoryBackend(Backend):
    """Keeps documents until it is dropped."""

    def __init__(self) -> None:
        self._folders: dict[str, dict[str, _Document]] = {}
        self._revisions: dict[str, int] = {}
        self._tokens = itertools.count(1)
        self._lock = threading.Lock()

    def read(self, action: Callable[[Documents], Result]) -> Result:
        with self._lock:
            return action(_Dictionaries(self._folders, self._revisions))

    def write(self, action: Callable[[Documents], Result]) -> Result:
        with self._lock:
            documents = _Dictionaries(self._folders, self._revisions)
            result = action(documents)
            for path, change in documents.changes.items():
                self._apply(path, change)
            return result

    def _apply(self, path: str, change: bytes | Upload | None) -> None:
        folder, name = folder_of(path)
        self._revisions[folder] = self._revisions.get(folder, 0) + 1
        found = self._folders.setdefault(folder, {})
        if change is None:
            found.pop(name, None)
        else:
            if isinstance(change, Upload):
                assert isinstance(change, _Buffer)
                change = change.join()
            found[name] = _Document(change, Entry(next(self._tokens), len(change), time.time()))
        if not found:
            del self._folders[folder]

    def upload(self) -> Upload:
        return _Buffer()


class _Buffer(Upload):
    def __init__(self) -> None:
        self._data = bytearray()

    def write(self, data: bytes) -> None:
        self._data += data
        self.size += len(data)

    def discard(self) -> None:
        self._data.clear()

    def join(self) -> bytes:
        return bytes(self._data)


class _Dictionaries(Documents):
    def __init__(self, folders: dict[str, dict[str, _Document]], revisions: dict[str, int]) -> None:
        super().__init__()
        self._folders = folders
        self._revisions = revisions

    def _find(self, path: str) -> _Document | None:
        folder, name = folder_of(path)
        return self._folders.get(folder, {}).get(name)

    def load(self, path: str) -> bytes | None:
        found = self._find(path)
        return None if found is None else found.data

    def entry(self, path: str) -> Entry | None:
        found = self._find(path)
        return None if found is None else found.entry

    def entries(self, folder: str) -> dict[str, Entry]:
        return {name: one.entry for name, one in self._folders.get(folder, {}).items()}

    def folders(self, below: str) -> list[str]:
        return visible_folders(self._folders, below)

    def revision(self, folder: str) -> Revision:
        return Revision(self._revisions.get(folder), is_complete=True)

    def chunks(self, path: str) -> Iterator[bytes] | None:
        found = self._find(path)
        return None if found is None else iter([found.data])
