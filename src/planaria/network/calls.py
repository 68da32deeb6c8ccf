"""The host's side of the code's network: the calls that `planaria_kernel.network` makes."""

from __future__ import annotations

import errno
import itertools
import math
import os
from collections.abc import Callable
from concurrent.futures import Future
from typing import Final

import anyio

from planaria.event_loops import EventLoop, running_loop
from planaria.network.budget import Budget
from planaria.network.connection import Connection
from planaria.network.hosts import canonical_host
from planaria.network.policy import Network, NetworkRequest
from planaria.network.secrets import IssuedValues, placeholder
from planaria_kernel.network.link import descriptor_of

__all__ = ["LATER", "NetworkCalls"]

_MOST_READ = 1 << 20
#: Instead of what a function returns: it has to be called on the event loop.
LATER: Final = object()


class NetworkCalls:
    """The open connections of one session."""

    def __init__(self, policy: Network) -> None:
        self.policy = policy
        self.budget = Budget(policy)
        """What the requests of the session come to."""
        self._issued = IssuedValues(policy.secrets)
        self._connections: dict[int, Connection] = {}
        #: The same by the descriptors that the code has for them.
        self._descriptors: dict[int, Connection] = {}
        #: The loop that the connections belong to.
        self.loop: EventLoop | None = None
        # A snapshot has the numbers of connections that are not open here: no number is used again elsewhere.
        self._numbers = itertools.count(int.from_bytes(os.urandom(6), "little") << 12)

    def functions(self) -> dict[str, Callable[..., object]]:
        """The functions by the names that the kernel calls them by."""
        return {
            "@network.open": self.open,
            "@network.send": self.send,
            "@network.receive": self.receive,
            "@network.poll": self.poll,
            "@network.close": self.close,
        }

    def at_once(self, name: str, arguments: tuple[object, ...], *, may_wait: bool) -> object:
        """What one of the functions returns, where that takes a moment at most, or no waiting at all; `LATER`
        where it may take longer. Raises what the function raises.

        For the thread that the code runs on, which need not ask the event loop then. The arguments are as the
        code sent them.
        """
        match (name, *arguments):
            case "@network.receive", int(number), int(size), (int() | float() | None) as seconds:
                connection = self._connections.get(number)
                if connection is not None:
                    patience = 0.0 if not may_wait else math.inf if seconds is None else seconds
                    return connection.incoming.receive_at_once(_clamped(size), patience) or LATER
            case "@network.send", int(number), bytes(data) if data:
                connection = self._connections.get(number)
                if connection is not None and self.loop is not None:
                    return None if connection.send_at_once(data, self.loop) else LATER
            case "@network.poll", list(numbers), (int() | float() | None) as seconds:
                patience = 0.0 if not may_wait else math.inf if seconds is None else seconds
                return self._polled(numbers, patience, is_asked_for_now=seconds == 0)
        return LATER

    def _polled(self, numbers: list[object], patience: float, *, is_asked_for_now: bool) -> object:
        """What `poll` returns, or `LATER`."""
        found = {one: self._connections.get(one) for one in numbers if isinstance(one, int)}
        connections = [one.incoming for one in found.values() if one is not None]
        if len(connections) < len(numbers):
            return LATER
        if is_asked_for_now and all(one.is_silent for one in connections):
            return []
        # Of several, none may be waited for alone.
        moment = patience if len(connections) == 1 else 0.0
        ready = [number for number, one in found.items() if one and one.incoming.is_readable_at_once(moment)]
        return ready or LATER

    def receive_into(self, descriptor: int, buffer: memoryview) -> int:
        """Put into the code's own memory what a connection has received, where that takes a moment at most;
        its length, or 0: then `receive` finds out why. Raises OSError for a descriptor that is none.

        For the thread that the code runs on.
        """
        return self._described(descriptor).incoming.receive_into(buffer)

    def send_from(self, descriptor: int, buffer: memoryview) -> int:
        """Send from the code's own memory what a connection passes on as it comes, where that takes a moment
        at most; the length of what was taken, or 0: then `send` is to be asked. Raises OSError for a
        descriptor that is none.

        For the thread that the code runs on.
        """
        connection = self._described(descriptor)
        return 0 if self.loop is None else connection.send_from(buffer, self.loop)

    def _described(self, descriptor: int) -> Connection:
        connection = self._descriptors.get(descriptor)
        if connection is None:
            raise OSError(errno.EBADF, "no connection that is open here has this descriptor")
        return connection

    def environment(self) -> dict[str, str]:
        """The variables that hold placeholders."""
        return {one.name: placeholder(one.name) for one in self.policy.secrets if one.header is None}

    def is_held(self, number: object) -> bool:
        """Whether a connection has a request that waits for a decision."""
        connection = self._connections.get(number) if isinstance(number, int) else None
        return connection is not None and connection.is_held

    def take_records(self) -> list[NetworkRequest]:
        """The requests of the execution that ends now."""
        return self.budget.take_records()

    def begin_closing(self) -> Future[None] | None:
        """Close every connection on their loop; the future of that, if any is open."""
        if self.loop is None or not self._connections:
            return None
        return self.loop.spawn(self.close_all())

    async def close_all(self) -> None:
        """Close every connection; the code finds them reset."""
        connections, self._connections, self._descriptors = self._connections, {}, {}
        for connection in connections.values():
            await connection.close()

    async def open(self, host: str, port: int) -> int:
        """Connect to a host; the number of the connection."""
        if not isinstance(host, str) or not isinstance(port, int) or not 0 < port < 65536:
            raise OSError(f"{host!r}, {port!r} is not a host and a port")
        try:
            host = canonical_host(host)
        except ValueError as error:
            raise LookupError(str(error)) from None
        if len(self._connections) >= self.policy.max_connections:
            raise PermissionError(
                f"the limit max_connections={self.policy.max_connections} is reached: close one"
            )
        policy = self.policy
        if policy.on_request is None and not policy.covers(host, port):
            place = host if port in (80, 443) else f"{host}:{port}"
            reason = self._issued.scrubber().scrubbed_text(policy.refusal(place))
            self._record(f"//{place}", reason)
            raise PermissionError(reason)
        self.loop = running_loop()
        connection = Connection(policy, self.budget, self._issued, host, port)
        number = next(self._numbers)
        self._connections[number] = self._descriptors[descriptor_of(number)] = connection
        try:
            await connection.open()
        except BaseException as error:
            self._forget(number)
            with anyio.CancelScope(shield=True):
                await connection.close()
            if isinstance(error, Exception):
                self._record(f"//{host}:{port}", str(error))
            raise
        return number

    def _record(self, url: str, reason: str) -> None:
        """Note a connection that was not made."""
        self.budget.record(NetworkRequest("CONNECT", url, reason=reason).scrub(self._issued.scrubber()))

    async def send(self, number: int, data: bytes) -> None:
        """Send bytes."""
        if not isinstance(data, bytes):
            raise OSError(f"a connection sends bytes, not {type(data).__name__}")
        if data:  # none would be the end of what the code sends
            await self.connection(number).send(data)

    def resuming(self, decision: object) -> Callable[[int, bytes], object]:
        """The function that continues a `send` which waited for a decision."""

        async def resume(number: int, data: bytes) -> None:
            await self.connection(number).decide(decision)

        return resume

    async def receive(self, number: int, size: int, seconds: float | None) -> bytes | None:
        """At most `size` bytes; none at the end; None when there are none within `seconds`."""
        return await self.connection(number).incoming.receive(_clamped(size), seconds)

    async def poll(self, numbers: list[int], seconds: float | None) -> list[int]:
        """Which of the connections have something to read, after waiting for the first within `seconds`."""
        ready: list[int] = []

        async def look(number: int, limit: float | None, scope: anyio.CancelScope) -> None:
            if await self.connection(number).incoming.is_readable(limit):
                ready.append(number)
                scope.cancel()

        waited = self._connections.keys() & set(numbers)
        ready += set(numbers) - waited
        if ready:
            seconds = 0
        async with anyio.create_task_group() as group:
            for number in waited:
                group.start_soon(look, number, seconds if seconds is not None else 1e9, group.cancel_scope)
        return ready

    async def close(self, number: int) -> None:
        """Close a connection; one that is not open is closed already."""
        connection = self._forget(number)
        if connection is not None:
            await connection.close()

    def _forget(self, number: int) -> Connection | None:
        self._descriptors.pop(descriptor_of(number), None)
        return self._connections.pop(number, None)

    def connection(self, number: int) -> Connection:
        """The connection of that number. Raises ConnectionResetError when it is not open here."""
        connection = self._connections.get(number)
        if connection is None:
            raise ConnectionResetError(
                "the connection is no longer open: it belonged to another session or state"
            )
        return connection


def _clamped(size: int) -> int:
    """How much the code gets at once of what it asks for."""
    return min(max(size, 1), _MOST_READ)
