"""How requests of tools reach servers: by the connections that code in a session has (`planaria.network`),
which check addresses, scrub answers, and charge what is sent and received to the session.

httpx and httpx2, each over its httpcore, are used by their public names alone.
"""

from __future__ import annotations

import math
import ssl
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import ModuleType
from typing import Any, Final

import anyio

from planaria.errors import ToolCallError
from planaria.network.connection import Connection
from planaria.network.hosts import canonical_host
from planaria.network.policy import Network, NetworkRequest
from planaria.network.secrets import IssuedValues
from planaria.workspace.tools.charging import CallersAccount

__all__ = ["HIDDEN_QUERY", "NotPublicError", "policy_transport", "tool_network"]

#: The extension of a request with what is added to its query on the way out.
HIDDEN_QUERY: Final = "planaria.query"
#: What httpx itself takes by default: connections at once, and kept ones, for so many seconds.
_MOST_CONNECTIONS: Final = 100
_MOST_KEPT: Final = 20
_KEPT_FOR: Final = 5.0
#: What all errors of httpcore are derived from.
_FAMILIES: Final = ("TimeoutException", "NetworkError", "ProtocolError", "ProxyError", "UnsupportedProtocol")


class NotPublicError(Exception):
    """A server has no public address, and its definition allows no other."""


def tool_network(certificates: ssl.SSLContext, *, proxy: str | None, private: bool) -> Network:
    """The policy for a tool's requests, as far as it is the same for all hosts. Calls have timeouts of their
    own. Raises ToolCallError for a proxy that is not one.
    """
    try:
        return Network(certificates=certificates, proxy=proxy, private=private, timeout=math.inf)
    except ValueError as error:
        raise ToolCallError(str(error)) from None


def policy_transport(
    library: ModuleType, core: ModuleType, policy: Network, issued: IssuedValues, *, is_named: bool
) -> Any:
    """A transport for clients of `library`, which is httpx or httpx2, that connects to any host, by the proxy
    and with the certificates of a policy; `core` is the library's httpcore.

    With `is_named`, requests are for hosts that the definition's author wrote: an address that is not public,
    or `localhost`, is meant then. What a name leads to is public, unless the policy is `private`. In answers
    there are asterisks in the place of the values that were issued. Its requests raise NotPublicError.
    """
    pool = core.AsyncConnectionPool(
        ssl_context=policy.ssl_context(),
        max_connections=_MOST_CONNECTIONS,
        max_keepalive_connections=_MOST_KEPT,
        keepalive_expiry=_KEPT_FOR,
        network_backend=_Backend(core, policy, issued, is_named=is_named),
    )

    @contextmanager
    def as_its_own() -> Iterator[None]:
        """Raise errors of `core` as those of the library, which have the same names."""
        try:
            yield
        except tuple(getattr(core, name) for name in _FAMILIES) as error:
            raise getattr(library, type(error).__name__)(str(error)) from error

    class Stream(library.AsyncByteStream):  # type: ignore[name-defined,misc]
        """The body of an answer."""

        def __init__(self, stream: Any) -> None:
            self._stream = stream

        async def __aiter__(self) -> AsyncIterator[bytes]:
            with as_its_own():
                async for part in self._stream:
                    yield part

        async def aclose(self) -> None:
            await self._stream.aclose()

    class Transport(library.AsyncBaseTransport):  # type: ignore[name-defined,misc]
        """Sends requests by connections of the pool."""

        async def handle_async_request(self, request: Any) -> Any:
            hidden = request.extensions.get(HIDDEN_QUERY)
            url = request.url.copy_merge_params(hidden) if hidden else request.url
            place = core.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
            sent = core.Request(
                request.method,
                place,
                headers=request.headers.raw,
                content=request.stream,
                extensions=request.extensions,
            )
            with as_its_own():
                answer = await pool.handle_async_request(sent)
            return library.Response(
                answer.status,
                headers=answer.headers,
                stream=Stream(answer.stream),
                extensions=answer.extensions,
            )

        async def aclose(self) -> None:
            await pool.aclose()

    return Transport()


class _Backend:
    """What httpcore calls a network backend: its connections are those that code in a session has."""

    def __init__(self, core: ModuleType, policy: Network, issued: IssuedValues, *, is_named: bool) -> None:
        self._core = core
        self._policy = policy
        self._issued = issued
        self._is_named = is_named

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> _Stream:
        account = CallersAccount()
        try:
            host = canonical_host(host)
        except ValueError as error:
            raise self._core.ConnectError(str(error)) from None
        # A rule for the host itself opens its address, where it is one, and a rule for all hosts none.
        place = "*" if not self._is_named else f"[{host}]" if ":" in host else host
        policy = replace(self._policy, allow=(f"{place}:{port}",))
        connection = Connection(policy, account, self._issued, host, port)
        try:
            with anyio.fail_after(timeout):
                await connection.open()
        except BaseException as error:
            with anyio.CancelScope(shield=True):
                await connection.close()
            if isinstance(error, Exception):
                message = str(error.args[0] if isinstance(error, LookupError) else error)
                failed = NetworkRequest("CONNECT", f"//{host}:{port}", reason=message)
                account.record(failed.scrub(self._issued.scrubber()))
            if isinstance(error, PermissionError):
                raise NotPublicError(message) from None
            if isinstance(error, TimeoutError):
                raise self._core.ConnectTimeout(f"{host}:{port} did not answer in time") from None
            if isinstance(error, (OSError, LookupError)):
                raise self._core.ConnectError(message) from None
            raise
        return _Stream(self._core, connection)

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds)


class _Stream:
    """A connection as httpcore uses it."""

    def __init__(self, core: ModuleType, connection: Connection) -> None:
        self._core = core
        self._connection = connection

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        try:
            data = await self._connection.incoming.receive(max_bytes, timeout)
        except OSError as error:
            raise self._core.ReadError(str(error)) from None
        if data is None:
            raise self._core.ReadTimeout("the server sent nothing in time")
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        if not buffer:
            return
        try:
            with anyio.fail_after(timeout):
                await self._connection.send(buffer, may_greet=False)
        except TimeoutError as error:
            raise self._core.WriteTimeout(str(error) or "the server took nothing in time") from None
        except ConnectionResetError as error:
            # The library then looks for an answer that the server sent before.
            raise self._core.WriteError(str(error)) from None
        except OSError as error:
            raise self._core.NetworkError(str(error)) from None

    async def aclose(self) -> None:
        with anyio.CancelScope(shield=True):
            await self._connection.close()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> _Stream:
        try:
            with anyio.fail_after(timeout):
                await self._connection.encrypt(server_hostname or "")
        except TimeoutError:
            await self.aclose()
            raise self._core.ConnectTimeout("the TLS handshake took too long") from None
        except OSError as error:
            await self.aclose()
            raise self._core.ConnectError(str(error)) from None
        return self

    def get_extra_info(self, info: str) -> Any:
        if info == "is_readable":  # whether a kept connection is of no use any more
            incoming = self._connection.incoming
            return bool(incoming.waiting) or incoming.is_ended
        return None
