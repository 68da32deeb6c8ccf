"""Standard output and error that hold text back in memory, where the host takes it from.

A line that leaves the sandbox by itself costs more than a hundred that stay. So what is written gathers in
the two text streams, and goes to the host when there is enough of it, when it is flushed, and before
everything that the host is to see after it. The host also looks at it by itself: every few hundredths of a
second, before the code sleeps, and when it is stopped; see `machine.wasi.held_output`.

Only one of the two streams holds something at a time, so the order of what was written is kept. So it is with
what is written to a buffer itself: from when `sys.stdout.buffer` is first looked up, the text streams pass
everything on at once, and it gathers in the buffers.

What was printed is not lost when an interrupt comes between: each step that a stream takes without a detour
is one of C. And it does not gather in both places, since a buffer that is full is written out, which is
where CPython looks for interrupts, before it takes what the text stream has let go of.
"""

from __future__ import annotations

import gc
import io
import sys
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from planaria_kernel.execution.streams import Streams, is_open
from planaria_kernel.protocol import encode

__all__ = ["HeldStreams"]

_Buffer: TypeAlias = "io.BufferedWriter[io.RawIOBase]"

#: How many bytes gather in a buffer that the user's code may know.
_BUFFER_BYTES: Final = 1 << 14
#: How many characters gather in a text stream, each of whose strings takes some 40 bytes beside.
_TEXT_SIZE: Final = 1 << 12
#: The size of what passes everything on at once.
_AT_ONCE: Final = 1
#: The text by which the host finds a buffer in memory.
_MARK: Final = b"planaria finds the buffer of a standard stream by this text"
#: The texts by which it finds what a text stream holds: a `str`, and one that becomes `bytes`.
_TEXT_MARKS: Final = ("planaria finds what a standard stream holds ", "by these texts é")
_text_write: Final = io.TextIOWrapper.write
_text_flush: Final = io.TextIOWrapper.flush


class _HeldStream:
    """A text stream and its buffer, one of two of which only one holds something."""

    def __init__(self, buffer: _Buffer, call_host: Callable[[bytes], bytes], number: int) -> None:
        # Kept for good, as is the stream: the host looks at their places in memory.
        self.buffer = buffer
        self.text = io.TextIOWrapper(buffer, encoding="utf-8", errors="backslashreplace", newline="\n")
        # Here `print` finds a method that is bound already, an eighth of its time.
        self.text.__dict__.update(mode="w", write=self.text.write)
        for mark in _TEXT_MARKS:
            self.text.write(mark)
        held = "".join(_TEXT_MARKS).encode()
        self._gathers = bool(call_host(b"T" + encode((number, id(self.text), held))))
        """Whether text may wait in the stream, and not in its buffer alone."""
        self.text.flush()
        if self._gathers:
            self._set_buffer_size(_AT_ONCE)
        self._set_size(_AT_ONCE)

    def activate(self) -> None:
        """Hold back what is written, from now on."""
        self.buffer.__dict__.pop("write", None)
        if self._gathers:
            self._set_size(_TEXT_SIZE)

    def hold(self, data: Any) -> int:
        """Take what the text stream has let go of; a part of a line leaves with what is written next.

        Bytes that the stream would write in another way, as the user's code may have set its encoding and its
        ends of lines or detached it, are passed on.
        """
        part = bytes(data)
        if not self._gathers or b"\n" in part or not is_open(self.text) or self.text.encoding != "utf-8":
            return self.buffer.write(data)
        try:
            text = part.decode()
        except UnicodeDecodeError:
            return self.buffer.write(data)
        _text_write(self.text, text)
        return len(part)

    def deactivate(self, take_over: Callable[[Any], int]) -> None:
        """Write out what is held, and have `take_over` called with what is written next."""
        try:
            _text_flush(self.text)
        except ValueError:  # closed or detached by the user's code
            try:
                self.buffer.flush()
            except ValueError:
                pass
        self._set_size(_AT_ONCE)
        self.buffer.__dict__["write"] = take_over

    def hand_out(self) -> None:
        """The buffer is about to be known to the user's code, which may write to it at any time."""
        if self._gathers:
            self._gathers = False
            self._set_size(_AT_ONCE)
            try:
                _text_write(self.text, "")  # what it holds is passed on
                self.buffer.flush()
                self._set_buffer_size(_BUFFER_BYTES)
            except ValueError:  # closed or detached by the user's code
                pass

    def _set_size(self, size: int) -> None:
        try:
            self.text._CHUNK_SIZE = size  # type: ignore[attr-defined]
        except ValueError:  # detached by the user's code
            pass

    def _set_buffer_size(self, size: int) -> None:
        self.buffer.__init__(self.buffer.raw, size)  # type: ignore[misc]


class HeldStreams(Streams):
    """Streams that the host knows; where it does not find their buffers they are ordinary ones.

    Streams that are opened again, since the code has closed these, are ordinary ones too.
    """

    def __init__(self, call_host: Callable[[bytes], bytes]) -> None:
        held: list[_HeldStream] = []
        for number in (1, 2):
            buffer: _Buffer = io.BufferedWriter(io.FileIO(number, "w", closefd=False), _BUFFER_BYTES)
            buffer.write(_MARK)
            if call_host(b"H" + encode((number, id(buffer), _MARK))):
                held.append(_HeldStream(buffer, call_host, number))
        self._held = held
        self._is_opened = False
        super().__init__()

    def reopen(self) -> None:
        if self._is_opened or len(self._held) < 2:
            super().reopen()
            return
        self._is_opened = True
        output, errors = self._held
        self.stdout, self.stderr = output.text, errors.text  # type: ignore[assignment]
        self._keep_flushes()
        _keep_order(output, errors)
        _watch_buffers(output, errors)


def _keep_order(one: _HeldStream, other: _HeldStream) -> None:
    """Have each of two streams write out what the other one holds before it takes something itself.

    The buffer of the one that was not written to last has an attribute `write` which does that, and gives it
    to the other; the other one is written to without a detour.
    """

    def taking_over(mine: _HeldStream, theirs: _HeldStream) -> Callable[[Any], int]:
        def write(data: Any, /) -> int:
            theirs.deactivate(taken_over[theirs is other])
            mine.activate()
            return mine.hold(data)

        return write

    taken_over = taking_over(one, other), taking_over(other, one)
    one.activate()
    other.deactivate(taken_over[1])


def _watch_buffers(*streams: _HeldStream) -> None:
    """Until the attribute `buffer` of a stream is first looked up, have text wait in the streams.

    A subclass with a property would do, but what is not exactly an `io.TextIOWrapper` looks with each write
    whether it is closed, which takes longer than the write.
    """
    (attributes,) = gc.get_referents(io.TextIOWrapper.__dict__)
    member = attributes["buffer"]
    ours = [id(stream.text) for stream in streams]

    def buffer(self: io.TextIOWrapper) -> Any:
        if id(self) in ours:
            for stream in streams:
                stream.hand_out()
            attributes["buffer"] = member
            clear_cache()
        return member.__get__(self)

    clear_cache = sys._clear_type_cache
    attributes["buffer"] = property(buffer, doc=member.__doc__)
    clear_cache()  # it may have been looked up
