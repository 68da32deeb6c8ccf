"""Connections through a proxy of the host's."""

from __future__ import annotations

from typing import Final

import anyio
import h11
from anyio.abc import ByteStream

from planaria.network.proxy_settings import ForwardProxy

__all__ = ["tunnel"]

_MOST_HEAD: Final = 1 << 16
_CHUNK: Final = 1 << 12


async def tunnel(stream: ByteStream, proxy: ForwardProxy, host: str, port: int) -> None:
    """Have a proxy connect to a server (RFC 9110, section 9.3.6). Raises ConnectionRefusedError."""
    place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    headers = [(b"host", place.encode())]
    if proxy.authorization is not None:
        headers.append((b"proxy-authorization", proxy.authorization))
    client = h11.Connection(h11.CLIENT, max_incomplete_event_size=_MOST_HEAD)
    await stream.send(client.send(h11.Request(method="CONNECT", target=place, headers=headers)) or b"")
    await stream.send(client.send(h11.EndOfMessage()) or b"")
    try:
        event = client.next_event()
        while event is h11.NEED_DATA or isinstance(event, h11.InformationalResponse):
            if event is h11.NEED_DATA:
                client.receive_data(await stream.receive(_CHUNK))
            event = client.next_event()
    except (anyio.EndOfStream, anyio.BrokenResourceError):
        raise ConnectionResetError(f"the proxy {proxy.host}:{proxy.port} closed the connection") from None
    except h11.RemoteProtocolError:
        raise ConnectionResetError(f"the proxy {proxy.host}:{proxy.port} does not speak HTTP/1.1") from None
    assert isinstance(event, h11.Response)
    if not 200 <= event.status_code < 300:
        status = f"{event.status_code} {bytes(event.reason).decode('latin-1')}".rstrip()
        raise ConnectionRefusedError(
            f"the proxy {proxy.host}:{proxy.port} did not connect to {place}: {status}"
        )
    if client.trailing_data[0]:
        raise ConnectionResetError(f"{place} spoke before it was asked")
