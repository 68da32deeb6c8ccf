"""Connections to servers: a name is resolved, the address checked, and that very address connected to."""

from __future__ import annotations

import contextlib
import ipaddress
import select
import socket
import ssl
from typing import TYPE_CHECKING, Final

import anyio
from anyio.abc import ByteStream, SocketAttribute
from anyio.streams.tls import TLSStream

from planaria.network.forward_proxy import tunnel
from planaria.network.hosts import Address, address_of
from planaria.network.policy import Network
from planaria.network.proxy_settings import ForwardProxy

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Upstream", "connect", "has_input", "resolve"]

_CHUNK: Final = 1 << 16
#: The shortest wait that takes what is there already, in seconds.
_SHORTEST: Final = 0.002


class Upstream:
    """The connection to one server: opened when it is needed, encrypted once that was asked for."""

    def __init__(self, policy: Network, host: str, port: int) -> None:
        self._policy = policy
        self._host = host
        self._port = port
        self._stream: ByteStream | None = None
        #: The proxy that it goes by, and whether that sees bytes alone.
        self._way: tuple[ForwardProxy | None, bool] = (None, False)
        #: Whether a read was cancelled, so that what the server sent since may be in the stream's own buffer.
        self._was_cut = False
        self.tls = False
        """Whether it is encrypted, or will be when it is opened."""

    @property
    def is_open(self) -> bool:
        """Whether there is a connection."""
        return self._stream is not None

    def goes_by(self, proxy: ForwardProxy | None, *, is_tunnel: bool) -> bool:
        """Whether it was opened for requests that go this way."""
        return self._way == (proxy, is_tunnel)

    async def open(self, proxy: ForwardProxy | None = None, *, is_tunnel: bool = False) -> None:
        """Connect, unless it is open: to the server, to a proxy, or with `is_tunnel` by that to the server.

        Raises LookupError, PermissionError and other OSErrors.
        """
        if self._stream is None:
            self._way = (proxy, is_tunnel)
            self._was_cut = False
            if proxy is None:
                self._stream = await connect(self._policy, self._host, self._port)
            else:
                self._stream = await _connect_by_proxy(
                    self._policy, proxy, self._host, self._port, is_tunnel=is_tunnel
                )
            if self.tls:
                self._stream = await _start_tls(self._policy, self._stream, self._host)

    async def encrypt(self) -> None:
        """Encrypt it, and verify that the server is the one. Raises ssl.SSLError and OSError."""
        self.tls = True
        if self._stream is not None:
            self._stream = await _start_tls(self._policy, self._stream, self._host)

    async def close(self) -> None:
        """Close the connection; closing twice is harmless."""
        stream, self._stream = self._stream, None
        if stream is not None:
            await anyio.aclose_forcefully(stream)

    async def is_alive(self) -> bool:
        """Whether an idle connection is still open: no server speaks unasked."""
        stream = self._stream
        if stream is None:
            return False
        if not self._was_cut and not has_input(stream):
            return True
        with anyio.move_on_after(_SHORTEST):
            with contextlib.suppress(
                anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError, ssl.SSLError
            ):
                await stream.receive(1)
            return False
        return True

    async def write(self, data: bytes) -> None:
        """Send all of `data`. Raises ConnectionResetError, and TimeoutError when the server takes none."""
        if self._stream is None:
            raise ConnectionResetError("the connection is closed")
        try:
            with anyio.fail_after(self._policy.timeout):
                for start in range(0, len(data), _CHUNK):
                    await self._stream.send(data[start : start + _CHUNK])
        except TimeoutError:
            raise TimeoutError(f"{self._host} took no data for {self._policy.timeout:g} s") from None
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            raise ConnectionResetError(f"{self._host} closed the connection") from None

    async def receive(self, size: int) -> bytes:
        """What the server sends next, at most `size` bytes; none at its end. Raises ConnectionResetError."""
        assert self._stream is not None
        try:
            return await self._stream.receive(size)
        except anyio.EndOfStream:
            return b""
        except ssl.SSLError as error:
            raise ConnectionResetError(f"{self._host}: {error}") from None
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            raise ConnectionResetError(f"{self._host} closed the connection") from None
        except anyio.get_cancelled_exc_class():
            self._was_cut = True
            raise


def has_input(stream: ByteStream) -> bool:
    """Whether the socket under a stream has data or an end to read."""
    poll = select.poll()
    poll.register(stream.extra(SocketAttribute.raw_socket).fileno(), select.POLLIN)
    return bool(poll.poll(0))


async def connect(policy: Network, host: str, port: int) -> ByteStream:
    """A TCP connection to a host. Raises LookupError for a name without an address, PermissionError when its
    addresses may not be reached, and other OSErrors.
    """
    addresses = await resolve(host, port)
    permitted = [address for address in addresses if policy.may_connect(host, port, address)]
    if not permitted:
        raise PermissionError(
            f"{host} is not allowed: {', '.join(map(str, addresses))} is not a public address"
        )
    failure: OSError | None = None
    for address in permitted:
        try:
            return await _connect(policy, f"{host}:{port}", str(address), port)
        except OSError as error:
            failure = error
    assert failure is not None
    raise failure


async def _connect_by_proxy(
    policy: Network, proxy: ForwardProxy, host: str, port: int, *, is_tunnel: bool
) -> ByteStream:
    """A connection to a proxy, and with `is_tunnel` by it to a host. Raises PermissionError for an address
    that may not be reached, and other OSErrors.

    The proxy resolves names; an address, and this machine's own name, are checked here.
    """
    address = ipaddress.IPv4Address("127.0.0.1") if host == "localhost" else address_of(host)
    if address is not None and not policy.may_connect(host, port, address):
        raise PermissionError(f"{host} is not allowed: {address} is not a public address")
    stream = await _connect(policy, f"the proxy {proxy.host}:{proxy.port}", proxy.host, proxy.port)
    try:
        if proxy.is_tls:
            stream = await _start_tls(policy, stream, proxy.host)
        if is_tunnel:
            with anyio.fail_after(policy.timeout):
                await tunnel(stream, proxy, host, port)
    except BaseException:
        await anyio.aclose_forcefully(stream)
        raise
    return stream


async def _connect(policy: Network, name: str, address: str, port: int) -> ByteStream:
    try:
        with anyio.fail_after(policy.timeout):
            return await anyio.connect_tcp(address, port)
    except TimeoutError:
        raise TimeoutError(f"{name} did not answer within {policy.timeout:g} s") from None
    except OSError as error:
        raise ConnectionRefusedError(f"{name} could not be reached: {_reason(error)}") from None


async def resolve(host: str, port: int) -> Sequence[Address]:
    """The addresses of a host. Raises LookupError."""
    address = address_of(host)
    if address is not None:
        return [address]
    try:
        found = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise LookupError(f"{host} could not be resolved: {_reason(error)}") from None
    addresses = [ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in found]
    return list(dict.fromkeys(addresses))


async def _start_tls(policy: Network, stream: ByteStream, host: str) -> TLSStream:
    """Encrypt a connection, and verify that the server is `host`. Raises ssl.SSLError and OSError."""
    with anyio.fail_after(policy.timeout):
        try:
            return await TLSStream.wrap(
                stream, hostname=host, ssl_context=policy.ssl_context(), standard_compatible=False
            )
        except (anyio.BrokenResourceError, anyio.EndOfStream) as error:
            cause = error.__cause__
            if isinstance(cause, ssl.SSLError):
                raise cause from None
            raise ConnectionResetError(f"{host} closed the connection during the TLS handshake") from None


def _reason(error: BaseException) -> str:
    cause = error.__cause__ or error
    if isinstance(cause, BaseExceptionGroup):
        cause = cause.exceptions[0]
    return getattr(cause, "strerror", None) or str(cause)
