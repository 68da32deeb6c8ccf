"""Requests to one HTTP interface: bounded in time and size, with credentials that stay on the host."""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.cookiejar import DefaultCookiePolicy
from typing import Any, Final, Literal

import httpcore
import httpx

from planaria.errors import ToolCallError, ToolTimeout
from planaria.network.policy import Network
from planaria.network.proxy_settings import ENVIRONMENT
from planaria.version import __version__
from planaria.workspace.tools.http_requests import HttpRequest
from planaria.workspace.tools.http_transport import (
    ANYWHERE,
    PUBLIC,
    NotPublicError,
    is_private,
    policy_transport,
)
from planaria.workspace.tools.redaction import Redaction

__all__ = ["Answer", "ConnectionPool", "Credentials", "HttpClient"]

_MAX_REDIRECTS: Final = 10
_BODY_SHOWN: Final = 2000
_BODY_KEPT: Final = 1 << 16
"""Bytes that are read of the body of an error."""

Redirects = Literal["same_host", "any", "none"]


@dataclass(frozen=True)
class Credentials:
    """What the host adds to each request to the interface itself, and to no other host."""

    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    query: Mapping[str, str] = field(default_factory=dict, repr=False)
    parts: tuple[str, ...] = field(default=(), repr=False)
    """Secrets that the headers hold in another form."""

    @classmethod
    def basic(cls, username: str, password: str) -> Credentials:
        """A user's name and password."""
        token = base64.b64encode(f"{username}:{password}".encode()).decode()
        return cls({"Authorization": f"Basic {token}"}, parts=(password,))

    def secrets(self) -> Iterator[str]:
        """All that must not be read by others."""
        for value in self.headers.values():
            yield value
            # Also without "Bearer" in front.
            yield value.rpartition(" ")[2]
        yield from self.query.values()
        yield from self.parts


@dataclass(frozen=True)
class Answer:
    """A response with status 2xx, read to its end."""

    content_type: str
    charset: str | None
    content: bytes

    def value(self, kind: Literal["auto", "json", "text", "bytes"]) -> Any:
        """It as JSON values, text or bytes; "auto" goes by its type. Raises ValueError if it is not JSON."""
        if kind == "auto":
            is_json = self.content_type == "application/json" or self.content_type.endswith("+json")
            is_text = self.content_type.startswith("text/") or self.content_type.endswith(("/xml", "+xml"))
            kind = "json" if is_json else "text" if is_text else "bytes"
            if not self.content:
                return None
        match kind:
            case "json":
                try:
                    return json.loads(self.content)
                except RecursionError:
                    raise ValueError("it is nested too deeply") from None
            case "text":
                return _decode(self.content, self.charset)
            case _:
                return self.content


class ConnectionPool:
    """Connections for any number of clients on one event loop, by a proxy if there is one."""

    def __init__(self, *, proxy: str | None = None) -> None:
        self.is_proxied = proxy is not None
        #: Requests that a definition names, and those that an answer does, which never share a connection.
        certificates = httpx.create_ssl_context()  # which takes long
        self.named, self.others = (_http_client(one, proxy, certificates) for one in (ANYWHERE, PUBLIC))

    async def aclose(self) -> None:
        """Close all connections."""
        await self.named.aclose()
        await self.others.aclose()


def _http_client(policy: Network, proxy: str | None, certificates: ssl.SSLContext) -> httpx.AsyncClient:
    agent = {"User-Agent": f"planaria/{__version__}"}
    if proxy is None:
        transport = policy_transport(httpx, httpcore, policy, certificates)
        client = httpx.AsyncClient(headers=agent, timeout=None, transport=transport)
    else:
        follows = proxy == ENVIRONMENT
        client = httpx.AsyncClient(
            headers=agent,
            timeout=None,
            verify=certificates,
            proxy=None if follows else proxy,
            trust_env=follows,
        )
    # What one session was sent is not for another.
    client.cookies.jar.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    return client


class HttpClient:
    """One interface, reached by the connections of a pool. `max_response` in bytes. `named_by` is the URL of
    the document that names the interface's server, if one does: it sends requests no further than a redirect.
    """

    def __init__(
        self,
        pool: ConnectionPool,
        base_url: str,
        *,
        headers: Mapping[str, str],
        credentials: Credentials,
        redaction: Redaction,
        redirects: Redirects,
        max_response: int,
        named_by: str | None = None,
    ) -> None:
        self._pool = pool
        self._base = httpx.URL(base_url)
        self._headers = dict(headers)
        self._credentials = credentials
        self._redaction = redaction
        self._redirects = redirects
        self._max_response = max_response
        self._named_by = None if named_by is None else httpx.URL(named_by)

    async def send(self, request: HttpRequest, timeout: float | None) -> Answer:
        """Send a request, follow redirects as far as they may go, and read the answer.

        Raises ToolCallError for any status but 2xx, with `status` and the beginning of the body, for a body
        that is too large, and when the host cannot be reached; ToolTimeout. No error has secrets in it.
        """
        return await self._within(timeout, self._build(request))

    async def read(self, url: str, timeout: float | None) -> bytes:
        """The content of a URL of any host; credentials go along only if it is the interface's own."""
        request = self._pool.named.build_request("GET", url, headers={"Accept-Encoding": "gzip"})
        if _same_host(self._base, request.url):
            self._authenticate(request)
        return (await self._within(timeout, request)).content

    async def _within(self, timeout: float | None, request: httpx.Request) -> Answer:
        what = f"{request.method} {self._shown(request.url)}"
        try:
            async with asyncio.timeout(timeout):
                return await self._send(request, what)
        except TimeoutError:
            raise ToolTimeout(f"{what} took longer than {timeout:g} s") from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            reason = self._redaction(str(error) or type(error).__name__)
            raise ToolCallError(f"{what} failed: {reason}") from None

    def _url(self, path: str) -> httpx.URL:
        base = self._base.raw_path.partition(b"?")[0].rstrip(b"/")
        return self._base.copy_with(raw_path=base + path.encode("ascii"))

    def _shown(self, url: httpx.URL) -> str:
        """A URL in messages: queries and user names can be secrets."""
        return self._redaction(str(url.copy_with(query=None, fragment=None, userinfo=b"")))

    def _build(self, request: HttpRequest) -> httpx.Request:
        headers = httpx.Headers({"Accept-Encoding": "gzip", **self._headers})
        headers.update(request.headers)
        built = self._pool.named.build_request(
            request.method,
            self._url(request.path),
            params=tuple(request.query) or None,
            headers=headers,
            content=request.content if request.form is None else None,
            data=_form(request.form),
            files=request.files,
        )
        self._authenticate(built)
        return built

    def _authenticate(self, request: httpx.Request) -> None:
        request.headers.update(self._credentials.headers)
        if self._credentials.query:
            request.url = request.url.copy_merge_params(dict(self._credentials.query))

    async def _send(self, request: httpx.Request, what: str) -> Answer:
        is_own = _same_host(self._base, request.url)
        first, sent = request.url, ""
        if self._named_by is not None and not _same_host(self._named_by, first):
            first, sent = self._named_by, f"{what} is for a server that the document names:"
        for _ in range(_MAX_REDIRECTS + 1):
            response = await self._answer(request, first, sent)
            try:
                following = response.next_request
                if following is None:
                    return await self._read(response, what)
            finally:
                await response.aclose()
            self._check_redirect(request.url, following, what)
            # Who was sent away once gets no credentials any more, not even on the way back: another host
            # chose the path.
            is_own = is_own and _same_host(self._base, following.url)
            if is_own:
                self._authenticate(following)
            else:
                for name in (*self._headers, *self._credentials.headers, "Cookie"):
                    following.headers.pop(name, None)
            if sent or not _same_host(first, following.url):
                sent = f"{what} was redirected to"
            request = following
        raise ToolCallError(f"{what} was redirected more than {_MAX_REDIRECTS} times")

    async def _answer(self, request: httpx.Request, first: httpx.URL, sent: str) -> httpx.Response:
        """The answer to a request to the first host, or, `sent` by an answer, to another: that may be at a
        private address only where the first one is.

        `sent` is what the message says before the URL when it may not go there.
        """
        pool = self._pool
        if not sent or await _is_private(first):
            return await pool.named.send(request, stream=True)
        try:
            if pool.is_proxied and await _is_private(request.url):
                raise NotPublicError
            return await pool.others.send(request, stream=True)
        except NotPublicError:
            where = self._shown(request.url)
            raise ToolCallError(f"{sent} {where}, which is not a public address") from None

    def _check_redirect(self, sent: httpx.URL, following: httpx.Request, what: str) -> None:
        where = self._shown(following.url)
        if self._redirects == "none":
            raise ToolCallError(f"{what} was redirected to {where}, and 'redirects' is none")
        if self._redirects == "same_host" and not _same_host(sent, following.url):
            raise ToolCallError(
                f"{what} was redirected to {where}, another host; redirects: any would follow it, without "
                "credentials"
            )

    async def _read(self, response: httpx.Response, what: str) -> Answer:
        if not response.is_success:
            content = await self._content(response, _BODY_KEPT, cut=True)
            body = self._redaction(_decode(content, response.charset_encoding))
            status = f"{response.status_code} {response.reason_phrase}".rstrip()
            shown = f": {body[:_BODY_SHOWN]}" if body.strip() else ""
            raise ToolCallError(
                f"{what} was answered with {status}{shown}", status=response.status_code, stdout=body
            )
        length = response.headers.get("content-length", "")
        if length.isdecimal() and int(length) > self._max_response:
            raise ToolCallError(f"{what}: {self._too_large()}")
        try:
            content = await self._content(response, self._max_response)
        except _TooLarge:
            raise ToolCallError(f"{what}: {self._too_large()}") from None
        content_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        return Answer(content_type, response.charset_encoding, content)

    def _too_large(self) -> str:
        return f"the response is larger than max_response={self._max_response:,} bytes"

    async def _content(self, response: httpx.Response, most: int, *, cut: bool = False) -> bytes:
        """The body, unpacked, up to a size; what is beyond is `cut` off or raises.

        Unpacked here, in pieces: a few packed bytes can stand for any number.
        """
        encoding = response.headers.get("content-encoding", "identity").strip().lower()
        if encoding not in ("identity", "gzip", "x-gzip", "deflate", ""):
            raise httpx.DecodingError(
                f"the response is compressed with {encoding!r}, which was not requested"
            )
        unpacker = None if encoding in ("identity", "") else zlib.decompressobj(zlib.MAX_WBITS | 32)
        content = bytearray()
        async for chunk in response.aiter_raw():
            try:
                piece = chunk if unpacker is None else unpacker.decompress(chunk, most + 1 - len(content))
            except zlib.error as error:
                raise httpx.DecodingError(f"the response is not validly compressed: {error}") from None
            content += piece
            if len(content) > most:
                if cut:
                    return bytes(content[:most])
                raise _TooLarge
        if unpacker is not None and content and not unpacker.eof:
            raise httpx.DecodingError("the response was cut off")
        return bytes(content)


class _TooLarge(Exception):
    """A body is larger than it may be."""


def _same_host(one: httpx.URL, other: httpx.URL) -> bool:
    """Whether two URLs are of one server: scheme, host and port, or the same host's step up to https."""
    if (one.scheme, one.host, one.port) == (other.scheme, other.host, other.port):
        return True
    steps_up = (one.scheme, other.scheme) == ("http", "https")
    return steps_up and one.host == other.host and one.port is None and other.port is None


async def _is_private(url: httpx.URL) -> bool:
    try:
        return await is_private(url.raw_host.decode("ascii"), url.port or 443)
    except LookupError as error:
        raise httpx.ConnectError(str(error.args[0])) from None


def _form(pairs: list[tuple[str, str]] | None) -> dict[str, list[str]] | None:
    if pairs is None:
        return None
    fields: dict[str, list[str]] = {}
    for name, value in pairs:
        fields.setdefault(name, []).append(value)
    return fields


def _decode(content: bytes, charset: str | None) -> str:
    try:
        return content.decode(charset or "utf-8", "replace")
    except (LookupError, ValueError):
        # Not every codec is for text.
        return content.decode("utf-8", "replace")
