"""What differs between two files: lines, what of them counts, and the runs of changes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from planaria_shell.commands.text.diff.myers import changes, slide

_SPACES = re.compile(rb"[ \t\r\v\f\n]+")


@dataclass(slots=True)
class Change:
    """Lines `old_start` to `old_stop` of the old file become `new_start` to `new_stop` of the new one."""

    old_start: int
    old_stop: int
    new_start: int
    new_stop: int
    #: Only differs in what the options ignore (blank lines, lines that match -I).
    ignored: bool = False


@dataclass(slots=True)
class Comparison:
    """Which differences count."""

    ignore_case: bool = False
    ignore_all_space: bool = False
    ignore_space_change: bool = False
    ignore_trailing_space: bool = False
    ignore_blank_lines: bool = False
    strip_trailing_cr: bool = False
    expand_tabs: bool = False
    tab_size: int = 8
    ignore_matching: list[re.Pattern[bytes]] = field(default_factory=list)

    def key(self, line: bytes) -> bytes:
        """What is compared of a line (given with its newline)."""
        if self.strip_trailing_cr and line.endswith(b"\r\n"):
            line = line[:-2] + b"\n"
        if self.expand_tabs:
            line = line.expandtabs(self.tab_size)
        if self.ignore_all_space:
            line = _SPACES.sub(b"", line)
        elif self.ignore_space_change:
            line = _SPACES.sub(b" ", line.rstrip(b" \t\r\v\f\n"))
        elif self.ignore_trailing_space:
            line = line.rstrip(b" \t\r\v\f\n")
        return line.lower() if self.ignore_case else line

    @property
    def plain(self) -> bool:
        return not (
            self.ignore_case
            or self.ignore_all_space
            or self.ignore_space_change
            or self.ignore_trailing_space
            or self.strip_trailing_cr
            or self.expand_tabs
        )


def split_lines(data: bytes) -> list[bytes]:
    """Lines with their newlines; the last may have none."""
    lines = data.split(b"\n")
    last = lines.pop()
    result = [line + b"\n" for line in lines]
    if last:
        result.append(last)
    return result


def compare(old: list[bytes], new: list[bytes], how: Comparison) -> list[Change]:
    """The changes from old to new lines."""
    if how.plain:
        one, two = old, new
    else:
        one, two = [how.key(line) for line in old], [how.key(line) for line in new]
    removed, added = changes(one, two)
    slide(one, removed, added)
    slide(two, added, removed)
    found = []
    place = other = 0
    while place < len(one) or other < len(two):
        if (place < len(one) and removed[place]) or (other < len(two) and added[other]):
            start, start_new = place, other
            while place < len(one) and removed[place]:
                place += 1
            while other < len(two) and added[other]:
                other += 1
            found.append(Change(start, place, start_new, other))
        else:
            place += 1
            other += 1
    if how.ignore_blank_lines or how.ignore_matching:
        for change in found:
            touched = old[change.old_start : change.old_stop] + new[change.new_start : change.new_stop]
            change.ignored = all(_trivial(line, how) for line in touched)
    return found


def _trivial(line: bytes, how: Comparison) -> bool:
    text = line.rstrip(b"\n")
    if how.ignore_blank_lines and not (
        text.strip() if how.ignore_all_space or how.ignore_space_change else text
    ):
        return True
    return any(pattern.search(text) for pattern in how.ignore_matching)


def group(found: list[Change], context: int) -> list[list[Change]]:
    """Changes that stand within twice the context of each other, together."""
    groups: list[list[Change]] = []
    for change in found:
        if groups and change.old_start - groups[-1][-1].old_stop <= 2 * context:
            groups[-1].append(change)
        else:
            groups.append([change])
    return [some for some in groups if not all(change.ignored for change in some)]
