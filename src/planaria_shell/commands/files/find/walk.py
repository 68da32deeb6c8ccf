"""The files that find looks at, and the walk that comes by them."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field

from planaria_shell.toolkit.invocation import Invocation
from planaria_shell.toolkit.quoting import quote

__all__ = ["Entry", "Settings", "walk"]


class Entry:
    """One file: its name as find shows it, where it is, and its status when that is asked for."""

    __slots__ = (
        "_lstat",
        "_status",
        "ancestors",
        "depth",
        "directory",
        "follow",
        "full",
        "name",
        "path",
        "regular",
        "start",
    )

    def __init__(
        self,
        start: str,
        path: str,
        full: str,
        name: str,
        depth: int,
        follow: bool,
        directory: bool | None,
        regular: bool = False,
    ) -> None:
        self.start = start
        self.path = path
        self.full = full
        self.name = name
        self.depth = depth
        self.follow = follow
        #: Whether the listing that contains it says that it is a directory; None: not known.
        self.directory = directory
        #: Whether it is known to be a regular file.
        self.regular = regular
        self._status: os.stat_result | None = None
        self._lstat: os.stat_result | None = None

    def lstat(self) -> os.stat_result:
        """The status of the file itself."""
        if self._lstat is None:
            self._lstat = os.lstat(self.full)
        return self._lstat

    def status(self) -> os.stat_result:
        """The status of the file, or of what the symbolic link points to when links are followed."""
        if self._status is None:
            if self.follow:
                try:
                    self._status = os.stat(self.full)
                except OSError as error:
                    if error.errno not in (errno.ENOENT, errno.ENOTDIR):
                        raise
                    self._status = self.lstat()
            else:
                self._status = self.lstat()
        return self._status

    def is_directory(self) -> bool:
        if self.directory is None:
            self.directory = stat.S_ISDIR(self.status().st_mode)
        return self.directory


@dataclass(slots=True)
class Settings:
    """The global options of one call of find."""

    follow: str = "never"  # "never", "operands", "always"
    lowest: int = 0
    deepest: int | None = None
    contents_first: bool = False
    one_filesystem: bool = False
    ignore_races: bool = False
    #: Set by `-prune` while an entry is looked at: do not go into it.
    pruned: bool = False
    starts: list[str] = field(default_factory=list)
    #: They came from `-files0-from`, and may be none.
    given_starts: bool = False


def _complain(call: Invocation, path: str, error: OSError) -> None:
    call.complain(quote(path), error)


def walk(call: Invocation, settings: Settings) -> Iterator[Entry]:
    """Every file from the starting points down, before or after what is in it.

    Between two entries the caller may set `settings.pruned`.
    """
    for start in settings.starts:
        follow = settings.follow != "never"
        entry = Entry(
            start, start, call.path(start), start.rstrip("/").rpartition("/")[2] or start, 0, follow, None
        )
        try:
            status = entry.status()
        except OSError as error:
            _complain(call, start, error)
            continue
        yield from _walk_from(call, settings, entry, status.st_dev)


def _walk_from(call: Invocation, settings: Settings, top: Entry, device: int) -> Iterator[Entry]:
    follow_all = settings.follow == "always"
    # One frame for each open directory: (the directory, its entries, its identity when links are followed).
    stack: list[tuple[Entry, Iterator[Entry], tuple[int, int] | None]] = []
    open_identities: dict[tuple[int, int], str] = {}

    def enter(entry: Entry) -> bool:
        """Open a directory; False when it is none or must not be gone into."""
        if settings.deepest is not None and entry.depth >= settings.deepest:
            return False
        try:
            if not entry.is_directory():
                return False
            identity: tuple[int, int] | None = None
            if settings.one_filesystem and entry.status().st_dev != device:
                return False
            if follow_all:
                status = entry.status()
                identity = (status.st_dev, status.st_ino)
            children = _children(entry, follow_all)
        except OSError as error:
            if not (settings.ignore_races and error.errno == errno.ENOENT):
                _complain(call, entry.path, error)
            return False
        if identity is not None:
            open_identities[identity] = entry.path
        stack.append((entry, iter(children), identity))
        return True

    def loops(entry: Entry) -> bool:
        """Report a directory that is one of those that lead to it."""
        if not follow_all or not stack:
            return False
        try:
            if not entry.is_directory():
                return False
            status = entry.status()
        except OSError:
            return False
        same = open_identities.get((status.st_dev, status.st_ino))
        if same is None:
            return False
        call.complain(
            f"File system loop detected; {quote(entry.path)} is part of the same file "
            f"system loop as {quote(same)}."
        )
        return True

    def dangles(entry: Entry) -> bool:
        """Report a link that leads nowhere, but in circles, where links are followed."""
        if not follow_all or not stack:
            return False
        try:
            entry.status()
        except OSError as error:
            _complain(call, entry.path, error)
            return True
        return False

    def visible(entry: Entry) -> bool:
        return entry.depth >= settings.lowest

    lowest = settings.lowest
    first: Entry | None = top
    while True:
        entry = first
        if entry is None:
            if not stack:
                return
            parent, children, identity = stack[-1]
            for child in children:
                if child.directory is not False:
                    entry = child
                    break
                if child.depth >= lowest:
                    yield child
            if entry is None:
                stack.pop()
                if identity is not None:
                    open_identities.pop(identity, None)
                if settings.contents_first and visible(parent):
                    yield parent
                continue
        first = None
        if loops(entry) or dangles(entry):
            continue
        if settings.contents_first:
            if not enter(entry) and visible(entry):
                yield entry
            continue
        settings.pruned = False
        if visible(entry):
            yield entry
        if not settings.pruned:
            enter(entry)


def _children(entry: Entry, follow: bool) -> list[Entry]:
    prefix = entry.path if entry.path.endswith("/") else entry.path + "/"
    full = entry.full if entry.full.endswith("/") else entry.full + "/"
    depth = entry.depth + 1
    start = entry.start
    children = []
    with os.scandir(entry.full) as found:
        for item in found:
            name = item.name
            regular = item.is_file(follow_symlinks=False)
            directory: bool | None = False
            if not regular:
                directory = None if follow and item.is_symlink() else item.is_dir(follow_symlinks=False)
            children.append(Entry(start, prefix + name, full + name, name, depth, follow, directory, regular))
    return children
