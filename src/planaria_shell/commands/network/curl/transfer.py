"""One transfer of curl: requests until there is no further redirect, and where their answers go."""

from __future__ import annotations

import os
import re
import time
import zlib
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from typing import Final

from planaria_shell.commands.network.cookies import Cookies
from planaria_shell.commands.network.curl.bodies import CannotRead
from planaria_shell.commands.network.curl.options import Given
from planaria_shell.commands.network.curl.protocols import is_enabled
from planaria_shell.commands.network.curl.request import (
    REDIRECTS,
    Request,
    first_request,
    redirect_url,
    redirected,
)
from planaria_shell.commands.network.curl.write_out import Figures
from planaria_shell.commands.network.exchange import SCHEME, Answer, Failure, Kind, Place, exchange
from planaria_shell.toolkit.invocation import Invocation
from planaria_shell.toolkit.streams import Target, reason

__all__ = ["HINT", "Settings", "transfer", "warn"]

_MOST_REDIRECTS: Final = 50
_CODINGS: Final = "Unrecognized content encoding type. libcurl understands deflate, gzip content encodings."
_CANNOT_WRITE: Final = "Failure writing output to destination"
_CANNOT_READ: Final = "Failed to open/read local data from file/application"
_REDIRECTED: Final = "The redirect target URL could not be parsed"
#: Those that curl has, and does not follow a redirect to.
_OTHERS: Final = """
    dict file ftp ftps gopher gophers imap imaps ldap ldaps mqtt pop3 pop3s rtmp rtsp scp sftp smb smbs smtp
    smtps telnet tftp ws wss
"""
_PROTOCOLS: Final = frozenset(_OTHERS.split())
_UNNAMED: Final = "curl_response"
#: Of a warning's text: 79 columns less its label.
_WIDTH: Final = 70
HINT: Final = "curl: try 'curl --help' or 'curl --manual' for more information"


@dataclass
class Settings:
    """What the transfers of one call have in common."""

    call: Invocation
    given: Given
    cookies: Cookies
    fixed_cookies: list[str]
    """What `-b` gives, as `name=value`."""
    dumped: set[str] = field(default_factory=set)
    """Files of `-D` that have something already."""


class _Stop(Exception):
    """The transfer has failed with a status of curl."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class _Output:
    """Where the answers of a transfer go; a file is created when there is something for it."""

    def __init__(self, settings: Settings, name: str | None, place: Place) -> None:
        self._settings, self._call, self._given = settings, settings.call, settings.given
        self._place = place
        self.name = name
        self._target: Target | None = None
        self._appends = False

    def resume(self) -> int:
        """Where `-C` goes on; the file is appended to."""
        offset = self._given.value("continue-at") or "0"
        self._appends = True
        if offset != "-":
            return int(offset) if offset.isdigit() else 0
        path = self._path()
        return os.path.getsize(path) if path is not None and os.path.exists(path) else 0

    def choose(self, answer: Answer) -> None:
        """Take the name of `-O`, with `-J` from the answer."""
        if self.name is not None:
            return
        found = None
        if self._given.has("remote-header-name"):
            header = answer.get("Content-Disposition") or ""
            found = re.search(r'filename="?([^";]+)', header)
        named = os.path.basename(found[1].strip()) if found is not None else ""
        self.name = named or _remote_name(self._settings, self._place)

    def _path(self) -> str | None:
        if self.name in (None, "-", ""):
            return None
        directory = self._given.value("output-dir")
        name = self.name or ""
        return self._call.path(os.path.join(directory, name) if directory else name)

    def write(self, data: bytes) -> None:
        """Raises OSError for a file."""
        path = self._path()
        if path is None:
            self._call.stdout.write(data)
            return
        if self._target is None:
            if self._given.has("create-dirs"):
                os.makedirs(os.path.dirname(path), exist_ok=True)
            try:
                self._target = self._call.create(path, "ab" if self._appends else "wb")
            except OSError as error:
                warn(self._settings, f"Failed to open the file {self.name}: {reason(error)}")
                raise _Stop(23, f"client returned ERROR on write of {len(data)} bytes") from None
        self._target.write(data)

    def close(self, answer: Answer | None) -> None:
        if self._target is not None:
            self._target.close()
            when = None if answer is None else answer.get("Last-Modified")
            path = self._path()
            if self._given.has("remote-time") and when is not None and path is not None:
                seconds = parsedate_to_datetime(when).timestamp()
                os.utime(path, (seconds, seconds))
            self._target = None


def warn(settings: Settings, text: str) -> None:
    """Print a warning unless `-s` was given, in lines as long as those of curl."""
    if settings.given.has("silent"):
        return
    while len(text) > _WIDTH:
        cut = text.rfind(" ", 1, _WIDTH) + 1 or _WIDTH
        settings.call.warn(f"Warning: {text[:cut]}")
        text = text[cut:]
    settings.call.warn(f"Warning: {text}")


def _remote_name(settings: Settings, place: Place) -> str:
    """The name of `-O`: the last part of the path, or one of curl's where there is none."""
    if place.name:
        return place.name
    warn(settings, f'No remote file name, uses "{_UNNAMED}"')
    return _UNNAMED


def transfer(
    settings: Settings, url: str, name: str | None, upload: str | None, figures: Figures
) -> Generator[None, None, None]:
    """Transfer a URL to a file (`-`: standard output; None: named as in the URL), and note the outcome.

    `upload` is the file that `-T` sends. Raises CannotReadOption.
    """
    began = time.monotonic()
    try:
        yield from _transfer(settings, url, name, upload, figures, began)
    except _Stop as stop:
        figures.exitcode, figures.errormsg = stop.status, str(stop)
    figures.time_total = time.monotonic() - began


def _first(settings: Settings, url: str, upload: str | None) -> Request:
    call = settings.call
    if upload not in (None, "-", ".") and not os.access(call.path(upload), os.R_OK):
        call.warn(f"curl: cannot open '{upload}'")
        call.warn(HINT)
        raise _Stop(26, _CANNOT_READ)
    if not SCHEME.match(url):
        url = f"{settings.given.value('proto-default') or 'http'}://{url}"
    try:
        request = first_request(call, settings.given, url, upload)
    except LookupError as error:
        raise _Stop(1, f'Protocol "{error.args[0]}" not supported') from None
    except ValueError as error:
        raise _Stop(3, f"URL rejected: {error}") from None
    except CannotRead:
        raise _Stop(26, _CANNOT_READ) from None
    if not is_enabled(request.place.scheme, settings.given):
        raise _Stop(1, f'Protocol "{request.place.scheme}" disabled')
    return request


def _transfer(
    settings: Settings, url: str, name: str | None, upload: str | None, figures: Figures, began: float
) -> Generator[None, None, None]:
    given = settings.given
    request = _first(settings, url, upload)
    output = _Output(settings, name, request.place)
    resumed = 0
    if given.value("continue-at") is not None:
        if name is None:
            output.name = _remote_name(settings, request.place)
        resumed = output.resume()
        if resumed:
            request = replace(request, given=[*request.given, ("Range", f"bytes={resumed}-")])
    most = given.number("max-redirs")
    most = _MOST_REDIRECTS if most is None else int(most)
    answer: Answer | None = None
    try:
        while True:
            answer = _asked(settings, request, figures, began)
            try:
                goes_on = answer.status in REDIRECTS and bool(answer.get("Location"))
                _head(settings, output, request, answer)
                if not (goes_on and (given.has("location") or given.has("location-trusted"))):
                    if goes_on:
                        figures.redirect_url = redirect_url(request, answer)
                    yield from _body(settings, output, request, answer, figures, resumed)
                    return
                if 0 <= most <= figures.num_redirects:
                    raise _Stop(47, f"Maximum ({most}) redirects followed")
            finally:
                answer.close()
            figures.num_redirects += 1
            figures.time_redirect = time.monotonic() - began
            request = _next(request, answer, given)
            if given.has("verbose"):
                settings.call.warn(f"* Issue another request to this URL: '{request.place.url}'")
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        raise _Stop(23, _CANNOT_WRITE) from None
    finally:
        output.close(answer)


def _next(request: Request, answer: Answer, given: Given) -> Request:
    try:
        following = redirected(request, answer, given)
    except LookupError as error:
        if error.args[0] not in _PROTOCOLS:
            raise _Stop(1, f"{_REDIRECTED}: Unsupported URL scheme") from None
        raise _disabled(error.args[0]) from None
    except ValueError as error:
        raise _Stop(3, f"{_REDIRECTED}: {error}") from None
    if not is_enabled(following.place.scheme, given, is_redirect=True):
        raise _disabled(following.place.scheme)
    return following


def _disabled(scheme: str) -> _Stop:
    return _Stop(1, f'Protocol "{scheme}" disabled (in redirect)')


def _asked(settings: Settings, request: Request, figures: Figures, began: float) -> Answer:
    """Send a request and note what its answer's head says."""
    given, call = settings.given, settings.call
    headers = request.headers(given, settings.cookies, settings.fixed_cookies)
    place = request.place
    figures.url_effective, figures.scheme = place.url, place.scheme
    figures.method, figures.remote_port = request.verb, place.port
    if request.referer:
        figures.referer = request.referer
    limit = given.number("max-time") or None
    if limit is not None:
        limit = max(limit - (time.monotonic() - began), 0.001)
    if given.has("verbose"):
        _show_request(call, request, headers)
    started = time.monotonic()
    try:
        answer = exchange(
            place,
            request.verb,
            headers,
            request.body,
            limit=limit,
            connecting=given.number("connect-timeout") or None,
            verify=not given.has("insecure"),
        )
    except Failure as failure:
        figures.is_refused = failure.is_refused
        raise _stopped(settings, place, failure) from None
    except ValueError:
        raise _Stop(43, "A libcurl function was given a bad argument") from None
    figures.num_connects += 1
    figures.time_connect = started - began
    figures.time_starttransfer = time.monotonic() - began
    figures.http_code, figures.http_version = answer.status, answer.version.removesuffix(".0")
    figures.content_type = answer.get("Content-Type")
    figures.headers, figures.num_headers = answer.headers, len(answer.headers)
    figures.size_header += len(answer.head)
    if request.body is not None:
        figures.size_upload = request.body.length or 0
    if given.has("verbose"):
        for line in [*answer.lines, ""]:
            call.warn(f"< {line}")
    settings.cookies.store(place, answer.get_all("Set-Cookie"))
    return answer


def _show_request(call: Invocation, request: Request, headers: list[tuple[str, str]]) -> None:
    place = request.place
    call.warn(f"*   Trying {place.host}:{place.port}...")
    lines = [f"{request.verb} {place.target} HTTP/1.1"]
    if not any(name.lower() == "host" for name, _ in headers):
        lines.append(f"Host: {place.netloc}")
    for line in [*lines, *(f"{name}: {value}" for name, value in headers), ""]:
        call.warn(f"> {line}")


def _stopped(settings: Settings, place: Place, failure: Failure) -> _Stop:
    """The status and message of curl for a failure (https://curl.se/libcurl/c/libcurl-errors.html)."""
    port, spent, why = place.port, failure.milliseconds, failure.why
    match failure.kind:
        case Kind.RESOLVE:
            return _Stop(6, f"Could not resolve host: {place.host}" + (f" ({why})" if why else ""))
        case Kind.CONNECT:
            reason = "Could not connect to server" if failure.is_refused else why
            return _Stop(7, f"Failed to connect to {place.host} port {port} after {spent} ms: {reason}")
        case Kind.CERTIFICATE:
            text = f"SSL certificate problem: {why}"
            if settings.given.has("insecure"):
                text += " (-k is refused: the host of this sandbox verifies servers)"
            return _Stop(60, text)
        case Kind.TLS:
            return _Stop(35, why)
        case Kind.SEND:
            return _Stop(55, f"Send failure: {why}")
        case Kind.EMPTY:
            return _Stop(52, "Empty reply from server")
        case Kind.PROTOCOL:
            return _Stop(1, "Received HTTP/0.9 when not allowed")
        case Kind.RECEIVE:
            return _Stop(56, f"Recv failure: {why}")
        case Kind.PARTIAL if failure.left is not None:
            return _Stop(18, f"end of response with {failure.left} bytes missing")
        case Kind.PARTIAL:
            return _Stop(18, "transfer closed with outstanding read data remaining")
        case Kind.TIMEOUT if why:
            return _Stop(28, f"Connection timed out after {spent} milliseconds")
    got = f"{failure.received}"
    if failure.left is not None and failure.received:
        got += f" out of {failure.received + failure.left}"
    return _Stop(28, f"Operation timed out after {spent} milliseconds with {got} bytes received")


def _head(settings: Settings, output: _Output, request: Request, answer: Answer) -> None:
    """Write the head where it is asked for."""
    given, call = settings.given, settings.call
    output.choose(answer)
    dump = given.value("dump-header")
    if dump == "-":
        call.stdout.write(answer.head)
    elif dump is not None:
        try:
            with_heads = call.create(dump, "ab" if dump in settings.dumped else "wb")
        except OSError as error:
            warn(settings, f"Failed to open {dump}: {reason(error)}")
            raise _Stop(23, "Failed writing received data to disk/application") from None
        settings.dumped.add(dump)
        with_heads.write(answer.head)
        with_heads.close()
    if given.has("include") or given.has("head"):
        output.write(answer.head)


def _body(
    settings: Settings, output: _Output, request: Request, answer: Answer, figures: Figures, resumed: int
) -> Generator[None, None, None]:
    given, call = settings.given, settings.call
    failed = answer.status >= 400
    if output.name not in (None, "-"):
        figures.filename_effective = output.name
    if failed and given.has("fail"):
        raise _Stop(22, f"The requested URL returned error: {answer.status}")
    if resumed and answer.status == 416:
        return
    if resumed and answer.status != 206 and not failed:
        raise _Stop(33, "HTTP server doesn't seem to support byte ranges. Cannot resume.")
    most = given.number("max-filesize")
    if most is not None and (answer.length or 0) > most:
        raise _Stop(63, "Maximum file size exceeded")
    if request.verb != "HEAD":
        for chunk in _decoded(settings, answer, request.place, figures):
            output.write(chunk)
            if most is not None and figures.size_download > most:
                raise _Stop(63, "Maximum file size exceeded")
            if call.stdout.full:
                yield
    output.write(b"")  # an empty answer makes an empty file
    if failed and given.has("fail-with-body"):
        raise _Stop(22, f"The requested URL returned error: {answer.status}")


def _decoded(settings: Settings, answer: Answer, place: Place, figures: Figures) -> Iterator[bytes]:
    """The body, with `--compressed` as it was before its compression."""
    coding = (answer.get("Content-Encoding") or "identity").lower()
    inflate = None
    if settings.given.has("compressed") and coding != "identity":
        if coding not in ("gzip", "x-gzip", "deflate"):
            raise _Stop(61, _CODINGS)
        inflate = zlib.decompressobj(15 if coding == "deflate" else 31)
    try:
        for chunk in answer.chunks():
            figures.size_download += len(chunk)
            yield chunk if inflate is None else inflate.decompress(chunk)
        if inflate is not None:
            yield inflate.flush()
    except zlib.error as error:
        raise _Stop(61, f"Error while processing content unencoding: {error}") from None
    except Failure as failure:
        raise _stopped(settings, place, failure) from None
