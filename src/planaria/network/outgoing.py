"""What the server is sent: written as it comes, and by the thread that the code runs on where it can be."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Final

import anyio

from planaria.event_loops import EventLoop
from planaria.network.budget import Account
from planaria.network.incoming import Incoming
from planaria.network.passing import PassedBody
from planaria.network.turns import Turns
from planaria.network.upstream import Upstream

__all__ = ["Outgoing"]

#: How much the system is given at once.
_MOST_GIVEN: Final = 1 << 20
#: How long a thread sends, or waits for the system to, before it leaves that to the event loop, in seconds.
_MOMENT: Final = 0.02


class Outgoing:
    """The sending side of one connection. `fail` learns of what went wrong when nothing waited for it.

    Coroutines are for the event loop, the other methods for the thread that the code runs on.
    """

    def __init__(
        self,
        budget: Account,
        upstream: Upstream,
        incoming: Incoming,
        turns: Turns,
        fail: Callable[[Exception], None],
    ) -> None:
        self._budget = budget
        self._upstream = upstream
        self._incoming = incoming
        self._turns = turns
        self._fail = fail
        self.lock = anyio.Lock(fast_acquire=True)
        """For the task that sends."""
        self.is_prompt = False
        """Whether the thread that the code runs on sends, which waits for nothing."""
        self.body: PassedBody | None = None
        """What is to come of a body that is passed on as it comes."""

    @property
    def is_passing(self) -> bool:
        """Whether what comes next is of a body that is passed on as it comes."""
        return self.body is not None and self.body.left > 0

    async def write(self, data: bytes | memoryview) -> None:
        """Send data that does not change. Raises OSError."""
        try:
            self._upstream.write_nowait(data)
            if self._upstream.has_unsent and not self.is_prompt:
                await self._incoming.in_time(self._upstream.flush())
        except ConnectionResetError:
            self._incoming.is_ended = True
            raise
        self._incoming.active = time.monotonic()

    async def pass_on(self, data: bytes) -> bytes:
        """Send what is of a body that is passed on as it comes, and return what is not. Raises OSError."""
        if self.body is None or not self.body.left:
            return data
        part = memoryview(data)[: self.body.left]
        await self.write(part)
        self.body.count(len(part))
        return data[len(part) :]

    # -- on the thread that the code runs on -----------------------------------------------------------------

    def send_from(self, buffer: memoryview, loop: EventLoop) -> int:
        """Send from a buffer of the code's what is passed on as it comes, as far as that takes a moment at
        most; the length of what was taken. What goes wrong comes again when more is sent.
        """
        deadline = time.monotonic() + _MOMENT
        count = 0
        while count < len(buffer):
            with self._turns.lock:
                taken = self._take_from(buffer[count:])
            count += taken or 0
            left = deadline - time.monotonic()
            if taken is None or left <= 0:
                break
            if not taken or self._upstream.has_unsent:
                self._upstream.wait_for_output(left)
        if count:
            self.settle(loop)
        return count

    def settle(self, loop: EventLoop) -> None:
        """Send what is unsent, and leave that to the event loop if it takes longer than a moment."""
        deadline = time.monotonic() + _MOMENT
        while self._upstream.has_unsent:
            left = deadline - time.monotonic()
            with self._turns.lock:
                if self._turns.has_tasks:
                    return  # one of them sends it
                is_over = left <= 0
                try:
                    self._upstream.flush_nowait()
                except OSError:
                    is_over = True  # it comes again
                if is_over:
                    loop.spawn(self._flush())
                    return
            if self._upstream.has_unsent:
                self._upstream.wait_for_output(left)

    def _take_from(self, buffer: memoryview) -> int | None:
        """Have the system take what it takes at once; its length, None where that cannot be done here."""
        incoming, upstream = self._incoming, self._upstream
        if self._turns.has_tasks or self.body is None or not (self.body.left and upstream.is_direct):
            return None
        if incoming.is_ended or incoming.is_broken or incoming.due != math.inf:
            return None
        part = buffer[: min(_MOST_GIVEN, self.body.left)]
        taken = 0
        try:
            if upstream.has_unsent:
                upstream.flush_nowait()
                return 0
            try:
                self._budget.sent(len(part))
                taken = upstream.send_from_nowait(part)
            finally:
                if taken < len(part):
                    self._budget.sent(taken - len(part))
        except OSError:
            return None
        incoming.active = time.monotonic()
        self.body.count(taken)
        return taken

    async def _flush(self) -> None:
        with self._turns.of_task():
            async with self.lock:
                try:
                    await self._incoming.in_time(self._upstream.flush())
                except Exception as error:
                    self._incoming.failure = error
                    self._fail(error)
