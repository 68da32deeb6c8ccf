"""One file of the host that a filesystem in memory shows without copying it."""

from __future__ import annotations

import hashlib
import os
import threading
from os import PathLike
from stat import S_ISREG
from typing import Self

from planaria.files.chunks import DIGEST_SIZE

__all__ = ["HostBlob"]


class HostBlob:
    """An open file of the host, read only, shared by every filesystem that shows it.

    It is meant for files that do not change, such as an archive of the standard library. Reads go
    through pread(2): the pages are the system's, and a file that shrinks gives short reads, no signal.
    """

    __slots__ = ("_descriptor", "_digest", "_lock", "name", "size")

    def __init__(self, descriptor: int, name: str) -> None:
        self._descriptor = descriptor
        self._digest: str | None = None
        self._lock = threading.Lock()
        self.name = name
        self.size = os.fstat(descriptor).st_size

    @classmethod
    def open(cls, path: str | PathLike[str]) -> Self:
        """Open the regular file at `path` of the host; OSError when that fails."""
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0))
        if not S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise ValueError(f"{os.fspath(path)} is not a regular file")
        return cls(descriptor, os.path.basename(os.fspath(path)))

    def read(self, size: int, offset: int) -> bytes:
        """At most `size` bytes from `offset`."""
        if hasattr(os, "pread"):
            return os.pread(self._descriptor, min(size, max(0, self.size - offset)), offset)
        with self._lock:
            os.lseek(self._descriptor, offset, os.SEEK_SET)
            return os.read(self._descriptor, min(size, max(0, self.size - offset)))

    def digest(self) -> str:
        """BLAKE2b-256 of the contents in hexadecimal; read once."""
        if self._digest is None:
            state = hashlib.blake2b(digest_size=DIGEST_SIZE)
            for offset in range(0, self.size, 1 << 20):
                state.update(self.read(1 << 20, offset))
            self._digest = state.hexdigest()
        return self._digest

    def __del__(self) -> None:
        os.close(self._descriptor)
