"""A guest for the tests: a small linear memory, and calls as its libc would make them."""

from __future__ import annotations

import struct
from typing import Any

from planaria.files.filesystem import FileSystem
from planaria.files.memory import MemoryFileSystem
from planaria.machine.wasi.abi import ALL_RIGHTS, Errno, OFlags
from planaria.machine.wasi.memory import GuestMemory
from planaria.machine.wasi.system import Wasi

READ = ALL_RIGHTS & ~(1 << 6)
WRITE = ALL_RIGHTS & ~(1 << 1)
BOTH = ALL_RIGHTS


class Guest:
    """Calls WASI functions with addresses in a memory of its own; `b` arguments are put there first."""

    def __init__(self, files: FileSystem | None = None, *, size: int = 1 << 20, **options: Any) -> None:
        self.bytes = bytearray(size)
        self.output: list[tuple[int, bytes]] = []
        self.files = files if files is not None else MemoryFileSystem()
        options.setdefault("on_output", lambda stream, data: self.output.append((stream, data)))
        self.wasi = Wasi(self.files, memory=GuestMemory(lambda: memoryview(self.bytes)), **options)
        self._next = 64

    def allocate(self, length: int) -> int:
        at = self._next
        self._next += length + -length % 16
        assert self._next <= len(self.bytes)
        return at

    def put(self, data: bytes) -> int:
        at = self.allocate(len(data))
        self.bytes[at : at + len(data)] = data
        return at

    def raw(self, name: str, *parameters: int | bytes) -> Errno:
        """Call; a `bytes` parameter becomes its address and its length."""
        start = self._next
        flat: list[int] = []
        for parameter in parameters:
            flat += (self.put(parameter), len(parameter)) if isinstance(parameter, bytes) else (parameter,)
        errno = Errno(self.wasi.functions[name](*flat))
        self._next = start
        return errno

    def call(self, name: str, *parameters: int | bytes, result: str = "") -> Any:
        """Call and expect success; with `result` (a struct format) the last parameter receives one."""
        if not result:
            assert self.raw(name, *parameters) == Errno.SUCCESS
            return None
        start = self._next
        at = self.allocate(struct.calcsize(result))
        assert self.raw(name, *parameters, at) == Errno.SUCCESS
        values = struct.unpack_from(result, self.bytes, at)
        self._next = start
        return values[0] if len(values) == 1 else values

    def open(
        self,
        path: bytes,
        oflags: int = 0,
        rights: int = READ,
        fdflags: int = 0,
        *,
        at: int = 3,
        follow: int = 1,
    ) -> int:
        fd: int = self.call("path_open", at, follow, path, oflags, rights, BOTH, fdflags, result="<I")
        return fd

    def create(self, path: bytes, data: bytes = b"") -> int:
        fd = self.open(path, OFlags.CREAT | OFlags.TRUNC, BOTH)
        if data:
            self.write(fd, data)
        return fd

    def vectors(self, *lengths: int) -> tuple[int, list[int]]:
        """Address of iovecs for fresh buffers of these lengths, and the buffers' addresses."""
        starts = [self.allocate(length) for length in lengths]
        pairs = zip(starts, lengths, strict=True)
        return self.put(b"".join(struct.pack("<II", *pair) for pair in pairs)), starts

    def read(self, fd: int, *lengths: int, name: str = "fd_read", extra: tuple[int, ...] = ()) -> bytes:
        start = self._next
        at, starts = self.vectors(*lengths)
        left = self.call(name, fd, at, len(lengths), *extra, result="<I")
        data = b""
        for begin, length in zip(starts, lengths, strict=True):
            data += self.bytes[begin : begin + min(length, left)]
            left -= min(length, left)
        self._next = start
        return data

    def write(self, fd: int, *pieces: bytes, name: str = "fd_write", extra: tuple[int, ...] = ()) -> int:
        start = self._next
        at, starts = self.vectors(*map(len, pieces))
        for begin, piece in zip(starts, pieces, strict=True):
            self.bytes[begin : begin + len(piece)] = piece
        count: int = self.call(name, fd, at, len(pieces), *extra, result="<I")
        self._next = start
        return count

    def stat(self, path: bytes, *, at: int = 3, follow: int = 1) -> tuple[int, ...]:
        """dev, ino, filetype, nlink, size, atim, mtim, ctim"""
        values: tuple[int, ...] = self.call("path_filestat_get", at, follow, path, result="<QQB7xQQQQQ")
        return values

    def list(self, fd: int, size: int = 4096, cookie: int = 0) -> list[tuple[bytes, int, int]]:
        """(name, inode, type) of all entries from `cookie`, read with a buffer of `size` bytes."""
        start = self._next
        buffer = self.allocate(size)
        entries = []
        while True:
            used = self.call("fd_readdir", fd, buffer, size, cookie, result="<I")
            at, end = buffer, buffer + used
            while at + 24 <= end:
                cookie_next, inode, length, kind = struct.unpack_from("<QQIB", self.bytes, at)
                if at + 24 + length > end:
                    break
                entries.append((bytes(self.bytes[at + 24 : at + 24 + length]), inode, kind))
                cookie = cookie_next
                at += 24 + length
            if used < size:
                self._next = start
                return entries
