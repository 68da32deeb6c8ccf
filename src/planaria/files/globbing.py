"""Paths that match a pattern, as `glob` finds them."""

from __future__ import annotations

import fnmatch
import re

from planaria.files.filesystem import DirEntry, FileKind, FileSystem
from planaria.files.manifest import bytes_of, text_of

__all__ = ["matching_paths"]


def matching_paths(filesystem: FileSystem, start: bytes, pattern: str) -> list[bytes]:
    """The paths below the directory `start` that match, in no order, some of them twice; see `Files.glob`."""
    found = [start.rstrip(b"/")]
    parts = [part for part in pattern.split("/") if part]
    for number, part in enumerate(parts):
        if part == "**":
            found = _below(filesystem, found, with_files=number == len(parts) - 1)
        elif any(letter in part for letter in "*?["):
            found = _matching(filesystem, found, part)
        else:
            name = b"/" + bytes_of(part)
            found = [path + name for path in found if _exists(filesystem, path + name)]
    return [path or b"/" for path in found]


def _matching(filesystem: FileSystem, directories: list[bytes], part: str) -> list[bytes]:
    matches = re.compile(fnmatch.translate(part)).match
    return [
        path + b"/" + entry.name
        for path in directories
        for entry in _entries(filesystem, path)
        if matches(name := text_of(entry.name)) and (not name.startswith(".") or part.startswith("."))
    ]


def _below(filesystem: FileSystem, directories: list[bytes], *, with_files: bool) -> list[bytes]:
    """The directories and all below them; with their files, if asked for."""
    found: list[bytes] = []
    seen: set[bytes] = set()
    pending = list(directories)
    while pending:
        path = pending.pop()
        if path in seen:
            continue
        seen.add(path)
        found.append(path)
        for entry in _entries(filesystem, path):
            if entry.name.startswith(b"."):
                continue
            if entry.kind is FileKind.DIRECTORY:
                pending.append(path + b"/" + entry.name)
            elif with_files:
                found.append(path + b"/" + entry.name)
    return found


def _entries(filesystem: FileSystem, path: bytes) -> list[DirEntry]:
    try:
        return list(filesystem.scandir(path or b"/"))
    except (FileNotFoundError, NotADirectoryError):
        return []


def _exists(filesystem: FileSystem, path: bytes) -> bool:
    try:
        filesystem.stat(path, follow=False)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True
