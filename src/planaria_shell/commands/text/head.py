"""`head`: print the first 10 lines of each FILE to standard output."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Generator, Iterator

from planaria_shell.commands.text.line_counts import Amount, each_input, lines_of, parse_amount
from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import Invocation, command
from planaria_shell.toolkit.streams import BLOCK, Source

#: So much is read at once: what is behind the last line is lost for the next reader of a pipe.
_BUFFER = 8192


def _old_head(words: list[str]) -> list[str]:
    """`head -5c` as `head -c 5`: the first word may be a number with letters."""
    match = re.fullmatch(r"-(\d+)([bkm]?)([cl]?)([qvz]*)", words[0]) if words else None
    if match is None:
        return words
    digits, unit, kind, rest = match.groups()
    option = "-c" if unit or kind == "c" else "-n"
    flags = [f"-{letter}" for letter in rest]
    return [option, digits + {"b": "b", "k": "K", "m": "M", "": ""}[unit], *flags, *words[1:]]


@command(
    "head",
    short="c:n:qvz",
    long="bytes=c: lines=n: quiet=q silent=q verbose=v zero-terminated=z",
    rewrite=_old_head,
)
def head(call: Invocation) -> Generator[None, None, Status]:
    """Print the first 10 lines of each FILE to standard output."""
    amount = parse_amount(call, "-")
    end = b"\0" if call.arguments.has("z") else b"\n"
    for source in each_input(call):
        pieces = _head_lines(source, amount, end) if amount.lines else _head_bytes(source, amount)
        for piece in pieces:
            call.stdout.write(piece)
            if call.stdout.full:
                yield
    return call.status


def _head_lines(source: Source, amount: Amount, end: bytes) -> Iterator[bytes]:
    if amount.turned:
        held: deque[bytes] = deque()
        for line in lines_of(source, end):
            held.append(line)
            if len(held) > amount.number:
                yield held.popleft()
        source.unread(b"".join(held))
        return
    left = amount.number
    while left > 0 and (block := source.read_some(_BUFFER)):
        cut = 0
        while left > 0 and (found := block.find(end, cut) + 1):
            cut = found
            left -= 1
        yield block if left else block[:cut]
        if not left:
            source.unread(block[cut:])


def _head_bytes(source: Source, amount: Amount) -> Iterator[bytes]:
    if not amount.turned:
        left = amount.number
        while left and (block := source.read(min(left, BLOCK))):
            yield block
            left -= len(block)
        return
    held: deque[bytes] = deque()
    size = 0
    for block in source.chunks():
        held.append(block)
        size += len(block)
        while size - len(held[0]) >= amount.number:
            size -= len(held[0])
            yield held.popleft()
    rest = b"".join(held)
    cut = max(0, len(rest) - amount.number)
    yield rest[:cut]
    source.unread(rest[cut:])
