"""Bytes on their way from the thread of the event loop to the one that the code runs on."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable

__all__ = ["ByteQueue"]


class ByteQueue:
    """Bytes that are kept as they came, and copied once at most, when they are taken. Thread-safe."""

    def __init__(self) -> None:
        self._chunks: deque[bytes | bytearray | memoryview] = deque()
        self._size = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return self._size

    def extend(self, chunks: Iterable[bytes | bytearray | memoryview]) -> None:
        """Add chunks at the end, all at the same time. They must not change from here on."""
        with self._lock:
            for chunk in chunks:
                if chunk:
                    self._chunks.append(chunk)
                    self._size += len(chunk)

    def take(self, size: int) -> bytes:
        """Remove and return the first `size` bytes, or all if there are fewer."""
        with self._lock:
            size = min(size, self._size)
            self._size -= size
            taken: list[bytes | bytearray | memoryview] = []
            while size:
                chunk = self._chunks.popleft()
                if len(chunk) > size:
                    view = memoryview(chunk)
                    self._chunks.appendleft(view[size:])
                    chunk = view[:size]
                taken.append(chunk)
                size -= len(chunk)
        if len(taken) == 1 and isinstance(taken[0], bytes):
            return taken[0]
        return b"".join(taken)
