"""fold, expand, unexpand: the columns of lines."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Generator

from planaria_shell.run.command import Status
from planaria_shell.toolkit.invocation import Invocation, utility
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import quote

__all__: list[str] = []

_LARGEST = (1 << 64) - 1


def _width_option(words: list[str]) -> list[str]:
    """`fold -40` as `fold -w 40`."""
    return [f"-w{word[1:]}" if re.fullmatch(r"-\d+", word) else word for word in words]


@utility("fold", short="bsw:", long="bytes=b spaces=s width=w:", rewrite=_width_option)
def fold(call: Invocation) -> Generator[None, None, Status]:
    """Wrap input lines in each FILE, writing to standard output."""
    text = call.arguments.value("w") or "80"
    if not text.isdigit() or not int(text):
        note = ": Numerical result out of range" if text.isdigit() else ""
        raise UsageError(f"invalid number of columns: {quote(text)}{note}", hint=False)
    width = int(text)
    by_bytes = call.arguments.has("b")
    spaces = call.arguments.has("s")
    for source in call.inputs():
        for line in source:
            ended = line.endswith(b"\n")
            body = line[:-1] if ended else line
            if len(body) <= width and (by_bytes or b"\t" not in body):
                call.stdout.write(line)
            else:
                simple = by_bytes or not re.search(rb"[\t\b\r]", body)
                pieces = _cut(body, width, spaces) if simple else _cut_columns(body, width, spaces)
                call.stdout.write(b"\n".join(pieces) + (b"\n" if ended else b""))
            if call.stdout.full:
                yield
    return call.status


def _cut(body: bytes, width: int, spaces: bool) -> list[bytes]:
    """Pieces of a line in which every byte takes one column."""
    if not spaces:
        return [body[at : at + width] for at in range(0, len(body), width)]
    pieces: list[bytes] = []
    at = 0
    while len(body) - at > width:
        stop = at + width
        blank = max(body.rfind(b" ", at, stop), body.rfind(b"\t", at, stop))
        if blank >= 0:
            stop = blank + 1
        pieces.append(body[at:stop])
        at = stop
    pieces.append(body[at:])
    return pieces


def _advance(column: int, byte: int) -> int:
    if byte == 9:
        return column + 8 - column % 8
    if byte == 8:
        return max(column - 1, 0)
    return 0 if byte == 13 else column + 1


def _cut_columns(body: bytes, width: int, spaces: bool) -> list[bytes]:
    """Pieces of a line with tabs, backspaces or carriage returns."""
    pieces: list[bytes] = []
    start = at = column = 0
    blank = -1
    while at < len(body):
        after = _advance(column, body[at])
        if after > width and at > start:
            stop = blank + 1 if spaces and blank >= start else at
            pieces.append(body[start:stop])
            start = stop
            column = 0
            for byte in body[start:at]:
                column = _advance(column, byte)
            blank = -1
            continue
        if body[at] in b" \t":
            blank = at
        column = after
        at += 1
    pieces.append(body[start:])
    return pieces


class _TabStops:
    """Where tabs stand: every so many columns, or a list with what follows it."""

    def __init__(self, texts: list[str]) -> None:
        self.stops: list[int] = []
        self.step = 0  # after the list: every `step` columns
        self.relative = False  # … counted from the last stop
        self.mark = ""  # a `/` or `+` that waits for its number
        for text in texts:
            for word in re.split(r"[, \t]+", text):
                if not word:
                    continue
                digits = word.lstrip("/+")
                mark = word[: len(word) - len(digits)][-1:]
                if not digits and mark:
                    self.mark = mark
                    continue
                mark = mark or self.mark
                self.mark = ""
                if not digits.isdigit():
                    self._refuse(digits)
                if int(digits) > _LARGEST:
                    raise UsageError(f"tab stop is too large {quote(digits)}", hint=False)
                if self.step:
                    what = "'+'" if self.relative else "'/'"
                    raise UsageError(f"{what} specifier only allowed with the last value", hint=False)
                if mark:
                    self.step, self.relative = int(digits), mark == "+"
                    continue
                if not int(digits):
                    raise UsageError("tab size cannot be 0", hint=False)
                if self.stops and int(digits) <= self.stops[-1]:
                    raise UsageError("tab sizes must be ascending", hint=False)
                self.stops.append(int(digits))
        self._settle()

    @staticmethod
    def _refuse(digits: str) -> None:
        rest = digits.lstrip("0123456789")
        if rest[0] in "/+" and rest != digits:
            problem = f"'{rest[0]}' specifier not at start of number: {quote(rest)}"
        else:
            problem = f"tab size contains invalid character(s): {quote(rest)}"
        raise UsageError(problem, hint=False)

    def _settle(self) -> None:
        if not self.stops and not self.step:
            self.step = 8
        elif len(self.stops) == 1 and not self.step:
            self.step = self.stops.pop()

    def next(self, column: int) -> int | None:
        """The first stop after a column, None when there is none."""
        index = bisect_right(self.stops, column)
        if index < len(self.stops):
            return self.stops[index]
        if not self.step:
            return None
        base = self.stops[-1] if self.relative and self.stops else 0
        return column + self.step - (column - base) % self.step

    @property
    def even(self) -> int:
        """The distance of all stops, 0 when they are not even."""
        return 0 if self.stops else self.step


def _digit_options(words: list[str]) -> list[str]:
    """`-4` and `-4,8` as `-t 4` and `-t 4,8`."""
    return [f"-t{word[1:]}" if re.fullmatch(r"-\d[\d,]*", word) else word for word in words]


@utility("expand", short="it:", long="initial=i tabs=t:", rewrite=_digit_options)
def expand(call: Invocation) -> Generator[None, None, Status]:
    """Convert tabs in each FILE to spaces, writing to standard output."""
    stops = _TabStops(call.arguments.values("t"))
    initial = call.arguments.has("i")
    even = stops.even
    for source in call.inputs():
        for line in source:
            if b"\t" not in line:
                call.stdout.write(line)
            elif even and not initial and b"\b" not in line and b"\r" not in line:
                call.stdout.write(line.expandtabs(even))
            else:
                call.stdout.write(_expand(line, stops, initial))
            if call.stdout.full:
                yield
    return call.status


def _expand(line: bytes, stops: _TabStops, initial: bool) -> bytes:
    out = bytearray()
    column = 0
    for index, byte in enumerate(line):
        if byte == 9:
            stop = stops.next(column)
            width = 1 if stop is None else stop - column
            out += b" " * width
            column += width
            continue
        out.append(byte)
        if byte == 8:
            column = max(column - 1, 0)
        else:
            column += 1
        if initial and byte not in b" \t\b":
            out += line[index + 1 :]
            break
    return bytes(out)


@utility("unexpand", short="at:", long="all=a first-only tabs=t:", rewrite=_digit_options)
def unexpand(call: Invocation) -> Generator[None, None, Status]:
    """Convert blanks in each FILE to tabs, writing to standard output."""
    arguments = call.arguments
    stops = _TabStops(arguments.values("t"))
    everywhere = arguments.has("a", "t") and not arguments.has("first-only")
    for source in call.inputs():
        for line in source:
            if b" " not in line and b"\t" not in line:
                call.stdout.write(line)
            else:
                call.stdout.write(_unexpand(line, stops, everywhere))
            if call.stdout.full:
                yield
    return call.status


def _unexpand(line: bytes, stops: _TabStops, everywhere: bool) -> bytes:
    out = bytearray()
    column = 0
    at = 0
    size = len(line)
    while at < size:
        start = at
        first = column
        while at < size and line[at] in b" \t":
            if line[at] == 32:
                column += 1
            else:
                stop = stops.next(column)
                if stop is None:
                    break
                column = stop
            at += 1
        if at > start:
            out += _blanks(first, column, line[start:at], stops)
        while at < size and (line[at] not in b" \t" or (line[at] == 9 and stops.next(column) is None)):
            column = max(column - 1, 0) if line[at] == 8 else column + 1
            out.append(line[at])
            at += 1
        if not everywhere:
            break
    return bytes(out) + line[at:]


def _blanks(first: int, column: int, text: bytes, stops: _TabStops) -> bytes:
    """The blanks from one column to another with as many tabs as there can be."""
    out = bytearray()
    at = first
    while (stop := stops.next(at)) is not None and stop <= column:
        # A single space before a stop stays a space within a line.
        if text == b" " and first:
            out += b" "
        else:
            out += b"\t"
        at = stop
    return bytes(out) + b" " * (column - at)
