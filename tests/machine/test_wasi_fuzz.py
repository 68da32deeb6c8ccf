"""Random calls with random arguments: the guest gets an errno, and only what it asked for."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest
from example_counts import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from planaria.errors import SnapshotError
from planaria.files.filesystem import OpenFlags
from planaria.files.host import HostFileSystem
from planaria.files.memory import MemoryFileSystem
from planaria.machine.wasi.abi import SIGNATURES, Errno
from planaria.machine.wasi.clock import FrozenClock
from planaria.machine.wasi.memory import GuestMemory
from planaria.machine.wasi.random import SeededRandom
from planaria.machine.wasi.system import Wasi

pytestmark = pytest.mark.slow

SIZE = 4096
PATHS = (b"d", b"d/f", b"link", b"new", b"d/new", b"..", b".", b"d/../new/", b"loop", b"dev/stdout")
VECTORS, SUBSCRIPTIONS, RESULTS = 512, 1024, 2048


def prepared() -> bytearray:
    """A memory with paths, iovecs and subscriptions in it, some good and some bad."""
    memory = bytearray(SIZE)
    for i, path in enumerate(PATHS):
        memory[16 * i : 16 * i + len(path)] = path
    vectors = (
        (3000, 10),
        (3100, 0),
        (3200, 700),
        (4090, 6),
        (4090, 7),
        (0, 0xFFFFFFFF),
        (0xFFFFFFF0, 32),
        (0, SIZE),
    )
    for i, vector in enumerate(vectors):
        struct.pack_into("<II", memory, VECTORS + 8 * i, *vector)
    subscriptions = ((0, 1, 5), (0, 0, 1 << 63), (0, 9, 5), (1, 4, 0), (2, 1, 0), (1, 77, 0), (200, 0, 0))
    for i, (tag, which, timeout) in enumerate(subscriptions):
        struct.pack_into("<QB7xI4xQQH6x", memory, SUBSCRIPTIONS + 48 * i, i, tag, which, timeout, 0, i & 1)
    return memory


def written(name: str, a: tuple[int, ...], memory: bytes) -> list[tuple[int, int]]:
    """The (address, length) ranges that a call may change."""

    def scattered(at: int, count: int) -> list[tuple[int, int]]:
        end = min(at + 8 * min(count, 1024), SIZE)
        return list(struct.iter_unpack("<II", memory[at : max(at, end - (end - at) % 8)]))

    match name:
        case "args_sizes_get" | "environ_sizes_get":
            return [(a[0], 4), (a[1], 4)]
        case "args_get":
            return [(a[0], 4), (a[1], 7)]
        case "environ_get":
            return [(a[0], 4), (a[1], 11)]
        case "clock_res_get" | "fd_tell" | "fd_prestat_get":
            return [(a[1], 8)]
        case "clock_time_get":
            return [(a[2], 8)]
        case "fd_fdstat_get":
            return [(a[1], 24)]
        case "fd_filestat_get":
            return [(a[1], 64)]
        case "path_filestat_get":
            return [(a[4], 64)]
        case "fd_read":
            return [*scattered(a[1], a[2]), (a[3], 4)]
        case "fd_pread":
            return [*scattered(a[1], a[2]), (a[4], 4)]
        case "fd_write":
            return [(a[3], 4)]
        case "fd_pwrite":
            return [(a[4], 4)]
        case "fd_seek":
            return [(a[3], 8)]
        case "fd_readdir":
            return [(a[1], a[2]), (a[4], 4)]
        case "fd_prestat_dir_name":
            return [(a[1], a[2])]
        case "path_readlink":
            return [(a[3], a[4]), (a[5], 4)]
        case "path_open":
            return [(a[8], 4)]
        case "poll_oneoff":
            return [(a[1], 32 * a[2]), (a[3], 4)]
        case "random_get":
            return [(a[0], a[1])]
    return []


_u32 = st.one_of(
    st.integers(0, 12),
    st.sampled_from([16 * i for i in range(len(PATHS))]),
    st.sampled_from([VECTORS + 8 * i for i in range(8)]),
    st.sampled_from([SUBSCRIPTIONS + 48 * i for i in range(7)]),
    st.integers(RESULTS, RESULTS + 900),
    st.integers(SIZE - 70, SIZE + 8),
    st.sampled_from([0x7FFFFFFF, 0x80000000, 0xFFFFFFFF]),
    st.integers(0, 0xFFFFFFFF),
)
_u64 = st.one_of(
    st.integers(0, 5000),
    st.sampled_from([(1 << 30) - 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1]),
    st.integers(0, (1 << 64) - 1),
)
_s64 = st.one_of(st.integers(-100, 5000), st.integers(-(1 << 63), (1 << 63) - 1))
_kinds = {"I": _u32, "Q": _u64, "q": _s64}
_any = st.sampled_from(sorted(set(SIGNATURES) - {"proc_exit"})).flatmap(
    lambda name: st.tuples(st.just(name), st.tuples(*(_kinds[kind] for kind in SIGNATURES[name])))
)

# Calls that mean something, so that sequences come deep: opened files, data in them, names that move.
_fd = st.integers(0, 8)
_path = st.integers(0, len(PATHS) - 1).map(lambda i: (16 * i, len(PATHS[i])))
_rights = st.sampled_from([(1 << 30) - 1, ((1 << 30) - 1) & ~64, 64, 0])
_vector = st.tuples(st.integers(0, 3).map(lambda i: VECTORS + 8 * i), st.integers(0, 4))
_plausible = st.one_of(
    st.builds(
        lambda path, oflags, rights, flags: (
            "path_open",
            (3, 1, *path, oflags, rights, rights, flags, RESULTS),
        ),
        _path,
        st.integers(0, 15),
        _rights,
        st.integers(0, 31),
    ),
    st.builds(
        lambda name, fd, vector: (name, (fd, *vector, RESULTS)),
        st.sampled_from(["fd_read", "fd_write"]),
        _fd,
        _vector,
    ),
    st.builds(
        lambda name, fd, vector, at: (name, (fd, *vector, at, RESULTS)),
        st.sampled_from(["fd_pread", "fd_pwrite"]),
        _fd,
        _vector,
        _u64,
    ),
    st.builds(lambda fd, at, whence: ("fd_seek", (fd, at, whence, RESULTS)), _fd, _s64, st.integers(0, 3)),
    st.builds(lambda fd, size: ("fd_filestat_set_size", (fd, size)), _fd, _u64),
    st.builds(lambda fd, at, size: ("fd_allocate", (fd, at, size)), _fd, _u64, _u64),
    st.builds(
        lambda fd, size, at: ("fd_readdir", (fd, RESULTS, size, at, 3500)),
        _fd,
        st.integers(0, 500),
        st.integers(0, 5),
    ),
    st.builds(lambda fd: ("fd_close", (fd,)), _fd),
    st.builds(lambda fd, to: ("fd_renumber", (fd, to)), _fd, _fd),
    st.builds(
        lambda name, path: (name, (3, *path)),
        st.sampled_from(["path_create_directory", "path_remove_directory", "path_unlink_file"]),
        _path,
    ),
    st.builds(lambda old, new: ("path_rename", (3, *old, 3, *new)), _path, _path),
    st.builds(lambda old, new: ("path_link", (3, 0, *old, 3, *new)), _path, _path),
    st.builds(lambda old, new: ("path_symlink", (*old, 3, *new)), _path, _path),
    st.builds(lambda path: ("path_filestat_get", (3, 1, *path, RESULTS)), _path),
    st.builds(
        lambda path, size: ("path_readlink", (3, *path, RESULTS, size, 3500)), _path, st.integers(0, 9)
    ),
    st.builds(
        lambda at, count: ("poll_oneoff", (SUBSCRIPTIONS + 48 * at, RESULTS, count, 3500)),
        st.integers(0, 6),
        st.integers(0, 7),
    ),
)


def system(memory: bytearray) -> Wasi:
    files = MemoryFileSystem()
    files.mkdir(b"/d")
    handle = files.open(b"/d/f", OpenFlags.WRITE | OpenFlags.CREATE)
    handle.write(b"0123456789" * 30, 0)
    handle.close()
    files.symlink(b"d/f", b"/link")
    files.symlink(b"loop", b"/loop")
    wasi = Wasi(
        files,
        memory=GuestMemory(lambda: memoryview(memory)),
        environment={"HOME": "/home"},
        clock=FrozenClock(10**9),
        random=SeededRandom(0),
        on_input=lambda size: b"input"[:size],
        sleep=lambda seconds: True,
        limit=16,
    )
    present = bytes(memory)
    memory[:8] = b"d/f/d   "
    every = (1 << 30) - 1
    for path, length, oflags, flags in ((0, 3, 0, 0), (0, 3, 0, 1), (4, 1, 2, 0)):  # 4, 5 (appending), 6
        assert not wasi.functions["path_open"](
            3, 1, path, length, oflags, every & ~(oflags << 5), every, flags, 8
        )
    memory[:] = present
    return wasi


@settings(max_examples=examples(400), deadline=None)
@given(st.lists(st.one_of(_any, _plausible), max_size=30))
def test_any_calls_give_an_errno_and_change_only_what_they_announce(
    calls: list[tuple[str, tuple[int, ...]]],
) -> None:
    """No call raises, fails on the host's side, or writes outside the ranges that its arguments name."""
    memory = bytearray(SIZE)
    wasi = system(memory)
    for name, parameters in calls:
        memory[:] = prepared()
        before = bytes(memory)
        result = wasi.functions[name](*parameters)
        Errno(result)
        assert not wasi.failures, (name, parameters)
        after = bytearray(memory)
        for at, length in written(name, parameters, before):
            length = max(0, min(length, SIZE - at))
            after[at : at + length] = before[at : at + length]
        assert after == before, (name, parameters, Errno(result).name)
        assert len(wasi.table) <= 16
        assert 3 in wasi.table.open
    wasi.close()


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(_plausible, max_size=30))
def test_a_rebuilt_system_answers_alike(calls: list[tuple[str, tuple[int, ...]]]) -> None:
    """After a fork in the middle both go on with the same answers and the same memory."""
    memories = (bytearray(prepared()), bytearray(prepared()))
    one = system(memories[0])
    half = len(calls) // 2
    for name, parameters in calls[:half]:
        one.functions[name](*parameters)
    memories[1][:] = memories[0]
    two = Wasi(
        one.files.fork(),
        memory=GuestMemory(lambda: memoryview(memories[1])),
        clock=FrozenClock(10**9),
        random=SeededRandom(0),
        on_input=lambda size: b"input"[:size],
        sleep=lambda seconds: True,
        limit=16,
    )
    two.restore(one.state())
    for name, parameters in calls[half:]:
        answers = [wasi.functions[name](*parameters) for wasi in (one, two)]
        assert answers[0] == answers[1], name


def test_no_descriptor_of_the_host_is_left_open(tmp_path: Path) -> None:
    """Whatever the guest opens in a host's directory, and however its table is rebuilt, all is released."""
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "f").write_bytes(b"data")
    files = HostFileSystem(tmp_path, read_only=False)
    before = os.listdir("/proc/self/fd")
    memory = memoryview(prepared())
    wasi = Wasi(files, memory=GuestMemory(lambda: memory), limit=16)
    path_open = wasi.functions["path_open"]
    for path, length, oflags in ((16, 3, 0), (0, 1, 0), (48, 3, 1)):
        for _ in range(4):
            assert path_open(3, 1, path, length, oflags, 2, 2, 0, RESULTS) == Errno.SUCCESS
    assert path_open(3, 1, 16, 3, 0, 2, 2, 0, RESULTS) == Errno.MFILE
    wasi.functions["fd_renumber"](5, 6)
    wasi.functions["fd_close"](7)
    state = wasi.state()
    wasi.restore(state)
    state["descriptors"][-1]["position"] = -1
    with pytest.raises(SnapshotError):
        wasi.restore(state)
    wasi.close()
    assert os.listdir("/proc/self/fd") == before
