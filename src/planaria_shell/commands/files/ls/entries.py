"""What ls knows of an entry, and its colour."""

from __future__ import annotations

import os
import stat

INDICATORS = {"none": "", "slash": "p", "file-type": "t", "classify": "F"}


COLOURS = {
    "always": "always",
    "yes": "always",
    "force": "always",
    "never": "never",
    "no": "never",
    "none": "never",
    "auto": "never",
    "tty": "never",
    "if-tty": "never",
}


class Entry:
    """A name to list and what is known about the file."""

    __slots__ = ("name", "path", "status", "target", "target_mode")

    def __init__(self, name: str, path: str, status: os.stat_result | None) -> None:
        self.name = name
        self.path = path
        self.status = status
        self.target: str | None = None
        self.target_mode = 0


def has_colours(env: dict[str, str]) -> bool:
    """Is the terminal one that shows colours, as far as the environment says?"""
    return bool(env.get("COLORTERM") or env.get("LS_COLORS")) or env.get("TERM", "dumb") not in ("", "dumb")


def extension(name: str) -> bytes:
    at = name.rfind(".")
    return os.fsencode(name[at:]) if at >= 0 else b""


def is_directory(entry: Entry) -> bool:
    if entry.status is None:
        return False
    mode = entry.status.st_mode
    return stat.S_ISDIR(mode) or (stat.S_ISLNK(mode) and stat.S_ISDIR(entry.target_mode))


def colour_of(entry: Entry) -> str:
    mode = entry.status.st_mode if entry.status else 0
    if stat.S_ISDIR(mode):
        if mode & stat.S_ISVTX:
            return "30;42" if mode & stat.S_IWOTH else "37;44"
        return "34;42" if mode & stat.S_IWOTH else "01;34"
    if stat.S_ISLNK(mode):
        return "01;36" if entry.target_mode else ""
    if stat.S_ISFIFO(mode):
        return "33"
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        return "01"
    return "01;32" if mode & 0o111 else ""
