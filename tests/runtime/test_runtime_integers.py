"""The changes to numpy's machine code: they fit the guest's module, and another module is refused."""

from __future__ import annotations

import pytest
import wasmtime

from planaria.errors import RuntimeSetupError
from planaria.runtime import integers
from planaria.runtime.artifact import artifact
from planaria.runtime.integers import CHANGES, Change, changed_functions, changes_digest
from planaria.runtime.wasmfile import WasmFile

MODULE = """(module
  (memory (export "memory") 1)
  (func $narrow (export "narrow") (param i32 i32 i32 i32 i32) (result i32)
    i32.const 8 i32.const 0 i64.load i64.store32
    i32.const 8 i32.load))"""


def test_guest() -> None:
    """Every function that the changes name is in the guest's module, with the instructions to change."""
    wasm = WasmFile(artifact().module.read_bytes())
    assert len(changed_functions(wasm)) == len({change.function for change in CHANGES})


def test_new_local(monkeypatch: pytest.MonkeyPatch) -> None:
    """A change may use a local of its own: here an integer of 64 bits is cut to the largest of 32 bits."""
    load, store = ("i64.load", 0), ("i64.store32", 0)
    largest = ("i64.const", (1 << 31) - 1)
    clamp: list[tuple[str, int | str] | tuple[str]]
    clamp = [("local.tee", "new"), largest, ("local.get", "new"), largest, ("i64.lt_s",), ("select",)]
    monkeypatch.setattr(
        integers, "CHANGES", [Change("narrow", (load, store), (load, *clamp, store), local="i64")]
    )
    wasm = WasmFile(bytes(wasmtime.wat2wasm(MODULE)))
    changed = wasm.rewrite(bodies=changed_functions(wasm))
    store_ = wasmtime.Store()
    exports = wasmtime.Instance(store_, wasmtime.Module(store_.engine, changed), []).exports(store_)
    memory, narrow = exports["memory"], exports["narrow"]
    assert isinstance(memory, wasmtime.Memory)
    assert isinstance(narrow, wasmtime.Func)
    for number, right in [(5, 5), (-5, -5), (1 << 32, (1 << 31) - 1)]:
        memory.write(store_, number.to_bytes(8, "little", signed=True), 0)
        assert narrow(store_, 0, 0, 0, 0, 0) == right


@pytest.mark.parametrize("function", ["narrow", "absent"])
def test_refused(monkeypatch: pytest.MonkeyPatch, function: str) -> None:
    """A module without the function, or whose function has other instructions, is not compiled."""
    change = Change(function, (("i32.const", 7), ("i32.eq",)), (("i32.const", 9), ("i32.eq",)))
    monkeypatch.setattr(integers, "CHANGES", [change])
    with pytest.raises(RuntimeSetupError, match=f"{function}.* not supported"):
        changed_functions(WasmFile(bytes(wasmtime.wat2wasm(MODULE))))


def test_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other changes have another digest, so that what was compiled with these is not used."""
    before = changes_digest()
    monkeypatch.setattr(integers, "CHANGES", CHANGES[1:])
    assert changes_digest() != before
