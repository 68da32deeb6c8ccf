"""A store in a directory."""

from __future__ import annotations

import os
from pathlib import Path

from planaria.storage.backends.file import FileBackend
from planaria.storage.failures import file_failures
from planaria.stores.store import Store

__all__ = ["FileStore"]


class FileStore(Store):
    """Keeps snapshots in the directory `path`, which is created when it is missing.

    Files are written through to the disk before they can be seen (fsync(2)). Raises StorageError when the
    directory cannot be used.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).absolute()
        with file_failures(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
        # The lock of earlier versions, so that both can use one directory.
        super().__init__(FileBackend(self.path, lock="lock"))
