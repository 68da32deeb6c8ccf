import os
import struct
import tempfile
from fcntl import F_SETFL, fcntl

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wasi_guest import BOTH, READ, WRITE, Guest

from planaria.machine.wasi.abi import Errno, FdFlags, FileType, OFlags, Rights
from planaria.machine.wasi.files import STREAM_PIECE


@pytest.fixture
def guest() -> Guest:
    return Guest()


def test_a_file_gives_back_what_was_written(guest: Guest) -> None:
    """Bytes gathered from several buffers are scattered into others in the same order."""
    fd = guest.create(b"f")
    assert guest.write(fd, b"he", b"", b"llo ", b"world") == 11
    assert guest.call("fd_tell", fd, result="<Q") == 11
    assert guest.call("fd_seek", fd, -10, 1, result="<Q") == 1
    assert guest.read(fd, 3, 0, 100) == b"ello world"
    assert guest.read(fd, 5) == b""


def test_descriptors_get_the_lowest_free_number(guest: Guest) -> None:
    """Numbers begin at 4 and one that was closed is given out again first."""
    assert [guest.create(b"f%d" % i) for i in range(4)] == [4, 5, 6, 7]
    guest.call("fd_close", 6)
    guest.call("fd_close", 4)
    assert guest.raw("fd_close", 4) == Errno.BADF
    assert [guest.create(b"g%d" % i) for i in range(3)] == [4, 6, 8]


def test_too_many_descriptors() -> None:
    """Beyond the limit opening gives EMFILE and creates no file."""
    guest = Guest(limit=5)
    guest.create(b"a")
    assert guest.raw("path_open", 3, 1, b"b", OFlags.CREAT, BOTH, BOTH, 0, 64) == Errno.MFILE
    assert guest.raw("path_filestat_get", 3, 1, b"b", 64) == Errno.NOENT


def test_rights_decide_about_reading_and_writing(guest: Guest) -> None:
    """A descriptor opened for reading cannot be written to, nor the other way round."""
    guest.create(b"f", b"data")
    reading, writing = guest.open(b"f", 0, READ), guest.open(b"f", 0, WRITE)
    at, _ = guest.vectors(4)
    assert guest.raw("fd_write", reading, at, 1, 64) == Errno.BADF
    assert guest.raw("fd_pwrite", reading, at, 1, 0, 64) == Errno.BADF
    assert guest.raw("fd_allocate", reading, 0, 100) == Errno.BADF
    assert guest.raw("fd_filestat_set_size", reading, 0) == Errno.INVAL
    assert guest.raw("fd_read", writing, at, 1, 64) == Errno.BADF
    assert guest.raw("fd_pread", writing, at, 1, 0, 64) == Errno.BADF
    kind, _, rights, _ = guest.call("fd_fdstat_get", writing, result="<BxHxxxxQQ")
    assert (kind, rights & Rights.FD_READ, rights & Rights.FD_WRITE) == (FileType.REGULAR_FILE, 0, 64)


def test_rights_can_only_be_given_up(guest: Guest) -> None:
    """fd_fdstat_set_rights takes rights away at once and never gives any."""
    fd = guest.create(b"f")
    guest.call("fd_fdstat_set_rights", fd, READ, READ)
    assert guest.raw("fd_fdstat_set_rights", fd, BOTH, READ) == Errno.NOTCAPABLE
    at, _ = guest.vectors(4)
    assert guest.raw("fd_write", fd, at, 1, 64) == Errno.BADF


def test_a_mode_travels_in_the_device(guest: Guest) -> None:
    """The permission bits are the upper 16 bits of dev, and chmod changes them."""
    fd = guest.create(b"f")
    assert guest.stat(b"f")[0] >> 48 == 0o644
    guest.wasi.chmod(b"/f", 0o4751)
    assert guest.stat(b"f")[0] >> 48 == 0o4751
    by_descriptor = guest.call("fd_filestat_get", fd, result="<QQB7xQQQQQ")
    assert by_descriptor == guest.stat(b"f")


def test_times_are_set(guest: Guest) -> None:
    """Either time can be set to a value or to now, or left alone; both at once for one time is EINVAL."""
    fd = guest.create(b"f")
    guest.call("fd_filestat_set_times", fd, 11, 22, 1 | 4)
    assert guest.stat(b"f")[5:7] == (11, 22)
    guest.call("path_filestat_set_times", 3, 1, b"f", 33, 44, 4)
    assert guest.stat(b"f")[5:7] == (11, 44)
    before = guest.wasi.clock.realtime()
    guest.call("fd_filestat_set_times", fd, 0, 0, 2)
    atime, mtime = guest.stat(b"f")[5:7]
    assert before <= atime <= guest.wasi.clock.realtime()
    assert mtime == 44
    assert guest.raw("fd_filestat_set_times", fd, 0, 0, 3) == Errno.INVAL
    assert guest.raw("fd_filestat_set_times", fd, 0, 0, 16) == Errno.INVAL


def test_allocate_extends_and_never_cuts(guest: Guest) -> None:
    """fd_allocate makes a file at least so long and leaves a longer one alone."""
    fd = guest.create(b"f", b"data")
    guest.call("fd_allocate", fd, 2, 8)
    assert guest.stat(b"f")[4] == 10
    guest.call("fd_allocate", fd, 0, 1)
    assert guest.read(fd, 100, name="fd_pread", extra=(0,)) == b"data" + bytes(6)
    assert guest.raw("fd_allocate", fd, 0, 0) == Errno.INVAL
    assert guest.raw("fd_allocate", fd, 1, (1 << 63) - 1) == Errno.FBIG


def test_renumbering_is_dup2_without_the_old_number(guest: Guest) -> None:
    """fd_renumber closes the target, moves the descriptor there, and frees its old number."""
    first, second = guest.create(b"a", b"A"), guest.create(b"b", b"B")
    guest.call("fd_renumber", first, second)
    assert guest.read(second, 9, name="fd_pread", extra=(0,)) == b"A"
    assert guest.raw("fd_tell", first, 64) == Errno.BADF
    assert guest.raw("fd_renumber", second, first) == Errno.BADF
    guest.call("fd_renumber", second, second)
    assert guest.create(b"c") == first


def test_the_preopen_stays(guest: Guest) -> None:
    """Descriptor 3 is `/`, is announced by prestat as the only one, and cannot be closed or replaced."""
    assert guest.call("fd_prestat_get", 3, result="<II") == (0, 1)
    at = guest.put(b"?")
    guest.call("fd_prestat_dir_name", 3, at, 1)
    assert guest.bytes[at : at + 1] == b"/"
    assert guest.raw("fd_prestat_dir_name", 3, at, 0) == Errno.NAMETOOLONG
    assert guest.raw("fd_prestat_get", 4, 64) == Errno.BADF
    assert guest.raw("fd_close", 3) == Errno.NOTSUP
    assert guest.raw("fd_renumber", 1, 3) == Errno.NOTSUP
    assert guest.raw("fd_renumber", 3, 1) == Errno.NOTSUP


def test_standard_streams_reach_the_host() -> None:
    """Output goes to the sink with its number; input comes from the source, no more than was asked for."""
    source = [b"line\n", b""]
    guest = Guest(on_input=lambda size: source.pop(0)[:size])
    assert guest.write(1, b"out", b"put") == 6
    guest.write(2, b"error")
    assert guest.output == [(1, b"output"), (2, b"error")]
    assert guest.read(0, 0, 100) == b"line\n"
    assert guest.read(0, 100) == b""
    assert guest.raw("fd_seek", 1, 0, 0, 64) == Errno.SPIPE
    assert guest.raw("fd_pread", 0, 64, 0, 0, 80) == Errno.SPIPE
    assert guest.raw("fd_write", 0, 64, 0, 80) == Errno.BADF


def test_output_arrives_in_bounded_pieces() -> None:
    """One write of more than the piece gives the piece to the host and returns its length."""
    guest = Guest(size=4 << 20)
    assert guest.write(1, bytes(STREAM_PIECE - 1), b"ab", b"c") == STREAM_PIECE
    assert len(guest.output[0][1]) == STREAM_PIECE


@pytest.mark.parametrize("path", [b"dev/stdout", b"dev/fd/1", b"proc/self/fd/1"])
def test_streams_can_be_opened_by_name(guest: Guest, path: bytes) -> None:
    """The names of standard output open it whatever the filesystem holds."""
    guest.write(guest.open(path, 0, WRITE), b"x")
    assert guest.output == [(1, b"x")]


def test_an_unlinked_file_lives_until_it_is_closed(guest: Guest) -> None:
    """Reading, writing and stat go on without a name."""
    fd = guest.create(b"f", b"data")
    guest.call("path_unlink_file", 3, b"f")
    guest.write(fd, b"!")
    assert guest.read(fd, 100, name="fd_pread", extra=(0,)) == b"data!"
    assert guest.call("fd_filestat_get", fd, result="<QQB7xQQQQQ")[3] == 0


def test_a_directory_cannot_be_read_as_a_file(guest: Guest) -> None:
    """fd_read of a directory is EISDIR, fd_readdir of a file or a stream ENOTDIR."""
    guest.call("path_create_directory", 3, b"d")
    at, _ = guest.vectors(4)
    assert guest.raw("fd_read", guest.open(b"d"), at, 1, 64) == Errno.ISDIR
    assert guest.raw("fd_readdir", guest.create(b"f"), at, 4, 0, 64) == Errno.NOTDIR
    assert guest.raw("fd_readdir", 1, at, 4, 0, 64) == Errno.NOTDIR


@pytest.mark.parametrize("size", [281, 300, 4096])
def test_a_directory_is_listed_completely(guest: Guest, size: int) -> None:
    """Every name comes once, with inode and type, through any buffer that holds one entry."""
    guest.call("path_create_directory", 3, b"d")
    names = {b"x" * (i * 12 + 1) for i in range(21)}
    for name in names:
        guest.call("fd_close", guest.create(b"d/" + name))
    guest.call("path_create_directory", 3, b"d/sub")
    guest.call("path_symlink", b"sub", 3, b"d/link")
    entries = guest.list(guest.open(b"d", OFlags.DIRECTORY), size)
    assert [name for name, _, _ in entries[:2]] == [b".", b".."]
    assert entries[0][1:] == (guest.stat(b"d")[1], FileType.DIRECTORY)
    assert entries[1][1:] == (guest.stat(b".")[1], FileType.DIRECTORY)
    kinds = dict.fromkeys(names, FileType.REGULAR_FILE)
    kinds |= {b"sub": FileType.DIRECTORY, b"link": FileType.SYMBOLIC_LINK}
    assert len(entries) == len(kinds) + 2
    assert {name: kind for name, _, kind in entries[2:]} == kinds
    for name, inode, _ in entries[2:]:
        assert inode == guest.stat(b"d/" + name, follow=0)[1]


def test_a_listing_stands_still_while_it_is_read(guest: Guest) -> None:
    """Names removed and added during the reading change nothing until it begins again at cookie 0."""
    for i in range(20):
        guest.call("fd_close", guest.create(b"f%02d" % i))
    fd = guest.open(b".", OFlags.DIRECTORY)
    buffer = guest.allocate(100)
    guest.call("fd_readdir", fd, buffer, 100, 0, result="<I")
    for i in range(20):
        guest.call("path_unlink_file", 3, b"f%02d" % i)
    guest.call("fd_close", guest.create(b"new"))
    assert [name for name, _, _ in guest.list(fd, cookie=2)] == [b"f%02d" % i for i in range(20)]
    assert [name for name, _, _ in guest.list(fd)] == [b".", b"..", b"new"]
    assert guest.raw("fd_readdir", fd, buffer, 100, 99, 64) == Errno.INVAL


def test_sync_and_advice(guest: Guest) -> None:
    """Syncing and advice succeed for files; advice that does not exist is EINVAL."""
    fd = guest.create(b"f")
    guest.call("fd_sync", fd)
    guest.call("fd_datasync", fd)
    guest.call("fd_advise", fd, 0, 0, 5)
    assert guest.raw("fd_advise", fd, 0, 0, 6) == Errno.INVAL
    assert guest.raw("fd_advise", 1, 0, 0, 0) == Errno.SPIPE
    assert guest.raw("fd_sync", 99) == Errno.BADF


def test_nothing_is_written_when_the_result_has_no_place(guest: Guest) -> None:
    """An address outside the memory is EFAULT, before the call has any effect."""
    fd = guest.create(b"f")
    at, _ = guest.vectors(4)
    end = len(guest.bytes)
    assert guest.raw("fd_write", fd, at, 1, end - 3) == Errno.FAULT
    assert guest.raw("fd_seek", fd, 7, 0, end - 7) == Errno.FAULT
    assert guest.raw("path_open", 3, 1, b"g", OFlags.CREAT, BOTH, BOTH, 0, end) == Errno.FAULT
    bad = guest.put(struct.pack("<II", end - 2, 4))
    assert guest.raw("fd_write", fd, bad, 1, 64) == Errno.FAULT
    assert guest.raw("fd_write", fd, at, 1025, 64) == Errno.INVAL
    assert guest.stat(b"f")[4] == 0
    assert guest.call("fd_tell", fd, result="<Q") == 0
    assert guest.raw("path_filestat_get", 3, 1, b"g", 64) == Errno.NOENT
    assert not guest.wasi.failures


def test_memory_that_grew_is_noticed(guest: Guest) -> None:
    """An address beyond the known end is good when the memory has grown to it meanwhile."""
    old = len(guest.bytes)
    grown = bytearray(2 * old)
    guest.bytes = grown
    assert guest.raw("clock_time_get", 0, 0, old + 8) == Errno.SUCCESS
    assert struct.unpack_from("<Q", grown, old + 8)[0] > 0


# -- against the real thing ----------------------------------------------------------------------------

_data = st.binary(max_size=20)
_small = st.integers(0, 60)
_operations = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.lists(_data, min_size=1, max_size=4)),
        st.tuples(st.just("read"), st.lists(_small, min_size=1, max_size=4)),
        st.tuples(st.just("pwrite"), st.lists(_data, min_size=1, max_size=3), _small),
        st.tuples(st.just("pread"), st.lists(_small, min_size=1, max_size=3), _small),
        st.tuples(st.just("seek"), st.integers(-70, 70), st.integers(0, 2)),
        st.tuples(st.just("truncate"), _small),
        st.tuples(st.just("append"), st.booleans()),
    ),
    max_size=25,
)


@settings(max_examples=150, deadline=None)
@given(_operations)
def test_any_sequence_does_what_linux_does(operations: list[tuple]) -> None:  # type: ignore[type-arg]
    """Reads, writes, seeks, truncations and appending give the bytes, counts and positions of the host's."""
    guest = Guest(size=1 << 14)
    fd = guest.create(b"f")
    with tempfile.TemporaryFile(buffering=0) as model:
        real = model.fileno()
        for name, *arguments in operations:
            match name, *arguments:
                case "write", pieces:
                    assert guest.write(fd, *pieces) == os.writev(real, pieces)
                case "read", lengths:
                    wanted = os.read(real, sum(lengths))
                    assert guest.read(fd, *lengths) == wanted
                case "pwrite", pieces, offset:
                    count = os.pwritev(real, pieces, offset)
                    assert guest.write(fd, *pieces, name="fd_pwrite", extra=(offset,)) == count
                case "pread", lengths, offset:
                    wanted = os.pread(real, sum(lengths), offset)
                    assert guest.read(fd, *lengths, name="fd_pread", extra=(offset,)) == wanted
                case "seek", offset, whence:
                    try:
                        position = os.lseek(real, offset, whence)
                    except OSError:
                        assert guest.raw("fd_seek", fd, offset, whence, 64) == Errno.INVAL
                    else:
                        assert guest.call("fd_seek", fd, offset, whence, result="<Q") == position
                case "truncate", size:
                    os.truncate(real, size)
                    guest.call("fd_filestat_set_size", fd, size)
                case "append", on:
                    fcntl(real, F_SETFL, os.O_APPEND if on else 0)
                    guest.call("fd_fdstat_set_flags", fd, FdFlags.APPEND if on else 0)
            assert guest.call("fd_tell", fd, result="<Q") == os.lseek(real, 0, os.SEEK_CUR)
        wanted = os.pread(real, 4000, 0)
        assert guest.read(fd, 4000, name="fd_pread", extra=(0,)) == wanted
    assert not guest.wasi.failures


def test_a_bound_on_files_holds_for_all_ways_to_grow() -> None:
    """Writing goes as far as the bound and then gives EFBIG, and so do appending, truncating and allocating."""
    guest = Guest()
    fd = guest.create(b"f")
    guest.wasi.bound_files(10, None)
    assert guest.write(fd, b"0123456", b"789abc") == 10
    assert guest.raw("fd_filestat_set_size", fd, 11) == Errno.FBIG
    assert guest.raw("fd_allocate", fd, 0, 11) == Errno.FBIG
    at, _ = guest.vectors(1)
    assert guest.raw("fd_write", fd, at, 1, 64) == Errno.FBIG
    assert guest.raw("fd_pwrite", fd, at, 1, 10, 64) == Errno.FBIG
    guest.call("fd_fdstat_set_flags", fd, int(FdFlags.APPEND))
    assert guest.raw("fd_write", fd, at, 1, 64) == Errno.FBIG
    guest.wasi.bound_files(None, None)
    assert guest.write(fd, b"x") == 1
    assert guest.call("fd_tell", fd, result="<Q") == 11


def test_a_bound_on_further_files() -> None:
    """So many more files can be opened, then EMFILE, until the bound is taken away."""
    guest = Guest()
    guest.create(b"a")
    guest.wasi.bound_files(None, 1)
    guest.create(b"b")
    assert guest.raw("path_open", 3, 1, b"c", OFlags.CREAT, BOTH, BOTH, 0, 64) == Errno.MFILE
    guest.wasi.bound_files(None, None)
    guest.create(b"c")
