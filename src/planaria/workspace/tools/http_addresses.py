"""Where redirects may lead: a public interface sends a tool to no address of the host's own network."""

from __future__ import annotations

import asyncio
import ipaddress
import socket

import httpx

from planaria.network.hosts import Address, address_of, is_public

__all__ = ["is_private", "pinned"]


async def is_private(url: httpx.URL) -> bool:
    """Whether the host of a URL has only addresses that are not public."""
    return not any(map(is_public, await _addresses(url)))


async def pinned(request: httpx.Request) -> httpx.Request | None:
    """The request to a public address of its host, which is the one that is connected to: between a check and
    the connection a name may come to lead elsewhere. None when the host has no public address.
    """
    url = request.url
    public = [address for address in await _addresses(url) if is_public(address)]
    if not public:
        return None
    if address_of(url.host) is None:
        request.headers["Host"] = url.netloc.decode("ascii")
        request.extensions = {**request.extensions, "sni_hostname": url.raw_host.decode("ascii")}
        request.url = url.copy_with(host=str(public[0]))
    # A connection is found again by its address, and may have been verified for another name.
    request.headers["Connection"] = "close"
    return request


async def _addresses(url: httpx.URL) -> list[Address]:
    """The addresses of a URL's host. Raises httpx.ConnectError."""
    address = address_of(url.host)
    if address is not None:
        return [address]
    try:
        found = await asyncio.get_running_loop().getaddrinfo(
            url.raw_host.decode("ascii"), url.port or 443, type=socket.SOCK_STREAM
        )
    except (OSError, UnicodeError) as error:
        raise httpx.ConnectError(f"{url.host} could not be resolved: {error}") from None
    return [ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in found]
