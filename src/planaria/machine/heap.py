"""What of a guest's memory is free, as its allocator keeps account of it.

The C library of the guest (wasi-libc) has dlmalloc, whose heap is a row of chunks. Each begins with two
words: the size of the chunk before it, where that one is free, and its own size, with flags in the lowest
bits. A free chunk has six more words of the allocator's. The last one is free, and ends 56 bytes before the
memory does.

The guest may have written anything there. So what is there twice is compared, and where a heap contradicts
itself, nothing of it is known to be free.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Final

from planaria.machine.changes import ChangedPages
from planaria.machine.memory import PAGE_BYTES, MemoryFile, Span

__all__ = ["first_chunk", "free_pages"]

_PREVIOUS_IS_USED: Final = 1
_IS_USED: Final = 2
_FLAGS: Final = 7
_SMALLEST: Final = 16
#: What the allocator itself keeps in a free chunk, from its beginning.
_LINKS: Final = 32
#: What lies behind the last chunk.
_FOOT: Final = 56
#: The words before an object: of its chunk, and those that the collector keeps where it knows the object.
_BEFORE: Final = (16, 8)
#: A reference count from which an object is immortal, in CPython of 32 bits.
_IMMORTAL: Final = 1 << 30

#: So many chunks in a row are needed to be sure of the next one.
_UNSURE: Final = 32

_word: Final = Struct("<I").unpack_from


def first_chunk(image: MemoryFile, known: int) -> int | None:
    """The address of the last chunk in an image that is never freed, from which `free_pages` begins.

    `known` is the address of an object in the image. None when the heap is not as it is expected. Takes a
    tenth of a second.
    """
    with image.view() as view, view.cast("I") as words:
        for before in _BEFORE:
            if (found := _last_immortal(words, known - before, image.size)) is not None:
                return found
    return None


def _last_immortal(words: memoryview, at: int, end: int) -> int | None:
    """Of a row of chunks up to the end, the last that has an immortal object.

    What looks like a chunk and is none may end where one begins. So the first few do not count.
    """
    if not 0 <= at < end - _FOOT:
        return None
    found, count = None, 0
    while True:
        head = words[(at + 4) >> 2]
        following = at + (head & ~_FLAGS)
        if following < at + _SMALLEST or following > end - _FOOT:
            return None
        is_used = bool(head & _IS_USED)
        if bool(words[(following + 4) >> 2] & _PREVIOUS_IS_USED) is not is_used:
            return None
        count += 1
        if is_used and count > _UNSURE and (words[(at + 8) >> 2] | words[(at + 16) >> 2]) & _IMMORTAL:
            found = at
        if following == end - _FOOT:
            return found
        at = following


def free_pages(memory: MemoryFile, written: ChangedPages, size: int, start: int, most: int) -> frozenset[int]:
    """The numbers of the pages within free chunks of `memory` with `written` over it, `size` bytes in all.

    Begins with the chunk at `start`. None are known where more than `most` chunks follow.
    """
    with memory.view() as view:
        end_of_view = len(view)

        def word(at: int) -> int:
            page = written.get(at & -PAGE_BYTES)
            if page is not None:
                return int(_word(page, at % PAGE_BYTES)[0])
            return int(_word(view, at)[0]) if at < end_of_view else 0

        spans = _free_spans(word, start, size, most)
    return frozenset(
        number for first, last in spans or () for number in range(-(-first // PAGE_BYTES), last // PAGE_BYTES)
    )


def _free_spans(word: Callable[[int], int], at: int, end: int, most: int) -> list[Span] | None:
    """What is free of the chunks from `at` to the end; None when they are not a heap, or too many."""
    spans: list[Span] = []
    head = word(at + 4)
    for _ in range(most):
        size = head & ~_FLAGS
        following = at + size
        if size < _SMALLEST or following > end - _FOOT:
            return None
        is_used = bool(head & _IS_USED)
        head = word(following + 4)
        if bool(head & _PREVIOUS_IS_USED) is not is_used:
            return None
        is_last = following == end - _FOOT
        if not is_used:
            if not is_last and word(following) != size:
                return None
            spans.append((at + _LINKS, following))
        if is_last:
            return None if is_used else spans
        at = following
    return None
