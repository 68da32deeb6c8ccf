"""What libc's mathematical functions make of arguments outside their domain, as on a desktop.

The math library of the guest (musl's) has `acosh` of a large negative number as that of a number near it, and
`frexp` of an infinity or NaN leaves the exponent as it was in memory. CPython tests arguments before it calls
them; numpy and scipy do not. Here the functions begin with that test: `acosh` below 1 is NaN (C23, 7.12.5.1),
and the exponent is 0 before it is anything else, as in the GNU C library.
"""

from __future__ import annotations

import hashlib
import struct
from typing import Final

from planaria.runtime.wasmfile import WasmFile, decode_uleb, end_of_locals

__all__ = ["BEGINNINGS", "mathematics_digest", "mathematics_functions"]

#: `if (x < 1) return NaN;`
_NAN_BELOW_ONE: Final = b"".join(
    (
        b"\x20\x00\x44" + struct.pack("<d", 1.0),  # local.get 0; f64.const 1
        b"\x63\x04\x40\x44" + struct.pack("<d", float("nan")),  # f64.lt; if; f64.const nan
        b"\x0f\x0b",  # return; end
    )
)


def _zero_exponent(parameter: int) -> bytes:
    """`*exponent = 0;`"""
    return b"\x20" + bytes([parameter]) + b"\x41\x00\x36\x02\x00"  # local.get; i32.const 0; i32.store


#: By function, the instructions before its own.
BEGINNINGS: Final = {
    "acosh": _NAN_BELOW_ONE,
    "frexp": _zero_exponent(1),
    "frexpf": _zero_exponent(1),
    "frexpl": _zero_exponent(3),  # after the address of the result and the two halves of the argument
}


def mathematics_digest() -> str:
    """Changes when `BEGINNINGS` do; part of the key of what is compiled."""
    return hashlib.sha256(repr(BEGINNINGS).encode()).hexdigest()


def mathematics_functions(wasm: WasmFile) -> tuple[dict[int, bytes], list[str]]:
    """The bodies of the functions in `BEGINNINGS`, changed, by index; and what cannot be done."""
    names = wasm.names()
    wanted = {names[name]: name for name in BEGINNINGS if name in names}
    bodies = {}
    for index, start, end in wasm.functions():
        if (name := wanted.get(index)) is not None:
            body = wasm.data[decode_uleb(wasm.data, start)[1] : end]
            position = end_of_locals(body)
            bodies[index] = body[:position] + BEGINNINGS[name] + body[position:]
    missing = [
        f"{name} is not there: numpy's may be another number outside its domain"
        for name in BEGINNINGS
        if name not in names
    ]
    return bodies, missing
