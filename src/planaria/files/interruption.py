"""Long work on files gives way when the guest that asked for it is to be interrupted.

The guest cannot be interrupted while a function of the host runs for it, so what may take long asks `is_due`
every few milliseconds, and ends early or fails with EINTR. On threads that run no guest it is never due.
"""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable

from planaria.files.filesystem import failure

__all__ = ["current", "give_way", "is_due"]


class _Current(threading.local):
    """Of each thread: whether the guest that runs on it is to be interrupted."""

    is_due: Callable[[], bool] | None = None


current = _Current()


def is_due() -> bool:
    """Whether the guest on this thread is to be interrupted."""
    ask = current.is_due
    return ask is not None and ask()


def give_way() -> None:
    """Raise InterruptedError (EINTR) when the guest on this thread is to be interrupted."""
    if is_due():
        raise failure(errno.EINTR)
