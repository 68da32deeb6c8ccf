"""Contents of files: chunks named by their digest, many to a section.

A section is a count (uint32), so many lengths (uint32), and the chunks in order of their digests. Where one
section ends and the next begins depends on the digests, so that a new file changes one section and not all
after it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from typing import Final

from planaria.errors import SnapshotCorrupt
from planaria.files.chunks import CHUNK, digest_of
from planaria.snapshot.envelope import Section

__all__ = ["CHUNKS", "chunk_sections", "read_chunks"]

#: The kind of these sections.
CHUNKS: Final = "chunks"

_SECTION: Final = 4 * CHUNK
_COUNT: Final = struct.Struct("<I")


def chunk_sections(chunks: Mapping[str, bytes]) -> list[Section]:
    sections: list[Section] = []
    group: list[bytes] = []
    size = 0
    for digest in sorted(chunks):
        group.append(chunks[digest])
        size += len(group[-1])
        if digest[0] == "0" or size >= _SECTION:
            sections.append(_section(group))
            group, size = [], 0
    if group:
        sections.append(_section(group))
    return sections


def _section(group: list[bytes]) -> Section:
    lengths = struct.pack(f"<{len(group)}I", *map(len, group))
    return Section.of(CHUNKS, b"".join([_COUNT.pack(len(group)), lengths, *group]))


def read_chunks(sections: Iterable[Section]) -> dict[str, bytes]:
    """All chunks by the digests that they have; SnapshotCorrupt when a section is not well formed.

    The caller has bounded the sizes of the sections.
    """
    chunks: dict[str, bytes] = {}
    for section in sections:
        contents = section.contents()
        count = _COUNT.unpack_from(contents)[0] if len(contents) >= _COUNT.size else -1
        at = _COUNT.size + 4 * count
        if count < 0 or at > len(contents):
            raise SnapshotCorrupt("a section of files is shorter than its count says")
        lengths = struct.unpack_from(f"<{count}I", contents, _COUNT.size)
        if at + sum(lengths) != len(contents):
            raise SnapshotCorrupt("a section of files is not of the size that its lengths say")
        for length in lengths:
            chunk = contents[at : at + length]
            chunks[digest_of(chunk)] = chunk
            at += length
    return chunks
