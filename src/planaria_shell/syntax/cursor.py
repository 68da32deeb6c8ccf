"""A place in source text, and the errors that can be there."""

from __future__ import annotations

import re

from planaria_shell.errors import ShellSyntaxError

__all__ = ["Cursor", "ansi_c"]


_ANSI = re.compile(
    r"\\(?:([abeEfnrtv\\'\"?])|([0-7]{1,3})|x\{([0-9a-fA-F]+)\}|x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})"
    r"|U([0-9a-fA-F]{1,8})|c(\\\\|.))",
    re.DOTALL,
)
_ANSI_LETTERS = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t",
    "v": "\v", "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip


def ansi_c(text: str) -> str:
    """Replace the escapes of `$'…'`; bytes become characters as UTF-8 has them, text ends at a NUL."""
    if "\\" not in text:
        return text
    raw = False

    def replace(match: re.Match[str]) -> str:
        nonlocal raw
        letter, octal, braced, hexadecimal, short, long, control = match.groups()
        if letter is not None:
            return _ANSI_LETTERS[letter]
        if control is not None:
            # A backslash may stand for itself, or be written twice.
            return chr(ord(control[0].upper()) & 0x1F) if control != "?" else "\x7f"
        if short is not None or long is not None:
            code = int(short or long, 16)
            return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else ""
        number = int(octal, 8) & 0xFF if octal is not None else int(braced or hexadecimal, 16) & 0xFF
        if number < 0x80:
            return chr(number)
        raw = True
        return chr(0xDC00 + number)

    result = _ANSI.sub(replace, text)
    if raw:
        result = result.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
    return result.partition("\0")[0]


class Cursor:
    """A position in `source`; `line` is the number of its first line."""

    def __init__(self, source: str, *, line: int = 1, extglob: bool = False) -> None:
        self.source = source
        self.position = 0
        self.extglob = extglob
        #: Whether a single quote between double ones means nothing in `"${name:-…}"`.
        self.posix = False
        self._line = line
        #: Whether a line may go on after a backslash.
        self.continued = "\\\n" in source
        #: A range of the source that is on this line: from a place that was counted up to the next newline.
        self._line_start = 0
        self._line_end = 0

    def line(self) -> int:
        """The number of the line at the current position."""
        position = self.position
        if position > self._line_end:
            self._line += self.source.count("\n", self._line_start, position)
        elif position < self._line_start:
            self._line -= self.source.count("\n", position, self._line_start)
        else:
            return self._line
        self._line_start = position
        end = self.source.find("\n", position)
        self._line_end = end if end >= 0 else len(self.source)
        return self._line

    def replace(self, end: int, text: str) -> None:
        """Put `text` in the place of the source from here up to `end`; it counts for no line."""
        self.line()
        self.source = self.source[: self.position] + text + self.source[end:]
        self._line_start = self._line_end = self.position

    def unfold(self, place: int) -> None:
        """Take out the backslashes before newlines that stand at `place` or follow each other there."""
        while self.source.startswith("\\\n", place):
            self.line()
            self.source = self.source[:place] + self.source[place + 2 :]
            self._line += 1
            self._line_start = self.position
            end = self.source.find("\n", self.position)
            self._line_end = end if end >= 0 else len(self.source)

    def unfold_around(self, pattern: re.Pattern[str]) -> None:
        """Take them out of what `pattern` finds here, and around it."""
        if not self.continued:
            return
        end = self.position
        while True:
            self.unfold(end)
            found = pattern.match(self.source, self.position)
            if found is None or not self.source.startswith("\\\n", found.end()):
                return
            end = found.end()

    def fail(self, message: str, *, incomplete: bool = False, show: bool = True) -> ShellSyntaxError:
        """An error at the current position."""
        number = self.line()
        start = self.source.rfind("\n", 0, self.position) + 1
        end = self.source.find("\n", self.position)
        text = self.source[start : end if end >= 0 else len(self.source)]
        return ShellSyntaxError(
            message, number, incomplete=incomplete, source_line=text if show and not incomplete else ""
        )

    def unmatched(self, closer: str, start: int | None = None) -> ShellSyntaxError:
        """The error for a quote or bracket that was opened at `start` and is never closed."""
        self.position = len(self.source) if start is None else start
        error = self.fail(f"unexpected EOF while looking for matching `{closer}'", incomplete=True)
        if start is None and not self.source.endswith("\n"):
            error.line += 1
        return error
