"""Files that appear as a whole, or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

__all__ = ["sync_directory", "write_atomically"]


def write_atomically(place: Path, chunks: Iterable[bytes | memoryview]) -> None:
    """Write a file that only this user may read; until all of it is on the disk, `place` is as it was before.

    A process that is killed meanwhile leaves a file beside it whose name ends with ".partial". Raises
    OSError. See rename(2) and fsync(2).
    """
    descriptor, partial = tempfile.mkstemp(prefix=f"{place.name}.", suffix=".partial", dir=place.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(chunks)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, place)
    except BaseException:
        Path(partial).unlink(missing_ok=True)
        raise


def sync_directory(path: Path) -> None:
    """Write the entries of a directory to the disk, on systems that can. Raises OSError."""
    if os.name == "posix":
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
