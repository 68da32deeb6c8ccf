"""The engine, and every private name of wasmtime-py that planaria uses.

wasmtime-py's public interface costs 20 to 30 microseconds a crossing and cannot do everything that the C
interface can (https://docs.wasmtime.dev/c-api/). What is used beyond it is named here and nowhere else, so
that a new release of wasmtime-py means reading one file; `tests/runtime/test_runtime_native.py` checks each.

Ownership follows the C interface: an error or a trap that a call returns is ours and is deleted once its
message has been copied; one that a callback returns belongs to wasmtime from then on.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from ctypes import POINTER, byref, c_bool, c_char_p, c_size_t, c_uint8, c_uint64, c_void_p
from typing import Any, Final

import wasmtime
from wasmtime import _bindings, _extern, _ffi
from wasmtime._managed import Managed

from planaria.fork import in_forked_child

__all__ = [
    "CONFIGURATION",
    "HOST_STACK_SIZE",
    "TESTED_VERSIONS",
    "WASM_STACK_SIZE",
    "HostFunction",
    "RawFunction",
    "RawGlobal",
    "Trap",
    "caller_context",
    "compile_module",
    "context_address",
    "define_unchecked",
    "deserialize_file",
    "engine",
    "export",
    "increment_epochs",
    "memory_base",
    "memory_size",
    "new_engine",
    "serialize",
    "set_epoch_callback",
    "trap_new",
]

#: The major versions of wasmtime that the tests have run on; pyproject.toml asks for the same.
TESTED_VERSIONS: Final = range(49, 51)

#: Stack of the guest in bytes. CPython measures its recursion by its stack in linear memory, 8 MiB (see
#: `booting.STACK_USED`); while it uses that, compiled code uses up to 12 times as much of this one.
WASM_STACK_SIZE: Final = 128 << 20
#: The least stack in bytes a thread needs on which guests run (`threading.stack_size`).
HOST_STACK_SIZE: Final = 160 << 20

#: The settings that a compiled module depends on; part of the name of its file in the cache.
CONFIGURATION: Final = (
    f"epoch_interruption wasm_exceptions max_wasm_stack={WASM_STACK_SIZE} no_native_unwind_info"
)

#: What a host function defined with `define_unchecked` is: it gets its environment (unused), the caller, the
#: address of the raw 16-byte values (arguments in, results out) and their number, and returns 0 or a trap.
HostFunction = Callable[[int | None, int, int, int], int]

# `dll[name]` makes a new function object, so that setting its argument types does not change wasmtime-py's.
_HOST_FUNCTION: Final = ctypes.CFUNCTYPE(c_size_t, c_void_p, c_void_p, c_void_p, c_size_t)
_EPOCH_CALLBACK: Final = ctypes.CFUNCTYPE(c_size_t, c_void_p, c_void_p, POINTER(c_uint64), POINTER(c_uint8))


def _function(name: str, result: Any, *arguments: Any) -> Any:
    function = _ffi.dll[name]
    function.restype, function.argtypes = result, arguments
    return function


_define_func_unchecked = _function(
    "wasmtime_linker_define_func_unchecked",
    c_void_p,
    *(c_void_p, c_char_p, c_size_t, c_char_p, c_size_t, c_void_p, _HOST_FUNCTION, c_void_p, c_void_p),
)
_func_call_unchecked = _function(
    "wasmtime_func_call_unchecked", c_void_p, c_void_p, c_void_p, c_void_p, c_size_t, c_void_p
)
_epoch_deadline_callback = _function(
    "wasmtime_store_epoch_deadline_callback", None, c_void_p, _EPOCH_CALLBACK, c_void_p, c_void_p
)
_memory_data = _function("wasmtime_memory_data", c_void_p, c_void_p, c_void_p)
_memory_data_size = _function("wasmtime_memory_data_size", c_size_t, c_void_p, c_void_p)
_global_get = _function("wasmtime_global_get", None, c_void_p, c_void_p, c_void_p)
_global_set = _function("wasmtime_global_set", c_void_p, c_void_p, c_void_p, c_void_p)
_instance_export_get = _function(
    "wasmtime_instance_export_get", c_bool, c_void_p, c_void_p, c_char_p, c_size_t, c_void_p
)
_caller_context = _function("wasmtime_caller_context", c_void_p, c_void_p)
_trap_new = _function("wasmtime_trap_new", c_void_p, c_char_p, c_size_t)
_error_new = _function("wasmtime_error_new", c_void_p, c_char_p)
_module_new = _function("wasmtime_module_new", c_void_p, c_void_p, c_char_p, c_size_t, c_void_p)
_module_serialize = _function("wasmtime_module_serialize", c_void_p, c_void_p, c_void_p)


class Trap(Exception):
    """The guest trapped, or the engine refused a call; `code` is what wasmtime calls the kind of trap.

    `code` is None where there is none: a trap made by a host function, an error of the engine, an
    execution stopped by an epoch callback.
    """

    def __init__(self, message: str, code: wasmtime.TrapCode | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code


def _take_error(address: int) -> str:
    """The message of an error that is ours, which is deleted."""
    error = wasmtime.WasmtimeError._from_ptr(ctypes.cast(address, POINTER(_ffi.wasmtime_error_t)))
    with error:
        return str(error)


def _take_trap(address: int) -> Trap:
    """A trap that is ours as an exception; the native one is deleted."""
    trap = wasmtime.Trap._from_ptr(ctypes.cast(address, POINTER(_ffi.wasm_trap_t)))
    with trap:
        return Trap(trap.message, trap.trap_code)


# -- the engine ------------------------------------------------------------------------------------

#: By whether they count instructions.
_engines: dict[bool, wasmtime.Engine] = {}
_engine_lock = threading.Lock()


@in_forked_child("runtime")
def _after_fork() -> None:
    global _engine_lock
    _engine_lock = threading.Lock()  # another thread of the parent may have held it


def new_engine(*, flags: Iterable[str] = (), **settings: Any) -> wasmtime.Engine:
    """An engine configured for the guest; `settings` are more attributes of `wasmtime.Config`.

    With `target="…"` it compiles for another processor, of which `flags` are the features that code may use.
    """
    config = wasmtime.Config()
    config.epoch_interruption = True
    config.wasm_exceptions = True
    # First this: wasmtime aborts the process when the WebAssembly stack does not fit the asynchronous one.
    _bindings.wasmtime_config_async_stack_size_set(config.ptr(), WASM_STACK_SIZE + (1 << 20))
    config.max_wasm_stack = WASM_STACK_SIZE
    # Only native debuggers and profilers read it (but Windows insists); without it a module is smaller and
    # quicker to compile by a tenth, and need not be registered with the unwinder when it is loaded.
    config.native_unwind_info = sys.platform == "win32"
    for name, value in settings.items():
        setattr(config, name, value)
    for flag in flags:
        config.cranelift_flag_enable(flag)
    return wasmtime.Engine(config)


def engine(metered: bool = False) -> wasmtime.Engine:
    """The engine of this process, or the one that counts instructions; safe to call from any thread.

    Each is made when first asked for. A module that was compiled for one does not load in the other.
    """
    found = _engines.get(metered)
    if found is None:
        with _engine_lock:
            found = _engines.get(metered)
            if found is None:
                found = _engines[metered] = new_engine(consume_fuel=True) if metered else new_engine()
    return found


def increment_epochs() -> None:
    """Have the epoch callbacks of all stores asked that run, of every engine."""
    for one in list(_engines.values()):
        one.increment_epoch()


# -- modules ---------------------------------------------------------------------------------------


def compile_module(engine: wasmtime.Engine, wasm: bytes) -> wasmtime.Module:
    """Compile a module without the copy of its bytes that `wasmtime.Module()` makes.

    Raises `Trap` when it is not valid.
    """
    module = POINTER(_ffi.wasmtime_module_t)()
    error = _module_new(engine.ptr(), wasm, len(wasm), byref(module))
    if error:
        raise Trap(_take_error(error))
    return wasmtime.Module._from_ptr(module)


def serialize(module: wasmtime.Module, write: Callable[[memoryview], object]) -> int:
    """Hand the compiled form of a module to `write`, in pieces that are valid only during the call.

    Returns the number of bytes. Raises `Trap` when wasmtime cannot serialize it, and what `write` raises.
    """
    vector = _ffi.wasm_byte_vec_t()
    error = _module_serialize(module.ptr(), byref(vector))
    if error:
        raise Trap(_take_error(error))
    try:
        size: int = vector.size
        whole = memoryview((c_uint8 * size).from_address(ctypes.addressof(vector.data.contents))).cast("B")
        for start in range(0, size, 1 << 24):
            write(whole[start : start + (1 << 24)])
        return size
    finally:
        _ffi.wasm_byte_vec_delete(byref(vector))


def deserialize_file(engine: wasmtime.Engine, path: str | os.PathLike[str]) -> wasmtime.Module:
    """Map a compiled module. The file is native code: only give one that is known to be our own.

    Raises `wasmtime.WasmtimeError` when it is of another version, configuration or processor.
    """
    return wasmtime.Module.deserialize_file(engine, os.fspath(path))


# -- crossing the boundary -------------------------------------------------------------------------


def export(store: wasmtime.Store, instance: wasmtime.Instance, name: str) -> Any:
    """One export of an instance; listing them all takes longer than instantiating. Raises KeyError."""
    item = _ffi.wasmtime_extern_t()
    encoded = name.encode()
    if not _instance_export_get(
        store._context(), byref(instance._instance), encoded, len(encoded), byref(item)
    ):
        raise KeyError(name)
    return _extern.wrap_extern(item)


def context_address(store: wasmtime.Store) -> int:
    """The address of the store's context: what `caller_context` returns in a callback of its instances."""
    return ctypes.addressof(store._context().contents)


def caller_context(caller: int) -> int:
    """The address of the context that called a host function; identifies the store."""
    return _caller_context(caller)  # type: ignore[no-any-return]


def define_unchecked(
    linker: wasmtime.Linker,
    module: str,
    name: str,
    params: Sequence[wasmtime.ValType],
    results: Sequence[wasmtime.ValType],
    callback: HostFunction,
) -> None:
    """Define a host function that gets raw values (2 microseconds a call against 20).

    `callback(environment, caller, values, count)` finds argument i at `values + 16 * i`, writes result i to
    the same place, and returns 0 or what `trap_new` gave. It must not raise: ctypes would print the error and
    the guest would go on. The linker keeps the callback, so it has to outlive every instance made from it.

    Raises `Trap` when the linker has that name already.
    """
    kind = wasmtime.FuncType(list(params), list(results))
    native = _HOST_FUNCTION(callback)
    module_name, function_name = module.encode(), name.encode()
    error = _define_func_unchecked(
        linker.ptr(),
        module_name,
        len(module_name),
        function_name,
        len(function_name),
        kind.ptr(),
        native,
        None,
        None,
    )
    if error:
        raise Trap(_take_error(error))
    # An attribute and not a registry of ours: so the garbage collector sees linker, callback and whatever
    # the callback holds as one cycle, and wasmtime's objects are deleted before the callback's code is.
    linker.__dict__.setdefault("_planaria_callbacks", []).append(native)


def trap_new(message: str) -> int:
    """A new native trap for a host function to return; it belongs to wasmtime once returned."""
    encoded = message.encode("utf-8", "replace")
    return _trap_new(encoded, len(encoded))  # type: ignore[no-any-return]


def set_epoch_callback(store: wasmtime.Store, callback: Callable[[], int]) -> None:
    """Have `callback` asked when the store's epoch deadline passes while the guest runs.

    It returns the number of ticks (at least 1) after which to ask again; the guest then goes on. When it
    raises, the execution ends with a `Trap` of that message. It may call into the guest (see `RawFunction`)
    after it has set the deadline far away. The store keeps the callback; another call replaces it.
    """

    def native(_context: int, _data: int, delta: Any, kind: Any) -> int:
        try:
            delta[0] = callback()
            kind[0] = 0  # WASMTIME_UPDATE_DEADLINE_CONTINUE
        except BaseException as error:
            message = error.message if isinstance(error, Trap) else f"{type(error).__name__}: {error}"
            return _error_new(message.replace("\0", "").encode("utf-8", "replace"))  # type: ignore[no-any-return]
        return 0

    function = _EPOCH_CALLBACK(native)
    _epoch_deadline_callback(store.ptr(), function, None, None)
    store.__dict__["_planaria_epoch_callback"] = function  # after the call: the old one was in use until now


class RawFunction:
    """An exported function of i32 and i64 arguments, called with raw values (2 microseconds against 20).

    Calling it with integers returns the first result as an unsigned integer, or 0 when it has none; raises
    `Trap`. May be called again from within its own call, but a store is for one thread at a time.
    """

    __slots__ = (
        "_array",
        "_function",
        "_given",
        "_mask",
        "_parameters",
        "_store",
        "_trap",
    )

    def __init__(
        self, store: wasmtime.Store, function: wasmtime.Func, shape: tuple[int, int] | None = None
    ) -> None:
        """`shape` is `RawFunction.shape_of` the same function in another instance, if that is known."""
        self._parameters, self._mask = shape or self.shape_of(store, function)
        self._store = store
        self._function = function
        count = max(self._parameters, 1)
        self._array = (c_uint64 * (2 * count))()
        self._trap = c_void_p()
        self._given = byref(function._func), self._array, c_size_t(count), byref(self._trap)

    @staticmethod
    def shape_of(store: wasmtime.Store, function: wasmtime.Func) -> tuple[int, int]:
        """The number of parameters and the bits of the result; asking costs more than a call."""
        kind = function.type(store)
        parameters, results = kind.params, kind.results
        allowed = (wasmtime.ValType.i32(), wasmtime.ValType.i64())
        if len(results) > 1 or any(one not in allowed for one in [*parameters, *results]):
            raise TypeError("only functions of i32 and i64 with at most one result can be called raw")
        if not results:
            return len(parameters), 0
        return len(parameters), 0xFFFFFFFFFFFFFFFF if results[0] == allowed[1] else 0xFFFFFFFF

    def __call__(self, *arguments: int) -> int:
        if len(arguments) != self._parameters:
            raise TypeError(f"expected {self._parameters} arguments, got {len(arguments)}")
        array = self._array
        position = 0
        for argument in arguments:
            array[position] = argument
            position += 2
        # The context is asked for each time: it raises ValueError once the store has been closed.
        error = _func_call_unchecked(self._store._context(), *self._given)
        if error or self._trap.value:
            self._fail(error)
        return array[0] & self._mask

    def _fail(self, error: int | None) -> None:
        trap, self._trap.value = self._trap.value, None
        if trap:
            raise _take_trap(trap)
        assert error is not None
        raise Trap(_take_error(error))


class RawGlobal:
    """An exported i32 global, read and written as an unsigned integer."""

    __slots__ = ("_global", "_pointer", "_store", "_value")

    def __init__(self, store: wasmtime.Store, item: wasmtime.Global, *, checked: bool = False) -> None:
        """`checked` says that the same global of another instance is known to be one; asking takes longer."""
        if not checked and item.type(store).content != wasmtime.ValType.i32():
            raise TypeError("only i32 globals can be used raw")
        self._store = store
        self._global = item
        self._pointer = ctypes.addressof(item._global)
        self._value = _ffi.wasmtime_val_t()

    def get(self) -> int:
        _global_get(self._store._context(), self._pointer, byref(self._value))
        value: int = self._value.of.i32
        return value & 0xFFFFFFFF

    def set(self, value: int) -> None:
        """Raises `Trap` when the global is immutable."""
        self._value.kind = _ffi.WASMTIME_I32
        self._value.of.i32 = value
        error = _global_set(self._store._context(), self._pointer, byref(self._value))
        if error:
            raise Trap(_take_error(error))


def memory_base(store: wasmtime.Store, memory: wasmtime.Memory) -> int:
    """The host address of the memory's first byte; stays the same while it grows within its reservation."""
    return _memory_data(store._context(), byref(memory._memory)) or 0


def memory_size(store: wasmtime.Store, memory: wasmtime.Memory) -> int:
    """The present size of the memory in bytes."""
    return _memory_data_size(store._context(), byref(memory._memory))  # type: ignore[no-any-return]


@atexit.register
def _leave_to_the_system() -> None:
    """What is still alive when the interpreter exits is left to the operating system.

    wasmtime-py's objects call functions of its modules for that, which may be taken apart before them: then
    each would print that a NoneType is not callable. The system takes the memory back anyway.
    """
    Managed.__del__ = _keep  # type: ignore[method-assign]


def _keep(self: Managed[Any]) -> None:
    pass
