"""`os.chdir` and `os.rmdir` as Linux has them: libc keeps the working directory by the name it was given."""

from __future__ import annotations

import errno
import os
from typing import Any, Final

from planaria_kernel.shims.descriptors import path_of

__all__ = ["install"]

_chdir: Final = os.chdir
_rmdir: Final = os.rmdir


def chdir(path: Any) -> None:
    """Change the current working directory, whose name is then without links, `.` and `..`."""
    if isinstance(path, int):
        path = path_of(path)
    before = os.getcwd()
    _chdir(path)
    if not path:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    named = os.getcwd()
    try:
        real = os.path.realpath(named)
        if real != named:
            _chdir(real)
    except BaseException:
        _chdir(before)
        raise


def rmdir(path: Any, *, dir_fd: int | None = None) -> None:
    """Remove a directory, but not by the name `.`."""
    name = os.fspath(path) if isinstance(path, str | bytes | os.PathLike) else ""
    if name and os.fsencode(name).rstrip(b"/") == b".":
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), path)
    _rmdir(path, dir_fd=dir_fd)


def install() -> None:
    """Put them in place of the functions of `os`; again is harmless."""
    os.chdir = chdir
    os.rmdir = rmdir
    os.supports_fd.add(chdir)
    if _rmdir in os.supports_dir_fd:
        os.supports_dir_fd.add(rmdir)
