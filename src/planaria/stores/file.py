"""A store in a directory."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from planaria.storage.backends.logged import LoggedBackend
from planaria.storage.failures import file_failures
from planaria.stores.file_leases import FileLeases
from planaria.stores.garbage import Garbage, unneeded
from planaria.stores.store import Store

__all__ = ["FileStore"]


class FileStore(Store):
    """Keeps snapshots in the directory `path`, which is created when it is missing.

    What is saved is on the disk when `save` returns: first in a log (fdatasync(2)), which becomes files in
    the background. Raises StorageError when the directory cannot be used.
    """

    _backend: LoggedBackend

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).absolute()
        with file_failures(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
        # The lock of earlier versions, so that both can use one directory.
        leases = FileLeases(self.path / ".storage" / "leases")
        super().__init__(LoggedBackend(self.path, lock="lock", prune=unneeded), leases)

    def __reduce__(self) -> tuple[Any, ...]:
        return FileStore, (self.path,)

    def collect_garbage(self, *, unused_for: float | None = None) -> Garbage:
        found = super().collect_garbage(unused_for=unused_for)
        self._backend.fold()
        return found
