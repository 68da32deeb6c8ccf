import pytest
from wasi_guest import BOTH, READ, Guest

from planaria.machine.wasi.abi import Errno, FileType, OFlags


@pytest.fixture
def guest() -> Guest:
    guest = Guest()
    guest.call("path_create_directory", 3, b"d")
    guest.call("fd_close", guest.create(b"d/f", b"data"))
    guest.call("path_symlink", b"d/f", 3, b"link")
    return guest


@pytest.mark.parametrize(
    ("path", "oflags", "lookup", "error"),
    [
        (b"none", 0, 1, Errno.NOENT),
        (b"d/f", OFlags.CREAT | OFlags.EXCL, 1, Errno.EXIST),
        (b"link", OFlags.CREAT | OFlags.EXCL, 0, Errno.EXIST),
        (b"d/f", OFlags.DIRECTORY, 1, Errno.NOTDIR),
        (b"d/f/x", 0, 1, Errno.NOTDIR),
        (b"link", 0, 0, Errno.LOOP),
        (b"d", 0, 1, Errno.ISDIR),
        (b"", 0, 1, Errno.NOENT),
        (b"a\0b", 0, 1, Errno.INVAL),
        (b"x" * 4096, 0, 1, Errno.NAMETOOLONG),
        (b"d/f", 16, 1, Errno.INVAL),
    ],
)
def test_opening_fails_as_open_does(
    guest: Guest, path: bytes, oflags: int, lookup: int, error: Errno
) -> None:
    """Each way to fail has the error of open(2)."""
    assert guest.raw("path_open", 3, lookup, path, oflags, BOTH, BOTH, 0, 64) == error
    assert len(guest.wasi.table) == 4


def test_opening_creates_and_truncates(guest: Guest) -> None:
    """CREAT makes a file and leaves one that is there, TRUNC empties it."""
    guest.open(b"d/f", OFlags.CREAT, BOTH)
    assert guest.stat(b"d/f")[4] == 4
    guest.open(b"d/f", OFlags.TRUNC, BOTH)
    assert guest.stat(b"d/f")[4] == 0
    guest.open(b"d/g", OFlags.CREAT | OFlags.EXCL, BOTH)
    assert guest.stat(b"d/g")[0] >> 48 == 0o644
    guest.wasi.umask = 0o077
    guest.open(b"d/h", OFlags.CREAT, BOTH)
    assert guest.stat(b"d/h")[0] >> 48 == 0o600


def test_paths_are_relative_to_the_directory_given(guest: Guest) -> None:
    """A directory's descriptor serves for every path, also after it was renamed."""
    at = guest.open(b"d", OFlags.DIRECTORY)
    guest.call("path_rename", 3, b"d", 3, b"renamed")
    assert guest.read(guest.open(b"f", at=at), 9) == b"data"
    guest.call("path_create_directory", at, b"sub")
    guest.call("path_rename", at, b"f", at, b"sub/g")
    guest.call("path_link", at, 0, b"sub/g", 3, b"hard")
    assert guest.stat(b"renamed/sub/g")[1] == guest.stat(b"hard")[1] == guest.stat(b"sub/g", at=at)[1]
    assert guest.stat(b"hard")[3] == 2
    guest.call("path_unlink_file", at, b"sub/g")
    guest.call("path_remove_directory", at, b"sub")
    assert guest.raw("path_filestat_get", 99, 1, b"x", 64) == Errno.BADF
    assert guest.raw("path_filestat_get", 1, 1, b"x", 64) == Errno.NOTDIR
    assert guest.raw("path_filestat_get", guest.open(b"hard"), 1, b"x", 64) == Errno.NOTDIR


def test_nothing_is_above_the_root(guest: Guest) -> None:
    """`..` from the preopen is the preopen itself."""
    assert guest.stat(b"../../d/f")[1] == guest.stat(b"d/f")[1]


def test_symbolic_links_are_followed_when_asked(guest: Guest) -> None:
    """stat and setting times act on the link or on its target, by the lookup flag."""
    assert guest.stat(b"link", follow=1)[2] == FileType.REGULAR_FILE
    assert guest.stat(b"link", follow=0)[2] == FileType.SYMBOLIC_LINK
    guest.call("path_filestat_set_times", 3, 0, b"link", 0, 5, 4)
    assert (guest.stat(b"link", follow=0)[6], guest.stat(b"d/f")[6] == 5) == (5, False)


def test_readlink_cuts_to_the_buffer(guest: Guest) -> None:
    """The target's first bytes fill a buffer that is too small, and their count is returned."""
    for size, wanted in ((9, b"d/f"), (2, b"d/"), (0, b"")):
        buffer = guest.put(b"?" * 9)
        assert guest.call("path_readlink", 3, b"link", buffer, size, result="<I") == len(wanted)
        assert guest.bytes[buffer : buffer + 9] == wanted + b"?" * (9 - len(wanted))
    assert guest.raw("path_readlink", 3, b"d", 64, 8, 80) == Errno.INVAL


@pytest.mark.parametrize(
    ("name", "path", "error"),
    [
        ("path_create_directory", b"d", Errno.EXIST),
        ("path_remove_directory", b"d", Errno.NOTEMPTY),
        ("path_remove_directory", b"link", Errno.NOTDIR),
        ("path_unlink_file", b"d", Errno.ISDIR),
        ("path_unlink_file", b"none", Errno.NOENT),
    ],
)
def test_changing_names_fails_as_in_posix(guest: Guest, name: str, path: bytes, error: Errno) -> None:
    """Each way to fail has the errno of the system call."""
    assert guest.raw(name, 3, path) == error


def test_bytes_that_are_no_text_are_names(guest: Guest) -> None:
    """A name may hold any byte but the null and the slash."""
    name = bytes(set(range(1, 256)) - {0x2F})[:250]
    guest.call("fd_close", guest.create(name))
    assert name in [entry for entry, _, _ in guest.list(guest.open(b".", OFlags.DIRECTORY, READ))]
