"""pr: files in pages and columns for printing."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass

from planaria_shell.state.command import Status
from planaria_shell.toolkit.file_times import format_time
from planaria_shell.toolkit.invocation import Invocation, command
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import quote, shell_quote

__all__: list[str] = []

_HEADER_LINES = 5
_FOOTER_LINES = 5


def _old_forms(words: list[str]) -> list[str]:
    """`-3` is the number of columns, `+2:5` the pages to print."""
    out: list[str] = []
    for index, word in enumerate(words):
        if word == "--":
            return out + words[index:]
        if match := re.fullmatch(r"-(\d+)(.*)", word):
            out.append(f"--columns={match[1]}")
            if match[2]:
                out.append("-" + match[2])
        elif re.fullmatch(r"\+\d+(:\d+)?", word):
            out.append(f"--pages={word[1:]}")
        else:
            out.append(word)
    return out


@dataclass(slots=True)
class _Layout:
    columns: int = 1
    across: bool = False
    merge: bool = False
    length: int = 66
    width: int = 72
    truncate: bool = False
    double: bool = False
    plain: bool = False
    form_feed: bool = False
    separator: str | None = None
    join: bool = False
    number_separator: str = "\t"
    number_width: int = 0
    first_number: int = 1
    offset: int = 0
    first_page: int = 1
    last_page: int | None = None
    title: str | None = None
    date_format: str = "%Y-%m-%d %H:%M"

    @property
    def body(self) -> int:
        """Lines of text on a page."""
        lines = self.length if self.plain else self.length - _HEADER_LINES - _FOOTER_LINES
        return max(lines // 2 if self.double else lines, 1)


def _number(text: str, what: str, least: int = 1) -> int:
    if not text.isdigit() or int(text) < least:
        raise UsageError(f"{what}: {quote(text)}", hint=False)
    return int(text)


def _layout(call: Invocation) -> _Layout:
    layout = _Layout()
    width_given = False
    for key, value in call.arguments:
        text = value or ""
        if key == "columns":
            layout.columns = _number(text, "invalid number of columns")
        elif key == "pages":
            first, colon, last = text.partition(":")
            if not re.match("[0-9]", first):
                raise UsageError(f"invalid --pages argument '{text}'", hint=False)
            if first.isdigit() and int(first) >= 1 << 64:
                raise UsageError(f"--pages argument '{text}' too large", hint=False)
            if not (first.isdigit() and (last.isdigit() or not colon)):
                raise UsageError(f"invalid page range {quote(text)}", hint=False)
            layout.first_page = int(first)
            layout.last_page = int(last) if colon else None
            if not layout.first_page or (
                layout.last_page is not None and layout.last_page < layout.first_page
            ):
                raise UsageError(f"invalid page range {quote(text)}", hint=False)
        elif key == "a":
            layout.across = True
        elif key == "m":
            layout.merge = True
        elif key == "d":
            layout.double = True
        elif key == "l":
            layout.length = _number(text, "'-l PAGE_LENGTH' invalid number of lines")
        elif key == "w":
            layout.width, width_given = _number(text, "'-w PAGE_WIDTH' invalid number of characters"), True
        elif key == "W":
            layout.width, layout.truncate = (
                _number(text, "'-W PAGE_WIDTH' invalid number of characters"),
                True,
            )
        elif key in ("t", "T"):
            layout.plain = True
        elif key in ("f", "F"):
            layout.form_feed = True
        elif key == "s":
            layout.separator = "\t" if value is None else text
        elif key == "S":
            layout.separator = "" if value is None else text
        elif key == "J":
            layout.join = True
        elif key == "n":
            match = re.fullmatch(r"(\D?)(\d*)", text)
            if match is None or (match[2] and not int(match[2])):
                raise UsageError(
                    f"'-n' extra characters or invalid number in the argument: {quote(text)}", hint=True
                )
            layout.number_separator, layout.number_width = match[1] or "\t", int(match[2] or 5)
        elif key == "N":
            if not re.fullmatch(r"-?\d+", text):
                raise UsageError(f"'-N NUMBER' invalid starting line number: {quote(text)}", hint=False)
            layout.first_number = int(text)
        elif key == "o":
            layout.offset = _number(text, "'-o MARGIN' invalid line offset", 0)
        elif key == "h":
            layout.title = text
        elif key == "D":
            layout.date_format = text
    if layout.merge and (layout.columns > 1 or layout.across):
        what = "cannot specify number of columns when printing in parallel"
        if layout.across:
            what = "cannot specify both printing across and printing in parallel"
        raise UsageError(what, hint=False)
    if layout.length <= _HEADER_LINES + _FOOTER_LINES:
        layout.plain = True
    if layout.separator is not None and any(key == "s" for key, _ in call.arguments) and not width_given:
        # -s without -w: lines are not cut.
        layout.join = True
    if layout.join and layout.separator is None:
        layout.separator = "\t"
    return layout


@command(
    "pr",
    short="abcdD:e::fFh:i::Jl:mn::N:o:rs::S::tTvw:W:",
    long="across=a columns: pages: double-space=d date-format=D: form-feed=F header=h: join-lines=J "
    "length=l: merge=m number-lines=n:: first-line-number=N: indent=o: no-file-warnings=r separator=s:: "
    "sep-string=S:: omit-header=t omit-pagination=T width=w: page-width=W: expand-tabs=e::",
    rewrite=_old_forms,
)
def pr(call: Invocation) -> Generator[None, None, Status]:
    """Paginate or columnate FILE(s) for printing."""
    layout = _layout(call)
    names = call.operands or ["-"]
    if layout.merge:
        files = [lines for name in names if (lines := _lines(call, name)) is not None]
        layout.columns = max(len(files), 1)
        depth = max(map(len, files), default=0)
        rows = [[lines[at] if at < len(lines) else None for lines in files] for at in range(depth)]
        pages: Iterator[list[list[str | None]]] = (
            rows[at : at + layout.body] for at in range(0, depth, layout.body)
        )
        yield from _print(call, layout, pages, "", time.time_ns())
        return call.status
    for name in names:
        found = _lines(call, name)
        if found is None:
            continue
        moment = time.time_ns() if name == "-" else os.stat(call.path(name)).st_mtime_ns
        yield from _print(call, layout, _pages(layout, found), "" if name == "-" else name, moment)
    return call.status


def _lines(call: Invocation, name: str) -> list[str] | None:
    try:
        with call.open(name) as source:
            data = source.read()
    except OSError as error:
        if not call.arguments.has("r"):
            call.complain(shell_quote(name), error)
        call.status = 1
        return None
    text = data.decode("utf-8", "surrogateescape")
    return text.removesuffix("\n").split("\n") if text else []


def _pages(layout: _Layout, lines: list[str]) -> Iterator[list[list[str | None]]]:
    """Rows of cells, page after page."""
    size = layout.body * layout.columns
    for start in range(0, len(lines), size):
        part = lines[start : start + size]
        columns = layout.columns
        if layout.across or columns == 1:
            yield [list(part[at : at + columns]) for at in range(0, len(part), columns)]
            continue
        # Columns of the last page are as even as they can be, the first ones longer.
        height, longer = divmod(len(part), columns) if len(part) < size else (layout.body, 0)
        heights = [height + (index < longer) for index in range(columns)]
        stacks: list[list[str]] = []
        at = 0
        for count in heights:
            stacks.append(part[at : at + count])
            at += count
        yield [[stack[row] for stack in stacks if row < len(stack)] for row in range(max(map(len, stacks)))]


def _print(
    call: Invocation, layout: _Layout, pages: Iterator[list[list[str | None]]], name: str, moment: int
) -> Generator[None, None, None]:
    date = format_time(moment, layout.date_format, call.env)
    title = name if layout.title is None else layout.title
    margin = " " * layout.offset
    counted = 0
    for page, rows in enumerate(pages, 1):
        cells = sum(cell is not None for row in rows for cell in row)
        number = layout.first_number + counted
        counted += len(rows) if layout.merge else cells
        if page < layout.first_page:
            continue
        if layout.last_page is not None and page > layout.last_page:
            return
        if not layout.plain:
            label = f"Page {page}"
            room = layout.width - len(date) - len(title) - len(label)
            left = max(room // 2, 1)
            right = max(room - left, 1)
            call.print(f"\n\n{margin}{date}{' ' * left}{title}{' ' * right}{label}\n\n")
        for text in _texts(layout, rows, number):
            call.print(margin + text + ("\n" if layout.double else ""))
        if layout.form_feed:
            call.print("\f", "")
        elif not layout.plain:
            printed = len(rows) * (2 if layout.double else 1)
            body = layout.length - _HEADER_LINES - _FOOTER_LINES
            call.print("\n" * (max(body - printed, 0) + _FOOTER_LINES), "")
        if call.stdout.full:
            yield


def _texts(layout: _Layout, rows: list[list[str | None]], number: int) -> Iterator[str]:
    """The lines of a page, each row's cells side by side."""
    columns = layout.columns
    prefix = layout.number_width + (
        len(layout.number_separator) if layout.number_separator != "\t" else 8 - layout.number_width % 8
    )
    used = prefix if layout.number_width else 0
    between = 1 if layout.separator is None else len(layout.separator)
    shared_number = layout.merge
    per_column = 0 if shared_number else used
    width = (layout.width - (used if shared_number else 0) - (columns - 1) * between) // columns - per_column
    heights = [sum(1 for row in rows if index < len(row)) for index in range(columns)]
    for at, row in enumerate(rows):
        out = ""
        position = 0
        goal = 0
        for index, cell in enumerate(row):
            if index and layout.separator is not None:
                out += layout.separator
            text = (cell or "").expandtabs() if columns > 1 else cell or ""
            label = ""
            if layout.number_width and (index == 0 or not shared_number):
                order = (
                    at
                    if columns == 1 or shared_number
                    else (at * columns + index if layout.across else sum(heights[:index]) + at)
                )
                digits = str(number + order)[-layout.number_width :].rjust(layout.number_width)
                label = digits + layout.number_separator
                if index and layout.number_separator == "\t":
                    label = digits.ljust(used)
            if (columns > 1 and not layout.join) or layout.truncate:
                text = text[: max(width, 0)]
            if layout.separator is None and columns > 1:
                if index:
                    out += _blanks(position, goal)
                    position = goal
                out += label + text
                position += (used if label else 0) + len(text)
                goal += width + between + (used if label else 0)
            elif columns > 1 and not layout.join:
                last = index == len(row) - 1
                out += label + (text if last else text.ljust(width))
            else:
                out += label + text
        yield out


def _blanks(position: int, goal: int) -> str:
    """From one column to another, with tabs where they reach a stop."""
    out = ""
    while position < goal:
        stop = position + 8 - position % 8
        if stop <= goal and goal - position > 1:
            out += "\t"
            position = stop
        else:
            out += " "
            position += 1
    return out
