"""Long work on files gives way when the guest that asked for it is to be interrupted.

The guest cannot be interrupted while a function of the host runs for it, so what may take long asks `is_due`
every few milliseconds, and ends early or fails with EINTR. On threads that run no guest it is never due.

An interrupt that was raised in the guest waits there until the guest looks for signals, which a loop in C
that reads a device without end does only when a read fails with EINTR. So one read does for each interrupt.
"""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable

from planaria.files.filesystem import failure

__all__ = ["current", "give_way", "is_due", "was_raised"]


class _Current(threading.local):
    """Of each thread: whether the guest that runs on it is to be interrupted."""

    is_due: Callable[[], bool] | None = None
    take_raised: Callable[[], bool] | None = None
    """Whether an interrupt was raised in the guest since the last time that this was asked."""


current = _Current()


def is_due() -> bool:
    """Whether the guest on this thread is to be interrupted."""
    ask = current.is_due
    return ask is not None and ask()


def was_raised() -> bool:
    """Whether an interrupt was raised in the guest on this thread, which no read has reported yet."""
    take = current.take_raised
    return take is not None and take()


def give_way() -> None:
    """Raise InterruptedError (EINTR) when the guest on this thread is to be interrupted."""
    if is_due():
        raise failure(errno.EINTR)
