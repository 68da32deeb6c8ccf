"""Linear memory as the pages that differ from the image's.

A page is stored as its exclusive or with the image's page (with zeros beyond the image): most pages differ
in a few reference counts and pointers only, so what is left is nearly all zeros. Pages are grouped by
regions of the address space, one section each, so that a store can share the regions that two snapshots
have in common.

A section is a count (uint32), so many page numbers (uint32, ascending), and the pages.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Iterable, Iterator
from typing import Final

from planaria.errors import SnapshotCorrupt
from planaria.machine.changes import Run
from planaria.machine.memory import PAGE_BYTES, WASM_PAGE_BYTES, MemoryFile
from planaria.snapshot.envelope import Section

__all__ = [
    "PAGES",
    "Pages",
    "changed_pages",
    "overlay",
    "page_sections",
    "pages_at",
    "read_pages",
    "runs_of",
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


def changed_pages(image: MemoryFile, memory: MemoryFile, runs: Iterable[Run], size: int) -> Pages:
    """The pages of `memory` with `runs` written over it, `size` bytes in all, that differ from `image`'s."""
    found: Pages = {}
    with image.view() as original:
        if memory is not image:
            written = touched_pages(runs)
            with memory.view() as moved:
                for block in _differing_blocks(original, moved, size):
                    _take(found, original, block, bytes(moved[block : block + WASM_PAGE_BYTES]))
            for page in written & found.keys():
                del found[page]
        for start, data in runs:
            _take(found, original, start, data)
    return _differences(dict(sorted(found.items())), image)


def _differing_blocks(original: memoryview, moved: memoryview, size: int) -> Iterator[int]:
    for block in range(0, min(size, len(moved)), WASM_PAGE_BYTES):
        before = original[block : block + WASM_PAGE_BYTES]
        # As bytes: comparing views goes item by item.
        if bytes(moved[block : block + WASM_PAGE_BYTES]) != (bytes(before) or _ZERO_BLOCK):
            yield block


def _take(found: Pages, original: memoryview, start: int, data: bytes) -> None:
    """Add the pages of a run that are not as in the image."""
    for offset in range(0, len(data), PAGE_BYTES):
        at = start + offset
        page = data[offset : offset + PAGE_BYTES]
        if page != (bytes(original[at : at + PAGE_BYTES]) or _ZERO_PAGE):
            found[at // PAGE_BYTES] = page


def touched_pages(runs: Iterable[Run]) -> frozenset[int]:
    """The numbers of the pages that runs lie on."""
    return frozenset(
        page for start, data in runs for page in range(start // PAGE_BYTES, (start + len(data)) // PAGE_BYTES)
    )


def pages_at(image: MemoryFile, memory: MemoryFile, runs: Iterable[Run], numbers: Iterable[int]) -> Pages:
    """The pages of these numbers, also those that are as in `image`, which are zeros then."""
    pages: Pages = {}
    with memory.view() as moved:
        for number in numbers:
            page = bytes(moved[number * PAGE_BYTES : (number + 1) * PAGE_BYTES])
            pages[number] = page or _ZERO_PAGE
    for start, data in runs:
        for offset in range(0, len(data), PAGE_BYTES):
            number = (start + offset) // PAGE_BYTES
            if number in pages:
                pages[number] = data[offset : offset + PAGE_BYTES]
    return _differences(pages, image)


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


def page_sections(pages: Pages) -> list[Section]:
    """The sections of pages, one for each region."""
    regions: dict[int, list[int]] = {}
    for number in sorted(pages):
        regions.setdefault(number // _REGION, []).append(number)
    return [
        Section.of(
            PAGES, b"".join([_COUNT.pack(len(group)), _numbers(group), *(pages[one] for one in group)])
        )
        for group in regions.values()
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


def runs_of(pages: Pages, image: MemoryFile) -> list[Run]:
    """Differences as runs of contents, to be written over the image."""
    runs: list[Run] = []
    group: list[bytes] = []
    start = last = -2
    for number, page in _differences(dict(sorted(pages.items())), image).items():
        if number != last + 1:
            if group:
                runs.append((start * PAGE_BYTES, b"".join(group)))
            start, group = number, []
        group.append(page)
        last = number
    if group:
        runs.append((start * PAGE_BYTES, b"".join(group)))
    return runs
