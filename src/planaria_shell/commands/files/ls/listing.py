"""What ls was asked for, and how it shows a group of files."""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Callable
from typing import Any

from planaria_shell.commands.files.ls.columns import columns, commas
from planaria_shell.commands.files.ls.entries import (
    COLOURS,
    INDICATORS,
    Entry,
    colour_of,
    extension,
    has_colours,
    is_directory,
)
from planaria_shell.expand.patterns import compile_pattern
from planaria_shell.toolkit.file_status import blocks_of, device_parts
from planaria_shell.toolkit.file_times import format_time
from planaria_shell.toolkit.invocation import Invocation
from planaria_shell.toolkit.options import UsageError, choose
from planaria_shell.toolkit.quoting import c_quote, escape, quote, shell_quote, shell_quote_always
from planaria_shell.toolkit.sizes import block_size, human_size
from planaria_shell.toolkit.streams import reason
from planaria_shell.toolkit.users import group_name, owner, user_name
from planaria_shell.toolkit.version_order import version_key
from planaria_shell.toolkit.width import display_width

_SORTS = {
    "none": "U",
    "time": "t",
    "size": "S",
    "extension": "X",
    "version": "v",
    "width": "width",
}


_TIMES = {
    "atime": "u",
    "access": "u",
    "use": "u",
    "ctime": "c",
    "status": "c",
    "birth": "c",
    "creation": "c",
    "mtime": "m",
    "modification": "m",
}


_FORMATS = {
    "verbose": "l",
    "long": "l",
    "commas": "m",
    "horizontal": "x",
    "across": "x",
    "vertical": "C",
    "single-column": "1",
}


_QUOTING: dict[str, Callable[[str], str]] = {
    "literal": lambda name: name,
    "shell": lambda name: shell_quote(name, ""),
    "shell-always": shell_quote_always,
    "shell-escape": lambda name: shell_quote(name, ""),
    "shell-escape-always": shell_quote_always,
    "c": c_quote,
    "escape": escape,
    "locale": quote,
}


_TIME_STYLES = ("full-iso", "long-iso", "iso", "locale")


_HALF_YEAR = 31556952 // 2


class Listing:
    """The settings of one call of ls."""

    def __init__(self, call: Invocation, default_format: str, quoting: str) -> None:
        arguments = call.arguments
        self.call = call
        self.format = default_format
        self.sort = "name"
        self.time = "m"
        self.hidden = ""
        self.quoting = quoting
        self.indicator = ""
        self.numeric = arguments.has("n")
        self.owner = not arguments.has("g")
        self.group = not arguments.has("o", "G")
        self.inode = arguments.has("i")
        self.reverse = arguments.has("r")
        self.recursive = arguments.has("R")
        self.directory = arguments.has("d")
        self.directories_first = arguments.has("group-directories-first")
        self.end = "\0" if arguments.has("zero") else "\n"
        self.blocks = arguments.has("s")
        self.block, self.block_suffix, self.human = 1024, "", 0
        self.size_unit = (1, "")
        self.time_style: str | None = None
        self.colour = False
        self.ignored = [compile_pattern(pattern) for pattern in arguments.values("I")]
        self.hide = [compile_pattern(pattern) for pattern in arguments.values("hide")]
        self.question_marks = arguments.last(("q", "show-control-chars")) == "q"
        self.width = int(call.env.get("COLUMNS", "80")) if call.env.get("COLUMNS", "80").isdigit() else 80
        time_given = sort_given = False
        for key, value in arguments:
            if key in ("l", "g", "n", "o", "full-time"):
                self.format = "l"
            if key in ("C", "x", "m"):
                self.format = key
            elif key == "1":
                if self.format != "l":
                    self.format = "1"
            elif key == "format":
                self.format = choose(value or "", _FORMATS, "--format")
            elif key in ("t", "S", "X", "v", "U", "f"):
                self.sort = "U" if key == "f" else key
                sort_given = True
                if key == "f":
                    self.hidden = "a"
                    if self.format == "l":
                        self.format = default_format
            elif key == "sort":
                self.sort = choose(value or "", _SORTS, "--sort")
                sort_given = True
            elif key in ("c", "u"):
                self.time = key
                time_given = True
            elif key == "time":
                self.time = choose(value or "", _TIMES, "--time")
                time_given = True
            elif key in ("a", "A"):
                self.hidden = key
            elif key == "Q":
                self.quoting = "c"
            elif key == "N":
                self.quoting = "literal"
            elif key == "b":
                self.quoting = "escape"
            elif key == "quoting-style":
                self.quoting = choose(value or "", {name: name for name in _QUOTING}, "--quoting-style")
            elif key == "F":
                when = choose(value, COLOURS, "--classify") if value is not None else "always"
                self.indicator = "F" if when == "always" else self.indicator
            elif key == "p":
                self.indicator = "p"
            elif key == "file-type":
                self.indicator = "t"
            elif key == "indicator-style":
                self.indicator = choose(value or "", INDICATORS, "--indicator-style")
            elif key == "color":
                self.colour = value is None or choose(value, COLOURS, "--color") == "always"
                self.colour = self.colour and has_colours(call.env)
            elif key in ("h", "si"):
                self.human = 1024 if key == "h" else 1000
            elif key == "k":
                self.block = 1024
            elif key == "block-size":
                self._set_block(value or "")
            elif key == "w":
                if not (value or "").isdigit():
                    raise UsageError(f"invalid line width: {quote(value or '')}", hint=False)
                self.width = int(value or "0")
            elif key == "full-time":
                self.time_style = "full-iso"
            elif key == "time-style":
                self.time_style = self._time_style(value or "")
            elif key == "zero":
                if self.format != "l":
                    self.format = "1"
                self.quoting = "literal"
        if time_given and not sort_given and self.format != "l":
            self.sort = "t"
        if self.time_style is None and (style := call.env.get("TIME_STYLE")):
            self.time_style = self._time_style(style)
        follow_default = not (self.directory or self.format == "l" or self.indicator == "F")
        self.dereference = arguments.has("L")
        self.follow_operands = self.dereference or arguments.has("H")
        self.follow_directories = follow_default or arguments.has("dereference-command-line-symlink-to-dir")
        self.needs_status = (
            self.format == "l"
            or self.sort in ("t", "S")
            or self.inode
            or self.blocks
            or bool(self.indicator)
            or self.recursive
            or self.directories_first
            or self.colour
        )
        self.show_name = _QUOTING[self.quoting]
        self.now = time.time()
        #: What has been formatted already, by minute: many files share one, and this is the slowest part.
        self._times: dict[tuple[int, str], str] = {}

    def _set_block(self, text: str) -> None:
        try:
            size, suffix, human = block_size(text)
        except ValueError:
            raise UsageError(f"invalid --block-size argument {quote(text)}", hint=False) from None
        self.block, self.block_suffix, self.human = size, suffix, human
        self.size_unit = (size, suffix)

    def _time_style(self, text: str) -> str:
        text = text.removeprefix("posix-")
        if text.startswith("+"):
            return text
        if text in _TIME_STYLES:
            return text
        found = [style for style in _TIME_STYLES if style.startswith(text)]
        if len(found) == 1:
            return found[0]
        call = self.call
        call.error(f"{'ambiguous' if found else 'invalid'} argument {quote(text)} for {quote('time style')}")
        call.warn("Valid arguments are:")
        for style in ("full-iso", "long-iso", "iso", "locale"):
            call.warn(f"  - [posix-]{style}")
        call.warn("  - +FORMAT (e.g., +%H:%M) for a 'date'-style format")
        call.warn(f"Try '{call.argv[0]} --help' for more information.")
        raise Misused

    # -- what is listed ------------------------------------------------------------------------

    def wanted(self, name: str) -> bool:
        if name.startswith("."):
            if not self.hidden:
                return False
        elif not self.hidden and any(pattern.fullmatch(name) for pattern in self.hide):
            return False
        if self.call.arguments.has("B") and name.endswith("~"):
            return False
        return not any(pattern.fullmatch(name) for pattern in self.ignored)

    def look(self, entry: Entry, operand: bool) -> bool:
        """Fill in what is known of a file; False when it cannot be accessed (reported)."""
        status: os.stat_result | None = None
        try:
            if self.dereference or (operand and self.follow_operands):
                try:
                    status = os.stat(entry.path)
                except FileNotFoundError:
                    if operand or not os.path.islink(entry.path):
                        raise
                    self.call.error(f"cannot access {shell_quote_always(entry.name)}: {_MISSING}")
                    self.call.status = max(self.call.status, 1)
                    return True
            else:
                status = os.lstat(entry.path)
                if operand and self.follow_directories and stat.S_ISLNK(status.st_mode):
                    try:
                        target = os.stat(entry.path)
                    except FileNotFoundError:
                        target = status
                    if stat.S_ISDIR(target.st_mode):
                        status = target
        except OSError as error:
            self.call.error(f"cannot access {shell_quote_always(entry.name)}: {reason(error)}")
            self.call.status = 2 if operand else max(self.call.status, 1)
            return False
        entry.status = status
        if stat.S_ISLNK(status.st_mode) and (self.format == "l" or self.colour or self.directories_first):
            try:
                entry.target = os.readlink(entry.path)
                entry.target_mode = os.stat(entry.path).st_mode
            except OSError:
                pass
        return True

    def key(self) -> Callable[[Entry], Any] | None:
        if self.sort == "U":
            return None
        if self.sort == "t":
            return lambda entry: (-self.moment(entry), os.fsencode(entry.name))
        if self.sort == "S":
            return lambda entry: (-(entry.status.st_size if entry.status else 0), os.fsencode(entry.name))
        if self.sort == "X":
            return lambda entry: (extension(entry.name), os.fsencode(entry.name))
        if self.sort == "v":
            return lambda entry: (version_key(os.fsencode(entry.name)), os.fsencode(entry.name))
        if self.sort == "width":
            return lambda entry: (display_width(self.show_name(entry.name)), os.fsencode(entry.name))
        return lambda entry: os.fsencode(entry.name)

    def moment(self, entry: Entry) -> int:
        status = entry.status
        if status is None:
            return 0
        return {"m": status.st_mtime_ns, "u": status.st_atime_ns, "c": status.st_ctime_ns}[self.time]

    def arrange(self, entries: list[Entry]) -> None:
        key = self.key()
        if key is not None:
            entries.sort(key=key)
            if self.reverse:
                # Equal keys cannot occur, as the name is part of every key.
                entries.reverse()
        if self.directories_first:
            entries.sort(key=lambda entry: not is_directory(entry))

    # -- how it is shown -----------------------------------------------------------------------

    def name_of(self, entry: Entry) -> str:
        name = entry.name
        if self.question_marks:
            name = "".join(c if c.isprintable() else "?" for c in name)
        shown = self.show_name(name)
        if self.colour:
            code = colour_of(entry)
            if code:
                shown = f"\x1b[{code}m{shown}\x1b[0m"
                if not self._coloured:
                    shown = "\x1b[0m" + shown
                    self._coloured = True
        return shown

    _coloured = False

    def suffix_of(self, entry: Entry) -> str:
        if not self.indicator or entry.status is None:
            return ""
        mode = entry.status.st_mode
        if self.format == "l" and stat.S_ISLNK(mode):
            return ""
        return self._suffix(mode)

    def _suffix(self, mode: int) -> str:
        if stat.S_ISDIR(mode):
            return "/"
        if self.indicator == "p":
            return ""
        if stat.S_ISLNK(mode):
            return "@"
        if stat.S_ISFIFO(mode):
            return "|"
        if stat.S_ISSOCK(mode):
            return "="
        return "*" if self.indicator == "F" and stat.S_ISREG(mode) and mode & 0o111 else ""

    def block_count(self, status: os.stat_result | None) -> str:
        if status is None:
            return "?"
        return self._blocks(blocks_of(status))

    def _blocks(self, blocks: int) -> str:
        if self.human:
            return human_size(blocks * 512, self.human)
        return f"{-(-blocks * 512 // self.block)}{self.block_suffix}"

    def total(self, entries: list[Entry]) -> str:
        return self._blocks(sum(blocks_of(entry.status) for entry in entries if entry.status))

    def size_of(self, status: os.stat_result) -> str:
        if self.human:
            return human_size(status.st_size, self.human)
        unit, suffix = self.size_unit
        return f"{-(-status.st_size // unit)}{suffix}"

    def time_of(self, nanoseconds: int) -> str:
        """A time in the style that was asked for."""
        style = self.time_style
        recent = self.now - _HALF_YEAR < nanoseconds / 1e9 <= self.now
        if style is None or style == "locale":
            template = "%b %e %H:%M" if recent else "%b %e  %Y"
        elif style == "full-iso":
            return format_time(nanoseconds, "%Y-%m-%d %H:%M:%S.%N %z", self.call.env)
        elif style == "long-iso":
            template = "%Y-%m-%d %H:%M"
        elif style == "iso":
            template = "%m-%d %H:%M" if recent else "%Y-%m-%d "
        else:
            old, _, new = style[1:].partition("\n")
            return format_time(nanoseconds, new if new and recent else old, self.call.env)
        key = (nanoseconds // 60_000_000_000, template)
        shown = self._times.get(key)
        if shown is None:
            shown = self._times[key] = format_time(nanoseconds, template, self.call.env)
        return shown

    def show(self, entries: list[Entry], measured: list[Entry] | None = None) -> list[str]:
        """The text of a group of files, in pieces; `measured` share the widths of columns with it."""
        prefix = self._prefixes(entries)
        names = [
            before + self.name_of(entry) + self.suffix_of(entry)
            for before, entry in zip(prefix, entries, strict=True)
        ]
        if self.format == "l":
            return self._long(entries, prefix, names, measured or [])
        if self.format == "1":
            return [name + self.end for name in names]
        if not names:
            return []
        widths = [display_width(name) for name in names]
        if self.colour:
            widths = [display_width(re.sub(r"\x1b\[[\d;]*m", "", name)) for name in names]
        if self.format == "m":
            return commas(names, widths, self.width)
        return columns(names, widths, self.width, self.format == "C")

    def _prefixes(self, entries: list[Entry]) -> list[str]:
        columns: list[list[str]] = []
        if self.inode:
            columns.append([str(e.status.st_ino) if e.status else "?" for e in entries])
        if self.blocks:
            columns.append([self.block_count(e.status) for e in entries])
        out = [""] * len(entries)
        for column in columns:
            width = 0 if self.format == "m" else max(map(len, column), default=0)
            out = [before + text.rjust(width) + " " for before, text in zip(out, column, strict=True)]
        return out

    def _rows(self, entries: list[Entry]) -> list[list[str]]:
        rows: list[list[str]] = []
        for entry in entries:
            status = entry.status
            if status is None:
                rows.append(["l?????????", "?", "?", "?", "?", "?"])
                continue
            user, group = owner(status)
            device = stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode)
            size = "{}, {}".format(*device_parts(status.st_rdev)) if device else self.size_of(status)
            rows.append(
                [
                    stat.filemode(status.st_mode),
                    str(status.st_nlink),
                    str(user) if self.numeric else user_name(user) or str(user),
                    str(group) if self.numeric else group_name(group) or str(group),
                    size,
                    self.time_of(self.moment(entry)),
                ]
            )
        return rows

    def _long(
        self, entries: list[Entry], prefix: list[str], names: list[str], measured: list[Entry]
    ) -> list[str]:
        rows = self._rows(entries)
        measured_rows = rows + self._rows(measured)
        widths = [max((len(row[index]) for row in measured_rows), default=0) for index in range(6)]
        author = self.call.arguments.has("author")
        out: list[str] = []
        for row, entry, before, name in zip(rows, entries, prefix, names, strict=True):
            fields = [row[0], row[1].rjust(widths[1])]
            for index, wanted in ((2, self.owner), (3, self.group), (2, author)):
                if wanted:
                    number = self.numeric or row[index].isdigit()
                    fields.append(
                        row[index].rjust(widths[index]) if number else row[index].ljust(widths[index])
                    )
            fields += [row[4].rjust(widths[4]), row[5].rjust(widths[5]), name[len(before) :]]
            text = before + " ".join(fields)
            if entry.target is not None:
                text += " -> " + self.show_name(entry.target)
                if self.indicator and self.indicator != "p" and entry.target_mode:
                    text += self._suffix(entry.target_mode)
                elif self.indicator == "p" and stat.S_ISDIR(entry.target_mode):
                    text += "/"
            out.append(text + self.end)
        return out


_MISSING = "No such file or directory"


class Misused(Exception):
    """Wrong usage that has been reported already."""
