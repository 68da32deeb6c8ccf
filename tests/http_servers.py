"""Servers of HTTP and HTTPS on localhost, which answer what they were asked."""

from __future__ import annotations

import gzip
import http.server
import json
import socket
import ssl
import threading
import time
from collections.abc import Generator
from typing import Any
from urllib.parse import parse_qs, urlsplit

__all__ = ["Handler", "Server", "serve"]


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers by the path: `/echo` returns the request, others are named for what they do."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # an answer is one packet
    #: Whether a connection was closed after `/close-after`, so that its client can know it.
    closed_after = threading.Event()

    def do_GET(self) -> None:
        path, query = urlsplit(self.path).path, parse_qs(urlsplit(self.path).query)
        body = self.read_body()
        match path.split("/")[1:]:
            case ["redirect"]:
                self.answer(302, b"", {"Location": query["to"][0]})
            case ["chunked"]:
                self.send_response(200)
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                for part in (b"one ", b"two ", b"three"):
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
                self.wfile.write(b"0\r\n\r\n")
            case ["gzip"]:
                self.answer(200, gzip.compress(b"compressed " * 100), {"Content-Encoding": "gzip"})
            case ["until-close"]:
                self.close_connection = True
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b"to the end")
            case ["close-after"]:
                self.close_connection = True
                self.answer(200, b"then closed", {})
                self.wfile.flush()
                if not isinstance(self.connection, ssl.SSLSocket):
                    self.connection.shutdown(socket.SHUT_WR)
                    self.closed_after.set()
            case ["half"]:
                self.close_connection = True
                self.send_response(200)
                self.send_header("Content-Length", "100")
                self.end_headers()
                self.wfile.write(b"a part\n")
            case ["status", status]:
                self.answer(int(status), f"status {status}\n".encode(), {"Content-Type": "text/plain"})
            case ["cookies"]:
                self.send_response(200)
                for cookie in ("a=1; Path=/", "b=2; Path=/echo; HttpOnly", "c=3; Domain=evil.test; Path=/"):
                    self.send_header("Set-Cookie", cookie)
                self.send_header("Content-Length", "0")
                self.end_headers()
            case ["named"]:
                self.answer(200, b"named", {"Content-Disposition": 'attachment; filename="given.txt"'})
            case ["modified"]:
                self.answer(200, b"old", {"Last-Modified": "Sat, 01 Jan 2000 00:00:00 GMT"})
            case ["nothing"]:
                self.close_connection = True
            case ["drip"]:
                self.close_connection = True
                self.send_response(200)
                self.end_headers()
                for _ in range(200):
                    self.wfile.write(b"drop")
                    self.wfile.flush()
                    time.sleep(0.1)
            case ["never"]:
                threading.Event().wait(20)
                self.close_connection = True
            case ["range"]:
                start = int(self.headers.get("Range", "bytes=0-")[6:].partition("-")[0])
                headers = {"Content-Range": f"bytes {start}-9/10"} if start else {}
                self.answer(206 if start else 200, b"0123456789"[start:], headers)
            case ["redirect-as", status]:
                self.answer(int(status), b"moved", {"Location": "/echo"})
            case ["body"]:
                self.answer(200, body, {})
            case ["bytes", count]:
                self.answer(200, b"x" * int(count), {})
            case _:
                reported = {
                    "method": self.command,
                    "target": self.path,
                    "headers": {name.lower(): value for name, value in self.headers.items()},
                    "body": body.decode("latin-1"),
                }
                self.answer(200, json.dumps(reported).encode(), {"Content-Type": "application/json"})

    do_POST = do_PUT = do_DELETE = do_HEAD = do_GET  # noqa: N815

    def read_body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size + 2)[:-2]
        self.rfile.readline()
        return body

    def answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
        self.wfile.flush()

    def date_time_string(self, timestamp: float | None = None) -> str:
        return "Sun, 29 Nov 2026 00:00:00 GMT"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, context: ssl.SSLContext | None) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.context = context

    def finish_request(self, request: Any, client_address: Any) -> None:
        if self.context is not None:  # here, on the thread of the connection, and not where all are accepted
            with self.context.wrap_socket(request, server_side=True) as encrypted:
                super().finish_request(encrypted, client_address)
        else:
            super().finish_request(request, client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients of these tests break off."""


def serve(context: ssl.SSLContext | None = None) -> Generator[int, None, None]:
    """Serve while the generator runs; it gives the port."""
    server = Server(context)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
