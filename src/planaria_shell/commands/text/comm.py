"""`comm`: compare two sorted files."""

from __future__ import annotations

from collections.abc import Generator, Iterator

from planaria_shell.toolkit.invocation import Invocation, command
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.streams import reason


@command(
    "comm",
    short="123z",
    long="check-order=check nocheck-order=nocheck output-delimiter=delimiter: total zero-terminated=z",
    usage="[OPTION]... FILE1 FILE2",
    version="comm (GNU coreutils) 9.1\n",
)
def comm(call: Invocation) -> Generator[None, None, int]:
    """Compare two sorted files: lines of the first, of the second, of both."""
    process, arguments = call.process, call.arguments
    operands = arguments.operands
    if len(operands) < 2:
        after = f" after '{operands[-1]}'" if operands else ""
        raise UsageError(f"missing operand{after}")
    if len(operands) > 2:
        raise UsageError(f"extra operand '{operands[2]}'")
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
            sides.append(_lines(call, name, ending))
        except OSError as error:
            process.error(f"{name}: {reason(error)}")
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


def _lines(call: Invocation, name: str, ending: bytes) -> Iterator[bytes]:
    """Lines without their endings; raises OSError at once."""
    return _split(call.keep_open(name).chunks(), ending)


def _split(chunks: Iterator[bytes], ending: bytes) -> Iterator[bytes]:
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(ending)
        yield from lines
    if rest:
        yield rest
