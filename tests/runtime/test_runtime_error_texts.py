"""What libc says of errors."""

from __future__ import annotations

import errno
import os

import pytest

import planaria
from planaria.runtime import error_texts
from planaria.runtime.artifact import artifact
from planaria.runtime.error_texts import TEXTS, error_texts_digest, error_texts_functions
from planaria.runtime.wasmfile import WasmFile

#: What has no error of its own in WASI, and those that Linux does not have.
_ELSEWHERE = {"ESHUTDOWN", "ENOTCAPABLE"}


def test_texts_are_those_of_the_gnu_c_library() -> None:
    """Every error says in the sandbox what it says on a desktop, by whatever way the message is made."""
    with planaria.Session() as session:
        said = session.execute("""
            import errno, os
            {name: os.strerror(number) for number, name in errno.errorcode.items()}
        """).value
        assert {name: text for name, text in said.items() if name not in _ELSEWHERE} == {
            name: os.strerror(getattr(errno, name)) for name in said if name not in _ELSEWHERE
        }
        assert session.execute("[os.strerror(number) for number in (0, -1, 77, 200)]").value == [
            "Success",
            "Unknown error",
            "Unknown error",
            "Unknown error",
        ]
        session.execute("os.symlink('a', 'b'); os.symlink('b', 'a')")
        assert session.run("open('a')").error.message == f"[Errno 32] {os.strerror(errno.ELOOP)}: 'a'"
        assert session.bash("cat a").stderr == "cat: a: Too many levels of symbolic links\n"


def test_texts_follow_one_another() -> None:
    """A text is whole whichever was asked for before it."""
    with planaria.Session() as session:
        said = session.execute(f"""
            import os
            [os.strerror(number) for first in {list(TEXTS)} for number in (first, 25, first, 44, first)]
        """).value
    assert said == [
        text for one in TEXTS.values() for text in (one, TEXTS[25], one, os.strerror(errno.ENOENT), one)
    ]


def test_another_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the table has no room side by side the function stays as it is, which is said."""
    wasm = WasmFile(artifact().module.read_bytes())
    bodies, missing = error_texts_functions(wasm)
    assert (list(bodies), missing) == ([wasm.names()["strerror"]], [])
    before = error_texts_digest()
    monkeypatch.setattr(error_texts, "TEXTS", {3: "Address already in use"})
    bodies, missing = error_texts_functions(wasm)
    assert bodies == {}
    assert [one.partition(":")[0] for one in missing] == ["libc's table of errors is of another kind"]
    assert error_texts_digest() != before
