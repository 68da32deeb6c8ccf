"""`tail`: print the last 10 lines of each FILE to standard output."""

from __future__ import annotations

import io
import os
import re
from collections import deque
from collections.abc import Generator, Iterator

from planaria_shell.commands.text.following import follow
from planaria_shell.commands.text.line_counts import Amount, each_input, lines_of, parse_amount
from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import Invocation, command
from planaria_shell.toolkit.lines import whole_lines
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.streams import BLOCK, FileInput, Source


def _old_tail(words: list[str]) -> list[str]:
    """`tail -5c` as `tail -c 5`, `tail +3` as `tail -n +3`: with one file at most."""
    match = re.fullmatch(r"([-+])(\d*)([bcl]?)(f?)", words[0]) if words else None
    if match is None or words[0] in ("-", "-c", "-f"):
        return words
    sign, digits, kind, follow = match.groups()
    files = words[2:] if words[1:2] == ["--"] else words[1:]
    if len(files) > 1 or (words[1:2] != ["--"] and files and re.match("-.", files[0])):
        if sign == "+":
            return words
        raise UsageError(f"option used in invalid context -- {words[0][1]}", hint=False)
    number = digits or "10"
    if kind == "b":
        number += "b"
    return [
        "-n" if kind in ("", "l") else "-c",
        "+" * (sign == "+") + number,
        *["-f"] * bool(follow),
        *words[1:],
    ]


@command(
    "tail",
    short="c:fFn:qs:vz",
    long="bytes=c: follow=f:: lines=n: pid: quiet=q silent=q retry sleep-interval=s: verbose=v "
    "zero-terminated=z max-unchanged-stats:",
    rewrite=_old_tail,
)
def tail(call: Invocation) -> Generator[None, None, Status]:
    """Print the last 10 lines of each FILE to standard output."""
    amount = parse_amount(call, "+")
    end = b"\0" if call.arguments.has("z") else b"\n"
    for source in each_input(call):
        if amount.turned:
            pieces = _from_line(source, amount.number, end) if amount.lines else _from_byte(source, amount)
        elif amount.lines:
            pieces = _last_lines(source, amount.number, end)
        else:
            pieces = _last_bytes(source, amount.number)
        for piece in pieces:
            call.stdout.write(piece)
            if call.stdout.full:
                yield
    followed = [name for name in call.operands if name != "-"]
    if call.arguments.has("f", "F") and followed:
        several = call.arguments.has("v") or len(call.operands) > 1
        yield from follow(call, followed, headers=several and not call.arguments.has("q"))
    return call.status


def _from_line(source: Source, number: int, end: bytes) -> Iterator[bytes]:
    skip = max(number - 1, 0)
    lines = lines_of(source, end)
    for _ in range(skip):
        if next(lines, None) is None:
            return
    if end == b"\n":
        yield from source.chunks()
    else:
        yield from lines


def _from_byte(source: Source, amount: Amount) -> Iterator[bytes]:
    skip = max(amount.number - 1, 0)
    while skip:
        block = source.read(min(skip, BLOCK))
        if not block:
            return
        skip -= len(block)
    yield from source.chunks()


def _last_lines(source: Source, number: int, end: bytes) -> Iterator[bytes]:
    if isinstance(source, FileInput) and source.file.seekable():
        _seek_to_last_lines(source, number, end)
        yield from source.chunks()
        return
    # Blocks, as few as hold the lines.
    held: deque[tuple[bytes, int]] = deque()
    count = 0
    for block in whole_lines(source.chunks(), end):
        lines = block.count(end) + (not block.endswith(end))
        held.append((block, lines))
        count += lines
        while count - held[0][1] >= number:
            count -= held.popleft()[1]
            if not held:
                break
    rest = b"".join([block for block, _ in held])
    at = len(rest) - rest.endswith(end)
    while number:
        at = rest.rfind(end, 0, max(at, 0))
        number -= 1
        if at < 0:
            break
    yield rest[at + 1 :] if rest else b""


def _seek_to_last_lines(source: FileInput, number: int, end: bytes) -> None:
    """Move to where the last lines begin, reading the file from its end."""
    file = source.file
    size = file.seek(0, os.SEEK_END)
    position = size
    while position > 0 and number:
        start = max(position - BLOCK, 0)
        file.seek(start)
        block = file.read(position - start)
        at = len(block)
        if position == size and block.endswith(end):
            at -= 1
        while (found := block.rfind(end, 0, at)) >= 0:
            number -= 1
            if not number:
                file.seek(start + found + 1)
                return
            at = found
        position = start
    file.seek(size if not number else 0)


def _last_bytes(source: Source, number: int) -> Iterator[bytes]:
    if isinstance(source, FileInput) and source.file.seekable():
        size = source.file.seek(0, io.SEEK_END)
        source.file.seek(max(size - number, 0))
        yield from source.chunks()
        return
    held: deque[bytes] = deque()
    size = 0
    for block in source.chunks():
        held.append(block)
        size += len(block)
        while size - len(held[0]) >= number:
            size -= len(held.popleft())
            if not held:
                break
    rest = b"".join(held)
    yield rest[max(len(rest) - number, 0) :]
