"""A store in this process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import TypeVar

from planaria.stores.store import Kind, Shelves, Store

__all__ = ["MemoryStore"]

Result = TypeVar("Result")


class _Dictionaries(Shelves):
    def __init__(self) -> None:
        self.data: dict[Kind, dict[str, bytes]] = {"blob": {}, "record": {}}
        self.named: dict[str, dict[int, bytes]] = {}

    def get(self, kind: Kind, digest: str) -> bytes | None:
        return self.data[kind].get(digest)

    def has(self, kind: Kind, digest: str) -> bool:
        return digest in self.data[kind]

    def put(self, kind: Kind, digest: str, data: bytes) -> None:
        self.data[kind][digest] = data

    def remove(self, kind: Kind, digest: str) -> int:
        return len(self.data[kind].pop(digest))

    def digests(self, kind: Kind) -> Iterable[str]:
        return list(self.data[kind])

    def names(self) -> Iterable[str]:
        return list(self.named)

    def versions(self, name: str) -> list[tuple[int, bytes]]:
        return sorted(self.named.get(name, {}).items())

    def append(self, name: str, data: bytes) -> None:
        versions = self.named.setdefault(name, {})
        versions[max(versions, default=0) + 1] = data

    def forget(self, name: str, number: int) -> None:
        versions = self.named[name]
        del versions[number]
        if not versions:
            del self.named[name]


class MemoryStore(Store):
    """Keeps snapshots until it is dropped."""

    def __init__(self) -> None:
        self._shelves = _Dictionaries()
        self._lock = threading.Lock()

    def _read(self, action: Callable[[Shelves], Result]) -> Result:
        with self._lock:
            return action(self._shelves)

    _write = _collect = _read
