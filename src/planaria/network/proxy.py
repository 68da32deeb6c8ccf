"""A proxy (RFC 9110, section 3.7) for code that has sockets of its own: in processes and containers.

It hands what it reads to the same connections that the sandbox's sockets are, so the same rules hold. TLS
ends here, with certificates of an authority that only this session's code trusts, so that paths and methods
are seen and secrets exchanged. Only who knows the proxy's password, which is in its URL, is served.
"""

from __future__ import annotations

import base64
import hmac
import logging
import secrets
import shutil
import ssl
import tempfile
from pathlib import Path
from typing import Final, Literal
from urllib.parse import urlsplit

import anyio
import h11
from anyio.abc import ByteStream, Listener, SocketAttribute, SocketStream
from anyio.streams.tls import TLSStream

from planaria.network.answers import failure_response
from planaria.network.authority import Authority
from planaria.network.calls import NetworkCalls
from planaria.network.connection import Connection
from planaria.network.requests import wants_upgrade

__all__ = ["CERTIFICATES", "SOCKET", "Proxy"]

#: Names in the proxy's directory: the socket, and the certificate of its authority.
SOCKET: Final = "socket"
CERTIFICATES: Final = "authority.pem"

_LOG = logging.getLogger("planaria.network")

_CHUNK: Final = 1 << 16
_MOST_HEAD: Final = 1 << 18
_USER: Final = "planaria"
_CLIENT_GONE: Final = (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError)
#: The first byte of TLS: a handshake record (RFC 8446, section 5.1).
_HANDSHAKE: Final = 0x16
#: How long a client may take for its first request and its handshake, in seconds.
_PATIENCE: Final = 60.0
#: Variables by which programs find a proxy, and a file of certificate authorities to trust.
_PROXY_VARIABLES: Final = ("http_proxy", "https_proxy", "all_proxy")
_AUTHORITY_VARIABLES: Final = (
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "PIP_CERT",
    "NODE_EXTRA_CA_CERTS",
    "GIT_SSL_CAINFO",
    "AWS_CA_BUNDLE",
    "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
)


class Proxy:
    """The proxy of one session. It has a directory, which only this user sees, for its socket."""

    def __init__(self, calls: NetworkCalls) -> None:
        self._calls = calls
        self._authority = Authority()
        self._password = secrets.token_urlsafe(24)
        credentials = base64.b64encode(f"{_USER}:{self._password}".encode())
        self._expected = b"Basic " + credentials
        self._parent = Path(tempfile.mkdtemp(prefix="planaria-proxy-"))
        #: What a container may be given, where the code is another user.
        self.directory = self._parent / "shared"
        self.directory.mkdir(mode=0o755)
        self.directory.chmod(0o755)
        (self.directory / CERTIFICATES).write_bytes(self._authority.certificate)
        (self.directory / CERTIFICATES).chmod(0o644)
        self._listener: Listener[SocketStream] | None = None

    async def listen(self, kind: Literal["tcp", "unix"]) -> int:
        """Begin to listen; the port, which for a Unix socket is 0."""
        if kind == "unix":
            self._listener = await anyio.create_unix_listener(self.directory / SOCKET, mode=0o666)
            return 0
        self._listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
        return int(self._listener.extra(SocketAttribute.local_port))

    async def serve(self) -> None:
        """Serve until cancelled."""
        assert self._listener is not None
        async with self._listener:
            await self._listener.serve(self._serve)

    def remove(self) -> None:
        """Remove the directory."""
        shutil.rmtree(self._parent, ignore_errors=True)

    def environment(self, address: str, directory: str) -> dict[str, str]:
        """The variables by which programs find the proxy, and trust it: for code that sees it at `address`,
        a host and a port, and its directory at `directory`.
        """
        url = f"http://{_USER}:{self._password}@{address}"
        proxies = {name: url for lower in _PROXY_VARIABLES for name in (lower, lower.upper())}
        exceptions = {"no_proxy": "", "NO_PROXY": ""}
        return proxies | exceptions | dict.fromkeys(_AUTHORITY_VARIABLES, f"{directory}/{CERTIFICATES}")

    # -- one client ------------------------------------------------------------------------------------------

    async def _serve(self, client: ByteStream) -> None:
        try:
            async with client:
                await self._answer(client)
        except (*_CLIENT_GONE, OSError) as error:
            _LOG.debug("a client of the proxy went away: %r", error)
        except Exception:  # concerns no other client
            _LOG.exception("the proxy could not serve a client")

    async def _answer(self, client: ByteStream) -> None:
        """Read what the client wants to reach, and connect it."""
        reader = h11.Connection(h11.SERVER, max_incomplete_event_size=_MOST_HEAD)
        try:
            with anyio.fail_after(_PATIENCE):
                request = await _request(client, reader)
            host, port, target = self._destination(request)
        except (h11.RemoteProtocolError, ValueError) as error:
            await _explain(client, reader, 400, str(error))
            return
        if not self._is_authorised(request):
            await client.send(
                b"HTTP/1.1 407 Proxy Authentication Required\r\nConnection: close\r\nContent-Length: 0\r\n"
                b'Proxy-Authenticate: Basic realm="planaria"\r\n\r\n'
            )
            return
        try:
            number = await self._calls.open(host, port)
        except (OSError, LookupError) as error:
            await _explain(client, reader, _status(error), str(error), request)
            return
        try:
            connection = self._calls.connection(number)
            if target is None:
                await client.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
                await self._tunnel(client, connection, bytes(reader.trailing_data[0]))
            elif connection.is_raw:
                reason = "this rule is for tcp://, which takes the method CONNECT"
                await _explain(client, reader, 403, reason, request)
            else:
                # The body was not parsed yet.
                await _relay(client, connection, _head(request, target) + reader.trailing_data[0])
        finally:
            with anyio.CancelScope(shield=True):
                await self._calls.close(number)

    def _is_authorised(self, request: h11.Request) -> bool:
        given = [value for name, value in request.headers if name == b"proxy-authorization"]
        return len(given) == 1 and hmac.compare_digest(given[0], self._expected)

    def _destination(self, request: h11.Request) -> tuple[str, int, bytes | None]:
        """The host, the port, and the target of the request there, which CONNECT has not."""
        url = request.target.decode("latin-1")
        if request.method == b"CONNECT":
            parts = urlsplit(f"//{url}")
            if parts.hostname is None or parts.port is None or parts.netloc != url or "@" in url:
                raise ValueError(f"{url!r} is not a host and a port")
            return parts.hostname, parts.port, None
        scheme, mark, rest = url.partition("://")
        if scheme.lower() not in ("http", "ws") or not mark:
            raise ValueError("this is a proxy: the target of a request is a URL that begins with http://")
        end = next((at for at, one in enumerate(rest) if one in "/?"), len(rest))
        parts = urlsplit(f"//{rest[:end]}")
        if parts.hostname is None or "@" in parts.netloc or parts.netloc != rest[:end]:
            raise ValueError(f"{rest[:end]!r} is not a host")
        target = rest[end:] if rest[end : end + 1] == "/" else f"/{rest[end:]}"
        return parts.hostname, parts.port or 80, target.encode("latin-1")

    async def _tunnel(self, client: ByteStream, connection: Connection, first: bytes) -> None:
        """Pass on what follows a CONNECT: HTTP, with TLS or without, or what a rule for `tcp://` allows."""
        if connection.is_raw:
            await _relay(client, connection, first)
            return
        with anyio.fail_after(_PATIENCE):
            first = first or await client.receive(_CHUNK)
        if first[0] != _HANDSHAKE:
            await _relay(client, connection, first)
            return
        failure: Exception | None = None
        try:
            await connection.encrypt()
        except (OSError, ssl.SSLError) as error:
            failure = error
        context = self._authority.context_for(connection.host)
        with anyio.fail_after(_PATIENCE):
            stream = await TLSStream.wrap(
                _Prefixed(first, client), server_side=True, ssl_context=context, standard_compatible=False
            )
        if failure is None:
            await _relay(stream, connection, b"")
            return
        reader = h11.Connection(h11.SERVER, max_incomplete_event_size=_MOST_HEAD)
        request = await _request(stream, reader)
        await _explain(stream, reader, _status(failure), str(failure), request)


async def _request(client: ByteStream, reader: h11.Connection) -> h11.Request:
    """The head of the first request. Raises h11.RemoteProtocolError, and anyio.EndOfStream."""
    while True:
        event = reader.next_event()
        if isinstance(event, h11.Request):
            return event
        if event is not h11.NEED_DATA:
            raise anyio.EndOfStream
        reader.receive_data(await client.receive())


def _head(request: h11.Request, target: bytes) -> bytes:
    """The head as the server of the URL gets it. One request comes by a connection, unless it becomes a
    WebSocket: the next may be for another server.
    """
    dropped = (b"proxy-authorization", b"proxy-connection")
    headers = [(name, value) for name, value in request.headers if name not in dropped]
    if not wants_upgrade(request):
        headers.append((b"connection", b"close"))
    lines = [b"%s %s HTTP/1.1" % (request.method, target), *(b"%s: %s" % one for one in headers)]
    return b"\r\n".join([*lines, b"", b""])


async def _explain(
    client: ByteStream,
    reader: h11.Connection,
    status: int,
    reason: str,
    request: h11.Request | None = None,
) -> None:
    """Answer a request that was not passed on."""
    if reader.our_state in (h11.IDLE, h11.SEND_RESPONSE):
        has_body = request is None or request.method != b"HEAD"
        await client.send(failure_response(reader, status, reason, has_body=has_body))


def _status(error: Exception) -> int:
    """The status of an answer for a request that failed."""
    if isinstance(error, PermissionError):
        return 403
    return 504 if isinstance(error, TimeoutError) else 502


async def _relay(client: ByteStream, connection: Connection, first: bytes) -> None:
    """Pass bytes on, both ways, until either side ends."""
    failure: Exception | None = None
    is_client_done = False

    async def upload() -> None:
        nonlocal failure, is_client_done
        data = first
        try:
            while True:
                if data:
                    await connection.send(data, may_greet=False)
                data = await client.receive(_CHUNK)
        except _CLIENT_GONE:
            is_client_done = True
            if not (connection.is_raw or connection.is_idle):
                return  # what the server answers is still wanted
        except Exception as error:
            failure = error
            if connection.is_answering:
                return
        group.cancel_scope.cancel()

    async def download() -> None:
        nonlocal failure
        try:
            while data := await connection.incoming.receive_when_due(_CHUNK):
                await client.send(data)
                if is_client_done and connection.is_idle:
                    break
        except _CLIENT_GONE:
            pass
        except OSError as error:
            failure = error
        group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        group.start_soon(upload)
        group.start_soon(download)
    if failure is None and connection.is_unanswered:
        failure = ConnectionResetError(f"{connection.host} closed the connection without an answer")
    if failure is not None:
        await client.send(connection.failure(_status(failure), str(failure)))
    await client.aclose()


class _Prefixed(ByteStream):
    """A stream of which a part has been read already."""

    def __init__(self, first: bytes, stream: ByteStream) -> None:
        self._first = first
        self._stream = stream

    async def receive(self, max_bytes: int = _CHUNK) -> bytes:
        if self._first:
            data, self._first = self._first[:max_bytes], self._first[max_bytes:]
            return data
        return await self._stream.receive(max_bytes)

    async def send(self, item: bytes) -> None:
        await self._stream.send(item)

    async def send_eof(self) -> None:
        await self._stream.send_eof()

    async def aclose(self) -> None:
        await self._stream.aclose()
