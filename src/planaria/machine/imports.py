"""The functions that the guest imports, as one linker for all machines.

Each is a raw callback that finds the machine running on the present thread and hands plain integers
to it. Nothing a host function raises may reach wasmtime: WASI functions answer with an errno whatever
happens (see `wasi.system`), and what ends an execution is kept in the machine and becomes a trap.
"""

from __future__ import annotations

import struct
import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, ParamSpec, Protocol, TypeVar

import wasmtime

from planaria.machine.wasi.abi import SIGNATURES, raw_parameters
from planaria.machine.wasi.memory import GuestMemory, view_of_address
from planaria.once import once
from planaria.runtime.native import HostFunction, define_unchecked, engine, trap_new

if TYPE_CHECKING:
    from planaria.machine.wasi.system import Wasi

__all__ = ["Guest", "current", "instantiate", "linker", "weak_method"]

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class Guest(Protocol):
    """What a call of the guest needs of the machine that it comes from; see `machine.Machine`."""

    wasi: Wasi
    memory: GuestMemory
    find_answer: Callable[[], Callable[[bytes], bytes] | None]
    too_large: Callable[[bytes], bytes]
    failure: BaseException | None
    has_called_system: bool
    had_input: bool

    @property
    def functions(self) -> list[Callable[..., int]]: ...

    @property
    def allocate(self) -> Callable[[int], int]: ...


class _Current(threading.local):
    """The machine that runs on this thread; the innermost one when machines nest."""

    machine: Guest | None = None


current: Final = _Current()

#: The engine's raw values take so many bytes each.
_VALUE_BYTES: Final = 16
#: How many places each function remembers; depths of the stack at which it is called.
_MOST_VIEWS: Final = 4096


def _trap(machine: Guest, error: BaseException) -> int:
    """End the guest's call; `Machine.enter` raises `error` again on its side."""
    machine.failure = error
    return trap_new("stopped by the host")


class _Values(dict[int, memoryview]):
    """Views of the places where the engine puts the raw values of a call, by address.

    They lie on the stack, at addresses that repeat: a view that is made once serves many calls, and reading
    and writing through it costs a fifth of what `string_at` and `from_address` do. It is used only while
    the call whose values they are is running.
    """

    def __init__(self, size: int) -> None:
        self._size = size

    def __missing__(self, address: int) -> memoryview:
        if len(self) >= _MOST_VIEWS:
            self.clear()
        view = self[address] = view_of_address(address, self._size).cast("I")
        return view


def _system_function(index: int, signature: str) -> HostFunction:
    parameters = raw_parameters(signature)
    unpack = parameters.unpack_from
    values_at = _Values(max(_VALUE_BYTES, parameters.size))

    def callback(_environment: int | None, _caller: int, values: int, _count: int) -> int:
        machine = current.machine
        machine.has_called_system = machine.had_input = True  # type: ignore[union-attr]
        try:
            view = values_at[values]
            view[0] = machine.functions[index](*unpack(view))  # type: ignore[union-attr]
        except BaseException as error:
            assert machine is not None
            try:
                values_at[values][0] = machine.wasi.answer(error)
            except BaseException as fatal:
                return _trap(machine, fatal)
        return 0

    return callback


def _host_call() -> HostFunction:
    """`host.call(request, length, &reply, &reply_length) -> 0`: the one import beside WASI."""
    values_at = _Values(4 * _VALUE_BYTES)
    pack_into = struct.Struct("<I").pack_into

    def callback(_environment: int | None, _caller: int, values: int, _count: int) -> int:
        machine = current.machine
        assert machine is not None
        try:
            view = values_at[values]
            reply_at, reply_length_at = view[8], view[12]
            memory = machine.memory
            request = memory.read(view[0], view[4])
            answer = machine.find_answer()
            if answer is None:
                raise ReferenceError("the object that answered this machine's calls is gone")
            reply = answer(request)
            address = 0
            if reply:
                address = machine.allocate(len(reply))
                if not address:
                    reply = machine.too_large(request)
                    address = machine.allocate(len(reply))
                memory.write(address, reply)
            memory.require(reply_at, 4)
            memory.require(reply_length_at, 4)
            pack_into(memory.view, reply_at, address)
            pack_into(memory.view, reply_length_at, len(reply))
            view[0] = 0
            return 0
        except BaseException as error:
            return _trap(machine, error)

    return callback


#: The WASI functions in a fixed order; a machine keeps its own in a list of the same order.
FUNCTION_NAMES: Final = tuple(SIGNATURES)


def instantiate(
    store: wasmtime.Store, module: wasmtime.Module, *, metered: bool = False
) -> wasmtime.Instance:
    """A new instance of `module` in `store`; `metered` says for which engine it was compiled."""
    return _prepared(module, metered).instantiate(store)


@once
def _prepared(module: wasmtime.Module, metered: bool) -> wasmtime.InstancePre:
    """The module with its imports resolved, of which a process has one for each tier."""
    return linker(metered).instantiate_pre(module)


@once
def linker(metered: bool = False) -> wasmtime.Linker:
    """The linker from which every machine of an engine is instantiated."""
    made = wasmtime.Linker(engine(metered))
    i32, i64 = wasmtime.ValType.i32(), wasmtime.ValType.i64()
    for index, name in enumerate(FUNCTION_NAMES):
        signature = SIGNATURES[name]
        callback = _system_function(index, signature)
        parameters = [i32 if kind == "I" else i64 for kind in signature]
        results = [] if name == "proc_exit" else [i32]
        define_unchecked(made, "wasi_snapshot_preview1", name, parameters, results, callback)
    define_unchecked(made, "host", "call", [i32] * 4, [i32], _host_call())
    return made


def weak_method(method: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """A function that calls a bound method without keeping its object; raises ReferenceError when it is gone.

    A machine, its system and its executor know each other. The ways back are weak, so that dropping a session
    releases its memory at once, and the collector of cycles finds little to do.
    """
    reference = weakref.WeakMethod(method)

    def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        found = reference()
        if found is None:
            raise ReferenceError("the owner of this method is gone")
        return found(*args, **kwargs)

    return call
