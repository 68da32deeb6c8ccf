"""The lines of standard input for a loop that reads them."""

from __future__ import annotations

from planaria_shell.expand.fields import split
from planaria_shell.state.interpreter import Interpreter
from planaria_shell.state.streams import BufferedInput
from planaria_shell.state.variable import SHORT

__all__ = ["Lines"]


class Lines:
    """Reads lines of a stream for `read -r`.

    The stream itself always stands behind the last line read, but what it has buffered is decoded and taken
    apart at once where it is all printable ASCII.
    """

    __slots__ = ("_ready", "_shell", "_stream")

    def __init__(self, shell: Interpreter) -> None:
        stream = shell.fds[0]
        assert isinstance(stream, BufferedInput)
        self._shell = shell
        self._stream = stream
        #: Lines that are in the buffer as a whole, the next one at the end.
        self._ready: list[str] = []

    def line(self) -> tuple[str, int] | None:
        """The next line without its newline, and the status of `read`; None after an error."""
        if self._ready:
            text = self._ready.pop()
            self._stream.position += len(text) + 1
            if len(text) > SHORT:
                self._shell.variables.grow(text)
            return text, 0
        return self._slow_line()

    def fields(self, most: int) -> list[object] | None:
        """`most` fields of the next line by the usual IFS, and the status; None after an error."""
        if self._ready:
            text = self._ready.pop()
            self._stream.position += len(text) + 1
            if len(text) > SHORT:
                self._shell.variables.grow(text)
            # There is no other white space than blanks.
            if most == 1:
                return [text.strip(), 0]
            found: list[object] = text.rstrip().split(None, most - 1)  # type: ignore[assignment]
            if len(found) < most:
                found += [""] * (most - len(found))
            found.append(0)
            return found
        record = self._slow_line()
        if record is None:
            return None
        text, status = record
        pieces = _pieces(text.strip(" \t\n"), most)
        return [*pieces, *[""] * (most - len(pieces)), status]

    def _slow_line(self) -> tuple[str, int] | None:
        stream = self._stream
        try:
            data = stream.read_until(b"\n")
        except OSError as error:
            self._shell.complain(f"read: read error: 0: {error.strerror}")
            return None
        status = 0 if data[-1:] == b"\n" else 1
        text = (data if status else data[:-1]).decode("utf-8", "surrogateescape")
        if "\0" in text:
            text = text.replace("\0", "")
        if len(text) > SHORT:
            self._shell.variables.grow(text)
        self._look_ahead()
        return text, status

    def _look_ahead(self) -> None:
        """Take apart what is in the buffer."""
        buffer, position = self._stream.buffer, self._stream.position
        end = buffer.rfind(b"\n", position)
        if end < 0 or not buffer.isascii():
            return
        text = buffer[position:end].decode("ascii")
        if text.replace("\n", " ").isprintable():
            self._ready = text.split("\n")
            self._ready.reverse()


def _pieces(text: str, most: int) -> list[str]:
    """At most `most` fields, the last with all that is left."""
    found: list[str] = []
    while text and len(found) < most - 1:
        first = split(text, " \t\n")[0]
        found.append(first)
        text = text[len(first) :].lstrip(" \t\n")
    if text:
        found.append(text)
    return found
