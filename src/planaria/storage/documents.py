"""Documents at paths, and the transactions in which they are read and written.

What each backend keeps is a tree of documents: bytes at paths such as "workflows/double.py". Reading and
writing happen in transactions: `Backend.read(action)` and `Backend.write(action)` give the action the
`Documents`; all that it writes is there afterwards, or nothing is. Large contents are brought by an `Upload`
before the transaction that puts them in their place, and read in chunks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, TypeVar

__all__ = [
    "ABANDONED",
    "CHUNK",
    "GRACE",
    "Backend",
    "Documents",
    "Entry",
    "Revision",
    "Upload",
    "visible_folders",
]

Result = TypeVar("Result")

#: Bytes in which large contents are moved.
CHUNK: Final = 1 << 20
#: Seconds that replaced contents are kept for those who still read them, and unfinished ones for those who
#: bring them.
GRACE: Final = 60
ABANDONED: Final = 24 * 3600


@dataclass(frozen=True, slots=True)
class Entry:
    """A document without its contents."""

    token: Hashable
    """Changes with every write."""
    size: int
    """In bytes."""
    modified: float
    """When it was written, in seconds since 1970."""


@dataclass(frozen=True, slots=True)
class Revision:
    """A value that changes when a folder changes."""

    value: Hashable
    """Changes whenever a document is written through a storage, created or removed."""
    is_complete: bool
    """Whether it changes with every other change too; a file can be edited in place."""


class Upload(ABC):
    """Contents on their way into a storage, not visible until `Documents.adopt` puts them in a place."""

    size: int = 0
    """Bytes so far."""

    @abstractmethod
    def write(self, data: bytes) -> None:
        """Add to the end. Raises StorageError."""

    @abstractmethod
    def discard(self) -> None:
        """Forget the contents, unless they were adopted; discarding twice is harmless."""


class Documents(ABC):
    """The documents of one workspace, valid inside one transaction.

    What is written is seen by `fetch` at once, and by all others when the transaction ends.
    """

    def __init__(self) -> None:
        #: What to write when the transaction ends, by path; None removes.
        self.changes: dict[str, bytes | Upload | None] = {}
        self.when_written: Callable[[], None] = _nothing
        """What a backend whose revisions are quick to find calls when the changes were carried out, before
        others can change anything."""

    @abstractmethod
    def load(self, path: str) -> bytes | None:
        """A document as it was when the transaction began."""

    @abstractmethod
    def entry(self, path: str) -> Entry | None:
        """What there is at a path, without its contents, as it was when the transaction began."""

    @abstractmethod
    def entries(self, folder: str) -> dict[str, Entry]:
        """The documents directly in a folder, by name. Hidden names stand only in hidden folders."""

    @abstractmethod
    def folders(self, below: str) -> list[str]:
        """The folders that are anywhere below this one and hold documents, as paths, without hidden ones."""

    @abstractmethod
    def revision(self, folder: str) -> Revision: ...

    def quick_revision(self, folder: str) -> Hashable:
        """The value of `revision` where it is quick to find, otherwise None."""
        return None

    def revisions(self, below: str) -> dict[str, Revision]:
        """The revision of each of the `folders` below this one."""
        return {folder: self.revision(folder) for folder in self.folders(below)}

    @abstractmethod
    def chunks(self, path: str) -> Iterator[bytes] | None:
        """The contents in chunks, also after the transaction, as they were in it; None without a document.

        Where the contents are replaced and dropped before they were read to the end, StorageError is raised.
        """

    def load_many(self, folder: str, names: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Those of the named documents of a folder that there are."""
        for name in names:
            data = self.load(f"{folder}/{name}")
            if data is not None:
                yield name, data

    def fetch(self, path: str) -> bytes | None:
        """The contents of a document; None when there is none."""
        change = self.changes.get(path, b"")
        if path in self.changes and not isinstance(change, Upload):
            return change
        return self.load(path)

    def put(self, path: str, data: bytes) -> None:
        """Write a document, in place of what was there."""
        self.changes[path] = data

    def adopt(self, path: str, upload: Upload) -> None:
        """Make uploaded contents a document, in place of what was there."""
        self.changes[path] = upload

    def drop(self, path: str) -> None:
        """Remove a document, if there is one."""
        self.changes[path] = None


class Backend(ABC):
    """A place with documents. May be used from many threads and processes at once.

    Raises StorageError where the place cannot be used.
    """

    @abstractmethod
    def read(self, action: Callable[[Documents], Result]) -> Result:
        """Run `action` on the documents as they are at one time. It may run again when they change."""

    @abstractmethod
    def write(self, action: Callable[[Documents], Result]) -> Result:
        """Run `action` and carry out its changes as one. It may run again when others write meanwhile."""

    def revision(self, folder: str) -> Hashable:
        """The value of `Documents.revision` where it is quick to find without a transaction, otherwise None.

        What was not looked at yet gives a value that is equal to no other.
        """
        return None

    @abstractmethod
    def upload(self) -> Upload:
        """Begin to bring contents that are to become a document."""

    def close(self) -> None:  # noqa: B027 - some have nothing to release
        """Release connections, where there are any; closing twice is harmless."""


def visible_folders(folders: Iterable[str], below: str) -> list[str]:
    """Those of all folders that `Documents.folders(below)` is to list."""
    return sorted(
        folder
        for folder in folders
        if (not below or folder == below or folder.startswith(f"{below}/"))
        and not any(segment.startswith(".") for segment in folder.split("/"))
    )


def _nothing() -> None:
    pass
