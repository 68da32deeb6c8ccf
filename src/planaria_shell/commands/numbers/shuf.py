"""`shuf`: write a random permutation of the input lines to standard output."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Generator, Iterator

from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import CommandError, Invocation, command
from planaria_shell.toolkit.lines import records
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import quote, shell_quote
from planaria_shell.toolkit.sizes import parse_count
from planaria_shell.toolkit.streams import Sink, reason


@command(
    "shuf",
    short="ei:n:o:rz",
    long="echo=e input-range=i: head-count=n: output=o: random-source: repeat=r zero-terminated=z",
)
def shuf(call: Invocation) -> Generator[None, None, Status]:
    """Write a random permutation of the input lines to standard output."""
    arguments = call.arguments
    end = b"\0" if arguments.has("z") else b"\n"
    ranges = arguments.values("i")
    counts: list[int] = []
    for text in arguments.values("n"):
        try:
            counts.append(parse_count(text))
        except ValueError:
            raise UsageError(f"invalid line count: {quote(text)}", hint=False) from None
    limit = min(counts, default=None)
    generator = random.Random(os.urandom(32))
    if (seed := arguments.value("random-source")) is not None:
        with call.open(seed) as source:
            generator.seed(source.read(4096))
    if arguments.has("e") and ranges:
        raise UsageError("cannot combine -e and -i options")
    items: range | list[bytes]
    if ranges:
        if len(ranges) > 1:
            raise UsageError("multiple -i options specified", hint=False)
        match = re.fullmatch(r"(\d+)-(\d+)", ranges[0])
        if match is None or int(match[1]) > int(match[2]) + 1:
            # Said of the number that is none, and of both where each is one.
            first, dash, last = ranges[0].partition("-")
            wrong = ranges[0]
            if dash and not (first.isdigit() and last.isdigit()):
                wrong = last if first.isdigit() else first
            raise UsageError(f"invalid input range: {quote(wrong)}", hint=False)
        if call.operands:
            raise UsageError(f"extra operand {quote(call.operands[0])}")
        items = range(int(match[1]), int(match[2]) + 1)
    elif arguments.has("e"):
        items = [word.encode("utf-8", "surrogateescape") for word in call.operands]
    else:
        if len(call.operands) > 1:
            raise UsageError(f"extra operand {quote(call.operands[1])}")
        name = call.operands[0] if call.operands else "-"
        try:
            with call.open(name) as source:
                items = [line.removesuffix(end) for line in records(source.chunks(), end)]
        except IsADirectoryError as error:
            raise CommandError(f"read error: {reason(error)}") from None
        except OSError as error:
            raise CommandError(f"{shell_quote(name)}: {reason(error)}") from None
    chosen: Iterator[int | bytes]
    if arguments.has("r"):
        if not items:
            if limit == 0:
                return 0
            raise CommandError("no lines to repeat")
        chosen = _repeat(items, limit, generator)
    else:
        size = len(items)
        chosen = iter(generator.sample(items, size if limit is None else min(limit, size)))
    target = arguments.value("o")
    out: Sink = call.stdout
    file = None
    if target is not None:
        out = file = call.create(target)
    for item in chosen:
        out.write((b"%d" % item if isinstance(item, int) else item) + end)
        if out.full:
            yield
    if file:
        file.close()
    return 0


def _repeat(items: range | list[bytes], limit: int | None, generator: random.Random) -> Iterator[int | bytes]:
    count = 0
    while limit is None or count < limit:
        yield items[generator.randrange(len(items))]
        count += 1
