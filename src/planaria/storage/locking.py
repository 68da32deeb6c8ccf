"""A lock between processes, shared by readers and exclusive to a writer.

It is flock(2) on a file of its own, which the kernel releases when a process is killed. The locks of the
package filelock are exclusive, so that readers would wait for each other, or keep an SQLite file beside the
data; on systems without flock() its lock is used, exclusively.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from planaria.errors import StorageError

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["TIMEOUT", "locked"]

#: Seconds for which another process's transaction is waited for.
TIMEOUT: Final = 60.0
#: Seconds between two attempts: at first, and at most.
_FIRST_PAUSE: Final = 0.0005
_LONGEST_PAUSE: Final = 0.02


@contextlib.contextmanager
def locked(path: Path, *, exclusive: bool, timeout: float = TIMEOUT) -> Iterator[None]:
    """Hold the lock at `path`, which is created when it is missing.

    Raises OSError when the file cannot be opened, StorageError when another process holds the lock for longer
    than `timeout` seconds.
    """
    if fcntl is None:  # pragma: no cover - Windows
        import filelock

        try:
            with filelock.FileLock(path, timeout=timeout):
                yield
        except filelock.Timeout:
            raise _held(path, timeout) from None
        return
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        _acquire(descriptor, fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH, path, timeout)
        yield
    finally:
        os.close(descriptor)


def _acquire(descriptor: int, kind: int, path: Path, timeout: float) -> None:
    end = time.monotonic() + timeout
    pause = _FIRST_PAUSE
    while True:
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= end:
                raise _held(path, timeout) from None
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
        else:
            return


def _held(path: Path, timeout: float) -> StorageError:
    return StorageError(
        f"another process has held the lock {path} for {timeout:g} s: try again, or end that process "
        f"(fuser {path} names it)"
    )
