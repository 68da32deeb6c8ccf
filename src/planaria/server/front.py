"""One address before several servers that share a store: requests for a session go to the same one.

Which server has a session is of no consequence for what is kept: any of them resumes it from the store. So a
server that ends is started again, and what was asked of it is asked again where that is safe: requests that
only read, and those with an Idempotency-Key, which the store remembers.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, MutableMapping
from typing import Any, Final, Protocol

__all__ = ["Front", "Servers"]

_LOG: Final = logging.getLogger("planaria.server")

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

#: The session that a path is for.
_PATH: Final = re.compile(r"/(?:v\d+/)?(?:sessions|sandboxes)/([^/]+)")
#: Headers that are of one connection (RFC 9110, 7.6.1).
_OWN: Final = frozenset(
    {b"connection", b"keep-alive", b"proxy-connection", b"te", b"transfer-encoding", b"upgrade"}
)
_SAFE: Final = frozenset({"GET", "HEAD"})
#: How often a request is made, when the server that had it ended.
_ATTEMPTS: Final = 3
#: Bytes of a body that are kept, to be sent again.
_KEPT: Final = 8 << 20


class Servers(Protocol):
    """Servers by number, which share a store."""

    count: int

    async def url(self, number: int) -> str:
        """Where a server is; it is started when it does not run. Raises OSError."""

    async def lost(self, number: int) -> None:
        """A server did not answer: wait a moment for its end to be noticed."""

    async def close(self) -> None:
        """End all."""


class Front:
    """An ASGI application that passes requests on."""

    def __init__(self, servers: Servers) -> None:
        import httpx

        self._servers = servers
        limits = httpx.Limits(max_connections=None)
        self._client = httpx.AsyncClient(timeout=None, trust_env=False, limits=limits)

    async def close(self) -> None:
        """Close connections, and end the servers."""
        await self._client.aclose()
        await self._servers.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self._pass_on(scope, receive, send)
        else:
            raise ValueError(f"this server has no {scope['type']}")

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                return

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send) -> None:
        import httpx

        number = _number(scope, self._servers.count)
        names = {name for name, _ in scope["headers"]}
        may_repeat = scope["method"] in _SAFE or b"idempotency-key" in names
        body = _Body(receive)
        for attempt in range(1, _ATTEMPTS + 1):
            begun = False
            try:
                url = await self._servers.url(number)
                request = self._request(scope, url, body.chunks() if _has_body(scope) else None)
                response = await self._client.send(request, stream=True)
                try:
                    await send(_start(response.status_code, response.headers.raw))
                    begun = True
                    async for chunk in response.aiter_raw():
                        await send({"type": "http.response.body", "body": chunk, "more_body": True})
                    await send({"type": "http.response.body", "body": b""})
                finally:
                    await response.aclose()
                return
            except (httpx.TransportError, OSError) as error:
                _LOG.warning("the server %d did not answer: %s: %s", number, type(error).__name__, error)
                never_sent = isinstance(error, (httpx.ConnectError, OSError))
                if begun:
                    raise
                if attempt == _ATTEMPTS or not (may_repeat or never_sent) or not body.can_be_repeated:
                    await _refuse(send, error)
                    return
                await self._servers.lost(number)

    def _request(self, scope: Scope, url: str, body: AsyncIterator[bytes] | None) -> Any:
        path = scope["raw_path"] + (b"?" + scope["query_string"] if scope["query_string"] else b"")
        headers = [(name, value) for name, value in scope["headers"] if name not in _OWN]
        return self._client.build_request(
            scope["method"], url + path.decode("ascii"), headers=headers, content=body
        )


class _Body:
    """The body of a request, which can be sent again unless it is long."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._kept: list[bytes] = []
        self._size = 0
        self._is_whole = False
        self.can_be_repeated = True

    async def chunks(self) -> AsyncIterator[bytes]:
        for chunk in list(self._kept):
            yield chunk
        while not self._is_whole:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ConnectionError("the client has gone")
            self._is_whole = not message.get("more_body", False)
            chunk = message.get("body", b"")
            self._size += len(chunk)
            if self._size > _KEPT:
                self.can_be_repeated = False
                self._kept.clear()
            else:
                self._kept.append(chunk)
            yield chunk


def _has_body(scope: Scope) -> bool:
    return any(name in (b"content-length", b"transfer-encoding") for name, _ in scope["headers"])


def _number(scope: Scope, count: int) -> int:
    """The server for a request: the same one for a session, for every client."""
    headers = dict(scope["headers"])
    found = _PATH.match(scope["path"])
    session = headers.get(b"e2b-sandbox-id", found[1].encode() if found else b"")
    key = session or headers.get(b"idempotency-key", b"") or repr(scope.get("client")).encode()
    return int.from_bytes(hashlib.blake2b(key, digest_size=4).digest(), "big") % count


def _start(status: int, headers: Iterable[tuple[bytes, bytes]]) -> dict[str, Any]:
    kept = [(name.lower(), value) for name, value in headers if name.lower() not in _OWN]
    return {"type": "http.response.start", "status": status, "headers": kept}


async def _refuse(send: Send, error: Exception) -> None:
    problem = {
        "type": "about:blank",
        "title": "Bad Gateway",
        "status": 502,
        "detail": "the server that had this request ended: make it again with an Idempotency-Key, or look "
        f"whether it was carried out ({type(error).__name__})",
    }
    await send(_start(502, [(b"content-type", b"application/problem+json")]))
    await send({"type": "http.response.body", "body": json.dumps(problem).encode()})
