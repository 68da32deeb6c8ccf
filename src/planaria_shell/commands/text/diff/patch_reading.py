"""Reading patches: unified, context and normal ones, and what git writes before them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from planaria_shell.commands.text.diff.hunks import split_lines

_UNIFIED = re.compile(rb"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_NORMAL = re.compile(rb"^(\d+)(?:,(\d+))?([acd])(\d+)(?:,(\d+))?$")


@dataclass(slots=True)
class Hunk:
    """Lines to find (`old`, at `start`, counted from 0) and what to put in their place."""

    start: int
    new_start: int
    old: list[bytes]
    new: list[bytes]
    #: Lines of context at the start and at the end.
    prefix: int
    suffix: int
    #: As it stood in the patch, for the reject file: marks and lines.
    lines: list[tuple[bytes, bytes]] = field(default_factory=list)

    def reversed(self) -> Hunk:
        marks = {b"-": b"+", b"+": b"-"}
        return Hunk(
            self.new_start,
            self.start,
            self.new,
            self.old,
            self.prefix,
            self.suffix,
            [(marks.get(mark, mark), line) for mark, line in self.lines],
        )


@dataclass(slots=True)
class FilePatch:
    """The hunks for one file, with the names that its header gives."""

    old_name: str | None = None
    new_name: str | None = None
    index_name: str | None = None
    old_absent: bool = False
    new_absent: bool = False
    hunks: list[Hunk] = field(default_factory=list)
    kind: str = "unified"
    header: tuple[bytes, bytes] | None = None
    rename: tuple[str, str] | None = None
    mode: int | None = None


class PatchError(Exception):
    """A patch that is not well formed; the message names the line."""


def read_patch(data: bytes) -> list[FilePatch]:
    """All patches in a text; what is neither a header nor a hunk is passed over."""
    lines = split_lines(data)
    patches: list[FilePatch] = []
    current = FilePatch()
    place = 0
    while place < len(lines):
        line = lines[place]
        following = lines[place + 1] if place + 1 < len(lines) else b""
        third = lines[place + 2] if place + 2 < len(lines) else b""
        if line.startswith(b"diff --git "):
            current = FilePatch()
            match = re.match(rb"diff --git (\S+) (\S+)$", line.rstrip())
            if match:
                current.old_name, current.new_name = _text(match.group(1)), _text(match.group(2))
            place += 1
            place = _git_header(lines, place, current, patches)
        elif line.startswith(b"Index: "):
            current = FilePatch(index_name=_text(line[7:].strip()))
            place += 1
        elif line.startswith(b"--- ") and following.startswith(b"+++ ") and third.startswith(b"@@"):
            current = _headed(current, line, following)
            place = _unified(lines, place + 2, current)
            patches.append(current)
            current = FilePatch()
        elif (
            line.startswith(b"*** ")
            and following.startswith(b"--- ")
            and third.startswith(b"***************")
        ):
            current = _headed(current, line, following)
            current.kind = "context"
            place = _context(lines, place + 2, current)
            patches.append(current)
            current = FilePatch()
        elif _UNIFIED.match(line):
            place = _unified(lines, place, current)
            patches.append(current)
            current = FilePatch()
        elif _NORMAL.match(line.rstrip()) and following[:2] in (b"< ", b"> "):
            current.kind = "normal"
            place = _normal(lines, place, current)
            patches.append(current)
            current = FilePatch()
        else:
            place += 1
    return [some for some in patches if some.hunks or some.rename or some.old_absent or some.new_absent]


def _git_header(lines: list[bytes], place: int, current: FilePatch, patches: list[FilePatch]) -> int:
    source = target = None
    while place < len(lines):
        line = lines[place].rstrip(b"\n")
        if line.startswith(b"rename from "):
            source = _text(line[12:])
        elif line.startswith(b"rename to "):
            target = _text(line[10:])
        elif line.startswith(b"new file mode "):
            current.old_absent = True
            current.mode = int(line[14:], 8)
        elif line.startswith(b"deleted file mode "):
            current.new_absent = True
        elif line.startswith(b"new mode "):
            current.mode = int(line[9:], 8)
        elif not re.match(rb"(old mode|similarity index|dissimilarity index|index|copy) ", line):
            break
        place += 1
    if source and target:
        current.rename = (source, target)
    following = lines[place] if place < len(lines) else b""
    if not following.startswith((b"--- ", b"@@")):
        patches.append(current)
    return place


def _text(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")


def _headed(current: FilePatch, old: bytes, new: bytes) -> FilePatch:
    names = []
    for line in (old, new):
        rest = line[4:].rstrip(b"\n")
        quoted = re.match(rb'"((?:[^"\\]|\\.)*)"', rest)
        if quoted:
            names.append(_text(re.sub(rb"\\(.)", rb"\1", quoted.group(1))))
        else:
            # A time stamp follows a tab, or spaces when it looks like one.
            name = re.split(rb"\t| +(?=\d{4}-\d\d-\d\d )", rest, maxsplit=1)[0]
            names.append(_text(name.strip()))
    current.old_name, current.new_name = names
    current.header = (old[4:].rstrip(b"\n"), new[4:].rstrip(b"\n"))
    epoch = re.compile(rb"1970-01-01 00:00:00(?:\.0+)? ?(?:\+0000|Z)?|Thu Jan +1 00:00:00 (?:UTC )?1970")
    current.old_absent = current.old_absent or names[0] == "/dev/null" or epoch.search(old) is not None
    current.new_absent = current.new_absent or names[1] == "/dev/null" or epoch.search(new) is not None
    return current


def _unified(lines: list[bytes], place: int, current: FilePatch) -> int:
    while place < len(lines) and (match := _UNIFIED.match(lines[place])):
        start, size = int(match.group(1)), int(match.group(2) or 1)
        new_start, new_size = int(match.group(3)), int(match.group(4) or 1)
        body: list[tuple[bytes, bytes]] = []
        place += 1
        left, left_new = size, new_size
        while left > 0 or left_new > 0:
            if place >= len(lines):
                raise PatchError(f"unexpected end of file in patch at line {place + 1}")
            line = lines[place]
            mark = line[:1]
            if line == b"\n":
                mark, line = b" ", b" \n"
            if mark == b"\\":
                _drop_newline(body)
            elif mark in (b" ", b"-", b"+"):
                body.append((mark, line[1:]))
                left -= mark != b"+"
                left_new -= mark != b"-"
            else:
                raise PatchError(f"malformed patch at line {place + 1}: {_text(line.rstrip())}")
            place += 1
        if place < len(lines) and lines[place].startswith(b"\\"):
            _drop_newline(body)
            place += 1
        current.hunks.append(_hunk(start - (size > 0), new_start - (new_size > 0), body))
    return place


def _drop_newline(body: list[tuple[bytes, bytes]]) -> None:
    if body:
        mark, line = body[-1]
        body[-1] = (mark, line.removesuffix(b"\n"))


def _hunk(start: int, new_start: int, body: list[tuple[bytes, bytes]]) -> Hunk:
    old = [line for mark, line in body if mark != b"+"]
    new = [line for mark, line in body if mark != b"-"]
    prefix = next((place for place, (mark, _) in enumerate(body) if mark != b" "), len(body))
    suffix = next((place for place, (mark, _) in enumerate(reversed(body)) if mark != b" "), len(body))
    return Hunk(start, new_start, old, new, prefix, suffix, body)


def _context(lines: list[bytes], place: int, current: FilePatch) -> int:
    head = re.compile(rb"^(?:\*\*\*|---) (\d+)(?:,(\d+))? (?:\*\*\*\*|----)")
    while place < len(lines) and lines[place].startswith(b"***************"):
        place += 1
        halves: list[list[tuple[bytes, bytes]]] = []
        starts = []
        for _ in range(2):
            match = head.match(lines[place]) if place < len(lines) else None
            if match is None:
                raise PatchError(f"malformed patch at line {place + 1}")
            first, last = int(match.group(1)), int(match.group(2) or match.group(1))
            starts.append((first, last))
            place += 1
            half: list[tuple[bytes, bytes]] = []
            while place < len(lines):
                line = lines[place]
                if line.startswith(b"\\"):
                    _drop_newline(half)
                elif line[:2] in (b"  ", b"- ", b"+ ", b"! ") and not head.match(line):
                    half.append((line[:1], line[2:]))
                else:
                    break
                place += 1
            halves.append(half)
        old, new = halves
        if not old:
            old = [pair for pair in new if pair[0] == b" "]
        if not new:
            new = [pair for pair in old if pair[0] == b" "]
        body = _merge(old, new)
        size = sum(1 for mark, _ in body if mark != b"+")
        new_size = sum(1 for mark, _ in body if mark != b"-")
        start = starts[0][0] - (1 if size else 0)
        current.hunks.append(_hunk(start, starts[1][0] - (1 if new_size else 0), body))
    return place


def _merge(old: list[tuple[bytes, bytes]], new: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """The two halves of a context hunk as one body."""
    body: list[tuple[bytes, bytes]] = []
    place = other = 0
    while place < len(old) or other < len(new):
        if place < len(old) and old[place][0] in (b"-", b"!"):
            body.append((b"-", old[place][1]))
            place += 1
        elif other < len(new) and new[other][0] in (b"+", b"!"):
            body.append((b"+", new[other][1]))
            other += 1
        elif place < len(old) and other < len(new):
            body.append((b" ", old[place][1]))
            place += 1
            other += 1
        else:
            body.append((b" ", old[place][1] if place < len(old) else new[other][1]))
            place += 1
            other += 1
    return body


def _normal(lines: list[bytes], place: int, current: FilePatch) -> int:
    while place < len(lines) and (match := _NORMAL.match(lines[place].rstrip())):
        first, last = int(match.group(1)), int(match.group(2) or match.group(1))
        letter, new_first = match.group(3), int(match.group(4))
        place += 1
        body: list[tuple[bytes, bytes]] = []
        while place < len(lines) and lines[place][:2] in (b"< ", b"> ", b"--", b"\\ "):
            line = lines[place]
            if line.startswith(b"\\"):
                _drop_newline(body)
            elif line.startswith(b"< "):
                body.append((b"-", line[2:]))
            elif line.startswith(b"> "):
                body.append((b"+", line[2:]))
            place += 1
        start = first if letter == b"a" else first - 1
        del last
        current.hunks.append(_hunk(start, new_first - (letter != b"d"), body))
    return place
