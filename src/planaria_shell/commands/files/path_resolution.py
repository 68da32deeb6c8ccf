"""Resolving paths, for `readlink` and `realpath`."""

from __future__ import annotations

import errno
import os
import stat

__all__ = ["resolve"]


def resolve(path: str, missing: str = "last", logical: bool = False) -> str:
    """An absolute path without symbolic links, `.` and `..`.

    Args:
        missing: What need not exist: "nothing", "last" (the last part), "anything".
        logical: Resolve `..` before symbolic links.

    Raises OSError (ENOENT, ENOTDIR, ELOOP).
    """
    if logical:
        path = os.path.normpath(path)
    must_be_directory = path.endswith(("/", "/.", "/.."))
    pending = [part for part in reversed(path.split("/")) if part]
    resolved: list[str] = []
    links = 0
    lost = False  # a part that does not exist was passed
    while pending:
        part = pending.pop()
        if part == ".":
            continue
        if part == "..":
            if resolved:
                resolved.pop()
            continue
        resolved.append(part)
        current = "/" + "/".join(resolved)
        if lost and missing == "anything":
            continue
        try:
            status = os.lstat(current)
        except OSError as error:
            if missing == "anything" and error.errno in (errno.ENOENT, errno.ENOTDIR):
                lost = True
                continue
            if missing == "last" and error.errno == errno.ENOENT and not any(p != "." for p in pending):
                continue
            raise
        if stat.S_ISLNK(status.st_mode):
            links += 1
            if links > 40:
                if missing == "anything":
                    continue
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            target = os.readlink(current)
            resolved.pop()
            if target.startswith("/"):
                resolved = []
            pending += [piece for piece in reversed(target.split("/")) if piece]
        elif not stat.S_ISDIR(status.st_mode) and (pending or must_be_directory) and missing != "anything":
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    return "/" + "/".join(resolved)
