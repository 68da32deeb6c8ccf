"""Functions of `os` over descriptors that the guest's libc lacks, by those that it has."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

__all__ = ["FUNCTIONS", "install", "path_of"]

#: Bytes that are moved at a time.
_PIECE: Final = 1 << 20
#: How /proc shows what has no name any more.
_DELETED: Final = " (deleted)"

_listdir: Final = os.listdir


def _failure(number: int) -> OSError:
    return OSError(number, os.strerror(number))


def _bytes(buffers: Iterable[Any]) -> list[memoryview]:
    return [memoryview(buffer).cast("B") for buffer in buffers]


def _fill(buffers: Sequence[Any], read: Callable[[int], bytes]) -> int:
    """Read once, into one buffer after the other; how many bytes."""
    views = _bytes(buffers)
    if any(view.readonly for view in views):
        raise BufferError("the buffers must be writable")
    data = read(sum(map(len, views)))
    at = 0
    for view in views:
        part = data[at : at + len(view)]
        view[: len(part)] = part
        at += len(part)
    return at


def readv(fd: int, buffers: Sequence[Any], /) -> int:
    """Read into several buffers, one after the other."""
    return _fill(buffers, lambda size: os.read(fd, size))


def preadv(fd: int, buffers: Sequence[Any], offset: int, flags: int = 0, /) -> int:
    """As `readv`, at a place in the file, which stays at its own."""
    return _fill(buffers, lambda size: os.pread(fd, size, offset))


def writev(fd: int, buffers: Sequence[Any], /) -> int:
    """Write several buffers as one."""
    return os.write(fd, b"".join(_bytes(buffers)))


def pwritev(fd: int, buffers: Sequence[Any], offset: int, flags: int = 0, /) -> int:
    """As `writev`, at a place in the file, which stays at its own."""
    return os.pwrite(fd, b"".join(_bytes(buffers)), offset)


def _move(source: int, offset: int | None, count: int, write: Callable[[bytes, int], int]) -> int:
    """Hand on at most `count` bytes of a file, from its own place without an offset; how many were taken.

    `write` gets each piece with how many came before it, and says how much of it was taken.
    """
    if count < 0:
        raise _failure(errno.EINVAL)
    start = os.lseek(source, 0, os.SEEK_CUR) if offset is None else offset
    done = 0
    try:
        while data := os.pread(source, min(count - done, _PIECE), start + done):
            written = write(data, done)
            done += written
            if written < len(data):
                break
    except OSError:
        if not done:
            raise
    if offset is None:
        os.lseek(source, start + done, os.SEEK_SET)
    return done


def sendfile(out_fd: int, in_fd: int, offset: int | None, count: int) -> int:
    """Copy at most `count` bytes of a file to where another descriptor writes; how many were written."""
    return _move(in_fd, offset, count, lambda data, _done: os.write(out_fd, data))


def copy_file_range(
    src: int, dst: int, count: int, offset_src: int | None = None, offset_dst: int | None = None
) -> int:
    """Copy at most `count` bytes of a file into another; how many were written."""

    def write(data: bytes, done: int) -> int:
        return os.write(dst, data) if offset_dst is None else os.pwrite(dst, data, offset_dst + done)

    return _move(src, offset_src, count, write)


def posix_fallocate(fd: int, offset: int, length: int, /) -> None:
    """Have a file be at least so large that `length` bytes fit at `offset`."""
    if offset < 0 or length <= 0:
        raise _failure(errno.EINVAL)
    if os.fstat(fd).st_size < offset + length:
        os.ftruncate(fd, offset + length)


def sync() -> None:
    """Nothing is held back that the host could write."""


def getrandom(size: int, flags: int = 0) -> bytes:
    """Random bytes, which there always are."""
    if size < 0:
        raise _failure(errno.EINVAL)
    return os.urandom(size)


def path_of(fd: int) -> str:
    """The path of an open directory."""
    os.fstat(fd)
    path = os.readlink(f"/proc/self/fd/{fd}")
    if path.endswith(_DELETED):
        raise _failure(errno.ENOENT)
    if not os.path.isdir(path):
        raise _failure(errno.ENOTDIR)
    return path


def fchdir(fd: int) -> None:
    """Make an open directory the working directory."""
    os.chdir(path_of(fd if isinstance(fd, int) else fd.fileno()))


def listdir(path: Any = None) -> list[Any]:
    """The names in a directory, which can be given by its descriptor."""
    return _listdir(path_of(path) if isinstance(path, int) else path)


FUNCTIONS: Final[tuple[Callable[..., Any], ...]] = (
    copy_file_range,
    fchdir,
    getrandom,
    listdir,
    posix_fallocate,
    preadv,
    pwritev,
    readv,
    sendfile,
    sync,
    writev,
)


def install() -> None:
    """Put them into `os`; again is harmless."""
    for function in FUNCTIONS:
        setattr(os, function.__name__, function)
    os.supports_fd.add(listdir)
    vars(os).update(GRND_NONBLOCK=1, GRND_RANDOM=2)
