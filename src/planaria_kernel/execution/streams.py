"""Standard output and error over file descriptors, in one order.

Lines leave as they end, so that text written by `print` and bytes written by `os.write` come in the order
in which they were written, and the host can show them as they come.
"""

from __future__ import annotations

import codecs
import io
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any, Final

__all__ = ["Streams", "flushing_write", "is_open"]


#: Text with fewer characters does not fill the buffer of a stream by itself.
_LONG: Final = 1024


class _ErrorStream(io.TextIOWrapper):
    """Writes out what standard output holds back before its own lines."""

    def __init__(self, buffer: io.BufferedWriter, before: io.TextIOWrapper) -> None:
        super().__init__(
            buffer, encoding="utf-8", errors="backslashreplace", newline="\n", line_buffering=True
        )
        self._before = before

    def write(self, text: str, /) -> int:
        if "\n" in text or "\r" in text or len(text) > _LONG:
            self._flush_before()
        return super().write(text)

    def flush(self) -> None:
        self._flush_before()
        super().flush()

    def writelines(self, lines: Iterable[str], /) -> None:  # type: ignore[override]
        self.write("".join(lines))

    def _flush_before(self) -> None:
        try:
            self._before.flush()
        except ValueError:  # closed by the user's code
            pass


def is_open(stream: io.TextIOWrapper) -> bool:
    """Whether a stream is neither closed nor detached from its buffer."""
    try:
        return not stream.closed
    except ValueError:  # of one that is detached
        return False


def _flush_wrapper(stream: object) -> None:
    """Flush what the user's code has put in place of a stream, if that is one of the library's over a buffer.

    Others are left alone: their methods are the user's code.
    """
    if issubclass(type(stream), codecs.StreamWriter):
        stream = vars(stream).get("stream")
    try:
        if type(stream) is io.BufferedWriter or (
            type(stream) is io.TextIOWrapper and type(stream.buffer) is io.BufferedWriter
        ):
            stream.flush()
    except (OSError, ValueError):  # closed or detached
        pass


def _descriptor(number: int) -> io.RawIOBase:
    return io.FileIO(number, "w", closefd=False)


class Streams:
    """`sys.stdout` and `sys.stderr` over file descriptors 1 and 2, or what `opened` gives for these."""

    def __init__(self, opened: Callable[[int], io.RawIOBase] = _descriptor) -> None:
        self._opened = opened
        self.reopen()

    def reopen(self) -> None:
        """New streams, for when the user's code has closed the old ones (not the descriptors)."""
        self.stdout = io.TextIOWrapper(
            io.BufferedWriter(self._opened(1)),
            encoding="utf-8",
            errors="backslashreplace",
            newline="\n",
            line_buffering=True,
        )
        self.stderr = _ErrorStream(io.BufferedWriter(self._opened(2)), self.stdout)
        self.stdout.__dict__["mode"] = "w"
        self.stderr.__dict__["mode"] = "w"
        self._keep_flushes()

    def _keep_flushes(self) -> None:
        """Looking a method of these up is what costs most about flushing them when they hold nothing."""
        self._flushes = self.stdout.flush, self.stderr.flush

    def flush(self) -> None:
        """Write out what is held back, also by wrappers that the code has put in place of the streams."""
        for name, ours in (("stdout", self.stdout), ("stderr", self.stderr)):
            stream = getattr(sys, name, None)
            if stream is not ours:
                _flush_wrapper(stream)
        self._flush_own()

    def _flush_own(self) -> None:
        """Write out what these hold back; those that the code has closed or detached are opened again."""
        flush_output, flush_errors = self._flushes
        try:
            flush_output()
            flush_errors()
        except ValueError:
            if is_open(self.stdout) and is_open(self.stderr):
                raise
            were_ours = (sys.stdout is self.stdout, sys.stderr is self.stderr)
            self.reopen()
            if were_ours[0]:
                sys.stdout = self.stdout
            if were_ours[1]:
                sys.stderr = self.stderr

    def settle(self) -> None:
        """Before something is written to the descriptors themselves: what was printed goes first.

        Not what wrappers hold: it may be one of these that writes.
        """
        self._flush_own()


def flushing_write(flush: Callable[[], None]) -> Callable[[int, Any], int]:
    """An `os.write` that first writes out what the streams hold back, so that the order is kept."""
    write = os.write

    def flush_and_write(fd: int, data: Any, /) -> int:
        if fd == 1 or fd == 2:
            flush()
        return write(fd, data)

    flush_and_write.__name__ = "write"
    flush_and_write.__qualname__ = "write"
    flush_and_write.__doc__ = write.__doc__
    return flush_and_write
