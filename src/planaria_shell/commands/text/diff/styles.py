"""The styles in which differences are written: normal, ed script, context, unified, side by side."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from planaria_shell.commands.text.diff.hunks import Change, group
from planaria_shell.commands.text.diff.presentation import Presentation


def _range(start: int, stop: int) -> str:
    """Lines as normal and ed styles name them: what is empty stands after a line."""
    if stop <= start:
        return str(start)
    return str(start + 1) if stop == start + 1 else f"{start + 1},{stop}"


def normal(old: list[bytes], new: list[bytes], changes: list[Change], shown: Presentation) -> Iterator[bytes]:
    """`3,4c3`, `<`, `---`, `>`"""
    for change in changes:
        if change.ignored:
            continue
        letter = "c"
        if change.old_start == change.old_stop:
            letter = "a"
        elif change.new_start == change.new_stop:
            letter = "d"
        before, after = _range(change.old_start, change.old_stop), _range(change.new_start, change.new_stop)
        yield shown.paint("ln", f"{before}{letter}{after}".encode()) + b"\n"
        for line in old[change.old_start : change.old_stop]:
            yield shown.line(b"< ", line, "de")
        if letter == "c":
            yield b"---\n"
        for line in new[change.new_start : change.new_stop]:
            yield shown.line(b"> ", line, "ad")


def ed(old: list[bytes], new: list[bytes], changes: list[Change]) -> Iterator[bytes]:
    """A script for ed(1), last change first."""
    for change in reversed(changes):
        if change.ignored:
            continue
        letter = (
            "a"
            if change.old_start == change.old_stop
            else "d"
            if change.new_start == change.new_stop
            else "c"
        )
        yield f"{_range(change.old_start, change.old_stop)}{letter}\n".encode()
        if letter == "d":
            continue
        inserting = True
        for line in new[change.new_start : change.new_stop]:
            if not inserting:
                yield b"a\n"
                inserting = True
            if line == b".\n":  # a lone dot would end the text: double it, then take one away
                yield b"..\n.\ns/.//\n"
                inserting = False
            else:
                yield line if line.endswith(b"\n") else line + b"\n"
        if inserting:
            yield b".\n"


def forward_ed(old: list[bytes], new: list[bytes], changes: list[Change]) -> Iterator[bytes]:
    """Like a script for ed(1), but from the first change to the last."""
    for change in changes:
        if change.ignored:
            continue
        letter = "a" if change.old_start == change.old_stop else "c"
        if change.new_start == change.new_stop:
            letter = "d"
        yield f"{letter}{_range(change.old_start, change.old_stop).replace(',', ' ')}\n".encode()
        if letter != "d":
            for line in new[change.new_start : change.new_stop]:
                yield line if line.endswith(b"\n") else line + b"\n"
            yield b".\n"


def rcs(old: list[bytes], new: list[bytes], changes: list[Change]) -> Iterator[bytes]:
    """The format of RCS files."""
    for change in changes:
        if change.old_stop > change.old_start:
            yield b"d%d %d\n" % (change.old_start + 1, change.old_stop - change.old_start)
        if change.new_stop > change.new_start:
            yield b"a%d %d\n" % (change.old_stop, change.new_stop - change.new_start)
            yield from new[change.new_start : change.new_stop]


def _function(old: list[bytes], start: int, pattern: re.Pattern[bytes] | None) -> bytes:
    """The last line before `start` that the pattern matches, for the head of a hunk."""
    if pattern is None:
        return b""
    for place in range(min(start, len(old)) - 1, -1, -1):
        if pattern.search(old[place].rstrip(b"\n")):
            return b" " + old[place].lstrip()[:40].rstrip()
    return b""


def unified(
    old: list[bytes],
    new: list[bytes],
    changes: list[Change],
    context: int,
    shown: Presentation,
    pattern: re.Pattern[bytes] | None = None,
) -> Iterator[bytes]:
    """`@@ -1,3 +1,4 @@`"""
    for some in group(changes, context):
        start, stop = max(some[0].old_start - context, 0), min(some[-1].old_stop + context, len(old))
        start_new = max(some[0].new_start - context, 0)
        stop_new = min(some[-1].new_stop + context, len(new))
        head = f"@@ -{_span(start, stop)} +{_span(start_new, stop_new)} @@".encode()
        yield shown.paint("ln", head) + _function(old, start, pattern) + b"\n"
        place = start
        for change in some:
            for line in old[place : change.old_start]:
                yield shown.line(b" ", line)
            for line in old[change.old_start : change.old_stop]:
                yield shown.line(b"-", line, "de")
            for line in new[change.new_start : change.new_stop]:
                yield shown.line(b"+", line, "ad")
            place = change.old_stop
        for line in old[place:stop]:
            yield shown.line(b" ", line)


def _span(start: int, stop: int) -> str:
    size = stop - start
    if size == 1:
        return str(start + 1)
    return f"{start + 1 if size else start},{size}"


def context(
    old: list[bytes],
    new: list[bytes],
    changes: list[Change],
    size: int,
    shown: Presentation,
    pattern: re.Pattern[bytes] | None = None,
) -> Iterator[bytes]:
    """`*** 1,3 ****`, `--- 1,4 ----`"""
    for some in group(changes, size):
        start, stop = max(some[0].old_start - size, 0), min(some[-1].old_stop + size, len(old))
        start_new, stop_new = max(some[0].new_start - size, 0), min(some[-1].new_stop + size, len(new))
        yield b"***************" + _function(old, start, pattern) + b"\n"
        yield shown.paint("ln", f"*** {_lines(start, stop)} ****".encode()) + b"\n"
        if any(change.old_stop > change.old_start for change in some):
            place = start
            for change in some:
                mark = b"! " if change.new_stop > change.new_start else b"- "
                for line in old[place : change.old_start]:
                    yield shown.line(b"  ", line, "de")
                for line in old[change.old_start : change.old_stop]:
                    yield shown.line(mark, line, "de")
                place = change.old_stop
            for line in old[place:stop]:
                yield shown.line(b"  ", line, "de")
        yield shown.paint("ln", f"--- {_lines(start_new, stop_new)} ----".encode()) + b"\n"
        if any(change.new_stop > change.new_start for change in some):
            place = start_new
            for change in some:
                mark = b"! " if change.old_stop > change.old_start else b"+ "
                for line in new[place : change.new_start]:
                    yield shown.line(b"  ", line, "ad")
                for line in new[change.new_start : change.new_stop]:
                    yield shown.line(mark, line, "ad")
                place = change.new_stop
            for line in new[place:stop_new]:
                yield shown.line(b"  ", line, "ad")


def _lines(start: int, stop: int) -> str:
    return str(stop) if stop - start <= 1 else f"{start + 1},{stop}"


def side_by_side(
    old: list[bytes],
    new: list[bytes],
    changes: list[Change],
    width: int,
    shown: Presentation,
    *,
    left_column: bool = False,
    suppress_common: bool = False,
) -> Iterator[bytes]:
    """Two columns with a mark between them."""
    expand, size = shown.expand, shown.tab_size
    tab = 1 if expand else size
    # Both columns of the same width, the right one at a multiple of the tab stop.
    unit = width + tab + 3
    right = (unit // (2 * tab)) * tab
    half = max(0, min(right - 3, width - right))
    if half == 0:
        right = width

    def row(left: bytes | None, mark: str, other: bytes | None) -> bytes:
        text, column = _fit(left, half, expand, size)
        out = text
        newline = b"\n" if any(side is not None and side.endswith(b"\n") for side in (left, other)) else b""
        gap = (half + right - 1) // 2
        if mark != " ":
            out += _pad(column, gap, expand, size) + mark.encode()
            column = gap + 1
        if other is None or not other.rstrip(b"\n"):
            return out + newline
        out += _pad(column, right, expand, size)
        return out + _fit(other, half, expand, size)[0] + newline

    place = other_place = 0
    for change in [*changes, Change(len(old), len(old), len(new), len(new))]:
        while place < change.old_start:
            if not suppress_common:
                if left_column:
                    yield row(old[place], "(", None)
                else:
                    yield row(old[place], " ", new[other_place])
            place += 1
            other_place += 1
        while place < change.old_stop or other_place < change.new_stop:
            left = old[place] if place < change.old_stop else None
            after = new[other_place] if other_place < change.new_stop else None
            mark = "<" if after is None else ">" if left is None else _joint(left, after)
            yield shown.paint({"<": "de", ">": "ad"}.get(mark, ""), row(left, mark, after))
            place += left is not None
            other_place += after is not None


def _joint(left: bytes, right: bytes) -> str:
    """The mark between two lines that differ; another one when only one of them ends with a newline."""
    if left.endswith(b"\n") == right.endswith(b"\n"):
        return "|"
    return "/" if left.endswith(b"\n") else "\\"


def _fit(line: bytes | None, width: int, expand: bool, size: int) -> tuple[bytes, int]:
    """As much of a line as a column holds, and where it ends."""
    if line is None:
        return b"", 0
    out: list[str] = []
    column = 0
    for character in line.rstrip(b"\n").decode("utf-8", "surrogateescape"):
        if character == "\t":
            step = size - column % size
            if column + step > width:
                break
            out.append(" " * step if expand else "\t")
        else:
            step = (
                0
                if unicodedata.combining(character)
                else 1 + (unicodedata.east_asian_width(character) in "WF")
            )
            if column + step > width:
                break
            out.append(character)
        column += step
    return "".join(out).encode("utf-8", "surrogateescape"), column


def _pad(column: int, target: int, expand: bool, size: int) -> bytes:
    """From a column to another, with tabs where they fit."""
    out = b""
    if not expand:
        while column // size * size + size <= target:
            out += b"\t"
            column = column // size * size + size
    return out + b" " * max(target - column, 0)
