"""The changes to numpy's machine code that make its default integer 64 bits wide, as on a 64-bit desktop.

WebAssembly has 32-bit pointers, so numpy is compiled with `NPY_DEFAULT_INT = NPY_INTP = NPY_LONG`, of 32
bits: sums and products overflow, and nothing warns. The type number is a constant in a few functions; there
it becomes that of `long long`. Indices keep `NPY_INTP`, since compiled code reads them as pointer-sized
integers.

A change names a function and the instructions to replace, so that another build of numpy either has the same
ones or is refused; none is computed with silently.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from planaria.errors import RuntimeSetupError
from planaria.runtime.wasmfile import WasmFile, decode_uleb, encode_padded, encode_sleb, encode_uleb

__all__ = ["CHANGES", "Change", "changed_functions", "changes_digest"]

_Instruction = tuple[str, int | str] | tuple[str]

#: Type numbers.
_INT: Final = 5
_UINT: Final = 6
_LONG: Final = 7
_ULONG: Final = 8
_LONGLONG: Final = 9

#: Flags of `PyArray_FromAny`.
_CARRAY: Final = 0x501
_SAME_KIND: Final = 1 << 26

#: By name, the instructions that occur in `CHANGES`:
#: https://webassembly.github.io/spec/core/binary/instructions.html
_OPCODES: Final = {
    "br_if": 0x0D,
    "return": 0x0F,
    "call": 0x10,
    "select": 0x1B,
    "local.get": 0x20,
    "local.set": 0x21,
    "local.tee": 0x22,
    "global.get": 0x23,
    "i32.load": 0x28,
    "i64.load": 0x29,
    "i32.load8_u": 0x2D,
    "i32.store": 0x36,
    "i64.store": 0x37,
    "i64.store32": 0x3E,
    "i32.const": 0x41,
    "i64.const": 0x42,
    "i32.eq": 0x46,
    "i32.ne": 0x47,
    "i32.lt_u": 0x49,
    "i32.le_s": 0x4C,
    "i32.le_u": 0x4D,
    "i64.lt_s": 0x53,
    "i64.lt_u": 0x54,
    "i64.gt_s": 0x55,
    "i32.add": 0x6A,
    "i32.sub": 0x6B,
    "i32.or": 0x72,
    "i32.shl": 0x74,
    "i64.extend_i32_s": 0xAC,
}
#: The alignment (a power of two) that the compiler states for a load or store.
_ALIGNMENT: Final = {
    "i32.load": 2,
    "i64.load": 3,
    "i32.load align=1": 0,
    "i64.load align=1": 0,
    "i32.load8_u": 0,
    "i32.store": 2,
    "i32.store align=1": 0,
    "i64.store": 2,
    "i64.store32": 2,
    "i64.store32 align=1": 0,
}
#: Of numpy's functions that cast arrays (`PyArrayMethod_StridedLoop`), which alone get a local.
_CAST_PARAMETERS: Final = 5
_TYPES: Final = {"i32": 0x7F, "i64": 0x7E}


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
    local: str | None = None
    """The type of a local that `new` needs beside the function's, "i32" or "i64"; its index is "new"."""


def _const(value: int) -> _Instruction:
    return "i32.const", value


_DESCRIPTOR: Final[_Instruction] = ("call", "PyArray_DescrFromType")


def _descriptor(function: str, old: int = _LONG, new: int = _LONGLONG, count: int = 1) -> Change:
    """The type number that a function passes to `PyArray_DescrFromType`."""
    return Change(function, (_const(old), _DESCRIPTOR), (_const(new), _DESCRIPTOR), count)


def _saturating(source: str, counts: Sequence[int]) -> Iterator[Change]:
    """Turn what is out of an index's range into the largest or smallest one, which is out of any array's."""
    width = "i32" if source == "uint" else "i64"
    limits = (
        [((1 << 31) - 1, "lt_u")] if source[0] == "u" else [((1 << 31) - 1, "lt_s"), (-(1 << 31), "gt_s")]
    )
    for prefix, count in zip(("_aligned_contig", "_contig", "_aligned", ""), counts, strict=True):
        suffix = "" if prefix.startswith("_aligned") else " align=1"
        load: _Instruction = (f"{width}.load{suffix}", 0)
        store: _Instruction = (f"{'i32.store' if width == 'i32' else 'i64.store32'}{suffix}", 0)
        clamp: list[_Instruction] = []
        for limit, comparison in limits:
            constant: _Instruction = (f"{width}.const", limit)
            kept: _Instruction = ("local.get", "new")
            clamp += (("local.tee", "new"), constant, kept, constant, (f"{width}.{comparison}",), ("select",))
        yield Change(f"{prefix}_cast_{source}_to_long", (load, store), (load, *clamp, store), count, width)


def _sized(branch: int) -> Change:
    """`i4` and `u4` are `int` and `unsigned int` instead of `long` and `unsigned long`."""
    old: tuple[_Instruction, ...] = (("br_if", branch), ("local.get", 1), ("i32.load8_u", "*"), ("return",))
    is_four_bytes: tuple[_Instruction, ...] = (("local.get", 1), _const(2), ("i32.eq",))
    return Change(
        "PyArray_TypestrConvert",
        old,
        (*old[:-1], *is_four_bytes, _const(1), ("i32.shl",), ("i32.sub",), ("return",)),
    )


def _either(function: str, comparison: str, count: int = 1) -> Change:
    """Accept arrays of `int` where scipy compares a type number with that of `long` for 32-bit integers."""
    number: tuple[_Instruction, ...] = (_const(16), ("i32.add",), ("i32.load", 0))
    compare: tuple[_Instruction, ...] = (_const(_LONG), (comparison,))
    return Change(
        function, (*number, *compare), (*number, _const(_INT ^ _LONG), ("i32.or",), *compare), count
    )


def _named(number: int, alias: int) -> tuple[_Instruction, ...]:
    """Give the scalar type of one type number the name of another's (by `typeobj` and `tp_name`)."""
    return (
        ("local.get", 0),
        ("i32.load", 4 * number),
        ("i32.load", 8),
        ("local.get", 0),
        ("i32.load", 4 * alias),
        ("i32.load", 8),
        ("i32.load", 12),
        ("i32.store", 12),
    )


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
    Change("reducelike_promote_and_resolve", (_const(3), ("i32.le_u",)), (_const(7), ("i32.le_u",))),
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
    # What numpy.random makes as 64 bits and narrows to `long` stays as it is.
    Change(
        "__pyx_f_5numpy_6random_6mtrand_int64_to_long",
        (("global.get", "*"), _const(16), ("i32.sub",)),
        (
            *(("local.get", 0), ("local.get", 0), ("i32.load", 0)),
            *(("local.get", 0), ("i32.load", 0), _const((1 << 30) - 1), ("i32.le_s",)),  # not immortal
            *(("i32.add",), ("i32.store", 0), ("local.get", 0), ("return",)),
            *(("global.get", "*"), _const(16), ("i32.sub",)),
        ),
    ),
    # Indices: 64-bit integers are accepted, and none becomes another by being cut to 32 bits. `long` is the
    # type of indices alone, since 32-bit integers are `int`.
    Change(
        "PyArray_Repeat",
        (_const(_CARRAY), _const(0), ("call", "PyArray_FromAny")),
        (_const(_CARRAY | _SAME_KIND), _const(0), ("call", "PyArray_FromAny")),
    ),
    Change(
        "PyArray_Choose",
        (_const(_LONG), _DESCRIPTOR, *[_const(0)] * 4),
        (_const(_LONG), _DESCRIPTOR, *[_const(0)] * 2, _const(_SAME_KIND), _const(0)),
    ),
    *_saturating("longlong", (10, 9, 6, 5)),
    *_saturating("ulonglong", (10, 9, 6, 5)),
    *_saturating("uint", (9, 9, 5, 5)),
    _sized(9),
    _sized(8),
    _either("lbfgsb_setulb", "i32.eq", 6),
    _either("slsqp", "i32.eq"),
    _either("dvode_wrapper", "i32.ne"),
    _either("zvode_wrapper", "i32.ne"),
    Change(
        "initialize_legacy_dtypemeta_aliases",
        (_const(0), ("local.get", 0), ("i32.load", 0)),
        (*_named(_INT, _LONG), *_named(_UINT, _ULONG), _const(0), ("local.get", 0), ("i32.load", 0)),
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
            raise RuntimeSetupError(
                f"the guest's numpy has no function {change.function}; it is not supported"
            )
        body = bodies.get(index)
        if body is None:
            start, end = bounds[index]
            body = wasm.data[decode_uleb(wasm.data, start)[1] : end]
        local = 0
        if change.local is not None:
            body, declared = _with_local(body, _TYPES[change.local])
            local = _CAST_PARAMETERS + declared
        bodies[index] = _change(change, body, names, local)
    return bodies


def _with_local(body: bytes, type_: int) -> tuple[bytes, int]:
    """A body that declares one more local, and how many it declared before."""
    groups, position = decode_uleb(body, 0)
    start, declared = position, 0
    for _ in range(groups):
        count, position = decode_uleb(body, position)
        declared += count
        position += 1
    return encode_uleb(groups + 1) + body[start:position] + bytes([1, type_]) + body[position:], declared


def _change(change: Change, body: bytes, names: Mapping[str, int], local: int) -> bytes:
    encode = partial(_encode, names=names, local=local)

    def replacement(found: re.Match[bytes]) -> bytes:
        addresses = iter(found.groups())
        return b"".join(encode(instruction, addresses) for instruction in change.new)

    pattern = b"".join(_pattern(instruction, encode) for instruction in change.old)
    changed, count = re.subn(pattern, replacement, body, flags=re.DOTALL)
    if count != change.count:
        raise RuntimeSetupError(
            f"{change.function} in the guest's numpy has the instructions to change {count} times instead of "
            f"{change.count}; this build is not supported"
        )
    return changed


def _encode(
    instruction: _Instruction, addresses: Iterator[bytes], names: Mapping[str, int], local: int
) -> bytes:
    name = instruction[0]
    encoded = bytes([_OPCODES[name.partition(" ")[0]]])
    if name in _ALIGNMENT:
        encoded += bytes([_ALIGNMENT[name]])
    if len(instruction) == 1:
        return encoded
    operand = instruction[1]
    if operand == "*":
        return encoded + next(addresses)
    if operand == "new":
        return encoded + encode_uleb(local)
    if isinstance(operand, str):
        return encoded + encode_padded(names[operand])
    return encoded + (encode_sleb(operand) if name.endswith(".const") else encode_uleb(operand))


def _pattern(instruction: _Instruction, encode: Callable[[_Instruction, Iterator[bytes]], bytes]) -> bytes:
    if "*" in instruction:
        return re.escape(encode(instruction, iter([b""]))) + b"([\x80-\xff]{4}[\x00-\x0f])"
    return re.escape(encode(instruction, iter(())))
