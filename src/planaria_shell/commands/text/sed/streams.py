"""What a sed script reads and writes: lines with a look-ahead, and outputs that keep a missing newline."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from planaria_shell.state.command import Process
from planaria_shell.toolkit.streams import Source, decode, encode, open_input, reason


class Sink(Protocol):
    def write(self, data: bytes) -> object: ...


class Writer:
    """Gathers output; a last line that came without its end gets one when more follows."""

    def __init__(self, sink: Sink, end: str) -> None:
        self.sink = sink
        self.end = end
        self.parts: list[str] = []
        self.missing = False

    def line(self, text: str, ended: bool = True) -> None:
        parts = self.parts
        if self.missing:
            parts.append(self.end)
            self.missing = False
        parts.append(text)
        if ended:
            parts.append(self.end)
        else:
            self.missing = True

    def text(self, text: str) -> None:
        """Text that brings its own ends of lines."""
        if self.missing:
            self.parts.append(self.end)
            self.missing = False
        self.parts.append(text)

    def flush(self) -> None:
        if self.parts:
            self.sink.write(encode("".join(self.parts)))
            self.parts.clear()


class LineSource:
    """The lines of the operands one after the other, with one line of look-ahead for `$`."""

    def __init__(
        self,
        process: Process,
        names: list[str],
        end: str,
        *,
        separate: bool,
        in_place: bool,
        unbuffered: bool = False,
    ) -> None:
        self.process = process
        self.names = names
        self.end = end
        self.separate = separate
        self.in_place = in_place
        #: Each line is read when it is wanted, so that others find what follows, also in a pipe.
        self.unbuffered = unbuffered and end == "\n"
        self.failed = 0
        self.name = "-"
        self.next_file = 0
        self.lines: list[str] = []
        self.tail = ""
        self.chunks: Iterator[bytes] | None = None
        self.source: Source | None = None
        #: Called with the name of each file that is opened, and when it has been read.
        self.on_open: Callable[[str], None] = lambda name: None
        self.on_close: Callable[[], None] = lambda: None
        #: The lines at hand end with one that has no end.
        self.unended = False

    def _open(self) -> bool:
        while self.next_file < len(self.names):
            name = self.names[self.next_file]
            self.next_file += 1
            try:
                self.source = open_input(self.process, name)
            except IsADirectoryError:
                if self.in_place:
                    self.process.error(f"couldn't edit {name}: not a regular file")
                else:
                    self.process.error(f"read error on {name}: Is a directory")
                # It is not followed by the others.
                self.next_file = len(self.names)
                self.failed = 4
                continue
            except OSError as problem:
                self.process.error(f"can't read {name}: {reason(problem)}")
                self.failed = 2
                continue
            self.chunks = iter(self.source.readline, b"") if self.unbuffered else self.source.chunks()
            self.name = name
            self.on_open(name)
            return True
        return False

    def _close(self) -> None:
        if self.source is not None:
            self.source.close()
            self.source = self.chunks = None
            self.on_close()

    def close(self) -> None:
        """Close the file being read, and leave what follows in it to others."""
        if self.source is not None:
            rest = "".join(line + self.end for line in reversed(self.lines))
            self.source.unread(encode((rest.removesuffix(self.end) if self.unended else rest) + self.tail))
        self._close()

    def abandon(self) -> None:
        """Close the file being read, if one is open, as not having been read."""
        if self.source is not None:
            self.source.close()

    def _whole_lines(self) -> str:
        """More lines of the file that is open as one text; empty before a last line without an end."""
        if self.chunks is None:
            return ""
        pending: list[bytes] = []
        end = self.end.encode()
        for chunk in self.chunks:
            cut = chunk.rfind(end) + 1
            if not cut:
                pending.append(chunk)
                continue
            pending.append(chunk[:cut])
            text = decode((encode(self.tail) if self.tail else b"") + b"".join(pending))
            self.tail = decode(chunk[cut:])
            return text
        if pending:
            self.tail = decode(encode(self.tail) + b"".join(pending))
        self.chunks = iter(())
        return ""

    def _fill(self) -> bool:
        """Have a line ready from the file that is open; False at its end."""
        if text := self._whole_lines():
            self.unread(text)
            return True
        if self.tail:
            # The last line, without its end.
            self.lines = [self.tail]
            self.tail = ""
            self.unended = True
            return True
        return False

    def unread(self, text: str) -> None:
        """Give back what `block` gave, to read it line by line."""
        self.lines = text.split(self.end)
        self.lines.pop()
        self.lines.reverse()

    def block(self) -> str:
        """Lines with their ends, many at a time; empty where a line must be read alone, and at the end."""
        while not self.lines:
            if self.source is None and not self._open():
                break
            if text := self._whole_lines():
                return text
            if self.tail:
                break
            self._close()
        return ""

    def read(self) -> tuple[str, bool] | None:
        """The next line and whether it had its end; None after the last one of all files."""
        while not self.lines:
            if self.source is None and not self._open():
                return None
            if not self._fill():
                self._close()
        line = self.lines.pop()
        if self.unended and not self.lines:
            self.unended = False
            return line, False
        return line, True

    def is_last(self) -> bool:
        """Whether no line follows (in this file, when files are separate)."""
        while not self.lines:
            if self.source is not None and self._fill():
                return False
            if self.separate:
                return True
            self._close()
            if not self._open():
                return True
        return False


class DirectWriter(Writer):
    """Writes each line at once, since other commands of the script may read the file."""

    def line(self, text: str, ended: bool = True) -> None:
        super().line(text, ended)
        self.flush()


_VISIBLE = {
    7: "\\a", 8: "\\b", 9: "\\t", 10: "\\n", 11: "\\v", 12: "\\f", 13: "\\r", 92: "\\\\",
}  # fmt: skip


def visible(text: str, width: int, end: str) -> str:
    """The text as the l command shows it, in lines that end so, folded to a width (0 and 1: not folded)."""
    lines: list[str] = []
    line = ""
    for byte in encode(text):
        shown = _VISIBLE.get(byte) or (chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}")
        if width > 0 and len(line) + len(shown) > width - 1:
            lines.append(line + "\\" + end)
            line = ""
        line += shown
    return "".join(lines) + line + "$" + end
