"""uniq: report or leave out repeated lines."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Generator, Iterator
from operator import ne, sub

from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import CommandError, Invocation, command
from planaria_shell.toolkit.lines import batches, records
from planaria_shell.toolkit.options import UsageError, choose
from planaria_shell.toolkit.quoting import quote, shell_quote, shell_quote_always
from planaria_shell.toolkit.sizes import parse_count
from planaria_shell.toolkit.streams import Sink, Source, reason

__all__: list[str] = []

_GROUPS = ("prepend", "append", "separate", "both")
_REPEATED = ("none", "prepend", "separate")


def _old_forms(words: list[str]) -> list[str]:
    """`-N` for `-f N` and `+N` for `-s N`, which uniq still reads."""
    out: list[str] = []
    for index, word in enumerate(words):
        if word == "--":
            return out + words[index:]
        match = re.fullmatch(r"-(\d+)(.*)", word)
        if out and out[-1] in ("-f", "-s", "-w"):
            # The value of an option, be it a wrong one.
            out.append(word)
        elif re.fullmatch(r"\+\d+", word):
            out += ["-s", word[1:]]
        elif match:
            out += ["-f", match[1]]
            if match[2]:
                out.append("-" + match[2])
        else:
            out.append(word)
    return out


@command(
    "uniq",
    short="cdDf:is:uw:z",
    long="count=c repeated=d all-repeated:: skip-fields=f: group:: ignore-case=i skip-chars=s: unique=u "
    "check-chars=w: zero-terminated=z",
    usage="[OPTION]... [INPUT [OUTPUT]]",
    rewrite=_old_forms,
)
def uniq(call: Invocation) -> Generator[None, None, Status]:
    """Filter adjacent matching lines from INPUT (or standard input), writing to OUTPUT."""
    arguments = call.arguments
    names = call.operands
    if len(names) > 2:
        raise UsageError(f"extra operand {quote(names[2])}")
    repeated = arguments.has("d")
    unique = arguments.has("u")
    every: str | None = None
    if arguments.last(("D", "all-repeated")):
        every = choose(arguments.value("all-repeated") or "none", _REPEATED, "--all-repeated")
    group: str | None = None
    if arguments.has("group"):
        group = choose(arguments.value("group") or "separate", _GROUPS, "--group")
        if repeated or unique or every or arguments.has("c"):
            raise UsageError("--group is mutually exclusive with -c/-d/-D/-u")
    if every and arguments.has("c"):
        raise UsageError("printing all duplicated lines and repeat counts is meaningless")
    end = b"\0" if arguments.has("z") else b"\n"
    key = _key(call)
    name = names[0] if names else "-"
    source: Source | None = None
    try:
        source = call.open(name)
    except IsADirectoryError:
        pass  # it is reported once the output is there
    except OSError as error:
        raise CommandError(f"{shell_quote(name)}: {reason(error)}") from None
    target: Sink = call.stdout
    file = None
    if len(names) == 2 and names[1] != "-":
        try:
            target = file = call.create(names[1])
        except OSError as error:
            raise CommandError(f"{shell_quote(names[1])}: {reason(error)}") from None
    if source is None:
        raise CommandError(f"error reading {shell_quote_always(name)}")
    with source:
        if every or group:
            lines = (line.removesuffix(end) for line in records(source.chunks(), end))
            pieces = _whole_groups(lines, key, every, group, unique, end)
        else:
            blocks = batches(source.chunks(), end)
            pieces = _first_lines(blocks, key, arguments.has("c"), repeated, unique, end)
        for piece in pieces:
            target.write(piece)
            if target.full:
                yield
    if file:
        file.close()
    return call.status


def _key(call: Invocation) -> Callable[[bytes], bytes] | None:
    """What of a line is compared; None for all of it."""
    numbers = {}
    for letter, what in (("f", "fields to skip"), ("s", "bytes to skip"), ("w", "bytes to compare")):
        text = call.arguments.value(letter)
        try:
            numbers[letter] = None if text is None else parse_count(text)
        except ValueError:
            raise UsageError(f"{text}: invalid number of {what}", hint=False) from None
    fields = numbers["f"] or 0
    skip = numbers["s"] or 0
    width = numbers["w"]
    fold = call.arguments.has("i")
    if not (fields or skip or fold) and width is None:
        return None
    skipper = re.compile(rb"(?:[ \t]*[^ \t]*){%d}" % fields).match

    def key(line: bytes) -> bytes:
        start = skip
        if fields:
            found = skipper(line)
            start += found.end() if found else 0
        text = line[start:] if width is None else line[start : start + width]
        return text.upper() if fold else text

    return key


def _first_lines(
    blocks: Iterator[list[bytes]],
    key: Callable[[bytes], bytes] | None,
    counted: bool,
    repeated: bool,
    unique: bool,
    end: bytes,
) -> Iterator[bytes]:
    """One line of each group, with its size when `counted`; some thousand lines at a time."""
    # The last group of a block may go on in the next one.
    value: bytes | None = None
    first, size = b"", 0
    every = not (counted or repeated or unique)
    for lines in itertools.chain(blocks, [[]]):
        values = lines if key is None else list(map(key, lines))
        changes = map(ne, values, [value, *values])
        if every:
            chosen = list(itertools.compress(lines, changes))
        else:
            begins = list(itertools.compress(range(len(lines)), changes))
            firsts = list(map(lines.__getitem__, begins))
            sizes = list(map(sub, [*begins[1:], len(lines)], begins))
            if value is not None:
                firsts.insert(0, first)
                sizes.insert(0, size + (begins[0] if begins else len(lines)))
            if lines:
                first, size = firsts.pop(), sizes.pop()
            groups: Iterator[tuple[int, bytes]] = zip(sizes, firsts, strict=True)
            if repeated or unique:
                groups = ((n, text) for n, text in groups if not (repeated if n == 1 else unique))
            chosen = [b"%7d %s" % group for group in groups] if counted else [text for _, text in groups]
        value = values[-1] if values else value
        if chosen:
            yield end.join(chosen) + end


def _whole_groups(
    lines: Iterator[bytes],
    key: Callable[[bytes], bytes] | None,
    every: str | None,
    group: str | None,
    unique: bool,
    end: bytes,
) -> Iterator[bytes]:
    """All lines of the groups, with empty lines around them as asked for."""
    shown = False
    for _, members in itertools.groupby(lines, key):
        first = next(members)
        if group:
            if group in ("prepend", "both") or (group == "separate" and shown):
                yield end
            shown = True
            yield first + end
            for line in members:
                yield line + end
            if group == "append":
                yield end
            continue
        second = next(members, None)  # noqa: B031
        if second is None:
            continue
        if every == "prepend" or (every == "separate" and shown):
            yield end
        shown = True
        # -u with -D leaves out the last line of each group.
        waiting = first
        for line in itertools.chain([second], members):
            yield waiting + end
            waiting = line
        if not unique:
            yield waiting + end
    if group == "both" and shown:
        yield end
