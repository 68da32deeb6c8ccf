"""Failures of the system, of SQLite and of Redis as StorageError, which names the place and what to do."""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
from collections.abc import Iterator
from typing import Final

from planaria.errors import StorageError

__all__ = ["file_failures", "redis_failures", "sqlite_failures"]

_BY_NUMBER: Final = {
    errno.ENOSPC: "free space on that filesystem and try again",
    errno.EDQUOT: "free space within the quota and try again",
    errno.EFBIG: "raise the limit of this process for files (ulimit -f)",
    errno.EACCES: "give this user permission, or use another place",
    errno.EPERM: "give this user permission, or use another place",
    errno.EROFS: "the filesystem is read-only; use another place",
    errno.EMFILE: "close files, or raise the limit of open files (ulimit -n)",
    errno.ENFILE: "the system has too many open files; close some and try again",
    errno.ENOTDIR: "a file is where a directory has to be; remove it, or use another place",
    errno.EEXIST: "a file is where a directory has to be; remove it, or use another place",
    errno.EISDIR: "a directory is where a file has to be; remove it, or use another place",
    errno.ENAMETOOLONG: "use a shorter name",
}
_BY_CODE: Final = {
    sqlite3.SQLITE_FULL: "free space on that filesystem and try again",
    sqlite3.SQLITE_BUSY: "another process holds its lock; try again, or end that process",
    sqlite3.SQLITE_LOCKED: "another connection holds its lock; try again",
    sqlite3.SQLITE_READONLY: "give this user permission to write, or use another place",
    sqlite3.SQLITE_CANTOPEN: "check that its directory exists and that this user may write there",
    sqlite3.SQLITE_NOTADB: "it is not an SQLite file; use another place",
    sqlite3.SQLITE_CORRUPT: "it is damaged; restore it from a backup, or recover it with sqlite3 .recover",
    **dict.fromkeys(
        (
            sqlite3.SQLITE_IOERR_SHMOPEN,
            sqlite3.SQLITE_IOERR_SHMSIZE,
            sqlite3.SQLITE_IOERR_SHMLOCK,
            sqlite3.SQLITE_IOERR_SHMMAP,
        ),
        "its filesystem has no memory that processes share, which SQLite needs; use a local disk",
    ),
    sqlite3.SQLITE_IOERR: "check the disk, and whether it is full",
    sqlite3.SQLITE_PERM: "give this user permission, or use another place",
}


def _failure(place: object, reason: object, advice: str | None) -> StorageError:
    return StorageError(
        f"the storage at {place} cannot be used: {reason}" + ("" if advice is None else f" ({advice})")
    )


@contextlib.contextmanager
def file_failures(path: str | os.PathLike[str]) -> Iterator[None]:
    """Raise StorageError for an OSError; it names the file concerned, or `path`."""
    try:
        yield
    except OSError as error:
        advice = _BY_NUMBER.get(error.errno or 0)
        raise _failure(error.filename or path, error.strerror or error, advice) from error


@contextlib.contextmanager
def sqlite_failures(path: str | os.PathLike[str]) -> Iterator[None]:
    """Raise StorageError for an error of SQLite; it names the file."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0)
        advice = _BY_CODE.get(code) or _BY_CODE.get(code & 0xFF)
        if code & 0xFF in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
            advice = _why_not_opened(path) or advice
        raise _failure(path, error, advice) from error


def _why_not_opened(path: str | os.PathLike[str]) -> str | None:
    """What keeps SQLite, which says only that it cannot, from opening or writing a file."""
    above = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(above):
        return None
    if os.path.isdir(path):
        return _BY_NUMBER[errno.EISDIR]
    if os.statvfs(above).f_flag & os.ST_RDONLY:
        return _BY_NUMBER[errno.EROFS]
    if not os.access(above, os.W_OK):  # beside the file SQLite keeps others
        return _BY_NUMBER[errno.EACCES]
    return None


@contextlib.contextmanager
def redis_failures(prefix: str) -> Iterator[None]:
    """Raise StorageError for an error of Redis; it names the keys by their prefix."""
    from redis import RedisError

    try:
        yield
    except RedisError as error:
        raise StorageError(
            f"the Redis of this storage cannot be used: {error} (keys {prefix}…; check that the server is "
            "running, reachable and not out of memory, and try again)"
        ) from error
