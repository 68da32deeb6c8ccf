"""The collection of garbage in an object store, and what writers have to know of it.

Nothing locks an object store, so a writer may be about to name what a collection is about to remove. One
object, "collection", keeps them apart. A collection writes there what it is going to remove, waits until all
writers must have seen it, looks again what is needed, and removes the rest. A writer reads the object before
it looks for contents and again before it saves the name; when a collection has begun or ended meanwhile, or
is to remove something that the writer needs, the writer waits and begins again. One that collections have
overtaken several times writes there that it is at work itself, and no collection begins meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from planaria.errors import ProtocolError, StorageError
from planaria_kernel.protocol import decode, encode

__all__ = ["PLACE", "Collection"]

PLACE: Final = "collection"
#: Stands among what is removed while a writer has collections wait. There is nothing at that path.
_WRITER: Final = "writer"


@dataclass(frozen=True, slots=True)
class Collection:
    """The state of the collection of garbage."""

    generation: int = 0
    """Counts up when a collection begins and when it ends."""
    doomed: frozenset[str] = frozenset()
    """The paths that it is going to remove; none between collections."""
    token: str = ""
    """Of the collector that wrote this."""

    @property
    def is_active(self) -> bool:
        """Whether something is going to be removed, or a writer has collections wait."""
        return bool(self.doomed)

    def begun(self, doomed: frozenset[str], token: str) -> Collection:
        """The state while `doomed` is removed."""
        return Collection(self.generation + 1, doomed, token)

    def held(self, token: str) -> Collection:
        """The state while a writer is at work that has collections wait."""
        return self.begun(frozenset({_WRITER}), token)

    def ended(self) -> Collection:
        """The state after it."""
        return Collection(self.generation + 1, token=self.token)

    def encode(self) -> bytes:
        """As it is kept."""
        return encode((self.generation, self.token, sorted(self.doomed)))

    @classmethod
    def decode(cls, data: bytes | None) -> Collection:
        """From what is kept; without anything no collection has begun. Raises StorageError."""
        if data is None:
            return cls()
        try:
            value = decode(data)
        except ProtocolError:
            value = None
        match value:
            case (int(generation), str(token), list(doomed)) if all(isinstance(one, str) for one in doomed):
                return cls(generation, frozenset(doomed), token)
        raise StorageError(
            f"the object {PLACE!r} of this store is damaged; remove it while the store is not in use"
        )
