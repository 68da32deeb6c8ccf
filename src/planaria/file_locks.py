"""Locks between processes, on files of their own.

A lock is flock(2), which the kernel releases when its holder is killed. The holder of a lock may remove its
file: a lock that is acquired on a file that has no name any more is acquired again on the one that has it.
The locks of the package filelock take the place of these on systems without flock().
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["file_lock"]

#: Seconds between two attempts: at first, and at most.
_FIRST_PAUSE: Final = 0.0005
_LONGEST_PAUSE: Final = 0.02


@contextlib.contextmanager
def file_lock(
    path: Path, *, shared: bool = False, timeout: float | None = None, mode: int = 0o600
) -> Iterator[bool]:
    """Hold the lock at `path`, which is created with `mode` when it is missing; yields whether it is held.

    It is not when another holder, be it of this process, has it for `timeout` seconds; None waits as long as
    it takes. Those who hold it `shared` do not exclude each other. Raises OSError when the file cannot be
    opened.
    """
    if fcntl is None:  # pragma: no cover - Windows
        import filelock

        lock = filelock.FileLock(path, timeout=-1 if timeout is None else timeout)
        try:
            lock.acquire()
        except filelock.Timeout:
            yield False
            return
        try:
            yield True
        finally:
            lock.release()
        return
    descriptor = _acquire(path, shared, timeout, mode)
    try:
        yield descriptor is not None
    finally:
        if descriptor is not None:
            # Also where a child that was forked meanwhile has the descriptor.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)


def _acquire(path: Path, shared: bool, timeout: float | None, mode: int) -> int | None:
    """A descriptor that has the lock, None when it was not to be had in time."""
    end = None if timeout is None else time.monotonic() + timeout
    pause = _FIRST_PAUSE
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, mode)
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
            if os.fstat(descriptor).st_nlink:
                taken, descriptor = descriptor, -1
                return taken
        except BlockingIOError:
            if end is not None and time.monotonic() >= end:
                return None
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
        finally:
            if descriptor >= 0:
                os.close(descriptor)
