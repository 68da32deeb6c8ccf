"""What a guest finds in /dev and /proc."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import Self

from planaria.files.computed import ComputedFileSystem, Device, Link, Text, Tree
from planaria.files.filesystem import failure

__all__ = ["DeviceFileSystem", "ProcFileSystem"]

RandomSource = Callable[[int], bytes]
#: Takes what is written to standard output (1) or error (2).
Output = Callable[[int, bytes], object]


def _full(data: bytes) -> int:
    raise failure(errno.ENOSPC)


def _write(output: Output, stream: int, data: bytes) -> int:
    output(stream, data)
    return len(data)


def _nothing(size: int) -> bytes:
    return b""


class DeviceFileSystem(ComputedFileSystem):
    """null, zero, full, random, urandom, and the standard streams, for /dev.

    `random(size)` gives the bytes of both random devices: the system's when not given, so a session
    with a seed passes its own. `streams` gives `stdin`, `stdout`, `stderr`, `tty` their devices; one
    that is not given cannot be opened (ENXIO), except for `stdin`, which is at its end. A fork has the
    same devices until it is connected to a session of its own.
    """

    __slots__ = ("_made", "_output", "_random", "_streams")

    def __init__(
        self, *, random: RandomSource = os.urandom, streams: Mapping[str, Device] | None = None, time: int = 0
    ) -> None:
        super().__init__(time=time)
        self._random = random
        self._streams = dict(streams or {})
        self._output: Output | None = None
        #: The devices that `connect` concerns, once they are made.
        self._made: tuple[Device, Device, Device] | None = None

    def tree(self) -> Tree:
        randomness = Device(None, len)
        streams = {
            "stdin": Device(_nothing),
            **{name: Device() for name in ("stdout", "stderr", "tty")},
            **{name: Device(one.read, one.write, mode=one.mode) for name, one in self._streams.items()},
        }
        self._made = randomness, streams["stdout"], streams["stderr"]
        self._plug_in()
        return {
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
        }

    def connect(self, *, output: Output, random: RandomSource) -> None:
        """Have stdout and stderr write to `output`, and the random devices give what `random` gives."""
        self._output = output
        self._random = random
        self._plug_in()

    def _plug_in(self) -> None:
        if self._made is None:
            return
        randomness, stdout, stderr = self._made
        randomness.read = self._random
        if self._output is not None:
            stdout.write = partial(_write, self._output, 1)
            stderr.write = partial(_write, self._output, 2)

    def fork(self) -> Self:
        other = type(self)(random=self._random, streams=self._streams, time=self.time)
        other._output = self._output
        return other


class ProcFileSystem(ComputedFileSystem):
    """The little of /proc that programs look at; nothing in it comes from the host.

    `descriptors` can be set to a function that gives the paths of the open descriptors by number,
    for `self/fd`; a fork begins without one, because its descriptors are its own.
    """

    __slots__ = ("_memory", "descriptors")

    def __init__(self, *, memory: int = 4 << 30, time: int = 0) -> None:
        super().__init__(time=time)
        self.descriptors: Callable[[], Mapping[int, bytes]] | None = None
        self._memory = memory

    def tree(self) -> Tree:
        kilobytes = self._memory // 1024
        return {
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
        }

    def _open_files(self) -> dict[bytes, Link]:
        descriptors = self.descriptors() if self.descriptors is not None else {}
        return {b"%d" % number: Link(path) for number, path in sorted(descriptors.items())}

    def fork(self) -> Self:
        return type(self)(memory=self._memory, time=self.time)
