"""The numbers and layouts of WASI preview 1, and how planaria fills them.

The standard: https://github.com/WebAssembly/WASI/blob/main/legacy/preview1/docs.md

**Where the permission bits are.** Preview 1 has no file modes. planaria puts `st_mode & 0o7777` into
the upper 16 bits of the field `dev` of `filestat`; the lower 48 bits are the device. The guest's
libc, as changed by `runtime.file_status`, takes them apart again. Changing a mode has no
function in preview 1 either: `Wasi.chmod`.
"""

from __future__ import annotations

import enum
import errno
import functools
import struct
from typing import Final

from planaria.files.filesystem import FileKind

__all__ = [
    "ALL_RIGHTS",
    "CIOVEC",
    "DIRENT",
    "EVENT",
    "FDSTAT",
    "FD_FLAGS",
    "FILESTAT",
    "FILE_TYPES",
    "OFFSET_LIMIT",
    "SIGNATURES",
    "U32",
    "U64",
    "U64_MASK",
    "Advice",
    "ClockId",
    "Errno",
    "EventType",
    "FdFlags",
    "FileType",
    "LookupFlags",
    "OFlags",
    "Rights",
    "SetTimes",
    "Whence",
    "errno_of",
    "filestat",
    "raw_parameters",
]


class Errno(enum.IntEnum):
    """The error numbers of WASI; the names are those of errno(3) without the leading E."""

    SUCCESS = 0
    TOOBIG = 1
    ACCES = 2
    ADDRINUSE = 3
    ADDRNOTAVAIL = 4
    AFNOSUPPORT = 5
    AGAIN = 6
    ALREADY = 7
    BADF = 8
    BADMSG = 9
    BUSY = 10
    CANCELED = 11
    CHILD = 12
    CONNABORTED = 13
    CONNREFUSED = 14
    CONNRESET = 15
    DEADLK = 16
    DESTADDRREQ = 17
    DOM = 18
    DQUOT = 19
    EXIST = 20
    FAULT = 21
    FBIG = 22
    HOSTUNREACH = 23
    IDRM = 24
    ILSEQ = 25
    INPROGRESS = 26
    INTR = 27
    INVAL = 28
    IO = 29
    ISCONN = 30
    ISDIR = 31
    LOOP = 32
    MFILE = 33
    MLINK = 34
    MSGSIZE = 35
    MULTIHOP = 36
    NAMETOOLONG = 37
    NETDOWN = 38
    NETRESET = 39
    NETUNREACH = 40
    NFILE = 41
    NOBUFS = 42
    NODEV = 43
    NOENT = 44
    NOEXEC = 45
    NOLCK = 46
    NOLINK = 47
    NOMEM = 48
    NOMSG = 49
    NOPROTOOPT = 50
    NOSPC = 51
    NOSYS = 52
    NOTCONN = 53
    NOTDIR = 54
    NOTEMPTY = 55
    NOTRECOVERABLE = 56
    NOTSOCK = 57
    NOTSUP = 58
    NOTTY = 59
    NXIO = 60
    OVERFLOW = 61
    OWNERDEAD = 62
    PERM = 63
    PIPE = 64
    PROTO = 65
    PROTONOSUPPORT = 66
    PROTOTYPE = 67
    RANGE = 68
    ROFS = 69
    SPIPE = 70
    SRCH = 71
    STALE = 72
    TIMEDOUT = 73
    TXTBSY = 74
    XDEV = 75
    NOTCAPABLE = 76


def _errno_map() -> dict[int, int]:
    # Numbers differ between hosts, names do not. Plain ints: this is looked up while the guest waits.
    table = {getattr(errno, f"E{e.name}"): int(e) for e in Errno if hasattr(errno, f"E{e.name}")}
    table[errno.E2BIG] = int(Errno.TOOBIG)
    table[errno.EWOULDBLOCK] = int(Errno.AGAIN)
    table[errno.EOPNOTSUPP] = int(Errno.NOTSUP)
    return table


_ERRNO_OF_HOST: Final = _errno_map()


def errno_of(error: OSError) -> int | None:
    """The WASI errno for a host's `OSError`, or None when it carries no number that WASI knows."""
    return None if error.errno is None else _ERRNO_OF_HOST.get(error.errno)


class Rights(enum.IntFlag):
    """What may be done with a descriptor; only those that decide anything here have a name."""

    FD_DATASYNC = 1 << 0
    FD_READ = 1 << 1
    FD_SEEK = 1 << 2
    FD_TELL = 1 << 5
    FD_WRITE = 1 << 6
    FD_ALLOCATE = 1 << 8
    FD_READDIR = 1 << 14
    FD_FILESTAT_SET_SIZE = 1 << 22
    POLL_FD_READWRITE = 1 << 27


ALL_RIGHTS: Final = (1 << 30) - 1


class FileType(enum.IntEnum):
    UNKNOWN = 0
    BLOCK_DEVICE = 1
    CHARACTER_DEVICE = 2
    DIRECTORY = 3
    REGULAR_FILE = 4
    SOCKET_DGRAM = 5
    SOCKET_STREAM = 6
    SYMBOLIC_LINK = 7


#: File type by the type bits of `st_mode`. Preview 1 has no FIFO.
FILE_TYPES: Final[dict[int, int]] = {
    int(FileKind.FIFO): int(FileType.UNKNOWN),
    int(FileKind.CHARACTER_DEVICE): int(FileType.CHARACTER_DEVICE),
    int(FileKind.DIRECTORY): int(FileType.DIRECTORY),
    int(FileKind.REGULAR): int(FileType.REGULAR_FILE),
    int(FileKind.SYMBOLIC_LINK): int(FileType.SYMBOLIC_LINK),
}


class FdFlags(enum.IntFlag):
    APPEND = 1
    DSYNC = 2
    NONBLOCK = 4
    RSYNC = 8
    SYNC = 16


FD_FLAGS: Final = 31  #: all of them


class OFlags(enum.IntFlag):
    CREAT = 1
    DIRECTORY = 2
    EXCL = 4
    TRUNC = 8


class LookupFlags(enum.IntFlag):
    SYMLINK_FOLLOW = 1


class SetTimes(enum.IntFlag):
    """`fstflags`: which times to set, and to what."""

    ATIM = 1
    ATIM_NOW = 2
    MTIM = 4
    MTIM_NOW = 8


class Whence(enum.IntEnum):
    SET = 0
    CUR = 1
    END = 2


class Advice(enum.IntEnum):
    NORMAL = 0
    SEQUENTIAL = 1
    RANDOM = 2
    WILLNEED = 3
    DONTNEED = 4
    NOREUSE = 5


class ClockId(enum.IntEnum):
    REALTIME = 0
    MONOTONIC = 1
    PROCESS_CPUTIME = 2
    THREAD_CPUTIME = 3


class EventType(enum.IntEnum):
    CLOCK = 0
    FD_READ = 1
    FD_WRITE = 2


# -- layouts (little-endian; `x` is padding, written as zero) ------------------------------------------

U16: Final = struct.Struct("<H")
U32: Final = struct.Struct("<I")
U64: Final = struct.Struct("<Q")
#: address and length of one buffer of a scattered read or gathered write
CIOVEC: Final = struct.Struct("<II")
#: filetype, flags, rights, rights that descriptors opened through it may have
FDSTAT: Final = struct.Struct("<BxHxxxxQQ")
#: dev, ino, filetype, nlink, size, atim, mtim, ctim
FILESTAT: Final = struct.Struct("<QQB7xQQQQQ")
#: next cookie, inode, length of the name that follows, type
DIRENT: Final = struct.Struct("<QQIB3x")
#: userdata, error, type, bytes available, flags
EVENT: Final = struct.Struct("<QHB5xQH6x")

U64_MASK: Final = (1 << 64) - 1
#: The last offset in a file: offsets are signed in every system.
OFFSET_LIMIT: Final = (1 << 63) - 1
_DEVICE_MASK: Final = (1 << 48) - 1
_pack_filestat: Final = FILESTAT.pack


@functools.cache
def _mode(mode: int) -> tuple[int, int]:
    """The permission bits at their place above the device, and the file type."""
    return (mode & 0o7777) << 48, FILE_TYPES.get(mode & 0o170000, 0)


def filestat(
    device: int, inode: int, mode: int, links: int, size: int, atime: int, mtime: int, ctime: int
) -> bytes:
    """A `filestat` of the fields of a `Stat`. Times before 1970 wrap as two's complement."""
    permissions, kind = _mode(mode)
    return _pack_filestat(
        permissions | device & _DEVICE_MASK,
        inode & U64_MASK,
        kind,
        links,
        size,
        atime & U64_MASK,
        mtime & U64_MASK,
        ctime & U64_MASK,
    )


# -- functions -----------------------------------------------------------------------------------------

#: The parameters of every function of preview 1, one letter of `struct` each: `I` a 32 bit number, address,
#: length or flags, `Q` an unsigned and `q` a signed 64 bit number. All return an errno, but `proc_exit`,
#: which does not return.
SIGNATURES: Final[dict[str, str]] = {
    "args_get": "II",
    "args_sizes_get": "II",
    "environ_get": "II",
    "environ_sizes_get": "II",
    "clock_res_get": "II",
    "clock_time_get": "IQI",
    "fd_advise": "IQQI",
    "fd_allocate": "IQQ",
    "fd_close": "I",
    "fd_datasync": "I",
    "fd_fdstat_get": "II",
    "fd_fdstat_set_flags": "II",
    "fd_fdstat_set_rights": "IQQ",
    "fd_filestat_get": "II",
    "fd_filestat_set_size": "IQ",
    "fd_filestat_set_times": "IQQI",
    "fd_pread": "IIIQI",
    "fd_prestat_get": "II",
    "fd_prestat_dir_name": "III",
    "fd_pwrite": "IIIQI",
    "fd_read": "IIII",
    "fd_readdir": "IIIQI",
    "fd_renumber": "II",
    "fd_seek": "IqII",
    "fd_sync": "I",
    "fd_tell": "II",
    "fd_write": "IIII",
    "path_create_directory": "III",
    "path_filestat_get": "IIIII",
    "path_filestat_set_times": "IIIIQQI",
    "path_link": "IIIIIII",
    "path_open": "IIIIIQQII",
    "path_readlink": "IIIIII",
    "path_remove_directory": "III",
    "path_rename": "IIIIII",
    "path_symlink": "IIIII",
    "path_unlink_file": "III",
    "poll_oneoff": "IIII",
    "proc_exit": "I",
    "proc_raise": "I",
    "random_get": "II",
    "sched_yield": "",
    "sock_accept": "III",
    "sock_recv": "IIIIII",
    "sock_send": "IIIII",
    "sock_shutdown": "II",
}


def raw_parameters(signature: str) -> struct.Struct:
    """How to unpack all parameters of a call at once from the engine's raw values (16 bytes each)."""
    return struct.Struct("<" + "".join(kind + ("12x" if kind == "I" else "8x") for kind in signature))
