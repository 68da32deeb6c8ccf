"""One request over HTTP/1.1 and its answer, as curl and wget need them: with the heads as they are written.

Sockets are those of the standard library, so in a session the host decides what they reach.
"""

from __future__ import annotations

import enum
import os
import re
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote_from_bytes, unquote, urljoin, urlsplit

if TYPE_CHECKING:
    import http.client

__all__ = ["SCHEME", "Answer", "Body", "Failure", "Kind", "Place", "encoded", "exchange", "parse_place"]

_CHUNK = 1 << 16
_PORTS = {"http": 80, "https": 443}
#: The beginning of a URL that has a scheme.
SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
#: Three slashes are taken as two.
_SLASHES = re.compile(r"^(https?):///(?!/)", re.IGNORECASE)
_HOST = re.compile(r"[^\x00-\x20\x7f%/\\?#@:<>^|\[\]{}*`\"'!&$(),;=+]+")


class Kind(enum.Enum):
    """How an exchange failed."""

    RESOLVE = enum.auto()
    CONNECT = enum.auto()
    CERTIFICATE = enum.auto()
    TLS = enum.auto()
    SEND = enum.auto()
    EMPTY = enum.auto()
    PROTOCOL = enum.auto()
    RECEIVE = enum.auto()
    PARTIAL = enum.auto()
    TIMEOUT = enum.auto()


class Failure(Exception):
    """An exchange failed; `why` is the explanation of the system or the policy, empty without one."""

    def __init__(self, kind: Kind, why: str = "", *, left: int | None = None, received: int = 0) -> None:
        super().__init__(why)
        self.kind = kind
        self.why = why
        self.left = left
        """Bytes that did not come, for PARTIAL; None when their number is unknown."""
        self.received = received
        """Bytes of the body that did come."""
        self.milliseconds = 0
        """Since the beginning of the exchange."""
        self.is_refused = False
        """Whether nothing listens there."""


@dataclass(frozen=True)
class Place:
    """A parsed URL."""

    scheme: str
    user: str | None
    """`user:password`, percent-decoded."""
    host: str
    port: int
    target: str

    @property
    def netloc(self) -> str:
        """The host, with the port unless it is the usual one: the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """The URL without a user."""
        return f"{self.scheme}://{self.netloc}{self.target}"

    @property
    def name(self) -> str:
        """The last part of the path that is not empty; empty without one."""
        return self.target.partition("?")[0].rstrip("/").rpartition("/")[2]


def encoded(target: str) -> str:
    """A target in which everything but visible ASCII is percent-encoded."""
    return quote_from_bytes(target.encode("utf-8", "surrogateescape"), "".join(map(chr, range(33, 127))))


def parse_place(url: str, *, as_is: bool = False) -> Place:
    """The parts of a URL of http or https; without a scheme http is meant.

    `as_is` leaves `.` and `..` in the path. Raises ValueError, which says what is wrong with a malformed URL,
    and LookupError with the scheme for another protocol.
    """
    if not SCHEME.match(url):
        url = "http://" + url
    if any(character <= " " or character == "\x7f" for character in url):
        raise ValueError("Malformed input to a URL function")
    url = _SLASHES.sub(r"\1://", url, count=1)
    try:
        parts = urlsplit(url)
    except ValueError:
        raise ValueError("Bad IPv6 address") from None
    scheme = parts.scheme.lower()
    if scheme not in _PORTS:
        raise LookupError(scheme)
    host = parts.hostname
    if not host:
        raise ValueError("No host part in the URL")
    try:
        host = host.encode("idna").decode("ascii") if not host.isascii() else host
    except UnicodeError:
        raise ValueError("Bad hostname") from None
    if ":" not in host and not _HOST.fullmatch(host):
        raise ValueError("Bad hostname")
    try:
        port = _PORTS[scheme] if parts.port is None else parts.port
    except ValueError:
        raise ValueError("Port number was not a decimal number between 0 and 65535") from None
    user, at, _ = parts.netloc.rpartition("@")
    path = parts.path or "/"
    if not as_is and "/." in path:
        path = urljoin("/", path)
    target = f"{path}?{parts.query}" if "?" in url.partition("#")[0] else path
    target = encoded(target)
    return Place(scheme, unquote(user) if at else None, host, port, target)


class Body:
    """What is sent: bytes, and files named by their absolute paths, in this order; or a stream."""

    def __init__(self, *parts: bytes | os.PathLike[str], stream: Iterator[bytes] | None = None) -> None:
        self.parts = parts
        self.stream = stream

    @property
    def length(self) -> int | None:
        """In bytes; None for a stream. Raises OSError."""
        if self.stream is not None:
            return None
        return sum(len(part) if isinstance(part, bytes) else os.stat(part).st_size for part in self.parts)

    def chunks(self) -> Iterator[bytes]:
        """The bytes. Raises OSError."""
        if self.stream is not None:
            yield from self.stream
        for part in self.parts:
            if isinstance(part, bytes):
                yield part
                continue
            with open(part, "rb") as file:
                while chunk := file.read(_CHUNK):
                    yield chunk


class Answer:
    """The answer to a request: its head, and the body as it comes."""

    def __init__(self, response: http.client.HTTPResponse, close: Callable[[], None], timer: Timer) -> None:
        self._response = response
        self._timer = timer
        self.close = close
        self.status = response.status
        self.reason = response.reason
        self.version = "1.0" if response.version == 10 else "1.1"
        self.headers: list[tuple[str, str]] = list(response.headers.raw_items())

    @property
    def lines(self) -> list[str]:
        """The lines of the head without their ends."""
        first = f"HTTP/{self.version} {self.status} {self.reason}"
        return [first, *(f"{name}: {value}" for name, value in self.headers)]

    @property
    def head(self) -> bytes:
        """The head as the server sent it."""
        return "".join(f"{line}\r\n" for line in [*self.lines, ""]).encode("latin-1", "replace")

    def get(self, name: str) -> str | None:
        """The first header of this name."""
        return next((value for header, value in self.headers if header.lower() == name.lower()), None)

    def get_all(self, name: str) -> list[str]:
        """All headers of this name."""
        return [value for header, value in self.headers if header.lower() == name.lower()]

    @property
    def length(self) -> int | None:
        """The length of the body, when the head has it."""
        return self._response.length

    def chunks(self) -> Iterator[bytes]:
        """The body in chunks. Raises Failure."""
        import http.client

        received = 0
        try:
            while True:
                self._timer.arm()
                chunk = self._response.read1(_CHUNK)
                if not chunk:
                    break
                received += len(chunk)
                yield chunk
        except TimeoutError:
            raise self._timer.failed(
                Failure(Kind.TIMEOUT, left=self._response.length, received=received)
            ) from None
        except http.client.IncompleteRead:
            raise self._timer.failed(Failure(Kind.PARTIAL, received=received)) from None
        except (OSError, http.client.HTTPException) as error:
            raise self._timer.failed(Failure(Kind.RECEIVE, explain(error), received=received)) from None
        left = self._response.length
        if left:
            raise self._timer.failed(Failure(Kind.PARTIAL, left=left, received=received))


class Timer:
    """How long an exchange may take: `limit` seconds as a whole, `idle` seconds each wait."""

    def __init__(self, limit: float | None, idle: float | None) -> None:
        self.began = time.monotonic()
        self._deadline = None if limit is None else self.began + limit
        self._idle = idle
        self.socket: socket.socket | None = None

    def left(self) -> float | None:
        """Seconds that the next step may take. Raises TimeoutError when the time is over."""
        if self._deadline is None:
            return self._idle
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left if self._idle is None else min(left, self._idle)

    def arm(self) -> None:
        """Let the next step of the socket end in time."""
        if self.socket is not None:
            self.socket.settimeout(self.left())

    def failed(self, failure: Failure) -> Failure:
        """A failure with the time that it took."""
        failure.milliseconds = int((time.monotonic() - self.began) * 1000)
        return failure


def explain(error: BaseException) -> str:
    """The reason in an error: that of the policy in a session, otherwise the system's."""
    return getattr(error, "strerror", None) or str(error)


def exchange(
    place: Place,
    method: str,
    headers: Sequence[tuple[str, str]],
    body: Body | None = None,
    *,
    limit: float | None = None,
    connecting: float | None = None,
    idle: float | None = None,
    verify: bool = True,
) -> Answer:
    """Send a request and read the head of its answer; the caller closes it. Raises Failure, and OSError for a
    file of the body.

    Args:
        headers: in order; a Host header comes first unless there is one.
        limit: seconds for the whole exchange; `connecting` for the connection, `idle` for each wait.
        verify: whether the server must have a valid certificate. The host of a session verifies in any case.
    """
    import http.client

    timer = Timer(limit, idle)
    sock = _connect(place, timer, connecting, verify)
    timer.socket = sock
    connection = http.client.HTTPConnection(place.host, place.port)
    connection.sock = sock
    try:
        try:
            _send(connection, place, method, headers, body, timer)
        except TimeoutError:
            raise Failure(Kind.TIMEOUT) from None
        except ConnectionError:
            pass  # the server may have answered already
        try:
            timer.arm()
            response = connection.getresponse()
        except TimeoutError:
            raise Failure(Kind.TIMEOUT) from None
        except http.client.RemoteDisconnected:
            raise Failure(Kind.EMPTY) from None
        except http.client.HTTPException as error:
            raise Failure(Kind.PROTOCOL, explain(error)) from None
        except OSError as error:
            raise Failure(Kind.RECEIVE, explain(error)) from None
    except BaseException as error:
        connection.close()
        if isinstance(error, Failure):
            timer.failed(error)
        raise

    def close() -> None:
        response.close()
        connection.close()

    return Answer(response, close, timer)


def _connect(place: Place, timer: Timer, connecting: float | None, verify: bool) -> socket.socket:
    try:
        limits = [one for one in (timer.left(), connecting) if one is not None]
        sock = socket.create_connection((place.host, place.port), min(limits) if limits else None)
    except socket.gaierror as error:
        # EAI_AGAIN: there is nothing that resolves names, which is not the fault of the name.
        why = explain(error) if error.errno == socket.EAI_AGAIN else ""
        raise timer.failed(Failure(Kind.RESOLVE, why)) from None
    except TimeoutError:
        raise timer.failed(Failure(Kind.TIMEOUT, "connect")) from None
    except (OSError, UnicodeError) as error:
        failure = Failure(Kind.CONNECT, explain(error))
        failure.is_refused = isinstance(error, ConnectionRefusedError)
        raise timer.failed(failure) from None
    if place.scheme != "https":
        return sock
    import ssl

    context = ssl.create_default_context()
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    try:
        return context.wrap_socket(sock, server_hostname=place.host)
    except BaseException as error:
        sock.close()
        if isinstance(error, ssl.SSLError):
            is_certificate = "certificate" in str(error)
            why = getattr(error, "verify_message", "") or explain(error)
            kind = Kind.CERTIFICATE if is_certificate else Kind.TLS
            raise timer.failed(Failure(kind, why)) from None
        if isinstance(error, OSError):
            raise timer.failed(Failure(Kind.TLS, explain(error))) from None
        raise


def _send(
    connection: http.client.HTTPConnection,
    place: Place,
    method: str,
    headers: Sequence[tuple[str, str]],
    body: Body | None,
    timer: Timer,
) -> None:
    connection.putrequest(method, place.target, skip_host=True, skip_accept_encoding=True)
    if not any(name.lower() == "host" for name, _ in headers):
        connection.putheader("Host", place.netloc)
    for name, value in headers:
        connection.putheader(name, value.encode("utf-8", "surrogateescape"))
    chunked = body is not None and body.length is None
    timer.arm()
    try:
        connection.endheaders()
        for chunk in () if body is None else body.chunks():
            timer.arm()
            connection.send(b"%x\r\n%b\r\n" % (len(chunk), chunk) if chunked else chunk)
        if chunked:
            connection.send(b"0\r\n\r\n")
    except PermissionError as error:
        if error.filename is not None:
            raise
        raise Failure(Kind.SEND, explain(error)) from None
