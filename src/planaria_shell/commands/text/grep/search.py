"""Searching one input and printing what grep prints.

A text of many lines is searched at once: the engine runs from match to match, and only lines around
matches are ever cut out.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from planaria_shell.commands.text.grep.patterns import Matcher
from planaria_shell.state.command import Process
from planaria_shell.toolkit.regex.posix import match_start
from planaria_shell.toolkit.streams import decode, encode

_INVALID = re.compile("[\udc80-\udcff]")
#: Digits of the largest offset.
_WIDEST = 19


class Chunks(Protocol):
    """What can be searched."""

    def chunks(self) -> Iterator[bytes]: ...

    def unread(self, data: bytes) -> None: ...


@dataclass(slots=True)
class Output:
    """How selected lines are shown; the fields are grep's options."""

    invert: bool = False
    count: bool = False
    list_files: str = ""
    quiet: bool = False
    only_matching: bool = False
    names: bool = False
    numbers: bool = False
    offsets: bool = False
    before: int | None = None
    after: int | None = None
    #: Context was asked for, if only of no lines: groups are separated.
    grouped: bool = False
    max_count: int | None = None
    null_data: bool = False
    null_names: bool = False
    initial_tab: bool = False
    binary: str = "binary"
    separator: str | None = "--"
    colors: dict[str, str] = field(default_factory=dict)
    #: What keeps the rest of a line in the colour's background; and whether -v changes over `sl` and `cx`.
    erase: str = "\33[K"
    reverse: bool = False
    #: Lines have been printed, of whatever file: groups of context are separated.
    printed: bool = False

    def set_colors(self, capabilities: str, match: str) -> None:
        """Colour as GREP_COLORS says (`ms=01;31:fn=35:...`); `match` is the colour of matches without it."""
        self.colors = {"ms": match, "mc": match, "fn": "35", "ln": "32", "bn": "32", "se": "36"}
        for part in capabilities.split(":"):
            name, equals, value = part.partition("=")
            if name == "mt":
                self.colors["ms"] = self.colors["mc"] = value
            elif equals:
                self.colors[name] = value
            elif name == "ne":
                self.erase = ""
            elif name == "rv":
                self.reverse = True

    def paint(self, kind: str, text: str) -> str:
        color = self.colors.get(kind)
        return f"{self.start(kind)}{text}{self.stop(kind)}" if color and text else text

    def start(self, kind: str) -> str:
        """Where text of this kind begins."""
        return f"\33[{self.colors[kind]}m{self.erase}" if self.colors.get(kind) else ""

    def stop(self, kind: str) -> str:
        """Where text of this kind ends."""
        return f"\33[m{self.erase}" if self.colors.get(kind) else ""


class Search:
    """The search of one input after another."""

    def __init__(self, output: Output, matcher: Matcher, name: str, process: Process) -> None:
        self.output = output
        self.matcher = matcher
        self.pattern = matcher.pattern
        self.process = process
        self.end = "\0" if output.null_data else "\n"
        self.printing = not (output.count or output.list_files or output.quiet)
        self.before = output.before or 0
        self.after = output.after or 0
        self.context = self.printing and (output.grouped or bool(self.before or self.after))
        #: Whole lines are printed, or only what matches, with the file's name and perhaps the line's number.
        self.plain = self.printing and not (
            output.offsets or output.colors or self.context
            or output.max_count is not None or output.initial_tab
            or (output.numbers and (output.invert or output.only_matching))
        )  # fmt: skip
        if output.only_matching:
            exact = matcher.pattern.exact and not matcher.pattern.nullable
            self.plain = self.plain and exact and matcher.whole_text and not output.invert
        #: Nothing but the number of lines is asked for, which the engine can tell.
        self.counting = (
            output.count and output.max_count is None and not output.null_data
            and matcher.whole_text and matcher.pattern.by_lines
        )  # fmt: skip
        self.waiting: list[str] = []
        self.kept: deque[tuple[str, int, int]] = deque(maxlen=self.before)
        literal = self.pattern.literal
        #: What is in every file of which something is printed or told.
        self.needed = (
            encode(literal)
            if literal and not (output.invert or output.count or output.list_files == "L" or output.null_data)
            else b""
        )
        self.begin(name)

    def begin(self, name: str) -> None:
        """Turn to the next input."""
        self.name = name
        output = self.output
        if not output.names:
            self.prefix = ""
        elif output.colors or output.null_names:
            self.prefix = self._name(":")
        else:
            self.prefix = name + ":"
        self.selected = 0
        self.done = False
        self.binary = False
        self.invalid = False
        self.line_number = 0
        self.offset = 0
        # Lines of context: those after a selected line still to print, and those kept for the next.
        self.pending = 0
        self.kept.clear()
        # Whether lines were left out since the last printed one; between files there always are.
        self.skipped = True
        #: Of line numbers and offsets.
        self.widths = self._widths() if output.initial_tab else (0, 0)
        #: With -m: what follows the last selected line, which others may read.
        self.behind: list[str] = []
        self.parts: list[bytes] = []

    def _widths(self) -> tuple[int, int]:
        """So wide that all numbers of a file are aligned, and any numbers of another input."""
        try:
            size = os.stat(self.process.path(self.name)).st_size
        except OSError:
            return _WIDEST, _WIDEST
        return len(str(size + 1)), len(str(size))

    def run(self, source: Chunks) -> Generator[None, None, bool]:
        """Search to the end, or to where the answer is known; whether a line was selected."""
        stdout = self.process.stdout
        self.done = self.output.max_count == 0
        if not self.done:
            for text in self._texts(source):
                self._take(text)
                if self.waiting:
                    self.write()
                    if stdout.full:
                        yield
                if self.done:
                    break
        if self.behind:
            source.unread(encode("".join(self.behind)) + b"".join(self.parts))
        return self._finish()

    def leaves_out(self, data: bytes) -> bool:
        """Whether nothing would be found or told of an input that is here as a whole: it need not begin."""
        return self.needed not in data

    def whole(self, data: bytes) -> bool:
        """The same for an input that is here as a whole. What is found may wait for `write`."""
        self.done = self.output.max_count == 0
        if data and not self.done:
            text = decode(data)
            self._take(text if text.endswith(self.end) else text + self.end)
        return self._finish()

    def write(self) -> None:
        """Write what was found and waits."""
        if self.waiting:
            self.process.stdout.write(encode("".join(self.waiting)))
            self.waiting.clear()

    def _take(self, text: str) -> None:
        output = self.output
        if not self.binary and output.binary != "text" and not output.null_data and "\0" in text:
            self.binary = True
            if output.binary == "without-match":
                self.done = True
        if not self.binary:
            self._search(text)
        elif not self.done:
            self._search(text.replace("\0", "\n"))

    def _finish(self) -> bool:
        """Say what is said at an input's end; whether a line was selected."""
        output = self.output
        if self.binary and output.binary == "without-match":
            self.selected = 0
        if output.count:
            self.waiting.append(f"{self.prefix}{self.selected}\n")
        elif output.list_files and bool(self.selected) == (output.list_files == "l"):
            self.waiting.append(output.paint("fn", self.name) + ("\0" if output.null_names else "\n"))
        elif self.printing and self.selected and (self.binary or self.invalid):
            if output.binary == "without-match":
                return True
            self.write()
            self.process.stdout.flush()
            self.process.error(f"{self.name}: binary file matches")
        return self.selected > 0

    def _texts(self, source: Chunks) -> Iterator[str]:
        """The input in texts of whole lines, each ended by its end."""
        end = self.end.encode()
        parts = self.parts
        for chunk in source.chunks():
            cut = chunk.rfind(end) + 1
            if not cut:
                parts.append(chunk)
                continue
            text = decode(b"".join(parts) + chunk[:cut])
            parts[:] = [chunk[cut:]] if cut < len(chunk) else []
            yield text
        if parts:
            text = decode(b"".join(parts)) + self.end
            parts.clear()
            yield text

    def _matching(self, text: str) -> Iterator[tuple[int, int]]:
        """Where the lines that match begin and end (after their newline)."""
        end_mark, size = self.end, len(text)
        position = 0
        literal = self.pattern.literal
        if not self.matcher.whole_text:
            test = self.pattern.find
            while position < size:
                end = text.index(end_mark, position)
                if test(text[position:end]):
                    yield position, end + 1
                position = end + 1
            return
        if literal:
            find = text.find
            while (at := find(literal, position)) >= 0:
                start = text.rfind("\n", position, at) + 1 or position
                position = find("\n", at) + 1
                yield start, position
            return
        search = self.pattern.engine(text).search
        while position < size:
            found = search(text, position)
            if found is None or (at := found.start()) >= size:
                return
            start = text.rfind("\n", position, at) + 1 or position
            position = text.find("\n", at) + 1
            yield start, position

    def _selected(self, text: str) -> Iterator[tuple[int, int]]:
        if not self.output.invert:
            yield from self._matching(text)
            return
        position = 0
        for start, end in self._matching(text):
            yield from self._each_line(text, position, start)
            position = end
        yield from self._each_line(text, position, len(text))

    def _each_line(self, text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
        while start < stop:
            end = text.index(self.end, start) + 1
            yield start, end
            start = end

    def _search(self, text: str) -> None:
        output = self.output
        suspicious = (
            self.printing and output.binary != "text" and not text.isascii() and bool(_INVALID.search(text))
        )
        if self.plain and not self.binary and not suspicious:
            self._search_plain(text)
            return
        if self.counting and not self.binary:
            self._count(text)
            return
        position = 0
        for start, end in () if self.selected == output.max_count else self._selected(text):
            if self.context:
                self._gap(text, position, start)
            elif output.numbers:
                self.line_number += text.count(self.end, position, start)
            self.selected += 1
            self.line_number += 1
            position = end
            if self.printing:
                if self.binary:
                    self.done = True
                    return
                if suspicious and not output.only_matching and _INVALID.search(text, start, end):
                    self.invalid = True
                else:
                    self._print_selected(text, start, end)
            elif not output.count:
                self.done = True
                return
            if self.selected == output.max_count:
                break
        if self.selected == output.max_count:
            self.behind.append(text[position:])
        if self.context:
            self._gap(text, position, len(text))
        elif output.numbers:
            self.line_number += text.count(self.end, position)
        if output.offsets:
            self.offset += _size(text, 0, len(text))
        self.done = self.selected == output.max_count and not self.pending

    def _count(self, text: str) -> None:
        """Only how many lines match: a match takes the rest of its line, so the engine counts them."""
        matching = self.pattern.engine_with_rest(text).subn("", text)[1]
        self.selected += text.count("\n") - matching if self.output.invert else matching

    def _search_plain(self, text: str) -> None:
        """Whole lines and nothing else: blocks of text are passed on."""
        prefix = self.prefix
        found: list[str] = []
        add = found.append
        if self.output.only_matching:
            for match in self.pattern.engine(text).finditer(text):
                add(f"{prefix}{match[0]}\n")
        elif self.output.invert:
            position = 0
            for start, end in self._matching(text):
                if start > position:
                    add(self._prefixed(text[position:start]))
                position = end
            if position < len(text):
                add(self._prefixed(text[position:]))
        elif self.output.numbers:
            number, position = self.line_number, 0
            for start, end in self._matching(text):
                number += text.count(self.end, position, start) + 1
                position = end
                add(f"{prefix}{number}:{text[start:end]}")
            self.line_number = number + text.count(self.end, position)
        elif self.pattern.literal and self.matcher.whole_text:
            found = self._lines_with(self.pattern.literal, text)
            if prefix:
                found = [prefix + line for line in found]
        elif prefix:
            for start, end in self._matching(text):
                add(prefix + text[start:end])
        else:
            for start, end in self._matching(text):
                add(text[start:end])
        if found:
            self.waiting += found
            self.selected = 1

    def _lines_with(self, literal: str, text: str) -> list[str]:
        """The lines that have the literal in them, without a step of `_matching` for each."""
        find, rfind = text.find, text.rfind
        found: list[str] = []
        position = 0
        while (at := find(literal, position)) >= 0:
            start = rfind("\n", position, at) + 1 or position
            position = find("\n", at) + 1
            found.append(text[start:position])
        return found

    def _prefixed(self, lines: str) -> str:
        """Whole lines, each with the name of its file."""
        if not self.prefix:
            return lines
        end = self.end
        return self.prefix + lines[:-1].replace(end, end + self.prefix) + end

    def _gap(self, text: str, start: int, stop: int) -> None:
        """Lines that were not selected, with context wanted."""
        output = self.output
        while start < stop and self.pending:
            end = text.index(self.end, start) + 1
            self.pending -= 1
            self.line_number += 1
            if not output.only_matching:
                self._print_line(text[start:end], "-", self.line_number, self._offset(text, start))
            start = end
        if start >= stop:
            return
        cut = stop - 1
        for _ in range(self.before):
            cut = text.rfind(self.end, start, cut)
            if cut < 0:
                break
        if cut >= start:
            # More lines than are kept: the others are only counted.
            cut = cut + 1 if self.before else stop
            self.line_number += text.count(self.end, start, cut)
            self.kept.clear()
            self.skipped = True
            start = cut
        while start < stop:
            end = text.index(self.end, start) + 1
            self.line_number += 1
            if len(self.kept) == self.before:
                self.skipped = True
            self.kept.append((text[start:end], self.line_number, self._offset(text, start)))
            start = end

    def _offset(self, text: str, at: int) -> int:
        """The offset in bytes in the whole input of a place in this text."""
        return self.offset + _size(text, 0, at) if self.output.offsets else 0

    def _print_selected(self, text: str, start: int, end: int) -> None:
        output = self.output
        if self.context:
            shown = not (output.only_matching and output.invert)
            if output.printed and self.skipped and output.separator is not None and shown:
                self.waiting.append(output.paint("se", output.separator) + "\n")
            for line, number, offset in () if output.only_matching else self.kept:
                self._print_line(line, "-", number, offset)
            self.kept.clear()
            self.skipped = False
            self.pending = self.after
        output.printed = True
        line = text[start:end]
        if output.only_matching:
            if not output.invert:
                self._print_matches(line, self._offset(text, start))
        else:
            self._print_line(line, ":", self.line_number, self._offset(text, start))

    def _name(self, separator: str) -> str:
        if not self.output.names:
            return ""
        name = self.output.paint("fn", self.name)
        return name + ("\0" if self.output.null_names else self.output.paint("se", separator))

    def _prefix(self, separator: str, number: int, offset: int, line: str) -> str:
        output = self.output
        mark = output.paint("se", separator)
        prefix = self._name(separator)
        if output.numbers:
            prefix += output.paint("ln", f"{number:{self.widths[0]}}") + mark
        if output.offsets:
            prefix += output.paint("bn", f"{offset:{self.widths[1]}}") + mark
        return prefix + "\t" if output.initial_tab and prefix and line else prefix

    def _print_line(self, line: str, separator: str, number: int, offset: int) -> None:
        output = self.output
        if output.colors:
            selected = separator == ":"
            whole = "sl" if selected != (output.invert and output.reverse) else "cx"
            body = line.removesuffix(self.end)
            pieces: list[str] = []
            position = 0
            for start, end in self._matches(body) if selected != output.invert else ():
                # The colour of the line goes on below that of the match, which ends both.
                pieces += [output.start(whole), body[position:start]]
                pieces.append(output.paint("ms" if selected else "mc", body[start:end]))
                position = end
            line = "".join(pieces) + output.paint(whole, body[position:]) + self.end
        self.waiting.append(self._prefix(separator, number, offset, line.removesuffix(self.end)) + line)

    def _print_matches(self, line: str, offset: int) -> None:
        output = self.output
        body = line.removesuffix(self.end)
        prefix = self._prefix(":", self.line_number, offset, body)
        for start, end in self._matches(body):
            if output.binary != "text" and _INVALID.search(body, start, end):
                self.invalid = True
                continue
            if output.offsets:
                prefix = self._prefix(":", self.line_number, offset + _size(body, 0, start), body)
            self.waiting.append(f"{prefix}{output.paint('ms', body[start:end])}{self.end}")

    def _matches(self, body: str) -> Iterator[tuple[int, int]]:
        """The matches of a line that are not empty."""
        position = 0
        while position <= len(body):
            found = self.pattern.search(body, position)
            if found is None:
                return
            start, end = match_start(found), found.end()
            if end > start:
                yield start, end
                position = end
            else:
                position = max(end, position) + 1


def _size(text: str, start: int, end: int) -> int:
    """The length in bytes."""
    return end - start if text.isascii() else len(encode(text[start:end]))
