"""How requests of tools reach servers: by connections as code in a session has them, with the same checks."""

from __future__ import annotations

from collections.abc import Iterable
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

__all__ = ["ANYWHERE", "PUBLIC", "NotPublicError", "is_private", "use_policy"]

#: For the servers that definitions name, which may be on the host's own network.
ANYWHERE: Final = Network(allow=("*",), private=True)
#: For those that answers name.
PUBLIC: Final = Network(allow=("*",))


class NotPublicError(Exception):
    """A server has no public address."""


async def is_private(host: str, port: int) -> bool:
    """Whether a host has only addresses that are not public. Raises LookupError for one without any."""
    return not any(map(is_public, await resolve(host, port)))


def use_policy(transport: Any, core: ModuleType, policy: Network) -> Any:
    """Have a transport of httpx or httpx2 connect to what a policy allows; `core` is its httpcore."""
    pool = transport._pool
    if not isinstance(pool, core.AsyncConnectionPool):
        raise TypeError(f"{transport!r} has no pool of connections that could be given a policy")
    pool._network_backend = _Backend(core, policy)
    return transport


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
