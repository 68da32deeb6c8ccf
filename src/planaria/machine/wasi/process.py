"""The functions that concern no file: arguments, environment, clocks, random bytes, the end, sockets."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from planaria.files.interruption import give_way
from planaria.machine.wasi.abi import U16, U32, U64, U64_MASK, ClockId, Errno
from planaria.machine.wasi.calls import Calls

__all__ = ["ProcessCalls", "ProcessExit", "environment_strings"]

_INVAL: Final = int(Errno.INVAL)

#: Random bytes made at a time. A multiple of what sources make, so that a seed gives the same bytes.
_PIECE: Final = 1 << 20


class ProcessExit(BaseException):
    """The guest called `proc_exit`; `code` is its status.

    The only exception that a WASI function lets out: the caller of the guest unwinds it and catches this.
    """

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def environment_strings(environment: Mapping[str, str]) -> list[bytes]:
    """`NAME=value` for each variable; ValueError for one that no process can have."""
    strings = []
    for name, value in environment.items():
        if not name or "=" in name or "\0" in name + value:
            raise ValueError(f"the environment variable {name!r} cannot be given to a process")
        strings.append(f"{name}={value}".encode("utf-8", "surrogateescape"))
    return strings


class ProcessCalls(Calls):
    """What a process asks its system about itself and the world."""

    arguments: Sequence[bytes]
    environment: Sequence[bytes]
    receive: Callable[[int, memoryview], int] | None
    send: Callable[[int, memoryview], int] | None

    # -- arguments and environment -----------------------------------------------------------------

    def args_sizes_get(self, count: int, size: int) -> int:
        return self._sizes(self.arguments, count, size)

    def args_get(self, pointers: int, buffer: int) -> int:
        return self._strings(self.arguments, pointers, buffer)

    def environ_sizes_get(self, count: int, size: int) -> int:
        return self._sizes(self.environment, count, size)

    def environ_get(self, pointers: int, buffer: int) -> int:
        return self._strings(self.environment, pointers, buffer)

    def _sizes(self, strings: Sequence[bytes], count: int, size: int) -> int:
        memory = self.memory
        memory.require(count, 4)
        memory.require(size, 4)
        U32.pack_into(memory.view, count, len(strings))
        U32.pack_into(memory.view, size, sum(len(string) + 1 for string in strings))
        return 0

    def _strings(self, strings: Sequence[bytes], pointers: int, buffer: int) -> int:
        memory = self.memory
        data = b"".join(string + b"\0" for string in strings)
        starts = itertools.accumulate((len(string) + 1 for string in strings[:-1]), initial=buffer)
        memory.require(pointers, 4 * len(strings))
        memory.require(buffer, len(data))
        for index, start in enumerate(starts if strings else ()):
            U32.pack_into(memory.view, pointers + 4 * index, start)
        memory.write(buffer, data)
        return 0

    # -- time and chance ---------------------------------------------------------------------------

    def _now(self, clock: int) -> int | None:
        if clock == 0:
            return self.clock.realtime()
        if clock == 1:
            return self.clock.monotonic()
        if clock <= ClockId.THREAD_CPUTIME:
            return self.clock.cpu()
        return None

    def clock_time_get(self, clock: int, precision: int, result: int) -> int:
        memory = self.memory
        if result + 8 > memory.size:
            memory.require(result, 8)
        now = self._now(clock)
        if now is None:
            return _INVAL
        U64.pack_into(memory.view, result, now & U64_MASK)
        return 0

    def clock_res_get(self, clock: int, result: int) -> int:
        self.memory.require(result, 8)
        if clock > ClockId.THREAD_CPUTIME:
            return _INVAL
        U64.pack_into(self.memory.view, result, 1)
        return 0

    def random_get(self, buffer: int, length: int) -> int:
        memory = self.memory
        memory.require(buffer, length)
        for start in range(buffer, buffer + length, _PIECE):
            self.random.fill(memory.view[start : min(start + _PIECE, buffer + length)])
            give_way()
        return 0

    # -- the process -------------------------------------------------------------------------------

    def proc_exit(self, code: int) -> int:
        raise ProcessExit(code)

    def proc_raise(self, signal: int) -> int:
        return int(Errno.NOTSUP)  # the guest delivers its signals to itself

    def sched_yield(self) -> int:
        return 0

    # -- sockets: none but connections that were opened elsewhere, for data both ways ----------------

    def _no_socket(self, fd: int) -> int:
        return int(Errno.NOTSOCK if fd in self.table.open else Errno.BADF)

    def sock_accept(self, fd: int, flags: int, result: int) -> int:
        return self._no_socket(fd)

    def sock_recv(self, fd: int, vectors: int, count: int, flags: int, size: int, result: int) -> int:
        if self.receive is None or fd in self.table.open:
            return self._no_socket(fd)
        memory = self.memory
        memory.require(size, 4)
        memory.require(result, 2)
        [(at, length), *_] = memory.vectors(vectors, count) or [(0, 0)]
        received = self.receive(fd, memory.view[at : at + length]) if length else 0
        if not received:
            return int(Errno.AGAIN)
        U32.pack_into(memory.view, size, received)
        U16.pack_into(memory.view, result, 0)
        return 0

    def sock_send(self, fd: int, vectors: int, count: int, flags: int, size: int) -> int:
        if self.send is None or fd in self.table.open:
            return self._no_socket(fd)
        memory = self.memory
        memory.require(size, 4)
        [(at, length), *_] = memory.vectors(vectors, count) or [(0, 0)]
        sent = self.send(fd, memory.view[at : at + length]) if length else 0
        if not sent:
            return int(Errno.AGAIN)
        U32.pack_into(memory.view, size, sent)
        return 0

    def sock_shutdown(self, fd: int, how: int) -> int:
        return self._no_socket(fd)
