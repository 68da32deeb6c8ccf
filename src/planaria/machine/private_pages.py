"""The pages of a machine's private memory that are not the mapped file's, kept up to date at little cost.

All of them are found by a look at every page, and read. Where the system can notice writes, later looks find
only what was written since, and only that is read. To have writes noticed costs something itself, so it is
begun when looks have cost as much: a memory that is read once is never protected.

The first write to a protected page is a page fault. A page that was written to stays *open*, without
protection, and is read every time, since most executions write to the same few dozen pages. So most of them
cause no fault at all, and then there is nothing to look for: what may have changed are the open pages. When
more of these have been read in vain than usual, all are protected again.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from planaria.machine.changes import (
    ChangedPages,
    PageViews,
    dirty_spans,
    memory_at,
    pages_of,
    read_pages,
    revert,
    spans_of,
    write_pages,
)
from planaria.machine.memory import PAGE_BYTES, MemoryFile, Span, length, united, without
from planaria.machine.write_protection import protect, see_written, take_written, unprotect

__all__ = ["IMMORTAL_MINIMUM", "STACK_BASE", "PrivatePages"]

#: In CPython of 32 bits, an object whose reference count is at least this is immortal (refcount.h).
IMMORTAL_MINIMUM: Final = 1 << 30
#: The address of the WebAssembly stack when nothing runs.
STACK_BASE: Final = 16777216
#: How much of the stack stays as the last call left it, in bytes; usual calls do not come so far.
_KEPT_STACK: Final = 256 << 10
#: What deep recursion leaves on the stack.
_OLD_FRAMES: Final[Span] = (0, STACK_BASE - _KEPT_STACK)
#: About what protecting a page costs, in nanoseconds.
_PROTECTION: Final = 15
#: Open pages that are read in vain before all are protected again: about what that costs, with the faults.
_MOST_VAIN: Final = 800
#: What is added to a smaller part, or is smaller, is looked at together with it, in bytes.
_SMALL_PART: Final = 16 << 20


@dataclass(slots=True)
class _Part:
    """A part of the memory, which is protected or not as a whole."""

    start: int
    end: int
    is_protected: bool = False
    cost: int = 0
    """What looks at it have cost, in nanoseconds."""
    opened: list[Span] = field(default_factory=list)
    """Where it is protected: the pages that were written to at the last look, which are not."""


class PrivatePages:
    """Those of the memory at one address. The guest must be at rest."""

    __slots__ = (
        "_base",
        "_found",
        "_parts",
        "_read",
        "_usual",
        "_vain",
        "_views",
        "copied",
        "is_looked_at",
    )

    def __init__(self, base: int) -> None:
        self._base = base
        self.is_looked_at = False
        """Whether no page of the protected parts but the open ones was written to since the last look. Who
        runs the guest sets it to False when the thread had page faults meanwhile.
        """
        self._parts: list[_Part] = []
        #: The bytes that were copied so far.
        self.copied = 0
        self._views = PageViews(base, [])
        self.forget()

    def forget(self) -> None:
        """Something is going to be mapped over the memory, or was."""
        #: The changed pages as they were last read; None when all have to be found anew, as after a failure.
        self._read: ChangedPages | None = None
        #: What `find` has found and neither `read` nor `go_back` has taken.
        self._found: tuple[ChangedPages | None, list[Span]] | None = None
        self.is_looked_at = False
        #: How many open pages were read in vain since all were protected, beyond those of the first time:
        #: what every execution writes to is better left open, also if it ends with the same contents.
        self._vain = 0
        self._usual: int | None = None
        for part in self._parts:
            if part.is_protected:
                unprotect(self._base, max(part.start, _OLD_FRAMES[1]), part.end)
            part.is_protected, part.cost, part.opened = False, 0, []

    def look_again(self, end: int, most: int) -> ChangedPages | None:
        """What `find` and `read` give when no page but the open ones was written to, which is usual.

        None where that is not known, or they may have more than `most` bytes.
        """
        before, views = self._read, self._views
        if not self.is_looked_at or before is None or len(self._parts) != 1:
            return None
        part = self._parts[0]
        if part.opened is not views.spans or part.end != end:
            return None
        if len(before) * PAGE_BYTES + views.bytes > most:
            return None
        return self._compared(before)

    def find(self, end: int, image: MemoryFile) -> None:
        """Find what may differ from `image`, which is mapped there, below `end`."""
        before, self._read = self._read, None
        if before is None:
            self.forget()
        self._reach(end)
        unread: list[Span] = []
        for part in self._parts:
            if not part.is_protected:
                unread = unread + self._look(part, image)
                continue
            if not self.is_looked_at:
                written = see_written(self._base, max(part.start, _OLD_FRAMES[1]), part.end)
                if written is None:  # something was mapped there
                    self.forget()
                    return self.find(end, image)
                views = self._views
                part.opened = views.spans if written == views.spans else written
                if not part.start:
                    revert(self._base, [_OLD_FRAMES], image)
            unread = unread + part.opened if unread else part.opened
        self.is_looked_at = True
        self._found = before, unread
        return None

    def _reach(self, end: int) -> None:
        """The memory ends at `end` now."""
        parts = self._parts
        while parts and parts[-1].start >= end:
            parts.pop()
        known = parts[-1].end if parts else 0
        if known > end:
            parts[-1].end = end
            self.is_looked_at = False
        elif known < end:
            last = parts[-1] if parts else None
            if last is None or last.is_protected or min(end - known, known - last.start) > _SMALL_PART:
                parts.append(_Part(known, end))
            else:
                last.end = end

    def give_back_unchanged(self, end: int, image: MemoryFile) -> None:
        """Drop the pages that were written to and are as in `image` all the same, before the first look.

        Half of what a first execution writes to are objects that were used and are as before.
        """
        if self._read is not None or self._parts:
            return
        memory, same = memory_at(self._base), []
        with image.view() as original:
            for start, stop in dirty_spans(self._base, min(end, image.size), image):
                same += [
                    at
                    for at in range(start, stop, PAGE_BYTES)
                    # Faster than comparing views.
                    if bytes(memory[at : at + PAGE_BYTES]).startswith(original[at : at + PAGE_BYTES])
                ]
        revert(self._base, spans_of(same), image)

    def _look(self, part: _Part, image: MemoryFile) -> list[Span]:
        """What has changed of a part that is not protected."""
        base, start, end = self._base, part.start, part.end
        began = time.thread_time_ns()
        spans = dirty_spans(base, end, image, start)
        part.cost += time.thread_time_ns() - began
        if not start:
            kept = without(spans, [_OLD_FRAMES])
            if kept != spans:
                revert(base, without(spans, kept), image)
            spans = kept
        if part.cost >= (end - start) // PAGE_BYTES * _PROTECTION:
            part.cost = 0
            if protect(base, max(start, _OLD_FRAMES[1]), end):
                self._join(part)
        return spans

    def _join(self, part: _Part) -> None:
        """It is protected now; `find` goes over the parts meanwhile."""
        part.is_protected = True
        index = self._parts.index(part)
        if index and self._parts[index - 1].is_protected:
            part.start, part.opened = self._parts[index - 1].start, self._parts[index - 1].opened
            self._parts = [*self._parts[: index - 1], *self._parts[index:]]

    def spans(self) -> list[Span]:
        """The spans that `find` has found, by whole pages."""
        assert self._found is not None
        before, unread = self._found
        return unread if before is None else united(spans_of(before), unread)

    def bytes_up_to(self, most: int) -> int:
        """How many bytes these have; where it is not more than `most`, perhaps less than is returned."""
        assert self._found is not None
        before, unread = self._found
        unread_bytes = self._views.bytes if unread is self._views.spans else length(unread)
        if not before:
            return unread_bytes
        either = len(before) * PAGE_BYTES + unread_bytes
        return either if either <= most else either - _read_before(before, unread)

    def settled_bytes(self) -> int:
        """How many bytes of what `find` has found were not written to since the last look."""
        assert self._found is not None
        before, unread = self._found
        return len(before) * PAGE_BYTES - _read_before(before, unread) if before else 0

    def read(self, known: Mapping[int, bytes]) -> ChangedPages:
        """The pages that `find` has found, shared with `known` where they are the same; not to be changed."""
        before, unread = self._take_found()
        if before is None:
            self._read = pages = read_pages(self._base, unread, known)
            self.copied += len(pages) * PAGE_BYTES
            return pages
        if unread is not self._views.spans:
            self._views = PageViews(self._base, unread)
        return self._compared(before)

    def _compared(self, before: ChangedPages) -> ChangedPages:
        """The pages as they are now, of which none but those in the views may differ from `before`."""
        views = self._views
        changed = views.changed(before)
        self._read = pages = before | changed if changed else before
        self.copied += len(changed) * PAGE_BYTES
        vain = views.bytes // PAGE_BYTES - len(changed)
        if self._usual is None:
            self._usual = vain
        if vain > self._usual:
            self._vain += vain - self._usual
            if self._vain > _MOST_VAIN:
                self._close()
        return pages

    def _close(self) -> None:
        """Protect the open pages again, which have just been read."""
        self._vain, self._usual = 0, None
        for part in self._parts:
            if part.is_protected and part.opened:
                if take_written(self._base, max(part.start, _OLD_FRAMES[1]), part.end) is None:
                    self.is_looked_at = False  # the next look finds out
                part.opened = []

    def go_back(self, pages: ChangedPages, image: MemoryFile) -> None:
        """Make `pages` those that differ from `image`; `find` was called."""
        before, unread = self._take_found()
        stale = set(pages_of(unread))
        if before is None:
            stale.update(pages)
        elif before is not pages:
            stale.update([at for at, page in pages.items() if before.get(at) is not page])
            stale |= before.keys() - pages.keys()
        revert(self._base, spans_of(stale - pages.keys()), image)
        write_pages(self._base, {at: pages[at] for at in stale & pages.keys()})
        self._read = pages
        self.is_looked_at = False

    def _take_found(self) -> tuple[ChangedPages | None, list[Span]]:
        assert self._found is not None
        found, self._found = self._found, None
        return found


def _read_before(before: ChangedPages, unread: list[Span]) -> int:
    """How many bytes of spans were read before."""
    return sum(map(before.__contains__, pages_of(unread))) * PAGE_BYTES
