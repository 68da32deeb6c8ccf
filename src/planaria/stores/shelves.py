"""What a store of snapshots keeps, as documents:

blob/ab/DIGEST      contents
record/ab/DIGEST    snapshots
layer/ab/DIGEST     images saved from sessions, on which snapshots rest
name/@NAME/1        the versions of a name, whose folder is escaped and, where it is long, goes on below
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Final, Literal
from urllib.parse import unquote

from planaria.storage.documents import Documents, Upload
from planaria.storage.paths import escaped, folder_of

__all__ = ["BY_DIGEST", "Kind", "Shelves", "folder_of_name", "is_by_digest", "is_version", "place_of"]

#: What is kept by digest.
Kind = Literal["blob", "record", "layer"]
#: How their paths begin.
BY_DIGEST: Final = ("blob/", "record/", "layer/")

_MARK: Final = "@"
#: Characters of an escaped name in one folder; filesystems take 255 with the mark.
_SEGMENT: Final = 254
#: How the files end that were not complete when a writer of an earlier version was killed.
_PARTIAL: Final = ".partial"


class Shelves:
    """The blobs, records and names among some documents, valid inside one transaction."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents

    # -- by digest -----------------------------------------------------------------------------------------

    def get(self, kind: Kind, digest: str) -> bytes | None:
        return self._documents.fetch(place_of(kind, digest))

    def has(self, kind: Kind, digest: str) -> bool:
        path = place_of(kind, digest)
        return path in self._documents.changes or self._documents.entry(path) is not None

    def put(self, kind: Kind, digest: str, data: bytes) -> None:
        self._documents.put(place_of(kind, digest), data)

    def sizes(self, kind: Kind) -> dict[str, int]:
        """The bytes of everything of that kind, by digest."""
        return {
            digest: entry.size
            for folder in self._documents.folders(kind)
            for digest, entry in self._documents.entries(folder).items()
            if not digest.endswith(_PARTIAL)
        }

    def remove(self, kind: Kind, digest: str) -> None:
        self._documents.drop(place_of(kind, digest))

    def remove_partial(self) -> None:
        """Remove what killed writers of an earlier version left."""
        for kind in ("blob", "record", "name"):
            for folder in self._documents.folders(kind):
                for name in self._documents.entries(folder):
                    if name.endswith(_PARTIAL):
                        self._documents.drop(f"{folder}/{name}")

    # -- by name -------------------------------------------------------------------------------------------

    def names(self) -> Iterable[str]:
        for folder in self._documents.folders("name"):
            if any(name.isdecimal() for name in self._documents.entries(folder)):
                yield _name(folder)

    def revisions(self) -> Iterable[tuple[str, Hashable]]:
        """Each name, also one without versions, with a value that changes whenever these do."""
        for folder, revision in self._documents.revisions("name").items():
            yield _name(folder), revision.value

    def quick_revision(self, name: str) -> Hashable:
        """A value that changes whenever the versions of a name do; None where it takes a while to find."""
        return self._documents.quick_revision(folder_of_name(name))

    def when_written(self, action: Callable[[], None]) -> None:
        """See `Documents.when_written`."""
        self._documents.when_written = action

    def numbers(self, name: str) -> list[int]:
        """The numbers of the versions, in order; none for an unknown name."""
        folder = folder_of_name(name)
        found = dict.fromkeys(self._documents.entries(folder), True)
        for path, change in self._documents.changes.items():
            if folder_of(path)[0] == folder:
                found[folder_of(path)[1]] = change is not None
        return sorted(int(one) for one, is_there in found.items() if is_there and one.isdecimal())

    def versions(self, name: str) -> list[tuple[int, bytes]]:
        """Number and contents of each version, in order."""
        wanted = [str(number) for number in self.numbers(name)]
        return [(int(one), data) for one, data in self._documents.load_many(folder_of_name(name), wanted)]

    def version(self, name: str, number: int) -> bytes | None:
        """One version."""
        return self._documents.fetch(f"{folder_of_name(name)}/{number}")

    def append(self, name: str, data: bytes, numbers: Sequence[int]) -> int:
        """Add a version with the number after these, which the name has, and return that."""
        number = max(numbers, default=0) + 1
        self._documents.put(f"{folder_of_name(name)}/{number}", data)
        return number

    def replace(self, name: str, number: int, data: bytes) -> None:
        """Put other contents in the place of a version."""
        self._documents.put(f"{folder_of_name(name)}/{number}", data)

    def import_version(self, name: str, number: int, data: bytes) -> None:
        """Add a version of an earlier format under its number, unless it was added already."""
        path = f"{folder_of_name(name)}/{number}"
        numbers = self.numbers(name)
        if number not in numbers:
            self._documents.put(path, data)
        elif self._documents.fetch(path) != data:
            self.append(name, data, numbers)

    def put_upload(self, kind: Kind, digest: str, upload: Upload) -> None:
        """As `put`, for what was uploaded."""
        self._documents.adopt(place_of(kind, digest), upload)

    def forget(self, name: str, number: int) -> None:
        self._documents.drop(f"{folder_of_name(name)}/{number}")


def is_version(path: str) -> bool:
    """Whether a version of a name is at a path."""
    return path.startswith("name/") and folder_of(path)[1].isdecimal()


def is_by_digest(path: str) -> bool:
    """Whether something is kept by digest at a path."""
    return path.startswith(BY_DIGEST)


def place_of(kind: Kind, digest: str) -> str:
    """The path of what is kept by digest."""
    return f"{kind}/{digest[:2]}/{digest}"


@functools.lru_cache(maxsize=1024)
def folder_of_name(name: str) -> str:
    """Where the versions of a name are."""
    text = escaped(name)
    segments = [text[start : start + _SEGMENT] for start in range(0, len(text), _SEGMENT)]
    return "/".join(["name", *(_MARK + segment for segment in segments)])


def _name(folder: str) -> str:
    """The name whose versions are in a folder."""
    segments = folder.removeprefix("name/").split("/")
    return unquote("".join(segment.removeprefix(_MARK) for segment in segments))
