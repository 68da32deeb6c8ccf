"""A small filesystem, to have a full one."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

__all__ = ["FILLING", "fill", "mounted", "small_disk"]

#: The file of `fill`.
FILLING = "filling"


@contextlib.contextmanager
def mounted(place: Path, *calls: list[str]) -> Iterator[Path]:
    """What calls of mount(8) with these arguments show at a new directory; for a user who may mount."""
    place.mkdir()
    try:
        for arguments in calls:
            subprocess.run(["mount", *arguments, str(place)], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this user may not mount a filesystem")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def small_disk(place: Path, size: int) -> contextlib.AbstractContextManager[Path]:
    """A new directory on a filesystem of its own, with room for so many bytes."""
    return mounted(place, ["-t", "tmpfs", "-o", f"size={size},mode=0700", "tmpfs"])


def fill(place: Path, room: int = 0) -> None:
    """Leave room for so many bytes only."""
    filling = place / FILLING
    with contextlib.suppress(OSError), open(filling, "wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    if room:
        with open(filling, "r+b") as file:
            file.truncate(max(0, filling.stat().st_size - room))
