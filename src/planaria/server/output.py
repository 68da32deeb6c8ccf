"""Output of executions as it arrives, for the requests that stream it."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Final

from planaria.session.result import Output

__all__ = ["Listener", "listen", "listen_to_bytes", "listener"]

#: Takes the name of a stream ("stdout", "stderr", "display") with text, bytes or a rich output.
Listener = Callable[[str, bytes | Output], None]

#: What takes the output of the execution that the present task runs.
listener: Final[ContextVar[Listener | None]] = ContextVar("planaria_server_listener", default=None)


def listen_to_bytes(descriptor: int, data: bytes) -> None:
    """The `on_bytes` of the server's sessions."""
    take = listener.get()
    if take is not None:
        take("stdout" if descriptor == 1 else "stderr", data)


def listen(stream: str, output: str | Output) -> None:
    """The `on_output` of the server's sessions: text comes as bytes already."""
    take = listener.get()
    if take is not None and isinstance(output, Output):
        take(stream, output)
