"""`fold`: wrap input lines in each FILE, writing to standard output."""

from __future__ import annotations

import re
from collections.abc import Generator

from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import Invocation, command
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import quote


def _width_option(words: list[str]) -> list[str]:
    """`fold -40` as `fold -w 40`."""
    return [f"-w{word[1:]}" if re.fullmatch(r"-\d+", word) else word for word in words]


@command("fold", short="bsw:", long="bytes=b spaces=s width=w:", rewrite=_width_option)
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
