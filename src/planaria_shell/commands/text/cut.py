"""cut: print parts of each line, chosen by bytes, characters or fields."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Generator
from operator import itemgetter

from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import Invocation, command
from planaria_shell.toolkit.lines import batches
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import quote

__all__ = ["parse_ranges"]

_END = 1 << 62
_RANGE = re.compile(r"(\d*)(-?)(\d*)")


def parse_ranges(text: str, what: str) -> list[tuple[int, int]]:
    """`1,3-5,7-` as sorted, joined pairs (first, last), counted from 0 with the last one excluded.

    `what` is "field" or "byte/character" for the messages of UsageError.
    """
    fields = what == "field"
    pairs: list[tuple[int, int]] = []
    for item in re.split(r"[, \t]", text):
        match = _RANGE.fullmatch(item)
        if match is None:
            bad = re.sub(r"^[\d-]*", "", item)
            if re.fullmatch(r"\d*-\d*-.*", item):
                raise UsageError(f"invalid {'field' if fields else 'byte or character'} range")
            whole = f"invalid {'field value' if fields else 'byte/character position'} {quote(bad)}"
            raise UsageError(whole)
        low, dash, high = match.groups()
        if dash and not low and not high:
            raise UsageError("invalid range with no endpoint: -")
        if not dash and not low:
            low = "0"
        if (low and not int(low)) or (dash and high and not int(high) and not low):
            raise UsageError(
                "fields are numbered from 1" if fields else "byte/character positions are numbered from 1"
            )
        first = int(low or "1")
        last = int(high) if high else _END if dash else first
        if last < first:
            raise UsageError("invalid decreasing range")
        pairs.append((first - 1, last))
    pairs.sort()
    joined: list[tuple[int, int]] = []
    for first, last in pairs:
        # Ranges that overlap become one; those that only touch stay apart, as --output-delimiter shows.
        if joined and first < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    return joined


def _complement(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    at = 0
    for first, last in pairs:
        if first > at:
            out.append((at, first))
        at = last
    if at < _END:
        out.append((at, _END))
    return out


@command(
    "cut",
    short="b:c:d:f:nsz",
    long="bytes=b: characters=c: delimiter=d: fields=f: only-delimited=s output-delimiter: complement "
    "zero-terminated=z",
    usage="OPTION... [FILE]...",
)
def cut(call: Invocation) -> Generator[None, None, Status]:
    """Print selected parts of lines from each FILE to standard output."""
    arguments = call.arguments
    lists = [(key, value or "") for key, value in arguments if key in ("b", "c", "f")]
    if len(lists) > 1:
        raise UsageError("only one list may be specified")
    delimiter = arguments.value("d")
    if delimiter is not None and len(delimiter.encode("utf-8", "surrogateescape")) > 1:
        raise UsageError("the delimiter must be a single character")
    if not lists:
        raise UsageError("you must specify a list of bytes, characters, or fields")
    kind, text = lists[0]
    if kind != "f":
        if delimiter is not None:
            raise UsageError("an input delimiter may be specified only when operating on fields")
        if arguments.has("s"):
            raise UsageError("suppressing non-delimited lines makes sense\n\tonly when operating on fields")
    pairs = parse_ranges(text, "field" if kind == "f" else "byte/character")
    if arguments.has("complement"):
        pairs = _complement(pairs)
    end = b"\0" if arguments.has("z") else b"\n"
    between_text = arguments.value("output-delimiter")
    between = None if between_text is None else between_text.encode("utf-8", "surrogateescape") or b"\0"
    if kind == "f":
        separator = b"\t" if delimiter is None else delimiter.encode("utf-8", "surrogateescape") or b"\0"
        convert = _fields(
            pairs, separator, separator if between is None else between, arguments.has("s"), end
        )
        if separator == end:
            # Lines cannot be distinguished from fields: the whole input is one line.
            for source in call.inputs():
                if data := source.read():
                    call.stdout.write(convert([data.removesuffix(end)]) or end)
            return call.status
    else:
        convert = _bytes(pairs, b"" if between is None else between, end)
    for source in call.inputs():
        for lines in batches(source.chunks(), end):
            call.stdout.write(convert(lines))
            if call.stdout.full:
                yield
    return call.status


def _bytes(pairs: list[tuple[int, int]], between: bytes, end: bytes) -> Callable[[list[bytes]], bytes]:
    if len(pairs) == 1:
        first, last = pairs[0]
        part = slice(first, last)
        return lambda lines: end.join([line[part] for line in lines]) + end
    parts = [slice(first, last) for first, last in pairs]

    def convert(lines: list[bytes]) -> bytes:
        return end.join([between.join([p for p in [line[s] for s in parts] if p]) for line in lines]) + end

    return convert


def _fields(
    pairs: list[tuple[int, int]], separator: bytes, between: bytes, only_delimited: bool, end: bytes
) -> Callable[[list[bytes]], bytes]:
    highest = max((last for _, last in pairs), default=0)
    splits = -1 if highest >= _END else max(highest, 1)
    single = pairs[0][0] if len(pairs) == 1 and pairs[0][1] == pairs[0][0] + 1 else None
    indices = (
        list(itertools.chain.from_iterable(range(first, last) for first, last in pairs))
        if highest < 1000
        else []
    )
    pick = itemgetter(*indices) if len(indices) > 1 else None

    each_has_all = _common(pairs, pick, splits, separator, between, only_delimited)

    def choose_fields(line: bytes) -> bytes | None:
        fields = line.split(separator, splits)
        if len(fields) == 1:
            return None if only_delimited else line
        if single is not None:
            return fields[single] if single < len(fields) else b""
        if pick is not None and highest <= len(fields):
            return between.join(pick(fields))
        chosen: list[bytes] = []
        for first, last in pairs:
            if first >= len(fields):
                break
            chosen += fields[first:last]
        return between.join(chosen)

    def convert(lines: list[bytes]) -> bytes:
        if each_has_all is not None:
            try:
                return end.join(each_has_all(lines)) + end
            except IndexError:
                # A line has fewer fields.
                pass
        out = [text for text in map(choose_fields, lines) if text is not None]
        return end.join(out) + end if out else b""

    return convert


def _common(
    pairs: list[tuple[int, int]],
    pick: Callable[[list[bytes]], tuple[bytes, ...]] | None,
    splits: int,
    separator: bytes,
    between: bytes,
    only_delimited: bool,
) -> Callable[[list[bytes]], list[bytes]] | None:
    """The usual case as one loop, which raises IndexError when a line has too few fields for it."""
    if pick is not None:
        return lambda lines: [between.join(pick(line.split(separator, splits))) for line in lines]
    if len(pairs) != 1:
        return None
    first, last = pairs[0]
    if first and last == first + 1:
        return lambda lines: [line.split(separator, splits)[first] for line in lines]
    if first and last >= _END and between == separator:
        return lambda lines: [line.split(separator, first)[first] for line in lines]
    if last == 1 and not only_delimited:
        return lambda lines: [line.partition(separator)[0] for line in lines]
    return None
