"""What a guest finds in /dev and /proc."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Mapping
from typing import Self

from planaria.files.computed import ComputedFileSystem, Device, Link, Text
from planaria.files.failure import failure

__all__ = ["DeviceFileSystem", "ProcFileSystem"]

RandomSource = Callable[[int], bytes]
#: Takes what is written to standard output (1) or error (2).
Output = Callable[[int, bytes], object]


def _full(data: bytes) -> int:
    raise failure(errno.ENOSPC)


def _nothing(size: int) -> bytes:
    return b""


class DeviceFileSystem(ComputedFileSystem):
    """null, zero, full, random, urandom, and the standard streams, for /dev.

    `random(size)` gives the bytes of both random devices: the system's when not given, so a session
    with a seed passes its own. `streams` gives `stdin`, `stdout`, `stderr`, `tty` their devices; one
    that is not given cannot be opened (ENXIO), except for `stdin`, which is at its end. A fork has the
    same devices until it is connected to a session of its own.
    """

    __slots__ = ("_random", "_streams")

    def __init__(
        self, *, random: RandomSource = os.urandom, streams: Mapping[str, Device] | None = None, time: int = 0
    ) -> None:
        self._random = randomness = Device(random, len)
        self._streams = streams = {
            "stdin": Device(_nothing),
            **{name: Device() for name in ("stdout", "stderr", "tty")},
            **(streams or {}),
        }
        super().__init__(
            {
                b"null": Device(_nothing, len),
                b"zero": Device(bytes, len),
                b"full": Device(bytes, _full),
                b"random": randomness,
                b"urandom": randomness,
                b"stdin": streams["stdin"],
                b"stdout": streams["stdout"],
                b"stderr": streams["stderr"],
                b"tty": streams["tty"],
                b"fd": Link(b"/proc/self/fd"),
            },
            time=time,
        )

    def connect(self, *, output: Output, random: RandomSource) -> None:
        """Have stdout and stderr write to `output`, and the random devices give what `random` gives."""

        def writer(stream: int) -> Callable[[bytes], int]:
            def write(data: bytes) -> int:
                output(stream, data)
                return len(data)

            return write

        self._random.read = random
        self._streams["stdout"].write = writer(1)
        self._streams["stderr"].write = writer(2)

    def fork(self) -> Self:
        streams = {name: Device(old.read, old.write, mode=old.mode) for name, old in self._streams.items()}
        return type(self)(random=self._random.read or os.urandom, streams=streams, time=self.time)


class ProcFileSystem(ComputedFileSystem):
    """The little of /proc that programs look at; nothing in it comes from the host.

    `descriptors` can be set to a function that gives the paths of the open descriptors by number,
    for `self/fd`; a fork begins without one, because its descriptors are its own.
    """

    __slots__ = ("_memory", "descriptors")

    def __init__(self, *, memory: int = 4 << 30, time: int = 0) -> None:
        self.descriptors: Callable[[], Mapping[int, bytes]] | None = None
        self._memory = memory
        kilobytes = memory // 1024
        super().__init__(
            {
                b"cpuinfo": Text(b"processor\t: 0\nvendor_id\t: planaria\nmodel name\t: WebAssembly\n\n"),
                b"meminfo": Text(
                    b"MemTotal:       %8d kB\nMemFree:        %8d kB\nMemAvailable:   %8d kB\n"
                    % (kilobytes, kilobytes, kilobytes)
                ),
                b"version": Text(b"planaria version 1 (wasm32-wasip1)\n"),
                b"uptime": Text(b"1.00 1.00\n"),
                b"loadavg": Text(b"0.00 0.00 0.00 1/1 1\n"),
                b"mounts": Link(b"self/mounts"),
                b"filesystems": Text(b"nodev\tplanaria\n"),
                b"self": {
                    b"cmdline": Text(b"python3\0"),
                    b"comm": Text(b"python3\n"),
                    b"cwd": Link(b"/home/user"),
                    b"exe": Link(b"/usr/bin/python3"),
                    b"root": Link(b"/"),
                    b"mounts": Text(b"planaria / planaria rw 0 0\n"),
                    b"stat": Text(b"1 (python3) R 0 1 1 0 -1 0" + b" 0" * 43 + b"\n"),
                    b"status": Text(
                        b"Name:\tpython3\nState:\tR (running)\nPid:\t1\nPPid:\t0\n"
                        b"Uid:\t1000\t1000\t1000\t1000\nGid:\t1000\t1000\t1000\t1000\nThreads:\t1\n"
                    ),
                    b"fd": self._open_files,
                },
            },
            time=time,
        )

    def _open_files(self) -> dict[bytes, Link]:
        descriptors = self.descriptors() if self.descriptors is not None else {}
        return {b"%d" % number: Link(path) for number, path in sorted(descriptors.items())}

    def fork(self) -> Self:
        return type(self)(memory=self._memory, time=self.time)
