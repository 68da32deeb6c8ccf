"""What libc makes of a file's attributes: permission bits, owner and blocks beside what WASI knows.

WASI preview 1 has no permission bits. Our system puts them above the device (`machine.wasi.abi`), and here
the two functions of libc that fill a `struct stat` take them apart, so that `os.stat` needs no Python for it.

Both functions call WASI, copy field by field, and set the type bits of `st_mode` from a table, unless the
type is not known. The condition for that, the read of the table and the copy of the device are found by
their instructions.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final

from planaria.runtime.wasmfile import WasmFile, decode_uleb, encode_sleb, encode_uleb

__all__ = ["FUNCTIONS", "file_status_digest", "file_status_functions"]

FUNCTIONS: Final = ("fstat", "__wasilibc_nocwd_fstatat")
#: The number of the one user and group.
_OWNER: Final = 1000
_BLOCK_SIZE: Final = 4096
_PERMISSIONS_SHIFT: Final = 48

# Offsets in `filestat`, which WASI fills.
_DEVICE: Final = 0
_SIZE: Final = 32
# Offsets in `struct stat` of wasi-libc.
_ST_DEVICE: Final = 0
_ST_MODE: Final = 24
_ST_OWNER: Final = 28
_ST_GROUP: Final = 32
_ST_BLOCK_SIZE: Final = 56
_ST_BLOCKS: Final = 64

# Instructions.
_GET: Final = b"\x20"
_CONSTANT: Final = b"\x41"
_CONSTANT64: Final = b"\x42"
_ADD64: Final = b"\x7c"
_AND: Final = b"\x71"
_OR: Final = b"\x72"
_AND64: Final = b"\x83"
_SHIFT_RIGHT64: Final = b"\x88"
_WRAP: Final = b"\xa7"


def _load64(offset: int) -> bytes:
    return b"\x29\x03" + encode_uleb(offset)


def _store(offset: int) -> bytes:
    return b"\x36\x02" + encode_uleb(offset)


def _store64(offset: int) -> bytes:
    return b"\x37\x03" + encode_uleb(offset)


def _constant(value: int) -> bytes:
    return _CONSTANT + encode_sleb(value)


def _constant64(value: int) -> bytes:
    return _CONSTANT64 + encode_sleb(value)


#: `out->st_dev = in->dev`.
_COPY_OF_DEVICE: Final = re.compile(
    b"(\x20(?P<out>.)\x20(?P<in>.)" + re.escape(_load64(_DEVICE)) + b")" + re.escape(_store64(_ST_DEVICE)),
    re.DOTALL,
)
#: `if ((unsigned char)(in->filetype - 2) > 5) break; out->st_mode = TYPES[kind];` up to the store.
_TYPE: Final = re.compile(
    b"(?P<condition>\x20(?P<in>.)\x2d\x00\x10\x41\x7e\x6a\x41\xff\x01\x71\x22(?P<kind>.)\x41\x05\x4b\x0d\x00)"
    b"(?P<read>\x20(?P<out>.)\x41\x18\x6a\x20(?P=kind)\x41\x01\x74\x2f\x01[\x80-\xff]*[\x00-\x7f])"
    b"\x36\x02\x00\x0b",
    re.DOTALL,
)


def file_status_digest() -> str:
    """Changes when `file_status_functions` makes something else; part of the key of what is compiled."""
    made = _filled(b"\1", b"\2") + _PERMISSIONS + _DEVICE_ALONE
    return hashlib.sha256(made + repr(FUNCTIONS).encode()).hexdigest()


def file_status_functions(wasm: WasmFile) -> tuple[dict[int, bytes], list[str]]:
    """The bodies of `FUNCTIONS` that fill in everything, by index; and what cannot be done.

    A function that was compiled in another way stays as it is; then the kernel does the rest in Python.
    """
    names = wasm.names()
    wanted = {names[name]: name for name in FUNCTIONS if name in names}
    bodies = {}
    for index, start, end in wasm.functions():
        if index in wanted:
            body = _changed(wasm.data[decode_uleb(wasm.data, start)[1] : end])
            if body is not None:
                bodies[index] = body
    if len(bodies) < len(FUNCTIONS):
        # One alone would be a `fstat` and a `stat` that differ.
        return {}, ["libc's stat is of another kind: os.stat takes half as long again"]
    return bodies, []


#: From the device that WASI gave, on the stack.
_PERMISSIONS: Final = _constant64(_PERMISSIONS_SHIFT) + _SHIFT_RIGHT64 + _WRAP + _constant(0o7777) + _AND
_DEVICE_ALONE: Final = _constant64((1 << _PERMISSIONS_SHIFT) - 1) + _AND64


def _changed(body: bytes) -> bytes | None:
    """The body with everything filled in; None when it was compiled in another way."""
    device, kind = _COPY_OF_DEVICE.findall(body), _TYPE.findall(body)
    if len(device) != 1 or len(kind) != 1:
        return None

    def with_type(found: re.Match[bytes]) -> bytes:
        permissions = _GET + found["in"] + _load64(_DEVICE) + _PERMISSIONS
        return b"".join(
            (
                _filled(found["in"], found["out"]),
                found["condition"],
                found["read"] + permissions + _OR + _store(0) + b"\x0b",
            )
        )

    body = _COPY_OF_DEVICE.sub(lambda found: found[1] + _DEVICE_ALONE + _store64(_ST_DEVICE), body)
    return _TYPE.sub(with_type, body)


def _filled(given: bytes, out: bytes) -> bytes:
    """Instructions that store what does not depend on the type; the arguments are indices of locals."""
    return b"".join(
        (
            _GET + out + _GET + given + _load64(_DEVICE) + _PERMISSIONS + _store(_ST_MODE),
            _GET + out + _constant(_OWNER) + _store(_ST_OWNER),
            _GET + out + _constant(_OWNER) + _store(_ST_GROUP),
            _GET + out + _constant(_BLOCK_SIZE) + _store(_ST_BLOCK_SIZE),
            _GET + out + _GET + given + _load64(_SIZE) + _constant64(511) + _ADD64,
            _constant64(9) + _SHIFT_RIGHT64 + _store64(_ST_BLOCKS),
        )
    )
