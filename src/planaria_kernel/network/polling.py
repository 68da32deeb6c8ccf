"""`select` for the sandbox's sockets: the host says which have something to read.

They can always be written to. Descriptors of files are always ready, as for select(2).
"""

from __future__ import annotations

import errno
import time
from collections.abc import Iterable
from typing import Any, Final

from planaria_kernel.network import link, sockets
from planaria_kernel.network.turns import waited

__all__ = ["Poll", "select"]

POLLIN: Final = 0x1
POLLPRI: Final = 0x2
POLLOUT: Final = 0x4
POLLERR: Final = 0x8
POLLHUP: Final = 0x10
POLLNVAL: Final = 0x20


def _descriptor(one: Any) -> int:
    return one if isinstance(one, int) else one.fileno()


def _readable(descriptors: Iterable[int], seconds: float | None) -> set[int]:
    """Which descriptors have something to read, waiting for the first at most so long."""
    ready, numbers = set(), {}
    for descriptor in descriptors:
        if sockets.is_paired(descriptor) and not sockets.has_peeked(descriptor):
            continue
        number = sockets.number_of(descriptor) if descriptor >= sockets.FIRST_DESCRIPTOR else None
        if number is None or sockets.has_peeked(descriptor):
            ready.add(descriptor)
        else:
            numbers[number] = descriptor
    if numbers or not ready:

        def look(limit: float | None) -> Any:
            if numbers:
                return link.blocking("poll", list(numbers), limit)
            if limit is None:
                raise OSError(errno.EDEADLK, sockets.NOTHING_ELSE)
            time.sleep(limit)
            return []

        found = look(0) if ready else waited(look, seconds)
        ready |= {numbers[number] for number in found}
    return ready


def select(rlist: Any, wlist: Any, xlist: Any, timeout: float | None = None, /) -> tuple[list[Any], ...]:
    """Wait until one of these is ready (https://docs.python.org/3/library/select.html#select.select)."""
    if timeout is not None and timeout < 0:
        raise ValueError("timeout must be non-negative")
    readers, writers = list(rlist), list(wlist)
    for one in (*readers, *writers, *xlist):
        if _descriptor(one) < 0:
            raise ValueError("file descriptor cannot be a negative integer (-1)")
    if not readers and not writers:
        if timeout is not None:
            time.sleep(timeout)
        return [], [], []
    ready = _readable(map(_descriptor, readers), 0 if writers else timeout)
    return [one for one in readers if _descriptor(one) in ready], writers, []


class Poll:
    """What `select.poll()` returns (https://docs.python.org/3/library/select.html#polling-objects)."""

    def __init__(self) -> None:
        self._events: dict[int, int] = {}

    def register(self, fd: Any, eventmask: int = POLLIN | POLLPRI | POLLOUT, /) -> None:
        self._events[_descriptor(fd)] = eventmask

    def modify(self, fd: Any, eventmask: int, /) -> None:
        if _descriptor(fd) not in self._events:
            raise FileNotFoundError(2, "No such file or directory")
        self._events[_descriptor(fd)] = eventmask

    def unregister(self, fd: Any, /) -> None:
        del self._events[_descriptor(fd)]

    def poll(self, timeout: float | None = None, /) -> list[tuple[int, int]]:
        """What is ready within so many milliseconds."""
        seconds = None if timeout is None or timeout < 0 else timeout / 1e3
        writers = {descriptor for descriptor, mask in self._events.items() if mask & POLLOUT}
        readers = [descriptor for descriptor, mask in self._events.items() if mask & POLLIN]
        readable = _readable(readers, 0 if writers else seconds)
        events = (
            (one, (POLLIN if one in readable else 0) | (POLLOUT if one in writers else 0))
            for one in self._events
        )
        return [(one, mask) for one, mask in events if mask]
