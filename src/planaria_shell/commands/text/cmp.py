"""`cmp`: compare two files byte by byte."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator

from planaria_shell.state.command import Process
from planaria_shell.toolkit.invocation import Invocation, command
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.streams import reason

_SUFFIXES = {
    "": 1,
    "k": 1024,
    "K": 1024,
    "kB": 1000,
    "KB": 1000,
    "M": 1 << 20,
    "MB": 10**6,
    "G": 1 << 30,
    "GB": 10**9,
}


def _bytes_count(text: str) -> int:
    digits = text.rstrip("kKMGB")
    if not digits.isdigit() or text[len(digits) :] not in _SUFFIXES:
        raise ValueError(text)
    return int(digits) * _SUFFIXES[text[len(digits) :]]


def _chunks(process: Process, name: str, skip: int) -> Iterator[bytes]:
    """The content of a file after `skip` bytes; raises OSError at the first chunk."""
    if name == "-":
        for chunk in process.stdin.chunks():
            if skip >= len(chunk):
                skip -= len(chunk)
                continue
            yield chunk[skip:]
            skip = 0
        return
    with open(process.path(name), "rb") as file:
        file.seek(skip)
        while chunk := file.read(65536):
            yield chunk


def _visible(byte: int) -> str:
    """A byte as `cmp -b` shows it."""
    text = ""
    if byte >= 128:
        text, byte = "M-", byte - 128
    if byte < 32:
        return f"{text}^{chr(byte + 64)}"
    return f"{text}^?" if byte == 127 else text + chr(byte)


@command(
    "cmp",
    short="bci:ln:sv",
    long="print-bytes=b ignore-initial=i: verbose=l bytes=n: quiet=s silent=s help version=v",
    usage="[OPTION]... FILE1 [FILE2 [SKIP1 [SKIP2]]]",
    version="cmp (GNU diffutils) 3.8\n",
    failure=2,
    hint="{name}: Try '{name} --help' for more information.",
)
def cmp(call: Invocation) -> Generator[None, None, int]:
    """Compare two files byte by byte: status 0 same, 1 different, 2 trouble."""
    process, arguments = call.process, call.arguments
    operands = arguments.operands
    if not operands:
        raise UsageError(f"missing operand after '{process.argv[-1]}'")
    if len(operands) > 4:
        raise UsageError(f"extra operand '{operands[4]}'")
    one, two = operands[0], operands[1] if len(operands) > 1 else "-"
    skips = [0, 0]
    try:
        initial = arguments.value("i")
        if initial is not None:
            first, _, second = initial.partition(":")
            skips = [_bytes_count(first), _bytes_count(second or first)]
        for position, text in enumerate(operands[2:]):
            skips[position] = _bytes_count(text)
    except ValueError as error:
        raise UsageError(f"invalid --ignore-initial value '{error}'") from None
    limit = arguments.value("n")
    try:
        remaining = None if limit is None else _bytes_count(limit)
    except ValueError as error:
        raise UsageError(f"invalid --bytes value '{error}'") from None
    if arguments.has("l") and arguments.has("s"):
        raise UsageError("options -l and -s are incompatible")
    verbose, quiet, show = arguments.has("l"), arguments.has("s"), arguments.has("b", "c")
    try:
        for name in (one, two):
            if name != "-":
                os.close(os.open(process.path(name), os.O_RDONLY))
    except OSError as error:
        if not quiet:
            process.error(f"{name}: {reason(error)}")
        return 2
    if "-" not in (one, two) and skips[0] == skips[1] and os.path.samefile(*map(process.path, (one, two))):
        return 0
    sides = [_chunks(process, one, skips[0]), _chunks(process, two, skips[1])]
    buffers = [b"", b""]
    width = _offset_width(process, (one, two), skips, remaining)
    offset, line, differs, last_newline = 0, 1, False, True
    while remaining is None or remaining > 0:
        for side, name in enumerate((one, two)):
            if not buffers[side]:
                try:
                    buffers[side] = next(sides[side], b"")
                except OSError as error:
                    process.error(f"{name}: {reason(error)}")
                    return 2
        size = min(len(buffers[0]), len(buffers[1]), *([] if remaining is None else [remaining]))
        if size == 0:
            break
        left, right = buffers[0][:size], buffers[1][:size]
        buffers = [buffers[0][size:], buffers[1][size:]]
        if left != right:
            differs = True
            if quiet:
                return 1
            for place in range(size):
                if left[place] == right[place]:
                    continue
                number = offset + place + 1
                a, b = left[place], right[place]
                if not verbose:
                    line += left.count(b"\n", 0, place)
                    text = f"{one} {two} differ: byte {number}, line {line}"
                    if show:
                        text += f" is {a:3o} {_visible(a)} {b:3o} {_visible(b)}"
                    process.stdout.write(f"{text}\n".encode("utf-8", "surrogateescape"))
                    return 1
                text = f"{number:{width}d} {a:3o}"
                text += f" {_visible(a):<4} {b:3o} {_visible(b)}\n" if show else f" {b:3o}\n"
                process.stdout.write(text.encode())
            if process.stdout.full:
                yield
        line += left.count(b"\n")
        last_newline = left.endswith(b"\n")
        offset += size
        if remaining is not None:
            remaining -= size
    if (remaining is None or remaining > 0) and (buffers[0] or buffers[1]):
        if not quiet:
            shorter = two if buffers[0] else one
            if offset == 0:
                process.error(f"EOF on {shorter} which is empty")
            elif verbose:
                process.error(f"EOF on {shorter} after byte {offset}")
            elif last_newline:
                process.error(f"EOF on {shorter} after byte {offset}, line {line - 1}")
            else:
                process.error(f"EOF on {shorter} after byte {offset}, in line {line}")
        return 1
    return int(differs)


def _offset_width(process: Process, names: tuple[str, str], skips: list[int], limit: int | None) -> int:
    """Columns that the offsets of `cmp -l` take: as many as the smaller file's size has digits."""
    sizes = [] if limit is None else [limit]
    for name, skip in zip(names, skips, strict=True):
        if name != "-" and os.path.isfile(process.path(name)):
            sizes.append(max(os.path.getsize(process.path(name)) - skip, 0))
    return len(str(min(sizes))) if sizes else 19
