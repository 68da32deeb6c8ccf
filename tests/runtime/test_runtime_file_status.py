"""What libc makes of a file's attributes."""

from __future__ import annotations

import pytest

import planaria
from planaria.runtime import file_status
from planaria.runtime.artifact import artifact
from planaria.runtime.file_status import FUNCTIONS, file_status_functions
from planaria.runtime.wasmfile import WasmFile


@pytest.fixture(scope="module")
def wasm() -> WasmFile:
    return WasmFile(artifact().module.read_bytes())


def test_both_functions_are_changed(wasm: WasmFile) -> None:
    """`fstat` and what `stat` and `lstat` call get a body that fills in everything."""
    bodies, missing = file_status_functions(wasm)
    names = wasm.names()
    assert missing == []
    assert set(bodies) == {names[name] for name in FUNCTIONS}


def test_other_functions_stay(wasm: WasmFile, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where one of the two was compiled in another way both stay as they are, which is said."""
    monkeypatch.setattr(file_status, "FUNCTIONS", ("fstat", "add_ast_annotations"))
    bodies, missing = file_status_functions(wasm)
    assert bodies == {}
    assert [one.partition(":")[0] for one in missing] == ["libc's stat is of another kind"]


def test_attributes_without_python() -> None:
    """Mode, owner, device and blocks are right in `os.stat` itself, which nothing wraps."""
    with planaria.Session() as session:
        reported = session.execute("""
            import os, stat

            with open("f", "w") as file:
                file.write("x" * 600)
                os.fchmod(file.fileno(), 0o4751)
                by_descriptor = os.fstat(file.fileno())
            os.mkdir("d", 0o710)
            os.symlink("f", "l")
            found = os.stat("f"), by_descriptor, os.lstat("f")
            assert all(type(one) is type(len) for one in (os.stat, os.lstat, os.fstat, os.scandir))
            [[oct(one.st_mode), one.st_uid, one.st_gid, one.st_size, one.st_blksize, one.st_blocks] for one in found], [
                (entry.name, oct(entry.stat(follow_symlinks=False).st_mode)) for entry in os.scandir()
            ], {one.st_dev for one in found} == {os.stat("d").st_dev} and found[0].st_dev < 1 << 48
        """).value
    attributes = ["0o104751", 1000, 1000, 600, 4096, 2]
    modes = [("d", "0o40710"), ("f", "0o104751"), ("l", "0o120777")]
    assert reported == (
        [attributes[:3] + ([0, 4096, 0] if n == 1 else attributes[3:]) for n in range(3)],
        modes,
        True,
    )


def test_named_pipes_are_shown_from_the_first_one_on() -> None:
    """A named pipe is one to everything that reports attributes, and other files keep theirs."""
    with planaria.Session() as session:
        reported = session.execute("""
            import os, stat

            open("f", "w").close()
            os.chmod("f", 0o640)
            os.mkfifo("p", 0o600)
            [stat.filemode(os.stat(name).st_mode) for name in "fp"], [
                (entry.name, stat.filemode(entry.stat().st_mode), entry.is_file()) for entry in os.scandir()
            ], os.stat in os.supports_dir_fd
        """).value
    entries = [("f", "-rw-r-----", True), ("p", "prw-------", False)]
    assert reported == (["-rw-r-----", "prw-------"], entries, True)
