"""The ways to an MCP server: what it takes to reach one, and the two streams of messages that come of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

import httpcore2
import httpx2
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from planaria.network.secrets import IssuedValues
from planaria.workspace.tools.http_transport import policy_transport, tool_network

__all__ = ["HttpTarget", "ProcessTarget", "TooLarge", "http_transport"]

_CONNECT_TIMEOUT: Final = 30.0
_IDLE_TIMEOUT: Final = 3600.0
"""Calls have timeouts of their own; this one is for what is between them."""


@dataclass(frozen=True)
class ProcessTarget:
    """A program to start, spoken to through its stdin and stdout."""

    command: list[str]
    environment: Mapping[str, str]
    directory: Path | None


@dataclass(frozen=True)
class HttpTarget:
    """A server that runs already."""

    url: str
    headers: Mapping[str, str] = field(repr=False)
    is_sse: bool
    """The older transport, of two connections, instead of streamable HTTP."""
    proxy: str | None = field(default=None, repr=False)
    """The URL of a proxy, or "environment"."""
    private: bool = False
    """Whether its name may lead to an address that is not public."""
    hidden: frozenset[str] = field(default=frozenset(), repr=False)
    """The values that no answer may have in it."""


class TooLarge(httpx2.StreamError):
    """A server sends more than is taken."""


@asynccontextmanager
async def http_transport(target: HttpTarget, max_message: int, ended: asyncio.Event) -> AsyncIterator[Any]:
    """The streams of messages from and to a server over HTTP; `ended` is set when no more can come."""
    make_client = partial(_client, target, max_message)
    async with AsyncExitStack() as stack:
        if target.is_sse:
            reading, writing = await stack.enter_async_context(
                sse_client(
                    target.url,
                    timeout=_CONNECT_TIMEOUT,
                    sse_read_timeout=_IDLE_TIMEOUT,
                    httpx_client_factory=make_client,
                )
            )
        else:
            client = await stack.enter_async_context(
                make_client(timeout=httpx2.Timeout(_CONNECT_TIMEOUT, read=_IDLE_TIMEOUT))
            )
            reading, writing = await stack.enter_async_context(
                streamable_http_client(target.url, http_client=client, max_sse_event_size=max_message)
            )
        yield _Noticing(reading, ended), writing


class _Noticing:
    """A stream of messages that sets an event at its end, which would otherwise go unnoticed."""

    def __init__(self, stream: Any, ended: asyncio.Event) -> None:
        self._stream = stream
        self._ended = ended

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __aiter__(self) -> _Noticing:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self._stream.__anext__()
        except BaseException:
            self._ended.set()
            raise

    async def __aenter__(self) -> _Noticing:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *exc_info: Any) -> None:
        await self._stream.__aexit__(*exc_info)


def _client(
    target: HttpTarget,
    max_message: int,
    headers: Mapping[str, str] | None = None,
    timeout: httpx2.Timeout | None = None,
    auth: httpx2.Auth | None = None,
) -> httpx2.AsyncClient:
    async def bound(response: httpx2.Response) -> None:
        if response.headers.get("content-type", "").startswith("text/event-stream"):
            return  # a stream has no end; its events are bounded one by one
        if response.headers.get("content-encoding", "identity") != "identity":
            # Refused since a few bytes can unpack to any number; it was asked not to.
            raise TooLarge("the server compresses its answers though asked not to")
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Bounded(response.stream, max_message)

    issued = IssuedValues(())
    for number, value in enumerate(sorted(target.hidden)):
        issued.add(f"value {number}", value)
    policy = tool_network(httpx2.create_ssl_context(), proxy=target.proxy, private=target.private)
    return httpx2.AsyncClient(
        headers={**(headers or {}), "Accept-Encoding": "identity", **target.headers},
        timeout=timeout,
        auth=auth,
        transport=policy_transport(httpx2, httpcore2, policy, issued, is_named=True),
        event_hooks={"response": [bound]},
    )


class _Bounded(httpx2.AsyncByteStream):
    """The bytes of a response, up to a bound."""

    def __init__(self, stream: httpx2.AsyncByteStream, max_bytes: int) -> None:
        self._stream = stream
        self._left = max_bytes
        self._max_bytes = max_bytes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            self._left -= len(chunk)
            if self._left < 0:
                raise TooLarge(f"the result is larger than max_result={self._max_bytes:,} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()
