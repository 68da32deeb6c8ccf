"""Functions that could take long give way when the guest is to be interrupted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from wasi_guest import Guest

from planaria.files import HostFileSystem, MountFileSystem
from planaria.files.devices import DeviceFileSystem
from planaria.files.interruption import current
from planaria.files.memory import MemoryFileSystem
from planaria.machine.wasi.abi import Errno

MIB = 1 << 20


@pytest.fixture
def looks() -> Iterator[Callable[[int], list[None]]]:
    """Counts the looks on this thread; from one of them on, an interrupt is due."""

    def begin(allowed: int) -> list[None]:
        counted: list[None] = []

        def ask() -> bool:
            counted.append(None)
            return len(counted) > allowed

        current.is_due = ask
        return counted

    yield begin
    current.is_due = None


def device_guest() -> Guest:
    tree = MountFileSystem(MemoryFileSystem())
    tree.mkdir(b"/dev")
    tree.mount(b"/dev", DeviceFileSystem())
    return Guest(tree, size=40 * MIB)


@pytest.mark.parametrize("name", [b"dev/urandom", b"dev/zero"])
def test_reading_a_device_ends_early(looks: Callable[[int], list[None]], name: bytes) -> None:
    """A read of 32 MiB looks every 4 MiB, and returns what was read before the interrupt."""
    guest = device_guest()
    fd = guest.open(name)
    counted = looks(100)
    assert len(guest.read(fd, 32 * MIB)) == 32 * MIB
    assert len(counted) == 8
    looks(2)
    assert len(guest.read(fd, 32 * MIB)) == 12 * MIB


def test_a_raised_interrupt_fails_one_read() -> None:
    """The read after an interrupt was raised is EINTR, so that a loop in C looks for signals; later ones read."""
    guest = device_guest()
    fd = guest.open(b"dev/zero")
    raised = iter([True, False])
    current.take_raised = lambda: next(raised)
    try:
        assert guest.raw("fd_read", fd, 4 * MIB, 0, 4 * MIB + 64) == Errno.INTR
        assert guest.raw("fd_read", fd, 4 * MIB, 0, 4 * MIB + 64) == Errno.SUCCESS
    finally:
        current.take_raised = None


@pytest.mark.parametrize("flags", [0, 1])
def test_writing_a_file_ends_early(looks: Callable[[int], list[None]], flags: int) -> None:
    """A write or append of 32 MiB ends after the piece of 4 MiB in which an interrupt became due."""
    guest = Guest(size=40 * MIB)
    fd = guest.create(b"f")
    guest.call("fd_fdstat_set_flags", fd, flags)
    looks(1)
    assert guest.write(fd, bytes(32 * MIB)) == 8 * MIB
    current.is_due = None
    assert guest.files.stat(b"/f").size == 8 * MIB


def test_random_bytes_give_way(looks: Callable[[int], list[None]]) -> None:
    """`random_get` looks every MiB and is EINTR when it is to end early, since it cannot give a part."""
    guest = Guest(size=40 * MIB)
    assert len(looks(100)) == 0
    counted = looks(100)
    assert guest.raw("random_get", 4 * MIB, 16 * MIB) == Errno.SUCCESS
    assert len(counted) == 16
    looks(0)
    assert guest.raw("random_get", 4 * MIB, 16 * MIB) == Errno.INTR


def test_a_path_of_many_steps_gives_way(looks: Callable[[int], list[None]]) -> None:
    """Resolving a path looks every 256 steps, those of links included."""
    guest = Guest()
    guest.files.mkdir(b"/d")
    for place in range(30):
        below = b"l%d" % (place - 1) if place else b"."
        guest.files.symlink(b"d/../" * 100 + below, b"/l%d" % place)
    counted = looks(10_000)
    assert guest.raw("path_filestat_get", 3, 1, b"l29", 64) == Errno.SUCCESS
    assert len(counted) >= 30 * 200 // 256
    looks(3)
    assert guest.raw("path_filestat_get", 3, 1, b"l29", 64) == Errno.INTR


def test_listing_a_directory_of_the_host_gives_way(
    tmp_path: Path, looks: Callable[[int], list[None]]
) -> None:
    """Listing a large directory of the host looks every 1024 entries."""
    for place in range(3000):
        (tmp_path / f"f{place}").touch()
    filesystem = HostFileSystem(tmp_path)
    counted = looks(10)
    assert len(filesystem.scandir(b"/")) == 3000
    assert len(counted) == 3
    looks(1)
    with pytest.raises(InterruptedError):
        filesystem.scandir(b"/")
