"""What one execution prints and shows, as it comes and as a whole."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from planaria.session.result import Output

__all__ = ["Collector", "Listeners"]

#: The end of a stream is cut to its size whenever it is so many bytes larger, and as much again.
_SLACK: Final = 4096
#: The key of the metadata that has the identifier of an output; see `planaria_kernel.execution.display`.
_DISPLAY_ID: Final = "planaria.display_id"
#: What a rich output costs beside its contents.
_OUTPUT_BYTES: Final = 200


class _Stream:
    """One of the two output streams: its bytes up to the limit, and its text in whole characters.

    Beyond the limit the first half and the last half of it are kept. Listeners get the first `limit` bytes.
    """

    __slots__ = ("_decoder", "_limit", "_room", "_tail", "listeners", "omitted", "pieces")

    def __init__(self, limit: int | None, listeners: list[Callable[[str], object]]) -> None:
        self.pieces: list[bytes] = []
        #: What is left out in the middle: bytes, and the ends of lines among them.
        self.omitted = (0, 0)
        self._limit = limit
        self._room = limit
        #: The end of the output, once there is more than the limit.
        self._tail: bytearray | None = None
        self.listen(listeners)

    @property
    def truncated(self) -> bool:
        return self._tail is not None

    def listen(self, listeners: list[Callable[[str], object]]) -> None:
        self.listeners = listeners
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace") if listeners else None

    def write(self, data: bytes) -> None:
        if self._tail is not None:
            self._tail += data
            if len(self._tail) > 2 * self._tail_limit + _SLACK:
                self._trim()
            return
        room = self._room
        if room is not None:
            if len(data) > room:
                self._overflow(data, room)
                return
            self._room = room - len(data)
        if data:
            self.pieces.append(data)
            if self._decoder is not None:
                self._report(self._decoder.decode(data))

    @property
    def _tail_limit(self) -> int:
        return 0 if self._limit is None else self._limit - self._limit // 2

    def _overflow(self, data: bytes, room: int) -> None:
        """With `data` there is more than the limit, of which `room` bytes were left."""
        written = b"".join([*self.pieces, data])
        head = _whole_characters(written[: (self._limit or 0) // 2])
        self.pieces = [head]
        self._tail = bytearray(written[len(head) :])
        self._trim()
        if self._decoder is not None:
            # What it holds back is the part of a character, which is left out.
            self._report(self._decoder.decode(data[:room]))
            self._decoder.reset()

    def _trim(self) -> None:
        """Leave out what comes before the last half."""
        tail = self._tail
        if tail is None:
            return
        excess = len(tail) - self._tail_limit
        if excess <= 0:
            return
        while excess < len(tail) and tail[excess] & 0xC0 == 0x80:
            excess += 1  # begin with a whole character
        omitted, lines = self.omitted
        self.omitted = omitted + excess, lines + tail.count(b"\n", 0, excess)
        del tail[:excess]

    def finish(self) -> None:
        if self._decoder is not None:
            self._report(self._decoder.decode(b"", final=True))

    def kept(self) -> bytes:
        """What is kept, with a line in the middle that says what was left out."""
        kept = b"".join(self.pieces)
        if self._tail is None:
            return kept
        self._trim()
        omitted, lines = self.omitted
        start = b"" if not kept or kept.endswith(b"\n") else b"\n"
        what = f"{omitted:,} byte{'s' * (omitted != 1)} ({lines:,} line{'s' * (lines != 1)})"
        return kept + start + f"[... {what} omitted ...]\n".encode() + self._tail

    def _report(self, text: str) -> None:
        if text:
            for listener in self.listeners:
                listener(text)


def _whole_characters(data: bytes) -> bytes:
    """Without the first bytes of a UTF-8 sequence that was cut off at the end."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte & 0xC0 != 0x80:
            wanted = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
            return data[:-back] if wanted > back else data
    return data


class Listeners:
    """The functions that want output as it arrives; `on_output` gets the stream's name and the text.

    `on_bytes` gets the descriptor and what was written to it, also what is beyond the limit.
    """

    def __init__(
        self,
        on_stdout: Callable[[str], object] | None = None,
        on_stderr: Callable[[str], object] | None = None,
        on_output: Callable[[str, str | Output], object] | None = None,
        on_bytes: Callable[[int, bytes], object] | None = None,
    ) -> None:
        self.bytes = on_bytes
        self.stdout: list[Callable[[str], object]] = []
        self.stderr: list[Callable[[str], object]] = []
        self.display: Callable[[Output], object] | None = None
        #: Gets everything but text as the kernel sends it: kind, contents, metadata, identifier.
        self.events: Callable[[str, dict[str, Any], dict[str, Any], str | None], object] | None = None
        if on_stdout is not None:
            self.stdout.append(on_stdout)
        if on_stderr is not None:
            self.stderr.append(on_stderr)
        if on_output is not None:
            self.stdout.append(lambda text: on_output("stdout", text))
            self.stderr.append(lambda text: on_output("stderr", text))
            self.display = lambda output: on_output("display", output)

    @property
    def any(self) -> bool:
        """Whether there is a listener."""
        return bool(self.stdout or self.stderr or self.display or self.bytes or self.events)


class Collector:
    """Gathers the output of one execution: each stream, and the rich outputs, up to `limit` bytes.

    Of a stream beyond the limit the beginning and the end are kept.
    """

    def __init__(self, limit: int | None, listeners: Listeners) -> None:
        self._streams = {1: _Stream(limit, listeners.stdout), 2: _Stream(limit, listeners.stderr)}
        self._display = listeners.display
        self._bytes = listeners.bytes
        self._events = listeners.events
        self.outputs: list[Output] = []
        self.outputs_truncated = False
        self._room = limit

    def output(self, descriptor: int, data: bytes) -> None:
        if self._bytes is not None:
            self._bytes(descriptor, data)
        self._streams[descriptor].write(data)

    def display(self, kind: str, data: dict[str, Any], metadata: dict[str, Any]) -> None:
        display_id = metadata.pop(_DISPLAY_ID, None)
        if self._events is not None:
            self._events(kind, data, metadata, display_id)
        if kind == "clear":
            self.outputs.clear()
        elif kind == "page":
            if self._events is None:  # there is no pager
                self.output(1, f"{data.get('text/plain', '')}\n".encode("utf-8", "backslashreplace"))
        elif kind == "update":
            self._update(Output(data, metadata, display_id=display_id))
        elif kind in ("display", "result"):
            self._add(Output(data, metadata, is_value=kind == "result", display_id=display_id))

    def _add(self, output: Output) -> None:
        if self._fits(output):
            self.outputs.append(output)
        else:
            self.outputs_truncated = True
        if self._display is not None:
            self._display(output)

    def _update(self, output: Output) -> None:
        """Replace the outputs that have the identifier of this one."""
        shown = [number for number, one in enumerate(self.outputs) if one.display_id == output.display_id]
        if shown and not self._fits(output):
            self.outputs_truncated = True
        else:
            for number in shown:
                self.outputs[number] = replace(output, is_value=self.outputs[number].is_value)
        if self._display is not None:
            self._display(output)

    def _fits(self, output: Output) -> bool:
        """Whether there is room to keep `output`, which takes the room."""
        if self._room is None:
            return True
        size = _OUTPUT_BYTES + sum(
            len(content) if isinstance(content, (str, bytes)) else len(repr(content))
            for content in (*output.data.values(), output.metadata)
        )
        if size > self._room:
            return False
        self._room -= size
        return True

    def finish(self) -> None:
        for stream in self._streams.values():
            stream.finish()

    def listen(self, listeners: Listeners) -> None:
        """Send what comes from now on to `listeners`."""
        self._streams[1].listen(listeners.stdout)
        self._streams[2].listen(listeners.stderr)
        self._display = listeners.display
        self._bytes = listeners.bytes
        self._events = listeners.events

    @property
    def has_output(self) -> bool:
        return bool(
            self.outputs or any(stream.pieces or stream.truncated for stream in self._streams.values())
        )

    @property
    def stdout(self) -> bytes:
        return self._streams[1].kept()

    @property
    def stderr(self) -> bytes:
        return self._streams[2].kept()

    @property
    def omitted(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Bytes and lines that were left out, of standard output and of standard error."""
        return self._streams[1].omitted, self._streams[2].omitted

    @property
    def truncated(self) -> tuple[bool, bool]:
        return self._streams[1].truncated, self._streams[2].truncated
