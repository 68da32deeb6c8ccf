"""The `path_*` functions: files by name."""

from __future__ import annotations

import errno
from typing import Final, cast

from planaria.files.filesystem import Handle, OpenFlags
from planaria.machine.wasi.abi import (
    FD_FLAGS,
    U32,
    Errno,
    FileType,
    LookupFlags,
    OFlags,
    Rights,
    SetTimes,
    filestat,
)
from planaria.machine.wasi.calls import PATH_LIMIT, Calls
from planaria.machine.wasi.clock import Clock
from planaria.machine.wasi.descriptors import Descriptor, standard_stream
from planaria.machine.wasi.locks import is_lock

__all__ = ["PathCalls", "times_to_set"]

_FOLLOW: Final = int(LookupFlags.SYMLINK_FOLLOW)
_FD_READ: Final = int(Rights.FD_READ | Rights.FD_READDIR)
_FD_WRITE: Final = int(Rights.FD_WRITE)
_ATIME: Final = int(SetTimes.ATIM)
_ATIME_NOW: Final = int(SetTimes.ATIM_NOW)
_MTIME: Final = int(SetTimes.MTIM)
_MTIME_NOW: Final = int(SetTimes.MTIM_NOW)
_BOTH_ATIMES: Final = _ATIME | _ATIME_NOW
_BOTH_MTIMES: Final = _MTIME | _MTIME_NOW
_MFILE: Final = int(Errno.MFILE)
_INVAL: Final = int(Errno.INVAL)
_NAMETOOLONG: Final = int(Errno.NAMETOOLONG)
_NOENT: Final = int(Errno.NOENT)

#: Names that open what the guest's own descriptors stand for; no filesystem can know those.
_STREAM_PATHS: Final = {
    path: number
    for number, name in enumerate((b"stdin", b"stdout", b"stderr"))
    for path in (b"/dev/" + name, b"/dev/fd/%d" % number, b"/proc/self/fd/%d" % number)
}


def _open_flags() -> list[OpenFlags]:
    """`OpenFlags` for every combination of access (read 1, write 2), not following (4) and oflags << 3."""
    table = []
    for index in range(128):
        flags = OpenFlags(0)
        for bit, flag in (
            (1, OpenFlags.READ),
            (2, OpenFlags.WRITE),
            (4, OpenFlags.NO_FOLLOW),
            (OFlags.CREAT << 3, OpenFlags.CREATE),
            (OFlags.DIRECTORY << 3, OpenFlags.DIRECTORY),
            (OFlags.EXCL << 3, OpenFlags.EXCLUSIVE),
            (OFlags.TRUNC << 3, OpenFlags.TRUNCATE),
        ):
            if index & bit:
                flags |= flag
        # Without a right to either, the descriptor serves for stat and as a directory (O_SEARCH).
        table.append(flags if index & 3 else flags | OpenFlags.READ)
    # Plain ints: the filesystem calculates with them, and with flags that takes longer than the rest.
    return cast("list[OpenFlags]", [int(flags) for flags in table])


_OPEN_FLAGS: Final = _open_flags()


def times_to_set(clock: Clock, atime: int, mtime: int, flags: int) -> tuple[int | None, int | None]:
    """What `fstflags` asks for, as (atime, mtime) None for a time that stays; EINVAL when absurd."""
    if flags & ~15 or flags & _BOTH_ATIMES == _BOTH_ATIMES or flags & _BOTH_MTIMES == _BOTH_MTIMES:
        raise OSError(errno.EINVAL, f"flags {flags:#x} for setting times")
    now = clock.realtime() if flags & (_ATIME_NOW | _MTIME_NOW) else 0
    # libc passes times before 1970 as two's complement
    atime = atime - (1 << 64) if atime >> 63 else atime
    mtime = mtime - (1 << 64) if mtime >> 63 else mtime
    return (
        now if flags & _ATIME_NOW else atime if flags & _ATIME else None,
        now if flags & _MTIME_NOW else mtime if flags & _MTIME else None,
    )


def _absolute(name: bytes, at: Handle | None) -> bytes | None:
    """The absolute path of a name in a directory, None when the directory has none any more."""
    if at is None:
        return name
    above = at.path()
    return None if above is None else above.rstrip(b"/") + b"/" + name


class PathCalls(Calls):
    """Everything that takes a path. `dirfd` is the directory to which the path refers."""

    def path_open(
        self,
        dirfd: int,
        lookup: int,
        path: int,
        path_length: int,
        oflags: int,
        rights: int,
        inheriting: int,
        fdflags: int,
        opened: int,
    ) -> int:
        memory = self.memory
        if opened + 4 > memory.size:
            memory.require(opened, 4)
        if oflags > 15 or fdflags & ~FD_FLAGS:
            return _INVAL
        table = self.table
        if len(table.open) >= table.limit:
            return _MFILE
        name, at = self._place(dirfd, path, path_length)
        if name in _STREAM_PATHS:
            descriptor = standard_stream(_STREAM_PATHS[name])
        else:
            index = oflags << 3
            if rights & _FD_READ:
                index |= 1
            if rights & _FD_WRITE:
                index |= 2
            if not lookup & _FOLLOW:
                index |= 4
            handle = self.files.open(name, _OPEN_FLAGS[index], 0o666 & ~self.umask, at=at)
            descriptor = Descriptor(handle, rights, inheriting, fdflags)
            if oflags & 2:
                descriptor.file_type = int(FileType.DIRECTORY)
        U32.pack_into(memory.view, opened, table.add(descriptor))
        return 0

    def path_filestat_get(self, dirfd: int, lookup: int, path: int, path_length: int, result: int) -> int:
        memory = self.memory
        if result + 64 > memory.size:
            memory.require(result, 64)
        name, at = self._place(dirfd, path, path_length)
        found = self.files.stat_as(filestat, name, lookup & 1 == 1, at)
        if found is None:
            return _NOENT
        memory.view[result : result + 64] = found
        return 0

    def path_filestat_set_times(
        self,
        dirfd: int,
        lookup: int,
        path: int,
        path_length: int,
        atime: int,
        mtime: int,
        flags: int,
    ) -> int:
        name, at = self._place(dirfd, path, path_length)
        times = times_to_set(self.clock, atime, mtime, flags)
        self.files.utime(name, *times, follow=lookup & 1 == 1, at=at)
        return 0

    def path_create_directory(self, dirfd: int, path: int, path_length: int) -> int:
        name, at = self._place(dirfd, path, path_length)
        self.files.mkdir(name, 0o777 & ~self.umask, at=at)
        if is_lock(name) and (whole := _absolute(name, at)) is not None:
            self.locks.created(whole)
        return 0

    def path_remove_directory(self, dirfd: int, path: int, path_length: int) -> int:
        name, at = self._place(dirfd, path, path_length)
        whole = _absolute(name, at) if is_lock(name) else None
        if whole is not None and self.locks.is_lost(whole):
            return 0  # after an error SQLite would believe that it still had the lock, and try again
        self.files.rmdir(name, at=at)
        if whole is not None:
            self.locks.removed(whole)
        return 0

    def path_unlink_file(self, dirfd: int, path: int, path_length: int) -> int:
        name, at = self._place(dirfd, path, path_length)
        self.files.unlink(name, at=at)
        return 0

    def path_rename(
        self, old_fd: int, old: int, old_length: int, new_fd: int, new: int, new_length: int
    ) -> int:
        old_name, old_at = self._place(old_fd, old, old_length)
        new_name, new_at = self._place(new_fd, new, new_length)
        self.files.rename(old_name, new_name, old_at=old_at, new_at=new_at)
        return 0

    def path_link(
        self,
        old_fd: int,
        lookup: int,
        old: int,
        old_length: int,
        new_fd: int,
        new: int,
        new_length: int,
    ) -> int:
        old_name, old_at = self._place(old_fd, old, old_length)
        new_name, new_at = self._place(new_fd, new, new_length)
        self.files.link(old_name, new_name, follow=lookup & 1 == 1, old_at=old_at, new_at=new_at)
        return 0

    def path_symlink(self, target: int, target_length: int, dirfd: int, path: int, path_length: int) -> int:
        if target_length > PATH_LIMIT:
            return _NAMETOOLONG
        text = self.memory.read(target, target_length)  # resolved when the link is followed, not now
        name, at = self._place(dirfd, path, path_length)
        self.files.symlink(text, name, at=at)
        return 0

    def path_readlink(
        self, dirfd: int, path: int, path_length: int, buffer: int, size: int, used: int
    ) -> int:
        memory = self.memory
        memory.require(buffer, size)
        memory.require(used, 4)
        name, at = self._place(dirfd, path, path_length)
        target = self.files.readlink(name, at=at)[:size]  # cut without a word, as readlink(2) does
        memory.write(buffer, target)
        U32.pack_into(memory.view, used, len(target))
        return 0
