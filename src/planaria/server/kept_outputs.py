"""The larger outputs of cells in the store, which the saved cells name by their digests."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from planaria.stores.store import Store

__all__ = ["KeptOutputs", "RichOutput", "digests_in", "saved_output"]

#: Smaller outputs are saved with the cells themselves.
_INLINE: Final = 4096
#: What stands in the place of an output that is kept.
_KEPT: Final = "kept"
_KIND: Final = "output"


class RichOutput(dict[str, Any]):
    """An output that is not a stream, as notebooks (nbformat 4) have it; it does not change."""

    @cached_property
    def encoded(self) -> bytes:
        """The output as JSON."""
        return json.dumps(self).encode()

    @cached_property
    def digest(self) -> str:
        """What names it in the store."""
        return hashlib.sha256(self.encoded).hexdigest()

    @property
    def is_kept(self) -> bool:
        """Whether it is kept beside the cells."""
        return len(self.encoded) > _INLINE


def saved_output(output: RichOutput) -> dict[str, Any]:
    """The output as the saved cell has it."""
    return {_KEPT: output.digest} if output.is_kept else output


def digests_in(cells: Iterable[Mapping[str, Any]]) -> set[str]:
    """What saved cells name."""
    return {one[_KEPT] for cell in cells for one in cell.get("outputs", ()) if _KEPT in one}


class KeptOutputs:
    """The outputs that are kept for one session. The methods block.

    Args:
        store: where they are.
        name: the session, by its name in the store.
        there: the digests of those that are kept already.
    """

    def __init__(self, store: Store, name: str, there: Iterable[str] = ()) -> None:
        self._attachments = store.attachments
        self._name = name
        self.there = set(there)

    def _place(self, digest: str) -> str:
        return f"{self._name} {digest}"

    def put(self, outputs: Mapping[str, RichOutput]) -> None:
        """Keep outputs, before the cells that name them are saved."""
        for digest in outputs.keys() - self.there:
            self._attachments.put(_KIND, self._place(digest), outputs[digest].encoded)
            self.there.add(digest)

    def drop_all_but(self, wanted: Iterable[str]) -> None:
        """Forget those that the saved cells do not name any more."""
        for digest in self.there.difference(wanted):
            self._attachments.drop(_KIND, self._place(digest))
            self.there.discard(digest)

    def whole(self, cells: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Saved cells with the outputs that they name; one that is gone is left out."""
        return [{**cell, "outputs": self._found(cell.get("outputs", ()))} for cell in cells]

    def _found(self, outputs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        found = []
        for one in outputs:
            if _KEPT not in one:
                found.append(one)
            elif (data := self._attachments.get(_KIND, self._place(one[_KEPT]))) is not None:
                found.append(json.loads(data))
        return found
