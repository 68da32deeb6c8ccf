"""The versions of a name: which snapshots were saved under it, and when."""

from __future__ import annotations

import functools
import threading
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from planaria.errors import ProtocolError, SnapshotCorrupt, SnapshotVersionError
from planaria.stores.records import later_version
from planaria.stores.shelves import Shelves
from planaria_kernel.protocol import decode

__all__ = ["KnownVersions", "Version", "find_version", "read_version", "read_versions"]

#: Up to so many bytes, what was read lately is kept with the version that it is.
_SMALL: Final = 16 << 10
#: So many of them are kept.
_MOST: Final = 256


@dataclass(frozen=True, slots=True)
class Version:
    """One snapshot that was saved under a name."""

    number: int
    """Counts up; the newest has the greatest."""
    digest: str
    """Of the snapshot that was saved."""
    size: int
    """Of the same, in bytes."""
    saved_at: float
    """When, in seconds since 1970 by the clock of the host that saved it."""
    note: bytes = field(default=b"", repr=False, compare=False)
    """The bytes that were saved beside it."""
    folded: str | None = field(default=None, compare=False)
    """The digest of the complete snapshot of the same state that has taken its place, if one has."""

    @property
    def kept_digest(self) -> str:
        """The digest of the snapshot that is loaded."""
        return self.folded or self.digest

    @property
    def without_note(self) -> Version:
        """The same without what was saved beside it."""
        return replace(self, note=b"") if self.note else self


class KnownVersions:
    """The newest versions of names, and the numbers of all, as they were at a revision. For any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        #: The name that was added last is at the end.
        self._found: dict[str, tuple[Hashable, Version, Sequence[int]]] = {}

    def add(self, name: str, revision: Hashable, version: Version, numbers: Sequence[int]) -> None:
        """Know one, unless much is kept beside it."""
        with self._lock:
            self._found.pop(name, None)
            if len(version.note) <= _SMALL:
                self._found[name] = revision, version, numbers
            if len(self._found) > _MOST:
                del self._found[next(iter(self._found))]

    def find(self, name: str, revision: Hashable) -> tuple[Version, Sequence[int]] | None:
        """The newest version of a name, and the numbers of all, if they are known to be of that revision."""
        found = self._found.get(name)
        return None if found is None or found[0] != revision else found[1:]


def read_versions(shelves: Shelves, name: str) -> list[Version]:
    return [read_version(name, number, data) for number, data in shelves.versions(name)]


def find_version(shelves: Shelves, name: str, number: int) -> Version:
    return read_version(name, number, shelves.version(name, number) or b"")


def read_version(name: str, number: int, data: bytes) -> Version:
    """The version that is kept as `data`. Raises SnapshotCorrupt, and SnapshotVersionError for one that was
    written in a later way.
    """
    return (_known if len(data) <= _SMALL else _read)(name, number, data)


def _read(name: str, number: int, data: bytes) -> Version:
    try:
        value: Any = decode(data)
    except ProtocolError:
        value = None
    match value:
        case (str(digest), int(size), float(saved_at)):
            return Version(number, digest, size, saved_at)
        case (str(digest), int(size), float(saved_at), bytes(note)):
            return Version(number, digest, size, saved_at, note)
        case (str(digest), int(size), float(saved_at), bytes(note), str(folded)):
            return Version(number, digest, size, saved_at, note, folded)
        case (str(), int(), float(), bytes(), *_):
            raise SnapshotVersionError(later_version(f"version {number} of {name!r}"))
    raise SnapshotCorrupt(f"version {number} of {name!r} in this store is damaged")


#: A step reads the version that it begins with, and again when it saves.
_known = functools.lru_cache(maxsize=_MOST)(_read)
