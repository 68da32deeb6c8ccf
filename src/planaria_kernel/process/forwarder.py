"""The way to a proxy outside of a container that has no network: connections to a port of the loopback
interface are passed on to a Unix socket.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Iterable

__all__ = ["forward"]

_CHUNK = 1 << 16
_WAITING = 128


def forward(path: str, port: int, *, close: Iterable[int]) -> None:
    """Have another process pass on connections, without the descriptors in `close`; the port is open at once.

    Called before there are threads. The process ends with its container.
    """
    listener = socket.create_server(("127.0.0.1", port), backlog=_WAITING)
    if os.fork():
        listener.close()
        return
    if os.fork():  # a child of the code's would be one that it did not start
        os._exit(0)
    for descriptor in close:
        os.close(descriptor)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        client, _ = listener.accept()
        threading.Thread(target=_connect, args=(client, path), daemon=True).start()


def _connect(client: socket.socket, path: str) -> None:
    server = socket.socket(socket.AF_UNIX)
    with client, server:
        try:
            server.connect(path)
        except OSError:
            return  # the session is over
        back = threading.Thread(target=_pass_on, args=(server, client), daemon=True)
        back.start()
        _pass_on(client, server)
        back.join()


def _pass_on(source: socket.socket, sink: socket.socket) -> None:
    """Pass on one direction until its end."""
    try:
        while data := source.recv(_CHUNK):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        # One side is gone: the other direction ends too.
        for one in (source, sink):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
