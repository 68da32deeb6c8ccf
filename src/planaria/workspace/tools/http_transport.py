"""How requests of tools reach servers: by connections as code in a session has them, with the same checks.

httpx and httpx2, each over its httpcore, are used by their public names alone.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

import anyio
from anyio.abc import ByteStream, SocketAttribute
from anyio.streams.tls import TLSAttribute

from planaria.network.hosts import is_public
from planaria.network.policy import Network
from planaria.network.stream import TcpStream, start_tls
from planaria.network.upstream import connect, resolve

if TYPE_CHECKING:
    import ssl

__all__ = ["ANYWHERE", "PUBLIC", "NotPublicError", "is_private", "policy_transport"]

#: For the servers that definitions name, which may be on the host's own network.
ANYWHERE: Final = Network(allow=("*",), private=True)
#: For those that answers name.
PUBLIC: Final = Network(allow=("*",))


#: What httpx itself takes by default: connections at once, and kept ones, for so many seconds.
_MOST_CONNECTIONS: Final = 100
_MOST_KEPT: Final = 20
_KEPT_FOR: Final = 5.0
#: What all errors of httpcore are derived from.
_FAMILIES: Final = ("TimeoutException", "NetworkError", "ProtocolError", "ProxyError", "UnsupportedProtocol")


class NotPublicError(Exception):
    """A server has no public address."""


async def is_private(host: str, port: int) -> bool:
    """Whether a host has only addresses that are not public. Raises LookupError for one without any."""
    return not any(map(is_public, await resolve(host, port)))


def policy_transport(
    library: ModuleType, core: ModuleType, policy: Network, certificates: ssl.SSLContext
) -> Any:
    """A transport for clients of `library`, which is httpx or httpx2, that connects to what a policy allows;
    `core` is the library's httpcore.
    """
    pool = core.AsyncConnectionPool(
        ssl_context=certificates,
        max_connections=_MOST_CONNECTIONS,
        max_keepalive_connections=_MOST_KEPT,
        keepalive_expiry=_KEPT_FOR,
        network_backend=_Backend(core, policy),
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
            url = request.url
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
    """What httpcore calls a network backend: `connect_tcp` checks the address that it connects to."""

    def __init__(self, core: ModuleType, policy: Network) -> None:
        self._core = core
        self._policy = policy

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> _Stream:
        try:
            with anyio.fail_after(timeout):
                return _Stream(self._core, await connect(self._policy, host, port))
        except PermissionError as error:
            raise NotPublicError(str(error)) from None
        except TimeoutError as error:
            raise self._core.ConnectTimeout(str(error) or f"{host}:{port} did not answer in time") from None
        except (OSError, LookupError) as error:
            raise self._core.ConnectError(str(error.args[0] if error.args else error)) from None

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds)


class _Stream:
    """A connection as httpcore uses it."""

    def __init__(self, core: ModuleType, stream: ByteStream) -> None:
        self._core = core
        self._stream = stream

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        try:
            with anyio.fail_after(timeout):
                return await self._stream.receive(max_bytes)
        except anyio.EndOfStream:
            return b""
        except TimeoutError:
            raise self._core.ReadTimeout("the server sent nothing in time") from None
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError) as error:
            raise self._core.ReadError(str(error) or "the server closed the connection") from None

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        if not buffer:
            return
        try:
            with anyio.fail_after(timeout):
                await self._stream.send(buffer)
        except TimeoutError:
            raise self._core.WriteTimeout("the server took nothing in time") from None
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError) as error:
            raise self._core.WriteError(str(error) or "the server closed the connection") from None

    async def aclose(self) -> None:
        await anyio.aclose_forcefully(self._stream)

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> _Stream:
        try:
            with anyio.fail_after(timeout):
                stream = await start_tls(self._stream, ssl_context, server_hostname)
        except TimeoutError:
            await self.aclose()
            raise self._core.ConnectTimeout("the TLS handshake took too long") from None
        except (anyio.BrokenResourceError, anyio.EndOfStream, OSError) as error:
            await self.aclose()
            raise self._core.ConnectError(str(error.__cause__ or error)) from None
        return _Stream(self._core, stream)

    def get_extra_info(self, info: str) -> Any:
        match info:
            case "ssl_object":
                return self._stream.extra(TLSAttribute.ssl_object, None)
            case "client_addr":
                return self._stream.extra(SocketAttribute.local_address, None)
            case "server_addr":
                return self._stream.extra(SocketAttribute.remote_address, None)
            case "socket":
                return self._stream.extra(SocketAttribute.raw_socket, None)
            case "is_readable":
                return isinstance(self._stream, TcpStream) and not self._stream.is_alive()
        return None
