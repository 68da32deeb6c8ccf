"""Requests to one HTTP interface: bounded in time and size, with credentials that stay on the host."""

from __future__ import annotations

import asyncio
import base64
import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from http.cookiejar import DefaultCookiePolicy
from typing import Any, Final, Literal

import httpcore
import httpx

from planaria.errors import ToolCallError, ToolTimeout
from planaria.network.policy import Network
from planaria.network.secrets import IssuedValues
from planaria.version import __version__
from planaria.workspace.tools.http_requests import HttpRequest
from planaria.workspace.tools.http_transport import (
    HIDDEN_QUERY,
    NotPublicError,
    policy_transport,
    tool_network,
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
    secrets: frozenset[str] = field(default=frozenset(), repr=False)
    """What of it must not be read by others."""

    @classmethod
    def bearer(cls, token: str) -> Credentials:
        """A token (RFC 6750)."""
        return cls({"Authorization": f"Bearer {token}"}, secrets=frozenset({token}))

    @classmethod
    def basic(cls, username: str, password: str) -> Credentials:
        """A user's name and password (RFC 7617)."""
        token = base64.b64encode(f"{username}:{password}".encode()).decode()
        return cls({"Authorization": f"Basic {token}"}, secrets=frozenset({token, password}))

    @classmethod
    def key(cls, value: str, *, header: str | None, query: str | None) -> Credentials:
        """A key in a header or in the query."""
        return cls(
            {} if header is None else {header: value},
            {} if query is None else {query: value},
            frozenset({value}),
        )


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
    """Connections for any number of clients on one event loop, by a proxy if there is one; `private`: whether
    names may lead to addresses that are not public.
    """

    def __init__(self, *, proxy: str | None = None, private: bool = False) -> None:
        self.issued = IssuedValues(())
        """The credentials, which no answer may have in it."""
        policy = tool_network(httpx.create_ssl_context(), proxy=proxy, private=private)
        #: Requests to hosts that a definition names, and to those that an answer does: they never share a
        #: connection.
        self.named, self.others = (
            _http_client(policy, self.issued, is_named=is_named) for is_named in (True, False)
        )

    async def aclose(self) -> None:
        """Close all connections."""
        await self.named.aclose()
        await self.others.aclose()


def _http_client(policy: Network, issued: IssuedValues, *, is_named: bool) -> httpx.AsyncClient:
    agent = {"User-Agent": f"planaria/{__version__}"}
    transport = policy_transport(httpx, httpcore, policy, issued, is_named=is_named)
    client = httpx.AsyncClient(headers=agent, timeout=None, transport=transport)
    # What one session was sent is not for another.
    client.cookies.jar.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    return client


class HttpClient:
    """One interface, reached by the connections of a pool. `max_response` in bytes. `named_by` is the URL of
    the document that names the interface's server, if one does: no further than a redirect can.
    `hidden` are the values that no answer may have in it.
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
        hidden: Iterable[str] = (),
    ) -> None:
        self._pool = pool
        self._base = httpx.URL(base_url)
        self._headers = dict(headers)
        self._credentials = credentials
        self._redaction = redaction
        self._redirects = redirects
        self._max_response = max_response
        #: The URL that the definition's author wrote.
        self._written = self._base if named_by is None else httpx.URL(named_by)
        for number, value in enumerate(sorted(set(hidden))):
            pool.issued.add(f"value {number}", value)

    async def send(self, request: HttpRequest, timeout: float | None) -> Answer:
        """Send a request, follow redirects as far as they may go, and read the answer.

        Raises ToolCallError for any status but 2xx, with `status` and the beginning of the body, for a body
        that is too large, and when the host cannot be reached; ToolTimeout. No error has secrets in it.
        """
        return await self._within(timeout, self._build(request), self._written)

    async def read(self, url: str, timeout: float | None) -> bytes:
        """The content of a URL that the definition's author wrote, of any host; credentials go along only if
        it is the interface's own.
        """
        request = self._pool.named.build_request("GET", url, headers={"Accept-Encoding": "gzip"})
        if _same_host(self._base, request.url):
            self._authenticate(request)
        return (await self._within(timeout, request, request.url)).content

    async def _within(self, timeout: float | None, request: httpx.Request, written: httpx.URL) -> Answer:
        what = f"{request.method} {self._shown(request.url)}"
        try:
            async with asyncio.timeout(timeout):
                return await self._send(request, what, written)
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
        # The transport adds them: httpx logs URLs.
        request.extensions = {**request.extensions, HIDDEN_QUERY: dict(self._credentials.query)}

    async def _send(self, request: httpx.Request, what: str, written: httpx.URL) -> Answer:
        is_own = _same_host(self._base, request.url)
        came = "is for a server that the document names:"
        for _ in range(_MAX_REDIRECTS + 1):
            response = await self._answer(request, what, came, written)
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
                following.extensions = {**following.extensions, HIDDEN_QUERY: {}}
            came = "was redirected to"
            request = following
        raise ToolCallError(f"{what} was redirected more than {_MAX_REDIRECTS} times")

    async def _answer(
        self, request: httpx.Request, what: str, came: str, written: httpx.URL
    ) -> httpx.Response:
        """The answer to a request: to the host that the definition's author wrote, or to one that an answer
        names, as the message says that it `came` to.
        """
        is_written = _same_host(written, request.url)
        client = self._pool.named if is_written else self._pool.others
        try:
            return await client.send(request, stream=True)
        except NotPublicError:
            where = self._shown(request.url)
            went = f"{what}: {where}" if is_written else f"{what} {came} {where}, which"
            raise ToolCallError(
                f"{went} is not at a public address ('private: true' allows others)"
            ) from None

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
