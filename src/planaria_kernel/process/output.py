"""What a kernel's process writes: Python's streams, its descriptors 1 and 2, and other processes.

Python's streams go over the connection, in the order in which things happen. What is written to the
descriptors past them is read by the host or, where it cannot, by a thread here.
"""

from __future__ import annotations

import io
import os
import select
import sys
import threading
from collections.abc import Callable
from functools import cache
from typing import Any, Final

from planaria_kernel.execution.streams import Streams
from planaria_kernel.process.channel import Channel

__all__ = ["ChannelStreams", "Reader", "settle_before_others_write"]

_READ: Final = 1 << 16
#: User code and the kernel replace it.
_write = os.write


class _Output(io.RawIOBase):
    """A standard stream that goes over the connection; in forked children, to the descriptor."""

    def __init__(self, channel: Channel, descriptor: int, reader: Reader | None) -> None:
        self._channel = channel
        self._descriptor = descriptor
        self._reader = reader

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor

    def write(self, data: Any, /) -> int:
        if self._channel.forked:
            return _write(self._descriptor, data)
        if self._reader is not None:
            self._reader.drain()  # that was written before
        if not self._channel.closed:
            self._channel.output(self._descriptor, data)
        return int(memoryview(data).nbytes)


class ChannelStreams(Streams):
    """Python's streams over the connection; with a `reader`, so is what is written past them."""

    def __init__(self, channel: Channel, reader: Reader | None = None) -> None:
        self._channel = channel
        self._reader = reader
        super().__init__(lambda descriptor: _Output(channel, descriptor, reader))

    def flush(self) -> None:
        super().flush()
        ctypes = sys.modules.get("_ctypes")
        if ctypes is not None:  # there may be code in C that holds something back in streams of its own
            self._channel.settle()
            ctypes.call_function(_address_of_fflush(ctypes), (None,))
        if self._reader is not None and not self._channel.forked:
            self._reader.drain()

    def settle(self) -> None:
        self.flush()
        self._channel.settle()


class Reader:
    """Sends what is written to descriptors 1 and 2 over the connection, where the host cannot read them."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._sources: dict[int, int] = {}
        self._lock = threading.Lock()
        for descriptor in (1, 2):
            source, sink = os.pipe()
            os.set_blocking(source, False)
            os.dup2(sink, descriptor)
            os.close(sink)
            self._sources[source] = descriptor
        threading.Thread(target=self._follow, name="planaria-output", daemon=True).start()

    def _follow(self) -> None:
        while not (self._channel.closed or self._channel.forked):
            select.select(list(self._sources), [], [])
            self.drain()

    def drain(self) -> None:
        """Send all that is there."""
        with self._lock:
            for source, descriptor in self._sources.items():
                try:
                    while data := os.read(source, _READ):
                        self._channel.output(descriptor, data)
                        if len(data) < _READ:
                            break
                except BlockingIOError:
                    pass


@cache
def _address_of_fflush(ctypes: Any) -> int:
    return int(ctypes.dlsym(ctypes.dlopen(None, 0), "fflush"))


def settle_before_others_write(settle: Callable[[], None]) -> None:
    """Have what was printed reach the host (`settle`) before another process is started, which may write."""
    import _posixsubprocess
    import subprocess

    def settling(function: Callable[..., Any]) -> Callable[..., Any]:
        def settle_and_call(*arguments: Any, **keywords: Any) -> Any:
            settle()
            return function(*arguments, **keywords)

        settle_and_call.__name__ = settle_and_call.__qualname__ = function.__name__
        settle_and_call.__doc__ = function.__doc__
        return settle_and_call

    fork_exec = settling(_posixsubprocess.fork_exec)
    for module in (_posixsubprocess, subprocess):
        for name in ("fork_exec", "_fork_exec"):
            if hasattr(module, name):
                setattr(module, name, fork_exec)
    for name in ("posix_spawn", "posix_spawnp"):
        if hasattr(os, name):
            setattr(os, name, settling(getattr(os, name)))
    os.system = _system


def _system(command: Any) -> int:
    """Execute the command in a subshell. Unlike the original it can be interrupted."""
    import subprocess

    status = subprocess.call(command, shell=True)
    return -status if status < 0 else status << 8
