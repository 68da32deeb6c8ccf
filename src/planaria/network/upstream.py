"""Connections to servers: a name is resolved, the address checked, and that very address connected to."""

from __future__ import annotations

import ipaddress
import socket
import ssl
from typing import TYPE_CHECKING

import anyio
from anyio.abc import ByteStream
from anyio.streams.tls import TLSStream

from planaria.network.forward_proxy import ForwardProxy, tunnel
from planaria.network.hosts import Address, address_of
from planaria.network.policy import Network

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["connect", "connect_by_proxy", "start_tls"]


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
            return await _connect(policy, f"{host}:{port}", str(address), port)
        except OSError as error:
            failure = error
    assert failure is not None
    raise failure


async def connect_by_proxy(
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
            stream = await start_tls(policy, stream, proxy.host)
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
