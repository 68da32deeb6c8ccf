"""`mmap` and `numpy.memmap` on a session's files."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import planaria


@pytest.fixture
def session() -> Iterator[planaria.Session]:
    with planaria.Session() as session:
        session.execute(
            "import mmap, os\nopen('t', 'wb').write(b'hello world\\nline two\\n')\nf = open('t', 'r+b')"
        )
        yield session


def test_reads_and_writes(session: planaria.Session) -> None:
    """A map has the file's bytes, by index and by position, and what is changed is in the file after close."""
    source = """
with mmap.mmap(f.fileno(), 0) as m:
    found = m[:5], m[-1], m.readline(), m.find(b"two"), m.rfind(b"l"), len(m), m.size(), m.tell()
    m[0:5] = b"HELLO"
    m[5] = 45
    m.seek(6)
    m.write(b"W")
    m.move(0, 1, 4)
found, m.closed, open("t").read()
"""
    found = (b"hello", 10, b"hello world\n", 17, 12, 21, 21, 12)
    assert session.execute(source).value == (found, True, "ELLOO-World\nline two\n")


def test_is_written_at_the_end_of_the_cell(session: planaria.Session) -> None:
    """What was changed in an open map is in the file when the cell has ended, and for the next map."""
    session.execute(
        "m = mmap.mmap(f.fileno(), 0)\nm[0] = 72\nn = mmap.mmap(f.fileno(), 5, access=mmap.ACCESS_READ)"
    )
    assert session.execute("n[:]").value == b"Hello"
    assert session.files.read_bytes("t").startswith(b"Hello")


def test_kinds_of_access(session: planaria.Session) -> None:
    """A map for reading refuses changes, a private one keeps them, and a file that is only read is not
    mapped for writing.
    """
    assert "readonly" in str(session.run("mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)[0] = 1").error)
    session.execute("c = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_COPY)\nc[0] = 72\nc.flush()\nc.close()")
    assert session.files.read_bytes("t").startswith(b"hello")
    assert "PermissionError" in str(session.run("r = open('t'); mmap.mmap(r.fileno(), 0)").error)
    assert session.execute("memoryview(mmap.mmap(-1, 3)).readonly").value is False
    assert "exported pointers" in str(session.run("a = mmap.mmap(-1, 3); v = memoryview(a); a.close()").error)
    assert session.execute("v.release(); a.close(); a.closed").value is True


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ("mmap.mmap(f.fileno(), 22)", "ValueError: mmap length is greater than file size"),
        ("mmap.mmap(f.fileno(), -1)", "OverflowError: memory mapped length must be positive"),
        ("e = open('e', 'w+b'); mmap.mmap(e.fileno(), 0)", "ValueError: cannot mmap an empty file"),
        ("mmap.mmap(-1, 3)[3]", "IndexError: mmap index out of range"),
        ("mmap.mmap(-1, 3).write(b'abcd')", "ValueError: data out of range"),
        ("mmap.mmap(-1, 3).seek(4)", "ValueError: seek out of range"),
    ],
)
def test_errors(session: planaria.Session, call: str, error: str) -> None:
    """Errors are CPython's."""
    assert str(session.run(call).error) == error


def test_memmap(session: planaria.Session) -> None:
    """numpy's memory-mapped arrays keep their values in the file."""
    source = """
import numpy as np
m = np.memmap("m", dtype="f8", mode="w+", shape=(2, 2))
m[:] = [[1, 2], [3, 4]]
r = np.memmap("m", dtype="f8", mode="r")
c = np.memmap("m", dtype="f8", mode="c")
c[0] = 9
np.save("a.npy", np.arange(5))
z = np.load("a.npy", mmap_mode="r+")
z[2] = 55
del z
r.tolist(), c.tolist(), np.load("a.npy").tolist()
"""
    expected = ([1.0, 2.0, 3.0, 4.0], [9.0, 2.0, 3.0, 4.0], [0, 1, 55, 3, 4])
    assert session.execute(source).value == expected
    assert session.execute("np.fromfile('m').tolist()").value == [1.0, 2.0, 3.0, 4.0]


def test_survives_a_snapshot(session: planaria.Session) -> None:
    """A map goes on in a session that was restored."""
    session.execute("m = mmap.mmap(f.fileno(), 0)\nm[0] = 72")
    with planaria.Session.from_snapshot(bytes(session.snapshot_state())) as restored:
        restored.execute("m[1] = 69; m.flush()")
        assert restored.files.read_bytes("t").startswith(b"HEllo")
