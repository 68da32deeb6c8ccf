"""Running servers, and those of protocols other than HTTP, as small as their clients allow."""

from __future__ import annotations

import base64
import hashlib
import socketserver
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["MailHandler", "WebSocketHandler", "running", "serving"]

_TEXT, _CLOSE = 1, 8


class MailHandler(socketserver.StreamRequestHandler):
    """Takes mail (RFC 5321) and keeps each message."""

    messages: list[bytes]

    def handle(self) -> None:
        self.wfile.write(b"220 mail.test\r\n")
        for line in self.rfile:
            match line[:4].upper().strip():
                case b"EHLO":
                    self.wfile.write(b"250-mail.test\r\n250 8BITMIME\r\n")
                case b"DATA":
                    self.wfile.write(b"354 go on\r\n")
                    self.messages.append(b"".join(iter(self.rfile.readline, b".\r\n")))
                    self.wfile.write(b"250 kept\r\n")
                case b"QUIT":
                    self.wfile.write(b"221 bye\r\n")
                    return
                case _:
                    self.wfile.write(b"250 OK\r\n")


class WebSocketHandler(socketserver.StreamRequestHandler):
    """Opens a WebSocket (RFC 6455) and returns each short text that comes."""

    def handle(self) -> None:
        key = b""
        for line in iter(self.rfile.readline, b"\r\n"):
            name, _, value = line.partition(b":")
            if name.lower() == b"sec-websocket-key":
                key = value.strip()
        digest = hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()
        self.wfile.write(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Accept: " + base64.b64encode(digest) + b"\r\n\r\n"
        )
        while head := self.rfile.read(2):
            kind, size = head[0] & 0xF, head[1] & 0x7F
            mask = self.rfile.read(4)
            data = bytes(byte ^ mask[index % 4] for index, byte in enumerate(self.rfile.read(size)))
            if kind in (_TEXT, _CLOSE):
                self.wfile.write(bytes([0x80 | kind, size]) + data)
            if kind == _CLOSE:
                return


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True


@contextmanager
def running(server: socketserver.TCPServer, context: ssl.SSLContext | None = None) -> Iterator[None]:
    """Have a server serve while inside, over TLS with a context; it is closed afterwards."""
    with server:
        if context is not None:
            server.socket = context.wrap_socket(
                server.socket, server_side=True, do_handshake_on_connect=False
            )
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def serving(handler: type[socketserver.BaseRequestHandler]) -> Iterator[int]:
    """Serve while inside; gives the port on localhost."""
    server = _Server(("127.0.0.1", 0), handler)
    with running(server):
        yield server.server_address[1]
