"""A delta and all that it rests on as one complete snapshot of the same state."""

from __future__ import annotations

from dataclasses import replace

from planaria.errors import SnapshotCorrupt
from planaria.snapshot.chunks import CHUNKS, chunk_sections, read_chunks
from planaria.snapshot.decode import pages_of
from planaria.snapshot.encode import chunk_names
from planaria.snapshot.envelope import Section
from planaria.snapshot.layers import LAYERS
from planaria.snapshot.pages import page_sections
from planaria.snapshot.parts import Packed
from planaria.snapshot.snapshot import Snapshot

__all__ = ["folded"]

#: Sections that each snapshot has for itself; those of other kinds are of its whole chain.
_OWN = ("state", "files")


def folded(snapshot: Snapshot) -> Snapshot:
    """The complete snapshot of the state that a delta is of. It is made of bytes alone: no session is needed.

    Raises SnapshotMismatch when a parent is not at hand, SnapshotKeyError for one that is signed, and where
    its bytes are made, SnapshotCorrupt.
    """
    snapshot.check_key(None)
    if snapshot.header.parent is None:
        return snapshot
    if snapshot.origin is None:
        return Snapshot(_packed(snapshot).data)
    # The origin stays: what is taken next is compared with the same memory.
    return Snapshot.packed(lambda: _packed(snapshot), None, snapshot.origin, snapshot.live)


def _packed(snapshot: Snapshot) -> Packed:
    chain = snapshot.chain()
    header = snapshot.header
    if any(one.header.image != header.image for one in chain):
        raise SnapshotCorrupt("a delta rests on a snapshot of another image")
    layers = chain[0].layers
    chunks = read_chunks(section for one in chain for section in one.container.of_kind(CHUNKS))
    names = chunk_names(snapshot.manifest) | chunk_names(layers)
    sections: list[Section] = [
        *(section for kind in _OWN for section in snapshot.container.of_kind(kind)),
        *chain[0].container.of_kind(LAYERS),
        *page_sections(pages_of(snapshot)),
        *chunk_sections({digest: chunk for digest, chunk in chunks.items() if digest in names}),
    ]
    return Packed.of(replace(header, parent=None), sections)
