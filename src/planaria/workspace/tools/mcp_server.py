"""One MCP server: started when it is first wanted, started again when it is gone, closed in the end.

A connection of the SDK has to be opened and closed by the same task, so each has an owner: a task on the
background loop that opens it, waits and closes it. Everything here happens on that loop.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    INVALID_REQUEST,
    CallToolResult,
    Implementation,
    Tool,
    ToolListChangedNotification,
)

from planaria.errors import ToolCallError, ToolTimeout
from planaria.version import __version__
from planaria.workspace.tools.background import close_at_exit
from planaria.workspace.tools.charging import uncharged
from planaria.workspace.tools.mcp_connection import HttpTarget, ProcessTarget, http_transport
from planaria.workspace.tools.mcp_process import ProcessTransport

__all__ = ["McpServer"]

Result = TypeVar("Result")

# What goes wrong is in the errors; without a handler, Python prints it on the host's stderr, too.
for _logger in ("mcp", "client"):
    logging.getLogger(_logger).addHandler(logging.NullHandler())

_MAX_TOOLS: Final = 10_000
_CLOSE_TIMEOUT: Final = 15.0
"""Closing a process takes up to eight seconds, if it has to be made to go."""


@dataclass(eq=False)
class _Connection:
    """One life of the connection to a server."""

    process: ProcessTransport | None
    ended: asyncio.Event
    """Set when the server is gone, or shall be."""
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    owner: asyncio.Task[None] = field(init=False)
    client: Client = field(init=False)
    failure: Exception | None = None
    tools: dict[str, Tool] | None = None


class _SessionLost(Exception):
    """An HTTP server does not know the session any more; it did nothing."""


class McpServer:
    """A server that tools are called on; `start_timeout` in seconds, `max_result` in bytes of one message.

    `target` is asked for at each start. A server that did not answer is not started again for as long as it
    was waited for. All methods are for the background loop, and raise ToolCallError (ToolTimeout when time is
    up), whose message says how the server ended, and whose `stderr` is the last it wrote there.
    """

    def __init__(
        self,
        name: str,
        target: Callable[[], ProcessTarget | HttpTarget],
        *,
        start_timeout: float,
        max_result: int,
    ) -> None:
        self._name = name
        self._target = target
        self._start_timeout = start_timeout
        self._max_result = max_result
        self._connection: _Connection | None = None
        self._changing = asyncio.Lock()
        self._is_closed = False
        self._closes_at_exit: Callable[[], None] | None = None
        #: A server that did not answer, and until when it is not waited for again.
        self._silence: tuple[float, str, str] | None = None

    async def tools(self, *, refresh: bool = False) -> dict[str, Tool]:
        """The server's tools by name, asked for once in its life and again when it says they changed.

        Not every server says so: `refresh` asks again in any case.
        """
        connection = await self._connected()
        if connection.tools is None or refresh:
            connection.tools = await self._within(
                connection, self._start_timeout, "listing its tools", self._list(connection.client)
            )
        return connection.tools

    async def call(self, tool: str, arguments: dict[str, Any], timeout: float | None) -> CallToolResult:
        """Call a tool; several calls at once run concurrently. `timeout` in seconds."""
        for _ in range(2):
            connection = await self._connected()
            try:
                return await self._within(
                    connection, timeout, f"calling {tool!r}", connection.client.call_tool(tool, arguments)
                )
            except _SessionLost:
                await self._close(connection)
        raise ToolCallError(f"the MCP server {self._name!r} forgets every session at once", tool=self._name)

    async def close(self) -> None:
        """End the server, or the connection to it; it is not started again."""
        self._is_closed = True
        async with self._changing:
            if self._connection is not None:
                await self._close(self._connection)
                self._connection = None
        if self._closes_at_exit is not None:
            self._closes_at_exit()
            self._closes_at_exit = None

    async def _connected(self) -> _Connection:
        """The connection, opened if none is open."""
        async with self._changing:
            if self._is_closed:
                raise ToolCallError(f"the MCP server {self._name!r} was closed", tool=self._name)
            if self._connection is not None:
                if not self._connection.ended.is_set():
                    return self._connection
                await self._close(self._connection)
            now = asyncio.get_running_loop().time()
            if self._silence is not None and now < self._silence[0]:
                raise ToolTimeout(self._silence[1], tool=self._name, stderr=self._silence[2])
            connection = self._connection = self._open()
            try:
                await _first_of(
                    asyncio.create_task(connection.ready.wait()), connection.owner, self._start_timeout
                )
            except BaseException:
                # The caller that wanted it gave up; the next one starts a new connection.
                await self._close(connection)
                raise
            if connection.ready.is_set():
                return connection
            is_late = not connection.owner.done()
            await self._close(connection)
            if is_late:
                message = f"did not answer within start_timeout={self._start_timeout:g} s"
                error = self._error(connection, message, ToolTimeout)
                # Code that looks for tools would wait for it each time.
                later = asyncio.get_running_loop().time() + self._start_timeout
                self._silence = later, str(error), error.stderr
                raise error
            verb = "reached" if connection.process is None else "started"
            raise self._error(connection, f"could not be {verb}: {_end(connection)}")

    def _open(self) -> _Connection:
        target = self._target()
        transport: AbstractAsyncContextManager[Any]
        if isinstance(target, ProcessTarget):
            process = transport = ProcessTransport(
                target.command,
                environment=target.environment,
                directory=target.directory,
                max_message=self._max_result,
            )
            connection = _Connection(process, process.ended)
        else:
            connection = _Connection(None, asyncio.Event())
            transport = http_transport(target, self._max_result, connection.ended)

        async def take(message: object) -> None:
            if isinstance(message, ToolListChangedNotification):
                connection.tools = None

        connection.client = Client(
            transport,
            mode="legacy" if isinstance(target, HttpTarget) and target.is_sse else "auto",
            message_handler=take,
            client_info=Implementation(name="planaria", version=__version__),
            cache=None,
        )
        with uncharged():  # the connection outlives the session that wants it now
            connection.owner = asyncio.create_task(self._own(connection))
        if self._closes_at_exit is None:
            self._closes_at_exit = close_at_exit(self.close)
        return connection

    async def _own(self, connection: _Connection) -> None:
        """Open the connection, wait until it is to end, and close it."""
        try:
            async with connection.client:
                connection.ready.set()
                await connection.ended.wait()
        except Exception as error:
            connection.failure = error
        finally:
            connection.ended.set()

    async def _close(self, connection: _Connection) -> None:
        connection.ended.set()
        if not connection.ready.is_set():
            connection.owner.cancel()
        await asyncio.wait({connection.owner}, timeout=_CLOSE_TIMEOUT)

    async def _list(self, client: Client) -> dict[str, Tool]:
        found: dict[str, Tool] = {}
        cursor: str | None = None
        while True:
            page = await client.list_tools(cursor=cursor)
            found.update((tool.name, tool) for tool in page.tools)
            cursor = page.next_cursor
            if not cursor:
                return found
            if len(found) > _MAX_TOOLS or not page.tools:
                raise RuntimeError(f"its list of tools does not end (after {len(found):,} of them)")

    async def _within(
        self, connection: _Connection, timeout: float | None, doing: str, request: Awaitable[Result]
    ) -> Result:
        """The answer to a request, or an error that says what happened to it."""
        try:
            async with asyncio.timeout(timeout):
                return await request
        except TimeoutError:
            status = connection.process.exit_status if connection.process is not None else None
            if status is not None:
                # Its children keep its stdout open, so nothing else shows that it ended.
                await self._close(connection)
            message = f"gave no answer within {timeout:g} s while {doing}"
            raise self._error(connection, message, ToolTimeout) from None
        except MCPError as error:
            if error.code == INVALID_REQUEST and error.message == "Session terminated":
                raise _SessionLost from None
            if error.code == CONNECTION_CLOSED and connection.ended.is_set():
                await self._close(connection)
                raise self._error(connection, f"was lost while {doing}: {_end(connection)}") from None
            raise self._error(connection, f"failed while {doing}: {error.message}") from None
        except (RuntimeError, ValueError) as error:
            # What the SDK raises for answers that do not keep to the protocol or to the tool's schema.
            raise self._error(connection, f"sent an invalid message while {doing}: {error}") from None

    def _error(
        self, connection: _Connection, message: str, kind: type[ToolCallError] = ToolCallError
    ) -> ToolCallError:
        message = f"the MCP server {self._name!r} {message}"
        if connection.process is None:
            return kind(message, tool=self._name)
        stderr = connection.process.stderr
        if connection.process.nonsense and (issubclass(kind, ToolTimeout) or not connection.ready.is_set()):
            message += f"; its stdout has a line that is not a message: {connection.process.nonsense}"
        if stderr and connection.ended.is_set():
            message += f"; its stderr ends:\n{stderr}"
        return kind(message, tool=self._name, stderr=stderr)


async def _first_of(waiting: asyncio.Task[Any], owner: asyncio.Task[None], timeout: float) -> None:
    try:
        await asyncio.wait({waiting, owner}, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()


def _end(connection: _Connection) -> str:
    """How a connection ended, as far as anything says."""
    if connection.process is not None and connection.process.failure:
        return f"it {connection.process.failure}"
    if connection.failure is not None:
        return "; ".join(dict.fromkeys(_texts(connection.failure)))
    return "the connection was closed"


def _texts(error: BaseException) -> Iterable[str]:
    if isinstance(error, BaseExceptionGroup):
        for one in error.exceptions:
            yield from _texts(one)
    else:
        yield str(error) or type(error).__name__
