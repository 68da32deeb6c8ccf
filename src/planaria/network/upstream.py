"""Connections to servers: a name is resolved, the address checked, and that very address connected to."""

from __future__ import annotations

import contextlib
import ipaddress
import socket
import ssl
from typing import TYPE_CHECKING, Final

import anyio
from anyio.abc import ByteStream
from anyio.streams.tls import TLSStream

from planaria.network.hosts import Address, address_of
from planaria.network.policy import Network

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Upstream"]

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
        self.tls = False
        """Whether it is encrypted, or will be when it is opened."""

    @property
    def is_open(self) -> bool:
        """Whether there is a connection."""
        return self._stream is not None

    async def open(self) -> None:
        """Connect, unless it is open. Raises LookupError, PermissionError and other OSErrors."""
        if self._stream is None:
            self._stream = await _connect(self._policy, self._host, self._port)
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

    async def receive(self) -> bytes:
        """What the server sends next; nothing at its end. Raises ConnectionResetError."""
        assert self._stream is not None
        try:
            return await self._stream.receive(_CHUNK)
        except anyio.EndOfStream:
            return b""
        except ssl.SSLError as error:
            raise ConnectionResetError(f"{self._host}: {error}") from None
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            raise ConnectionResetError(f"{self._host} closed the connection") from None


async def _connect(policy: Network, host: str, port: int) -> ByteStream:
    """A TCP connection to a host. Raises LookupError for a name without an address, PermissionError when its
    addresses may not be reached, and other OSErrors.
    """
    addresses = await _resolve(host, port)
    permitted = [address for address in addresses if policy.may_connect(host, port, address)]
    if not permitted:
        raise PermissionError(
            f"{host} is not allowed: {', '.join(map(str, addresses))} is not a public address"
        )
    failure: OSError | None = None
    for address in permitted:
        try:
            with anyio.fail_after(policy.timeout):
                return await anyio.connect_tcp(str(address), port)
        except TimeoutError:
            failure = TimeoutError(f"{host}:{port} did not answer within {policy.timeout:g} s")
        except OSError as error:
            failure = ConnectionRefusedError(f"{host}:{port} could not be reached: {_reason(error)}")
    assert failure is not None
    raise failure


async def _resolve(host: str, port: int) -> Sequence[Address]:
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
