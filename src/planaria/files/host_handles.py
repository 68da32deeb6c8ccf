"""Open files and directories of the host."""

from __future__ import annotations

import errno
import fcntl
import os
import threading
from abc import abstractmethod
from typing import Final

from planaria.files.filesystem import FileKind, OpenFlags, Stat, failure
from planaria.files.node import MountPoint, Node, NodeHandle
from planaria.files.stateless import StatelessFileSystem

__all__ = ["HandleOwner", "HostFileHandle", "HostHandle", "OpenedNode", "times"]

#: Reads longer than this are first cut to what the file has, so that no size allocates memory in vain.
_LARGE: Final = 1 << 20


class HandleOwner(StatelessFileSystem):
    """What handles need of their filesystem."""

    __slots__ = ()

    append_lock: threading.Lock

    @abstractmethod
    def count_handle(self, change: int) -> None:
        """One file more or less is open."""


class OpenedNode(Node):
    """What handles need of their node."""

    __slots__ = ()

    filesystem: HandleOwner
    names: tuple[bytes, ...]

    @abstractmethod
    def describe(self, info: os.stat_result, device: int) -> Stat:
        """What the system says of the file, as the filesystem shows it."""


class HostHandle(NodeHandle):
    """An open directory."""

    __slots__ = ()

    node: OpenedNode

    def path(self) -> bytes | None:
        """The path it was opened at, if it still leads there."""
        self.check()
        node = self.node
        found: Node | None = node.filesystem.top.root
        for name in node.names:
            if found is None or found.format != FileKind.DIRECTORY:
                return None
            found = found.lookup(name)
        if found is None or found.inode != node.inode:
            return None
        return super().path()

    def close(self) -> None:
        if not self.closed:
            super().close()
            self.node.filesystem.count_handle(-1)

    def __del__(self) -> None:
        self.close()


class HostFileHandle(HostHandle):
    """An open regular file: it owns its descriptor."""

    __slots__ = ("_descriptor",)

    def __init__(self, node: Node, flags: OpenFlags, mount: MountPoint, descriptor: int) -> None:
        super().__init__(node, flags, mount)
        self._descriptor = descriptor

    def _usable(self, needed: OpenFlags) -> int:
        if self.closed or not self.flags & needed:
            raise failure(errno.EBADF)
        return self._descriptor

    def stat(self) -> Stat:
        self.check()
        return self.node.describe(os.fstat(self._descriptor), self.mount.device)

    def read(self, size: int, offset: int) -> bytes:
        descriptor = self._usable(OpenFlags.READ)
        if size < 0 or offset < 0:
            raise failure(errno.EINVAL)
        if size > _LARGE:
            size = min(size, max(0, os.fstat(descriptor).st_size - offset))
        return os.pread(descriptor, size, min(offset, 2**63 - 1))

    def read_into(self, buffer: memoryview, offset: int) -> int:
        descriptor = self._usable(OpenFlags.READ)
        return os.preadv(descriptor, [buffer], min(offset, 2**63 - 1)) if len(buffer) else 0

    def write(self, data: bytes | memoryview, offset: int) -> int:
        descriptor = self._usable(OpenFlags.WRITE)
        if offset < 0:
            raise failure(errno.EINVAL)
        if offset + len(data) > 2**63 - 1:
            raise failure(errno.EFBIG)
        view = memoryview(data)
        done = 0
        while done < len(view):
            done += os.pwrite(descriptor, view[done:], offset + done)
        return done

    def append(self, data: bytes | memoryview) -> int:
        descriptor = self._usable(OpenFlags.WRITE)
        view = memoryview(data)
        # With O_APPEND the system itself finds the end, also when others append. It is not set all
        # the time because pwrite(2) would then ignore its offset on Linux.
        with self.node.filesystem.append_lock:
            flags = fcntl.fcntl(descriptor, fcntl.F_GETFL)
            fcntl.fcntl(descriptor, fcntl.F_SETFL, flags | os.O_APPEND)
            try:
                while len(view):
                    view = view[os.write(descriptor, view) :]
                return os.lseek(descriptor, 0, os.SEEK_END if not len(data) else os.SEEK_CUR)
            finally:
                fcntl.fcntl(descriptor, fcntl.F_SETFL, flags)

    def truncate(self, size: int) -> None:
        descriptor = self._usable(OpenFlags.WRITE)
        if not 0 <= size < 2**63:
            raise failure(errno.EINVAL if size < 0 else errno.EFBIG)
        os.ftruncate(descriptor, size)

    def sync(self) -> None:
        self.check()
        os.fsync(self._descriptor)

    def utime(self, atime: int | None, mtime: int | None) -> None:
        self.check()
        if self.mount.read_only:
            raise failure(errno.EROFS)
        os.utime(self._descriptor, ns=times(os.fstat(self._descriptor), atime, mtime))

    def chmod(self, mode: int) -> None:
        self.check()
        if self.mount.read_only:
            raise failure(errno.EROFS)
        os.fchmod(self._descriptor, mode & 0o777)

    def close(self) -> None:
        if not self.closed:
            super().close()
            os.close(self._descriptor)


def times(info: os.stat_result, atime: int | None, mtime: int | None) -> tuple[int, int]:
    """The times to set, in nanoseconds; those that are not given stay what they are."""
    return (
        info.st_atime_ns if atime is None else atime,
        info.st_mtime_ns if mtime is None else mtime,
    )
