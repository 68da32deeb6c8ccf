"""The immutable form of a filesystem in memory: a record for each inode, in a persistent table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from planaria.files.chunks import Chunk
from planaria.files.hostblob import HostBlob

__all__ = ["InodeRecord", "RecordTable"]

_SHIFT: Final = 8


class InodeRecord:
    """A node at the time of a snapshot; never changed once it is made."""

    __slots__ = (
        "atime",
        "blob",
        "chunks",
        "ctime",
        "inode",
        "links",
        "mode",
        "mtime",
        "name",
        "names",
        "size",
        "target",
        "up",
    )

    def __init__(
        self,
        inode: int,
        mode: int,
        links: int,
        atime: int,
        mtime: int,
        ctime: int,
        up: int,
        name: bytes,
        *,
        names: dict[bytes, int] | None = None,
        size: int = 0,
        chunks: dict[int, Chunk] | None = None,
        target: bytes | None = None,
        blob: HostBlob | None = None,
    ) -> None:
        self.inode = inode
        self.mode = mode
        self.links = links
        self.atime = atime
        self.mtime = mtime
        self.ctime = ctime
        self.up = up
        self.name = name
        self.names = names
        self.size = size
        self.chunks = chunks
        self.target = target
        self.blob = blob


class RecordTable:
    """Records by inode, in pages, so that a new table shares all pages that did not change."""

    __slots__ = ("_pages",)

    def __init__(self, pages: dict[int, dict[int, InodeRecord]] | None = None) -> None:
        self._pages = pages or {}

    def __getitem__(self, inode: int) -> InodeRecord:
        return self._pages[inode >> _SHIFT][inode]

    def get(self, inode: int) -> InodeRecord | None:
        """The record, or None."""
        return self._pages.get(inode >> _SHIFT, {}).get(inode)

    def items(self) -> Iterator[tuple[int, InodeRecord]]:
        """All records in order of their inodes."""
        for number in sorted(self._pages):
            page = self._pages[number]
            for inode in sorted(page):
                yield inode, page[inode]

    def updated(self, changes: Mapping[int, InodeRecord | None]) -> RecordTable:
        """A new table with these records in place; None takes one out."""
        pages = dict(self._pages)
        copied: set[int] = set()
        for inode, record in changes.items():
            number = inode >> _SHIFT
            if number not in copied:
                copied.add(number)
                pages[number] = dict(pages.get(number, ()))
            if record is None:
                pages[number].pop(inode, None)
            else:
                pages[number][inode] = record
        for number in copied:
            if not pages[number]:
                del pages[number]
        return RecordTable(pages)
