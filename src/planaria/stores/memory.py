"""A store in this process."""

from __future__ import annotations

from planaria.storage.backends.memory import MemoryBackend
from planaria.stores.store import Store

__all__ = ["MemoryStore"]


class MemoryStore(Store):
    """Keeps snapshots until it is dropped."""

    def __init__(self) -> None:
        super().__init__(MemoryBackend())
