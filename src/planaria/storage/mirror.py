"""A folder of a storage as it was last read, so that what has not changed is not read again."""

from __future__ import annotations

import time
from collections.abc import Hashable
from typing import Final

from planaria.storage.documents import Documents, Entry

__all__ = ["Mirror"]

#: Looking at each file of a large folder takes a while; when it took longer than so many seconds of processor
#: time, it is not done again before so many times as long have passed.
_QUICK: Final = 0.005
_REST: Final = 20.0


class Mirror:
    """The documents of `folder` whose names end with `suffix`; by name, without it."""

    def __init__(self, folder: str, suffix: str) -> None:
        self._folder = folder
        self._suffix = suffix
        self._revision: Hashable = object()
        self._look_again = 0.0
        self.contents: dict[str, bytes] = {}
        self.entries: dict[str, Entry] = {}
        #: The names that have changed, come or gone; who has seen to one of them discards it.
        self.changed: set[str] = set()

    def refresh(self, documents: Documents, *, is_exact: bool) -> None:
        """Read what has changed.

        Unless `is_exact`, files of a large folder that were edited in their place may be noticed a second
        late.
        """
        revision = documents.revision(self._folder)
        if revision.value == self._revision:
            if revision.is_complete:
                return
            if not is_exact and time.monotonic() < self._look_again:
                return
        began = time.thread_time()
        found = {
            name.removesuffix(self._suffix): entry
            for name, entry in documents.entries(self._folder).items()
            if name.endswith(self._suffix)
        }
        took = time.thread_time() - began
        changed = {name for name, entry in found.items() if self.entries.get(name) != entry}
        gone = self.entries.keys() - found.keys()
        self.changed |= changed | gone
        for name in gone:
            self.contents.pop(name, None)
        wanted = [name + self._suffix for name in sorted(changed)]
        for name, data in documents.load_many(self._folder, wanted):
            self.contents[name.removesuffix(self._suffix)] = data
        self.entries = {name: entry for name, entry in found.items() if name in self.contents}
        self._revision = revision.value
        self._look_again = time.monotonic() + (took * _REST if took > _QUICK else 0.0)
