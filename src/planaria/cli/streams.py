"""This process's standard streams, as a session uses them."""

from __future__ import annotations

import contextlib
import math
import os
import select
import signal
import sys
import time
from collections.abc import Iterator
from typing import Final

__all__ = ["StandardInput", "StandardOutput", "abandon_output", "interruptible"]

_PIECE: Final = 1 << 16
#: Seconds after a timeout by which the session has surely noticed it.
_SLACK: Final = 0.25
#: Seconds between two looks at signals and the clock while nothing comes.
_LOOK_UP: Final = 0.1


class StandardOutput:
    """Passes on what the code writes, byte for byte and at once; to be a session's `on_bytes`."""

    def __init__(self) -> None:
        #: Whether the cursor of the terminal stands behind something.
        self.line_is_open = False

    def __call__(self, descriptor: int, data: bytes) -> None:
        stream = sys.stdout if descriptor == 1 else sys.stderr
        if stream is not None:  # None when this process was started without it
            stream.buffer.write(data)
            stream.flush()
            self.line_is_open = not data.endswith(b"\n")

    def end_line(self) -> None:
        """Have what comes next begin at the left, also when the code has not ended its last line."""
        if self.line_is_open:
            self(1, b"\n")


def abandon_output() -> None:
    """The reader of standard output has gone: discard what is still buffered."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """For reading on behalf of the code: Ctrl-C ends the block, and then does what it would have done.

    While code runs, a session takes Ctrl-C for the code, which does not end a read that waits on the host.
    """
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, handler)
        signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, handler)


class StandardInput:
    """Reads lines as the code asks for them; to be a session's `stdin`.

    `prompts` is where the code's prompts go.
    """

    keeps_ends = True
    """Lines have their newlines, so that the last may be without (see `SessionSettings.line_reader`)."""

    def __init__(self, *, prompts: StandardOutput | None = None) -> None:
        self._prompts = prompts
        self._ends_at = math.inf
        self._held = bytearray()

    def begin(self, timeout: float | None) -> None:
        """Have reads end by themselves a little after so many seconds from now, as at the end of input.

        A session's timeout stops code as soon as it runs again, but not a read on its behalf.
        """
        self._ends_at = math.inf if timeout is None else time.monotonic() + timeout + _SLACK

    def __call__(self, prompt: str) -> str | None:
        """The next line, or None at the end."""
        with interruptible():
            if self._prompts is not None and prompt:
                self._prompts(1, prompt.encode("utf-8", "backslashreplace"))
            return None if sys.stdin is None else self._line(sys.stdin.fileno())
        return None

    def _line(self, descriptor: int) -> str | None:
        searched = 0
        while (end := self._held.find(b"\n", searched)) < 0:
            searched = len(self._held)
            piece = self._read(descriptor)
            if not piece:
                if not searched:
                    return None
                end = searched - 1
                break
            self._held += piece
        line = bytes(self._held[: end + 1])
        del self._held[: end + 1]
        if self._prompts is not None and os.isatty(descriptor):
            self._prompts.line_is_open = False  # by the Enter that was typed
        return line.decode("utf-8", "surrogateescape")

    def _read(self, descriptor: int) -> bytes:
        """What there is to read, at least a byte; nothing at the end or when the time is over.

        Looks up every now and then: a read that begins just after a signal would not notice it.
        """
        if os.name == "posix":
            while not select.select([descriptor], [], [], _LOOK_UP)[0]:
                if time.monotonic() >= self._ends_at:
                    return b""
        return os.read(descriptor, _PIECE)
