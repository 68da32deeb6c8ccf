"""Files that appear whole, and a lock between processes."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["PARTIAL", "locked", "partial_file", "sync_directory"]

#: How the name of a file ends that is not complete.
PARTIAL: Final = ".partial"


@contextlib.contextmanager
def locked(path: Path, *, alone: bool) -> Iterator[None]:
    """Hold the lock at `path`, in common or alone. The system takes it back from a process that is killed."""
    if fcntl is None:  # pragma: no cover - Windows: everybody alone
        import filelock

        with filelock.FileLock(path):
            yield
        return
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def partial_file(place: Path, data: bytes) -> Iterator[Path]:
    """A complete file of `data` beside `place`, on the disk, to be moved or linked there."""
    partial = place.with_name(f"{place.name}.{os.getpid()}.{threading.get_ident()}{PARTIAL}")
    try:
        with partial.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        yield partial
    finally:
        partial.unlink(missing_ok=True)


def sync_directory(path: Path) -> None:
    """Have the directory's entries on the disk, where the system can say so."""
    if os.name == "posix":
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
