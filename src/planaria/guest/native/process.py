"""Bounds of a kernel's process, and how it ends with its host."""

from __future__ import annotations

import fcntl
import os
import resource
import signal
import threading

__all__ = ["bound", "die_with_host"]


def bound(resources: dict[str, int]) -> None:
    """Set limits of this process and of those that it starts."""
    for name, value in resources.items():
        kind = getattr(resource, name, None)
        if kind is None:
            continue
        _, most = resource.getrlimit(kind)
        bound = value if most == resource.RLIM_INFINITY else min(value, most)
        resource.setrlimit(kind, (bound, bound))


def die_with_host(lifeline: int) -> None:
    """Have the whole process group end when the host's end of this pipe is closed, whatever runs here."""
    os.set_inheritable(lifeline, False)
    if hasattr(fcntl, "F_SETSIG"):  # the system itself sees to it
        fcntl.fcntl(lifeline, fcntl.F_SETOWN, -os.getpgrp())
        fcntl.fcntl(lifeline, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
        return

    def watch() -> None:
        os.read(lifeline, 1)
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=watch, name="planaria-lifeline", daemon=True).start()
