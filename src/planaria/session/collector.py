"""What one execution prints and shows, as it comes and as a whole."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from typing import Final

from planaria.session.result import Output

__all__ = ["Collector", "Listeners"]

#: What a rich output costs beside its contents.
_OUTPUT_BYTES: Final = 200


class _Stream:
    """One of the two output streams: its bytes up to the limit, and its text in whole characters."""

    __slots__ = ("_decoder", "_room", "listeners", "pieces", "truncated")

    def __init__(self, limit: int | None, listeners: list[Callable[[str], object]]) -> None:
        self.pieces: list[bytes] = []
        self.truncated = False
        self._room = limit
        self.listen(listeners)

    def listen(self, listeners: list[Callable[[str], object]]) -> None:
        self.listeners = listeners
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace") if listeners else None

    def write(self, data: bytes) -> None:
        room = self._room
        if room is not None:
            if len(data) > room:
                if not self.truncated:
                    self._cut_off(data[:room])
                return
            self._room = room - len(data)
        if data:
            self.pieces.append(data)
            if self._decoder is not None:
                self._tell(self._decoder.decode(data))

    def _cut_off(self, last: bytes) -> None:
        """Take `last` and nothing more, without the part of a character that it or what came before ends
        with.
        """
        self.truncated = True
        self._room = 0
        before = b"".join(self.pieces[-3:])
        whole = _whole_characters(before + last)
        self.pieces[-3:] = [whole]
        if self._decoder is not None:
            # What it holds back is the part of a character that was taken off again.
            self._tell(self._decoder.decode(whole[len(before) :]))
            self._decoder.reset()

    def finish(self) -> None:
        if self._decoder is not None:
            self._tell(self._decoder.decode(b"", final=True))

    def _tell(self, text: str) -> None:
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
        return bool(self.stdout or self.stderr or self.display or self.bytes)


class Collector:
    """Gathers the output of one execution: each stream, and the rich outputs, up to `limit` bytes."""

    def __init__(self, limit: int | None, listeners: Listeners) -> None:
        self._streams = {1: _Stream(limit, listeners.stdout), 2: _Stream(limit, listeners.stderr)}
        self._display = listeners.display
        self._bytes = listeners.bytes
        self.outputs: list[Output] = []
        self.outputs_truncated = False
        self._room = limit

    def output(self, descriptor: int, data: bytes) -> None:
        if self._bytes is not None:
            self._bytes(descriptor, data)
        self._streams[descriptor].write(data)

    def display(self, kind: str, data: dict[str, object], metadata: dict[str, object]) -> None:
        if kind == "clear":
            self.outputs.clear()
            return
        output = Output(data, metadata, is_value=kind == "result")
        if self._fits(output):
            self.outputs.append(output)
        else:
            self.outputs_truncated = True
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
        """Tell `listeners` what comes from now on."""
        self._streams[1].listen(listeners.stdout)
        self._streams[2].listen(listeners.stderr)
        self._display = listeners.display
        self._bytes = listeners.bytes

    @property
    def has_output(self) -> bool:
        return bool(
            self.outputs or any(stream.pieces or stream.truncated for stream in self._streams.values())
        )

    @property
    def stdout(self) -> bytes:
        return b"".join(self._streams[1].pieces)

    @property
    def stderr(self) -> bytes:
        return b"".join(self._streams[2].pieces)

    @property
    def truncated(self) -> tuple[bool, bool]:
        return self._streams[1].truncated, self._streams[2].truncated
