"""A file that appears whole, or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

__all__ = ["write_whole"]


def write_whole(place: Path, pieces: Iterable[bytes | memoryview]) -> None:
    """Write a file that only this user may read; until all is on the disk, `place` is as it was before.

    A process that is killed meanwhile leaves a file beside it whose name ends with ".partial". Raises
    OSError.
    """
    descriptor, partial = tempfile.mkstemp(prefix=f"{place.name}.", suffix=".partial", dir=place.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, place)
    except BaseException:
        Path(partial).unlink(missing_ok=True)
        raise
