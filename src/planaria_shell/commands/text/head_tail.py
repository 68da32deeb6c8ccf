"""head and tail: the first or last lines or bytes of files."""

from __future__ import annotations

import io
import itertools
import os
import re
from collections import deque
from collections.abc import Generator, Iterator
from dataclasses import dataclass

from planaria_shell.run.command import Status
from planaria_shell.toolkit.invocation import Invocation, utility
from planaria_shell.toolkit.lines import records, whole_lines
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import quote, shell_quote_always
from planaria_shell.toolkit.sizes import parse_size
from planaria_shell.toolkit.streams import BLOCK, FileInput, Source, reason

__all__: list[str] = []

_LARGEST = (1 << 64) - 1


@dataclass
class _Amount:
    """How much to show: lines or bytes; `turned` when counted from the other end."""

    number: int = 10
    lines: bool = True
    turned: bool = False


def _old_head(words: list[str]) -> list[str]:
    """`head -5c` as `head -c 5`: the first word may be a number with letters."""
    match = re.fullmatch(r"-(\d+)([bkm]?)([cl]?)([qvz]*)", words[0]) if words else None
    if match is None:
        return words
    digits, unit, kind, rest = match.groups()
    option = "-c" if unit or kind == "c" else "-n"
    flags = [f"-{letter}" for letter in rest]
    return [option, digits + {"b": "b", "k": "K", "m": "M", "": ""}[unit], *flags, *words[1:]]


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


def _amount(call: Invocation, turning: str) -> _Amount:
    amount = _Amount()
    for key, value in call.arguments:
        if key not in ("c", "n") or value is None:
            continue
        lines = key == "n"
        text = value
        turned = text.startswith(turning)
        if text[:1] in ("-", "+"):
            text = text[1:]
        try:
            number = parse_size(text)
        except ValueError:
            shown = text if value[:1] == "-" else value
            raise UsageError(
                f"invalid number of {'lines' if lines else 'bytes'}: {quote(shown)}", hint=False
            ) from None
        if number > _LARGEST:
            note = "Value too large for defined data type"
            raise UsageError(
                f"invalid number of {'lines' if lines else 'bytes'}: {quote(text)}: {note}", hint=False
            )
        amount = _Amount(number, lines, turned)
    return amount


def _each(call: Invocation) -> Iterator[Source]:
    """Each operand opened, its header written when there should be one."""
    names = call.operands or ["-"]
    verbosity = call.arguments.last(("q", "v"))
    headers = verbosity == "v" or (verbosity is None and len(names) > 1)
    first = True
    for name in names:
        source: Source | None = None
        problem: OSError | None = None
        try:
            source = call.open(name)
        except IsADirectoryError as error:
            problem = error
        except OSError as error:
            call.complain(f"cannot open {shell_quote_always(name)} for reading", error)
            continue
        if headers:
            shown = "standard input" if name == "-" else name
            call.print(f"{'' if first else chr(10)}==> {shown} <==")
            first = False
        if problem:
            call.complain(f"error reading {shell_quote_always(name)}: {reason(problem)}")
        if source:
            with source:
                yield source


@utility(
    "head",
    short="c:n:qvz",
    long="bytes=c: lines=n: quiet=q silent=q verbose=v zero-terminated=z",
    rewrite=_old_head,
)
def head(call: Invocation) -> Generator[None, None, Status]:
    """Print the first 10 lines of each FILE to standard output."""
    amount = _amount(call, "-")
    end = b"\0" if call.arguments.has("z") else b"\n"
    for source in _each(call):
        pieces = _head_lines(source, amount, end) if amount.lines else _head_bytes(source, amount)
        for piece in pieces:
            call.stdout.write(piece)
            if call.stdout.full:
                yield
    return call.status


def _lines(source: Source, end: bytes) -> Iterator[bytes]:
    return iter(source) if end == b"\n" else records(source.chunks(), end)


def _head_lines(source: Source, amount: _Amount, end: bytes) -> Iterator[bytes]:
    if amount.turned:
        held: deque[bytes] = deque()
        for line in _lines(source, end):
            held.append(line)
            if len(held) > amount.number:
                yield held.popleft()
        return
    left = amount.number
    if end == b"\n":
        # No more is taken from the input than the lines: what follows is for its next reader. Few lines at
        # first, since who reads the output may want no more.
        lines = iter(source.readline, b"")
        size = 16
        while left > 0 and (some := list(itertools.islice(lines, min(left, size)))):
            yield b"".join(some)
            left -= len(some)
            size = min(2 * size, 4096)
        return
    for line in records(source.chunks(), end):
        if not left:
            return
        yield line
        left -= 1


def _head_bytes(source: Source, amount: _Amount) -> Iterator[bytes]:
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
    if len(rest) > amount.number:
        yield rest[: len(rest) - amount.number]


@utility(
    "tail",
    short="c:fFn:qs:vz",
    long="bytes=c: follow=f:: lines=n: pid: quiet=q silent=q retry sleep-interval=s: verbose=v "
    "zero-terminated=z max-unchanged-stats:",
    rewrite=_old_tail,
)
def tail(call: Invocation) -> Generator[None, None, Status]:
    """Print the last 10 lines of each FILE to standard output."""
    amount = _amount(call, "+")
    end = b"\0" if call.arguments.has("z") else b"\n"
    for source in _each(call):
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
    if call.arguments.has("f", "F") and call.operands not in ([], ["-"]):
        call.complain("cannot follow a file: nothing else runs in this shell that could append to it")
    return call.status


def _from_line(source: Source, number: int, end: bytes) -> Iterator[bytes]:
    skip = max(number - 1, 0)
    lines = _lines(source, end)
    for _ in range(skip):
        if next(lines, None) is None:
            return
    if end == b"\n":
        yield from source.chunks()
    else:
        yield from lines


def _from_byte(source: Source, amount: _Amount) -> Iterator[bytes]:
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
