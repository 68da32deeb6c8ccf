"""split: a file in pieces of a size or a number of lines."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator

from planaria_shell.commands.text.wc import file_size
from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import CommandError, Invocation, command
from planaria_shell.toolkit.lines import records
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import quote, shell_quote, shell_quote_always
from planaria_shell.toolkit.sizes import parse_count, parse_size
from planaria_shell.toolkit.streams import Source, Target, reason

__all__: list[str] = []

_OUT_OF_RANGE = ": Numerical result out of range"
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


class _Names:
    """The names of the pieces: prefix, counted suffix, additional suffix."""

    def __init__(self, call: Invocation, prefix: str, pieces: int | None) -> None:
        arguments = call.arguments
        self.prefix = prefix
        self.extra = arguments.value("additional-suffix") or ""
        if "/" in self.extra:
            raise UsageError(f"invalid suffix {quote(self.extra)}, contains directory separator")
        self.digits = _LETTERS
        self.start = 0
        kind = arguments.last(("d", "numeric-suffixes", "x", "hex-suffixes"))
        if kind in ("d", "numeric-suffixes"):
            self.digits = "0123456789"
        elif kind:
            self.digits = "0123456789abcdef"
        if kind in ("numeric-suffixes", "hex-suffixes") and (value := arguments.value(kind)) is not None:
            base = 10 if kind == "numeric-suffixes" else 16
            try:
                self.start = int(value, base)
            except ValueError:
                raise UsageError(f"{quote(value)}: invalid start value for numerical suffix") from None
        text = arguments.value("a")
        try:
            length = None if text is None else parse_count(text)
        except ValueError:
            raise UsageError(f"invalid suffix length: {quote(text or '')}", hint=False) from None
        self.grows = not length and not self.start and pieces is None
        self.length = length or 2
        if pieces is not None or (not length and self.start):
            needed = len(_in_base((pieces or 1) - 1 + self.start, self.digits))
            if length and needed > length:
                raise UsageError(f"the suffix length needs to be at least {needed}", hint=False)
            self.length = max(self.length, needed)

    def name(self, index: int) -> str:
        base = len(self.digits)
        length = self.length
        lead = ""
        number = index + self.start
        if self.grows:
            # A last digit is kept in reserve: `xyz` is followed by `xzaaa`, so that names stay sorted.
            while number >= (base - 1) * base ** (length - 1):
                number -= (base - 1) * base ** (length - 1)
                lead += self.digits[-1]
                length += 1
        elif number >= base**length:
            raise CommandError("output file suffixes exhausted")
        return self.prefix + lead + _in_base(number, self.digits).rjust(length, self.digits[0]) + self.extra


def _in_base(number: int, digits: str) -> str:
    out = ""
    while True:
        number, digit = divmod(number, len(digits))
        out = digits[digit] + out
        if not number:
            return out


class _Pieces:
    """Writes pieces one after the other, or several at a time."""

    def __init__(self, call: Invocation, names: _Names) -> None:
        self.call = call
        self.names = names
        self.filter = call.arguments.value("filter")
        self.verbose = call.arguments.has("verbose")
        self.index = -1
        self.target: Target | None = None
        self.held: list[bytes] = []

    def next(self) -> None:
        self.close()
        self.index += 1
        name = self.names.name(self.index)
        self.name = name
        if self.filter is not None:
            self.held = []
            return
        if self.verbose:
            self.call.print(f"creating file {shell_quote_always(name)}")
        try:
            self.target = self.call.create(name)
        except OSError as error:
            raise CommandError(f"{shell_quote(name)}: {reason(error)}") from None

    def write(self, data: bytes) -> None:
        if self.target is not None:
            self.target.write(data)
        else:
            self.held.append(data)

    def close(self) -> None:
        if self.target is not None:
            self.target.close()
            self.target = None
        elif self.filter is not None and self.index >= 0:
            environment = {**self.call.env, "FILE": self.name}
            status = self.call.run(["sh", "-c", self.filter], stdin=b"".join(self.held), env=environment)
            if status:
                raise CommandError(f"with FILE={self.name}, exit {status} from command: {self.filter}")


def _old_form(words: list[str]) -> list[str]:
    return [f"-l{word[1:]}" if re.fullmatch(r"-\d+", word) else word for word in words]


@command(
    "split",
    short="a:b:C:del:n:t:ux",
    long="suffix-length=a: additional-suffix: bytes=b: line-bytes=C: numeric-suffixes:: hex-suffixes:: "
    "elide-empty-files=e filter: lines=l: number=n: separator=t: unbuffered=u verbose",
    usage="[OPTION]... [FILE [PREFIX]]",
    rewrite=_old_form,
)
def split(call: Invocation) -> Generator[None, None, Status]:
    """Output pieces of FILE to PREFIXaa, PREFIXab, ...; default size is 1000 lines, default PREFIX is 'x'."""
    arguments = call.arguments
    names = call.operands
    if len(names) > 2:
        raise UsageError(f"extra operand {quote(names[2])}")
    ways = [(key, value or "") for key, value in arguments if key in ("b", "C", "l", "n")]
    if len(ways) > 1:
        raise UsageError("cannot split in more than one way")
    way, text = ways[0] if ways else ("l", "1000")
    separator = arguments.value("t")
    end = b"\n"
    if separator is not None:
        end = b"\0" if separator == "\\0" else separator.encode("utf-8", "surrogateescape")
        if len(end) != 1:
            problem = f"multi-character separator {quote(separator)}" if end else "empty record separator"
            raise UsageError(problem, hint=False)
    chunked = _parse_chunks(text) if way == "n" else None
    size = 0
    if chunked is None:
        what = {"b": "bytes", "C": "bytes", "l": "lines"}[way]
        try:
            size = parse_size(text)
        except ValueError:
            raise UsageError(f"invalid number of {what}: {quote(text)}", hint=False) from None
        if not size:
            raise UsageError(f"invalid number of {what}: {quote(text)}{_OUT_OF_RANGE}", hint=False)
    namer = _Names(call, names[1] if len(names) > 1 else "x", chunked[2] if chunked else None)
    name = names[0] if names else "-"
    try:
        source = call.open(name)
    except OSError as error:
        if isinstance(error, IsADirectoryError):
            raise CommandError(f"{shell_quote(name)}: {reason(error)}") from None
        raise CommandError(f"cannot open {shell_quote_always(name)} for reading: {reason(error)}") from None
    pieces = _Pieces(call, namer)
    with source:
        if chunked is not None:
            yield from _chunks(call, source, chunked, pieces, end)
        elif way == "l":
            _by_lines(source, size, pieces, end)
        else:
            _by_parts(_parts(source, size, end if way == "C" else None), size, pieces)
    pieces.close()
    return call.status


def _by_lines(source: Source, size: int, pieces: _Pieces, end: bytes) -> None:
    left = 0
    for line in records(source.chunks(), end):
        if not left:
            pieces.next()
            left = size
        pieces.write(line)
        left -= 1


def _parts(source: Source, size: int, end: bytes | None) -> Iterator[bytes]:
    """What must stay together in a piece: lines (`-C`), cut where longer than a piece; or any bytes."""
    if end is None:
        yield from source.chunks()
        return
    yield from records(source.chunks(), end)


def _by_parts(parts: Iterator[bytes], size: int, pieces: _Pieces) -> None:
    whole_lines = isinstance(parts, Generator) and pieces.call.arguments.has("C")
    left = 0
    for part in parts:
        if whole_lines and len(part) > left and left < size:
            left = 0
        at = 0
        while at < len(part):
            if not left:
                pieces.next()
                left = size
            data = part[at : at + left]
            pieces.write(data)
            left -= len(data)
            at += len(data)


def _parse_chunks(text: str) -> tuple[str, int | None, int]:
    """`[l/|r/][K/]N` as (kind, K, N)."""
    kind = ""
    rest = text
    if rest[:2] in ("l/", "r/"):
        kind, rest = rest[0], rest[2:]
    first, slash, second = rest.partition("/")
    chosen: int | None = None
    total_text = second if slash else first
    try:
        total = parse_count(total_text)
    except ValueError:
        raise UsageError(f"invalid number of chunks: {quote(total_text)}", hint=False) from None
    if not total:
        raise UsageError(f"invalid number of chunks: {quote(total_text)}{_OUT_OF_RANGE}", hint=False)
    if slash:
        try:
            chosen = parse_count(first)
        except ValueError:
            raise UsageError(f"invalid chunk number: {quote(first)}", hint=False) from None
        if not 1 <= chosen <= total:
            raise UsageError(f"invalid chunk number: {quote(first)}{_OUT_OF_RANGE}", hint=False)
    return kind, chosen, total


def _chunks(
    call: Invocation, source: Source, chunked: tuple[str, int | None, int], pieces: _Pieces, end: bytes
) -> Generator[None, None, None]:
    kind, chosen, total = chunked
    elide = call.arguments.has("e")
    if kind == "r":
        if chosen is not None:
            for index, line in enumerate(records(source.chunks(), end)):
                if index % total == chosen - 1:
                    call.stdout.write(line)
                    if call.stdout.full:
                        yield
            return
        groups: list[list[bytes]] = [[] for _ in range(total)]
        for index, line in enumerate(records(source.chunks(), end)):
            groups[index % total].append(line)
        parts = [b"".join(group) for group in groups]
    else:
        if file_size(source) is None and not kind and chosen is None:
            raise CommandError("cannot determine file size")
        data = source.read()
        parts = _cut(data, total, end if kind == "l" else None)
    if chosen is not None:
        call.stdout.write(parts[chosen - 1])
        return
    for part in parts:
        if part or not elide:
            pieces.next()
            pieces.write(part)


def _cut(data: bytes, total: int, end: bytes | None) -> list[bytes]:
    """`total` parts of about the same size; lines whole when `end` is given."""
    size = max(len(data) // total, 1)
    limits = [min(size * index, len(data)) for index in range(1, total)] + [len(data)]
    parts: list[bytes] = []
    at = 0
    for limit in limits:
        stop = limit
        if end is not None and limit < len(data):
            if limit <= at:
                stop = at
            else:
                found = data.find(end, limit - 1)
                stop = len(data) if found < 0 else found + 1
        parts.append(data[at:stop])
        at = max(at, stop)
    return parts
