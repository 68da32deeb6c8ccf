import copy
import struct
from collections.abc import Callable

import pytest
from wasi_guest import Guest

from planaria.machine.wasi.abi import SIGNATURES, Errno, raw_parameters
from planaria.machine.wasi.clock import FrozenClock, OffsetClock, SystemClock
from planaria.machine.wasi.process import ProcessExit
from planaria.machine.wasi.random import SeededRandom


def strings(guest: Guest, sizes: str, get: str) -> list[bytes]:
    count, size = guest.allocate(4), guest.allocate(4)
    guest.call(sizes, count, size)
    (count,), (size,) = (struct.unpack_from("<I", guest.bytes, at) for at in (count, size))
    pointers, buffer = guest.allocate(4 * count), guest.allocate(size)
    guest.call(get, pointers, buffer)
    starts = struct.unpack_from(f"<{count}I", guest.bytes, pointers)
    assert all(buffer <= start < buffer + size for start in starts)
    return [bytes(guest.bytes[start : guest.bytes.index(0, start)]) for start in starts]


def sleeper(slept: list[float]) -> Callable[[float], bool]:
    """A `sleep` that only notes for how long."""

    def sleep(seconds: float) -> bool:
        slept.append(seconds)
        return True

    return sleep


@pytest.mark.parametrize("arguments", [(), (b"python",), (b"a", b"", b"\xff long")])
def test_arguments_and_environment_arrive(arguments: tuple[bytes, ...]) -> None:
    """The guest reads exactly the arguments and variables that it was given."""
    guest = Guest(arguments=arguments, environment={"HOME": "/home/user", "EMPTY": "", "X": "a=é"})
    assert strings(guest, "args_sizes_get", "args_get") == list(arguments)
    wanted = [b"HOME=/home/user", b"EMPTY=", "X=a=é".encode()]
    assert strings(guest, "environ_sizes_get", "environ_get") == wanted


@pytest.mark.parametrize("name", ["", "A=B", "A\0"])
def test_impossible_variables_are_refused(name: str) -> None:
    """A name that no environment can hold is a ValueError of the host."""
    with pytest.raises(ValueError, match="environment"):
        Guest(environment={name: "x"})


def test_clocks_do_not_go_back() -> None:
    """All four clocks run forward; others do not exist."""
    guest = Guest()
    for clock in range(4):
        first = guest.call("clock_time_get", clock, 0, result="<Q")
        assert guest.call("clock_time_get", clock, 0, result="<Q") >= first
        assert guest.call("clock_res_get", clock, result="<Q") == 1
    assert guest.raw("clock_time_get", 4, 0, 64) == Errno.INVAL
    assert guest.raw("clock_res_get", 4, 64) == Errno.INVAL


def test_a_frozen_clock_moves_only_by_sleeping() -> None:
    """Time stands still until the guest sleeps, and then moves by just as much."""
    slept: list[float] = []
    guest = Guest(clock=FrozenClock(10**18), sleep=sleeper(slept))
    assert guest.call("clock_time_get", 0, 0, result="<Q") == 10**18
    assert poll(guest, timer(7, 1_500_000_000)) == [(7, 0, 0, 0)]
    assert guest.call("clock_time_get", 0, 0, result="<Q") == 10**18 + 1_500_000_000
    assert guest.call("clock_time_get", 1, 0, result="<Q") == 1_500_000_000
    assert slept == [1.5]


def test_an_offset_clock_differs_by_the_offset() -> None:
    """The date is moved, the monotonic clock is not."""
    offset = 10**18
    before, shifted = SystemClock().realtime(), OffsetClock(-offset).realtime()
    assert before - offset <= shifted <= SystemClock().realtime() - offset


def test_a_monotonic_clock_goes_on_where_it_was() -> None:
    """A clock that takes over a state is never behind it."""
    state = {"monotonic": 10**15, "cpu": 10**12}
    clock = SystemClock()
    clock.restore(state)
    assert 10**15 <= clock.monotonic() < 2 * 10**15
    assert 10**12 <= clock.cpu() < 2 * 10**12


def test_seeded_bytes_repeat() -> None:
    """The same seed and requests give the same bytes, another seed others; a copied state goes on alike."""

    def draw(source: SeededRandom, *lengths: int) -> bytes:
        out = bytearray(sum(lengths))
        at = 0
        for length in lengths:
            source.fill(memoryview(out)[at : at + length])
            at += length
        return bytes(out)

    one, two = SeededRandom(1), SeededRandom(1)
    assert draw(one, 10, 100_000) == draw(two, 10, 100_000)
    assert draw(SeededRandom(2), 32) != draw(SeededRandom(1), 32)
    resumed = SeededRandom(1)
    resumed.restore(one.state())
    assert draw(copy.copy(one), 32) == draw(resumed, 32) == draw(one, 32)


def test_random_bytes_fill_just_the_buffer() -> None:
    """random_get overwrites what it was asked to and no more, and refuses more than there is memory."""
    guest = Guest(size=1 << 18)
    guest.call("random_get", 1000, 200_000)
    filled = guest.bytes[1000:201_000]
    assert not any(guest.bytes[:1000])
    assert not any(guest.bytes[201_000:])
    assert len(set(filled)) == 256
    assert guest.raw("random_get", 0, 0xFFFFFFFF) == Errno.FAULT
    guest.call("random_get", 0, 0)


def timer(userdata: int, timeout: int, clock: int = 1, absolute: int = 0) -> bytes:
    return struct.pack("<QB7xI4xQQH6x", userdata, 0, clock, timeout, 0, absolute)


def readiness(userdata: int, tag: int, fd: int) -> bytes:
    return struct.pack("<QB7xI28x", userdata, tag, fd)


def poll(guest: Guest, *subscriptions: bytes) -> list[tuple[int, ...]]:
    """(userdata, error, type, bytes available) of the events"""
    at = guest.put(b"".join(subscriptions))
    events = guest.allocate(32 * len(subscriptions))
    count = guest.call("poll_oneoff", at, events, len(subscriptions), result="<I")
    return [struct.unpack_from("<QHB5xQ", guest.bytes, events + 32 * i) for i in range(count)]


def test_polling_waits_for_the_nearest_timer() -> None:
    """Only the timers that are due then are reported; absolute ones count from their clock's zero."""
    slept: list[float] = []
    guest = Guest(clock=FrozenClock(10**9), sleep=sleeper(slept))
    events = poll(guest, timer(1, 900), timer(2, 10**9 + 500, 0, 1), timer(3, 500), timer(4, 501))
    assert [event[0] for event in events] == [2, 3]
    assert slept == [500 / 1e9]
    assert poll(guest, timer(5, 1, 0, 1)) == [(5, 0, 0, 0)]
    assert len(slept) == 1


def test_polling_does_not_wait_for_files() -> None:
    """Files and streams are ready, closed descriptors are an error event, and no time passes."""
    guest = Guest(sleep=lambda seconds: pytest.fail("slept"))
    fd = guest.create(b"f", b"data")
    guest.call("fd_seek", fd, 1, 0, result="<Q")
    assert poll(guest, readiness(1, 1, fd), timer(2, 10**12), readiness(3, 2, 99), readiness(4, 9, fd)) == [
        (1, 0, 1, 3),
        (3, Errno.BADF, 2, 0),
        (4, Errno.INVAL, 9, 0),
    ]
    assert poll(guest, timer(1, 10**12), timer(2, 0)) == [(2, 0, 0, 0)]
    assert poll(guest, readiness(1, 1, 0), readiness(2, 2, 0), readiness(3, 2, 1)) == [
        (1, 0, 1, 1),
        (2, Errno.BADF, 2, 0),
        (3, 0, 2, 1),
    ]


def test_an_interrupted_sleep_is_over() -> None:
    """When the host wakes the sleeper early its timer counts as due, and a frozen clock has not moved."""
    guest = Guest(clock=FrozenClock(0), sleep=lambda seconds: False)
    assert poll(guest, timer(1, 10**9), timer(2, 10**10)) == [(1, 0, 0, 0)]
    assert guest.call("clock_time_get", 1, 0, result="<Q") == 0


@pytest.mark.parametrize("count", [0, 4097, 0xFFFFFFFF])
def test_the_number_of_subscriptions_is_bounded(count: int) -> None:
    """None at all and too many are EINVAL."""
    assert Guest().raw("poll_oneoff", 64, 512, count, 1024) == Errno.INVAL


def test_the_end_of_the_process() -> None:
    """proc_exit leaves with the status; signals are not for the system to deliver."""
    guest = Guest()
    with pytest.raises(ProcessExit) as caught:
        guest.raw("proc_exit", 3)
    assert caught.value.code == 3
    assert guest.raw("proc_raise", 9) == Errno.NOTSUP
    assert guest.raw("sched_yield") == Errno.SUCCESS


def test_there_are_no_sockets() -> None:
    """Socket functions say that a file is none, or that a descriptor is closed."""
    guest = Guest()
    assert guest.raw("sock_shutdown", 1, 0) == Errno.NOTSOCK
    assert guest.raw("sock_recv", 1, 0, 0, 0, 0, 0) == Errno.NOTSOCK
    assert guest.raw("sock_send", 1, 0, 0, 0, 0) == Errno.NOTSOCK
    assert guest.raw("sock_accept", 99, 0, 0) == Errno.BADF


@pytest.mark.parametrize(
    ("error", "seen", "kept"),
    [
        (BrokenPipeError(32, "closed"), Errno.PIPE, 0),
        (OSError("without a number"), Errno.IO, 1),
        (ValueError("a mistake of the host"), Errno.IO, 1),
        (KeyboardInterrupt(), Errno.INTR, 1),
    ],
)
def test_no_exception_of_the_host_reaches_the_guest(error: BaseException, seen: Errno, kept: int) -> None:
    """A sink's OSError is the guest's errno; anything else is EIO (Ctrl-C: EINTR) and kept for the host."""

    def sink(stream: int, data: bytes) -> None:
        raise error

    guest = Guest(on_output=sink)
    at, _ = guest.vectors(4)
    assert guest.raw("fd_write", 1, at, 1, 64) == seen
    assert list(guest.wasi.failures) == [error][:kept]


def test_raw_values_are_unpacked_by_signature() -> None:
    """One struct takes all parameters from the engine's 16 byte values, with the signs they have."""
    values = b"".join(struct.pack("<q8x", value) for value in (4, -2, 1, 0xFFFFFFFF))
    assert raw_parameters(SIGNATURES["fd_seek"]).unpack(values) == (4, -2, 1, 0xFFFFFFFF)
