"""The event loops of the kernel: asyncio loops that return to the host instead of blocking.

There is nothing to poll inside the sandbox: a future becomes done because a callback ran, a timer was due, or
the host answered a call. So `advance` runs what is ready and returns; the kernel then returns to the host
with the calls that are open and the time of the next timer, with nothing of the guest left on the stack.

Where that cannot be (`asyncio.run` deep inside a plain function), the loop blocks: `run_forever` makes open
host calls one by one and sleeps until timers. Calls that receive from connections wait together, and only
when there is nothing else to do: what they wait for may be the answer to another call.

Outside the sandbox there are sockets and threads too: see `native_loop.py`.
"""

from __future__ import annotations

import asyncio
import contextvars
import heapq
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from planaria_kernel.network import link, transports

__all__ = ["HostCalls", "Loop", "ParkingLoop"]

_Future = asyncio.Future[Any]
#: The number of a call, the function's name and its arguments.
Call = tuple[int, str, tuple[Any, ...], dict[str, Any]]


class HostCalls:
    """The host calls that are open: made by guest code and not answered yet.

    `block` makes a call and blocks for its answer, for loops that are none of ours.
    """

    def __init__(self, block: Callable[[str, tuple[Any, ...], dict[str, Any]], Any]) -> None:
        self._block = block
        #: Asks the host to make a call, and for its answer if that comes in a moment: ("ok", value) or
        #: ("error", exception); ("sent",) when it comes later; None when the call is not made.
        self.ask: Callable[[Call], tuple[Any, ...] | None] | None = None
        self._next = 1
        #: Every open call by id.
        self.open: dict[int, tuple[_Future, str, tuple[Any, ...], dict[str, Any]]] = {}
        #: Ids that the host has not been sent yet, in order.
        self.new: dict[int, None] = {}
        #: Ids that the host knows and no task awaits any more.
        self.given_up: list[int] = []
        #: An interrupt came while the machinery of a loop ran: the loop raises it when that is in order
        #: again.
        self.interrupted = False

    def count_anew(self) -> None:
        """Number calls from 1 again, unless one is open."""
        if not self.open:
            self._next = 1

    async def make(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Note a call, to be reported when the cell parks, and wait for its answer.

        Where nothing but this task could go on (no other is ready or waits for the host, and no timer runs),
        the host is asked at once: most answers come in less time than the cell needs to park and go on.
        """
        loop = asyncio.get_running_loop()
        if not isinstance(loop, ParkingLoop):
            return self._block(name, args, kwargs)
        number = self._next
        self._next = number + 1
        is_sent = False
        if (
            self.ask is not None
            and loop.parks
            and len(self.open) + len(self.given_up) == 0
            and not self.interrupted
            and len(loop._ready) + len(loop._scheduled) == 0
        ):
            try:
                answer = self.ask((number, name, args, kwargs))
            except KeyboardInterrupt:
                self.given_up.append(number)  # the host may have made the call
                raise
            if answer is not None:
                if answer[0] == "ok":
                    return answer[1]
                if answer[0] == "error":
                    raise answer[1]
                is_sent = True
        future = loop.create_future()
        self.open[number] = (future, name, args, kwargs)
        if not is_sent:
            self.new[number] = None
        try:
            return await future
        except BaseException:
            # Unless the answer was an exception: cancelled, or collected as garbage.
            if self.open.pop(number, None) is not None:
                if number in self.new:
                    del self.new[number]
                else:
                    self.given_up.append(number)
            raise

    def take_new(self) -> list[Call]:
        """The calls to send to the host now; those whose caller no longer waits are dropped."""
        numbers, self.new = self.new, {}
        calls = []
        for number in numbers:
            entry = self.open.get(number)
            if entry is None:
                continue
            future, name, args, kwargs = entry
            if future.done() or future.get_loop().is_closed():
                del self.open[number]
            else:
                calls.append((number, name, args, kwargs))
        return calls

    def any_given_up(self) -> bool:
        """Whether there is something for `take_given_up`."""
        return bool(self.given_up) or any(entry[0].cancelled() for entry in self.open.values())

    def take_given_up(self) -> list[int]:
        """The calls that the host knows of and need not answer any more.

        Also those whose tasks were cancelled just now, and will learn it when the loop runs again.
        """
        for number in [number for number, entry in self.open.items() if entry[0].cancelled()]:
            del self.open[number]
            if number in self.new:
                del self.new[number]
            else:
                self.given_up.append(number)
        numbers, self.given_up = self.given_up, []
        return numbers

    def answer(self, number: int, value: Any, error: BaseException | None) -> None:
        """Give an answer to the task that waits for it; answers to calls that were abandoned are ignored."""
        entry = self.open.pop(number, None)
        if entry is None:
            return
        future = entry[0]
        if future.done() or future.get_loop().is_closed():
            return
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)

    def any_of(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Whether a call of this loop is open."""
        return any(future.get_loop() is loop and not future.done() for future, *_ in self.open.values())

    def new_of(self, loop: asyncio.AbstractEventLoop) -> list[int]:
        """The unreported calls of a loop, the oldest first."""
        entries = ((number, self.open.get(number)) for number in self.new)
        return [
            number
            for number, entry in entries
            if entry is not None and entry[0].get_loop() is loop and not entry[0].done()
        ]

    def source_of(self, number: int) -> int | None:
        """The connection that an open call receives from, None for a call that does something else."""
        _, name, args, _ = self.open[number]
        return args[0] if name == link.RECEIVE else None


class ParkingLoop(asyncio.BaseEventLoop):
    """What the loops of the sandbox and of other executors have in common; see the module's docstring.

    `block` makes one open host call and blocks for the answer; only used where the loop cannot park.
    """

    _ready: Any
    _scheduled: Any
    _stopping: bool
    _timer_cancelled_count: int

    def __init__(self, calls: HostCalls, block: Callable[[int], None]) -> None:
        super().__init__()
        self._calls = calls
        self._block = block
        #: Whether it runs what can park: not by `run_forever`, as in `asyncio.run` within a task.
        self.parks = False

    # -- parking -----------------------------------------------------------------------------------

    def advance(self, until: _Future) -> bool:
        """Run what is ready until `until` is done (True) or nothing is ready any more (False).

        KeyboardInterrupt and SystemExit raised by a callback pass through, as they do in asyncio.
        """
        ready = self._ready
        old = asyncio._get_running_loop()
        hooks = sys.get_asyncgen_hooks()
        self.parks = True
        asyncio._set_running_loop(self)
        self._thread_id = threading.get_ident()
        sys.set_asyncgen_hooks(self._asyncgen_firstiter_hook, self._asyncgen_finalizer_hook)  # type: ignore[attr-defined]
        try:
            while not until.done():
                self.raise_interrupt()
                if self._scheduled:
                    self._take_due()
                if not ready:
                    self.poll(0)
                    if not ready:
                        return False
                for _ in range(len(ready)):
                    handle = ready.popleft()
                    if not handle._cancelled:
                        handle._run()
            return True
        finally:
            sys.set_asyncgen_hooks(*hooks)
            self._thread_id = None  # type: ignore[assignment]
            self.parks = False
            asyncio._set_running_loop(old)

    def has_new_calls(self) -> bool:
        """Whether one of its tasks has made a host call that is not sent yet."""
        return bool(self._calls.new_of(self))

    def raise_interrupt(self) -> None:
        """Raise KeyboardInterrupt if one came while the machinery of a loop ran."""
        if self._calls.interrupted:
            self._calls.interrupted = False
            raise KeyboardInterrupt

    def next_timer(self) -> float | None:
        """Seconds until the next timer, at least 0; None when there is none."""
        scheduled = self._scheduled
        while scheduled and scheduled[0]._cancelled:
            self._drop_cancelled()
        return max(0.0, scheduled[0]._when - self.time()) if scheduled else None

    def _drop_cancelled(self) -> None:
        handle = heapq.heappop(self._scheduled)
        handle._scheduled = False
        self._timer_cancelled_count -= 1

    def _take_due(self) -> None:
        """Make the timers ready that are due."""
        scheduled, ready = self._scheduled, self._ready
        if self._timer_cancelled_count > 100 and self._timer_cancelled_count > len(scheduled) // 2:
            for handle in scheduled:
                if handle._cancelled:
                    handle._scheduled = False
            scheduled[:] = [handle for handle in scheduled if not handle._cancelled]
            heapq.heapify(scheduled)
            self._timer_cancelled_count = 0
        now = self.time() + self._clock_resolution  # type: ignore[attr-defined]
        while scheduled:
            if scheduled[0]._cancelled:
                self._drop_cancelled()
            elif scheduled[0]._when < now:
                handle = heapq.heappop(scheduled)
                handle._scheduled = False
                ready.append(handle)
            else:
                return

    # -- blocking ----------------------------------------------------------------------------------

    def _run_once(self) -> None:
        """One turn of `run_forever`, which BaseEventLoop drives."""
        self.raise_interrupt()
        self._take_due()
        if not self._ready and not self._stopping:
            if numbers := self._calls.new_of(self):
                for number in self._callable_now(numbers):
                    del self._calls.new[number]
                    self._block(number)
            else:
                self.wait(self.next_timer())
            self._take_due()
        ready = self._ready
        for _ in range(len(ready)):
            handle = ready.popleft()
            if not handle._cancelled:
                handle._run()

    def _callable_now(self, numbers: list[int]) -> list[int]:
        """Which of some calls to make: the first that does not receive, or those that receive what has come;
        that is waited for until the next timer.
        """
        sources = {}
        for number in numbers:
            source = self._calls.source_of(number)
            if source is None:
                return [number]
            sources[number] = source
        ready = transports.readable(sources.values(), self.next_timer())
        return [number for number, source in sources.items() if source in ready]

    # -- what else there is to wait for ------------------------------------------------------------

    def poll(self, seconds: float) -> None:
        """Look what came from elsewhere, and wait for it at most so long."""

    def wait(self, seconds: float | None) -> None:
        """Wait for what comes from elsewhere, at most so long (None: without end)."""
        raise NotImplementedError

    def lasting(self, seconds: float | None) -> tuple[bool, float | None]:
        """How a cell waits that has nothing to do for so many seconds (None: before something comes).

        (True, _) when it has to wait here; else the seconds after which it is to be resumed, if nothing comes
        from the host before.
        """
        return False, seconds


class _NoSelector:
    """What BaseEventLoop wants to have; never asked."""

    def select(self, timeout: float | None) -> list[Any]:
        return []

    def close(self) -> None: ...


class Loop(ParkingLoop):
    """The loop of the sandbox: there is nothing to poll and there are no threads."""

    def __init__(self, calls: HostCalls, block: Callable[[int], None]) -> None:
        super().__init__(calls, block)
        self._selector = _NoSelector()

    def wait(self, seconds: float | None) -> None:
        if seconds is None:
            raise RuntimeError(
                "the event loop would wait forever: no task can go on, no timer or host call is open"
            )
        time.sleep(seconds)

    # -- what BaseEventLoop leaves to its subclasses -----------------------------------------------

    def _process_events(self, events: Any) -> None: ...

    def _write_to_self(self) -> None: ...

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> _Future:  # type: ignore[override]
        """There are no threads: the function runs now, and the future is done when this returns."""
        self._check_closed()  # type: ignore[attr-defined]
        future = self.create_future()
        try:
            result = contextvars.copy_context().run(func, *args) if executor is None else func(*args)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            if isinstance(error, StopIteration):
                error = RuntimeError(f"{func!r} raised StopIteration")
            future.set_exception(error)
        else:
            future.set_result(result)
        return future

    # -- connections, which are the host's ----------------------------------------------------------

    async def create_connection(self, *arguments: Any, ssl: Any = None, **options: Any) -> Any:
        if ssl:
            transports.have_ssl()
        return await super().create_connection(*arguments, ssl=ssl, **options)

    async def start_tls(self, *arguments: Any, **options: Any) -> asyncio.Transport | None:
        transports.have_ssl()
        return await super().start_tls(*arguments, **options)

    async def sock_connect(self, sock: Any, address: Any) -> None:
        await transports.sock_connect(sock, address)

    async def sock_recv(self, sock: Any, nbytes: int) -> bytes:
        return await transports.sock_recv(sock, nbytes)

    async def sock_sendall(self, sock: Any, data: Any) -> None:
        await transports.sock_sendall(sock, data)

    def _make_socket_transport(
        self,
        sock: Any,
        protocol: asyncio.BaseProtocol,
        waiter: _Future | None = None,
        *,
        extra: Any = None,
        server: Any = None,
        context: Any = None,
    ) -> asyncio.Transport:
        return transports.SocketTransport(self, sock, protocol, waiter, extra)

    def _make_ssl_transport(
        self,
        rawsock: Any,
        protocol: asyncio.BaseProtocol,
        sslcontext: Any,
        waiter: _Future | None = None,
        *,
        server_side: bool = False,
        server_hostname: str | None = None,
        extra: Any = None,
        server: Any = None,
        context: Any = None,
        **options: Any,
    ) -> asyncio.Transport:
        from asyncio import sslproto

        outer = sslproto.SSLProtocol(
            self,
            protocol,
            sslcontext,
            waiter,  # type: ignore[arg-type]  # it may be None
            server_side,
            server_hostname,
            **options,
        )
        transports.SocketTransport(self, rawsock, outer, None, extra)
        return outer._app_transport

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        """Nothing to shut down."""
