"""`join`: for each pair of input lines with identical join fields, write a line to standard output."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator

from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import CommandError, Invocation, command
from planaria_shell.toolkit.lines import records
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import quote, shell_quote, shell_quote_always
from planaria_shell.toolkit.streams import reason

_BLANKS = re.compile(rb"[ \t\n]+")


class _Side:
    """One of the two files of join: its groups of lines with the same key."""

    def __init__(self, number: int, name: str, lines: Iterator[bytes]) -> None:
        self.number = number
        self.name = name
        self.lines = lines
        self.field = 0
        self.row: list[bytes] | None = None
        self.text = b""
        self.count = 0
        self.previous: bytes | None = None
        self.disorder = False


class _Join:
    def __init__(self, call: Invocation) -> None:
        arguments = call.arguments
        self.call = call
        self.end = b"\0" if arguments.has("z") else b"\n"
        self.fold = arguments.has("i")
        separator = arguments.value("t")
        self.separator: bytes | None = None
        if separator is not None:
            data = separator.encode("utf-8", "surrogateescape")
            if separator == "\\0":
                data = b"\0"
            elif len(data) > 1:
                raise UsageError(f"multi-character tab {quote(separator)}", hint=False)
            self.separator = data or self.end
        self.glue = self.separator or b" "
        self.filler = (arguments.value("e") or "").encode("utf-8", "surrogateescape")
        self.check = (
            "no" if arguments.has("nocheck-order") else "yes" if arguments.has("check-order") else "soft"
        )
        self.only_unpaired = arguments.has("v")
        self.unpaired = {self._file(value) for value in arguments.values("a", "v")}
        self.format: list[tuple[int, int]] | None = None
        self.seen_unpairable = False

    @staticmethod
    def _file(text: str) -> int:
        if text not in ("1", "2"):
            raise UsageError(f"invalid field number: {quote(text)}", hint=False)
        return int(text)

    def split(self, line: bytes) -> list[bytes]:
        if self.separator is None:
            return [field for field in _BLANKS.split(line) if field]
        if self.separator == self.end:
            return [line]
        return line.split(self.separator)

    def advance(self, side: _Side) -> None:
        line = next(side.lines, None)
        if line is None:
            side.row = None
            return
        text = line.removesuffix(self.end)
        side.row = self.split(text)
        side.count += 1
        key = self.key(side, side.row)
        checking = self.check == "yes" or (self.check == "soft" and self.seen_unpairable)
        if checking and not side.disorder and side.previous is not None and key < side.previous:
            side.disorder = True
            shown = text.decode("utf-8", "surrogateescape")
            message = f"{shell_quote(side.name)}:{side.count}: is not sorted: {shown}"
            if self.check == "yes":
                raise CommandError(message)
            self.call.complain(message)
        side.previous = key

    def key(self, side: _Side, row: list[bytes]) -> bytes:
        text = row[side.field] if side.field < len(row) else b""
        return text.lower() if self.fold else text

    def show(self, first: _Side | None, a: list[bytes], second: _Side | None, b: list[bytes]) -> bytes:
        """A line of output for a pair, or for one row when a side is None."""
        if self.format is not None:
            rows = {1: a if first else [], 2: b if second else []}
            fields = []
            for number, index in self.format:
                if number == 0:
                    side, row = (first, a) if first else (second, b)
                    assert side is not None
                    index = side.field
                else:
                    row = rows[number]
                fields.append((row[index] if index < len(row) else b"") or self.filler)
            return self.glue.join(fields) + self.end
        side, row = (first, a) if first else (second, b)
        assert side is not None
        fields = [(row[side.field] if side.field < len(row) else b"") or self.filler]
        for part, values in ((first, a), (second, b)):
            if part is not None:
                fields += [value or self.filler for index, value in enumerate(values) if index != part.field]
        return self.glue.join(fields) + self.end


def _join_format(text: str) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    for item in re.split(r"[, \t]", text):
        if item == "0":
            out.append((0, 0))
            continue
        match = re.fullmatch(r"([12])\.(\d+)", item)
        if match is None:
            if re.match(r"[12]\.", item):
                raise UsageError(f"invalid field number: {quote(item[2:])}", hint=False)
            if item[:1] in ("1", "2"):
                raise UsageError(f"invalid field specifier: {quote(item)}", hint=False)
            raise UsageError(f"invalid file number in field spec: {quote(item)}", hint=False)
        if not int(match[2]):
            raise UsageError(f"invalid field number: {quote(match[2])}", hint=False)
        out.append((int(match[1]), int(match[2]) - 1))
    return out


def _field(text: str | None) -> int | None:
    if text is None:
        return None
    if not text.isdigit() or not int(text):
        raise UsageError(f"invalid field number: {quote(text)}", hint=False)
    return int(text) - 1


@command(
    "join",
    short="1:2:a:e:ij:o:t:v:z",
    long="ignore-case=i check-order nocheck-order zero-terminated=z header",
    usage="[OPTION]... FILE1 FILE2",
)
def join(call: Invocation) -> Generator[None, None, Status]:
    """For each pair of input lines with identical join fields, write a line to standard output."""
    arguments = call.arguments
    joiner = _Join(call)
    both = _field(arguments.value("j"))
    fields = [_field(arguments.value("1")), _field(arguments.value("2"))]
    for field in fields:
        if both is not None and field is not None and field != both:
            raise UsageError(f"incompatible join fields {both + 1}, {field + 1}", hint=False)
    names = call.operands
    if len(names) < 2:
        raise UsageError(f"missing operand after {quote(names[-1])}" if names else "missing operand")
    if len(names) > 2:
        raise UsageError(f"extra operand {shell_quote_always(names[2])}")
    if names == ["-", "-"]:
        raise CommandError("both files cannot be standard input")
    sides: list[_Side] = []
    unreadable: OSError | None = None
    for index, name in enumerate(names):
        try:
            source = call.keep_open(name)
        except IsADirectoryError as error:
            unreadable = error
            continue
        except OSError as error:
            raise CommandError(f"{shell_quote(name)}: {reason(error)}") from None
        side = _Side(index + 1, name, records(source.chunks(), joiner.end))
        side.field = fields[index] if fields[index] is not None else both or 0  # type: ignore[assignment]
        sides.append(side)
    if unreadable is not None:
        raise CommandError(f"read error: {reason(unreadable)}")
    one, two = sides
    forms = arguments.values("o")
    header = arguments.has("header")
    if header:
        for side in sides:
            line = next(side.lines, None)
            side.row = None if line is None else joiner.split(line.removesuffix(joiner.end))
            side.count += line is not None
    if forms == ["auto"]:
        if not header:
            for side in sides:
                joiner.advance(side)
        width = [len(side.row or []) for side in sides]
        joiner.format = [(0, 0)]
        for side, count in zip(sides, width, strict=True):
            joiner.format += [(side.number, index) for index in range(count) if index != side.field]
    elif forms:
        joiner.format = [item for text in forms for item in _join_format(text)]
    if header:
        a, b = one.row or [], two.row or []
        if one.row is not None or two.row is not None:
            call.stdout.write(
                joiner.show(one if one.row is not None else None, a, two if two.row is not None else None, b)
            )
        one.row = two.row = None
    if header or forms != ["auto"]:
        for side in sides:
            joiner.advance(side)
    for piece in _merge(joiner, one, two):
        call.stdout.write(piece)
        if call.stdout.full:
            yield
    if one.disorder or two.disorder:
        call.complain("input is not in sorted order")
    return call.status


def _merge(joiner: _Join, one: _Side, two: _Side) -> Iterator[bytes]:
    """The output for two sorted files."""
    while one.row is not None and two.row is not None:
        key, other = joiner.key(one, one.row), joiner.key(two, two.row)
        if key != other:
            side = one if key < other else two
            assert side.row is not None
            if side.number in joiner.unpaired:
                yield (
                    joiner.show(one, side.row, None, [])
                    if side is one
                    else joiner.show(None, [], two, side.row)
                )
            joiner.advance(side)
            joiner.seen_unpairable = True
            continue
        groups: list[list[list[bytes]]] = []
        for side in (one, two):
            group: list[list[bytes]] = []
            while side.row is not None and joiner.key(side, side.row) == key:
                group.append(side.row)
                joiner.advance(side)
            groups.append(group)
        if not joiner.only_unpaired:
            for row in groups[0]:
                for partner in groups[1]:
                    yield joiner.show(one, row, two, partner)
    for side, other_side in ((one, two), (two, one)):
        if side.row is not None and other_side.count:
            joiner.seen_unpairable = True
        while side.row is not None:
            if side.number in joiner.unpaired:
                yield (
                    joiner.show(one, side.row, None, [])
                    if side is one
                    else joiner.show(None, [], two, side.row)
                )
            joiner.advance(side)
