"""Which proxy of the host's requests are sent to (RFC 9110, section 3.7): where a policy asks for one, and
for HTTP alone.
"""

from __future__ import annotations

import base64
import urllib.request
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote, urlsplit

__all__ = ["ENVIRONMENT", "ForwardProxy", "parse_proxy", "proxy_for"]

#: `Network(proxy=…)` that follows the variables HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY.
ENVIRONMENT: Final = "environment"
_PORTS: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class ForwardProxy:
    """A proxy that requests are sent to. Its credentials are not in its representation."""

    host: str
    port: int
    is_tls: bool
    """Whether the way to the proxy itself is encrypted."""
    authorization: bytes | None = field(default=None, repr=False)
    """The header Proxy-Authorization."""


def parse_proxy(url: str) -> ForwardProxy:
    """A proxy from `[http[s]://][user:password@]host[:port]`. Raises ValueError, without the password."""
    parts = urlsplit(url if "://" in url else f"http://{url}")
    if parts.scheme not in _PORTS:
        raise ValueError(f"proxies of the scheme {parts.scheme!r} are not supported, only http and https")
    try:
        port = parts.port
    except ValueError:
        raise ValueError("the port of the proxy is not a number below 65536") from None
    if not parts.hostname:
        raise ValueError("the URL of the proxy has no host")
    authorization = None
    if parts.username is not None:
        credentials = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
        authorization = b"Basic " + base64.b64encode(credentials)
    return ForwardProxy(parts.hostname, port or _PORTS[parts.scheme], parts.scheme == "https", authorization)


def proxy_for(setting: str | None, scheme: str, host: str, port: int) -> ForwardProxy | None:
    """The proxy for requests of a scheme to a host, by what `Network(proxy=…)` is; ws and wss are requests of
    http and https here. The environment is read as urllib does.

    Raises ValueError for a variable whose value is not the URL of a proxy.
    """
    if setting is None:
        return None
    if setting != ENVIRONMENT:
        return parse_proxy(setting)
    scheme = {"ws": "http", "wss": "https"}.get(scheme, scheme)
    if urllib.request.proxy_bypass(f"{host}:{port}"):
        return None
    proxies = urllib.request.getproxies()
    url = proxies.get(scheme) or proxies.get("all")
    return parse_proxy(url) if url else None
