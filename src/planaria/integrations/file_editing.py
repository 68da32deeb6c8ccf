"""Editing text files as models were trained to: view, create, replace a string, insert, delete, rename."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from planaria.integrations.backend_files import BackendFiles

__all__ = ["EditingError", "FileEditing"]

T = TypeVar("T")

#: The width of a line's number.
_WIDTH: Final = 6
#: Lines that are shown before and after a change.
_AROUND: Final = 2
#: How many levels of directories are listed.
_LEVELS: Final = 2


class EditingError(Exception):
    """A file was not viewed or changed; the message is for the model."""


class FileEditing:
    """Views and edits the text files of a session. Every operation returns text for the model.

    Raises EditingError for files that do not exist, are not text, cannot be written and so on.

    Args:
        files: the files.
        place: returns the file's path for each path that the model gives; raises ValueError for one that is
            not allowed.
    """

    def __init__(self, files: BackendFiles, place: Callable[[str], str] = str) -> None:
        self._files = files
        self._place = place

    def view(self, path: str, lines: Sequence[int] | None = None, most: int | None = None) -> str:
        """A file with numbers before its lines, or a directory's entries, two levels of them.

        Args:
            path: the file or directory.
            lines: the first and the last line to show, counted from 1; -1 is the last one.
            most: how many characters are shown.
        """
        if self._do(path, lambda place: self._files.stat(place).is_dir):
            return "\n".join(self._do(path, lambda place: self._listed(place, path, _LEVELS)))
        found = self._read(path).split("\n")
        first, last = (1, len(found)) if lines is None else _range(lines, len(found))
        shown = "\n".join(_numbered(found, first, last))
        return shown if most is None or len(shown) <= most else f"{shown[:most]}\n[truncated]"

    def create(self, path: str, text: str) -> str:
        """Write a file, in place of one that is there, creating the directories above it."""
        self._write(path, text)
        return f"created {path}"

    def replace(self, path: str, old: str, new: str, *, everywhere: bool = False) -> str:
        """Replace a string, which must be in the file exactly once unless `everywhere`."""
        text = self._read(path)
        starts = list(_starts(text, old))
        if not starts:
            raise EditingError(f"{path}: the string to replace is not in the file, character for character")
        if len(starts) > 1 and not everywhere:
            numbers = ", ".join(str(text.count("\n", 0, start) + 1) for start in starts)
            raise EditingError(
                f"{path}: the string to replace occurs {len(starts)} times, in lines {numbers}; "
                "include more of the text around it"
            )
        changed = text.replace(old, new)
        self._write(path, changed)
        line = text.count("\n", 0, starts[0]) + 1
        lines = changed.split("\n")
        last = min(line + new.count("\n") + _AROUND, len(lines))
        shown = "\n".join(_numbered(lines, max(1, line - _AROUND), last))
        plural = "" if len(starts) == 1 else "s"
        return f"edited {path}, {len(starts)} replacement{plural}:\n{shown}"

    def insert(self, path: str, line: int, text: str) -> str:
        """Insert text after a line; 0 is the beginning of the file."""
        lines = self._read(path).split("\n")
        count = len(lines) - (lines[-1] == "")
        if not 0 <= line <= count:
            raise EditingError(f"{path}: line {line} is not between 0 and {count}, the number of lines")
        lines[line:line] = text.removesuffix("\n").split("\n")
        self._write(path, "\n".join(lines))
        return f"edited {path}, inserted after line {line}"

    def delete(self, path: str) -> str:
        """Remove a file, or a directory with all that is in it."""
        self._do(path, self._files.remove)
        return f"deleted {path}"

    def rename(self, path: str, new_path: str) -> str:
        """Move a file or directory; there must be nothing of the new name."""
        target = self._do(new_path, str)
        try:
            self._do(path, lambda place: self._files.rename(place, target))
        except EditingError as error:
            if isinstance(error.__cause__, FileExistsError):
                raise EditingError(f"{new_path}: {error.__cause__.strerror}") from error
            raise
        return f"renamed {path} to {new_path}"

    def _listed(self, place: str, shown: str, levels: int) -> list[str]:
        lines = [f"{shown.rstrip('/')}/"]
        for entry in self._files.list(place):
            if entry.name.startswith("."):
                continue
            name = f"{lines[0]}{entry.name}"
            if entry.is_dir and levels > 1:
                lines += self._listed(entry.path, name, levels - 1)
            else:
                lines.append(name + "/" * entry.is_dir)
        return lines

    def _read(self, path: str) -> str:
        try:
            return self._do(path, self._files.read).decode()
        except UnicodeDecodeError as error:
            raise EditingError(f"{path}: not a text file in UTF-8") from error

    def _write(self, path: str, text: str) -> None:
        self._do(path, lambda place: self._files.write(place, text.encode()))

    def _do(self, path: str, operation: Callable[[str], T]) -> T:
        try:
            return operation(self._place(path))
        except OSError as error:
            raise EditingError(f"{path}: {error.strerror or error}") from error
        except ValueError as error:
            raise EditingError(str(error)) from error


def _range(lines: Sequence[int], count: int) -> tuple[int, int]:
    match list(lines):
        case [first, last]:
            last = count if last == -1 else last
            if 1 <= first <= count and last >= first:
                return first, min(last, count)
    raise EditingError(f"view_range={list(lines)}: give two numbers of lines between 1 and {count}")


def _numbered(lines: Sequence[str], first: int, last: int) -> list[str]:
    return [f"{number:{_WIDTH}}\t{lines[number - 1]}" for number in range(first, last + 1)]


def _starts(text: str, part: str) -> list[int]:
    """Where a string occurs, without overlaps; an empty one does not."""
    found: list[int] = []
    start = text.find(part) if part else -1
    while start >= 0:
        found.append(start)
        start = text.find(part, start + len(part))
    return found
