"""Standard input: every line is asked from the host."""

from __future__ import annotations

import builtins
import io
import sys
from collections.abc import Callable
from functools import cached_property
from typing import Final

from planaria_kernel.execution.error_reports import exception_of
from planaria_kernel.protocol import decode, encode

__all__ = ["Terminal"]

_input: Final[Callable[[object], str]] = builtins.input


class Terminal(io.TextIOBase):
    """`sys.stdin`, `input()` and `getpass.getpass()` over the host-call operation `I`.

    `flush` is called before a question, so that what was printed is seen first. With `owns_streams` the
    standard streams of the interpreter are the code's: where it replaces them, `input()` follows.
    `descriptor` is the one that reads from the same input, if any.
    """

    name = "<stdin>"
    mode = "r"
    encoding = "utf-8"
    errors = "strict"

    def __init__(
        self,
        call_host: Callable[[bytes], bytes],
        flush: Callable[[], None] | None = None,
        *,
        owns_streams: bool = True,
        descriptor: int | None = None,
    ) -> None:
        super().__init__()
        self._call_host = call_host
        self._flush = flush
        self._owns_streams = owns_streams
        self._descriptor = descriptor
        self._rest = ""

    def _ask(self, prompt: str, *, is_secret: bool = False) -> str | None:
        """A line with its newline, which the last one may be without; None when there is no more input."""
        if self._flush is not None:
            self._flush()
        request = (prompt, True) if is_secret else prompt
        kind, *answer = decode(self._call_host(b"I" + encode(request)))
        if kind == "error":
            raise exception_of(*answer)
        return answer[0] if kind == "ok" else None

    def input(self, prompt: object = "", /) -> str:
        """Read a line without its newline: from the host, or from what has taken the place of `sys.stdin`.

        EOFError when there is no more input.
        """
        if self._owns_streams and self._are_replaced():
            return _input(prompt)
        return self._line(str(prompt))

    def _line(self, prompt: str, *, is_secret: bool = False) -> str:
        if not self._has_line(prompt, is_secret=is_secret):
            raise EOFError(
                "there is no more standard input, which is the session's stdin=, or what a command is given"
            )
        return self.readline().removesuffix("\n")

    def _has_line(self, prompt: str = "", *, is_secret: bool = False) -> bool:
        """Ask for a line unless there is one; whether there is one then."""
        if not self._rest:
            self._rest = self._ask(prompt, is_secret=is_secret) or ""
        return bool(self._rest)

    def _are_replaced(self) -> bool:
        source: object = getattr(sys, "stdin", None)
        return source is not self or getattr(sys, "stdout", None) is not sys.__stdout__

    def getpass(
        self, prompt: str = "Password: ", stream: object = None, *, echo_char: str | None = None
    ) -> str:
        """Read a line from the host; whether it is echoed is the host's matter."""
        if self._owns_streams and self._are_replaced():
            return _input(prompt)
        return self._line(str(prompt), is_secret=True)

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        return super().fileno() if self._descriptor is None else self._descriptor

    def readline(self, size: int | None = -1, /) -> str:  # type: ignore[override]
        self._has_line()
        end = len(self._rest) if size is None or size < 0 else size
        line, self._rest = self._rest[:end], self._rest[end:]
        return line

    def read(self, size: int | None = -1, /) -> str:
        if size is None or size < 0:
            return "".join(iter(self.readline, ""))
        return self.readline(size)

    @cached_property
    def buffer(self) -> io.BufferedIOBase:
        """The same input as bytes."""
        return _TerminalBytes(self)


class _TerminalBytes(io.BufferedIOBase):
    """`sys.stdin.buffer`."""

    name = "<stdin>"
    mode = "rb"

    def __init__(self, text: Terminal) -> None:
        super().__init__()
        self._text = text
        self._rest = b""

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._text.fileno()

    def readline(self, size: int | None = -1, /) -> bytes:
        line = self._rest or self._text.readline().encode("utf-8", "surrogateescape")
        end = len(line) if size is None or size < 0 else size
        self._rest = line[end:]
        return line[:end]

    def read(self, size: int | None = -1, /) -> bytes:
        if size is None or size < 0:
            return b"".join(iter(self.readline, b""))
        parts = []
        while size > 0 and (part := self.readline(size)):
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def read1(self, size: int = -1, /) -> bytes:
        return self.readline(size)
