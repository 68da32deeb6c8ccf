"""The private names of wasmtime-py that planaria uses, and what planaria makes of them."""

import ast
import ctypes
import gc
import inspect
import subprocess
import sys
import threading
import tomllib
import weakref
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import wasmtime
from packaging.requirements import Requirement
from wasmtime import _bindings, _extern, _ffi
from wasmtime._managed import Managed

from planaria.runtime import native

I32, I64 = wasmtime.ValType.i32(), wasmtime.ValType.i64()

#: How many arguments wasmtime-py says each C function has, for those that native.py declares anew.
C_FUNCTIONS = {
    "wasmtime_linker_define_func_unchecked": native._define_func_unchecked,
    "wasmtime_func_call_unchecked": native._func_call_unchecked,
    "wasmtime_store_epoch_deadline_callback": native._epoch_deadline_callback,
    "wasmtime_memory_data": native._memory_data,
    "wasmtime_memory_data_size": native._memory_data_size,
    "wasmtime_global_get": native._global_get,
    "wasmtime_global_set": native._global_set,
    "wasmtime_instance_export_get": native._instance_export_get,
    "wasmtime_caller_context": native._caller_context,
    "wasmtime_trap_new": native._trap_new,
    "wasmtime_error_new": native._error_new,
    "wasmtime_module_new": native._module_new,
    "wasmtime_module_serialize": native._module_serialize,
}


class Guest:
    """A little module on the real engine; `host` is what its import `env.host` calls."""

    def __init__(self, text: str, host=None) -> None:
        self.linker = wasmtime.Linker(native.engine())
        if host is not None:
            native.define_unchecked(self.linker, "env", "host", [I32, I64], [I64], host)
        self.store = wasmtime.Store(native.engine())
        self.store.set_epoch_deadline(1 << 40)
        module = native.compile_module(native.engine(), bytes(wasmtime.wat2wasm(text)))
        self.exports: Any = self.linker.instantiate(self.store, module).exports(self.store)

    def function(self, name: str) -> native.RawFunction:
        return native.RawFunction(self.store, self.exports[name])


ADD = """(module
  (memory (export "memory") 2 10)
  (global (export "pointer") (mut i32) (i32.const 77))
  (global (export "constant") i32 (i32.const 1))
  (global (export "wide") (mut i64) (i64.const 1))
  (func (export "add") (param i32 i32) (result i32) local.get 0 local.get 1 i32.add)
  (func (export "add64") (param i64 i64) (result i64) local.get 0 local.get 1 i64.add)
  (func (export "nothing"))
  (func (export "grow") (param i32) (result i32) local.get 0 memory.grow)
  (func (export "unreachable") unreachable)
  (func (export "float") (param f64))
  (func $recurse (export "recurse") (param i32) (result i32)
    (if (result i32) (i32.eqz (local.get 0)) (then (i32.const 0))
      (else (i32.add (i32.const 1) (call $recurse (i32.sub (local.get 0) (i32.const 1)))))))
  (func (export "spin") (loop br 0)))"""

HOST = """(module
  (import "env" "host" (func $host (param i32 i64) (result i64)))
  (func (export "call") (param i32 i64) (result i64) (call $host (local.get 0) (local.get 1))))"""


@pytest.mark.parametrize("name", sorted(C_FUNCTIONS))
def test_c_function_has_the_arguments_that_native_declares(name):
    """Each C function takes as many arguments as we pass, of the same sizes, by wasmtime-py's own account."""
    theirs = getattr(_bindings, f"_{name}")
    ours = C_FUNCTIONS[name]
    assert len(theirs.argtypes) == len(ours.argtypes)
    for their, our in zip(theirs.argtypes, ours.argtypes, strict=True):
        assert ctypes.sizeof(their) == ctypes.sizeof(our)
    assert (theirs.restype is None) == (ours.restype is None)


def test_wasmtime_py_keeps_its_own_declarations():
    """Declaring a C function anew leaves the argument types of wasmtime-py's object as they were."""
    for name, ours in C_FUNCTIONS.items():
        assert getattr(_bindings, f"_{name}") is not ours


SOURCE = ast.parse(inspect.getsource(native))


def private_names():
    """What native.py takes from wasmtime-py's private modules, and the private names of its classes."""
    modules = {"_bindings": _bindings, "_ffi": _ffi, "_extern": _extern}
    for node in ast.walk(SOURCE):
        match node:
            case ast.Attribute(ast.Name(module), name) if module in modules:
                yield modules[module], name
            case ast.Attribute(ast.Attribute(ast.Name("wasmtime"), kind), name) if name.startswith("_"):
                yield getattr(wasmtime, kind), name


@pytest.mark.parametrize(
    ("holder", "name"),
    sorted({*private_names(), (wasmtime.Store, "_context"), (Managed, "__del__")}, key=str),
)
def test_private_name_exists(holder, name):
    """Each private name of wasmtime-py that native.py reaches for is there."""
    assert hasattr(holder, name)


def test_c_functions_are_all_compared():
    """The list of C functions above has each that native.py declares anew."""
    declared = {
        node.args[0].value
        for node in ast.walk(SOURCE)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "_function"
        and isinstance(node.args[0], ast.Constant)
    }
    assert declared == C_FUNCTIONS.keys()


def test_supported_engines_are_those_of_the_package():
    """The versions that native.py names are those that pip may install, and this is one of them."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))["project"]
    (wanted,) = (one for one in map(Requirement, project["dependencies"]) if one.name == "wasmtime")
    majors = [major for major in range(1000) if wanted.specifier.contains(f"{major}.0.0")]
    assert majors == list(native.TESTED_VERSIONS)
    assert int(version("wasmtime").partition(".")[0]) in majors


@pytest.mark.parametrize(
    ("holder", "name"),
    [
        (wasmtime.Func, "_func"),
        (wasmtime.Memory, "_memory"),
        (wasmtime.Global, "_global"),
        (wasmtime.Instance, "_instance"),
    ],
)
def test_private_attribute_is_declared(holder, name):
    """Functions, memories, globals and instances keep their C structure in the attribute that native.py reads."""
    assert name in inspect.get_annotations(holder)


def test_raw_value_is_sixteen_bytes():
    """A raw value takes 16 bytes, which is what the value arrays assume."""
    assert ctypes.sizeof(_bindings.wasmtime_val_raw_t) == 16


def test_epoch_callback_has_the_declared_type():
    """The epoch callback's arguments are those of the C header, size by size."""
    theirs = _bindings._wasmtime_store_epoch_deadline_callback.argtypes[1]
    assert [ctypes.sizeof(kind) for kind in theirs._argtypes_] == [
        ctypes.sizeof(kind) for kind in native._EPOCH_CALLBACK._argtypes_
    ]


def test_engine_is_one_for_all_threads():
    """Threads that ask for the engine at once all get the same one."""
    found = []
    threads = [threading.Thread(target=lambda: found.append(native.engine())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, found))) == 1


def test_raw_function_computes():
    """Raw calls return what the guest computed, as unsigned numbers of the result's width."""
    guest = Guest(ADD)
    assert guest.function("add")(2, 3) == 5
    assert guest.function("add")(-1, 0) == 0xFFFFFFFF
    assert guest.function("add64")(1 << 62, 1 << 62) == 1 << 63
    assert guest.function("nothing")() == 0


def test_raw_function_refuses_what_it_cannot_pass():
    """Wrong numbers of arguments and functions of floats are TypeErrors, not wild calls."""
    guest = Guest(ADD)
    with pytest.raises(TypeError):
        guest.function("add")(1)
    with pytest.raises(TypeError):
        guest.function("float")


def test_raw_function_of_a_closed_store_is_refused():
    """A call after the store was closed raises ValueError."""
    guest = Guest(ADD)
    add = guest.function("add")
    guest.store.close()
    with pytest.raises(ValueError, match="closed"):
        add(1, 2)


def test_trap_arrives_with_its_code():
    """A trap becomes an exception that carries wasmtime's code, and the function can be called again."""
    guest = Guest(ADD)
    unreachable = guest.function("unreachable")
    for _ in range(2):
        with pytest.raises(native.Trap, match="unreachable") as caught:
            unreachable()
        assert caught.value.code is wasmtime.TrapCode.UNREACHABLE
    assert guest.function("add")(1, 1) == 2


def test_host_function_gets_and_gives_raw_values():
    """A host function reads its arguments and writes its result in the raw array."""

    def host(_environment, _caller, values, count):
        assert count == 2
        first = ctypes.c_uint32.from_address(values).value
        second = ctypes.c_uint64.from_address(values + 16).value
        ctypes.c_uint64.from_address(values).value = first * second
        return 0

    assert Guest(HOST, host).function("call")(6, 7 << 40) == 42 << 40


def test_host_function_knows_its_caller():
    """The caller's context is that of the store which is running."""
    seen = []

    def host(_environment, caller, _values, _count):
        seen.append(native.caller_context(caller))
        return 0

    guest = Guest(HOST, host)
    guest.function("call")(0, 0)
    assert seen == [native.context_address(guest.store)]


def test_host_function_traps():
    """A host function ends the call with a trap of its own message."""
    guest = Guest(HOST, lambda *_: native.trap_new("not today, nor tomorrow: é"))
    with pytest.raises(native.Trap, match="not today, nor tomorrow: é"):
        guest.function("call")(1, 2)


def test_defining_twice_is_refused():
    """A second definition of the same name is a Trap, with wasmtime's reason."""
    linker = wasmtime.Linker(native.engine())
    native.define_unchecked(linker, "env", "host", [], [], lambda *_: 0)
    with pytest.raises(native.Trap, match="defined twice"):
        native.define_unchecked(linker, "env", "host", [], [], lambda *_: 0)


def test_host_function_is_freed_with_its_linker():
    """Neither linker nor callback outlives its users, even when they refer to each other."""

    class Owner:
        def __init__(self):
            self.linker = wasmtime.Linker(native.engine())
            native.define_unchecked(self.linker, "env", "host", [], [], self.host)

        def host(self, *_):
            return 0

    reference = weakref.ref(Owner())
    gc.collect()
    assert reference() is None


def test_epoch_callback_goes_on_and_stops():
    """The epoch callback is asked again after the ticks it named, and ends the call by raising."""
    guest = Guest(ADD)
    asked = []
    finished = threading.Event()

    def callback():
        asked.append(1)
        if len(asked) == 3:
            raise native.Trap("time is up")
        return 2

    def tick():
        while not finished.wait(0.001):
            native.engine().increment_epoch()

    native.set_epoch_callback(guest.store, lambda: 1 // 0)
    native.set_epoch_callback(guest.store, callback)
    guest.store.set_epoch_deadline(1)
    ticker = threading.Thread(target=tick)
    ticker.start()
    try:
        with pytest.raises(native.Trap, match="time is up"):
            guest.function("spin")()
    finally:
        finished.set()
        ticker.join()
    assert len(asked) == 3


def test_epoch_callback_may_call_the_guest():
    """A callback may call into the guest it interrupts, once it has moved the deadline away."""
    guest = Guest(ADD)
    add = guest.function("add")
    results = []

    def callback():
        guest.store.set_epoch_deadline(1 << 40)
        results.append(add(20, 22))
        raise ValueError("done")

    native.set_epoch_callback(guest.store, callback)
    guest.store.set_epoch_deadline(1)
    native.engine().increment_epoch()
    with pytest.raises(native.Trap, match="ValueError: done"):
        guest.function("spin")()
    assert results == [42]


def test_errors_do_not_leak():
    """2,000 traps, errors and host traps leave resident memory where 200 of them left it."""
    guest = Guest(ADD)
    host = Guest(HOST, lambda *_: native.trap_new("x" * 10_000))
    linker = wasmtime.Linker(native.engine())
    native.define_unchecked(linker, "env", "host", [], [], lambda *_: 0)
    unreachable, call = guest.function("unreachable"), host.function("call")

    def fail():
        with pytest.raises(native.Trap):
            unreachable()
        with pytest.raises(native.Trap):
            call(1, 2)
        with pytest.raises(native.Trap):
            native.compile_module(native.engine(), b"\0asm\x01\0\0\0" + b"\xff" * 64)

    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    for _ in range(200):
        fail()
    before = resident()
    for _ in range(2000):
        fail()
    assert resident() - before < 2000 * 1000  # each leaked host trap alone would be 10,000 bytes


def test_global_is_read_and_written():
    """A raw global holds unsigned 32-bit values; constants and other types are refused."""
    guest = Guest(ADD)
    pointer = native.RawGlobal(guest.store, guest.exports["pointer"])
    assert pointer.get() == 77
    pointer.set(0xFFFFFFF0)
    assert pointer.get() == 0xFFFFFFF0
    with pytest.raises(native.Trap):
        native.RawGlobal(guest.store, guest.exports["constant"]).set(2)
    with pytest.raises(TypeError):
        native.RawGlobal(guest.store, guest.exports["wide"])


def test_memory_has_base_and_size():
    """The base address is where the guest's bytes are, and stays when the memory grows."""
    guest = Guest(ADD)
    memory = guest.exports["memory"]
    base = native.memory_base(guest.store, memory)
    memory.write(guest.store, b"worm", 70_000)
    assert ctypes.string_at(base + 70_000, 4) == b"worm"
    assert native.memory_size(guest.store, memory) == 2 * 65536
    assert guest.function("grow")(3) == 2
    assert native.memory_size(guest.store, memory) == 5 * 65536
    assert native.memory_base(guest.store, memory) == base


def test_deep_recursion_has_the_large_stack():
    """On a thread with the stated stack, the guest recurses deeper than wasmtime's default lets it."""
    guest = Guest(ADD)
    recurse = guest.function("recurse")
    results = []
    previous = threading.stack_size(native.HOST_STACK_SIZE)
    try:
        thread = threading.Thread(target=lambda: results.append(recurse(300_000)))
        thread.start()
    finally:
        threading.stack_size(previous)
    thread.join()
    assert results == [300_000]


def test_serialized_module_comes_back(tmp_path):
    """What `serialize` writes in pieces is what wasmtime makes, and loads from a file."""
    module = native.compile_module(native.engine(), bytes(wasmtime.wat2wasm(ADD)))
    pieces = bytearray()
    size = native.serialize(module, pieces.extend)
    assert len(pieces) == size
    assert pieces == module.serialize()
    path = tmp_path / "module.cwasm"
    path.write_bytes(pieces)
    loaded = native.deserialize_file(native.engine(), path)
    assert [export.name for export in loaded.exports] == [export.name for export in module.exports]


def test_nothing_is_printed_about_what_lives_at_exit():
    """An object of wasmtime's that outlives the functions it is returned with says nothing at exit."""
    script = (
        "import atexit\n"
        "def last():\n"  # registered first, so that it runs after what planaria does at exit
        "    kept._delete = None\n"
        "    globals().clear()\n"
        "atexit.register(last)\n"
        "import wasmtime\n"
        "from planaria.runtime import native\n"
        "kept = wasmtime.Engine()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr == ""
