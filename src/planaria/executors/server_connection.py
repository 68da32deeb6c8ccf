"""Requests to a server of sessions (`planaria serve`), and the events of one that streams."""

from __future__ import annotations

import base64
import http.client
import json
import select
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit

from planaria import errors
from planaria.errors import FileSystemError, PlanariaError, ServerError

__all__ = ["BYTES", "ServerConnection", "decoded", "encoded"]

#: The media type of files and snapshots.
BYTES: Final = "application/octet-stream"
_EVENTS: Final = "text/event-stream"
#: Seconds that a request without an execution may take, and those until a connection is there.
_PATIENCE: Final = 120.0
_CONNECTING: Final = 10.0
#: After so many seconds the server may close a connection that is not in use.
_IDLE: Final = 15.0
#: Seconds without an event or a sign of life, which the server sends every 15, after which a stream is lost.
_SILENCE: Final = 60.0


def encoded(data: bytes) -> str:
    """Bytes as base64."""
    return base64.b64encode(data).decode("ascii")


def decoded(text: str) -> bytes:
    """The bytes of base64."""
    return base64.b64decode(text, validate=True)


class ServerConnection:
    """Connections with one server, for any thread.

    Args:
        url: where the server is, as "http://127.0.0.1:7700".
        token: what it was started with, if it has one.
    """

    def __init__(self, url: str, token: str | None = None) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise ValueError(f"{url!r} is not the address of a server, as http://127.0.0.1:7700")
        self.url = url
        self.token = token
        self._secure = parts.scheme == "https"
        self._host, self._port = parts.hostname, parts.port
        self._prefix = parts.path.rstrip("/")
        self._lock = threading.Lock()
        #: Connections that are not in use, and since when.
        self._idle: list[tuple[http.client.HTTPConnection, float]] = []
        self._streaming: set[http.client.HTTPConnection] = set()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} to {self.url}>"

    # -- requests ------------------------------------------------------------------------------------------

    def request(
        self, method: str, path: str, body: object = None, query: Mapping[str, str] | None = None
    ) -> Any:
        """A request with a body of JSON, and what JSON the response has; None without one.

        Raises the error that the server reports, ServerError when it has none of planaria's, and when it
        cannot be reached.
        """
        data = None if body is None else json.dumps(body).encode()
        found = self.send(method, path, data, "application/json", query)
        return json.loads(found) if found else None

    def send(
        self,
        method: str,
        path: str,
        data: bytes | None,
        media: str,
        query: Mapping[str, str] | None = None,
    ) -> bytes:
        """A request with a body of bytes, and the body of the response. Raises what `request` does."""
        connection = self._take(_PATIENCE)
        try:
            headers = {} if data is None else {"Content-Type": media}
            response = self._ask(connection, method, path, data, headers, query or {})
            found = response.read()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise self._unreachable(error) from error
        self._give_back(connection)
        if response.status >= 400:
            raise _error_of(response.status, found)
        return found

    def stream(self, path: str, body: object, key: str) -> Iterator[tuple[str, Any]]:
        """The events of a request that executes: their names, and what they have.

        `key` is the request's Idempotency-Key: made again with it, it is not executed again. Raises what
        `request` does.
        """
        headers = {"Content-Type": "application/json", "Accept": _EVENTS, "Idempotency-Key": key}
        connection = self._take(_SILENCE)
        with self._lock:
            self._streaming.add(connection)
        whole = False
        try:
            response = self._ask(connection, "POST", path, json.dumps(body).encode(), headers, {})
            if response.status >= 400:
                found = response.read()
                whole = True
                raise _error_of(response.status, found)
            name = ""
            while line := response.readline():
                field, _, text = line.decode().rstrip("\n").partition(": ")
                if field == "event":
                    name = text
                elif field == "data":
                    data = json.loads(text)
                    if name in ("result", "problem"):
                        # What ends the body is there as well.
                        whole = response.read() == b"\n"
                    if name == "problem":
                        raise _error_of(data["status"], text.encode())
                    yield name, data
                    if name == "result":
                        return
            raise http.client.IncompleteRead(b"")
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise self._unreachable(error) from error
        finally:
            with self._lock:
                self._streaming.discard(connection)
            if whole:
                self._give_back(connection)
            else:
                connection.close()

    def _ask(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        data: bytes | None,
        headers: Mapping[str, str],
        query: Mapping[str, str],
    ) -> http.client.HTTPResponse:
        if self.token is not None:
            headers = {**headers, "Authorization": f"Bearer {self.token}"}
        # What cannot be written as UTF-8 stands in names of files as they are.
        asked = f"?{urlencode(query, errors='surrogateescape')}" if query else ""
        connection.request(method, f"{self._prefix}{quote(path)}{asked}", data, dict(headers))
        return connection.getresponse()

    def _unreachable(self, error: BaseException) -> ServerError:
        why = str(error) or type(error).__name__
        return ServerError(f"the connection with {self.url} failed: {why}")

    # -- connections ---------------------------------------------------------------------------------------

    def _take(self, patience: float) -> http.client.HTTPConnection:
        """A connection that the server has not closed. Raises ServerError."""
        oldest = time.monotonic() - _IDLE
        with self._lock:
            while self._idle:
                connection, since = self._idle.pop()
                # What can be read before anything was asked is its end.
                if since > oldest and not select.select([connection.sock], [], [], 0)[0]:
                    connection.sock.settimeout(patience)
                    return connection
                connection.close()
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        connection = kind(self._host, self._port, timeout=_CONNECTING)
        try:
            connection.connect()
        except OSError as error:
            raise self._unreachable(error) from error
        connection.sock.settimeout(patience)
        return connection

    def _give_back(self, connection: http.client.HTTPConnection) -> None:
        if connection.sock is None:  # the server closes it
            return
        with self._lock:
            self._idle.append((connection, time.monotonic()))

    def hang_up(self) -> None:
        """Close the connections with executions that run: they go on at the server."""
        with self._lock:
            for connection in self._streaming:
                if connection.sock is not None:
                    connection.sock.shutdown(socket.SHUT_RDWR)  # which the thread that reads from it notices

    def close(self) -> None:
        """Close all connections that are not in use."""
        with self._lock:
            while self._idle:
                self._idle.pop()[0].close()

    def abandon(self) -> None:
        """In a forked child: leave the connections to the parent."""
        self._lock = threading.Lock()
        idle = [one for one, _ in self._idle]
        for connection in (*idle, *self._streaming):
            if connection.sock is not None:
                connection.sock.close()  # of this process only: nothing is sent
        self._idle, self._streaming = [], set()


def _error_of(status: int, body: bytes) -> PlanariaError:
    """The error that a problem document reports."""
    try:
        document = json.loads(body)
        detail = str(document["detail"])
    except (ValueError, KeyError, TypeError):
        shown = body[:200].decode("utf-8", "replace")
        return ServerError(f"the server answered {status}: {shown}", status=status)
    name = document.get("error")
    if name == "FileSystemError" and isinstance(document.get("errno"), int):
        return FileSystemError(document["errno"], _strerror(detail), document.get("filename"))
    kind = getattr(errors, name, None) if isinstance(name, str) else None
    if isinstance(kind, type) and issubclass(kind, PlanariaError):
        try:
            return kind(detail)
        except TypeError:  # it takes more than a message
            pass
    return ServerError(detail, status=status, code=str(document.get("code", "")))


def _strerror(detail: str) -> str:
    """The words of "[Errno 2] No such file or directory: 'a'"."""
    return detail.partition("] ")[2].partition(": ")[0] or detail
