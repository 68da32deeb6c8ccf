"""A server that records what reaches it, and answers what a test says; a resolver that does so too."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["OK", "RecordingServer", "Resolver"]

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class RecordingServer:
    """A server whose requests are kept as the bytes that came, and whose answers are bytes too."""

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self.reset()
        self._context = context
        self._socket = socket.create_server(("0.0.0.0", 0), backlog=64)
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        #: The address of the connection that `settle` makes, and whether it has come.
        self._last: object = None
        self._has_come = threading.Event()
        self.port: int = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def reset(self) -> None:
        """Forget what came, and answer OK."""
        self.requests: list[bytes] = []
        self.addresses: list[str] = []
        """The address that each connection was made to."""
        self.answer: Callable[[bytes], Iterable[bytes]] = lambda request: [OK]
        self.closes = False
        """Whether a connection is closed after an answer."""

    def close(self) -> None:
        # Waking accept: closing a socket does not end a call that waits in another thread.
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(30)
        for connection in list(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def settle(self) -> None:
        """Wait for all that clients have sent, which have closed their connections."""
        self._has_come.clear()
        with socket.socket() as marker:
            marker.bind(("127.0.0.1", 0))
            self._last = marker.getsockname()
            marker.connect(("127.0.0.1", self.port))
            self._has_come.wait()
        while self._threads:
            self._threads.pop().join()

    def _accept(self) -> None:
        while True:
            try:
                connection, client = self._socket.accept()
            except OSError:
                return
            if client == self._last:
                connection.close()
                self._has_come.set()
                continue
            self.addresses.append(connection.getsockname()[0])
            self._open.add(connection)
            self._threads.append(threading.Thread(target=self._serve, args=(connection,), daemon=True))
            self._threads[-1].start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            if self._context is not None:
                with self._context.wrap_socket(connection, server_side=True) as encrypted:
                    self._converse(encrypted)
            else:
                with connection:
                    self._converse(connection)
        except OSError:
            connection.close()
        finally:
            self._open.discard(connection)

    def _converse(self, connection: socket.socket) -> None:
        data = b""
        while True:
            while b"\r\n\r\n" not in data:
                more = connection.recv(65536)
                if not more:
                    if data:
                        self.requests.append(data)
                    return
                data += more
            head, _, rest = data.partition(b"\r\n\r\n")
            length = 0
            for line in head.lower().split(b"\r\n"):
                if line.startswith(b"content-length:"):
                    length = int(line.partition(b":")[2])
            while len(rest) < length or (
                b"transfer-encoding: chunked" in head.lower() and b"0\r\n\r\n" not in rest
            ):
                more = connection.recv(65536)
                if not more:
                    return
                rest += more
            # All that came is recorded, also what follows the request.
            self.requests.append(head + b"\r\n\r\n" + rest)
            data = b""
            for part in self.answer(self.requests[-1]):
                connection.sendall(part)
            if self.closes:
                return


class Resolver:
    """Stands for the DNS: what names lead to, one answer after the other; the last one stays."""

    def __init__(self) -> None:
        self.answers: list[list[str]] = [["127.0.0.1"]]
        self.asked: list[str] = []

    def getaddrinfo(self, host: Any, port: Any, *arguments: Any, **options: Any) -> list[Any]:
        self.asked.append(host.decode() if isinstance(host, bytes) else str(host))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return [
            (
                socket.AF_INET6 if ":" in address else socket.AF_INET,
                socket.SOCK_STREAM,
                socket.IPPROTO_TCP,
                "",
                (address, port),
            )
            for address in answer
        ]
