"""`column`: lists in columns, tables (util-linux)."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Generator

from planaria_shell.toolkit.invocation import Invocation, command
from planaria_shell.toolkit.options import Arguments, UsageError
from planaria_shell.toolkit.streams import read_input, reason


def width_of(text: str) -> int:
    """Columns that a text takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in text
    )


@command(
    "column",
    short="c:C:dE:eH:hJLl:mN:n:O:o:R:r:s:T:tVW:x",
    long="table=t table-name=n: table-order=O: table-columns=N: table-column=C: table-noextreme=E: "
    "table-noheadings=d table-header-repeat=e table-hide=H: table-right=R: table-truncate=T: "
    "table-wrap=W: table-maxout=m table-columns-limit=l: table-empty-lines=L keep-empty-lines=L "
    "json=J tree=r: output-width=c: columns=c: separator=s: output-separator=o: fillrows=x help=h "
    "version=V",
    usage="[OPTION]... [FILE]...",
    version="column from util-linux 2.38.1\n",
)
def column(call: Invocation) -> Generator[None, None, int]:
    """Arrange lines in columns, or their words in a table."""
    process, arguments = call.process, call.arguments
    if arguments.has("r"):
        process.error("--tree is not there; use --table")
        return 1
    if arguments.has(*"dEHNORTWemln") and not arguments.has("t", "J"):
        process.error("option --table required for all --table-*")
        return 1
    if arguments.has("t") and arguments.has("x"):
        process.error("mutually exclusive arguments: --table --fillrows")
        return 1
    if arguments.has("J") and not arguments.has("N"):
        process.error("option --table-columns required for --json")
        return 1
    status = 0
    lines: list[str] = []
    for name in arguments.operands or ["-"]:
        try:
            text = read_input(process, name).decode("utf-8", "surrogateescape")
        except OSError as error:
            process.error(f"{name}: {reason(error)}")
            status = 1
            continue
        lines += text.removesuffix("\n").split("\n") if text else []
    if not arguments.has("L"):
        lines = [line for line in lines if line.strip()]
    width_text = arguments.value("c") or process.env.get("COLUMNS") or "80"
    if width_text == "unlimited":
        width_text = str(1 << 60)
    if not width_text.isdigit():
        process.error("invalid columns argument: " + f"'{width_text}'")
        return 1
    width = int(width_text)
    if arguments.has("J"):
        output = _json(lines, arguments)
    elif arguments.has("t"):
        try:
            output = _table(lines, arguments)
        except UsageError as error:
            process.error(str(error))
            return 1
    else:
        output = _fill(lines, width, by_rows=arguments.has("x"))
    for line in output:
        process.stdout.write((line + "\n").encode("utf-8", "surrogateescape"))
        if process.stdout.full:
            yield
    return status


def _cells(line: str, arguments: Arguments) -> list[str]:
    separators = arguments.value("s")
    limit = int(arguments.value("l") or 0)
    if separators is None:
        cells = line.split(None, limit - 1) if limit else line.split()
        return [cell.rstrip() for cell in cells] if limit else cells
    pattern = "[" + re.escape(_unescape(separators)) + "]"
    return re.split(pattern, line, maxsplit=limit - 1 if limit else 0)


def _unescape(text: str) -> str:
    return text.replace("\\t", "\t").replace("\\n", "\n")


def _numbers(text: str | None, names: list[str], count: int) -> list[int]:
    """Columns that an option lists, by number, range or name, counted from 0."""
    found: list[int] = []
    for part in (text or "").split(","):
        span = re.fullmatch(r"(\d+)-(\d+)", part)
        if span:
            found += range(int(span.group(1)) - 1, int(span.group(2)))
        elif part in names:
            found.append(names.index(part))
        elif part == "0":
            found += range(count)
        elif part == "-1":
            found.append(count - 1)
        elif part.isdigit():
            found.append(int(part) - 1)
        elif part:
            raise UsageError(f"undefined column name '{part}'")
    return found


def _table(lines: list[str], arguments: Arguments) -> list[str]:
    rows = [_cells(line, arguments) for line in lines]
    given = arguments.value("N")
    names = given.split(",") if given else []
    header = bool(names) and not arguments.has("d")
    count = max([len(row) for row in rows] + [len(names)], default=0)
    if header and rows:
        rows.insert(0, names + [""] * (count - len(names)))
    order = _numbers(arguments.value("O"), names, count)
    hidden = set(_numbers(arguments.value("H"), names, count))
    places = order + [place for place in range(count) if place not in order]
    places = [place for place in places if place not in hidden]
    right = set(_numbers(arguments.value("R"), names, count))
    separator = _unescape(arguments.value("o") or "  ")
    widths = {
        place: max((width_of(row[place]) for row in rows if place < len(row)), default=0) for place in places
    }
    output = []
    for row in rows:
        pieces = []
        for position, place in enumerate(places):
            cell = row[place] if place < len(row) else ""
            padding = " " * (widths[place] - width_of(cell))
            if place in right:
                pieces.append(padding + cell)
            elif position == len(places) - 1:
                pieces.append(cell)
            else:
                pieces.append(cell + padding)
        output.append(separator.join(pieces))
    return output


def _json(lines: list[str], arguments: Arguments) -> list[str]:
    names = (arguments.value("N") or "").split(",")
    rows = [_cells(line, arguments) for line in lines]
    output = ["{", f'   "{arguments.value("n") or "table"}": [']
    for number, row in enumerate(rows):
        output.append("      {" if number == 0 else output.pop() + "{")
        for place, name in enumerate(names):
            cell = row[place] if place < len(row) else ""
            value = json.dumps(cell, ensure_ascii=False) if cell else "null"
            comma = "," if place < len(names) - 1 else ""
            output.append(f'         "{name.lower()}": {value}{comma}')
        output.append("      }" + ("," if number < len(rows) - 1 else ""))
    return [*output, "   ]", "}"]


def _fill(lines: list[str], width: int, *, by_rows: bool) -> list[str]:
    """Entries in as many columns as fit, each at a multiple of eight."""
    if not lines:
        return []
    widest = max(map(width_of, lines))
    step = (widest + 8) // 8 * 8
    count = max(width // step, 1)
    if widest >= width or count == 1:
        return lines
    rows = (len(lines) + count - 1) // count
    output = []
    for row in range(rows):
        entries = lines[row * count : (row + 1) * count] if by_rows else lines[row::rows]
        text = ""
        for position, entry in enumerate(entries):
            text += entry
            if position < len(entries) - 1:
                at = width_of(entry)
                text += "\t" * ((step - at + 7) // 8)
        output.append(text)
    return output
