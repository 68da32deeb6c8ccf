"""`du`: summarize device usage of the set of FILEs, recursively for directories."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Generator

from planaria_shell.commands.files.size_units import Units
from planaria_shell.commands.text.wc import extra_operand, names_from
from planaria_shell.expand.patterns import compile_pattern
from planaria_shell.state.command import Status
from planaria_shell.toolkit.file_status import blocks_of
from planaria_shell.toolkit.file_times import format_time
from planaria_shell.toolkit.invocation import Invocation, command
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import quote, shell_quote_always
from planaria_shell.toolkit.sizes import parse_size


class _Usage:
    """The walk of du."""

    def __init__(self, call: Invocation, units: Units, depth: int | None) -> None:
        arguments = call.arguments
        self.call = call
        self.units = units
        self.depth = depth
        self.all = arguments.has("a")
        self.apparent = arguments.has("apparent-size", "b")
        self.separate = arguments.has("S")
        self.count_links = arguments.has("l")
        self.inodes = arguments.has("inodes")
        self.one_filesystem = arguments.has("x")
        self.end = "\0" if arguments.has("0") else "\n"
        self.seen: set[tuple[int, int]] = set()
        self.exclude = [compile_pattern(p) for p in arguments.values("exclude")]
        self.follow = arguments.last(("L", "P", "D", "H")) or "P"
        self.times = arguments.has("time")
        self.threshold = 0
        if (text := arguments.value("t")) is not None:
            try:
                self.threshold = parse_size(text.removeprefix("-")) * (-1 if text.startswith("-") else 1)
            except ValueError:
                raise UsageError(f"invalid --threshold argument {quote(text)}", hint=False) from None

    def _own(self, status: os.stat_result) -> int:
        if self.inodes:
            return 1
        if self.apparent:
            return status.st_size
        return blocks_of(status) * 512

    def show(self, size: int, name: str, changed: int) -> None:
        if (self.threshold > 0 and size < self.threshold) or (self.threshold < 0 and size > -self.threshold):
            return
        shown = str(size) if self.inodes and not self.units.human else self.units.show(size)
        when = format_time(changed, "%Y-%m-%d %H:%M", self.call.env) + "\t" if self.times else ""
        self.call.print(f"{shown}\t{when}{name}", self.end)

    def _excluded(self, path: str) -> bool:
        return any(
            pattern.fullmatch(path)
            or any(pattern.fullmatch(path[i + 1 :]) for i, c in enumerate(path) if c == "/")
            for pattern in self.exclude
        )

    def measure(self, operand: str) -> Generator[None, None, tuple[int, int]]:
        """Print what is below an operand; returns its size and its time of change."""
        call = self.call
        follow = self.follow in ("L", "D", "H")
        # A frame: [name, depth, names left, size, size without subdirectories, time, device].
        status = self._status(operand, follow)
        if status is None:
            return 0, 0
        if not stat.S_ISDIR(status.st_mode):
            size = self._own(status) if self._first(status) else 0
            if self._first_time:
                self.show(size, operand, status.st_mtime_ns)
            return size, status.st_mtime_ns
        if not self._first(status):
            return 0, 0
        stack: list[tuple[str, list[str], list[int]]] = [
            (operand, self._names(operand), [self._own(status), self._own(status), status.st_mtime_ns])
        ]
        device = status.st_dev
        while True:
            name, names, totals = stack[-1]
            if names:
                child = name + names.pop() if name.endswith("/") else f"{name}/{names.pop()}"
                if self.exclude and self._excluded(child):
                    continue
                inner = self._status(child, self.follow == "L")
                if inner is None or (self.one_filesystem and inner.st_dev != device):
                    continue
                if not self._first(inner):
                    continue
                if stat.S_ISDIR(inner.st_mode):
                    own = self._own(inner)
                    stack.append((child, self._names(child), [own, own, inner.st_mtime_ns]))
                    continue
                size = self._own(inner)
                totals[0] += size
                totals[1] += size
                totals[2] = max(totals[2], inner.st_mtime_ns)
                if self.all and (self.depth is None or len(stack) <= self.depth):
                    self.show(size, child, inner.st_mtime_ns)
                continue
            stack.pop()
            if self.depth is None or len(stack) <= self.depth:
                self.show(totals[1] if self.separate else totals[0], name, totals[2])
            if call.stdout.full:
                yield
            if not stack:
                return totals[0], totals[2]
            stack[-1][2][0] += totals[0]
            stack[-1][2][2] = max(stack[-1][2][2], totals[2])

    _first_time = True

    def _first(self, status: os.stat_result) -> bool:
        """False for a file that has been counted under another name."""
        self._first_time = True
        if self.count_links or (
            status.st_nlink < 2 and not stat.S_ISDIR(status.st_mode) and self.follow == "P"
        ):
            return True
        identity = (status.st_dev, status.st_ino)
        if identity in self.seen:
            self._first_time = False
            return False
        self.seen.add(identity)
        return True

    def _status(self, name: str, follow: bool) -> os.stat_result | None:
        path = self.call.path(name)
        try:
            return os.stat(path) if follow else os.lstat(path)
        except OSError as error:
            dangling = follow and error.errno == errno.ENOENT and os.path.lexists(path)
            # What is wrong with a link that leads nowhere is not told.
            self.call.complain(f"cannot access {shell_quote_always(name)}", None if dangling else error)
            return None

    def _names(self, name: str) -> list[str]:
        try:
            return sorted(os.listdir(self.call.path(name)), reverse=True)
        except OSError as error:
            self.call.complain(f"cannot read directory {shell_quote_always(name)}", error)
            return []


@command(
    "du",
    short="0abcd:DHhklLmPsSt:xX:B:",
    long="null=0 all=a apparent-size block-size=B: bytes=b total=c max-depth=d: dereference-args=D "
    "files0-from: "
    "human-readable=h si inodes count-links=l dereference=L no-dereference=P separate-dirs=S summarize=s "
    "threshold=t: time:: time-style: exclude-from=X: exclude: one-file-system=x",
)
def du(call: Invocation) -> Generator[None, None, Status]:
    """Summarize device usage of the set of FILEs, recursively for directories."""
    arguments = call.arguments
    depth: int | None = None
    if (text := arguments.value("d")) is not None:
        if not text.isdigit():
            raise UsageError(f"invalid maximum depth {quote(text)}")
        depth = int(text)
    if arguments.has("s"):
        if arguments.has("a"):
            raise UsageError("cannot both summarize and show all entries")
        if depth:
            raise UsageError(f"warning: summarizing conflicts with --max-depth={depth}")
        depth = 0
    names = call.operands or ["."]
    if (listing := arguments.value("files0-from")) is not None:
        if call.operands:
            raise extra_operand(quote(call.operands[0]))
        names = names_from(call, listing)
    usage = _Usage(call, Units(call), depth)
    total = newest = 0
    for name in names:
        size, changed = yield from usage.measure(name)
        total += size
        newest = max(newest, changed)
    if arguments.has("c"):
        usage.show(total, "total", newest)
    return call.status
