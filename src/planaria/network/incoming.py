"""What a server sends: taken when the code asks for it, read as an answer, and kept until the code has it."""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

import anyio
import h11

from planaria.network.answers import AnswerReader
from planaria.network.budget import Account
from planaria.network.byte_queue import ByteQueue
from planaria.network.policy import Network
from planaria.network.turns import Turns
from planaria.network.upstream import Upstream

__all__ = ["Incoming"]

T = TypeVar("T")

#: How much is read from a server at once: at least, where `max_received` is near, and at most; and the part
#: of `max_received` that it may be, since what is read may never be asked for.
_LEAST_READ: Final = 1 << 16
_MOST_READ: Final = 1 << 20
_PART_READ: Final = 16
#: How long a thread waits for a server by itself before it leaves that to the event loop, in seconds: there
#: the wait can be stopped.
_MOMENT: Final = 0.005
#: A server that sends so much at once sends more very soon.
_FAST: Final = 1 << 14
#: How long a thread waits for that, in seconds.
_BETWEEN: Final = 0.001
#: The shortest wait that takes what is there already, in seconds.
_SHORTEST: Final = 0.002


class Incoming:
    """The receiving side of one connection. `note` learns why nothing more comes.

    Coroutines are for the event loop, the other methods for the side whose turn it is.
    """

    def __init__(
        self,
        policy: Network,
        budget: Account,
        upstream: Upstream,
        host: str,
        turns: Turns,
        note: Callable[[str], None],
        *,
        is_raw: bool,
    ) -> None:
        self._policy = policy
        self._budget = budget
        self._upstream = upstream
        self._host = host
        self._turns = turns
        self._note = note
        self.is_raw = is_raw
        """Whether bytes are passed on as they are."""
        self.answer: AnswerReader | None = None
        """What reads the answer that is due."""
        self.is_reusable = False
        """Whether the server answers a further request on its connection."""
        self.is_ended = False
        """Whether nothing more comes from the server."""
        self.is_broken = False
        """Whether nothing can be sent any more, and no further answer comes."""
        self.due = math.inf
        """When the answer has to be whole."""
        self.active = 0.0
        """When something was last sent to the server, or received, by the monotonic clock."""
        self.failure: Exception | None = None
        """What receiving failed with, which the code gets after the data before it."""
        self.waiting = ByteQueue()
        """What the code has not taken yet."""
        self._receiving = anyio.Lock(fast_acquire=True)
        #: Set when there may be something to read: an answer that is expected, or bytes of ours.
        self._asked = anyio.Event()

    def begin(self) -> None:
        """There is a connection to the server, on which nothing was sent yet."""
        self.is_ended = self.is_reusable = False

    def look(self) -> None:
        """There may be something to read from here on."""
        self._asked.set()

    def add(self, data: bytes) -> None:
        """Bytes of ours for the code."""
        self.waiting.extend([data])
        self._asked.set()

    def break_off(self, reason: str) -> None:
        """Nothing further can be sent, and only what came already be received."""
        self.is_broken = self.is_ended = True
        self._note(reason)

    # -- for the code ----------------------------------------------------------------------------------------

    async def receive(self, size: int, seconds: float | None) -> bytes | None:
        """At most `size` bytes for the code, none at the end, None when there are none within `seconds`."""
        with self._turns.of_task():
            while await self._fill(seconds):
                data = self.waiting.take(size)
                if data or self.is_ended:
                    return data
        return None

    async def receive_when_due(self, size: int) -> bytes:
        """As `receive`, for a side that listens all the time: the time is limited only while an answer is
        due.
        """
        while True:
            data = await self.receive(size, self._policy.timeout)
            if data is not None:
                return data
            is_due = self.answer is not None and not self.is_raw
            if is_due and time.monotonic() - self.active >= self._policy.timeout:
                raise TimeoutError(f"{self._host} sent nothing for {self._policy.timeout:g} s")

    async def is_readable(self, seconds: float | None) -> bool:
        """Whether `receive` would return something at once, within so many seconds."""
        with self._turns.of_task():
            return await self._fill(seconds)

    # -- on the thread that the code runs on -----------------------------------------------------------------

    def receive_at_once(self, size: int, seconds: float) -> bytes:
        """What `receive` would return within `seconds`, or nothing: then `receive` finds out why.

        A moment is all that is waited for. A loop that is asked for each part would have the code and the
        network wait for each other.
        """
        return self._at_once(lambda: self.waiting.take(size), seconds, self._read_ahead) or b""

    def is_readable_at_once(self, seconds: float) -> bool:
        """Whether `receive` would return something at once, as far as that shows within `seconds` and a
        moment.
        """
        return self._at_once(lambda: True, seconds, self._read_ahead) or False

    def receive_into(self, buffer: memoryview) -> int:
        """Put what `receive` would return into a buffer of the code's, where that takes a moment at most; its
        length, or 0: then `receive` finds out why. What is passed on as it comes is copied once so.

        A body that comes fast fills the buffer, also in parts: the code asks for the next one less often.
        """

        def take() -> int:
            data = self.waiting.take(len(buffer))
            buffer[: len(data)] = data
            return len(data)

        count = self._at_once(take, _MOMENT, lambda: self._read_into(buffer)) or 0
        while _FAST <= count < len(buffer) and not self.is_raw:
            rest = buffer[count:]
            more = self._at_once(lambda: 0, _BETWEEN, lambda: self._read_into(rest))  # noqa: B023 - called here
            if not more:
                break
            count += more
        return count

    def _at_once(self, take: Callable[[], T], seconds: float, read: Callable[[], T | None]) -> T | None:
        """What `take` gives when data is waiting, or `read`, which otherwise looks for some; None if a moment
        does not suffice.
        """
        deadline = time.monotonic() + min(seconds, _MOMENT)
        while True:
            with self._turns.lock:
                if self.waiting:
                    return take()
                if self._turns.has_tasks or not self._is_near():
                    return None
                found = read()
                if found is not None:
                    return found
                if self.waiting or self.is_ended or self.failure is not None:
                    continue
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            self._upstream.wait_for_input(left)

    # -- with waiting ----------------------------------------------------------------------------------------

    async def in_time(self, work: Awaitable[T]) -> T:
        """Await work until the answer has to be whole. Raises TimeoutError."""
        if self.due == math.inf:
            return await work
        with anyio.CancelScope(deadline=self.due):
            return await work
        raise self._took_too_long()

    def _took_too_long(self) -> TimeoutError:
        limit = self._policy.request_timeout
        reason = f"the limit request_timeout={limit:g} s of a request to {self._host} is reached"
        self.break_off(reason)
        return TimeoutError(reason)

    async def _fill(self, seconds: float | None) -> bool:
        """Take from the server until there is something for the code, or its end (True)."""
        limit = self._policy.timeout if seconds is None else seconds
        deadline = anyio.current_time() + limit
        while not self.waiting:
            failure, self.failure = self.failure, None
            if failure is not None:
                raise failure
            if self.is_ended:
                return True
            if self.due <= anyio.current_time():
                raise self._took_too_long()
            if not self._receiving.locked() and self._read_nowait():
                continue
            # What is within TLS within TLS cannot be had without waiting.
            left = max(deadline - anyio.current_time(), 0.0 if self._upstream.is_direct else _SHORTEST)
            with anyio.move_on_after(left):
                async with self._receiving:
                    await self._read_on()
            is_there = self.waiting or self.is_ended or self.failure is not None
            if is_there or anyio.current_time() < deadline:
                continue
            if seconds is None:
                raise TimeoutError(f"{self._host} sent nothing for {limit:g} s")
            return False
        return True

    async def _read_on(self) -> None:
        """Take what the server sends next, unless another task has done so."""
        if self.waiting or self.is_ended or self.failure is not None:
            return
        if not self._is_speaking():
            await self._asked.wait()  # an answer can only come after a request
            self._asked = anyio.Event()
            return
        data = await self.in_time(self._upstream.receive(self._most_read()))
        self.active = time.monotonic()
        self.waiting.extend(self._read(data))

    # -- without waiting -------------------------------------------------------------------------------------

    @property
    def is_silent(self) -> bool:
        """Whether nothing can be received before the code sends something."""
        is_quiet = self.answer is None and not self.is_raw
        return is_quiet and not (self.waiting or self.is_ended or self.failure)

    def _is_near(self) -> bool:
        """Whether something is due from the server that any thread can read."""
        is_due = self.answer is not None or self.is_raw
        is_fine = not (self.is_ended or self.failure) and self.due == math.inf
        return is_due and is_fine and self._upstream.is_direct and not self._upstream.has_unsent

    def _read_nowait(self) -> bool:
        """Take what the server has sent already; whether there was anything. An error is kept."""
        if not self._is_speaking():
            return False
        try:
            data = self._upstream.receive_nowait(self._most_read())
            if data is None:
                return False
            self.active = time.monotonic()
            self.waiting.extend(self._read(data))
        except Exception as error:
            self.failure = error
        return True

    def _read_ahead(self) -> None:
        """Take what the server has sent already, for `waiting`."""
        self._read_nowait()

    def _read_into(self, buffer: memoryview) -> int | None:
        """Have the system put what the server has sent into a buffer of the code's; its length.

        None when there is nothing. What has to be looked at first is taken for `waiting`.
        """
        answer = self.answer
        most = len(buffer) if self.is_raw else 0 if answer is None else min(len(buffer), answer.passable)
        if not most:
            self._read_nowait()
            return None
        try:
            count = self._upstream.receive_into_nowait(buffer[: min(most, self._most_read())])
            if count is None:
                return None
            self.active = time.monotonic()
            if count and answer is not None and not self.is_raw:
                self._count(count)
                answer.pass_on(count)
                self._follow(answer)
            else:
                self._read(buffer[:count])
        except Exception as error:
            self.failure = error
            return None
        return count or None

    def _is_speaking(self) -> bool:
        """Whether the server may have sent something that is read now."""
        return self._upstream.is_open and (self.answer is not None or self.is_raw)

    def _most_read(self) -> int:
        # What is read and not wanted counts too.
        return min(_MOST_READ, max(_LEAST_READ, self._budget.receivable() // _PART_READ))

    def _read(self, data: bytes | memoryview) -> Sequence[bytes | bytearray | memoryview]:
        """What the code gets, in parts, for what the server sent; no data is its end.

        Raises PermissionError at a limit, and ConnectionResetError for what is not valid HTTP.
        """
        self._count(len(data))
        answer = self.answer
        if self.is_raw or answer is None:
            self.is_ended = not data
            return [data] if self.is_raw else []  # without a request there is no answer
        try:
            parts = answer.feed(data)
        except h11.ProtocolError as error:
            # After the colon is what the server sent, which may have a value in it.
            reported = str(error).partition(":")[0]
            reason = f"{self._host} sent an answer that is not valid HTTP/1.1: {reported}"
            self.break_off(reason)
            raise ConnectionResetError(reason) from None
        self._follow(answer)
        return parts

    def _count(self, size: int) -> None:
        """So many bytes were received. Raises PermissionError at a limit."""
        try:
            self._budget.received(size)
        except PermissionError as error:
            self.break_off(str(error))
            raise

    def _follow(self, answer: AnswerReader) -> None:
        """A part of an answer was taken; it may have been the last one."""
        if answer.is_done:
            self.due = math.inf
            self.is_reusable = answer.is_reusable
        self.is_ended = answer.is_closed or (answer.is_done and self.is_broken)
        if answer.is_upgraded:
            self.is_raw = True
        if answer.is_done and not self.is_ended and answer.begin_next():
            self.answer = None
