"""The wider stack frames of CPython's recursive functions."""

from __future__ import annotations

import pytest

from planaria.runtime import frames
from planaria.runtime.artifact import artifact
from planaria.runtime.frames import WIDENED, widened_functions
from planaria.runtime.wasmfile import WasmFile, decode_uleb


@pytest.fixture(scope="module")
def wasm() -> WasmFile:
    return WasmFile(artifact().module.read_bytes())


def test_every_function_gets_its_frame(wasm: WasmFile) -> None:
    """A changed body is a few bytes longer, moves the stack pointer by more, and restores it as often."""
    names = {index: name for name, index in wasm.names().items()}
    old = {
        index: wasm.data[decode_uleb(wasm.data, start)[1] : end]
        for index, start, end in wasm.functions()
        if names.get(index) in WIDENED
    }
    changed, missing = widened_functions(wasm)
    assert missing == []
    assert {names[index] for index in changed} == set(WIDENED)
    for index, body in changed.items():
        set_pointer = b"\x24\x80\x80\x80\x80\x00"
        has_variables = old[index].count(b"\x6a" + set_pointer)  # they return with `i32.add; global.set`
        assert body.count(set_pointer) - old[index].count(set_pointer) == (0 if has_variables else 1)
        assert len(body) - len(old[index]) == (1 + has_variables if has_variables else 10)
        assert WIDENED[names[index]] % 16 == 0  # the alignment of the stack


def test_other_functions_stay(wasm: WasmFile, monkeypatch: pytest.MonkeyPatch) -> None:
    """A function that is missing, or begins in another way, stays as it is, and is named."""
    monkeypatch.setattr(frames, "WIDENED", {"no_such_function": 128, "add_ast_annotations": 128})
    bodies, missing = widened_functions(wasm)
    assert bodies == {}
    assert [one.partition(":")[0] for one in missing] == [
        "no_such_function is not there",
        "add_ast_annotations has an unexpected frame",
    ]
