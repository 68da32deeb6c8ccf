"""`cmp` and `comm`: two files byte by byte, and two sorted files line by line."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator

from planaria_shell.run.command import Process
from planaria_shell.toolkit import usage

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


@usage.command("cmp", version="cmp (GNU diffutils) 3.8")
def cmp(process: Process) -> Generator[None, None, int]:
    """cmp [OPTION]... FILE1 [FILE2 [SKIP1 [SKIP2]]]: status 0 same, 1 different, 2 trouble."""
    long = {
        "print-bytes": "b",
        "ignore-initial=": "i",
        "verbose": "l",
        "bytes=": "n",
        "quiet": "s",
        "silent": "s",
    }
    try:
        arguments = usage.parse(process.argv[1:], "bci:ln:sv", {**long, "help": "help", "version": "v"})
    except usage.UsageError as error:
        usage.complain(process, str(error), named=True)
        return 2
    operands = arguments.operands
    if not operands:
        usage.complain(process, f"missing operand after '{process.argv[-1]}'", named=True)
        return 2
    if len(operands) > 4:
        usage.complain(process, f"extra operand '{operands[4]}'", named=True)
        return 2
    one, two = operands[0], operands[1] if len(operands) > 1 else "-"
    skips = [0, 0]
    try:
        initial = arguments.last("i")
        if initial is not None:
            first, _, second = initial.partition(":")
            skips = [_bytes_count(first), _bytes_count(second or first)]
        for position, text in enumerate(operands[2:]):
            skips[position] = _bytes_count(text)
    except ValueError as error:
        usage.complain(process, f"invalid --ignore-initial value '{error}'", named=True)
        return 2
    limit = arguments.last("n")
    try:
        remaining = None if limit is None else _bytes_count(limit)
    except ValueError as error:
        usage.complain(process, f"invalid --bytes value '{error}'", named=True)
        return 2
    if arguments.has("l") and arguments.has("s"):
        usage.complain(process, "options -l and -s are incompatible", named=True)
        return 2
    verbose, quiet, show = arguments.has("l"), arguments.has("s"), arguments.has("b", "c")
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
                    process.error(f"{name}: {usage.reason(error)}")
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


@usage.command("comm", version="comm (GNU coreutils) 9.1")
def comm(process: Process) -> Generator[None, None, int]:
    """comm [OPTION]... FILE1 FILE2: lines of the first, of the second, of both."""
    long = {
        "check-order": "check",
        "nocheck-order": "nocheck",
        "output-delimiter=": "delimiter",
        "total": "total",
        "zero-terminated": "z",
        "help": "help",
        "version": "version",
    }
    try:
        arguments = usage.parse(process.argv[1:], "123z", long)
    except usage.UsageError as error:
        usage.complain(process, str(error))
        return 1
    operands = arguments.operands
    if len(operands) < 2:
        after = f" after '{operands[-1]}'" if operands else ""
        usage.complain(process, f"missing operand{after}")
        return 1
    if len(operands) > 2:
        usage.complain(process, f"extra operand '{operands[2]}'")
        return 1
    ending = b"\0" if arguments.has("z") else b"\n"
    delimiters = arguments.values("delimiter") or ["\t"]
    if len(set(delimiters)) > 1:
        process.error("multiple output delimiters specified")
        return 1
    delimiter = delimiters[0].encode("utf-8", "surrogateescape") or b"\0"
    shown = [not arguments.has(column) for column in "123"]
    prefixes = [
        b"",
        delimiter if shown[0] else b"",
        (delimiter if shown[0] else b"") + (delimiter if shown[1] else b""),
    ]
    sides: list[Iterator[bytes]] = []
    for name in operands:
        try:
            sides.append(_lines(process, name, ending))
        except OSError as error:
            process.error(f"{name}: {usage.reason(error)}")
            return 1
    check = arguments.has("check")
    strict = check or not arguments.has("nocheck")
    lines = [next(side, None) for side in sides]
    counts = [0, 0, 0]
    disorder = [False, False]
    earlier: list[bytes | None] = [None, None]
    unpaired = False
    while lines[0] is not None or lines[1] is not None:
        if lines[1] is None or (lines[0] is not None and lines[0] < lines[1]):
            column = 0
        elif lines[0] is None or lines[1] < lines[0]:
            column = 1
        else:
            column = 2
        unpaired = unpaired or column < 2
        counts[column] += 1
        if shown[column]:
            process.stdout.write(prefixes[column] + (lines[0 if column != 1 else 1] or b"") + ending)
            if process.stdout.full:
                yield
        for side in (0, 1):
            if column in (side, 2):
                previous = lines[side]
                following = lines[side] = next(sides[side], None)
                # At the end of a file its last two lines are looked at again, as GNU comm does.
                pair = (earlier[side], previous) if following is None else (previous, following)
                wrong = pair[0] is not None and pair[1] is not None and pair[1] < pair[0]
                earlier[side] = previous
                if wrong and strict and not disorder[side] and (check or unpaired):
                    disorder[side] = True
                    process.error(f"file {side + 1} is not in sorted order")
                    if check:
                        return 1
    if arguments.has("total"):
        totals = delimiter.join(str(count).encode() for count in counts)
        process.stdout.write(totals + delimiter + b"total" + ending)
    if any(disorder):
        process.error("input is not in sorted order")
        return 1
    return 0


def _lines(process: Process, name: str, ending: bytes) -> Iterator[bytes]:
    """Lines without their endings; raises OSError at once."""
    if name == "-":
        return _split(process.stdin.chunks(), ending)
    file = open(process.path(name), "rb")
    if os.path.isdir(process.path(name)):
        file.close()
        raise IsADirectoryError(21, "Is a directory")
    return _split(iter(lambda: file.read(65536), b""), ending)


def _split(chunks: Iterator[bytes], ending: bytes) -> Iterator[bytes]:
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(ending)
        yield from lines
    if rest:
        yield rest
