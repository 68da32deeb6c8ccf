"""Cutting input into records as RS says."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator

from planaria_shell.toolkit.regex.posix import Pattern

#: White space that separates words for str.split() but not for awk.
_OTHER_SPACE = b"\r\v\f\x1c\x1d\x1e\x1f"


def is_plain(text: str) -> bool:
    """Whether str.split() cuts the lines of a text as awk does."""
    return text.isascii() and len(text.encode().translate(None, _OTHER_SPACE)) == len(text)


class RecordReader:
    """The records of one input; `record` after a `read` that returned True, and `terminator` (RT)."""

    def __init__(self, chunks: Iterator[bytes], close: Callable[[], None] = lambda: None) -> None:
        self.chunks = chunks
        self.close = close
        self.decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        #: Whole lines at hand, the next one last; only while RS is a newline.
        self.lines: list[str] = []
        #: Text at hand that has not been cut into lines.
        self.rest = ""
        self.at = 0
        self.ended = False
        #: What the lines at hand were cut from.
        self.text = ""
        #: Whether str.split() cuts the records that `read` gives as awk does.
        self.plain = False
        self.record = ""
        self.terminator = ""

    def read(self, separator: str, pattern: Pattern | None) -> bool:
        """Read the next record; `pattern` when the separator is an expression. False at the end."""
        if separator == "\n":
            if self.lines:
                self.record = self.lines.pop()
                self.terminator = "\n"
                return True
            return self._read_line()
        if self.lines:
            self.lines.reverse()
            self.rest = "\n".join(self.lines) + "\n" + self.rest[self.at :]
            self.at = 0
            self.lines = []
        self.plain = False
        if separator == "":
            return self._read_paragraph()
        if pattern is not None:
            return self._read_until(pattern)
        return self._read_to_character(separator)

    def _more(self) -> str:
        """More text; empty at the end."""
        for chunk in self.chunks:
            text = self.decoder.decode(chunk)
            if text:
                return text
        if not self.ended:
            self.ended = True
            return self.decoder.decode(b"", True)
        return ""

    def take_lines(self) -> list[str]:
        """The lines at hand, or the next ones, while RS is a newline; empty at the end."""
        lines, self.lines = self.lines, []
        if lines:
            lines.reverse()
            return lines
        return self._more_lines()

    def _more_lines(self) -> list[str]:
        parts = [self.rest[self.at :]]
        self.rest, self.at = "", 0
        if "\n" not in parts[0]:
            while text := self._more():
                parts.append(text)
                if "\n" in text:
                    break
        text = "".join(parts)
        if not text:
            return []
        self.text = text
        lines = text.split("\n")
        self.rest = lines.pop()
        self.terminator = "\n"
        if not lines:
            # The last line, without its newline.
            lines = [self.rest]
            self.rest, self.terminator = "", ""
        return lines

    def _read_line(self) -> bool:
        lines = self._more_lines()
        if not lines:
            return False
        self.plain = is_plain(self.text)
        lines.reverse()
        self.record = lines.pop()
        self.lines = lines
        return True

    def _grow(self) -> bool:
        """Put more text behind what is at hand, twice as much each time it does not suffice."""
        kept = self.rest[self.at :]
        self.at = 0
        parts = [kept]
        size = 0
        while size <= len(kept):
            text = self._more()
            if not text:
                break
            parts.append(text)
            size += len(text)
        self.rest = "".join(parts)
        return size > 0

    def _cut(self, end: int, after: int) -> bool:
        self.record = self.rest[self.at : end]
        self.terminator = self.rest[end:after]
        self.at = after
        return True

    def _read_to_character(self, separator: str) -> bool:
        while True:
            end = self.rest.find(separator, self.at)
            if end >= 0:
                return self._cut(end, end + 1)
            if not self._grow():
                return self._last()

    def _last(self) -> bool:
        if self.at >= len(self.rest):
            return False
        return self._cut(len(self.rest), len(self.rest))

    def _read_until(self, pattern: Pattern) -> bool:
        complete = False
        while True:
            found = pattern.search(self.rest, self.at)
            while found and found.end() == found.start():
                found = pattern.search(self.rest, found.end() + 1) if found.end() < len(self.rest) else None
            # A match at the end of what is at hand might be longer with more.
            if found and (complete or found.end() < len(self.rest)):
                return self._cut(found.start(), found.end())
            if complete:
                return self._last()
            complete = not self._grow()

    def _read_paragraph(self) -> bool:
        while True:
            while self.at < len(self.rest) and self.rest[self.at] == "\n":
                self.at += 1
            if self.at < len(self.rest):
                break
            if not self._grow():
                return False
        complete = False
        while True:
            end = self.rest.find("\n\n", self.at)
            after = end
            while 0 <= after < len(self.rest) and self.rest[after] == "\n":
                after += 1
            if end >= 0 and (complete or after < len(self.rest)):
                return self._cut(end, after)
            if complete:
                # The last paragraph, with at most one newline behind it.
                size = len(self.rest)
                return self._cut(size - self.rest.endswith("\n"), size)
            complete = not self._grow()
