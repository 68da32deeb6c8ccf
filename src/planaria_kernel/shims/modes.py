"""Permission bits of files, and more than one number for a descriptor, which WASI does not have.

The sandbox's WASI puts a file's permission bits above the device. The guest's libc is changed to put them
where they belong; in a build where it could not be, that is done here. So are named pipes, from the first one
on. Changing anything goes through the host-call operation `F`.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from planaria_kernel.protocol import decode, encode
from planaria_kernel.shims.importing import when_imported
from planaria_kernel.shims.users import NUMBER

__all__ = ["install", "with_mode"]

_SHIFT: Final = 48
_DEVICE: Final = (1 << _SHIFT) - 1
#: The value of `st_blksize`.
_BLOCK: Final = 4096
#: What a filesystem without a limit reports as its size in bytes.
_ENDLESS: Final = 1 << 50
_LONGEST_NAME: Final = 255
_CREATE: Final = os.O_CREAT
_ACCESS: Final[int] = getattr(os, "O_ACCMODE", os.O_RDWR | os.O_WRONLY)
#: Inodes that are named pipes: empty files to the system, which has none.
_fifos: set[int] = set()
_stat, _lstat, _fstat, _scandir = os.stat, os.lstat, os.fstat, os.scandir
_mkdir, _open, _symlink = os.mkdir, os.open, os.symlink


def with_mode(found: os.stat_result) -> os.stat_result:
    """A stat result with named pipes, and with mode, owner and device in their places if they are not yet."""
    mode, inode, device, links, _, _, size, atime, mtime, ctime = found
    device &= 0xFFFF_FFFF_FFFF_FFFF
    kind = stat.S_IFIFO if inode in _fifos and not size else stat.S_IFMT(mode)
    permissions = stat.S_IMODE(mode) | (device >> _SHIFT & 0o7777)
    # All fields as one sequence, in the order that they have there: with names it takes four times as long.
    fields = (
        *(kind | permissions, inode, device & _DEVICE, links, NUMBER, NUMBER),
        *(size, atime, mtime, ctime, found.st_atime, found.st_mtime, found.st_ctime),
        *(found.st_atime_ns, found.st_mtime_ns, found.st_ctime_ns, _BLOCK, -(-size // 512), found.st_rdev),
    )
    return os.stat_result(fields)


def _stat_with_mode(path: Any, *, dir_fd: int | None = None, follow_symlinks: bool = True) -> os.stat_result:
    """Perform a stat system call on the given path."""
    return with_mode(_stat(path, dir_fd=dir_fd, follow_symlinks=follow_symlinks))


def _lstat_with_mode(path: Any, *, dir_fd: int | None = None) -> os.stat_result:
    """Perform a stat system call on the given path, without following symbolic links."""
    return with_mode(_lstat(path, dir_fd=dir_fd))


def _fstat_with_mode(fd: int) -> os.stat_result:
    """Perform a stat system call on the given file descriptor."""
    return with_mode(_fstat(fd))


def _symlink_with_reason(
    src: Any, dst: Any, target_is_directory: bool = False, *, dir_fd: int | None = None
) -> None:
    """Create a symbolic link pointing to src named dst."""
    try:
        _symlink(src, dst, dir_fd=dir_fd)
    except PermissionError as error:
        # The system's only reason, and it has no way to give it.
        reason = f"{error.strerror} (in a mounted directory, a link must be relative and stay inside)"
        raise PermissionError(error.errno, reason, src, None, dst) from None


def _access(
    path: Any,
    mode: int,
    *,
    dir_fd: int | None = None,
    effective_ids: bool = False,
    follow_symlinks: bool = True,
) -> bool:
    """Use the real uid/gid to test for access to a path: everything belongs to the one user."""
    if isinstance(path, int):
        raise TypeError("access: path should be string, bytes or os.PathLike, not int")
    try:
        found = os.stat(path, dir_fd=dir_fd, follow_symlinks=follow_symlinks)
    except OSError:
        return False
    return mode & ~(found.st_mode >> 6 & 7) & 7 == 0


class DirEntry:
    """An entry of `os.scandir` whose `stat` has permission bits."""

    __slots__ = ("_entry", "name", "path")

    def __init__(self, entry: os.DirEntry[Any]) -> None:
        self._entry = entry
        self.name = entry.name
        self.path = entry.path

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        return self._entry.is_dir(follow_symlinks=follow_symlinks)

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        if _fifos and self._entry.inode() in _fifos:
            return stat.S_ISREG(self.stat(follow_symlinks=follow_symlinks).st_mode)
        return self._entry.is_file(follow_symlinks=follow_symlinks)

    def is_symlink(self) -> bool:
        return self._entry.is_symlink()

    def is_junction(self) -> bool:
        return False

    def inode(self) -> int:
        return self._entry.inode()

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        return with_mode(self._entry.stat(follow_symlinks=follow_symlinks))

    def __fspath__(self) -> Any:
        return self.path

    def __repr__(self) -> str:
        return f"<DirEntry {self.name!r}>"


class _Scan:
    """The iterator and context manager that `os.scandir` returns."""

    def __init__(self, entries: Iterator[os.DirEntry[Any]]) -> None:
        self._entries: Any = entries

    def __iter__(self) -> Iterator[DirEntry]:
        return self

    def __next__(self) -> DirEntry:
        return DirEntry(next(self._entries))

    def __enter__(self) -> _Scan:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        self._entries.close()


def _scandir_with_modes(path: Any = None) -> _Scan:
    """Return an iterator of DirEntry objects for given path."""
    return _Scan(_scandir(path))


class DiskUsage(NamedTuple):
    """Sizes in bytes."""

    total: int
    used: int
    free: int


def _disk_usage(path: Any) -> DiskUsage:
    """Return disk usage statistics about the given path."""
    found = os.statvfs(path)
    total, free = found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize
    return DiskUsage(total, total - free, free)


def _change_shutil(module: Any) -> None:
    """What shutil has where `os.statvfs` was there when it was imported."""
    if not hasattr(module, "disk_usage"):
        _disk_usage.__name__ = _disk_usage.__qualname__ = "disk_usage"
        DiskUsage.__name__ = DiskUsage.__qualname__ = "usage"
        module.disk_usage = _disk_usage
        module.__all__.append("disk_usage")


def _replace(functions: Mapping[str, Any]) -> None:
    """Put functions into `os`, also where shutil and tempfile look for what these may be asked."""
    for name, function in functions.items():
        old = getattr(os, name, None)
        if not isinstance(function, type):
            function.__name__ = function.__qualname__ = name
        setattr(os, name, function)
        for supported in (os.supports_dir_fd, os.supports_follow_symlinks, os.supports_fd):
            if old in supported:
                supported.add(function)


def _look_in_python() -> None:
    """Have everything that reports a file's attributes report what `with_mode` does."""
    _replace(
        {
            "stat": _stat_with_mode,
            "lstat": _lstat_with_mode,
            "fstat": _fstat_with_mode,
            "scandir": _scandir_with_modes,
            "DirEntry": DirEntry,
        }
    )


def install(call_host: Callable[[bytes], bytes]) -> None:
    """Give `os` permission bits: stat, scandir, access, chmod, umask, modes of what is made."""
    mask = 0o022

    def ask(path: Any, *request: object) -> Any:
        status, *answer = decode(call_host(b"F" + encode(request)))
        if status != "ok":
            raise OSError(answer[0], os.strerror(answer[0]), path)
        return answer[0]

    def dup(fd: int, /) -> int:
        """Return a duplicate of a file descriptor."""
        return int(ask(None, "dup", fd, None))

    def dup2(fd: int, fd2: int, inheritable: bool = True) -> int:
        """Duplicate file descriptor."""
        return int(ask(None, "dup", fd, fd2))

    def chmod(path: Any, mode: int, *, dir_fd: int | None = None, follow_symlinks: bool = True) -> None:
        """Change the access permissions of a file."""
        if isinstance(path, int):
            ask(None, "fchmod", path, mode & 0o7777)
            return
        if dir_fd is not None:
            raise NotImplementedError("os.chmod with dir_fd: give the whole path")
        if not follow_symlinks and os.path.islink(path):
            raise NotImplementedError("os.chmod of a symbolic link: it has no permission bits of its own")
        name = os.fsencode(path)
        if not name.startswith(b"/"):
            name = os.fsencode(os.getcwd()) + b"/" + name
        ask(path, "chmod", name, mode & 0o7777, True)

    def fchmod(fd: int, mode: int) -> None:
        """Change the access permissions of the file given by file descriptor fd."""
        ask(None, "fchmod", fd, mode & 0o7777)

    def umask(new: int, /) -> int:
        """Set the current numeric umask and return the previous umask."""
        nonlocal mask
        ask(None, "umask", new & 0o777)
        old, mask = mask, new & 0o777
        return old

    def mkdir(path: Any, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        """Create a directory."""
        _mkdir(path, mode, dir_fd=dir_fd)
        if (mode ^ 0o777) & 0o7777 & ~mask and dir_fd is None:
            chmod(path, mode & ~mask)

    def open_with_mode(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        """Open a file for low level IO.  Returns a file descriptor (integer)."""
        if not flags & _ACCESS:
            flags |= os.O_RDONLY  # zero elsewhere, so that it is left out
        if not flags & _CREATE:
            return _open(path, flags, dir_fd=dir_fd)
        # The system creates files with 0o666 and applies the umask; only a new file gets another mode.
        new = (mode ^ 0o666) & 0o7777 & ~mask and dir_fd is None
        if new and not flags & os.O_EXCL and os.path.lexists(path):
            new = False
        fd = _open(path, flags, mode, dir_fd=dir_fd)
        if new:
            ask(path, "fchmod", fd, mode & ~mask & 0o7777)
        return fd

    def statvfs(path: Any, /) -> os.statvfs_result:
        """Perform a statvfs system call on the given path."""
        found = os.stat(path)
        used, most, nodes, most_nodes = ask(path, "usage", found.st_dev)
        blocks, taken = (_ENDLESS if most is None else most) // _BLOCK, -(-used // _BLOCK)
        all_nodes = _ENDLESS // _BLOCK if most_nodes is None else most_nodes
        free, free_nodes = max(0, blocks - taken), max(0, all_nodes - nodes)
        sizes = (_BLOCK, _BLOCK, blocks, free, free, all_nodes, free_nodes, free_nodes)
        return os.statvfs_result((*sizes, 0, _LONGEST_NAME))

    def mkfifo(path: Any, mode: int = 0o666, *, dir_fd: int | None = None) -> None:
        """Create a fifo (a POSIX named pipe): only the shell of this sandbox uses it as one."""
        fd = open_with_mode(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode, dir_fd=dir_fd)
        try:
            if not _fifos:
                _look_in_python()
            _fifos.add(_fstat(fd).st_ino)
        finally:
            os.close(fd)

    _replace(
        {
            "mkfifo": mkfifo,
            "statvfs": statvfs,
            "fstatvfs": statvfs,
            "access": _access,
            "chmod": chmod,
            "fchmod": fchmod,
            "umask": umask,
            "dup": dup,
            "dup2": dup2,
            "mkdir": mkdir,
            "symlink": _symlink_with_reason,
            "open": open_with_mode,
        }
    )
    if _stat("/").st_dev >> _SHIFT:
        _look_in_python()
    when_imported("shutil", _change_shutil)
    os.supports_follow_symlinks.add(_access)
    os.supports_fd.add(chmod)
    if hasattr(os, "lchmod"):
        del os.lchmod  # links have no permission bits of their own, as on Linux; shutil looks for it
