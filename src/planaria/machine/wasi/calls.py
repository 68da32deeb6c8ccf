"""What all groups of WASI functions work on: memory, files, descriptors, and the host's ends."""

from __future__ import annotations

import errno
from collections.abc import Callable
from typing import Final

from planaria.files.filesystem import FileSystem, Handle
from planaria.machine.wasi.clock import Clock
from planaria.machine.wasi.descriptors import PREOPEN, DescriptorTable
from planaria.machine.wasi.held_output import HeldOutput
from planaria.machine.wasi.locks import Locks
from planaria.machine.wasi.memory import GuestMemory
from planaria.machine.wasi.random import RandomSource

__all__ = ["PATH_LIMIT", "Calls"]

#: Longest path in bytes, without a terminator (PATH_MAX of Linux less one).
PATH_LIMIT: Final = 4095


class Calls:
    """Base class of the function groups.

    Functions take the raw parameters as non-negative ints (see `abi.SIGNATURES`) and return a WASI errno, or
    raise `OSError` with the host's number for it. Every address that a function will use is checked before
    it has an effect, so that nothing is done for a call that fails with EFAULT.
    """

    memory: GuestMemory
    files: FileSystem
    table: DescriptorTable
    clock: Clock
    random: RandomSource
    umask: int
    largest_file: int
    """Bytes that a file may be made to have."""
    locks: Locks
    on_output: Callable[[int, bytes], None]
    held: HeldOutput
    on_input: Callable[[int], bytes]
    sleep: Callable[[float], bool]

    def take_held_output(self) -> None:
        """Pass on what the guest's standard streams hold back, as far as they lead to the host."""
        for stream in (1, 2):
            descriptor = self.table.get(stream)
            if (
                descriptor is not None
                and descriptor.stream == stream
                and (data := self.held.take(self.memory, stream))
            ):
                self.on_output(stream, data)

    def output(self, stream: int, data: bytes) -> None:
        """Pass on what was written to a standard stream by another way than its descriptor."""
        self.take_held_output()
        self.on_output(stream, data)

    def _place(self, fd: int, at: int, length: int) -> tuple[bytes, Handle | None]:
        """The path in memory, and the directory it refers to (None: the path was made absolute)."""
        if length > PATH_LIMIT:
            raise OSError(errno.ENAMETOOLONG, f"a path of {length} bytes; the limit is {PATH_LIMIT}")
        if not length:
            raise OSError(errno.ENOENT, "the empty path names nothing")
        memory = self.memory
        if at + length > memory.size:
            memory.require(at, length)
        path = memory.view[at : at + length].tobytes()
        if fd == PREOPEN:  # what the guest's libc makes of every absolute path
            return b"/" + path, None
        directory = self.table.get(fd)
        if directory is None:
            raise OSError(errno.EBADF, f"descriptor {fd} is not open")
        if directory.handle is None:
            raise OSError(errno.ENOTDIR, f"descriptor {fd} is a standard stream")
        return path, directory.handle
