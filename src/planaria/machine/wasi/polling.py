"""`poll_oneoff`: sleeping, and waiting until a descriptor is ready."""

from __future__ import annotations

import errno
import struct
from typing import Final

from planaria.machine.wasi.abi import EVENT, U32, Errno, EventType
from planaria.machine.wasi.clock import VirtualClock
from planaria.machine.wasi.process import ProcessCalls

__all__ = ["SUBSCRIPTIONS_LIMIT", "PollCalls"]

#: The most subscriptions of one call; more is EINVAL.
SUBSCRIPTIONS_LIMIT: Final = 4096

#: userdata, tag, then a union that begins with the clock or the descriptor
_SUBSCRIPTION: Final = struct.Struct("<QB7xI4xQQH6x")
_ABSOLUTE: Final = 1

_Event = tuple[int, int, int, int]  # userdata, error, type, bytes available


class PollCalls(ProcessCalls):
    """Waiting. Files never block and standard input counts as ready, so the only real wait is for a clock."""

    def poll_oneoff(self, subscriptions: int, events: int, count: int, result: int) -> int:
        if not count or count > SUBSCRIPTIONS_LIMIT:
            raise OSError(errno.EINVAL, f"{count} subscriptions; the limits are 1 and {SUBSCRIPTIONS_LIMIT}")
        memory = self.memory
        memory.require(subscriptions, _SUBSCRIPTION.size * count)
        memory.require(events, EVENT.size * count)
        memory.require(result, 4)
        ready: list[_Event] = []
        timers: list[tuple[int, int]] = []  # nanoseconds from now, userdata
        end = subscriptions + _SUBSCRIPTION.size * count
        for userdata, tag, which, timeout, _, flags in _SUBSCRIPTION.iter_unpack(
            memory.view[subscriptions:end]
        ):
            if tag != EventType.CLOCK:
                ready.append(self._descriptor_event(userdata, tag, which))
            elif (now := self._now(which)) is None:
                ready.append((userdata, int(Errno.INVAL), tag, 0))
            else:
                timers.append((max(0, timeout - now) if flags & _ABSOLUTE else timeout, userdata))
        wait = 0
        if timers and not ready:
            wait = min(timers)[0]
            self.take_held_output()
            # A sleep that the host interrupted is over, too. EINTR would be right, but the guest's libc makes
            # ENOTSUP of every error; the interrupt itself reaches the guest when this call returns.
            if wait and (isinstance(self.clock, VirtualClock) or self.sleep(wait / 1e9)):
                self.clock.slept(wait)
        ready += [(userdata, 0, EventType.CLOCK, 0) for timeout, userdata in timers if timeout <= wait]
        for index, (userdata, error, kind, available) in enumerate(ready):
            EVENT.pack_into(memory.view, events + EVENT.size * index, userdata, error, kind, available, 0)
        U32.pack_into(memory.view, result, len(ready))
        return 0

    def _descriptor_event(self, userdata: int, tag: int, fd: int) -> _Event:
        if tag not in (EventType.FD_READ, EventType.FD_WRITE):
            return userdata, int(Errno.INVAL), tag, 0
        descriptor = self.table.get(fd)
        if descriptor is None:
            return userdata, int(Errno.BADF), tag, 0
        if tag == EventType.FD_READ and not descriptor.readable:
            return userdata, int(Errno.BADF), tag, 0
        if tag == EventType.FD_WRITE and not descriptor.writable:
            return userdata, int(Errno.BADF), tag, 0
        available = 1
        if tag == EventType.FD_READ and descriptor.stream < 0:
            available = max(0, descriptor.handle.stat().size - descriptor.position)
        return userdata, 0, tag, available
