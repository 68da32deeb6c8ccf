"""Connections to servers: a name is resolved, the address checked, and that very address connected to."""

from __future__ import annotations

import ipaddress
import socket
import ssl
from typing import TYPE_CHECKING

import anyio
from anyio.abc import ByteStream
from anyio.streams.tls import TLSStream

from planaria.network.hosts import Address, address_of
from planaria.network.policy import Network

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["connect", "start_tls"]


async def connect(policy: Network, host: str, port: int) -> ByteStream:
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


async def start_tls(policy: Network, stream: ByteStream, host: str) -> TLSStream:
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
