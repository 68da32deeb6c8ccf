"""Surgery on WebAssembly binaries: on a little module and on the guest's own."""

import hashlib

import pytest
import wasmtime
from hypothesis import given
from hypothesis import strategies as st

from planaria.errors import RuntimeSetupError
from planaria.runtime import native
from planaria.runtime.artifact import GuestBuild, artifact
from planaria.runtime.wasmfile import Export, ExternKind, WasmFile, decode_uleb, encode_uleb

pytestmark = pytest.mark.slow

TEXT = """(module
  (import "env" "a" (func $imported (param i32)))
  (import "env" "m" (memory 1 2))
  (import "env" "t" (table 4 funcref))
  (import "env" "g" (global $base i32))
  (elem (i32.const 1) $one $two)
  (global $counter (mut i32) (i32.const 5))
  (data (i32.const 16) "hello")
  (data (i32.const 64) "world")
  (func $one (export "one") (result i32) i32.const 1)
  (func $two (result i32) call $one i32.const 1 i32.add)
  (func $three (result i32) call $two i32.const 1 i32.add))"""

SIMPLE = """(module
  (memory (export "memory") 1)
  (global $pointer (mut i32) (i32.const 5))
  (data (i32.const 16) "hello")
  (func $one (export "one") (result i32) i32.const 1)
  (func $two (result i32) call $one i32.const 1 i32.add)
  (func $three (export "three") (result i32) call $two i32.const 1 i32.add))"""


def assembled(text):
    return WasmFile(bytes(wasmtime.wat2wasm(text)))


def with_names(text, functions, globals_=()):
    """A module with a name section, which the text assembler of wasmtime leaves out for what we need."""

    def subsection(identifier, names):
        body = encode_uleb(len(names)) + b"".join(
            encode_uleb(index) + encode_uleb(len(name)) + name.encode() for index, name in names
        )
        return bytes([identifier]) + encode_uleb(len(body)) + body

    wasm = assembled(text).rewrite(drop_custom=["name"])
    body = b"\x04name" + subsection(1, functions) + subsection(7, globals_)
    return WasmFile(wasm + b"\0" + encode_uleb(len(body)) + body)


def instantiate(wasm):
    store = wasmtime.Store(native.engine())
    store.set_epoch_deadline(1 << 40)
    module = native.compile_module(native.engine(), wasm)
    return store, wasmtime.Instance(store, module, []).exports(store)


@given(st.integers(0, 2**63 - 1))
def test_numbers_survive_leb128(value):
    """Every number comes back as it was written, and the position after it is its length."""
    encoded = encode_uleb(value)
    assert decode_uleb(encoded + b"\xff", 0) == (value, len(encoded))


@pytest.mark.parametrize("damaged", [b"", b"\x80", b"\x80\x80"])
def test_truncated_number_is_an_error(damaged):
    """A number that the file cuts short is a ValueError."""
    with pytest.raises(ValueError, match="ends within"):
        decode_uleb(damaged, 0)


def test_overlong_number_is_an_error():
    """A number of more than 64 bits is a ValueError."""
    with pytest.raises(ValueError, match="64 bits"):
        decode_uleb(b"\x80" * 20 + b"\x01", 0)


@pytest.mark.parametrize("damaged", [b"", b"MZ", b"\0asm\x02\0\0\0", b"\0asm\x01\0\0\0\x0a\x7f"])
def test_what_is_not_wasm_is_refused(damaged):
    """Other files, other versions and sections longer than the file are ValueErrors."""
    with pytest.raises(ValueError, match=r"not a WebAssembly|longer than the file"):
        WasmFile(damaged)


def test_imports_and_exports_are_listed():
    """Imports of every kind and exports are found with their kinds and indices."""
    wasm = assembled(TEXT)
    assert wasm.imports() == [
        ("env", "a", ExternKind.FUNCTION),
        ("env", "m", ExternKind.MEMORY),
        ("env", "t", ExternKind.TABLE),
        ("env", "g", ExternKind.GLOBAL),
    ]
    assert wasm.imported_functions() == 1
    assert wasm.exports() == [Export("one", ExternKind.FUNCTION, 1)]


def test_table_and_data_are_read():
    """The table's functions and the data segments come with their places."""
    wasm = assembled(TEXT)
    assert wasm.function_table() == {1: 1, 2: 2}
    assert [(address, bytes(data)) for address, data in wasm.data_segments()] == [
        (16, b"hello"),
        (64, b"world"),
    ]


def test_names_are_read():
    """Names of functions and globals are found; of equal ones the first index counts."""
    wasm = with_names(SIMPLE, [(0, "one"), (1, "two"), (2, "one")], [(0, "pointer")])
    assert wasm.names() == {"one": 0, "two": 1}
    assert wasm.names(ExternKind.GLOBAL) == {"pointer": 0}
    assert assembled("(module)").names() == {}


def test_unchanged_rewrite_is_the_same_module():
    """Rewriting without changes keeps every byte of a module written canonically."""
    wasm = with_names(SIMPLE, [(0, "one")])
    assert wasm.rewrite() == wasm.data


def test_exports_are_added():
    """Added exports can be used, beside those that were there."""
    wasm = assembled(SIMPLE).rewrite(
        exports=[Export("two", ExternKind.FUNCTION, 1), Export("pointer", ExternKind.GLOBAL, 0)]
    )
    store, exports = instantiate(wasm)
    assert exports["two"](store) == 2
    assert exports["one"](store) == 1
    assert exports["pointer"].value(store) == 5


def test_export_of_a_taken_name_is_refused():
    """A second export of the same name is a ValueError."""
    with pytest.raises(ValueError, match="'one' is exported already"):
        assembled(SIMPLE).rewrite(exports=[Export("one", ExternKind.FUNCTION, 1)])


def test_stubbed_functions_trap_and_others_work():
    """A stubbed body traps when called; memory, data and all other functions are as before."""
    store, exports = instantiate(assembled(SIMPLE).rewrite(stub=[range(1, 2)]))
    assert exports["one"](store) == 1
    with pytest.raises(wasmtime.Trap, match="unreachable"):
        exports["three"](store)
    assert exports["memory"].read(store, 16, 21) == b"hello"


def test_stubbed_functions_leave_the_table():
    """Slots of stubbed functions become empty, and all other functions keep theirs."""
    text = """(module
      (type $number (func (result i32)))
      (table 300 funcref)
      (elem (i32.const 1) $one $two $three)
      (elem (i32.const 200) $three $one)
      (func $one (result i32) i32.const 1)
      (func $two (result i32) i32.const 2)
      (func $three (result i32) i32.const 3)
      (func (export "call") (param i32) (result i32) (call_indirect (type $number) (local.get 0))))"""
    wasm = assembled(text).rewrite(stub=[range(1, 2)])
    assert WasmFile(wasm).function_table() == {1: 0, 3: 2, 200: 2, 201: 0}
    store, exports = instantiate(wasm)
    assert [exports["call"](store, slot) for slot in (1, 3, 200, 201)] == [1, 3, 3, 1]
    with pytest.raises(wasmtime.Trap, match="uninitialized element"):
        exports["call"](store, 2)


def test_custom_sections_are_dropped_by_name():
    """Only the named custom sections go."""
    wasm = with_names(SIMPLE, [(0, "one")])
    assert WasmFile(wasm.rewrite(drop_custom=["other"])).names() == {"one": 0}
    assert WasmFile(wasm.rewrite(drop_custom=["name"])).names() == {}


# -- the guest -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def guest():
    return WasmFile(artifact().module.read_bytes())


def test_guest_is_what_its_package_lists():
    """The digest in the package's list is that of the file."""
    artifact().verify()
    assert artifact().digest == hashlib.sha256(artifact().module.read_bytes()).hexdigest()


def test_core_keeps_everything_but_the_bodies(guest):
    """The core tier's module has the same types, imports, table and data, and one body for each function."""
    core = WasmFile(artifact().patched(core=True))
    assert core.imports() == guest.imports()
    cut = artifact().cut
    assert cut is not None
    kept = {slot: function for slot, function in guest.function_table().items() if function not in cut}
    assert core.function_table() == kept
    assert len(core.sections) == len(guest.sections) - 1  # without the names
    assert sum(1 for _ in core.functions()) == sum(1 for _ in guest.functions())
    for ours, theirs in zip(core.data_segments(), guest.data_segments(), strict=True):
        assert ours == theirs
    assert {export.name for export in core.exports()} >= {"PyObject_CallNoArgs", "__stack_pointer", "turn"}
    assert len(core.data) < len(guest.data) / 3


def test_damaged_builds_are_refused(tmp_path):
    """A module that is not what the package lists, or that it does not list, is an error."""
    sums = tmp_path / "SHA256SUMS"
    sums.write_text(f"{'0' * 64}  {artifact().module.name}\n")
    unknown = GuestBuild(artifact().module, artifact().standard_library, sums)
    assert not unknown.is_known
    with pytest.raises(RuntimeSetupError, match="damaged"):
        unknown.verify()
    sums.write_text("")
    with pytest.raises(RuntimeSetupError, match="does not list"):
        GuestBuild(artifact().module, artifact().standard_library, sums).verify()


@pytest.mark.parametrize(
    ("name", "full"),
    [
        ("numpy", True),
        ("numpy.linalg", True),
        ("lxml.etree", True),
        ("openpyxl", True),
        ("mpl_toolkits.mplot3d", True),
        ("sympy", False),
        ("networkx", False),
        ("yaml", False),
        ("json", False),
        ("numpyish", False),
        ("", False),
    ],
)
def test_packages_that_need_the_full_tier_are_known(name, full):
    """A module needs the full tier when it, or a package it is in, imports a stubbed module."""
    assert artifact().needs_full(name) is full
