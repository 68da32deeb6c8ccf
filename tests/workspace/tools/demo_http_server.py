"""A small HTTP interface for the tests."""

from __future__ import annotations

import base64
import gzip
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, parse_qsl, quote, urlsplit

PNG = b"\x89PNG\r\n\x1a\n\x00picture"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: HttpServer

    def log_message(self, *arguments: Any) -> None:
        pass

    def answer(self) -> None:
        parts = urlsplit(self.path)
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        self.server.requests.append((self.command, self.path, dict(self.headers), body))
        query = parse_qs(parts.query)
        name = parts.path.removeprefix("/api").split("/")[1]
        page = getattr(self, f"page_{name}", None)
        if page is None:
            self.send(404, "text/plain", b"no such page; you sent " + str(dict(self.headers)).encode())
        else:
            page(parts, query, body)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = answer  # noqa: N815

    def send(self, status: int, content_type: str, body: bytes, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        for key, value in headers.items():
            self.send_header(key.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def json(self, value: Any, status: int = 200) -> None:
        self.send(status, "application/json", json.dumps(value).encode())

    def page_echo(self, parts: Any, query: Any, body: bytes) -> None:
        """What was asked, as JSON."""
        self.json(
            {
                "method": self.command,
                "path": parts.path,
                "query": parse_qsl(parts.query, keep_blank_values=True),
                "headers": {name.lower(): value for name, value in self.headers.items()},
                "body": body.decode("utf-8", "replace"),
            }
        )

    def page_text(self, parts: Any, query: Any, body: bytes) -> None:
        self.send(200, "text/plain; charset=latin-1", "größer".encode("latin-1"))

    def page_picture(self, parts: Any, query: Any, body: bytes) -> None:
        self.send(200, "image/png", PNG)

    def page_nothing(self, parts: Any, query: Any, body: bytes) -> None:
        self.send_response(204)
        self.end_headers()

    def page_broken(self, parts: Any, query: Any, body: bytes) -> None:
        self.send(200, "application/json", b'{"a": ')

    def page_big(self, parts: Any, query: Any, body: bytes) -> None:
        self.send(200, "text/plain", b"x" * int(query["size"][0]))

    def page_endless(self, parts: Any, query: Any, body: bytes) -> None:
        """A body that says nothing of its length and has no end."""
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Connection", "close")
        self.end_headers()
        try:
            while True:
                self.wfile.write(b"x" * 65536)
                self.server.endless += 65536
        except OSError:
            pass
        self.close_connection = True

    def page_packed(self, parts: Any, query: Any, body: bytes) -> None:
        size = int(query["size"][0])
        self.send(200, "text/plain", gzip.compress(b"x" * size), Content_Encoding="gzip")

    def page_slow(self, parts: Any, query: Any, body: bytes) -> None:
        time.sleep(float(query["seconds"][0]))
        self.json("at last")

    def page_redirect(self, parts: Any, query: Any, body: bytes) -> None:
        status = int(query.get("status", ["302"])[0])
        self.send(status, "text/plain", b"", Location=query["to"][0])

    def page_circle(self, parts: Any, query: Any, body: bytes) -> None:
        self.send(302, "text/plain", b"", Location="/api/circle")

    def page_wrong(self, parts: Any, query: Any, body: bytes) -> None:
        name, password = base64.b64decode(self.headers["Authorization"].split()[1]).decode().split(":")
        self.send(401, "text/plain", f"the password of {name} is not {password}".encode())

    def page_repeated(self, parts: Any, query: Any, body: bytes) -> None:
        """The token that was sent, in another form."""
        token = self.headers["Authorization"].split()[1].encode()
        match query["form"][0]:
            case "base64":
                token = base64.b64encode(b"token: " + token)
            case "hex":
                token = token.hex().encode()
            case "percent":
                token = quote(token, safe="").encode()
            case "reversed":
                token = token[::-1]
            case "packed":
                self.send(200, "text/plain", gzip.compress(token), Content_Encoding="gzip")
                return
            case "split":
                self.send_response(200)
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                for part in (token[:5], token[5:]):
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
                    time.sleep(0.05)
                self.wfile.write(b"0\r\n\r\n")
                return
        self.send(200, "text/plain", token)

    def page_cookie(self, parts: Any, query: Any, body: bytes) -> None:
        self.send(200, "text/plain", b"set", Set_Cookie="seen=yes; Path=/")

    def page_openapi(self, parts: Any, query: Any, body: bytes) -> None:
        self.json(self.server.document)


class HttpServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[tuple[str, str, dict[str, str], bytes]] = []
        self.endless = 0
        self.document: Any = {}

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away before the end is not an error here."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


@contextmanager
def serving() -> Iterator[HttpServer]:
    """A server on a free port, on a thread."""
    with HttpServer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
