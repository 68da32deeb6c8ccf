"""Connections to servers: a name is resolved, the address checked, and that very address connected to."""

from __future__ import annotations

import ipaddress
import socket
import ssl
from typing import TYPE_CHECKING, Final

import anyio
from anyio.abc import ByteStream
from anyio.streams.tls import TLSAttribute

from planaria.network.forward_proxy import tunnel
from planaria.network.hosts import Address, address_of
from planaria.network.policy import Network
from planaria.network.proxy_settings import ForwardProxy
from planaria.network.stream import TcpStream, start_tls

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Upstream", "connect", "resolve"]

_CHUNK: Final = 1 << 16
#: How much is encrypted at once of what the code has in a buffer.
_MOST_ENCRYPTED: Final = 1 << 17
#: The longest certificate that the code is shown.
_MOST_CERTIFICATE: Final = (1 << 16) - 1


class Upstream:
    """The connection to one server: opened when it is needed, encrypted once that was asked for."""

    def __init__(self, policy: Network, host: str, port: int) -> None:
        self._policy = policy
        self._host = host
        self._port = port
        self._stream: ByteStream | None = None
        #: What the system did not take at once.
        self._unsent: bytes | memoryview = b""
        #: The proxy that it goes by, and whether that sees bytes alone.
        self._way: tuple[ForwardProxy | None, bool] = (None, False)
        self.tls = False
        """Whether it is encrypted, or will be when it is opened."""

    @property
    def is_open(self) -> bool:
        """Whether there is a connection."""
        return self._stream is not None

    @property
    def is_direct(self) -> bool:
        """Whether it is a socket, which can be used without an event loop: no TLS within TLS."""
        return isinstance(self._stream, TcpStream)

    def goes_by(self, proxy: ForwardProxy | None, *, is_tunnel: bool) -> bool:
        """Whether it was opened for requests that go this way."""
        return self._way == (proxy, is_tunnel)

    async def open(self, proxy: ForwardProxy | None = None, *, is_tunnel: bool = False) -> None:
        """Connect, unless it is open: to the server, to a proxy, or with `is_tunnel` by that to the server.

        Raises LookupError, PermissionError and other OSErrors.
        """
        if self._stream is None:
            self._way = (proxy, is_tunnel)
            self._unsent = b""
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
            await self.flush()
            self._stream = await _start_tls(self._policy, self._stream, self._host)

    def certificate(self) -> bytes:
        """The certificate of the server in DER form; none when it is not connected yet."""
        connection = None if self._stream is None else self._stream.extra(TLSAttribute.ssl_object, None)
        certificate = None if connection is None else connection.getpeercert(True)
        return certificate if certificate is not None and len(certificate) <= _MOST_CERTIFICATE else b""

    async def close(self) -> None:
        """Close the connection; closing twice is harmless."""
        stream, self._stream = self._stream, None
        if stream is not None:
            await anyio.aclose_forcefully(stream)

    def is_alive(self) -> bool:
        """Whether an idle connection is still open: no server speaks unasked."""
        # A stream within another only shows that by waiting, and is not used twice.
        return isinstance(self._stream, TcpStream) and self._stream.is_alive()

    # -- without waiting, where `is_direct` ------------------------------------------------------------------

    def receive_nowait(self, size: int) -> bytes | None:
        """What the server sent, at most `size` bytes; none at its end; None when nothing is there. Raises
        ConnectionResetError.
        """
        if not isinstance(self._stream, TcpStream):
            return None
        try:
            return self._stream.receive_nowait(size)
        except OSError as error:
            raise self._reset(error) from None

    def receive_into_nowait(self, buffer: memoryview) -> int | None:
        """As `receive_nowait`, into a buffer; its length."""
        if not isinstance(self._stream, TcpStream):
            return None
        try:
            return self._stream.receive_into_nowait(buffer)
        except OSError as error:
            raise self._reset(error) from None

    def write_nowait(self, data: bytes | memoryview) -> None:
        """Send data that does not change; `flush` sends what the system did not take. Raises
        ConnectionResetError.
        """
        if self._stream is None:
            raise ConnectionResetError("the connection is closed")
        if self._unsent or not isinstance(self._stream, TcpStream):
            self._unsent = b"".join([self._unsent, data])
            return
        self._unsent = memoryview(data)
        self.flush_nowait()

    def flush_nowait(self) -> None:
        """Send what the system takes of what is unsent. Raises ConnectionResetError."""
        if self._unsent and isinstance(self._stream, TcpStream):
            try:
                self._unsent = self._unsent[self._stream.send_nowait(self._unsent) :]
            except OSError as error:
                raise self._reset(error) from None

    def send_from_nowait(self, buffer: memoryview) -> int:
        """Send from a buffer, when nothing is unsent; the length of what was taken. Raises
        ConnectionResetError.

        TLS has to go on with what it began with, so a copy is made of that.
        """
        if not isinstance(self._stream, TcpStream):
            return 0
        if self._stream.is_encrypted:
            data = bytes(buffer[:_MOST_ENCRYPTED])
            self.write_nowait(data)
            return len(data)
        try:
            return self._stream.send_nowait(buffer)
        except OSError as error:
            raise self._reset(error) from None

    @property
    def has_unsent(self) -> bool:
        """Whether there is something to flush."""
        return bool(self._unsent)

    def wait_for_input(self, seconds: float) -> None:
        """Block until the server may have sent something, for so many seconds at most; from any thread."""
        stream = self._stream
        if isinstance(stream, TcpStream):
            stream.wait_for_input(seconds)

    def wait_for_output(self, seconds: float) -> None:
        """Block until the system may take something to send, for so many seconds at most; from any thread."""
        stream = self._stream
        if isinstance(stream, TcpStream):
            stream.wait_for_output(seconds)

    # -- with waiting ----------------------------------------------------------------------------------------

    async def write(self, data: bytes) -> None:
        """Send all of `data`. Raises ConnectionResetError, and TimeoutError when the server takes none."""
        self.write_nowait(data)
        await self.flush()

    async def flush(self) -> None:
        """Send what was not sent at once. Raises as `write`."""
        if not self._unsent:
            return
        data, self._unsent = memoryview(self._unsent), b""
        try:
            for start in range(0, len(data), _CHUNK):
                with anyio.fail_after(self._policy.timeout):
                    if self._stream is None:
                        raise anyio.ClosedResourceError
                    await self._stream.send(data[start : start + _CHUNK])  # type: ignore[arg-type]
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
            raise self._reset(error) from None
        except (anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
            raise self._reset(error.__cause__) from None

    def _reset(self, error: object) -> ConnectionResetError:
        if isinstance(error, ssl.SSLError):
            return ConnectionResetError(f"{self._host}: {error}")
        return ConnectionResetError(f"{self._host} closed the connection")


async def connect(policy: Network, host: str, port: int) -> TcpStream:
    """A TCP connection to a host. Raises LookupError for a name without an address, PermissionError when its
    addresses may not be reached, and other OSErrors.
    """
    addresses = await resolve(host, port)
    permitted = [address for address in addresses if policy.may_connect(host, port, address)]
    if not permitted:
        raise PermissionError(
            f"{host} is not allowed: {', '.join(map(str, addresses))} is not a public address"
        )
    return await _connect(policy, f"{host}:{port}", permitted, port)


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
    name = f"the proxy {proxy.host}:{proxy.port}"
    try:
        stream: ByteStream = await _connect(policy, name, await resolve(proxy.host, proxy.port), proxy.port)
    except LookupError as error:
        raise ConnectionRefusedError(f"{name} could not be reached: {error.args[0]}") from None
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


async def _connect(policy: Network, name: str, addresses: Sequence[Address], port: int) -> TcpStream:
    """A connection to the first of some addresses that answers."""
    failure: OSError | None = None
    for address in addresses:
        try:
            with anyio.fail_after(policy.timeout):
                return await TcpStream.connect(address, port)
        except TimeoutError:
            failure = TimeoutError(f"{name} did not answer within {policy.timeout:g} s")
        except OSError as error:
            failure = ConnectionRefusedError(f"{name} could not be reached: {_reason(error)}")
    assert failure is not None
    raise failure


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


async def _start_tls(policy: Network, stream: ByteStream, host: str) -> ByteStream:
    """Encrypt a connection, and verify that the server is `host`. Raises ssl.SSLError and OSError."""
    with anyio.fail_after(policy.timeout):
        try:
            return await start_tls(stream, policy.ssl_context(), host)
        except (anyio.BrokenResourceError, anyio.EndOfStream) as error:
            cause = error.__cause__
            if isinstance(cause, ssl.SSLError):
                raise cause from None
            raise ConnectionResetError(f"{host} closed the connection during the TLS handshake") from None
        except ConnectionError:
            raise ConnectionResetError(f"{host} closed the connection during the TLS handshake") from None


def _reason(error: OSError | UnicodeError) -> str:
    return getattr(error, "strerror", None) or str(error)
