"""The synchronous client of `websockets`, whose connections each have a thread that receives.

Here that thread takes turns with the code (`planaria_kernel.network.turns`): it receives while the code waits
for something, a message say, or sleeps. So it answers pings only then, and sends none of its own.
"""

from __future__ import annotations

from typing import Any

from planaria_kernel.network.turns import TurnOver
from planaria_kernel.shims.importing import when_imported

__all__ = ["install"]


class _Kept:
    """A socket to wait for that is not closed by those who do."""

    def __init__(self, kept: Any) -> None:
        self._kept = kept

    def fileno(self) -> int:
        return self._kept.fileno()  # type: ignore[no-any-return]

    def close(self) -> None:
        pass


def _keep_open() -> None:
    pass


def _change_connection(module: Any) -> None:
    plain = module.Connection.recv_events

    def recv_events(self: Any) -> None:
        """Take in what has come. What the method does at its end is due once nothing more can come."""
        watcher = getattr(self, "shutdown_watcher", None)
        self.close_socket = _keep_open
        if watcher is not None:
            self.shutdown_watcher = _Kept(watcher)
        is_over = True
        try:
            plain(self)
        except TurnOver:
            is_over = False
            raise
        finally:
            del self.close_socket
            if watcher is not None:
                self.shutdown_watcher = watcher
            if is_over:
                self.close_socket()
                if watcher is not None:
                    watcher.close()

    recv_events.takes_turns = True  # type: ignore[attr-defined]
    module.Connection.recv_events = recv_events
    module.Connection.start_keepalive = lambda self: None


def _change_client(module: Any) -> None:
    def recv_events(self: Any) -> None:
        """Take in what has come; at the end the code no longer waits for the answer to the handshake."""
        super(module.ClientConnection, self).recv_events()
        self.response_rcvd.set()

    recv_events.takes_turns = True  # type: ignore[attr-defined]
    module.ClientConnection.recv_events = recv_events


def install() -> None:
    """Put this in place when `websockets` is imported."""
    when_imported("websockets.sync.connection", _change_connection)
    when_imported("websockets.sync.client", _change_client)
