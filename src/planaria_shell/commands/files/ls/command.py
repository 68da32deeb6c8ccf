"""ls, dir, vdir: what is in directories."""

from __future__ import annotations

import os
import stat
from collections.abc import Generator

from planaria_shell.commands.files.ls.entries import Entry
from planaria_shell.commands.files.ls.listing import Listing, Misused
from planaria_shell.run.command import Status
from planaria_shell.toolkit.invocation import Invocation, utility
from planaria_shell.toolkit.quoting import shell_quote_always
from planaria_shell.toolkit.streams import reason

__all__: list[str] = []


_SHORT = "aAbBcCdDfFgGhHiI:klLmnNopqQrRsStT:uUvw:xXZ1"
_LONG = (
    "all=a almost-all=A author escape=b block-size: ignore-backups=B color:: directory=d dired=D "
    "classify=F:: "
    "file-type format: full-time group-directories-first no-group=G human-readable=h si "
    "dereference-command-line=H "
    "dereference-command-line-symlink-to-dir hide: hyperlink:: indicator-style: inode=i ignore=I: "
    "kibibytes=k "
    "dereference=L numeric-uid-gid=n literal=N hide-control-chars=q show-control-chars quote-name=Q "
    "quoting-style: reverse=r recursive=R size=s sort: time: time-style: tabsize=T: width=w: context=Z zero"
)


@utility("ls", short=_SHORT, long=_LONG, failure=2)
def ls(call: Invocation) -> Generator[None, None, Status]:
    """List information about the FILEs (the current directory by default), sorted by name."""
    return (yield from _list(call, "1", "literal"))


@utility("dir", short=_SHORT, long=_LONG, failure=2)
def dir_command(call: Invocation) -> Generator[None, None, Status]:
    """List directory contents in columns, like `ls -C -b`."""
    return (yield from _list(call, "C", "escape"))


@utility("vdir", short=_SHORT, long=_LONG, failure=2)
def vdir(call: Invocation) -> Generator[None, None, Status]:
    """List directory contents in long form, like `ls -l -b`."""
    return (yield from _list(call, "l", "escape"))


def _list(call: Invocation, default_format: str, quoting: str) -> Generator[None, None, Status]:
    try:
        listing = Listing(call, default_format, quoting)
    except Misused:
        return 2
    names = call.operands or ["."]
    files: list[Entry] = []
    directories: list[Entry] = []
    for name in names:
        entry = Entry(name, call.path(name), None)
        if not name:
            call.error("cannot access '': No such file or directory")
            call.status = 2
            continue
        if not listing.look(entry, True):
            continue
        is_directory = entry.status is not None and stat.S_ISDIR(entry.status.st_mode)
        (directories if is_directory and not listing.directory else files).append(entry)
    listing.arrange(files)
    listing.arrange(directories)
    for piece in listing.show(files, directories):
        call.print(piece, "")
    headers = len(names) > 1 or listing.recursive
    first = not files
    pending = list(reversed(directories))
    while pending:
        directory = pending.pop()
        entries = _read(call, listing, directory)
        if entries is None:
            continue
        if headers:
            call.print(f"{'' if first else chr(10)}{listing.show_name(directory.name)}:")
        first = False
        listing.arrange(entries)
        if listing.format == "l" or listing.blocks:
            call.print(f"total {listing.total(entries)}", listing.end)
        for piece in listing.show(entries):
            call.print(piece, "")
            if call.stdout.full:
                yield
        if listing.recursive:
            inner = [
                entry
                for entry in entries
                if entry.status and stat.S_ISDIR(entry.status.st_mode) and entry.name not in (".", "..")
            ]
            for entry in reversed(inner):
                pending.append(Entry(_joined(directory.name, entry.name), entry.path, None))
    return call.status


def _joined(directory: str, name: str) -> str:
    return directory + name if directory.endswith("/") else f"{directory}/{name}"


def _read(call: Invocation, listing: Listing, directory: Entry) -> list[Entry] | None:
    try:
        names = os.listdir(directory.path)
    except OSError as error:
        call.error(f"cannot open directory {shell_quote_always(directory.name)}: {reason(error)}")
        call.status = 2 if call.status == 2 or directory.status else 1
        return None
    if listing.hidden == "a":
        names = [".", "..", *names]
    entries: list[Entry] = []
    for name in names:
        if not listing.wanted(name):
            continue
        entry = Entry(name, os.path.join(directory.path, name), None)
        if not listing.needs_status or listing.look(entry, False):
            entries.append(entry)
    return entries
