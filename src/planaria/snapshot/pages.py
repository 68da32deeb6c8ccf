"""Linear memory as the pages that differ from the image's.

A page is stored as its exclusive or with the image's page (with zeros beyond the image): most pages differ
in a few reference counts and pointers only, so what is left is nearly all zeros. Pages are grouped by
regions of the address space, one section each, so that a store can share the regions that two snapshots
have in common; the few pages of a delta are in one section, wherever they are.

A section is a count (uint32), so many page numbers (uint32, ascending), and the pages.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence, Set
from typing import Final

from planaria.errors import SnapshotCorrupt
from planaria.machine.changes import ChangedPages
from planaria.machine.memory import PAGE_BYTES, WASM_PAGE_BYTES, MemoryFile
from planaria.snapshot.envelope import Section

__all__ = [
    "PAGES",
    "KnownPage",
    "Pages",
    "changed_pages",
    "contents_of",
    "overlay",
    "page_sections",
    "pages_at",
    "read_pages",
    "since",
    "touched_pages",
    "within",
]

#: The kind of these sections.
PAGES: Final = "pages"
#: Pages by number, as their difference from the image's.
Pages = dict[int, bytes]

_REGION: Final = 256
_ZERO_PAGE: Final = bytes(PAGE_BYTES)
_ZERO_BLOCK: Final = bytes(WASM_PAGE_BYTES)
_COUNT: Final = struct.Struct("<I")
#: So many differences of a delta are kept for the next one.
_MOST_KEPT: Final = 64


def changed_pages(
    image: MemoryFile,
    memory: MemoryFile,
    written: ChangedPages,
    size: int,
    *,
    without: Set[int] = frozenset(),
) -> Pages:
    """The pages of `memory` with `written` over it, `size` bytes in all, that differ from `image`'s.

    They are `without` those of these numbers.
    """
    found: Pages = {}
    with image.view() as original:
        if memory is not image:
            with memory.view() as moved:
                for block in _differing_blocks(original, moved, size):
                    _take(found, original, block, bytes(moved[block : block + WASM_PAGE_BYTES]))
            for start in written:
                found.pop(start // PAGE_BYTES, None)
        for start, page in written.items():
            _take(found, original, start, page)
    for number in without & found.keys():
        del found[number]
    return _differences(dict(sorted(found.items())), image)


def _differing_blocks(original: memoryview, moved: memoryview, size: int) -> Iterator[int]:
    for block in range(0, min(size, len(moved)), WASM_PAGE_BYTES):
        before = original[block : block + WASM_PAGE_BYTES]
        # As bytes: comparing views goes item by item.
        if bytes(moved[block : block + WASM_PAGE_BYTES]) != (bytes(before) or _ZERO_BLOCK):
            yield block


def _take(found: Pages, original: memoryview, start: int, data: bytes) -> None:
    """Add the pages of a span that are not as in the image."""
    for offset in range(0, len(data), PAGE_BYTES):
        at = start + offset
        page = data[offset : offset + PAGE_BYTES]
        if page != (bytes(original[at : at + PAGE_BYTES]) or _ZERO_PAGE):
            found[at // PAGE_BYTES] = page


def touched_pages(written: ChangedPages) -> frozenset[int]:
    """The numbers of the pages that were written."""
    return frozenset([start // PAGE_BYTES for start in written])


def pages_at(
    image: MemoryFile,
    memory: MemoryFile,
    written: ChangedPages,
    numbers: Sequence[int],
    known: dict[int, KnownPage],
) -> Pages:
    """The pages of these numbers, also those that are as in `image`, which are zeros then.

    `known` has written pages with their differences, from last time, and has some of these afterwards.
    """
    found: Pages = {}
    others: Pages = {}
    for number in numbers:
        start = number * PAGE_BYTES
        page = written.get(start)
        before = known.get(number)
        if page is None:
            with memory.view() as moved:
                others[number] = bytes(moved[start : start + PAGE_BYTES]) or _ZERO_PAGE
        elif before is None:
            others[number] = page
        else:
            found[number] = before.difference(page)
    found |= _differences(others, image)
    for number in known.keys() - set(numbers):
        del known[number]
    with image.view() as original:
        for number in numbers:
            if len(known) == _MOST_KEPT:
                break
            if number not in known and (page := written.get(number * PAGE_BYTES)) is not None:
                at = number * PAGE_BYTES
                known[number] = KnownPage(bytes(original[at : at + PAGE_BYTES]), page, found[number])
    return found


class KnownPage:
    """A page as it was written last, and its difference from the image's."""

    __slots__ = ("_difference", "_original", "_page")

    def __init__(self, original: bytes, page: bytes, difference: bytes) -> None:
        #: As a number: half of the work is to make one.
        self._original = int.from_bytes(original, "little")
        self._page = page
        self._difference = difference

    def difference(self, page: bytes) -> bytes:
        """The difference of what was written now."""
        if page is not self._page:
            mixed = self._original ^ int.from_bytes(page, "little")
            self._page, self._difference = page, mixed.to_bytes(PAGE_BYTES, "little")
        return self._difference


def _differences(pages: Pages, image: MemoryFile) -> Pages:
    """Pages from contents to differences, or the other way round: it is its own inverse."""
    read = int.from_bytes
    with image.view() as original:
        for number, page in pages.items():
            at = number * PAGE_BYTES
            before = bytes(original[at : at + PAGE_BYTES])
            if before and before != _ZERO_PAGE:
                mixed = read(page, "little") ^ read(before, "little")
                pages[number] = mixed.to_bytes(PAGE_BYTES, "little")
    return pages


def overlay(older: Pages, newer: Pages) -> Pages:
    """What a later set of pages leaves of an earlier one, and itself; pages that are the image's again are
    gone.
    """
    return {number: page for number, page in (older | newer).items() if page != _ZERO_PAGE}


def within(pages: Pages, size: int) -> Pages:
    """Those that lie within `size` bytes."""
    end = size // PAGE_BYTES
    if not pages or max(pages) < end:
        return pages
    return {number: page for number, page in pages.items() if number < end}


def since(parent: Pages, pages: Pages) -> Pages:
    """What has to be stored for `overlay(parent, …)` to be `pages`."""
    changed = {number: page for number, page in pages.items() if parent.get(number) != page}
    changed.update((number, _ZERO_PAGE) for number in parent.keys() - pages.keys())
    return changed


def page_sections(pages: Pages, *, by_region: bool = True) -> list[Section]:
    """The sections of pages: one for each region, or of as many pages as a region has, wherever these are."""
    groups: dict[int, list[int]] = {}
    for place, number in enumerate(sorted(pages)):
        groups.setdefault((number if by_region else place) // _REGION, []).append(number)
    return [
        Section.of(
            PAGES, b"".join([_COUNT.pack(len(group)), _numbers(group), *(pages[one] for one in group)])
        )
        for group in groups.values()
    ]


def _numbers(group: list[int]) -> bytes:
    numbers = array("I", group)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()


def read_pages(sections: Iterable[Section], size: int) -> Pages:
    """The pages of sections; SnapshotCorrupt unless they ascend and lie within `size` bytes.

    Before anything is decompressed, all sections together are compared with `size`.
    """
    sections = list(sections)
    if sum(section.size for section in sections) > size + size // PAGE_BYTES * 4 + _COUNT.size * len(
        sections
    ):
        raise SnapshotCorrupt("this snapshot has more pages than its memory")
    pages: Pages = {}
    last = -1
    for section in sections:
        contents = section.contents()
        count = _COUNT.unpack_from(contents)[0] if len(contents) >= _COUNT.size else -1
        at = _COUNT.size + 4 * count
        if count < 0 or len(contents) != at + count * PAGE_BYTES:
            raise SnapshotCorrupt("a section of pages is not of the size that its count says")
        for number in struct.unpack_from(f"<{count}I", contents, _COUNT.size):
            if not last < number < size // PAGE_BYTES:
                raise SnapshotCorrupt("pages do not ascend, or lie beyond the memory")
            pages[number] = contents[at : at + PAGE_BYTES]
            last = number
            at += PAGE_BYTES
    return pages


def contents_of(pages: Pages, image: MemoryFile) -> ChangedPages:
    """Differences as contents, to be written over the image."""
    contents = _differences(dict(sorted(pages.items())), image)
    return {number * PAGE_BYTES: page for number, page in contents.items()}
