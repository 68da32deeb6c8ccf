"""Contents of files: chunks that are mutable while hot, and frozen and shared once captured.

A file holds a dictionary from chunk number to chunk. A missing chunk is a hole, and a chunk may be
shorter than `CHUNK` bytes: what is missing reads as zeros. A `bytearray` belongs to one file alone;
a `Chunk` is immutable, and there is only one of the same contents in the process.
"""

from __future__ import annotations

import hashlib
import threading
import weakref
from typing import Final

__all__ = ["CHUNK", "DIGEST_SIZE", "MASK", "SHIFT", "Chunk", "Chunks", "digest_of", "frozen"]

SHIFT: Final = 16
CHUNK: Final = 1 << SHIFT
MASK: Final = CHUNK - 1
#: Bytes of a digest; it is written as twice as many hexadecimal digits.
DIGEST_SIZE: Final = 32


def digest_of(data: bytes) -> str:
    """BLAKE2b-256 in hexadecimal."""
    return hashlib.blake2b(data, digest_size=DIGEST_SIZE).hexdigest()


class Chunk:
    """Immutable contents. The digest is computed on first use."""

    __slots__ = ("__weakref__", "_digest", "data")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._digest: str | None = None

    @property
    def digest(self) -> str:
        if self._digest is None:
            self._digest = digest_of(self.data)
        return self._digest


Chunks = dict[int, "bytearray | Chunk"]

# The key is the chunk's own data, whose hash Python keeps; equal means equal, not "same digest".
_known: weakref.WeakValueDictionary[bytes, Chunk] = weakref.WeakValueDictionary()
_lock = threading.Lock()


def frozen(data: bytes) -> Chunk:
    """The chunk with these contents."""
    with _lock:
        chunk = _known.get(data)
        if chunk is None:
            chunk = _known[data] = Chunk(data)
        return chunk
