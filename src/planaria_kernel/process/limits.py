"""Bounds of a kernel's process, and how it ends with its host."""

from __future__ import annotations

import fcntl
import os
import resource
import select
import signal
import sys
import threading

__all__ = ["bound", "die_with_host", "end_with"]

#: Seconds that a process has to end by itself when its connection has.
_PATIENCE = 5.0


def bound(resources: dict[str, int]) -> None:
    """Set limits of this process and of those that it starts."""
    for name, value in resources.items():
        kind = getattr(resource, name, None)
        if kind is None:
            continue
        _, most = resource.getrlimit(kind)
        bound = value if most == resource.RLIM_INFINITY else min(value, most)
        try:
            resource.setrlimit(kind, (bound, bound))
        except (ValueError, OSError):
            if sys.platform != "darwin":  # which has them, and does not take every one
                raise


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


def end_with(source: int, sink: int) -> None:
    """Have this process killed a while after the other end of `source` is closed, whatever it does then.

    Another process sees to it, for a thread would need this interpreter. Called before there are threads.
    """
    kernel = os.getpid()
    if os.fork():
        return
    for descriptor in (1, 2, sink):
        os.close(descriptor)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    itself = os.pidfd_open(kernel)
    poll = select.poll()
    poll.register(source, 0)  # neither reads nor waits for data
    poll.register(itself, select.POLLIN)
    poll.poll()
    poll.unregister(source)
    if not poll.poll(_PATIENCE * 1e3) and os.getppid() == kernel:
        os.kill(kernel, signal.SIGKILL)
    os._exit(0)
