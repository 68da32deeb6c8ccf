"""The functions that the guest imports, as one linker for all machines.

Each is a raw callback that finds the machine running on the present thread and hands plain integers
to it. Nothing a host function raises may reach wasmtime: WASI functions answer with an errno whatever
happens (see `wasi.system`), and what ends an execution is kept in the machine and becomes a trap.
"""

from __future__ import annotations

import ctypes
import struct
import threading
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Final

import wasmtime

from planaria.machine.wasi.abi import SIGNATURES, raw_parameters
from planaria.runtime.native import HostFunction, define_unchecked, engine, trap_new

if TYPE_CHECKING:
    from planaria.machine.machine import Machine

__all__ = ["current", "linker"]


class _Current(threading.local):
    """The machine that runs on this thread; the innermost one when machines nest."""

    machine: Machine | None = None


current: Final = _Current()

_DOOR_PARAMETERS: Final = struct.Struct("<I12xI12xI12xI12x")


def _trap(machine: Machine, error: BaseException) -> int:
    """End the guest's call; `Machine.enter` raises `error` again on its side."""
    machine.failure = error
    return trap_new("stopped by the host")


def _system_function(index: int, signature: str) -> HostFunction:
    parameters = raw_parameters(signature)
    unpack, size = parameters.unpack, parameters.size
    read = ctypes.string_at
    result = ctypes.c_uint32.from_address

    def callback(_environment: int | None, _caller: int, values: int, _count: int) -> int:
        machine = current.machine
        assert machine is not None
        try:
            result(values).value = machine.functions[index](*unpack(read(values, size)))
            return 0
        except BaseException as error:
            return _trap(machine, error)

    return callback


def _without_parameters(index: int) -> HostFunction:
    result = ctypes.c_uint32.from_address

    def callback(_environment: int | None, _caller: int, values: int, _count: int) -> int:
        machine = current.machine
        assert machine is not None
        try:
            result(values).value = machine.functions[index]()
            return 0
        except BaseException as error:
            return _trap(machine, error)

    return callback


def _door() -> HostFunction:
    """`host.call(request, length, &reply, &reply_length) -> 0`: the one import beside WASI."""
    unpack, size = _DOOR_PARAMETERS.unpack, _DOOR_PARAMETERS.size
    read = ctypes.string_at
    result = ctypes.c_uint32.from_address

    def callback(_environment: int | None, _caller: int, values: int, _count: int) -> int:
        machine = current.machine
        assert machine is not None
        try:
            at, length, reply_at, reply_length_at = unpack(read(values, size))
            memory = machine.memory
            request = memory.read(at, length)
            reply = machine.door(request)
            address = 0
            if reply:
                address = machine.allocate(len(reply))
                if not address:
                    reply = machine.too_large(request)
                    address = machine.allocate(len(reply))
                memory.write(address, reply)
            memory.write(reply_at, address.to_bytes(4, "little"))
            memory.write(reply_length_at, len(reply).to_bytes(4, "little"))
            result(values).value = 0
            return 0
        except BaseException as error:
            return _trap(machine, error)

    return callback


#: The WASI functions in a fixed order; a machine keeps its own in a list of the same order.
FUNCTION_NAMES: Final = tuple(SIGNATURES)


@cache
def linker() -> wasmtime.Linker:
    """The linker from which every machine of this process is instantiated."""
    made = wasmtime.Linker(engine())
    i32, i64 = wasmtime.ValType.i32(), wasmtime.ValType.i64()
    for index, name in enumerate(FUNCTION_NAMES):
        signature = SIGNATURES[name]
        callback: Callable[[int | None, int, int, int], int]
        callback = _system_function(index, signature) if signature else _without_parameters(index)
        parameters = [i32 if kind == "I" else i64 for kind in signature]
        results = [] if name == "proc_exit" else [i32]
        define_unchecked(made, "wasi_snapshot_preview1", name, parameters, results, callback)
    define_unchecked(made, "host", "call", [i32] * 4, [i32], _door())
    return made
