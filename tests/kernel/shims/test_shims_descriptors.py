"""Functions of `os` over descriptors."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import planaria

#: What is called, with files `f` of 26 bytes and `e`, an empty one, both open for reading and writing.
_CALLS = [
    "buffers = [bytearray(3), bytearray(0), bytearray(5)]; os.readv(f, buffers), buffers, tell(f)",
    "buffers = [bytearray(20), memoryview(bytearray(10))]; os.readv(f, buffers), list(map(bytes, buffers))",
    "os.readv(f, [b'abc'])",
    "os.readv(99, [bytearray(1)])",
    "buffers = [bytearray(3)]; os.preadv(f, buffers, 10), buffers, tell(f)",
    "os.preadv(f, [bytearray(3)], 100)",
    "os.writev(e, [b'one', bytearray(b'two'), memoryview(b'three')]), tell(e), text(e)",
    "os.writev(e, [])",
    "os.pwritev(f, [b'X', b'YZ'], 4), tell(f), text(f)",
    "os.sendfile(e, f, 5, 10), tell(f), text(e)",
    "os.sendfile(e, f, None, 10), tell(f), text(e)",
    "os.sendfile(e, f, 20, 100), text(e)",
    "os.sendfile(e, f, 0, 0)",
    "os.sendfile(e, 99, 0, 1)",
    "os.copy_file_range(f, e, 7), tell(f), tell(e), text(e)",
    "os.copy_file_range(f, e, 7, 3, 5), tell(f), tell(e), text(e)",
    "os.posix_fallocate(e, 3, 4), text(e)",
    "os.posix_fallocate(f, 0, 4), text(f)",
    "os.posix_fallocate(f, 0, 0)",
    "os.sync()",
    "len(os.getrandom(9)), len(os.getrandom(3, os.GRND_NONBLOCK)), os.getrandom(0)",
    "os.getrandom(-1)",
    "d = os.open('d', os.O_RDONLY); os.fchdir(d); os.path.basename(os.getcwd()), os.listdir(), os.listdir(d)",
    "d = os.open('d', os.O_RDONLY); os.chdir(d); os.path.basename(os.getcwd()), os.chdir in os.supports_fd",
    "os.fchdir(f)",
    "os.fchdir(99)",
    "os.listdir(99)",
    "os.listdir in os.supports_fd, os.listdir(os.open('d', os.O_RDONLY)), os.listdir('d'), os.listdir(b'd')",
    "os.fchown(f, -1, -1), os.lchown('l', -1, -1)",
    "os.fchown(99, -1, -1)",
]
_SET_UP = """
import errno, os
os.chdir(place)
os.makedirs('d/inner', exist_ok=True)
os.path.lexists('l') or os.symlink('nothing', 'l')
f, e = (os.open(name, os.O_RDWR | os.O_CREAT | os.O_TRUNC) for name in 'fe')
os.pwrite(f, b'abcdefghijklmnopqrstuvwxyz', 0)
def tell(fd): return os.lseek(fd, 0, os.SEEK_CUR)
def text(fd): return os.pread(fd, 100, 0)
"""


def _outcome(call: str) -> str:
    """Code that makes a call, and leaves what it gives or raises in `outcome`."""
    *before, last = call.split("; ")
    lines = [*before, f"outcome = {last}"]
    body = "\n".join(f"    {line}" for line in lines)
    return (
        f"try:\n{body}\nexcept OSError as error: outcome = type(error).__name__, errno.errorcode[error.errno]\n"
        "except Exception as error: outcome = type(error).__name__\n"
        "os.chdir(place)\n"
    )


@pytest.fixture(scope="module")
def guest() -> Iterator[planaria.Session]:
    with planaria.Session() as session:
        session.execute("place = '/home/user'")
        yield session


@pytest.mark.parametrize("call", _CALLS)
def test_as_natively(guest: planaria.Session, tmp_path: Path, call: str) -> None:
    """Each does, gives and raises in the sandbox what it does, gives and raises on the system of the host."""
    names: dict[str, Any] = {"place": str(tmp_path)}
    with contextlib.chdir(tmp_path):
        exec(_SET_UP + _outcome(call), names)
    for one in (names["f"], names["e"]):
        os.close(one)
    guest.execute(_SET_UP + _outcome(call))
    assert guest.execute("os.close(f); os.close(e); outcome").value == names["outcome"]
