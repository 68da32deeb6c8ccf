"""The lock of a store, shared by readers and exclusive to a writer."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from planaria.errors import StorageError
from planaria.file_locks import file_lock

__all__ = ["TIMEOUT", "locked"]

#: Seconds for which another process's transaction is waited for.
TIMEOUT: Final = 60.0


@contextlib.contextmanager
def locked(path: Path, *, exclusive: bool, timeout: float = TIMEOUT) -> Iterator[None]:
    """Hold the lock at `path`, which is created when it is missing.

    Raises OSError when the file cannot be opened, StorageError when another process holds the lock for longer
    than `timeout` seconds.
    """
    with file_lock(path, shared=not exclusive, timeout=timeout, mode=0o666) as held:
        if not held:
            raise StorageError(
                f"another process has held the lock {path} for {timeout:g} s: try again, or end that process "
                f"(fuser {path} names it)"
            )
        yield
