"""Larger stack frames for the functions by which CPython measures how deep it recurses.

CPython compares the address of its C stack with the limits in the thread state (`c_stack_soft_limit`). In
WebAssembly that stack, in linear memory, has only the variables whose address is taken; the rest is on the
engine's own stack. A function that checks the limit but has no such variable does not move the stack pointer:
recursion through it overflows the engine's stack before the check notices. Here these functions get a frame.

The compiler gives each of them a frame pointer for the check, as `global.get $__stack_pointer; local.set` at
the beginning, and restores the stack pointer from it wherever the function returns. So it is enough to move
the stack pointer at the beginning. A function that has variables on the stack gets a larger frame: the size
that is subtracted at the beginning and added wherever it returns is another.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final

from planaria.runtime.wasmfile import WasmFile, decode_uleb, encode_sleb, end_of_locals

__all__ = ["WIDENED", "frames_digest", "widened_functions"]

#: By function, how many bytes of stack a call takes beside what it had; multiples of 16.
WIDENED: Final = {
    "_Py_Dealloc": 256,
    "_PyObject_Call": 128,
    "_PyObject_MakeTpCall": 128,
    "PyObject_Repr": 256,
    "PyObject_RichCompare": 128,
    "cfunction_vectorcall_FASTCALL_KEYWORDS": 128,
    "cfunction_vectorcall_FASTCALL_KEYWORDS_METHOD": 128,
    "collect_exception_group_leaf_ids": 128,
    "method_vectorcall_FASTCALL": 128,
    "method_vectorcall_FASTCALL_KEYWORDS": 128,
    "method_vectorcall_FASTCALL_KEYWORDS_METHOD": 128,
    "method_vectorcall_VARARGS": 128,
    "method_vectorcall_VARARGS_KEYWORDS": 128,
    "object_issubclass": 128,
    "object_recursive_isinstance": 128,
    "print_chained": 128,
    "save_list": 128,
    "scan_once_unicode": 128,
}

# The index of the stack pointer, which the linker fills in with five bytes.
_STACK_POINTER: Final = b"\x80\x80\x80\x80\x00"
_GET_STACK_POINTER: Final = b"\x23" + _STACK_POINTER
_SET_STACK_POINTER: Final = b"\x24" + _STACK_POINTER
_CONSTANT: Final = b"\x41"
_ADD: Final = b"\x6a"
_SUBTRACT: Final = b"\x6b"

#: The beginning of a function without variables on the stack (`global.get; local.set`), or with them
#: (`global.get; i32.const; i32.sub; local.tee; local.set; local.get; global.set`).
_PROLOGUE: Final = re.compile(
    re.escape(_GET_STACK_POINTER)
    + b"(?:\x21(?P<frame>.)|\x41(?P<size>[\x80-\xff]*[\x00-\x3f])\x6b\x22.\x21.\x20."
    + re.escape(_SET_STACK_POINTER)
    + b")",
    re.DOTALL,
)


def frames_digest() -> str:
    """Changes when `WIDENED` does; part of the key of what is compiled."""
    return hashlib.sha256(repr(WIDENED).encode()).hexdigest()


def widened_functions(wasm: WasmFile) -> tuple[dict[int, bytes], list[str]]:
    """The bodies of the functions in `WIDENED`, with their frames, by index; and what cannot be done.

    A function that is missing, or was compiled in another way, stays as it is: where only such functions
    recurse, the engine's stack ends first, and the session goes back to its last checkpoint.
    """
    names = wasm.names()
    wanted = {names[name]: name for name in WIDENED if name in names}
    missing = [
        f"{name} is not there: recursion through it may not raise RecursionError"
        for name in WIDENED
        if name not in names
    ]
    bodies = {}
    for index, start, end in wasm.functions():
        if (name := wanted.get(index)) is not None:
            body = wasm.data[decode_uleb(wasm.data, start)[1] : end]
            try:
                bodies[index] = _widened(body, WIDENED[name])
            except ValueError as error:
                missing.append(f"{name} {error}: recursion through it may not raise RecursionError")
    return bodies, missing


def _widened(body: bytes, size: int) -> bytes:
    """A body whose frame is `size` bytes larger. Raises ValueError when it was compiled in another way.

    The new bytes are above the function's variables, whose addresses count from the lower end.
    """
    position = end_of_locals(body)
    code = body[position:]
    match = _PROLOGUE.match(code)
    if match is None or code.count(_GET_STACK_POINTER) != 1:
        raise ValueError("has an unexpected frame")
    old = match["size"]
    if old is None:  # no variables: the stack pointer as it was is restored
        prologue = b"".join(
            (_GET_STACK_POINTER, b"\x22", match["frame"], _constant(size), _SUBTRACT, _SET_STACK_POINTER)
        )
        rest = code[match.end() :]
        exits = len(re.findall(b"\x20." + re.escape(_SET_STACK_POINTER), rest, re.DOTALL))
    else:
        larger = _constant(decode_uleb(old, 0)[0] + size)
        prologue = match[0].replace(_CONSTANT + old + _SUBTRACT, larger + _SUBTRACT)
        exit_ = re.compile(b"(\x20.)" + re.escape(_CONSTANT + old + _ADD + _SET_STACK_POINTER), re.DOTALL)
        rest, exits = exit_.subn(
            lambda found: found[1] + larger + _ADD + _SET_STACK_POINTER, code[match.end() :]
        )
    if not exits or rest.count(_SET_STACK_POINTER) != exits:
        raise ValueError("returns in an unexpected way")
    return body[:position] + prologue + rest


def _constant(value: int) -> bytes:
    return _CONSTANT + encode_sleb(value)
