"""Resolving paths, for `readlink` and `realpath`."""

from __future__ import annotations

import errno
import os
import stat

__all__ = ["resolve"]

_MOST_LINKS = 40


def resolve(path: str, missing: str = "last", follow: bool = True) -> str:
    """An absolute path without `.`, `..` and, unless they are not followed, symbolic links.

    Args:
        missing: What need not exist: "nothing", "last" (the last part), "anything".

    Raises OSError (ENOENT, ENOTDIR, ELOOP).
    """
    pending = _parts(path)
    resolved: list[str] = []
    links = 0
    lost = False  # a part that does not exist was passed
    while pending:
        part = pending.pop()
        if part in ("", "."):
            continue
        if part == "..":
            if resolved:
                resolved.pop()
            continue
        resolved.append(part)
        current = "/" + "/".join(resolved)
        if lost:
            continue
        try:
            if follow and stat.S_ISLNK(os.lstat(current).st_mode):
                links += 1
                if links > _MOST_LINKS:
                    if missing == "anything":
                        continue
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
                target = os.readlink(current)
                resolved.pop()
                if target.startswith("/"):
                    resolved = []
                pending += _parts(target)[1 if pending and target.endswith("/") else 0 :]
            elif missing == "anything":
                continue
            elif _needs_directory(pending):
                os.stat(current + "/")
            elif not follow and not pending:
                os.stat(current)
        except OSError as error:
            if missing == "anything":
                lost = True
            elif missing != "last" or error.errno != errno.ENOENT or any(pending):
                raise
    return "/" + "/".join(resolved)


def _parts(path: str) -> list[str]:
    """The parts of a path, the last one first; an empty one is a slash at the end."""
    parts = [part for part in path.split("/") if part]
    if path.endswith("/"):
        parts.append("")
    return parts[::-1]


def _needs_directory(pending: list[str]) -> bool:
    """Does the rest of a path, which no name begins, hold only below a directory?"""
    following = next((part for part in reversed(pending) if part != "."), None)
    return bool(pending) if following is None else following in ("", "..")
