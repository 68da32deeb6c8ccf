"""The changes to numpy's machine code that make its default integer 64 bits wide, as on a 64-bit desktop.

WebAssembly has 32-bit pointers, so numpy is compiled with `NPY_DEFAULT_INT = NPY_INTP = NPY_LONG`, of 32 bits:
sums and products overflow, and nothing warns. The type number is a constant in a few functions; there it becomes
that of `long long`. Indices keep `NPY_INTP`, since compiled code reads them as pointer-sized integers.

A change names a function and the instructions to replace, so that another build of numpy either has the same
ones or is refused; none is computed with silently.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from planaria.errors import RuntimeSetupError
from planaria.runtime.wasmfile import WasmFile, decode_uleb, encode_sleb, encode_uleb

__all__ = ["CHANGES", "Change", "changed_functions", "changes_digest"]

_Instruction = tuple[str, int | str] | tuple[str]

_LONG: Final = 7
_ULONG: Final = 8
_LONGLONG: Final = 9

#: By name, the instructions that occur in `CHANGES`: https://webassembly.github.io/spec/core/binary/instructions.html
_OPCODES: Final = {
    "end": 0x0B,
    "call": 0x10,
    "select": 0x1B,
    "local.get": 0x20,
    "local.set": 0x21,
    "local.tee": 0x22,
    "i32.load": 0x28,
    "i32.load8_u": 0x2D,
    "i32.store": 0x36,
    "i64.store": 0x37,
    "i32.const": 0x41,
    "i32.eq": 0x46,
    "i32.le_u": 0x4D,
    "i32.add": 0x6A,
    "i64.extend_i32_s": 0xAC,
}
#: The alignment (a power of two) that the compiler states for a load or store.
_ALIGNMENT: Final = {"i32.load": 2, "i32.load8_u": 0, "i32.store": 2, "i64.store": 2}


@dataclass(frozen=True, slots=True)
class Change:
    """Instructions of one function to replace, wherever they occur in it."""

    function: str
    """Its name in the module's name section."""
    old: Sequence[_Instruction]
    """What to replace; an address is "*" where the linker chose it."""
    new: Sequence[_Instruction]
    count: int = 1
    """How often `old` has to occur."""


def _const(value: int) -> _Instruction:
    return "i32.const", value


_DESCRIPTOR: Final[_Instruction] = ("call", "PyArray_DescrFromType")


def _descriptor(function: str, old: int = _LONG, new: int = _LONGLONG, count: int = 1) -> Change:
    """The type number that a function passes to `PyArray_DescrFromType`."""
    return Change(function, (_const(old), _DESCRIPTOR), (_const(new), _DESCRIPTOR), count)


CHANGES: Final = (
    # A Python int, whether it fits 32 bits or not, and an array of it.
    _descriptor("discover_descriptor_from_pylong"),
    Change(
        "discover_descriptor_from_pylong",
        (_const(_LONG), _const(_LONGLONG)),
        (_const(_LONGLONG), _const(_LONGLONG)),
    ),
    _descriptor("int_default_descriptor"),
    # A bool with a Python int.
    Change(
        "int_common_dtype",
        (_const(0), ("i32.load", "*"), ("local.tee", 2), ("i32.load", 0), ("local.tee", 1)),
        (
            _const(_LONGLONG),
            ("call", "typenum_to_dtypemeta"),
            ("local.tee", 2),
            ("i32.load", 0),
            ("local.tee", 1),
        ),
    ),
    # `dtype=int`
    _descriptor("_convert_from_any"),
    _descriptor("PyArray_ArangeObj"),
    # Sums and products of what is smaller than the default integer.
    Change(
        "reducelike_promote_and_resolve",
        (_const(_LONG), ("local.set", 9)),
        (_const(_LONGLONG), ("local.set", 9)),
    ),
    Change(
        "reducelike_promote_and_resolve", (_const(3), ("i32.le_u",)), (_const(7), ("i32.le_u",))
    ),
    Change(
        "reducelike_promote_and_resolve",
        (("i32.load8_u", "*"), ("local.set", 9)),
        (("i32.load8_u", "*"), _const(_LONGLONG - _LONG), ("i32.add",), ("local.set", 9)),
    ),
    # A Python int as the argument of a ufunc: alone (its value is stored by its type), and among arrays.
    Change(
        "ufunc_generic_fastcall",
        (("i32.store", 304), _const(_LONG), _DESCRIPTOR),
        (("i64.extend_i32_s",), ("i64.store", 304), _const(_LONGLONG), _DESCRIPTOR),
    ),
    Change(
        "convert_ufunc_arguments",
        (_const(_LONG), ("i32.eq",)),
        (_const(_LONGLONG), ("i32.eq",)),
    ),
    _descriptor("_multiarray_umath_exec"),
    _descriptor("py_resolve_dtypes_generic", count=2),
    Change(
        "can_cast_pyscalar_scalar_to",
        (_const(_LONG), _const(12), _const(15)),
        (_const(_LONGLONG), _const(12), _const(15)),
    ),
)


def changes_digest() -> str:
    """Changes when `CHANGES` do; part of the key of what is compiled."""
    return hashlib.sha256(repr(CHANGES).encode()).hexdigest()


def changed_functions(wasm: WasmFile) -> dict[int, bytes]:
    """The bodies of the functions that `CHANGES` name, changed, by their index.

    Raises `RuntimeSetupError` when a function is missing or does not have the instructions.
    """
    names = wasm.names()
    bounds = {index: (start, end) for index, start, end in wasm.functions()}
    bodies: dict[int, bytes] = {}
    for change in CHANGES:
        index = names.get(change.function)
        if index is None or index not in bounds:
            raise RuntimeSetupError(f"the guest's numpy has no function {change.function}; it is not supported")
        body = bodies.get(index)
        if body is None:
            start, end = bounds[index]
            body = wasm.data[decode_uleb(wasm.data, start)[1] : end]
        bodies[index] = _change(change, body, names)
    return bodies


def _change(change: Change, body: bytes, names: Mapping[str, int]) -> bytes:
    addresses: list[bytes] = []

    def replacement(found: re.Match[bytes]) -> bytes:
        addresses[:] = found.groups()
        return b"".join(_encode(instruction, names, addresses) for instruction in change.new)

    pattern = b"".join(_pattern(instruction, names) for instruction in change.old)
    changed, count = re.subn(pattern, replacement, body, flags=re.DOTALL)
    if count != change.count:
        raise RuntimeSetupError(
            f"{change.function} in the guest's numpy has the instructions to change {count} times instead of "
            f"{change.count}; this build is not supported"
        )
    return changed


def _padded(value: int) -> bytes:
    """A number that the linker filled in: LEB128 of five bytes, whatever its value."""
    return bytes([*((value >> shift & 0x7F | 0x80) for shift in (0, 7, 14, 21)), value >> 28])


def _encode(instruction: _Instruction, names: Mapping[str, int], addresses: list[bytes]) -> bytes:
    name = instruction[0]
    opcode = bytes([_OPCODES[name]])
    if len(instruction) == 1:
        return opcode
    operand = instruction[1]
    if name == "call":
        return opcode + _padded(names[str(operand)])
    prefix = opcode + bytes([_ALIGNMENT[name]]) if name in _ALIGNMENT else opcode
    if isinstance(operand, str):
        return prefix + addresses.pop(0)
    return prefix + (encode_sleb(operand) if name == "i32.const" else encode_uleb(operand))


def _pattern(instruction: _Instruction, names: Mapping[str, int]) -> bytes:
    if len(instruction) == 2 and instruction[1] == "*":
        return re.escape(_encode((instruction[0], "*"), names, [b""])) + b"([\x80-\xff]{4}[\x00-\x0f])"
    return re.escape(_encode(instruction, names, []))
