"""Leases as locks on one file, which the system ends with the process that holds them."""

from __future__ import annotations

import fcntl
import hashlib
import os
import struct
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from planaria.storage.failures import file_failures
from planaria.stores.leases import Lease, Leases

__all__ = ["FileLeases"]

#: `struct flock`: kind, whence, start, length, process (0: the lock is of the open file).
_FLOCK: Final = struct.Struct("hhqqi")


class FileLeases(Leases):
    """Each name is a byte of the file `path`, far beyond its end; the file stays empty.

    Names of another `scope` are apart. Locks are of open files (F_OFD_SETLK), so they are apart also within
    one process.
    """

    def __init__(self, path: Path, scope: str = "") -> None:
        self._path = path
        self._scope = scope

    def _try(self, name: str, holder: str, on_lost: Callable[[], None] | None) -> Lease | None:
        with file_failures(self._path):
            descriptor = self._open()
            try:
                fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, self._lock(name))
            except BlockingIOError:
                os.close(descriptor)
                return None
            except BaseException:
                os.close(descriptor)
                raise
        return Lease(name, partial(os.close, descriptor))

    def is_held(self, name: str) -> bool:
        with file_failures(self._path):
            descriptor = self._open()
            try:
                found = fcntl.fcntl(descriptor, fcntl.F_OFD_GETLK, self._lock(name))
            finally:
                os.close(descriptor)
        return bool(_FLOCK.unpack(found)[0] != fcntl.F_UNLCK)

    def _open(self) -> int:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        try:
            return os.open(self._path, flags, 0o666)
        except FileNotFoundError:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            return os.open(self._path, flags, 0o666)

    def _lock(self, name: str) -> bytes:
        digest = hashlib.blake2b(f"{self._scope}\0{name}".encode(), digest_size=8).digest()
        return _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, int.from_bytes(digest, "big") >> 2, 1, 0)
