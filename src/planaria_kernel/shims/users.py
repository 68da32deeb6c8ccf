"""Who runs this: one user, `user`, with number 1000, in a group of the same name and number.

The databases have root as well, as /etc/passwd has.
"""

from __future__ import annotations

import errno
import operator
import os
import signal
import sys
from types import ModuleType
from typing import Any, Final, NamedTuple

__all__ = ["install"]

NAME: Final = "user"
NUMBER: Final = 1000
HOME: Final = "/home/user"


class struct_passwd(NamedTuple):  # noqa: N801
    """An entry of the password database, with the names of the `pwd` module."""

    pw_name: str
    pw_passwd: str
    pw_uid: int
    pw_gid: int
    pw_gecos: str
    pw_dir: str
    pw_shell: str


class struct_group(NamedTuple):  # noqa: N801
    """An entry of the group database, with the names of the `grp` module."""

    gr_name: str
    gr_passwd: str
    gr_gid: int
    gr_mem: list[str]


def _entries() -> list[struct_passwd]:
    return [
        struct_passwd("root", "x", 0, 0, "root", "/root", "/bin/bash"),
        struct_passwd(NAME, "x", NUMBER, NUMBER, "", HOME, "/bin/bash"),
    ]


def _getpwuid(uid: int, /) -> struct_passwd:
    for entry in _entries():
        if entry.pw_uid == uid:
            return entry
    raise KeyError(f"getpwuid(): uid not found: {uid}")


def _getpwnam(name: str, /) -> struct_passwd:
    for entry in _entries():
        if entry.pw_name == name:
            return entry
    raise KeyError(f"getpwnam(): name not found: {name!r}")


def _groups() -> list[struct_group]:
    return [struct_group("root", "x", 0, []), struct_group(NAME, "x", NUMBER, [])]


def _getgrgid(id: int) -> struct_group:  # noqa: A002
    for entry in _groups():
        if entry.gr_gid == id:
            return entry
    raise KeyError(f"getgrgid(): gid not found: {id}")


def _getgrnam(name: str) -> struct_group:
    for entry in _groups():
        if entry.gr_name == name:
            return entry
    raise KeyError(f"getgrnam(): name not found: {name!r}")


def _kill(pid: int, sig: int, /) -> None:
    """Send a signal to this process; there is no other."""
    if pid != os.getpid():
        raise ProcessLookupError(3, "No such process")
    if sig:
        signal.raise_signal(sig)


def _get_terminal_size(fd: int = 1, /) -> os.terminal_size:
    """The size of a terminal; there is none."""
    os.fstat(fd)
    raise OSError(errno.ENOTTY, os.strerror(errno.ENOTTY))


def _chown(path: Any, uid: int, gid: int, *, dir_fd: int | None = None, follow_symlinks: bool = True) -> None:
    """Change the owner and group id of path to the numeric uid and gid: no user may give a file away."""
    os.stat(path, dir_fd=dir_fd, follow_symlinks=follow_symlinks)
    if {operator.index(uid), operator.index(gid)} - {-1, NUMBER}:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), path)


def _fchown(fd: int, uid: int, gid: int) -> None:
    """The same for what a descriptor has open."""
    _chown(fd, uid, gid)


def _lchown(path: Any, uid: int, gid: int) -> None:
    """The same for a symbolic link itself."""
    _chown(path, uid, gid, follow_symlinks=False)


def _module(name: str, **members: Any) -> None:
    module = ModuleType(name)
    module.__dict__.update(members)
    sys.modules[name] = module


def install() -> None:
    """Add what `os` lacks about users and processes, and the modules `pwd` and `grp`; again is harmless."""
    number = {"getuid", "geteuid", "getgid", "getegid"}
    functions: dict[str, Any] = {name: (lambda: NUMBER) for name in number}
    functions.update(
        getlogin=lambda: NAME,
        getgroups=lambda: [NUMBER],
        getppid=lambda: 1,
        getpgrp=os.getpid,
        kill=_kill,
        chown=_chown,
        fchown=_fchown,
        lchown=_lchown,
        get_terminal_size=_get_terminal_size,
        sched_getaffinity=lambda pid, /: {0},
        getloadavg=lambda: (0.0, 0.0, 0.0),
        cpu_count=lambda: 1,
        process_cpu_count=lambda: 1,
    )
    for name, function in functions.items():
        setattr(os, name, function)
    _module("pwd", struct_passwd=struct_passwd, getpwuid=_getpwuid, getpwnam=_getpwnam, getpwall=_entries)
    _module("grp", struct_group=struct_group, getgrgid=_getgrgid, getgrnam=_getgrnam, getgrall=_groups)
